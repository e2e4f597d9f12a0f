// The report of posenc analyze for people: figures as lines, grids as columns that fit a terminal.
#pragma once
#include <string>

#include "posenc/analyze.hpp"

namespace posenc::cli {

/// Prints the whole report to standard output; `quiet` leaves the remarks out.
void print_analysis(const std::string& title, const Analysis& analysis, bool quiet);

}  // namespace posenc::cli
