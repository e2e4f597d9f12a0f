// rope: parameters, tensors, formula. The fast fill is in rope_state.cpp, the laws in rope_laws.cpp.
#include "encodings/rope.hpp"

#include "encodings/model.hpp"
#include "encodings/rope_state.hpp"

namespace posenc {
namespace {

using rescale::need;

std::string method_name(const Rule& rule) {
  return std::visit([](const auto& r) { return std::string(r.name); }, rule);
}

FieldView method_view(const Rule& rule) {
  FieldView view;
  view.name = "method";
  view.metavar = "NAME";
  view.help = "rule that rescales the frequencies";
  view.type = "choice";
  view.value = method_name(rule);
  view.fallback = method_name(Rule{});
  view.present = true;
#define POSENC_RULE(function, Type) view.choices.emplace_back(rescale::Type::name, rescale::Type::summary);
#include "rescale/list.inc"
#undef POSENC_RULE
  return view;
}

// Keeps every decimal of a rotary_dim that is int(head_dim * factor) in model code: a double product, cut.
std::int64_t partial(std::int64_t head_dim, double factor) {
  return static_cast<std::int64_t>(static_cast<double>(head_dim) * factor);
}

// p-RoPE's exponents and pairs are those of the whole head, though only some of it turns.
bool over_whole_head(const Rule& rule) { return std::holds_alternative<rescale::Proportional>(rule); }

bool has_positions(RopeLayout layout) { return layout != RopeLayout::inv_freq && layout != RopeLayout::divisors; }

}  // namespace

std::vector<FieldView> Rope::extra_views() const {
  std::vector<FieldView> out{method_view(rule)};
  std::visit(
      [&](const auto& r) {
        for (FieldView& view : detail::views(r, r.name)) out.push_back(std::move(view));
      },
      rule);
  return out;
}

bool Rope::extra_assign(std::string_view field, std::string_view text) {
  if (field == "method") {
    std::vector<std::string> names;
#define POSENC_RULE(function, Type)                                    \
  if (text == rescale::Type::name) {                                   \
    if (!std::holds_alternative<rescale::Type>(rule)) rule = rescale::Type{}; \
    return true;                                                       \
  }                                                                    \
  names.emplace_back(rescale::Type::name);
#include "rescale/list.inc"
#undef POSENC_RULE
    fail_usage(fmt::format("method wants {}, got {}{}", one_of(names), quoted_word(text), did_you_mean(text, names)));
  }
  return std::visit([&](auto& r) { return detail::assign(r, field, text); }, rule);
}

std::vector<FieldView> Rope::all_views() {
  std::vector<FieldView> out = detail::views(Rope{});
  out.push_back(method_view(Rule{}));
#define POSENC_RULE(function, Type) \
  for (FieldView& view : detail::views(rescale::Type{}, rescale::Type::name)) out.push_back(std::move(view));
#include "rescale/list.inc"
#undef POSENC_RULE
  return out;
}

std::int64_t Rope::rotary() const {
  if (rotary_dim) return *rotary_dim;
  return partial_rotary_factor ? partial(head_dim, *partial_rotary_factor) : head_dim;
}

std::int64_t Rope::stride() const {
  if (pair_stride) return *pair_stride;
  if (over_whole_head(rule) && layout != RopeLayout::interleaved && layout != RopeLayout::complex) return head_dim / 2;
  return layout == RopeLayout::interleaved || layout == RopeLayout::complex ? 1 : rotary() / 2;
}

RopeGeometry Rope::geometry() const {
  return {head_dim, rotary(), frequency_denominator.value_or(over_whole_head(rule) ? head_dim : rotary()), base, positions.shifted(offset).length()};
}

void Rope::check() const {
  const std::int64_t lanes = rotary();
  if (rotary_dim && partial_rotary_factor && *rotary_dim != partial(head_dim, *partial_rotary_factor))
    fail_usage(fmt::format("rotary_dim {} and partial_rotary_factor {} (of head_dim {}) disagree; give one of them", *rotary_dim,
                           print(*partial_rotary_factor), head_dim));
  if (lanes > head_dim) fail_usage(fmt::format("rotary_dim {} is larger than head_dim {}", lanes, head_dim));
  if (lanes < 2 || lanes % 2 != 0)
    fail_usage(fmt::format("the rotated width must be even and at least 2, got {}: lanes turn in pairs", lanes));
  const std::int64_t s = stride();
  if (layout == RopeLayout::half && s == 1 && lanes > 2)
    fail_usage(fmt::format("layout half pairs lanes i and i + {}, pair_stride says 1; use layout interleaved", lanes / 2));
  if (layout == RopeLayout::interleaved && s != 1)
    fail_usage(fmt::format("layout interleaved pairs adjacent lanes, pair_stride says {}", s));
  if (s > 1 && s < lanes / 2) fail_usage(fmt::format("pair_stride {} would make pairs of {} turning lanes overlap", s, lanes));
  if (s > 1 && 2 * s > head_dim) fail_usage(fmt::format("pair_stride {} leads outside head_dim {}", s, head_dim));
  (void)positions.shifted(offset);
  if (!inv_freq.empty() && static_cast<std::int64_t>(inv_freq.size()) != lanes / 2)
    fail_usage(fmt::format("inv_freq has {} entries, {} rotated lanes have {} pairs", inv_freq.size(), lanes, lanes / 2));
  if (!inv_freq.empty() && !std::holds_alternative<rescale::Plain>(rule))
    fail_usage(fmt::format("inv_freq gives the frequencies themselves; method {} would rescale other ones", method_name(rule)));
  std::visit(
      [&](const auto& r) {
        detail::check_ranges(r);
        r.check(geometry());
      },
      rule);
  if (layout == RopeLayout::matrix && head_dim > 4096)
    fail_usage(fmt::format("layout matrix is for small cases: head_dim up to 4096, got {}", head_dim));
  if (layout == RopeLayout::divisors)
    for (double f : inv_freq)
      if (f == 0) fail_usage("layout divisors divides by the frequencies; inv_freq has a 0");
}

std::vector<Tensor> Rope::tensors() const {
  const std::int64_t n = positions.size(), p = pairs();
  const auto sets = std::visit([&](const auto& r) { return rescale::sets_of(r, geometry()); }, rule);
  std::vector<Tensor> out;
  for (const std::string& set : sets) {
    const std::string prefix = set.empty() ? "" : set + ".";
    const auto add = [&](std::string_view tensor, std::vector<Axis> axes, std::string help, Kind kind = Kind::real) {
      if (has_positions(layout)) axes.insert(axes.begin(), {"position", n});
      out.push_back({prefix + std::string(tensor), std::move(axes), kind, std::move(help)});
    };
    const std::string amplitude = "times attention_factor";
    switch (layout) {
      case RopeLayout::half_width:
        add("cos", {{"pair", p}}, "cos(position * inv_freq) " + amplitude);
        add("sin", {{"pair", p}}, "sin(position * inv_freq) " + amplitude);
        break;
      case RopeLayout::half:
        add("cos", {{"lane", 2 * p}}, "cos, tiled: lanes i and i + pairs alike, " + amplitude);
        add("sin", {{"lane", 2 * p}}, "sin, tiled: lanes i and i + pairs alike, " + amplitude);
        break;
      case RopeLayout::interleaved:
        add("cos", {{"lane", 2 * p}}, "cos, repeated: lanes 2i and 2i + 1 alike, " + amplitude);
        add("sin", {{"lane", 2 * p}}, "sin, repeated: lanes 2i and 2i + 1 alike, " + amplitude);
        break;
      case RopeLayout::cache: add("cos_sin", {{"lane", 2 * p}}, "[cos | sin] " + amplitude); break;
      case RopeLayout::complex:
        add("freqs_cis", {{"pair", p}, {"complex", 2}}, "cos + i sin " + amplitude, Kind::complex);
        break;
      case RopeLayout::angles: add("angles", {{"pair", p}}, "position * inv_freq, radians"); break;
      case RopeLayout::inv_freq: add("inv_freq", {{"pair", p}}, "radians per position"); break;
      case RopeLayout::divisors: add("rope_freqs", {{"pair", rotary() / 2}}, "plain / rescaled inv_freq"); break;
      case RopeLayout::matrix:
        add("R", {{"row", head_dim}, {"column", head_dim}}, "rotation acting on column vectors, " + amplitude + " on rotated lanes");
        break;
    }
  }
  return out;
}

Rope::Table Rope::table() const { return Table(*this); }

RopeFacts facts(const Rope& rope) {
  RopeFacts out;
  out.method = method_name(rope.rule);
  const RopeState state(rope);
  out.attention_factor = num::decide(DType::f64, [&] { return state.amplitude_real(); });
  std::visit(
      [&](const auto& r) {
        out.sets = rescale::sets_of(r, rope.geometry());
        out.switch_text = rescale::switch_text_of(r);
      },
      rope.rule);
  return out;
}

struct Rope::Table::State : RopeState {
  using RopeState::RopeState;
};

Rope::Table::Table(const Rope& rope) : state_(std::make_shared<const State>(rope)) {}

void Rope::Table::fill(std::size_t tensor, Block& block) const {
  if (!state_->fill(tensor, block)) detail::plain_fill(*this, state_->tensors[tensor], tensor, block);
}

bool Rope::Table::rounded(std::size_t tensor, const Extent& extent, DType dtype, void* out, std::vector<std::uint32_t>& undecided) const {
  return dtype == DType::f32 && state_->rounded(tensor, extent, static_cast<float*>(out), undecided);
}

template <class T>
T Rope::Table::element(std::size_t tensor, std::span<const std::int64_t> index) const {
  const RopeState& s = *state_;
  const std::size_t set = tensor / s.parts;
  const bool sine = tensor % s.parts == 1;
  const auto turned = [&](std::int64_t pair, bool want_sine) {
    const T angle = s.position<T>(index[0]) * s.inv_freq<T>(set, pair);
    return (want_sine ? sin(angle) : cos(angle)) * s.amplitude<T>();
  };
  switch (s.rope.layout) {
    case RopeLayout::half_width: return turned(index[1], sine);
    case RopeLayout::half: return turned(index[1] % s.pairs, sine);
    case RopeLayout::interleaved: return turned(index[1] / 2, sine);
    case RopeLayout::cache: return turned(index[1] % s.pairs, index[1] >= s.pairs);
    case RopeLayout::complex: return turned(index[1], index[2] == 1);
    case RopeLayout::angles: return s.position<T>(index[0]) * s.inv_freq<T>(set, index[1]);
    case RopeLayout::inv_freq: return s.inv_freq<T>(set, index[0]);
    case RopeLayout::divisors:
      return (s.rope.inv_freq.empty() ? rescale::plain_inv_freq(s.geometry, T::of(s.rope.base), index[0])
                                      : s.inv_freq<T>(set, index[0])) /
             s.inv_freq<T>(set, index[0]);
    case RopeLayout::matrix: break;
  }
  // R: identity outside the rotated lanes; rows and columns (a, b) of a pair hold [[cos, -sin], [sin, cos]].
  const std::int64_t row = index[1], column = index[2];
  const std::int64_t turning = s.geometry.rotary_dim / 2;
  const auto locate = [&](std::int64_t lane, std::int64_t& pair, bool& second) {
    if (s.stride == 1) {
      pair = lane / 2;
      second = lane % 2 == 1;
    } else {
      pair = lane % s.stride;
      second = lane >= s.stride;
    }
    return lane < 2 * s.pairs && pair < turning;
  };
  std::int64_t pair_row = 0, pair_column = 0;
  bool second_row = false, second_column = false;
  const bool turns = locate(row, pair_row, second_row) && locate(column, pair_column, second_column) && pair_row == pair_column;
  if (!turns) return T::of(std::int64_t{row == column ? 1 : 0});
  if (second_row == second_column) return turned(pair_row, false);
  return second_row ? turned(pair_row, true) : -turned(pair_row, true);
}

}  // namespace posenc

POSENC_DEFINE_ENCODING(rope, Rope)
