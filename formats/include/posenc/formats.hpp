// Files of arrays, in and out. A file is written under a temporary name and appears whole or not at all; a file is read
// by what its bytes say, never by its suffix.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "posenc/io.hpp"

namespace posenc::formats {

struct FormatTraits {
  std::string_view name;                   ///< as spelt on the command line
  std::vector<std::string_view> suffixes;  ///< with the dot; the first is the usual one
  std::string_view help;
  bool many_tensors;  ///< more than one tensor in a file
  bool metadata;      ///< FilePlan::metadata is kept (NPY: in a JSON file beside it)
  bool complex;       ///< has a complex element type of its own
  bool bf16;          ///< has bfloat16
  bool chunking;      ///< FilePlan::chunking means something
  bool stdout_ok;     ///< can be written front to back: "-", a FIFO, a device
  bool grows;         ///< a file can get more rows in place (grow)
};

/// The list of formats; help, suffixes and tests loop over it.
[[nodiscard]] std::span<const FormatTraits> formats();
/// Throws usage with the known suffixes when the suffix of `path` names no format.
[[nodiscard]] const FormatTraits& format_of_suffix(std::string_view path);
/// Throws usage with a suggestion when `name` is no format.
[[nodiscard]] const FormatTraits& parse_format(std::string_view name);

/// Throws usage, in one sentence with the way out, when the format cannot hold the plan.
void check_plan(const FormatTraits& format, const FilePlan& plan);
/// Bytes of the finished file. Exact for npy (without the sidecar), npz and safetensors; an upper estimate for hdf5.
[[nodiscard]] std::uint64_t file_size(const FormatTraits& format, const FilePlan& plan);

/// Starts a file; checks the plan first. A path that is a symbolic link replaces what the link points to; an existing
/// file keeps its mode bits. "-" is stdout, for formats with stdout_ok: there, and for a FIFO or a device, the values
/// leave front to back. Writes that come early are held (256 MiB at most, then their threads wait), so threads should take
/// blocks in rising order; a gap that nobody fills for 30 s is an error, never a deadlock. Only a regular file gets a sidecar.
[[nodiscard]] std::unique_ptr<Writer> create(const FormatTraits& format, const std::string& path, const FilePlan& plan);

/// Puts a text (a spec) at `path`, whole or not at all, as `create` does with arrays.
void write_text(const std::string& path, std::string_view text);

/// A file on its way to be a longer one.
struct Growth {
  std::unique_ptr<Writer> writer;  ///< finish() makes the file the longer one at once; before, and without it, it stays as it is
  std::vector<std::int64_t> from;  ///< of each tensor: the value to write from, before which all is there; a multiple of the granule
  std::string rewritten;           ///< why everything is written again, to a new file that replaces the old one; empty: in place
};

/// Starts to make the file at `path` the one of `plan`: the same tensors with more along their first axes, and other metadata. Old values
/// that have to be written again are the caller's to bring. What is in the file beside the plan stays in place, and goes when it is
/// rewritten. Killed at any time, the file is the old one or, once finish() has begun to return, the new one; what was under way is
/// completed when the file is opened next.
[[nodiscard]] Growth grow(const FormatTraits& format, const std::string& path, const FilePlan& plan);
/// Keeps other processes from growing `path` as long as it lives. Throws system when one has it, or has it open and locked.
[[nodiscard]] std::shared_ptr<const void> hold(const std::string& path);
/// How the values of a file are cut and packed, as its first chunked tensor says.
[[nodiscard]] FilePlan::Chunking chunking(const Reader& reader);

/// Opens a file for reading. Memory stays bounded by the caller's blocks, except that a column-major NPY array is turned
/// around in memory at its first read (1 GiB at most; usage beyond). A compressed NPZ member is inflated as it is read, from checkpoints. CRCs of
/// a member are checked once all of it has been read.
[[nodiscard]] std::unique_ptr<Reader> open(const std::string& path);

/// What a file holds that posenc cannot represent and `tensors()` leaves out, one "NAME: why" each (8-bit floats, text,
/// external links). A file with nothing but such things does not open.
[[nodiscard]] std::vector<std::string> skipped(const Reader& reader);

/// What is worth knowing of a file that is as it should be: bytes at its end that belong to nothing.
[[nodiscard]] std::vector<std::string> remarks(const Reader& reader);
/// What posenc did not write so, in a file of its own whose values can all be read: axes that lead to no scale of theirs.
[[nodiscard]] std::vector<std::string> faults(const Reader& reader);

/// CRC-32 of a tensor's values: little-endian, row-major, whatever the file has.
[[nodiscard]] std::uint32_t checksum(const Reader& reader, std::size_t tensor);

/// Makes every signal that would end the process, but SIGKILL, remove the unfinished files before it does so, and turns SIGXFSZ
/// into an error of the write. Signals that are ignored or have a handler stay as they are. For the command line; call once.
void install_signal_cleanup();

}  // namespace posenc::formats
