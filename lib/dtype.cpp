#include "posenc/dtype.hpp"

#include <array>
#include <string>
#include <vector>

#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

constexpr std::array<DTypeInfo, 6> list{{
    {DType::f64, "f64", 8, false, "IEEE binary64"},
    {DType::f32, "f32", 4, false, "IEEE binary32"},
    {DType::f16, "f16", 2, false, "IEEE binary16: 11 significant bits, largest 65504"},
    {DType::bf16, "bf16", 2, false, "bfloat16: 8 significant bits, the range of f32"},
    {DType::i32, "i32", 4, true, "signed 32-bit integer, for index tensors"},
    {DType::i64, "i64", 8, true, "signed 64-bit integer, for index tensors"},
}};

struct Spelling {
  std::string_view text;
  DType dtype;
};
// How other programs spell the same types (numpy, torch, safetensors).
constexpr std::array<Spelling, 14> spellings{{
    {"float64", DType::f64}, {"double", DType::f64}, {"fp64", DType::f64}, {"float32", DType::f32},
    {"float", DType::f32},   {"fp32", DType::f32},   {"float16", DType::f16}, {"half", DType::f16},
    {"fp16", DType::f16},    {"bfloat16", DType::bf16}, {"int32", DType::i32}, {"int", DType::i32},
    {"int64", DType::i64},   {"long", DType::i64},
}};

}  // namespace

std::span<const DTypeInfo> dtypes() { return list; }

const DTypeInfo& info(DType dtype) { return list[static_cast<std::size_t>(dtype)]; }

DType parse_dtype(std::string_view text) {
  std::vector<std::string> names;
  for (const DTypeInfo& d : list) {
    if (d.name == text) return d.dtype;
    names.emplace_back(d.name);
  }
  for (const Spelling& s : spellings)
    if (s.text == text) return s.dtype;
  fail_usage("dtype wants " + one_of(names) + ", got " + quoted_word(text) + did_you_mean(text, names));
}

}  // namespace posenc
