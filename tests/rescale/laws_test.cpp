// What the papers promise of the rescaling rules: identities, ends, order, and what the dynamic ones depend on.
#include <doctest/doctest.h>

#include "numeric/decide.hpp"
#include "rescale/formulas.hpp"
#include "rescale/samples.hpp"

using namespace rescale_tests;

TEST_CASE("rescale: every rule at factor 1 is the identity, in value and amplitude") {
  Random random{std::mt19937_64(44)};
  for (int trial = 0; trial < 8; ++trial) {
    const Rope trained = random_rope(random);
    for (const Rule& rule : rules(trained, random, 1)) {
      Rope rope = trained;
      prepare(rope, rule);
      const Rope plain = with(rope, Plain{});
      for (const DType dtype : float_dtypes) CHECK_MESSAGE(frequencies(rope, dtype) == frequencies(plain, dtype), name_of_rule(rule));
      CHECK_MESSAGE(facts(rope).attention_factor == 1, name_of_rule(rule));
      // Rational where the plain ones are: the first is 1 without an interval around it.
      num::at_precision(128, [&] {
        const num::Real first = element<num::Real>(rope, 0);
        CHECK_MESSAGE((first.is_exact() && first == num::Real::of(1.0)), name_of_rule(rule));
        return 0;
      });
    }
  }
}

TEST_CASE("rescale: frequencies fall from pair to pair and lie between plain and plain / factor") {
  Random random{std::mt19937_64(45)};
  for (int trial = 0; trial < 12; ++trial) {
    const Rope trained = random_rope(random);
    // At an integer factor the length of the dynamic rules is that multiple exactly.
    const double s = static_cast<double>(random.integer(1, 32));
    for (const Rule& rule : rules(trained, random, s)) {
      const std::string name = name_of_rule(rule);
      if (name == "divisors" || name.starts_with("longrope")) continue;  // whatever the list says
      Rope rope = trained;
      prepare(rope, rule);
      const Values f = frequencies(rope), plain = frequencies(with(rope, Plain{})), linear = frequencies(with(rope, Linear{.factor = s}));
      for (std::size_t i = 0; i < f.size(); ++i) {
        if (i > 0) CHECK_MESSAGE(f[i] < f[i - 1], name, " pair ", i);
        if (!between_plain_and_linear(rule)) continue;
        CHECK_MESSAGE(f[i] <= plain[i], name, " pair ", i);
        CHECK_MESSAGE(f[i] >= linear[i], name, " pair ", i);
      }
    }
  }
}

TEST_CASE("rescale: ntk keeps the first frequency and divides the last by exactly factor; so do Su's fixed and mixed the last") {
  Random random{std::mt19937_64(46)};
  for (int trial = 0; trial < 20; ++trial) {
    const Rope trained = random_rope(random);
    const double s = random.factor();
    const std::int64_t original = random.integer(64, 4096), times = random.integer(2, 9);
    const auto last = [&](const Rule& rule, DType dtype) { return frequencies(with(trained, rule), dtype).back(); };
    for (const DType dtype : float_dtypes) {
      const double divided = last(Linear{.factor = s}, dtype);
      CHECK(frequencies(with(trained, Ntk{.factor = s}), dtype).front() == 1);
      CHECK(last(Ntk{.factor = s}, dtype) == divided);
      CHECK(last(NtkFixed{.factor = s}, dtype) == divided);
      CHECK(last(NtkMixed{.factor = s}, dtype) == divided);
      CHECK(last(NtkMixed{.factor = s, .exponent = random.real(0, 3)}, dtype) == divided);
      const Rule paper = Dynamic{.max_position_embeddings = original, .length = times * original, .variant = DynamicVariant::paper};
      CHECK(last(paper, dtype) == last(Linear{.factor = static_cast<double>(times)}, dtype));
      CHECK(frequencies(with(trained, paper), dtype).front() == 1);
      if (s > 1 && dtype == DType::f64) CHECK(last(NtkOld{.factor = s}, dtype) > divided);
    }
  }
}

TEST_CASE("rescale: the ends of yarn and ntk-by-parts are plain and plain / factor") {
  const Rope trained{.head_dim = 128};
  const Values plain = frequencies(trained);
  for (const double s : {2.0, 4.0, 12.5, 32.0}) {
    const Values linear = frequencies(with(trained, Linear{.factor = s}));
    const Rule each[] = {Yarn{.factor = s, .original_max_position_embeddings = 4096},
                         Yarn{.factor = s, .original_max_position_embeddings = 4096, .truncate = false},
                         DynamicYarn{.yarn = {.original_max_position_embeddings = 4096}, .length = std::llround(4096 * s)},
                         NtkByParts{.factor = s, .original_max_position_embeddings = 4096},
                         NtkByParts{.factor = s, .original_max_position_embeddings = 4096, .ramp = PartsRamp::index}};
    for (const Rule& rule : each) {
      const Values f = frequencies(with(trained, rule));
      // 4096 positions are 16 turns at wavelength 256, 32 at 128, 1 at 4096, 0.75 at 5461: pairs 26, 20, 46 and 48 of base
      // 10000; rounding outward moves an end by one pair.
      for (std::size_t i = 0; i < 20; ++i) CHECK_MESSAGE(f[i] == plain[i], name_of_rule(rule), " pair ", i);
      for (std::size_t i = 48; i < 64; ++i) CHECK_MESSAGE(f[i] == linear[i], name_of_rule(rule), " pair ", i);
      CHECK(f[35] < plain[35]);
      CHECK(f[35] > linear[35]);
    }
  }
}

TEST_CASE("rescale: a dynamic rule is a function of the length asked for, and the original table up to the trained one") {
  const auto rules_at = [](std::optional<std::int64_t> length) {
    return std::vector<Rule>{Dynamic{.factor = 2, .max_position_embeddings = 100, .length = length},
                             Dynamic{.max_position_embeddings = 100, .length = length, .variant = DynamicVariant::paper},
                             Dynamic{.max_position_embeddings = 100, .length = length, .variant = DynamicVariant::qwen},
                             DynamicLinear{.max_position_embeddings = 100, .length = length},
                             DynamicYarn{.yarn = {.original_max_position_embeddings = 100}, .length = length},
                             DynamicYarn{.yarn = {.original_max_position_embeddings = 100, .truncate = false}, .length = length}};
  };
  const Rope trained{.head_dim = 32, .positions = Positions::range(0, 50)};
  const Values plain = frequencies(trained);
  for (std::size_t k = 0; k < rules_at({}).size(); ++k) {
    CAPTURE(k);
    for (const std::int64_t below : {1, 50, 99, 100}) {
      const Rope rope = with(trained, rules_at(below)[k]);
      CHECK(frequencies(rope) == plain);
      CHECK(facts(rope).attention_factor == 1);
      for (std::int64_t i = 0; i < 16; ++i) CHECK(element<num::Float32>(rope, i) == element<num::Float32>(trained, i));
    }
    CHECK(frequencies(with(trained, rules_at({})[k])) == plain);  // 50 positions
    CHECK(frequencies(with(trained, rules_at(101)[k])) != plain);
    // Absent: the largest position + 1, wherever the positions start and whatever their order.
    Rope few = with(trained, rules_at({})[k]);
    few.positions = Positions::parse("250,3,1");
    CHECK(frequencies(few) == frequencies(with(trained, rules_at(251)[k])));
    few.offset = 49;
    CHECK(frequencies(few) == frequencies(with(trained, rules_at(300)[k])));
    // The rows of one length do not depend on which of them are asked for.
    Rope whole = with(trained, rules_at(300)[k]), part = whole;
    whole.positions = Positions::range(0, 300);
    part.positions = Positions::range(290, 300);
    const auto cosines = [](const Rope& rope) { return testing_support::values_of(*erase(rope), DType::f32); };
    const Values all = cosines(whole);
    CHECK(cosines(part) == Values(all.end() - 160, all.end()));
  }
  // At a multiple of the trained length, what the static rules say.
  const auto same = [&](const Rule& a, const Rule& b) {
    CHECK(frequencies(with(trained, a)) == frequencies(with(trained, b)));
    CHECK(facts(with(trained, a)).attention_factor == facts(with(trained, b)).attention_factor);
  };
  same(rules_at(250)[1], Ntk{.factor = 2.5});
  same(rules_at(250)[0], Ntk{.factor = 4});   // 2 * 2.5 - 1
  same(rules_at(250)[2], Ntk{.factor = 7});   // 2^(2 + 1) - 1
  same(rules_at(200)[2], Ntk{.factor = 3});   // 2^(1 + 1) - 1
  same(rules_at(201)[2], Ntk{.factor = 7});
  same(rules_at(250)[3], Linear{.factor = 2.5});
  same(rules_at(250)[4], Yarn{.factor = 2.5, .original_max_position_embeddings = 100});
  same(rules_at(250)[5], Yarn{.factor = 2.5, .original_max_position_embeddings = 100, .truncate = false});
}

TEST_CASE("rescale: rules that say the same thing give the same bits") {
  Random random{std::mt19937_64(47)};
  for (int trial = 0; trial < 10; ++trial) {
    const Rope trained = random_rope(random);
    const double s = static_cast<double>(random.integer(2, 1000)) / 4;
    for (const DType dtype : float_dtypes) {
      const auto f = [&](const Rule& rule) { return frequencies(with(trained, rule), dtype); };
      CHECK(f(NtkMixed{.factor = s, .exponent = 1}) == f(NtkFixed{.factor = s}));
      CHECK(f(NtkMixed{.factor = s, .exponent = 0}) == f(Linear{.factor = s}));
      CHECK(f(Divisors{.divisors = Values(static_cast<std::size_t>(trained.rotary() / 2), s)}) == f(Linear{.factor = s}));
      Rope other = trained;
      other.base = 1e4 * s;
      CHECK(f(Base{.new_base = 1e4 * s}) == frequencies(other, dtype));
      if (trained.base == 1e4) CHECK(f(NtkOld{.factor = s}) == f(Base{.new_base = 1e4 * s}));
    }
  }
  // Layout divisors written by one rule and read by another: each division rounds by half an ulp.
  Rope llama{.head_dim = 128, .base = 500000, .layout = RopeLayout::divisors, .rule = Llama3{.factor = 8, .original_max_position_embeddings = 8192}};
  const Values scaled = frequencies(llama), again = frequencies(with(llama, Divisors{.divisors = testing_support::values_of(*erase(llama))}));
  for (std::size_t i = 0; i < 64; ++i) CHECK(std::fabs(again[i] - scaled[i]) <= 0x1p-52 * scaled[i]);
}

TEST_CASE("rescale: yarn's pairs up to the ramp are plain, those from its end on plain / factor, whatever the parameters") {
  Random random{std::mt19937_64(50)};
  int plain_pairs = 0, divided_pairs = 0, blended_pairs = 0;
  for (int trial = 0; trial < 60; ++trial) {
    Rope trained = random_rope(random);
    if (trained.base < 10) trained.base = 10000;
    const double s = random.real(1.01, 40), slow = random.real(0.25, 4), fast = slow + random.real(0, 60);
    const bool whole = random.integer(0, 1) == 1;
    const std::int64_t d = trained.rotary(), original = random.integer(16, std::int64_t{1} << random.integer(5, 20));
    const Yarn yarn{.factor = s, .original_max_position_embeddings = original, .beta_fast = fast, .beta_slow = slow, .truncate = whole};
    const Reference reference{trained.base, d, 0, 0};
    Big low = reference.index_of(fast, original), high = reference.index_of(slow, original);
    if (whole) low = floor(low), high = ceil(high);
    // A ramp wholly outside [0, d - 1] runs backwards in the code that the rule follows.
    if (high < 0 || low > d - 1) continue;
    const Values plain = frequencies(trained), linear = frequencies(with(trained, Linear{.factor = s}));
    std::vector<Rule> same{yarn, DynamicYarn{.yarn = yarn, .length = original}};
    if (whole) same.emplace_back(YarnTransformers448{.yarn = yarn});
    for (const Rule& rule : same) {
      CAPTURE(name_of_rule(rule));
      const bool original_table = std::holds_alternative<DynamicYarn>(rule);  // at its trained length
      const Values f = frequencies(with(trained, rule));
      for (std::size_t i = 0; i < f.size(); ++i) {
        CAPTURE(i);
        if (original_table || i <= low || i == 0) {
          CHECK(f[i] == plain[i]);
          ++plain_pairs;
        } else if (i >= high) {
          CHECK(f[i] == linear[i]);
          ++divided_pairs;
        } else {  // strictly: these draws come nowhere so near to an end that rounding hides it
          CHECK(f[i] < plain[i]);
          CHECK(f[i] > linear[i]);
          ++blended_pairs;
        }
      }
    }
  }
  CHECK(plain_pairs > 100);
  CHECK(divided_pairs > 100);
  CHECK(blended_pairs > 100);
}

TEST_CASE("rescale: llama3's three bands by wavelength") {
  Random random{std::mt19937_64(51)};
  int kept = 0, divided = 0, blended = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const Rope trained = random_rope(random);
    const double s = random.real(1.01, 40), slow = random.real(0.25, 4), fast = random.integer(0, 4) == 0 ? slow : slow + random.real(0, 8);
    const std::int64_t original = random.integer(16, std::int64_t{1} << random.integer(5, 20));
    const Rule rule = Llama3{.factor = s, .original_max_position_embeddings = original, .low_freq_factor = slow, .high_freq_factor = fast};
    const Values plain = frequencies(trained), linear = frequencies(with(trained, Linear{.factor = s})), f = frequencies(with(trained, rule));
    for (std::size_t i = 0; i < f.size(); ++i) {
      CAPTURE(i);
      const Reference reference{trained.base, trained.rotary(), static_cast<std::int64_t>(i), 0};
      const Big wavelength = 2 * oracle::pi() / reference.plain();
      if (wavelength > original / Big(slow)) {
        CHECK(f[i] == linear[i]);
        ++divided;
      } else if (wavelength < original / Big(fast)) {
        CHECK(f[i] == plain[i]);
        ++kept;
      } else {
        CHECK(slow < fast);
        CHECK(f[i] < plain[i]);
        CHECK(f[i] > linear[i]);
        ++blended;
      }
    }
  }
  CHECK(kept > 100);
  CHECK(divided > 100);
  CHECK(blended > 10);
}

TEST_CASE("rescale: linear by a factor is the plain table at positions divided by it, and two linears are their product") {
  Random random{std::mt19937_64(52)};
  for (int trial = 0; trial < 12; ++trial) {
    Rope trained = random_rope(random);
    const double s = static_cast<double>(random.integer(2, 64)), t = static_cast<double>(random.integer(2, 64));
    std::vector<double> positions, times_s, times_st;
    for (int k = 0; k < 10; ++k) {
      positions.push_back(static_cast<double>(random.integer(0, 1 << 20)));
      times_s.push_back(positions.back() * s);
      times_st.push_back(positions.back() * s * t);  // integers below 2^32
    }
    const auto table = [&](const Rule& rule, const std::vector<double>& at, DType dtype) {
      Rope rope = with(trained, rule);
      rope.positions = Positions::list(at);
      rope.layout = RopeLayout::cache;
      return testing_support::values_of(*erase(rope), dtype);
    };
    for (const DType dtype : {DType::f64, DType::f32}) {
      const Values plain = table(Plain{}, positions, dtype);
      CHECK(table(Linear{.factor = s}, times_s, dtype) == plain);
      CHECK(table(Linear{.factor = s * t}, times_st, dtype) == plain);
      CHECK(table(Linear{.factor = t}, times_st, dtype) == table(Plain{}, times_s, dtype));
    }
  }
}

TEST_CASE("rescale: a table under any rule is written and verified, and does not verify under another factor") {
  Random random{std::mt19937_64(53)};
  const RopeLayout layouts[] = {RopeLayout::half_width, RopeLayout::half, RopeLayout::cache, RopeLayout::inv_freq, RopeLayout::divisors, RopeLayout::angles};
  for (int trial = 0; trial < 4; ++trial) {
    Rope trained = random_rope(random);
    trained.head_dim = std::min<std::int64_t>(trained.head_dim, 24);
    trained.rotary_dim.reset();
    for (const Rule& rule : rules(trained, random, random.real(1.5, 40))) {
      CAPTURE(name_of_rule(rule));
      Rope rope = trained;
      prepare(rope, rule);
      rope.layout = layouts[random.integer(0, 5)];
      rope.positions = Positions::range(0, 12);
      rope.check();
      testing_support::check_encoding(*erase(rope));
    }
    // Linear by s: what verify compares, at once; and the factor's neighbour.
    const double s = random.real(1.5, 40);
    Rope linear = with(trained, Linear{.factor = s});
    const Spec spec = testing_support::spec_of(*erase(linear), DType::f64);
    const auto planned = plan(spec, ComplexForm::pair);
    const auto file = testing_support::generated(spec, planned, {});
    const std::vector<std::size_t> sources{0, 1};
    for (const TensorVerdict& v : compare(spec, file, planned, sources, {})) CHECK(v.wrong == 0);
    linear.rule = Linear{.factor = s * (1 + 0x1p-40)};
    for (const TensorVerdict& v : compare(testing_support::spec_of(*erase(linear), DType::f64), file, planned, sources, {})) CHECK(v.wrong > 0);
  }
}
