#include "inflate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>

#include "posenc/error.hpp"

namespace posenc::formats {
namespace {

constexpr std::uint64_t least_spacing = std::uint64_t{4} << 20;
constexpr std::uint64_t most_copies = 256;  // about 40 KiB each
constexpr std::size_t window = std::size_t{4} << 20;
constexpr std::uint64_t soon_again = std::uint64_t{16} << 10;  // a start that is as quickly inflated once more: an array's header

}  // namespace

InflatedSource::InflatedSource(std::shared_ptr<const InputFile> file, std::uint64_t offset, std::uint64_t packed, std::uint64_t size,
                               std::string what)
    : file_(std::move(file)), offset_(offset), packed_(packed), size_(size), spacing_(std::max(least_spacing, size / most_copies + 1)),
      what_(std::move(what)) {}

InflatedSource::~InflatedSource() = default;

InflatedSource::Running::Running() : input(std::size_t{1} << 16) {
  if (::inflateInit2(&now.stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
}

InflatedSource::Running::~Running() {
  ::inflateEnd(&now.stream);
  for (const auto& copy : copies) ::inflateEnd(&copy->stream);
}

// `made` has just been produced, up to now.out.
void InflatedSource::Running::keep(std::span<const std::byte> made) {
  if (recent.empty()) recent.resize(window);
  kept = std::min<std::uint64_t>(window, kept + made.size());
  if (made.size() > window) made = made.last(window);
  std::size_t at = static_cast<std::size_t>((now.out - made.size()) % window);
  while (!made.empty()) {
    const std::size_t run = std::min(made.size(), window - at);
    std::memcpy(recent.data() + at, made.data(), run);
    made = made.subspan(run);
    at = 0;
  }
}

// As many of the wanted bytes as are kept, from the first on; 0 when the first is not.
std::size_t InflatedSource::Running::take(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset >= now.out || now.out - offset > kept) return 0;
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), now.out - offset));
  for (std::size_t done = 0; done < count;) {
    const auto at = static_cast<std::size_t>((offset + done) % window);
    const std::size_t run = std::min(count - done, window - at);
    std::memcpy(out.data() + done, recent.data() + at, run);
    done += run;
  }
  return count;
}

void InflatedSource::restart(Running& run, std::uint64_t offset) {
  const auto above = std::find_if(run.copies.begin(), run.copies.end(), [&](const auto& copy) { return copy->out > offset; });
  const State* best = above == run.copies.begin() ? nullptr : std::prev(above)->get();
  if (run.now.out <= offset && (best == nullptr || best->out <= run.now.out)) return;
  ::inflateEnd(&run.now.stream);
  run.kept = 0;
  run.now = State{};
  // best is never null here: the copy at 0 is taken before the first byte is produced.
  if (::inflateCopy(&run.now.stream, const_cast<z_stream*>(&best->stream)) != Z_OK) throw std::bad_alloc();
  run.now.in = best->in;
  run.now.out = best->out;
}

void InflatedSource::inflate_into(Running& run, std::span<std::byte> out) const {
  while (!out.empty()) {
    if (run.copies.empty() || run.now.out >= run.copies.back()->out + spacing_) {
      auto copy = std::make_unique<State>();
      if (::inflateCopy(&copy->stream, &run.now.stream) != Z_OK) throw std::bad_alloc();
      copy->in = run.now.in;
      copy->out = run.now.out;
      run.copies.push_back(std::move(copy));
    }
    const auto chunk = static_cast<uInt>(std::min<std::uint64_t>(run.input.size(), packed_ - run.now.in));
    file_->read(offset_ + run.now.in, std::span(run.input).first(chunk));
    run.now.stream.next_in = reinterpret_cast<Bytef*>(run.input.data());
    run.now.stream.avail_in = chunk;
    const auto room = static_cast<uInt>(std::min<std::uint64_t>(out.size(), least_spacing));
    run.now.stream.next_out = reinterpret_cast<Bytef*>(out.data());
    run.now.stream.avail_out = room;
    const int status = ::inflate(&run.now.stream, Z_NO_FLUSH);
    run.now.in += chunk - run.now.stream.avail_in;
    const uInt made = room - run.now.stream.avail_out;
    run.now.out += made;
    if (run.now.out > soon_again) run.keep(out.first(made));
    out = out.subspan(made);
    if (status == Z_STREAM_END && !out.empty())
      fail_input(fmt::format("{}: inflates to {} bytes, its directory entry says {}", what_, run.now.out, size_));
    if (status != Z_OK && status != Z_STREAM_END && !(status == Z_BUF_ERROR && run.now.stream.avail_in == 0 && run.now.in < packed_))
      fail_input(fmt::format("{}: the deflated data is damaged near byte {} of {}", what_, run.now.in, packed_));
    if (made == 0 && chunk == 0) fail_input(fmt::format("{}: the deflated data ends early, after {} bytes", what_, packed_));
  }
}

void InflatedSource::check_end(Running& run) const {
  // One more byte must not come, and the stream must say that it ends.
  for (;;) {
    const auto chunk = static_cast<uInt>(std::min<std::uint64_t>(run.input.size(), packed_ - run.now.in));
    file_->read(offset_ + run.now.in, std::span(run.input).first(chunk));
    std::byte extra{};
    run.now.stream.next_in = reinterpret_cast<Bytef*>(run.input.data());
    run.now.stream.avail_in = chunk;
    run.now.stream.next_out = reinterpret_cast<Bytef*>(&extra);
    run.now.stream.avail_out = 1;
    const int status = ::inflate(&run.now.stream, Z_NO_FLUSH);
    const uInt used = chunk - run.now.stream.avail_in;
    run.now.in += used;
    const bool more = run.now.stream.avail_out == 0;
    run.now.out += more ? 1 : 0;
    if (more || (status != Z_OK && status != Z_STREAM_END) || (status == Z_OK && used == 0) || (status == Z_STREAM_END && run.now.in != packed_))
      fail_input(fmt::format("{}: the deflated data does not end with byte {} of {}", what_, size_, size_));
    if (status == Z_STREAM_END) return;
  }
}

void InflatedSource::read(std::uint64_t offset, std::span<std::byte> out) const {
  const std::scoped_lock lock(mutex_);
  if (!running_) running_ = std::make_unique<Running>();
  Running& run = *running_;
  const std::uint64_t end = offset + out.size();
  const std::size_t there = run.take(offset, out);
  if (there > 0 && there == out.size()) return;
  out = out.subspan(there);
  offset += there;
  restart(run, offset);
  std::vector<std::byte> scratch;
  while (run.now.out < offset) {
    scratch.resize(std::min<std::uint64_t>(offset - run.now.out, std::size_t{1} << 16));
    inflate_into(run, scratch);
  }
  inflate_into(run, out);
  if (end == size_ && !out.empty()) {
    check_end(run);
    run.now.out = UINT64_MAX;  // the stream is over: the next read restarts from a copy
    run.kept = 0;
  }
  if (end <= soon_again) running_.reset();
}

}  // namespace posenc::formats
