// Arguments that may name a file of numbers: FILE, FILE#TENSOR or @FILE.
#pragma once
#include <string>

namespace posenc::cli {

/// `text` itself, or the array in the file that it names, as the text that a field of this type (positions, list, array)
/// takes. A name is a file when it starts with '@' or ends (before '#TENSOR') in the suffix of a format.
std::string array_text(const std::string& text, const std::string& field, const std::string& type);

}  // namespace posenc::cli
