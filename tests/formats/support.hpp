// Helpers of the format tests: values, files written by several threads in any order.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "posenc/error.hpp"
#include "posenc/formats.hpp"
#include "support/arrays.hpp"
#include "support/files.hpp"

namespace posenc::test {

using Bytes = std::vector<std::byte>;

/// Arbitrary bits: any pattern is a value that a file must carry.
inline Bytes noise(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

inline StoredTensor tensor(std::string name, DType dtype, std::vector<std::int64_t> shape, bool is_complex = false) {
  StoredTensor t;
  t.name = std::move(name);
  t.dtype = dtype;
  for (std::size_t i = 0; i < shape.size(); ++i) t.axis_names.push_back("axis" + std::to_string(i));
  t.shape = std::move(shape);
  t.is_complex = is_complex;
  t.help = "values of the tests, in no unit";
  return t;
}

inline std::vector<Bytes> values_of(const FilePlan& plan) {
  std::vector<Bytes> values;
  for (const StoredTensor& t : plan.tensors) values.push_back(noise(static_cast<std::size_t>(t.bytes()), 1000 + values.size()));
  return values;
}

/// Cuts every tensor at multiples of its granule and hands the pieces to `threads` threads in the order of `seed` (0: rising).
inline void write_file(const formats::FormatTraits& format, const std::string& path, const FilePlan& plan, const std::vector<Bytes>& values,
                       unsigned threads = 1, std::uint64_t seed = 0, std::int64_t block = 100) {
  const auto writer = formats::create(format, path, plan);
  struct Piece {
    std::size_t tensor;
    std::int64_t first, count;
  };
  std::vector<Piece> pieces;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const std::int64_t granule = writer->granule(t), total = plan.tensors[t].values();
    const std::int64_t step = granule * std::max<std::int64_t>(1, block / granule);
    for (std::int64_t first = 0; first < total; first += step) pieces.push_back({t, first, std::min(step, total - first)});
  }
  if (seed != 0) std::shuffle(pieces.begin(), pieces.end(), std::mt19937_64(seed));
  std::atomic<std::size_t> next = 0;
  std::vector<std::exception_ptr> failures(threads);
  const auto work = [&](unsigned self) {
    try {
      for (std::size_t i = next++; i < pieces.size(); i = next++) {
        const auto& [t, first, count] = pieces[i];
        const std::size_t size = size_of(plan.tensors[t].dtype);
        writer->write(t, first, std::span(values[t]).subspan(static_cast<std::size_t>(first) * size, static_cast<std::size_t>(count) * size));
      }
    } catch (...) {
      failures[self] = std::current_exception();
    }
  };
  std::vector<std::thread> crew;
  for (unsigned i = 1; i < threads; ++i) crew.emplace_back(work, i);
  work(0);
  for (std::thread& thread : crew) thread.join();
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
  writer->finish();
}

/// The failure of an Error, or nothing when none is thrown.
template <class F>
std::optional<Failure> failure_of(F&& f, std::string* message = nullptr) {
  try {
    static_cast<void>(f());
  } catch (const Error& e) {
    if (message != nullptr) *message = e.what();
    return e.failure();
  }
  return std::nullopt;
}

/// One plan for each thing a format may be asked to hold; the contract tests loop over formats and these.
struct Case {
  std::string name;
  FilePlan plan;
};

inline std::vector<Case> cases(const formats::FormatTraits& format) {
  std::vector<Case> all;
  const auto add = [&](const std::string& name, std::vector<StoredTensor> tensors) {
    FilePlan plan;
    plan.tensors = std::move(tensors);
    for (const StoredTensor& t : plan.tensors)
      if ((t.dtype == DType::bf16 && !format.bf16) || (t.is_complex && !format.complex)) return;
    all.push_back({name, plan});
    if (!format.chunking) return;
    for (const int level : {0, 6}) {
      plan.chunking = {.chunked = true, .chunk_bytes = 1000, .gzip_level = level};
      all.push_back({name + " chunked " + std::to_string(level), plan});
    }
  };
  for (const DTypeInfo& d : dtypes()) {
    const std::string name(d.name);
    add(name, {tensor("x", d.dtype, {37, 12})});
    add(name + " empty", {tensor("x", d.dtype, {0, 8})});
    add(name + " one", {tensor("x", d.dtype, {1})});
    add(name + " scalar", {tensor("x", d.dtype, {})});
    add(name + " cube", {tensor("x", d.dtype, {3, 35, 11})});
    add(name + " long row", {tensor("x", d.dtype, {2, 3001})});
    add(name + " vector", {tensor("x", d.dtype, {2999})});
  }
  for (const DType d : {DType::f32, DType::f64}) {
    add("complex " + std::string(name_of(d)), {tensor("x", d, {19, 7}, true)});
    add("complex cube " + std::string(name_of(d)), {tensor("x", d, {2, 12, 31}, true)});
  }
  if (format.many_tensors) {
    add("several", {tensor("cos", DType::f32, {40, 6}), tensor("sin", DType::f32, {40, 6}), tensor("ids", DType::i64, {13}),
                    tensor("half", DType::f16, {5, 3}), tensor("layers/0/bias", DType::f64, {2, 3, 4}),
                    tensor("layers/1/bias", DType::i32, {7}), tensor("\xC3\xA9t\xC3\xA9 \"q\"", DType::f32, {3}), tensor("none", DType::f64, {4, 0})});
    add("no tensors", {});
  }
  return all;
}

}  // namespace posenc::test
