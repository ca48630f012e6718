// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sweeps that are made again, link by link, from the links before them: neither plaquette nor SU(3) tell that a heat
/// bath or an over-relaxation was left out.
#pragma once

#include <cstdint>
#include <optional>

#include "common/lattice/gauge_action.hpp"
#include "common/lattice/site_field.hpp"
#include "miniapps/shared/app_run.hpp"

namespace plaquette {

/// Judges some sweeps of a run: one of each of `judged_sweeps` equal stretches, drawn when the stretch begins, out of
/// the sight of the updates.
class sweep_judge {
 public:
  static constexpr int judged_sweeps = 6;

  /// \param count  sweeps of this run
  sweep_judge(app_run& run, const gauge_action& action, const sweep_plan& plan, int count)
      : run_(run), action_(action), plan_(plan), count_(count) {}

  /// Returns whether the next sweep is judged: then `keep` gets the links before it. Collective.
  bool takes_next();
  void keep(const gauge_configuration& links) { before_ = links; }
  /// Makes the sweep again and compares. Collective.
  /// \param number  of the sweep
  void judge(const gauge_configuration& after, std::uint64_t number);
  /// Adds the check, if sweeps were judged.
  void add_check(verification& checks) const;

 private:
  app_run& run_;
  gauge_action action_;
  sweep_plan plan_;
  int count_, made_ = 0, drawn_ = -1, judged_ = 0;
  std::optional<gauge_configuration> before_{};
  double worst_ = 0.0;
};

}  // namespace plaquette
