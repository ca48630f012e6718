// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sites at which an output is compared with the textbook, drawn when it is there.
#pragma once

#include <string>

#include "common/app/draw.hpp"
#include "miniapps/shared/app_run.hpp"
#include "miniapps/shared/operator_checks.hpp"

namespace plaquette {

/// Returns a sample of sites that the work before it cannot know, and notes it in the report. Collective.
/// \param of  the output, for the report
inline scaling::site_sample drawn_sample(app_run& run, bool everywhere, const std::string& of) {
  const std::uint64_t number = drawn_number(run.world);
  scaling::site_sample sample(run.geometry, everywhere, number);
  if (!sample.everywhere()) run.note_draw("sites: " + of, number);
  return sample;
}

}  // namespace plaquette
