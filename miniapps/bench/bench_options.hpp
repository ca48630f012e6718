// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What plaquette-bench is told on its command line.
#pragma once

#include <string>

#include "common/lattice/extents.hpp"
#include "cpu_ref/simd/kernels.hpp"
#include "miniapps/bench/gpu_bench.hpp"

namespace plaquette::bench {

struct options {
  std::string isa = "best", typed;
  int samples = 11;
  bool large = false, list_rows = false;
  gpu_bench_options gpu;  ///< its `shared` has the device, the report and --force
  // one case, where a lattice is given
  extents lattice{};
  std::string precision = "single", links = "18";
  int rhs = 1, threads = 1;

  bool is_one_case() const { return lattice[0] > 0; }
};

/// Throws input_error for arguments that cannot be used, help_requested for --help.
options read_options(int argc, const char* const* argv);

/// Returns parameters for the report.
json_document parameters_of(const options& o);

/// Returns the instruction set of --isa. Throws input_error where this processor does not have it.
cpu::instruction_set chosen(const std::string& name);

}  // namespace plaquette::bench
