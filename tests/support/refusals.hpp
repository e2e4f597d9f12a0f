// What is refused, and in what words.
#pragma once
#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "posenc/error.hpp"

namespace posenc::test {

/// What the Error says that `act` throws: one line, of that kind of failure. "" when nothing is thrown.
template <class F>
std::string refusal_of(F&& act, Failure failure = Failure::usage) {
  try {
    static_cast<void>(act());
  } catch (const Error& error) {
    const std::string sentence = error.what();
    CHECK_MESSAGE(error.failure() == failure, sentence);
    CHECK_MESSAGE((!sentence.empty() && sentence.find_first_of("\n\r") == std::string::npos), sentence);
    return sentence;
  }
  return "";
}

inline bool mentions(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

/// That a sentence is there and has all these words.
inline void check_words(const std::string& sentence, std::initializer_list<std::string_view> words) {
  CHECK(!sentence.empty());
  for (const std::string_view word : words) CHECK_MESSAGE(mentions(sentence, word), sentence, " lacks ", word);
}

}  // namespace posenc::test
