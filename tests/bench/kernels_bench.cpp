// The rope kernels alone, one core, against filling the same memory: what the arithmetic costs beside the stores.
//   kernel/ISA/f32     angle addition and rounding in one pass, as the pipeline has it: 256 rows of 64 pairs into a block of
//                      256 KiB that stays in the cache until it is written to a file
//   kernel/ISA/DTYPE   the others go through doubles, 32 rows of 64 pairs at a time
//   stream/ISA         streaming stores of a constant, of the instruction set's width
#include <benchmark/benchmark.h>

#if defined(POSENC_X86)
#include <immintrin.h>
#endif

#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "simd/kernels.hpp"

namespace {

using posenc::simd::Kernels;

constexpr std::size_t pairs = 64, group = 32, piece = pairs * group;  // rope's groups; block_source.cpp's piece
constexpr std::size_t bytes = std::size_t{256} << 20;                 // far above any cache

std::byte* memory() {
  static const std::unique_ptr<std::byte[]> storage(new std::byte[bytes + 64]);
  static std::byte* const aligned = [] {
    std::byte* p = storage.get();
    while (reinterpret_cast<std::uintptr_t>(p) % 64 != 0) ++p;
    std::memset(p, 1, bytes);  // pages exist before the clock starts
    return p;
  }();
  return aligned;
}

struct Phases {
  std::vector<double> cos, sin;
  explicit Phases(std::size_t rows) : cos(rows * pairs), sin(rows * pairs) {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t i = 0; i < pairs; ++i) {
        const double angle = static_cast<double>(r + 1) * std::pow(10000.0, -static_cast<double>(i) / pairs);
        cos[r * pairs + i] = std::cos(angle);
        sin[r * pairs + i] = std::sin(angle);
      }
  }
};

enum class Form { f32, bf16, f16, f64 };

void kernel(benchmark::State& state, const Kernels* k, Form form) {
  const Phases anchor(1), fine(group);
  std::vector<double> hi(piece), lo(piece, 0x1p-60);
  std::vector<std::uint32_t> undecided(piece);
  const std::size_t size = form == Form::f64 ? 8 : form == Form::f32 ? 4 : 2;
  std::byte* const out = memory();
  std::size_t left = 0;
  if (form == Form::f32) {
    constexpr std::size_t rows = 256, block = std::size_t{1} << 18;
    const Phases rows_fine(rows);
    undecided.resize(rows * pairs);
    for (auto _ : state) {
      for (std::size_t done = 0; done < bytes; done += rows * pairs * 4)
        left += k->rotate_cos_f32(anchor.cos.data(), anchor.sin.data(), rows_fine.cos.data(), rows_fine.sin.data(), pairs, rows, 0x1p-50,
                                  reinterpret_cast<float*>(out + done % block), pairs, undecided.data());
      benchmark::ClobberMemory();
    }
    benchmark::DoNotOptimize(left);
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
    return;
  }
  for (auto _ : state) {
    for (std::size_t at = 0; at + piece * size <= bytes; at += piece * size) {
      for (std::size_t r = 0; r < group; ++r)
        k->rotate_cos(anchor.cos.data(), anchor.sin.data(), fine.cos.data() + r * pairs, fine.sin.data() + r * pairs, pairs, hi.data() + r * pairs);
      switch (form) {
        case Form::f32: break;  // above
        case Form::f16: left += k->round_f16(hi.data(), piece, 0x1p-50, 0, out + at, undecided.data()); break;
        case Form::bf16: left += k->round_bf16(hi.data(), piece, 0x1p-50, 0, out + at, undecided.data()); break;
        case Form::f64: left += k->round_f64(hi.data(), lo.data(), piece, 0x1p-89, 0, out + at, undecided.data()); break;
      }
    }
    benchmark::ClobberMemory();
  }
  benchmark::DoNotOptimize(left);
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
}

#if defined(POSENC_X86)
__attribute__((target("sse2"))) void stream_sse2(std::byte* out) {
  const __m128i v = _mm_set1_epi32(0x3f800000);
  for (std::size_t i = 0; i < bytes; i += 16) _mm_stream_si128(reinterpret_cast<__m128i*>(out + i), v);
  _mm_sfence();
}
__attribute__((target("avx2"))) void stream_avx2(std::byte* out) {
  const __m256i v = _mm256_set1_epi32(0x3f800000);
  for (std::size_t i = 0; i < bytes; i += 32) _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i), v);
  _mm_sfence();
}
__attribute__((target("avx512f"))) void stream_avx512(std::byte* out) {
  const __m512i v = _mm512_set1_epi32(0x3f800000);
  for (std::size_t i = 0; i < bytes; i += 64) _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), v);
  _mm_sfence();
}
#endif
void stream_generic(std::byte* out) { std::memset(out, 63, bytes); }

void stream(benchmark::State& state, void (*fill)(std::byte*)) {
  std::byte* const out = memory();
  for (auto _ : state) {
    fill(out);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
}

auto stream_of(std::string_view isa) {
#if defined(POSENC_X86)
  if (isa == "avx512") return stream_avx512;
  if (isa == "avx2") return stream_avx2;
  if (isa == "sse2") return stream_sse2;
#endif
  static_cast<void>(isa);
  return stream_generic;
}

}  // namespace

int main(int argc, char** argv) {
  for (const Kernels* k : posenc::simd::available()) {
    const std::string isa(k->name);
    benchmark::RegisterBenchmark(("stream/" + isa).c_str(), stream, stream_of(isa));
    benchmark::RegisterBenchmark(("kernel/" + isa + "/f32").c_str(), kernel, k, Form::f32);
    benchmark::RegisterBenchmark(("kernel/" + isa + "/bf16").c_str(), kernel, k, Form::bf16);
    benchmark::RegisterBenchmark(("kernel/" + isa + "/f16").c_str(), kernel, k, Form::f16);
    benchmark::RegisterBenchmark(("kernel/" + isa + "/f64").c_str(), kernel, k, Form::f64);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
