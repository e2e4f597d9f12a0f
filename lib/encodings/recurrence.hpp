// Tables whose rows follow from one another: row n + 1 = step(row n). A Step has
//   template <class T> std::vector<T> first() const;
//   template <class T> std::vector<T> next(const std::vector<T>& row, std::int64_t n) const;   row n + 1 from row n
// and is called under a lock. Rows of doubles, and of the imitated arithmetics, are kept as far as they were asked for, so
// memory grows with the table: a recurrence has no random access. In Real, errors grow from row to row; the working precision
// is raised until a row is known as well as it was asked for, and every 64th row is kept.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <vector>

#include "numeric/scalar.hpp"
#include "posenc/tensor.hpp"

namespace posenc::detail {

template <class Step>
class Recurrence {
 public:
  template <class... Args>
  explicit Recurrence(Args&&... args) : step_(std::forward<Args>(args)...) {}

  /// Value `part` of row `n`.
  template <class T>
  T at(std::int64_t n, std::size_t part) const {
    const std::lock_guard lock(mutex_);
    if constexpr (std::is_same_v<T, num::Real>) {
      return real_row(n, num::Precision::bits())[part];
    } else {
      std::vector<std::vector<T>>& rows = kept<T>();
      if (rows.empty()) rows.push_back(step_.template first<T>());
      while (static_cast<std::int64_t>(rows.size()) <= n)
        rows.push_back(step_.template next<T>(rows.back(), static_cast<std::int64_t>(rows.size()) - 1));
      return rows[static_cast<std::size_t>(n)][part];
    }
  }

  /// The values of row `n` from part `first` on, and their bound.
  void fill(std::int64_t n, std::size_t first, std::int64_t count, double* hi, double* lo, ErrorBound& bound) const {
    const std::lock_guard lock(mutex_);
    while (static_cast<std::int64_t>(doubles_.size()) <= n) doubles_.push_back(doubles_of(static_cast<std::int64_t>(doubles_.size())));
    const Doubles& row = doubles_[static_cast<std::size_t>(n)];
    for (std::int64_t c = 0; c < count; ++c) {
      hi[c] = row.hi[first + static_cast<std::size_t>(c)];
      if (lo) lo[c] = row.lo[first + static_cast<std::size_t>(c)];
    }
    // Without lo, half an ulp of hi is left out: 2^-53 relative.
    bound = lo ? ErrorBound{row.error, 0} : ErrorBound{row.error, row.exact ? 0 : 0x1p-53};
  }

 private:
  using Row = std::vector<num::Real>;
  struct Doubles {
    std::vector<double> hi, lo;
    double error = 0;
    bool exact = true;  ///< every hi is the value itself
  };
  static constexpr std::int64_t group = 64;
  static constexpr int most_bits = 1 << 17;

  // Row n, each value within 2^-wanted of the largest.
  const Row& real_row(std::int64_t n, int wanted) const {
    if (bits_ < wanted + 64) restart(std::max(wanted + 64, 256));
    for (;; restart(2 * bits_)) {
      try {
        const num::Precision precision(bits_);
        const Row& row = walk(n);
        double size = 0, error = 0;
        for (const num::Real& x : row) {
          double hi = 0, lo = 0;
          if (!x.is_exact()) error = std::max(error, x.two_double(hi, lo) - 0x1p-104 * std::fabs(hi));
          size = std::max(size, std::fabs(x.to_double()));
        }
        if (error <= std::ldexp(size, -std::min(wanted, 100)) && width(row) <= std::ldexp(size, -wanted)) return row;
      } catch (const num::Undecided&) {
      }
      if (bits_ >= most_bits) throw num::Undecided{};
    }
  }
  // Largest width of a row's intervals, from what is left when two doubles are taken off again and again.
  static double width(const Row& row) {
    double widest = 0;
    for (const num::Real& x : row) {
      if (x.is_exact()) continue;
      num::Real rest = x;
      double left = std::numeric_limits<double>::infinity();
      for (int k = 0; k < 12; ++k) {
        double hi = 0, lo = 0;
        const double bound = rest.two_double(hi, lo);
        if (!(bound < left)) break;
        left = bound;
        rest -= num::Real::of(hi);
        rest -= num::Real::of(lo);
      }
      widest = std::max(widest, left);
    }
    return widest;
  }
  void restart(int bits) const {
    bits_ = bits;
    heads_.clear();
    block_.clear();
  }
  const Row& walk(std::int64_t n) const {
    if (heads_.empty()) heads_.push_back(step_.template first<num::Real>());
    const std::int64_t wanted = n / group;
    if (block_.empty() || number_ > wanted || number_ < wanted - 1) {  // no way on from the rows at hand
      number_ = std::min(wanted, static_cast<std::int64_t>(heads_.size()) - 1);
      block_.assign(1, heads_[static_cast<std::size_t>(number_)]);
    }
    while (number_ < wanted || static_cast<std::int64_t>(block_.size()) <= n % group) {
      const std::int64_t last = number_ * group + static_cast<std::int64_t>(block_.size()) - 1;
      Row next = step_.template next<num::Real>(block_.back(), last);
      if ((last + 1) % group == 0) {
        ++number_;
        if (static_cast<std::int64_t>(heads_.size()) == number_) heads_.push_back(next);
        block_.clear();
      }
      block_.push_back(std::move(next));
    }
    return block_[static_cast<std::size_t>(n % group)];
  }
  Doubles doubles_of(std::int64_t n) const {
    Doubles out;
    for (const num::Real& x : real_row(n, 110)) {
      double hi = 0, lo = 0;
      out.error = std::max(out.error, x.two_double(hi, lo));
      out.exact = out.exact && x.is_exact() && lo == 0;
      out.hi.push_back(hi);
      out.lo.push_back(lo);
    }
    return out;
  }

  template <class T>
  std::vector<std::vector<T>>& kept() const {
    if constexpr (std::is_same_v<T, num::Float32>)
      return float32_;
    else
      return bfloat16_;
  }

  mutable std::mutex mutex_;
  Step step_;
  mutable int bits_ = 0;
  mutable std::vector<Row> heads_, block_;  ///< every 64th row; the rows from one of them on
  mutable std::int64_t number_ = 0;         ///< of the group that block_ belongs to
  mutable std::vector<Doubles> doubles_;
  mutable std::vector<std::vector<num::Float32>> float32_;
  mutable std::vector<std::vector<num::BFloat16>> bfloat16_;
};

/// Numbers made once per scalar type, and per precision of Real. Under the caller's lock.
template <class Make>
class Once {
 public:
  explicit Once(Make make) : make_(std::move(make)) {}
  template <class T>
  const std::vector<T>& of() const {
    if constexpr (std::is_same_v<T, num::Real>) {
      if (bits_ != num::Precision::bits()) {
        real_ = make_.template operator()<T>();
        bits_ = num::Precision::bits();
      }
      return real_;
    } else if constexpr (std::is_same_v<T, num::Float32>) {
      if (float32_.empty()) float32_ = make_.template operator()<T>();
      return float32_;
    } else {
      if (bfloat16_.empty()) bfloat16_ = make_.template operator()<T>();
      return bfloat16_;
    }
  }

 private:
  Make make_;
  mutable int bits_ = 0;
  mutable std::vector<num::Real> real_;
  mutable std::vector<num::Float32> float32_;
  mutable std::vector<num::BFloat16> bfloat16_;
};

}  // namespace posenc::detail
