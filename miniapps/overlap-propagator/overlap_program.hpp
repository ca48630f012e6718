// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-overlap-propagator: propagators of the overlap operator for many masses.
#pragma once

#include "miniapps/overlap-propagator/overlap_estimate.hpp"
#include "miniapps/overlap-propagator/overlap_options.hpp"
#include "miniapps/shared/program.hpp"

namespace plaquette {

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
  std::optional<official_class> run_class() const override { return options_.run_class; }
  run_estimate estimate(app_run& run) override;
  json_document parameters(const app_run& run) const override { return parameters_of(options_, run.geometry); }
  void print_problem(const app_run& run) const override;
  exit_status body(app_run& run) override;

 private:
  /// Takes fewer modes of H if the search space has no room on the GPU, and if the model expects that to be faster than
  /// one on the host. Collective.
  void choose_modes(const app_run& run, run_estimate& needs);
  /// Chooses how many columns the preconditioned scheme solves for at once, by the free memory. Collective.
  void choose_batch(const app_run& run);
  /// Chooses where the search spaces lie, by the free memory.
  void place_bases(const app_run& run, const overlap_memory& memory, run_estimate& needs);
  void add_times(run_estimate& needs, const app_run& run, const machine_figures& machine, double lowest) const;
  /// Prints the approximation of the sign function, if its range is given by hand.
  void print_table(run_estimate& needs) const;

  overlap_options options_;
};

}  // namespace plaquette
