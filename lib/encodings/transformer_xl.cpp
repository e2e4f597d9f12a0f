#include "encodings/transformer_xl.hpp"

#include "encodings/model.hpp"

namespace posenc {

void TransformerXl::check() const {
  if (dim % 2 != 0) fail_usage(fmt::format("dim {} is odd; sines and cosines come in pairs", dim));
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(transformer_xl, TransformerXl)
