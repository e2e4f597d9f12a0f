// TokenSpans as a field of an encoding: found by argument-dependent lookup where the field's text is read and written.
#pragma once
#include "encodings/fields.hpp"
#include "encodings/token_spans.hpp"

namespace posenc {

inline void read(const Field& f, TokenSpans& out, std::string_view text) { out = TokenSpans::parse(text, f.name); }
inline std::string write(const TokenSpans& v) { return v.text(); }

}  // namespace posenc

namespace posenc::detail {

template <>
inline std::string_view type_name<TokenSpans>() {
  return "spans";
}

}  // namespace posenc::detail
