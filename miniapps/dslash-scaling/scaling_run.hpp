// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The mini-app between its options and its exit status.
#pragma once

#include "miniapps/dslash-scaling/scaling_options.hpp"
#include "miniapps/shared/program.hpp"

namespace plaquette::scaling {

class scaling_program final : public program {
 public:
  program_text text() const override;
  void parse(int argc, const char* const* argv) override;
  const shared_options& shared() const override { return options_.shared; }
  lattice_geometry geometry(const communicator& world) override;
  std::vector<named_file> files() const override;
  std::vector<std::string> files_of_stopped_run() const override;
  std::optional<placement_policy> placement() const override { return options_.placement; }
  std::optional<official_class> run_class() const override { return options_.run_class; }
  run_estimate estimate(app_run& run) override;
  json_document parameters(const app_run& run) const override;
  void print_problem(const app_run& run) const override;
  exit_status body(app_run& run) override;

 private:
  scaling_options options_;
  json_document parameters_ = nullptr;
};

}  // namespace plaquette::scaling
