#include "array_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "checked.hpp"
#include "posenc/error.hpp"
#include "posenc/text.hpp"

namespace posenc::formats {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 16;

std::size_t held_size(const StoredTensor& tensor) { return size_of(tensor.dtype) * (tensor.is_complex ? 2 : 1); }

}  // namespace

std::string describe(const std::string& path, const std::string& tensor) {
  constexpr std::size_t shown = 120;
  return fmt::format("{}: tensor '{}{}'", path, tensor.substr(0, shown), tensor.size() > shown ? "..." : "");
}

void ArrayReader::add(StoredArray array) {
  const Holding held = holding(array.type).value();
  array.tensor.dtype = held.dtype;
  array.tensor.is_complex = held.is_complex;
  // No values but sizes such as 2^62: the delivered bytes must have a number as well.
  if (!checked_bytes(array.tensor.shape, 16)) fail_input(describe(path_, array.tensor.name) + ": its shape passes 2^63 bytes");
  tensors_.push_back(array.tensor);
  arrays_.push_back(std::move(array));
  turned_.push_back(arrays_.back().column_major ? std::make_unique<Turned>() : nullptr);
}

void ArrayReader::seal() const {
  if (tensors_.empty() && !skipped_.empty())
    fail_input(fmt::format("{}: holds nothing that posenc can read: {}", path_, skipped_.front()));
}

void ArrayReader::read(std::size_t index, std::int64_t first, std::span<std::byte> out) const {
  const StoredTensor& tensor = tensors_.at(index);
  const std::size_t size = size_of(tensor.dtype);
  const std::int64_t values = tensor.values();
  const auto wanted = static_cast<std::int64_t>(out.size() / size);
  if (first < 0 || first > values || wanted > values - first || out.size() % size != 0)
    fail_usage(fmt::format("{}: {} bytes wanted from value {}, but it has {} values of {} bytes", describe(path_, tensor.name),
                           out.size(), first, values, size));
  if (out.empty()) return;
  const StoredArray& array = arrays_[index];
  if (array.column_major) {
    constexpr std::int64_t most = std::int64_t{1} << 30;
    if (tensor.bytes() > most)
      fail_usage(fmt::format("{} is column-major, which is turned around in memory up to {}; it has {}; save it row-major (numpy.ascontiguousarray)",
                             describe(path_, tensor.name), human_bytes(most), human_bytes(static_cast<std::uint64_t>(tensor.bytes()))));
    Turned& turned = *turned_[index];
    std::call_once(turned.once, [&] { turn(array, turned); });
    std::memcpy(out.data(), turned.bytes.data() + static_cast<std::size_t>(first) * size, out.size());
    return;
  }
  if (stored_as_held(array.type)) {
    array.source->read(array.offset + static_cast<std::uint64_t>(first) * size, out);
    return;
  }
  if (!tensor.is_complex) {
    read_elements(array, static_cast<std::uint64_t>(first), out);
    return;
  }
  // Complex in the other byte order: first and out may cut an element in half; each half is a real of its own.
  StoredArray halves = array;
  halves.type = {ElementType::Kind::ieee, array.type.size / 2, array.type.big_endian};
  read_elements(halves, static_cast<std::uint64_t>(first), out);
}

void ArrayReader::read_elements(const StoredArray& array, std::uint64_t first, std::span<std::byte> out) const {
  const std::size_t from = array.type.size;
  const std::size_t to = size_of(holding(array.type)->dtype) * (holding(array.type)->is_complex ? 2 : 1);
  const std::string what = describe(path_, array.tensor.name);
  std::vector<std::byte> raw(std::min(block_bytes / from, out.size() / to) * from);
  while (!out.empty()) {
    const std::size_t count = std::min(raw.size() / from, out.size() / to);
    const std::span in = std::span(raw).first(count * from);
    array.source->read(array.offset + first * from, in);
    convert(array.type, in, out.first(count * to), what);
    first += count;
    out = out.subspan(count * to);
  }
}

void ArrayReader::turn(const StoredArray& array, Turned& turned) const {
  const std::vector<std::int64_t>& shape = array.tensor.shape;
  const std::size_t size = held_size(array.tensor);
  const auto total = static_cast<std::size_t>(array.tensor.bytes());
  turned.bytes.resize(total);
  // Row-major distance, in elements, between neighbours along each axis.
  std::vector<std::size_t> step(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) step[axis - 1] = step[axis] * static_cast<std::size_t>(shape[axis]);
  std::vector<std::int64_t> index(shape.size(), 0);
  std::size_t target = 0;
  std::vector<std::byte> block(block_bytes / size * size);
  for (std::size_t done = 0; done < total;) {
    const std::size_t count = std::min(block.size(), total - done) / size;
    if (stored_as_held(array.type)) {
      array.source->read(array.offset + done, std::span(block).first(count * size));
    } else {
      read_elements(array, done / size, std::span(block).first(count * size));
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(turned.bytes.data() + target * size, block.data() + i * size, size);
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {  // the first axis varies fastest
        target += step[axis];
        if (++index[axis] < shape[axis]) break;
        target -= step[axis] * static_cast<std::size_t>(shape[axis]);
        index[axis] = 0;
      }
    }
    done += count * size;
  }
}

}  // namespace posenc::formats
