// transformer_xl, xlnet: rows in falling order, clamps, batches, refusals, laws.
#include <doctest/doctest.h>

#include "encodings/encoding_checks.hpp"
#include "encodings/oracle.hpp"
#include "encodings/transformer_xl.hpp"
#include "encodings/xlnet.hpp"

namespace {

using namespace posenc;
using namespace testing_support;
using oracle::Big;

// Values of rows whose distances are given, [sin | cos], that are not correctly rounded.
int wrong_values(const Encoding& encoding, const std::vector<int>& distances, int dim, double base) {
  int wrong = 0;
  for (const DType dtype : reference::float_dtypes) {
    const auto values = values_of(encoding, dtype);
    if (values.size() != distances.size() * static_cast<std::size_t>(dim)) return -1;
    std::size_t at = 0;
    for (const int d : distances)
      for (int c = 0; c < dim; ++c) {
        const Big angle = d * exp(-Big(2 * (c % (dim / 2))) / dim * log(Big(base)));
        wrong += oracle::correctly_rounded(dtype, values[at++], c < dim / 2 ? Big(sin(angle)) : Big(cos(angle))) ? 0 : 1;
      }
  }
  return wrong;
}

TEST_CASE("transformer_xl: rows run from the farthest key to the query") {
  CHECK(wrong_values(*erase(TransformerXl{.dim = 8, .key_length = 6}), {5, 4, 3, 2, 1, 0}, 8, 10000) == 0);
  CHECK(wrong_values(*erase(TransformerXl{.dim = 6, .base = 500, .key_length = 6, .clamp_len = 3}), {3, 3, 3, 2, 1, 0}, 6, 500) == 0);
  CHECK(wrong_values(*erase(TransformerXl{.dim = 2, .key_length = 2, .clamp_len = 0}), {1, 0}, 2, 10000) == 0);
  check_encoding(*erase(TransformerXl{.dim = 24, .key_length = 150}));
  check_encoding(*erase(TransformerXl{.dim = 24, .key_length = 150, .clamp_len = 40}));
}

TEST_CASE("xlnet: both sides of the query, clamps and batches") {
  CHECK(wrong_values(*erase(Xlnet{.dim = 8, .key_length = 4, .query_length = 3}), {4, 3, 2, 1, 0, -1, -2}, 8, 10000) == 0);
  CHECK(wrong_values(*erase(Xlnet{.dim = 8, .key_length = 3}), {3, 2, 1, 0, -1, -2}, 8, 10000) == 0);
  CHECK(wrong_values(*erase(Xlnet{.dim = 4, .key_length = 4, .query_length = 3, .attn_type = XlnetAttention::uni}), {4, 3, 2, 1, 0}, 4, 10000) == 0);
  CHECK(wrong_values(*erase(Xlnet{.dim = 4, .key_length = 4, .clamp_len = 2}), {2, 2, 2, 1, 0, -1, -2, -2}, 4, 10000) == 0);
  CHECK(wrong_values(*erase(Xlnet{.dim = 4, .key_length = 1, .query_length = 1, .batch_size = 3}), {1, 1, 1, 0, 0, 0}, 4, 10000) == 0);
  CHECK(wrong_values(*erase(Xlnet{.dim = 4, .key_length = 2, .query_length = 1, .bi_data = true}), {2, -2, 1, -1, 0, 0}, 4, 10000) == 0);
  CHECK(wrong_values(*erase(Xlnet{.dim = 4, .key_length = 1, .query_length = 1, .bi_data = true, .batch_size = 4}),
                     {1, 1, -1, -1, 0, 0, 0, 0}, 4, 10000) == 0);
  check_encoding(*erase(Xlnet{.dim = 16, .key_length = 90, .clamp_len = 70}));
  check_encoding(*erase(Xlnet{.dim = 16, .key_length = 40, .bi_data = true, .batch_size = 4}));
}

TEST_CASE("relative sinusoids: what makes no sense is refused in one sentence, laws notice wrong values") {
  const auto has = [](const Encoding& e, const char* part) { return reference::refusal(e).find(part) != std::string::npos; };
  CHECK(reference::refusal(*erase(TransformerXl{})).empty());
  CHECK(reference::refusal(*erase(Xlnet{})).empty());
  CHECK(has(*erase(TransformerXl{.dim = 7}), "dim 7 is odd"));
  CHECK(has(*erase(TransformerXl{.key_length = 0}), "key_length"));
  CHECK(has(*erase(Xlnet{.bi_data = true, .batch_size = 3}), "batch_size 3 is odd"));
  const auto xlnet = erase(Xlnet{.dim = 4, .key_length = 5});
  CHECK(broken_laws(*xlnet, 5 * 4, 0).empty());
  CHECK(broken_laws(*xlnet, 2 * 4, 0.5) == "norm odd");
  CHECK(broken_laws(*erase(TransformerXl{.dim = 4, .key_length = 5}), 3, 0.5) == "norm");
}

}  // namespace
