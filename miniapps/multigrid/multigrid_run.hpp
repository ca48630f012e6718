// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The run of the multigrid mini-app.
#pragma once

#include <memory>
#include <vector>

#include "common/solvers/multigrid_solver.hpp"
#include "miniapps/multigrid/multigrid_options.hpp"
#include "miniapps/multigrid/multigrid_report.hpp"
#include "miniapps/multigrid/setup_file.hpp"
#include "miniapps/multigrid/source_solves.hpp"
#include "miniapps/shared/machine_model.hpp"
#include "miniapps/shared/program.hpp"

namespace plaquette {

class multigrid_program final : public program {
 public:
  program_text text() const override;
  void parse(int argc, const char* const* argv) override;
  const shared_options& shared() const override { return options_.shared; }
  std::vector<named_file> files() const override;
  lattice_geometry geometry(const communicator& world) override;
  std::vector<std::string> files_of_stopped_run() const override;
  std::optional<official_class> run_class() const override { return options_.run_class; }
  run_estimate estimate(app_run& run) override;
  json_document parameters(const app_run& run) const override;
  void print_problem(const app_run& run) const override;
  exit_status body(app_run& run) override;

 private:
  void add_times(run_estimate& needs, const app_run& run, const machine_figures& machine) const;
  std::unique_ptr<multigrid_solver> make_solver(app_run& run, const gauge_input& gauge) const;
  void first_iteration(multigrid_solver& solver) const;
  setup_results set_up(app_run& run, multigrid_solver& solver) const;
  void measure(app_run& run, multigrid_solver& solver, source_solves& solves, multigrid_results& results);
  std::vector<low_mode> examine(app_run& run, multigrid_solver& solver) const;

  multigrid_options options_;
  setup_origin origin_{};               ///< of this run's null vectors
  json_document parameters_ = nullptr;  ///< before they are fitted into memory
};

}  // namespace plaquette
