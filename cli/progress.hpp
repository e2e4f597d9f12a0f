// A progress line on stderr, for work of more than a second, on a terminal only.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "posenc/pipeline.hpp"

namespace posenc::cli {

class Progress {
 public:
  Progress(std::string what, bool quiet);
  ~Progress() { clear(); }
  void attach(PipelineOptions& options);
  /// Removes the line.
  void clear();

 private:
  void show(std::int64_t done, std::int64_t total);
  std::string what_;
  bool on_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

}  // namespace posenc::cli
