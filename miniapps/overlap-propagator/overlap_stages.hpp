// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The stages of a run: each is timed, counted and predicted, and its result may be kept in a file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/app/resumable.hpp"
#include "common/solvers/overlap_solver.hpp"
#include "miniapps/overlap-propagator/overlap_estimate.hpp"
#include "miniapps/overlap-propagator/overlap_options.hpp"
#include "miniapps/overlap-propagator/overlap_report.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette {

/// The file of a stage's result, and its format.
template <class Value>
struct kept_stage {
  kept_file file;
  value_format<Value> format;
};

class overlap_stages {
 public:
  /// Measures the speed of H, and tells how long all will take. All must outlive it. Collective.
  overlap_stages(app_run& run, const overlap_options& options, const gauge_input& gauge, overlap_solver& solver);

  // The state that all stages share.
  app_run& run;
  const overlap_options& options;
  const gauge_input& gauge;
  overlap_solver& solver;

  bool is_root() const { return run.is_root(); }
  verification& checks() { return run.result.checks; }
  double volume() const { return static_cast<double>(run.geometry.global_volume()); }
  const kernel_speed& speed() const { return speed_; }
  /// Returns the seconds that stages are expected to take, before there are modes of H.
  overlap_times expected() const;
  /// Returns the same with the measured sign function, and with modes of D if they are known.
  overlap_times expected(const sign_operator& sign, const overlap_modes* modes = nullptr) const;

  /// Returns the seconds that solutions are expected to be judged in.
  double expected_verification(const sign_operator& sign) const;

  /// Runs a stage and returns its result. Ends the run if it is stopped meanwhile. Collective.
  template <class Body>
  auto stage(const std::string& name, double predicted_seconds, const Body& body) {
    const kernel_count before = solver.count();
    if constexpr (std::is_void_v<decltype(body())>) {
      run.stage(name, body);
      note_stage(name, predicted_seconds, before);
    } else {
      auto value = run.stage(name, body);
      note_stage(name, predicted_seconds, before);
      return value;
    }
  }
  /// Returns the result of a stage that an earlier run kept, or runs it: a restored stage is judged like one that was
  /// run. Its result is kept if it is `worth` it, and the file of its search is then of no use. Collective.
  /// \param search  where a search under way is kept
  template <class Value, class State, class Compute, class Worth>
  Value resumable(const std::string& name, double predicted_seconds, const kept_stage<Value>& kept,
                  const kept_stage<search_snapshot<State>>& search, const Compute& compute, const Worth& worth) {
    const stop_question unless_kept(question_of_stages());
    throttled_checkpoint<State> save(search.file, search.format, run.control, run.world);
    resumed<Value> found = stage(name, predicted_seconds,
                                 [&] { return restored_or(kept.file, kept.format, [&] { return compute(save); }); });
    records_.back().restored = found.restored;
    has_resumed_ = has_resumed_ || save.has_resumed();
    if (!found.restored && worth(found.value)) {
      kept.file.write(kept.format.to_file(found.value));
      search.file.remove();
    }
    return std::move(found.value);
  }

  /// The same for a stage without a search.
  template <class Value, class Compute, class Worth>
  Value resumable(const std::string& name, double predicted_seconds, const kept_stage<Value>& kept,
                  const Compute& compute, const Worth& worth) {
    const stop_question unless_kept(question_of_stages());
    resumed<Value> found = stage(name, predicted_seconds, [&] { return restored_or(kept.file, kept.format, compute); });
    records_.back().restored = found.restored;
    if (!found.restored && worth(found.value)) kept.file.write(kept.format.to_file(found.value));
    return std::move(found.value);
  }

  /// Returns the question of stop points in stages: a run with checkpoints keeps its state, however long that takes.
  stop_question::function question_of_stages() const {
    return options.checkpoint.empty() ? stop_question::current() : nullptr;
  }

  /// Notes that fewer modes were found than were sought, so that nothing more is computed.
  void note_missing_modes() { lack_modes_ = true; }
  bool lack_modes() const { return lack_modes_; }
  /// Returns whether nothing is computed after a stage.
  bool end_after(overlap_stage stage) const { return lack_modes_ || options.until <= stage; }

  const std::vector<stage_record>& records() const { return records_; }
  double seconds_of(const std::string& stage_name) const;
  /// Returns whether all was computed here, none read from files.
  bool is_whole() const;

  /// Prints a line that is seen at once.
  void tell(const std::string& line);
  /// Prints a line for a search that takes long, and the progress line.
  void report_cycle(const char* what, int cycle, int converged, int sought, double worst, double seconds);

  /// Returns a file for results that the given options determine on this configuration.
  kept_file file(const std::string& path, json_document parameters) const;

 private:
  void measure_kernel();
  void predict();
  void note_stage(const std::string& name, double predicted_seconds, const kernel_count& before);

  kernel_speed speed_;
  std::vector<stage_record> records_;
  bool has_resumed_ = false, lack_modes_ = false;
};

}  // namespace plaquette
