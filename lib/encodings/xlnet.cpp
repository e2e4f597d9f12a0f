#include "encodings/xlnet.hpp"

#include "encodings/model.hpp"

namespace posenc {

void Xlnet::check() const {
  if (dim % 2 != 0) fail_usage(fmt::format("dim {} is odd; sines and cosines come in pairs", dim));
  if (bi_data && batch_size && *batch_size % 2 != 0)
    fail_usage(fmt::format("batch_size {} is odd; bi_data reads half of the batch backwards", *batch_size));
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(xlnet, Xlnet)
