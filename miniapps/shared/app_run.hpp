// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The state that every run of a program has: the options that all share, ranks, lattice, GPU, progress, stop, report.
/// A program's body gets one (miniapps/shared/program.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/app/clock_check.hpp"
#include "common/app/host_energy.hpp"
#include "common/app/options.hpp"
#include "common/app/progress.hpp"
#include "common/app/report.hpp"
#include "common/app/run_app.hpp"
#include "common/app/run_control.hpp"
#include "common/app/timing.hpp"
#include "common/comms/communicator.hpp"
#include "common/krylov/work_clock.hpp"
#include "common/lattice/geometry.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/simd/kernels.hpp"
#include "miniapps/shared/gauge_input.hpp"
#include "miniapps/shared/gpu_access.hpp"
#include "miniapps/shared/run_class.hpp"

namespace plaquette {

/// One run. Members are public: the steps of a program share them, and they are no abstraction.
struct app_run {
  app_run(const shared_options& options, const lattice_geometry& lattice, const communicator& ranks);

  shared_options shared;
  const communicator& world;
  lattice_geometry geometry;
  run_control control;  ///< signals and the time limit
  progress_line progress;
  report result;
  clock_comparison clocks{};                ///< over the whole run
  std::shared_ptr<const library> device{};  ///< null in a dry run
  std::unique_ptr<gpu_access> gpu{};        ///< its clocks; null on the CPU
  host_energy energy{};                     ///< of this host, without its GPUs
  std::vector<std::string> left_files{};    ///< outputs of stopped runs, which this run continues
  bool keeps_checkpoint = false;            ///< it may continue a run that was stopped before its first checkpoint, too
  /// Rates that stand in the report as seconds or otherwise, and that the machine must be able to give.
  std::vector<operator_figure> more_rates{};
  std::optional<official_class> run_class{};  ///< that --size names
  double work_seconds = 0.0;                  ///< of timed work; 0: of the report's figures and solves
  cpu::instruction_set instructions = cpu::best_instruction_set();  ///< that a CPU's figures are measured with

  /// True on the one rank that prints.
  bool is_root() const { return world.rank() == 0; }
  /// Returns whether an output that exists already is replaced: with --force, or if a stopped run has left it. Of a
  /// program that keeps checkpoints, that is also a report that says that its run was stopped.
  bool replaces(const std::string& path) const;

  /// Names the current step: for the progress line, and for the message of an error.
  void begin(const std::string& step);
  /// Ends the run with exit status 6 if a signal came or the time is over. Collective.
  void stop_if_requested();
  /// Notes in the report that the run was stopped, as an error of exit status 6 says; throws any other again.
  void note_stop(const error& stop);

  /// Reads or makes the links of --gauge at the first call, adds their checks to the report and prints the plaquette.
  /// Ends the run if it is stopped meanwhile. Collective.
  const gauge_input& gauge();

  /// Runs a step that counts as a separate figure (a set-up). Its seconds, the same on all ranks, go to
  /// the report's "stages", with the seconds of tuning in it apart, and the energy of the hosts. Returns the result of
  /// the step. Collective.
  template <class Step>
  auto stage(const std::string& name, Step&& step) {
    const stage_start start = start_stage(name);
    if constexpr (std::is_void_v<decltype(step())>) {
      step();
      end_stage(name, start);
    } else {
      auto result_of_step = step();
      end_stage(name, start);
      return result_of_step;
    }
  }

  /// Notes in the report which part of the work was drawn to be judged.
  void note_draw(const std::string& what, std::uint64_t number);

  /// Adds two checks: no figure is better than the machine allows, and its seconds agree with another clock. Prints the
  /// checks, the figure of merit and the verdict, and writes the report. Returns the exit status: `status`, or 1 if
  /// that is success and a check failed. A run that was told to stop until now is a stopped one (6). The last call of a
  /// body. Collective.
  exit_status finish(exit_status status);

 private:
  struct stage_start {
    energy_reading energy;
    work_clock<library> clock;
  };
  stage_start start_stage(const std::string& name);
  void end_stage(const std::string& name, const stage_start& start);

  std::optional<gauge_input> gauge_;
  sparse_stop asks_;
  stop_question question_;  ///< of the libraries' loops
};

/// Thrown if a run is stopped in the middle of a step. The report is written, the exit status is 6.
struct run_stopped {};

}  // namespace plaquette
