#include "inflate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <new>

#include "posenc/error.hpp"

namespace posenc::formats {
namespace {

constexpr std::uint64_t least_spacing = std::uint64_t{4} << 20;
constexpr std::uint64_t most_copies = 256;  // about 40 KiB each

}  // namespace

InflatedSource::InflatedSource(std::shared_ptr<const InputFile> file, std::uint64_t offset, std::uint64_t packed, std::uint64_t size,
                               std::string what)
    : file_(std::move(file)), offset_(offset), packed_(packed), size_(size), spacing_(std::max(least_spacing, size / most_copies + 1)),
      what_(std::move(what)), input_(std::size_t{1} << 16) {
  if (::inflateInit2(&now_.stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
}

InflatedSource::~InflatedSource() {
  ::inflateEnd(&now_.stream);
  for (const auto& copy : copies_) ::inflateEnd(&copy->stream);
}

void InflatedSource::restart(std::uint64_t offset) const {
  const auto above = std::find_if(copies_.begin(), copies_.end(), [&](const auto& copy) { return copy->out > offset; });
  const State* best = above == copies_.begin() ? nullptr : std::prev(above)->get();
  if (now_.out <= offset && (best == nullptr || best->out <= now_.out)) return;
  ::inflateEnd(&now_.stream);
  now_ = State{};
  // best is never null here: the copy at 0 is taken before the first byte is produced.
  if (::inflateCopy(&now_.stream, const_cast<z_stream*>(&best->stream)) != Z_OK) throw std::bad_alloc();
  now_.in = best->in;
  now_.out = best->out;
}

void InflatedSource::inflate_into(std::span<std::byte> out) const {
  while (!out.empty()) {
    if (copies_.empty() || now_.out >= copies_.back()->out + spacing_) {
      auto copy = std::make_unique<State>();
      if (::inflateCopy(&copy->stream, &now_.stream) != Z_OK) throw std::bad_alloc();
      copy->in = now_.in;
      copy->out = now_.out;
      copies_.push_back(std::move(copy));
    }
    const auto chunk = static_cast<uInt>(std::min<std::uint64_t>(input_.size(), packed_ - now_.in));
    file_->read(offset_ + now_.in, std::span(input_).first(chunk));
    now_.stream.next_in = reinterpret_cast<Bytef*>(input_.data());
    now_.stream.avail_in = chunk;
    const auto room = static_cast<uInt>(std::min<std::uint64_t>(out.size(), least_spacing));
    now_.stream.next_out = reinterpret_cast<Bytef*>(out.data());
    now_.stream.avail_out = room;
    const int status = ::inflate(&now_.stream, Z_NO_FLUSH);
    now_.in += chunk - now_.stream.avail_in;
    const uInt made = room - now_.stream.avail_out;
    now_.out += made;
    out = out.subspan(made);
    if (status == Z_STREAM_END && !out.empty())
      fail_input(fmt::format("{}: inflates to {} bytes, its directory entry says {}", what_, now_.out, size_));
    if (status != Z_OK && status != Z_STREAM_END && !(status == Z_BUF_ERROR && now_.stream.avail_in == 0 && now_.in < packed_))
      fail_input(fmt::format("{}: the deflated data is damaged near byte {} of {}", what_, now_.in, packed_));
    if (made == 0 && chunk == 0) fail_input(fmt::format("{}: the deflated data ends early, after {} bytes", what_, packed_));
  }
}

void InflatedSource::check_end() const {
  // One more byte must not come, and the stream must say that it ends.
  for (;;) {
    const auto chunk = static_cast<uInt>(std::min<std::uint64_t>(input_.size(), packed_ - now_.in));
    file_->read(offset_ + now_.in, std::span(input_).first(chunk));
    std::byte extra{};
    now_.stream.next_in = reinterpret_cast<Bytef*>(input_.data());
    now_.stream.avail_in = chunk;
    now_.stream.next_out = reinterpret_cast<Bytef*>(&extra);
    now_.stream.avail_out = 1;
    const int status = ::inflate(&now_.stream, Z_NO_FLUSH);
    const uInt used = chunk - now_.stream.avail_in;
    now_.in += used;
    const bool more = now_.stream.avail_out == 0;
    now_.out += more ? 1 : 0;
    if (more || (status != Z_OK && status != Z_STREAM_END) || (status == Z_OK && used == 0) || (status == Z_STREAM_END && now_.in != packed_))
      fail_input(fmt::format("{}: the deflated data does not end with byte {} of {}", what_, size_, size_));
    if (status == Z_STREAM_END) return;
  }
}

void InflatedSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  const std::scoped_lock lock(mutex_);
  const std::uint64_t end = offset + out.size();
  restart(offset);
  std::vector<std::byte> scratch;
  while (now_.out < offset) {
    scratch.resize(std::min<std::uint64_t>(offset - now_.out, std::size_t{1} << 16));
    inflate_into(scratch);
  }
  inflate_into(out);
  if (end == size_ && !out.empty()) {
    check_end();
    now_.out = UINT64_MAX;  // the stream is over: the next read restarts from a copy
  }
}

}  // namespace posenc::formats
