// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-overlap-propagator: propagators of the overlap operator for many masses.
#pragma once

#include "miniapps/overlap-propagator/overlap_options.hpp"
#include "miniapps/shared/program.hpp"

namespace plaquette {

/// What memory a run takes, by what it is for.
struct overlap_memory {
  double kernel_modes = 0.0;   ///< the search space of H
  double overlap_modes = 0.0;  ///< modes of H and the search space of D
  double solves = 0.0;         ///< modes of both and the vectors of the solves
  double links = 0.0;
  double largest() const;
};
overlap_memory memory_of(const overlap_options& options, const lattice_geometry& geometry);

/// Applications of H that the stages are expected to take, one a column, in double where not said otherwise.
struct overlap_work {
  double kernel_modes = 0.0, sign = 0.0, overlap_modes = 0.0, propagators = 0.0;
  double total() const { return kernel_modes + sign + overlap_modes + propagators; }
};
/// \param lowest, highest  of the range of the polynomial; before it is known an estimate from measured spectra
overlap_work work_of(const overlap_options& options, double lowest, double highest);
/// |lambda_l| at beta = 6.0 and rho = 1.4, measured: for estimates before a run.
double expected_mode(int modes, double volume);

/// The calculation on a device: all stages, checks, report. Returns the exit status before the verdict.
exit_status overlap_on_cpu(app_run& run, const overlap_options& options, const gauge_input& gauge);
exit_status overlap_on_gpu(app_run& run, const overlap_options& options, const gauge_input& gauge);

class overlap_program final : public program {
 public:
  program_text text() const override {
    return {"overlap-propagator", "propagators/hour", "propagators of one mass, verified, per hour of all stages"};
  }
  void parse(int argc, const char* const* argv) override { options_ = parse_overlap_options(argc, argv); }
  const shared_options& shared() const override { return options_.shared; }
  std::vector<named_file> files() const override;
  lattice_geometry geometry(const communicator& world) override;
  run_estimate estimate(app_run& run) override;
  json_document parameters(const app_run& run) const override { return parameters_of(options_, run.geometry); }
  void print_problem(const app_run& run) const override;
  exit_status body(app_run& run) override;

 private:
  overlap_options options_;
};

}  // namespace plaquette
