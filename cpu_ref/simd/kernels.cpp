// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/simd/kernels.hpp"

namespace plaquette::cpu {

// Each is compiled for its instruction set.
#define PLAQUETTE_DECLARE(isa)                                                    \
  void fill_kernels_##isa(kernel_table<float>(&)[2], kernel_table<double>(&)[2]); \
  void fill_kernels_##isa(kernel_table<half>(&)[2]);                              \
  static kernel_set make_kernels_##isa() {                                        \
    kernel_set set;                                                               \
    fill_kernels_##isa(set.single_precision, set.double_precision);               \
    fill_kernels_##isa(set.half_precision);                                       \
    return set;                                                                   \
  }
PLAQUETTE_DECLARE(generic)
#ifdef PLAQUETTE_X86_64
PLAQUETTE_DECLARE(avx2)
PLAQUETTE_DECLARE(avx512)
#endif
#undef PLAQUETTE_DECLARE

std::string_view name_of(instruction_set isa) {
  switch (isa) {
    case instruction_set::avx2:
      return "AVX2";
    case instruction_set::avx512:
      return "AVX-512";
    default:
      return "generic";
  }
}

namespace {

bool runs_here([[maybe_unused]] instruction_set isa) {
  if (isa == instruction_set::generic) return true;
#ifdef PLAQUETTE_X86_64
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == instruction_set::avx2) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

}  // namespace

const kernel_set& kernels_of(instruction_set isa) {
  static const kernel_set generic = make_kernels_generic();
  static const kernel_set none;
  if (isa == instruction_set::generic) return generic;
  if (!runs_here(isa)) return none;  // even filling a table may take an instruction that is not there
#ifdef PLAQUETTE_X86_64
  if (isa == instruction_set::avx2) {
    static const kernel_set avx2 = make_kernels_avx2();
    return avx2;
  }
  static const kernel_set avx512 = make_kernels_avx512();
  return avx512;
#else
  return none;
#endif
}

instruction_set best_instruction_set() {
  for (const auto isa : {instruction_set::avx512, instruction_set::avx2})
    if (runs_here(isa)) return isa;
  return instruction_set::generic;
}

link_prefetch prefetch_of_links(double links, [[maybe_unused]] double vectors, [[maybe_unused]] int columns) {
  constexpr double from_memory = 0.25;  // others use the last cache too
#ifdef PLAQUETTE_X86_64
  __builtin_cpu_init();
  if (__builtin_cpu_is("amd")) {
    if (links + vectors <= from_memory) return {};
    const bool zen4 = __builtin_cpu_is("amdfam19h");  // the others are taken for Zen 5
    if (zen4 || columns > 1) return {.blocks_ahead = 2, .nearer = true};
    return {.blocks_ahead = 1, .into_first = true, .nearer = links > 1};
  }
#endif
  // Counting the vectors was not measured there.
  return links > from_memory ? link_prefetch{.blocks_ahead = 1} : link_prefetch{};
}

}  // namespace plaquette::cpu
