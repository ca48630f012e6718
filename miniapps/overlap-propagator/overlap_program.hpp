// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-overlap-propagator: propagators of the overlap operator for many masses.
#pragma once

#include "miniapps/overlap-propagator/overlap_options.hpp"
#include "miniapps/shared/program.hpp"

namespace plaquette {

/// What memory a run takes, by what it is for.
struct overlap_memory {
  double kernel_basis = 0.0;   ///< the search space of H
  double kernel_modes = 0.0;   ///< other fields of that search
  double overlap_basis = 0.0;  ///< the search space of D
  double overlap_modes = 0.0;  ///< other fields of that search, and modes of H
  double solves = 0.0;         ///< modes of both and the vectors of the solves
  double links = 0.0;
  /// Of all stages, where search spaces lie in other memory or not.
  double largest(bool without_kernel_basis, bool without_overlap_basis) const;
  double largest() const { return largest(false, false); }
};
overlap_memory memory_of(const overlap_options& options, const lattice_geometry& geometry);

/// Seconds of an application of H, a column, by the batches that stages have.
struct kernel_speed {
  double one = 1.0, block = 1.0, many = 1.0;       ///< in double: alone, a block of the search for modes, twelve
  double narrow_one = 0.5, narrow_many = 0.5;      ///< in single precision
  double of_search = 1.0, narrow_of_search = 0.5;  ///< in blocks of the search for modes of D
  double many_of_twelve = 1.0, narrow_many_of_twelve = 0.5;  ///< twelve at once, even where one alone is faster
};

/// Seconds that the stages are expected to take. With the speeds of kernel_speed{} the unit is an application in
/// double.
struct overlap_times {
  double kernel_modes = 0.0, sign = 0.0, overlap_modes = 0.0, propagators = 0.0;
  double total() const { return kernel_modes + sign + overlap_modes + propagators; }
};
/// \param lowest, highest  of the range of the sign function
/// \param gap              e of D^+ D where the modes of D end
overlap_times times_of(const overlap_options& options, double lowest, double highest, double gap,
                       const kernel_speed& speed);

/// |lambda_l| of H and the largest at beta = 6.0 and rho = 1.4, measured: for estimates before a run.
double expected_mode(int modes, double volume);
double expected_bound(const overlap_options& options);
/// e of the first mode of D beyond those that are sought, likewise.
double expected_overlap_mode(const overlap_options& options, double volume);

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
  std::vector<std::string> files_of_stopped_run() const override;
  lattice_geometry geometry(const communicator& world) override;
  run_estimate estimate(app_run& run) override;
  json_document parameters(const app_run& run) const override { return parameters_of(options_, run.geometry); }
  void print_problem(const app_run& run) const override;
  exit_status body(app_run& run) override;

 private:
  /// Chooses where the search spaces lie, by what is free.
  void place_bases(const app_run& run, const overlap_memory& memory, run_estimate& needs);
  /// Notes which outputs a stopped run leaves, for the run that goes on; or that there are none.
  void note_stopped(const app_run& run, bool stopped) const;
  /// The approximation of the sign function, where its range is given by hand.
  void tell_table(run_estimate& needs) const;

  overlap_options options_;
};

}  // namespace plaquette
