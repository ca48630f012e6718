// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// hmc between its options and its exit status.
#pragma once

#include "miniapps/hmc/chain_store.hpp"
#include "miniapps/hmc/hmc_options.hpp"
#include "miniapps/shared/machine_model.hpp"
#include "miniapps/shared/program.hpp"

namespace plaquette {

class hmc_program final : public program {
 public:
  program_text text() const override;
  void parse(int argc, const char* const* argv) override;
  const shared_options& shared() const override { return options_.shared; }
  std::optional<official_class> run_class() const override { return options_.run_class; }
  lattice_geometry geometry(const communicator& world) override;
  std::vector<named_file> files() const override;
  std::vector<std::string> files_of_stopped_run() const override;
  run_estimate estimate(app_run& run) override;
  json_document parameters(const app_run& run) const override;
  void print_problem(const app_run& run) const override;
  exit_status body(app_run& run) override;

 private:
  /// Adds seconds on a machine that need not be here.
  void add_times(run_estimate& needs, const app_run& run, const machine_figures& machine) const;

  hmc_options options_;
  shared_options start_;  ///< the same, with the links that this run starts from
  chain_state state_;     ///< of the chain that this run continues
};

}  // namespace plaquette
