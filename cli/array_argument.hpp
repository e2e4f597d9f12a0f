// Arguments that may name a file of numbers: FILE, FILE#TENSOR or @FILE.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "posenc/io.hpp"

namespace posenc::cli {

/// One array of a file.
struct ArrayInFile {
  std::shared_ptr<const Reader> reader;
  std::size_t tensor = 0;
  std::string path;
};
/// The array that FILE or FILE#TENSOR names. Throws usage, beginning with `what`, when the file holds several and none is named.
ArrayInFile open_array(const std::string& text, const std::string& what);

/// FILE and TENSOR of such a text; TENSOR is "" when none is named.
std::pair<std::string, std::string> file_and_tensor(const std::string& text);
/// A file with that one array in it.
std::unique_ptr<Reader> alone(const ArrayInFile& array);

/// `text` itself, or the array in the file that it names, as the text that a field of this type (positions, list, array)
/// takes. A name is a file when it starts with '@' or ends (before '#TENSOR') in the suffix of a format.
std::string array_text(const std::string& text, const std::string& field, const std::string& type);

}  // namespace posenc::cli
