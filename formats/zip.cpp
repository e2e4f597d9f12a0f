// Zip. Numbers are little-endian; sizes and offsets of 2^32 - 1 and more are written as 0xFFFFFFFF and kept in a 64-bit record.
//   1. per member, a local header: "PK\3\4", version needed 20 (45 with 64-bit record), flags (bit 11: the name is UTF-8),
//      method 0, time 0, date 1980-01-01, CRC-32, packed size, size, name length, extra length, name, extra:
//      a. 0x0001: size and packed size in 8 bytes each, when they need it
//      b. 0xD935: alignment (2 bytes) and zeros, so that the data starts at a multiple of 64
//   2. the member's data
//   3. per member, a directory entry: "PK\1\2", made by (3 = Unix), version needed, flags, method, time, date, CRC-32, packed size,
//      size, lengths of name, extra and comment, disk, attributes, offset of the local header, name, extra 0x0001 with
//      those of size, packed size, offset that do not fit
//   4. when the directory does not fit 16 and 32 bits: "PK\6\6", record size, versions, disks, count twice, size, offset;
//      then its locator "PK\6\7", disk, offset of the record, number of disks
//   5. "PK\5\6", disks, count twice, directory size, directory offset, comment length, comment; the file ends here
// Read strictly: the directory ends where 4 or 5 begins, a local header stands at 0, no two members share a byte, the local header
// repeats its directory entry, sizes agree with each other and with the file.
#include "zip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <set>

#include "checked.hpp"
#include "crc32.hpp"
#include "inflate.hpp"
#include "posenc/error.hpp"

namespace posenc::formats {
namespace {

constexpr std::uint32_t marker32 = 0xFFFFFFFF;
constexpr std::uint16_t marker16 = 0xFFFF;
constexpr std::uint64_t alignment = 64;
constexpr std::size_t local_size = 30, entry_size = 46, end_size = 22, locator_size = 20, record_size = 56;
constexpr std::uint16_t date_1980 = 0x0021;
constexpr std::uint16_t flag_encrypted = 1 << 0, flag_sizes_after = 1 << 3, flag_utf8 = 1 << 11, flag_masked = 1 << 13;
constexpr std::uint64_t most_expansion = 1032;  // deflate: 258 bytes from a code of 2 bits

std::uint32_t low32(std::uint64_t value) { return value >= marker32 ? marker32 : static_cast<std::uint32_t>(value); }

std::uint16_t flags_of(const std::string& name) {
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return ascii ? 0 : flag_utf8;
}

// Extra field b is at least 6 bytes: identifier, length, alignment.
std::size_t local_extra_size(const ZipEntry& entry) {
  const std::size_t wide = entry.size >= marker32 ? 20 : 0;
  const std::uint64_t unpadded = entry.header_offset + local_size + entry.name.size() + wide + 6;
  return wide + 6 + static_cast<std::size_t>((alignment - unpadded % alignment) % alignment);
}

class Directory {
 public:
  explicit Directory(const InputFile& file) : file_(file) {}

  std::vector<ZipMember> read() {
    find_end();
    std::string text(directory_size_, '\0');
    file_.read(directory_offset_, as_writable_bytes(text));
    std::size_t at = 0;
    std::set<std::string> names;
    for (std::uint64_t i = 0; i < count_; ++i) {
      at = entry(text, at);
      if (!names.insert(members_.back().name).second) refuse(fmt::format("two members are named '{}'", members_.back().name));
    }
    if (at != text.size())
      refuse(fmt::format("{} bytes of the directory belong to no entry, at offset {}", text.size() - at, directory_offset_ + at));
    check_places();
    return std::move(members_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { fail_input(fmt::format("{}: zip: {}", file_.path(), why)); }

  void find_end() {
    const std::uint64_t size = file_.size();
    if (size < end_size) refuse(fmt::format("the file has {} bytes, the smallest archive {}", size, end_size));
    std::string tail(std::min<std::uint64_t>(size, end_size + marker16), '\0');
    const std::uint64_t tail_offset = size - tail.size();
    file_.read(tail_offset, as_writable_bytes(tail));
    std::size_t at = tail.size() - end_size;
    while (tail.compare(at, 4, "PK\5\6") != 0 || at + end_size + get_le<std::uint16_t>(&tail[at + 20]) != tail.size())
      if (at-- == 0) refuse("no end-of-directory record closes the file: it is cut short or something was added");
    const char* end = &tail[at];
    std::uint64_t end_offset = tail_offset + at;
    const auto disk = get_le<std::uint16_t>(end + 4), first_disk = get_le<std::uint16_t>(end + 6);
    const auto here = get_le<std::uint16_t>(end + 8), count = get_le<std::uint16_t>(end + 10);
    const auto length = get_le<std::uint32_t>(end + 12), offset = get_le<std::uint32_t>(end + 16);
    count_ = count;
    directory_size_ = length;
    directory_offset_ = offset;
    std::uint64_t here_wide = here;
    bool other_disks = (disk != 0 && disk != marker16) || (first_disk != 0 && first_disk != marker16);
    std::string locator(locator_size, '\0');
    if (end_offset >= locator_size) file_.read(end_offset - locator_size, as_writable_bytes(locator));
    if (locator.starts_with("PK\6\7")) {
      const std::uint64_t locator_offset = end_offset - locator_size;
      const auto record_offset = get_le<std::uint64_t>(&locator[8]);
      if (locator_offset < record_size || record_offset > locator_offset - record_size)
        refuse(fmt::format("the 64-bit locator at offset {} points to {}, allowed up to {}", locator_offset, record_offset,
                           locator_offset < record_size ? 0 : locator_offset - record_size));
      std::string record(record_size, '\0');
      file_.read(record_offset, as_writable_bytes(record));
      if (!record.starts_with("PK\6\6") || get_le<std::uint64_t>(&record[4]) != locator_offset - record_offset - 12)
        refuse(fmt::format("no 64-bit end-of-directory record at offset {}", record_offset));
      other_disks = other_disks || get_le<std::uint32_t>(&locator[4]) != 0 || get_le<std::uint32_t>(&locator[16]) > 1 ||
                    get_le<std::uint32_t>(&record[16]) != 0 || get_le<std::uint32_t>(&record[20]) != 0;
      here_wide = get_le<std::uint64_t>(&record[24]);
      count_ = get_le<std::uint64_t>(&record[32]);
      directory_size_ = get_le<std::uint64_t>(&record[40]);
      directory_offset_ = get_le<std::uint64_t>(&record[48]);
      if ((count != marker16 && count != count_) || (length != marker32 && length != directory_size_) ||
          (offset != marker32 && offset != directory_offset_))
        refuse("the 64-bit and the plain end-of-directory record disagree");
      end_offset = record_offset;
    }
    if (other_disks || here_wide != count_) refuse("the archive spans several disks");
    if (directory_offset_ > end_offset || directory_size_ != end_offset - directory_offset_)
      refuse(fmt::format("the directory is said to take {} bytes at offset {}, but must end at {}", directory_size_, directory_offset_,
                         end_offset));
    if (count_ > directory_size_ / entry_size)
      refuse(fmt::format("{} entries cannot lie in a directory of {} bytes", count_, directory_size_));
  }

  // The 64-bit record among the extra fields: replaces the numbers that hold the marker, in this order.
  void widen(std::string_view extra, std::initializer_list<std::uint64_t*> numbers, const std::string& name) const {
    bool wanted = false;
    for (const std::uint64_t* number : numbers) wanted = wanted || *number == marker32;
    while (extra.size() >= 4) {
      const auto id = get_le<std::uint16_t>(extra.data());
      const auto length = get_le<std::uint16_t>(extra.data() + 2);
      extra.remove_prefix(4);
      if (length > extra.size()) refuse(fmt::format("member '{}': an extra field runs past its end", name));
      if (id == 0x0001 && wanted) {
        std::string_view record = extra.substr(0, length);
        for (std::uint64_t* number : numbers) {
          if (*number != marker32) continue;
          if (record.size() < 8) refuse(fmt::format("member '{}': its 64-bit record is too short", name));
          *number = get_le<std::uint64_t>(record.data());
          record.remove_prefix(8);
        }
        return;
      }
      extra.remove_prefix(length);
    }
    if (wanted) refuse(fmt::format("member '{}': its 64-bit record is missing", name));
  }

  std::size_t entry(const std::string& text, std::size_t at) {
    const std::uint64_t offset = directory_offset_ + at;
    if (text.size() - at < entry_size || text.compare(at, 4, "PK\1\2") != 0) refuse(fmt::format("no directory entry at offset {}", offset));
    const char* p = text.data() + at;
    const std::size_t name_size = get_le<std::uint16_t>(p + 28), extra_size = get_le<std::uint16_t>(p + 30);
    const std::size_t comment_size = get_le<std::uint16_t>(p + 32);
    if (name_size + extra_size + comment_size > text.size() - at - entry_size)
      refuse(fmt::format("the directory entry at offset {} runs past the directory", offset));
    ZipMember member;
    member.name = text.substr(at + entry_size, name_size);
    check_name(member.name, offset);
    const auto flags = get_le<std::uint16_t>(p + 8);
    if (flags & (flag_encrypted | flag_masked)) refuse(fmt::format("member '{}' is encrypted", member.name));
    member.method = get_le<std::uint16_t>(p + 10);
    if (member.method != 0 && member.method != 8)
      refuse(fmt::format("member '{}': compression method {}, allowed 0 (stored) and 8 (deflated)", member.name, member.method));
    member.crc = get_le<std::uint32_t>(p + 16);
    member.packed = get_le<std::uint32_t>(p + 20);
    member.size = get_le<std::uint32_t>(p + 24);
    member.header_offset = get_le<std::uint32_t>(p + 42);
    if (get_le<std::uint16_t>(p + 34) != 0) refuse(fmt::format("member '{}' lies on another disk", member.name));
    widen(std::string_view(text).substr(at + entry_size + name_size, extra_size),
          {&member.size, &member.packed, &member.header_offset}, member.name);
    if (member.method == 0 && member.packed != member.size)
      refuse(fmt::format("member '{}' is stored, but its sizes are {} and {}", member.name, member.packed, member.size));
    if (member.method == 8 && member.size / most_expansion > member.packed)
      refuse(fmt::format("member '{}': {} bytes cannot come out of {} deflated bytes", member.name, member.size, member.packed));
    local(member, flags);
    members_.push_back(std::move(member));
    return at + entry_size + name_size + extra_size + comment_size;
  }

  void check_name(const std::string& name, std::uint64_t offset) const {
    const std::string padded = "/" + name + "/";
    const bool odd = name.empty() || name[0] == '/' || padded.find("/../") != std::string::npos || padded.find("/./") != std::string::npos ||
                     std::any_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\\' || c == 0x7F; });
    if (odd) refuse(fmt::format("the directory entry at offset {} has a name that is no plain relative path", offset));
  }

  void local(ZipMember& member, std::uint16_t flags) const {
    const auto limit = [&](std::uint64_t wanted) {
      if (member.header_offset > directory_offset_ || wanted > directory_offset_ - member.header_offset)
        refuse(fmt::format("member '{}': its {} bytes from offset {} do not end before the directory at {}", member.name, wanted,
                           member.header_offset, directory_offset_));
    };
    limit(local_size + member.name.size());
    std::string header(local_size + member.name.size(), '\0');
    file_.read(member.header_offset, as_writable_bytes(header));
    if (!header.starts_with("PK\3\4")) refuse(fmt::format("member '{}': no local header at offset {}", member.name, member.header_offset));
    const auto name_size = get_le<std::uint16_t>(&header[26]), extra_size = get_le<std::uint16_t>(&header[28]);
    if (name_size != member.name.size() || header.compare(local_size, name_size, member.name) != 0)
      refuse(fmt::format("member '{}': its local header at offset {} has another name", member.name, member.header_offset));
    const auto local_flags = get_le<std::uint16_t>(&header[6]);
    if (((local_flags ^ flags) & (flag_encrypted | flag_sizes_after | flag_masked)) != 0 || get_le<std::uint16_t>(&header[8]) != member.method)
      refuse(fmt::format("member '{}': its local header has other flags or another method", member.name));
    const std::uint64_t start = local_size + name_size + extra_size;
    limit(start);
    if (member.packed > directory_offset_) limit(member.packed);
    limit(start + member.packed);
    std::string extra(extra_size, '\0');
    file_.read(member.header_offset + local_size + name_size, as_writable_bytes(extra));
    if (!(flags & flag_sizes_after)) {
      std::uint64_t packed = get_le<std::uint32_t>(&header[18]), size = get_le<std::uint32_t>(&header[22]);
      widen(extra, {&size, &packed}, member.name);
      if (packed != member.packed || size != member.size || get_le<std::uint32_t>(&header[14]) != member.crc)
        refuse(fmt::format("member '{}': its local header has other sizes or another CRC", member.name));
    }
    member.data_offset = member.header_offset + start;
  }

  void check_places() const {
    std::vector<const ZipMember*> order;
    for (const ZipMember& member : members_) order.push_back(&member);
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->header_offset < b->header_offset; });
    if ((order.empty() ? directory_offset_ : order.front()->header_offset) != 0) refuse("something stands before the first member");
    for (std::size_t i = 1; i < order.size(); ++i)
      if (order[i - 1]->data_offset + order[i - 1]->packed > order[i]->header_offset)
        refuse(fmt::format("members '{}' and '{}' overlap at offset {}", order[i - 1]->name, order[i]->name, order[i]->header_offset));
  }

  const InputFile& file_;
  std::uint64_t count_ = 0, directory_size_ = 0, directory_offset_ = 0;
  std::vector<ZipMember> members_;
};

// Sums what passes through; with the last missing piece the sum must be the one in the directory.
class SummedSource : public ByteSource {
 public:
  SummedSource(std::unique_ptr<ByteSource> inner, std::uint32_t crc, std::string what)
      : inner_(std::move(inner)), crc_(crc), what_(std::move(what)) {}
  [[nodiscard]] std::uint64_t size() const override { return inner_->size(); }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    inner_->read(offset, out);
    if (known_) return;
    sum_.add(offset, out);
    const auto got = sum_.of(size());
    if (!got) return;
    if (*got != crc_) fail_input(fmt::format("{}: CRC-32 is {:08x}, its directory entry says {:08x}", what_, *got, crc_));
    known_ = true;
  }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::uint32_t crc_;
  std::string what_;
  mutable Crc32 sum_;
  mutable std::atomic<bool> known_ = false;
};

}  // namespace

std::uint64_t plan_zip(std::vector<ZipEntry>& entries) {
  std::uint64_t offset = 0;
  for (ZipEntry& entry : entries) {
    if (entry.name.size() > marker16) fail_usage(fmt::format("the name '{}...' is longer than zip allows", entry.name.substr(0, 40)));
    entry.header_offset = offset;
    entry.data_offset = offset + local_size + entry.name.size() + local_extra_size(entry);
    if (__builtin_add_overflow(entry.data_offset, entry.size, &offset) || offset > static_cast<std::uint64_t>(INT64_MAX))
      fail_usage("the archive would pass 2^63 bytes");
  }
  return offset;
}

std::string local_header(const ZipEntry& entry) {
  const bool wide = entry.size >= marker32;
  std::string out = "PK\3\4";
  put_le<std::uint16_t>(out, wide ? 45 : 20);
  put_le<std::uint16_t>(out, flags_of(entry.name));
  put_le<std::uint16_t>(out, 0);
  put_le<std::uint16_t>(out, 0);
  put_le<std::uint16_t>(out, date_1980);
  put_le<std::uint32_t>(out, entry.crc);
  put_le<std::uint32_t>(out, low32(entry.size));
  put_le<std::uint32_t>(out, low32(entry.size));
  const std::size_t extra = local_extra_size(entry);
  put_le<std::uint16_t>(out, static_cast<std::uint16_t>(entry.name.size()));
  put_le<std::uint16_t>(out, static_cast<std::uint16_t>(extra));
  out += entry.name;
  if (wide) {
    put_le<std::uint16_t>(out, 0x0001);
    put_le<std::uint16_t>(out, 16);
    put_le<std::uint64_t>(out, entry.size);
    put_le<std::uint64_t>(out, entry.size);
  }
  const std::size_t padding = extra - (wide ? 20 : 0);
  put_le<std::uint16_t>(out, 0xD935);
  put_le<std::uint16_t>(out, static_cast<std::uint16_t>(padding - 4));
  put_le<std::uint16_t>(out, alignment);
  out.append(padding - 6, '\0');
  return out;
}

std::string central_directory(const std::vector<ZipEntry>& entries, std::uint64_t offset) {
  std::string out;
  for (const ZipEntry& entry : entries) {
    std::string extra;
    if (entry.size >= marker32) {
      put_le<std::uint64_t>(extra, entry.size);
      put_le<std::uint64_t>(extra, entry.size);
    }
    if (entry.header_offset >= marker32) put_le<std::uint64_t>(extra, entry.header_offset);
    out += "PK\1\2";
    const std::uint16_t version = extra.empty() ? 20 : 45;
    put_le<std::uint16_t>(out, static_cast<std::uint16_t>(3 << 8 | version));
    put_le<std::uint16_t>(out, version);
    put_le<std::uint16_t>(out, flags_of(entry.name));
    put_le<std::uint16_t>(out, 0);
    put_le<std::uint16_t>(out, 0);
    put_le<std::uint16_t>(out, date_1980);
    put_le<std::uint32_t>(out, entry.crc);
    put_le<std::uint32_t>(out, low32(entry.size));
    put_le<std::uint32_t>(out, low32(entry.size));
    put_le<std::uint16_t>(out, static_cast<std::uint16_t>(entry.name.size()));
    put_le<std::uint16_t>(out, static_cast<std::uint16_t>(extra.empty() ? 0 : extra.size() + 4));
    put_le<std::uint16_t>(out, 0);
    put_le<std::uint16_t>(out, 0);
    put_le<std::uint16_t>(out, 0);
    put_le<std::uint32_t>(out, std::uint32_t{0100644} << 16);  // a regular file, rw-r--r--
    put_le<std::uint32_t>(out, low32(entry.header_offset));
    out += entry.name;
    if (extra.empty()) continue;
    put_le<std::uint16_t>(out, 0x0001);
    put_le<std::uint16_t>(out, static_cast<std::uint16_t>(extra.size()));
    out += extra;
  }
  const std::uint64_t size = out.size();
  const std::uint64_t count = entries.size();
  if (count >= marker16 || size >= marker32 || offset >= marker32) {
    out += "PK\6\6";
    put_le<std::uint64_t>(out, record_size - 12);
    put_le<std::uint16_t>(out, 3 << 8 | 45);
    put_le<std::uint16_t>(out, 45);
    put_le<std::uint32_t>(out, 0);
    put_le<std::uint32_t>(out, 0);
    put_le<std::uint64_t>(out, count);
    put_le<std::uint64_t>(out, count);
    put_le<std::uint64_t>(out, size);
    put_le<std::uint64_t>(out, offset);
    out += "PK\6\7";
    put_le<std::uint32_t>(out, 0);
    put_le<std::uint64_t>(out, offset + size);
    put_le<std::uint32_t>(out, 1);
  }
  out += "PK\5\6";
  put_le<std::uint16_t>(out, 0);
  put_le<std::uint16_t>(out, 0);
  put_le<std::uint16_t>(out, static_cast<std::uint16_t>(std::min<std::uint64_t>(count, marker16)));
  put_le<std::uint16_t>(out, static_cast<std::uint16_t>(std::min<std::uint64_t>(count, marker16)));
  put_le<std::uint32_t>(out, low32(size));
  put_le<std::uint32_t>(out, low32(offset));
  put_le<std::uint16_t>(out, 0);
  return out;
}

std::vector<ZipMember> read_zip_directory(const InputFile& file) { return Directory(file).read(); }

std::shared_ptr<const ByteSource> open_zip_member(std::shared_ptr<const InputFile> file, const ZipMember& member) {
  const std::string what = fmt::format("{}: member '{}'", file->path(), member.name);
  std::unique_ptr<ByteSource> inner;
  if (member.method == 0) inner = std::make_unique<FileRange>(file, member.data_offset, member.size);
  else inner = std::make_unique<InflatedSource>(file, member.data_offset, member.packed, member.size, what);
  return std::make_shared<SummedSource>(std::move(inner), member.crc, what);
}

}  // namespace posenc::formats
