// What must hold of a rope table, checked on stored values.
#include <cmath>

#include "encodings/rope_state.hpp"
#include "encodings/law_tools.hpp"
#include "posenc/text.hpp"

namespace posenc {
namespace {

constexpr std::int64_t some = 64;  // rows looked at

// cos and sin of each pair of one position, wherever the layout keeps them.
struct PairReader {
  std::shared_ptr<const RopeState> state;
  std::size_t set;

  bool operator()(const Stored& stored, std::int64_t position, std::vector<double>& c, std::vector<double>& s) const {
    const auto n = static_cast<std::size_t>(state->pairs);
    const std::size_t first = set * state->parts;
    const RopeLayout layout = state->rope.layout;
    c.assign(n, 0);
    s.assign(n, 0);
    if (layout == RopeLayout::complex) {
      for (std::size_t i = 0; i < n; ++i) {
        const auto z = stored.row(first, position * state->pairs + static_cast<std::int64_t>(i));
        if (!z) return false;
        c[i] = (*z)[0];
        s[i] = (*z)[1];
      }
      return true;
    }
    const auto row = stored.row(first, position);
    if (!row) return false;
    if (layout == RopeLayout::cache) {
      for (std::size_t i = 0; i < n; ++i) {
        c[i] = (*row)[i];
        s[i] = (*row)[n + i];
      }
      return true;
    }
    const auto sines = stored.row(first + 1, position);
    if (!sines) return false;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = layout == RopeLayout::interleaved ? 2 * i : i;
      c[i] = (*row)[at];
      s[i] = (*sines)[at];
    }
    return true;
  }
};

std::string set_prefix(const RopeState& state, std::size_t set) {
  const std::string& name = state.tensors[set * state.parts].name;
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot) + ": ";
}

}  // namespace

std::vector<Law> Rope::laws() const {
  std::vector<Law> laws;
  const auto state = std::make_shared<const RopeState>(*this);
  const std::size_t sets = state->tensors.size() / state->parts;
  const double m = state->amplitude_real().to_double();

  if (layout == RopeLayout::inv_freq && std::holds_alternative<rescale::Plain>(rule) && inv_freq.empty()) {
    laws.push_back({"first", "inv_freq[0] = 1", "arXiv:2104.09864, section 3.2.2", [](const Stored& stored) -> std::optional<std::string> {
                      const auto row = stored.row(0, 0);
                      if (!row || (*row)[0] == 1) return std::nullopt;
                      return "inv_freq[0] is " + print((*row)[0]) + ", not 1";
                    }});
    return laws;
  }
  if (layout == RopeLayout::inv_freq || layout == RopeLayout::divisors || layout == RopeLayout::angles || layout == RopeLayout::matrix)
    return laws;

  for (std::size_t set = 0; set < sets; ++set) {
    const PairReader pairs_of{state, set};
    const std::string prefix = set_prefix(*state, set);
    const std::size_t tensor = set * state->parts;

    // Each stored component is within d = u m, or within floor_of(u) below the smallest normal, of the truth:
    // (c + dc)^2 + (s + ds)^2 - m^2 <= 2 m (|dc| + |ds|) + dc^2 + ds^2 <= 4 m d + 2 d^2; binary64 evaluation adds a few 2^-53.
    // What is stored as infinity tells nothing.
    laws.push_back({prefix + "norm", "cos^2 + sin^2 = attention_factor^2 for every pair", "arXiv:2104.09864, section 3.2.2",
                    [=](const Stored& stored) -> std::optional<std::string> {
                      const double u = stored.unit_roundoff(tensor);
                      const double d = u * m + detail::floor_of(u), tolerance = 4 * m * d + 2 * d * d + m * m * 0x1p-48;
                      if (!detail::in_range(m, u) || !(m < 0x1p126)) return std::nullopt;
                      std::vector<double> c, s;
                      for (std::int64_t r : detail::spread(state->positions.size(), some)) {
                        if (!pairs_of(stored, r, c, s)) return std::nullopt;
                        for (std::size_t i = 0; i < c.size(); ++i) {
                          const double off = c[i] * c[i] + s[i] * s[i] - m * m;
                          if (!(std::abs(off) <= tolerance))
                            return "row " + print(r) + " pair " + print(static_cast<std::int64_t>(i)) + ": cos^2 + sin^2 is " +
                                   print(off + m * m) + ", not " + print(m * m);
                        }
                      }
                      return std::nullopt;
                    }});

    // R(a) R(b) = R(a + b) with a = x_r, b = x_1 - x_0 of a range that starts at 0: three stored factors, each off by d as
    // above, products below m^2: 2 m * 2 d + m d and squares of d, and rounding in binary64.
    if (state->positions.is_range() && state->positions.start() == 0 && state->positions.size() >= 3)
      laws.push_back({prefix + "addition", "R(m) R(n) = R(m + n): each row is the one before turned by row 1",
                      "arXiv:2104.09864, eq. 16", [=](const Stored& stored) -> std::optional<std::string> {
                        const double u = stored.unit_roundoff(tensor), d = u * m + detail::floor_of(u);
                        const double tolerance = 6 * m * d + 2 * d * d + m * m * 0x1p-48;
                        if (!detail::in_range(m, u) || !(m < 0x1p126)) return std::nullopt;
                        std::vector<double> c1, s1, c, s, cn, sn;
                        if (!pairs_of(stored, 1, c1, s1)) return std::nullopt;
                        for (std::int64_t r : detail::spread(state->positions.size() - 1, some)) {
                          if (!pairs_of(stored, r, c, s) || !pairs_of(stored, r + 1, cn, sn)) return std::nullopt;
                          for (std::size_t i = 0; i < c.size(); ++i) {
                            const double ec = c[i] * c1[i] - s[i] * s1[i] - m * cn[i];
                            const double es = s[i] * c1[i] + c[i] * s1[i] - m * sn[i];
                            if (!(std::max(std::abs(ec), std::abs(es)) <= tolerance))
                              return "row " + print(r) + " pair " + print(static_cast<std::int64_t>(i)) +
                                     ": turning by row 1 misses row " + print(r + 1) + " by " + print(std::max(std::abs(ec), std::abs(es)));
                          }
                        }
                        return std::nullopt;
                      }});

    if (layout == RopeLayout::half || layout == RopeLayout::interleaved)
      laws.push_back({prefix + "pairing", "both lanes of a pair hold the same value",
                      layout == RopeLayout::half ? "Llama, GPT-NeoX: lanes i and i + pairs" : "GPT-J, Cohere: lanes 2i and 2i + 1",
                      [=](const Stored& stored) -> std::optional<std::string> {
                        const std::int64_t n = state->pairs;
                        for (std::size_t part = 0; part < 2; ++part)
                          for (std::int64_t r : detail::spread(state->positions.size(), some)) {
                            const auto row = stored.row(tensor + part, r);
                            if (!row) return std::nullopt;
                            for (std::int64_t i = 0; i < n; ++i) {
                              const bool tiled = state->rope.layout == RopeLayout::half;
                              const std::int64_t a = tiled ? i : 2 * i, b = tiled ? i + n : 2 * i + 1;
                              if ((*row)[static_cast<std::size_t>(a)] != (*row)[static_cast<std::size_t>(b)])
                                return state->tensors[tensor + part].name + " row " + print(r) + ": lanes " + print(a) + " and " +
                                       print(b) + " differ";
                            }
                          }
                        return std::nullopt;
                      }});
  }
  return laws;
}

}  // namespace posenc
