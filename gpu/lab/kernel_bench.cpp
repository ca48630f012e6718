// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Verifies and times kernels. `./plaquette kernel` links this program with one kernel that it has compiled; the target
/// kernel_bench has all of the library's.
#include "gpu/lab/kernel_bench.hpp"

#include <cstdio>
#include <exception>
#include <string>

#include "common/error.hpp"

namespace plaquette::gpu::lab {

namespace {

struct named_bench {
  const char *name, *words;
  int (*run)(const bench_words&);
};
constexpr named_bench benches[] = {
    {"hopping", "PRECISION REALS [COLUMNS] [clover] [try=N] [sustained=M] [launch=SUBSTRING]", bench_hopping},
    {"coarse", "N single|half [COLUMNS]; or ladder|batches [quick] [columns=N]", bench_coarse},
    {"transfer", "PRECISION single|half [COLUMNS] [only=restrict|prolong] [vectors=N] [even]; or all", bench_transfer},
    {"dg", "acoustics|maxwell PRECISION ORDER [central] [nodes=MILLIONS] [all]", bench_dg},
    {"hermitian", "PRECISION REALS [COLUMNS] [clenshaw] [form=N] [try=N] [launch=SUBSTRING]", bench_hermitian},
    {"basis", "PRECISION VECTORS [COLUMNS] [only=products|combine]", bench_basis},
    {"gauge", "[lattice=XxYxZxT]; the gauge side, not verified but for the plaquette of a heat bath", bench_gauge},
    {"few-fields", "PRECISION FIELDS [COLUMNS] [only=sum|sum-dot|products]", bench_few_fields},
};

int run(int count, char** words) {
  const std::string kernel = count > 1 ? words[1] : "";
  for (const named_bench& one : benches)
    if (kernel == one.name) return one.run({count - 2, words + 2});
  std::printf("kernel_bench KERNEL WORDS... [lattice=XxYxZxT] [json=FILE]\n");
  for (const named_bench& one : benches) std::printf("  %-10s %s\n", one.name, one.words);
  if (kernel == "--help") return 0;
  throw input_error("kernel_bench: which kernel? Found '" + kernel + "'");
}

}  // namespace
}  // namespace plaquette::gpu::lab

int main(int count, char** words) {
  try {
    return plaquette::gpu::lab::run(count, words);
  } catch (const plaquette::error& stop) {
    std::fprintf(stderr, "%s\n", stop.what());
    return static_cast<int>(stop.status());
  } catch (const std::exception& stop) {
    std::fprintf(stderr, "kernel_bench: %s\n", stop.what());
    return 70;
  }
}
