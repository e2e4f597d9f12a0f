// What must hold of every resizing, over random sizes and options: the same size is the same table; the rows that a method keeps.
#include <algorithm>
#include <map>
#include <random>

#include "posenc/error.hpp"
#include "posenc/names.hpp"
#include "resample/oracle.hpp"

namespace {

using namespace posenc;
using namespace resample_oracle;
using Method = ResampleMethod;
using Rows = TableRowKind;

struct Random {
  std::mt19937_64 bits;
  std::int64_t integer(std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(high - low + 1)); }
  bool coin() { return integer(0, 1) == 1; }
  bool rarely() { return integer(0, 3) == 0; }
  template <class E>
  E any() {
    return EnumNames<E>::values[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(EnumNames<E>::values.size()) - 1))].value;
  }
};

struct Drawn {
  Array table;
  Resampling how;
};

// A table of any kind of rows, and how to resize it to its own size; options that do not go together are told by the library.
Drawn same_size(Random& random) {
  Resampling how{.rows = random.any<Rows>(), .method = random.any<Method>()};
  const std::int64_t lanes = random.integer(1, 4), prefix = random.integer(0, 3), extra = random.integer(0, 3);
  if (random.rarely()) how.preset = random.any<ResamplePreset>();
  if (random.rarely()) how.alignment = random.any<Alignment>();
  if (random.rarely()) how.antialias = random.coin();
  if (random.rarely()) how.cubic_a = -0.25 * static_cast<double>(random.integer(0, 4));
  if (random.rarely()) how.edges = random.any<EdgeRule>();
  how.prefix = prefix;
  how.extra = extra;
  std::int64_t rows = random.integer(1, 40);
  switch (how.rows) {
    case Rows::sequence:
      how.length = rows;
      if (how.method == Method::stretch) how.keep = random.integer(0, rows);
      if (how.method == Method::hierarchical && random.coin()) how.alpha = 0.1 * static_cast<double>(random.integer(1, 9));
      break;
    case Rows::grid:
    case Rows::window: {
      how.height = how.new_height = random.integer(1, 6);
      how.width = how.new_width = random.integer(1, 6);
      rows = how.rows == Rows::grid ? *how.height * *how.width : (2 * *how.height - 1) * (2 * *how.width - 1);
      break;
    }
    case Rows::distances:
      how.new_distance = random.integer(1, 20);
      rows = 2 * *how.new_distance + random.integer(0, 1);
      break;
    case Rows::buckets:
      rows = 2 * random.integer(2, 20);
      if (random.coin()) how.bidirectional = random.coin();
      if (random.coin()) how.new_num_buckets = rows;
      break;
  }
  return {table({prefix + rows + extra, lanes}, static_cast<unsigned>(random.bits())), how};
}

}  // namespace

TEST_CASE("resample: the same size is the same table, whatever the rows, the method and the options") {
  Random random{std::mt19937_64(61)};
  std::map<std::pair<Rows, Method>, int> held;
  for (int trial = 0; trial < 20000; ++trial) {
    const Drawn drawn = same_size(random);
    std::unique_ptr<Resampler> resampler;
    try {
      resampler = std::make_unique<Resampler>(drawn.table.shape, drawn.how);
    } catch (const Error&) {  // options that do not go together
      continue;
    }
    CAPTURE(resampler->understood());
    for (const DType dtype : {DType::f64, DType::f32}) {
      const Array got = (*resampler)(drawn.table, dtype);
      REQUIRE(got.shape == drawn.table.shape);
      REQUIRE(same_bits(got.values, drawn.table.values));
    }
    ++held[std::pair{drawn.how.rows, drawn.how.method}];
  }
  // Every pair that the library takes came up.
  int pairs = 0;
  for (const auto& rows : EnumNames<Rows>::values)
    for (const auto& method : EnumNames<Method>::values) {
      const Resampling alone{.rows = rows.value, .method = method.value};
      try {
        alone.check();
      } catch (const Error& error) {
        if (std::string_view(error.what()).find(" are resized by ") != std::string_view::npos) continue;
      }
      ++pairs;
      const int times = held[std::pair{rows.value, method.value}];
      CHECK_MESSAGE(times > 20, rows.name, " ", method.name, ": ", times);
    }
  CHECK(pairs == 16);
}

TEST_CASE("resample: hierarchical copies the first n rows, and prefix rows, bit for bit, whatever n, alpha and the new length") {
  Random random{std::mt19937_64(62)};
  for (int trial = 0; trial < 300; ++trial) {
    const std::int64_t n = random.integer(1, 30), prefix = random.integer(0, 3), length = random.integer(1, n * n), lanes = random.integer(1, 4);
    const Array in = table({prefix + n, lanes}, static_cast<unsigned>(trial));
    Resampling how{.method = Method::hierarchical, .length = length, .prefix = prefix};
    const std::int64_t tenths = random.integer(1, 9);
    if (tenths != 5) how.alpha = 0.1 * static_cast<double>(tenths);
    const DType dtype = random.coin() ? DType::f64 : DType::f32;
    const Array got = resample(in, how, dtype);
    REQUIRE(got.shape == std::vector<std::int64_t>{prefix + length, lanes});
    const auto kept = (prefix + std::min(n, length)) * lanes;
    CHECK(same_bits({got.values.begin(), got.values.begin() + kept}, {in.values.begin(), in.values.begin() + kept}));
    // Row n is a mixture of rows 1 and 0, no copy of the first.
    if (n > 1 && length > n && in.values[static_cast<std::size_t>((prefix + 1) * lanes)] != in.values[static_cast<std::size_t>(prefix * lanes)])
      CHECK(got.values[static_cast<std::size_t>((prefix + n) * lanes)] != in.values[static_cast<std::size_t>(prefix * lanes)]);
  }
}

TEST_CASE("resample: tile repeats with the old length, nearest takes row floor(k n / N), replicate clips, whatever the sizes") {
  Random random{std::mt19937_64(63)};
  for (int trial = 0; trial < 300; ++trial) {
    const std::int64_t n = random.integer(1, 40), length = random.integer(1, 200), prefix = random.integer(0, 3);
    const Array in = table({prefix + n, 1}, static_cast<unsigned>(trial));
    const Array tiled = resample(in, {.method = Method::tile, .length = length, .prefix = prefix});
    const Array nearest = resample(in, {.method = Method::nearest, .length = length, .prefix = prefix});
    std::vector<double> repeated(in.values.begin(), in.values.begin() + prefix), grouped = repeated;
    for (std::int64_t k = 0; k < length; ++k) {
      repeated.push_back(in.values[static_cast<std::size_t>(prefix + k % n)]);
      grouped.push_back(in.values[static_cast<std::size_t>(prefix + k * n / length)]);
    }
    CHECK(same_bits(tiled.values, repeated));
    CHECK(same_bits(nearest.values, grouped));
    const std::int64_t k = random.integer(1, 20), to = random.integer(1, 40), odd = random.integer(0, 1);
    const Array distances = table({2 * k + odd, 1}, static_cast<unsigned>(trial));
    std::vector<double> clipped;
    for (std::int64_t r = -to; r < to + odd; ++r) clipped.push_back(distances.values[static_cast<std::size_t>(k + std::clamp(r, -k, k - 1 + odd))]);
    CHECK(same_bits(resample(distances, {.rows = Rows::distances, .method = Method::replicate, .new_distance = to}).values, clipped));
  }
}
