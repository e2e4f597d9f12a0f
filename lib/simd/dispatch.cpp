// Which kernels run. The library reads one environment variable, POSENC_SIMD, here.
#include <cstdlib>
#include <string>

#include "posenc/error.hpp"
#include "posenc/text.hpp"
#include "simd/kernels.hpp"

namespace posenc::simd {

#if defined(POSENC_X86)
extern const Kernels kernels_sse2, kernels_avx2, kernels_avx512;
#elif defined(POSENC_NEON)
extern const Kernels kernels_neon;
#else
extern const Kernels kernels_generic;
#endif

std::vector<const Kernels*> available() {
  std::vector<const Kernels*> list;
#if defined(POSENC_X86)
  list.push_back(&kernels_sse2);
  // __builtin_cpu_supports asks the CPU and the operating system; xsimd 8.1's own detection is wrong.
  if (__builtin_cpu_supports("avx2")) list.push_back(&kernels_avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vl"))
    list.push_back(&kernels_avx512);
#elif defined(POSENC_NEON)
  list.push_back(&kernels_neon);
#else
  list.push_back(&kernels_generic);
#endif
  return list;
}

const Kernels& kernels() {
  static const Kernels& chosen = [&]() -> const Kernels& {
    const auto list = available();
    const char* forced = std::getenv("POSENC_SIMD");
    if (forced == nullptr || *forced == '\0') return *list.back();
    std::vector<std::string> names;
    for (const Kernels* k : list) {
      if (k->name == forced) return *k;
      names.emplace_back(k->name);
    }
    fail_usage("POSENC_SIMD wants " + one_of(names) + " on this machine, got '" + forced + "'");
  }();
  return chosen;
}

}  // namespace posenc::simd
