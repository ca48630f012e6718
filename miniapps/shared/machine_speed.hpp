// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Figures in relation to the speed of the machine, which the same run measures.
#pragma once

#include "common/app/report.hpp"
#include "common/solvers/timed.hpp"
#include "cpu_ref/machine_speed.hpp"

namespace plaquette {

/// Sets the rates of a figure whose seconds are known.
inline void set_rates(operator_figure& figure, const counted_work& work, const machine_limits& limits = {}) {
  const kernel_rates rates = rates_of(work, figure.seconds.median, limits);
  figure.gflops = rates.gflops;
  figure.gbytes_per_s = rates.gbytes_per_s;
  figure.fraction_of_copy = rates.fraction_of_copy;
  figure.fraction_of_fma_peak = rates.fraction_of_fma_peak;
}

/// Puts the figures in relation to both.
inline void relate_to_machine(operator_figure& figure, double copy_gbytes_per_s, double fma_gflops) {
  figure.fraction_of_copy = copy_gbytes_per_s > 0.0 ? figure.gbytes_per_s / copy_gbytes_per_s : 0.0;
  figure.fraction_of_fma_peak = fma_gflops > 0.0 ? figure.gflops / fma_gflops : 0.0;
}

}  // namespace plaquette
