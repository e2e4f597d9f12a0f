// The hot loops, compiled once per instruction set; one table of function pointers is chosen at run time.
// Every set gives the same bits: plain operations only, no fused multiply-add, no reassociation.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace posenc::simd {

struct Kernels {
  std::string_view name;  ///< "sse2", "avx2", "avx512", "neon"
  /// out[i] = ac[i] fc[i] - as[i] fs[i]
  void (*rotate_cos)(const double* ac, const double* as, const double* fc, const double* fs, std::size_t n, double* out);
  /// out[i] = as[i] fc[i] + ac[i] fs[i]
  void (*rotate_sin)(const double* ac, const double* as, const double* fc, const double* fs, std::size_t n, double* out);
  /// The two above and round_f32 in one pass, without doubles in between: `rows` rows of n values, fine entries n apart,
  /// output rows `stride` floats apart. Returns how many values are undecided under `absolute`; `undecided` holds their
  /// places in out.
  std::size_t (*rotate_cos_f32)(const double* ac, const double* as, const double* fc, const double* fs, std::size_t n,
                                std::size_t rows, double absolute, float* out, std::size_t stride, std::uint32_t* undecided);
  std::size_t (*rotate_sin_f32)(const double* ac, const double* as, const double* fc, const double* fs, std::size_t n,
                                std::size_t rows, double absolute, float* out, std::size_t stride, std::uint32_t* undecided);
  /// Rounds v[i], known to within absolute + relative |v[i]|, to the format. Values whose rounding is not decided are
  /// rounded as they stand and their number is returned; `undecided` then says which, relative to v.
  std::size_t (*round_f32)(const double* v, std::size_t n, double absolute, double relative, void* out, std::uint32_t* undecided);
  std::size_t (*round_f16)(const double* v, std::size_t n, double absolute, double relative, void* out, std::uint32_t* undecided);
  std::size_t (*round_bf16)(const double* v, std::size_t n, double absolute, double relative, void* out, std::uint32_t* undecided);
  /// The same for hi + lo to binary64.
  std::size_t (*round_f64)(const double* hi, const double* lo, std::size_t n, double absolute, double relative, void* out,
                           std::uint32_t* undecided);
};

/// The kernels in force: the best that this CPU runs, or what POSENC_SIMD names. Throws usage for a name that is unknown
/// or that this CPU cannot run.
const Kernels& kernels();
/// All that this CPU can run, slowest first.
std::vector<const Kernels*> available();

}  // namespace posenc::simd
