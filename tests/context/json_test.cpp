// JSON that is refused: where, and in words of posenc's own.
#include "posenc/json.hpp"

#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "posenc/config.hpp"
#include "posenc/spec.hpp"
#include "support/refusals.hpp"

namespace posenc::test {
namespace {

using namespace std::string_literals;

std::string refusal(const std::string& text) {
  return refusal_of([&] { return json::parse(text, "it"); }, Failure::bad_input);
}

}  // namespace

TEST_CASE("a fault in JSON: line, column and what it is") {
  // The columns are counted by hand, from 1.
  const std::vector<std::tuple<std::string, std::size_t, std::size_t, std::string>> cases{
      {"// c\n{}", 1, 1, "a comment"},
      {"{\n# c\n}", 2, 1, "a comment"},
      {R"({"a":1,})", 1, 7, "a comma too many, before the }"},
      {R"({"a":[1, 2 , ] })", 1, 12, "a comma too many, before the ]"},
      {R"({"a" 1})", 1, 6, "1 stands where a colon"},
      {R"({a:1})", 1, 2, "a is no value"},
      {R"({'a':1})", 1, 2, "a single quote"},
      {R"({"a":0x10})", 1, 6, "0x10 is no number"},
      {R"({"a":02})", 1, 6, "02 is no number"},
      {R"({"a":-})", 1, 6, "- is no number"},
      {R"({"a":1.})", 1, 6, "1. is no number"},
      {R"({"a":.5, "b":1})", 1, 6, ".5 is no number"},
      {R"({"a":+5})", 1, 6, "+5 is no number"},
      {R"({"a":1 "b":2})", 1, 8, "\"b\" stands where a comma or }"},
      {R"([1 2])", 1, 4, "2 stands where a comma or ]"},
      {R"([1}])", 1, 3, "} stands where a comma or ]"},
      {R"({"a":})", 1, 6, "} stands where a value"},
      {R"({,})", 1, 2, ", stands where a key in double quotes"},
      {R"({1:2})", 1, 2, "1 stands where a key in double quotes"},
      {"{\"a\":\"x\n\"}", 1, 8, "goes on at the end of its line"},
      {"{\"a\":\"x\t\"}", 1, 8, "a control character"},
      {"{\"a\":\"\xE9\"}", 1, 8, "a byte that is no UTF-8"},
      {R"({"a":"\q"})", 1, 8, "an escape"},
      {R"({"a":"\u12g4"})", 1, 11, "an escape"},
      {R"({"a":True})", 1, 6, "JSON has true"},
      {R"({"a":None})", 1, 6, "JSON has null"},
      {R"({"a":tru})", 1, 6, "tru is no value"},
      {"{\"a\":1}\n{}", 2, 1, "{ stands where the text must end"},
      {R"({"a":1}})", 1, 8, "} stands where the text must end"},
      {"hello", 1, 1, "hello is no value"},
      {R"({"a":1e400})", 1, 6, "the number 1e400 is too large for a double"},
  };
  for (const auto& [text, line, column, words] : cases) {
    const std::string sentence = refusal(text);
    CHECK_MESSAGE(sentence.starts_with("it: is not JSON: line " + std::to_string(line) + " column " + std::to_string(column) + ": "), text, " -> ", sentence);
    check_words(sentence, {words});
    for (const char* foreign : {"syntax error", "literal", "last read", "expected", "parsing", "json.exception", "U+"}) CHECK_MESSAGE(!mentions(sentence, foreign), sentence);
  }
}

TEST_CASE("JSON that ends too early, is no text, or is of another encoding") {
  for (const char* text : {"{", "[", R"({"a")", R"({"a":)", R"({"a":1)", R"({"a":"x)", R"([1,)"}) check_words(refusal(text), {"ends inside a value"});
  for (const std::string& text : {""s, " \n\t"s}) check_words(refusal(text), {"is empty"});
  for (const std::string& text : {"\xFF\xFE{\0}\0"s, "\xFE\xFF\0{\0}"s, "{\0}\0"s, "\0{\0}"s, "\0\0\0{\0\0\0}"s}) check_words(refusal(text), {"UTF-16", "save"});
}

TEST_CASE("a NUL byte never ends JSON: every way to read it refuses one, wherever it stands") {
  const std::string object = R"({"encoding": "rope"})";
  const std::vector<std::string> places{object + '\0', object + "\0garbage"s, object + '\n' + '\0', R"({"encoding": "ro)"s + '\0' + "pe\"}", object.substr(0, 12) + '\0' + object.substr(12)};
  for (const std::string& text : places) {
    const std::size_t offset = text.find('\0');
    check_words(refusal(text), {"a NUL byte", "offset " + std::to_string(offset)});
    check_words(refusal_of([&] { return Spec::parse(text, "it"); }, Failure::bad_input), {"it:", "a NUL byte"});
    check_words(refusal_of([&] { return read_config(text, "it"); }, Failure::bad_input), {"it:", "a NUL byte"});
  }
  CHECK(json::parse(R"({"a": "\u0000"})", "it")["a"].get<std::string>() == "\0"s);  // an escape is no byte
}

}  // namespace posenc::test
