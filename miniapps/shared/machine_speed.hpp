// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Figures in relation to what the machine can do, which the same run measures.
#pragma once

#include "common/app/report.hpp"
#include "cpu_ref/machine_speed.hpp"

namespace plaquette {

/// Puts the figures in relation to both.
inline void relate_to_machine(operator_figure& figure, double copy_gbytes_per_s, double fma_gflops) {
  figure.fraction_of_copy = copy_gbytes_per_s > 0.0 ? figure.gbytes_per_s / copy_gbytes_per_s : 0.0;
  figure.fraction_of_fma_peak = fma_gflops > 0.0 ? figure.gflops / fma_gflops : 0.0;
}

}  // namespace plaquette
