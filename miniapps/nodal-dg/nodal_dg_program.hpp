// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// nodal-dg between its options and its exit status.
#pragma once

#include <memory>
#include <vector>

#include "miniapps/nodal-dg/dg_checkpoint.hpp"
#include "miniapps/nodal-dg/nodal_dg_options.hpp"
#include "miniapps/nodal-dg/wave_case.hpp"
#include "miniapps/nodal-dg/wave_run.hpp"
#include "miniapps/shared/program.hpp"

namespace plaquette::nodal_dg {

class nodal_dg_program final : public program {
 public:
  program_text text() const override;
  void parse(int argc, const char* const* argv) override;
  const shared_options& shared() const override { return options_.shared; }
  lattice_geometry geometry(const communicator& world) override { return no_lattice(world); }
  std::vector<named_file> files() const override;
  std::vector<std::string> files_of_stopped_run() const override;
  std::optional<official_class> run_class() const override { return options_.run_class; }
  run_estimate estimate(app_run& run) override;
  json_document parameters(const app_run& run) const override;
  void print_problem(const app_run& run) const override;
  exit_status body(app_run& run) override;

 private:
  void make_domain_of(app_run& run, const nodal_dg_options& options);
  run_estimate memory_of(const app_run& run) const;
  double elements_of_run() const;
  std::vector<std::pair<std::string, std::string>> lines_of_work(double stable) const;
  void add_planned_time(const app_run& run, run_estimate& needs) const;
  void find_places();
  wave_run set_up(app_run& app);
  void choose_steps(double stable);
  void find_steps(app_run& run, dg_solver& solver);
  double end_of_run() const;

  nodal_dg_options options_;
  dg_progress done_;  ///< by the run that this one continues
  wave_case case_;
  std::unique_ptr<dg_domain> domain_;
  std::vector<point_location> probes_;
  double sampled_ = 1.0;                 ///< elements that are meant, for one of `domain_`: above 1 in some dry runs
  std::vector<std::int32_t> partition_;  ///< rank of each element
  double dt_ = 0.0, last_dt_ = 0.0;
  std::int64_t steps_ = 0;
};

}  // namespace plaquette::nodal_dg
