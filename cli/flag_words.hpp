// The library's sentences in the command line's words: "head_dim 7 is odd" becomes "--head-dim 7 is odd". Words only: nothing
// here knows the program's options or the library's parameters.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace posenc::cli {

/// head_dim -> --head-dim.
std::string flag_of(const std::string& field);

/// What a parameter's name stands for on the command line.
struct FlagWord {
  std::string flag;                       ///< "--head-dim"
  std::vector<std::string> choices = {};  ///< values that are words; empty: any value
  bool takes_value = true;
};
using FlagWords = std::map<std::string, FlagWord>;  ///< by the name in sentences, "head_dim"

/// `sentence` with those names as flags that certainly are names. One with '_' is no other word. "factor" or "length" may be one;
/// it is a name
/// - before its value, or must, wants and says, where a clause begins ("base 1 gives", "layout half pairs") or after one of few
///   words ("and high 2", "but context says"); not where a sentence tells what is so ("under method yarn", "is factor 2");
/// - as what a clause is about: "length is missing", "low and high do not go with";
/// - where it is asked for: "needs factor or context", "say which with height and width", "leave rank out".
/// What stands in quotes, parentheses or brackets stays as it is.
std::string in_flags(const std::string& sentence, const FlagWords& names);

}  // namespace posenc::cli
