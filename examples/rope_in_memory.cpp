// Tables as xtensor arrays, without a file: Llama 3.1's rotary cosines, and how far the usual float32 arithmetic is off.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <posenc/encodings/rope.hpp>
#include <posenc/table.hpp>

int main() {
  using namespace posenc;
  Rope rope{.head_dim = 128, .base = 500000, .positions = Positions::range(131000, 131072)};
  rope.rule = rescale::Llama3{.factor = 8, .original_max_position_embeddings = 8192};

  const xt::xarray<float> cosine = generate<float>(rope, "cos");   // [position, pair], correctly rounded
  rope.layout = RopeLayout::inv_freq;
  const xt::xarray<float> inv_freq = generate<float>(rope);        // radians per position

  float worst = 0;
  for (std::size_t row = 0; row < cosine.shape(0); ++row)
    for (std::size_t pair = 0; pair < cosine.shape(1); ++pair) {
      const float angle = static_cast<float>(131000 + row) * inv_freq(pair);  // one float32 product, as model code does
      worst = std::max(worst, std::abs(std::cos(angle) - cosine(row, pair)));
    }
  std::printf("cos [%zu, %zu]; float32 angles are off by up to %.1e at positions 131000..131071\n", cosine.shape(0), cosine.shape(1), static_cast<double>(worst));
  return worst > 1e-4f && worst < 1e-1f ? 0 : 1;
}
