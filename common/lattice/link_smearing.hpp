// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Parameters of APE and HYP smearing.
#pragma once

#include <initializer_list>
#include <string>

#include "common/error.hpp"
#include "common/number_text.hpp"

namespace plaquette {

/// U -> nearest_in_su3((1 - alpha) U + alpha / n sum of the n staples), n = 6, or 4 where spatial. (Albanese et al.,
/// Phys. Lett. B 192 (1987) 163)
struct ape_smearing {
  int steps = 1;
  double alpha = 0.5;
  bool spatial = false;  ///< only spatial links are smeared, and with spatial staples

  int directions() const { return spatial ? 3 : 4; }
};

/// Hypercubic blocking: APE in three levels, whose staples stay in the hypercubes that share the link. (Hasenfratz,
/// Knechtli, hep-lat/0103029, equations 3 to 5)
struct hyp_smearing {
  int steps = 1;
  double alpha_1 = 0.75, alpha_2 = 0.6, alpha_3 = 0.3;
};

namespace detail {

inline void require_usable_blocking(const char* name, int steps, std::initializer_list<double> weights) {
  if (steps < 0)
    throw input_error(std::string(name) + " smearing: expected steps of 0 or more, found " + std::to_string(steps));
  for (const double weight : weights)
    if (!(weight >= 0.0 && weight <= 1.0))
      throw input_error(std::string(name) + " smearing: expected weights from 0 to 1, found " + number_text(weight));
}

}  // namespace detail

/// Throws input_error for parameters that cannot be used.
inline void require_usable(const ape_smearing& s) { detail::require_usable_blocking("APE", s.steps, {s.alpha}); }
inline void require_usable(const hyp_smearing& s) {
  detail::require_usable_blocking("HYP", s.steps, {s.alpha_1, s.alpha_2, s.alpha_3});
}

}  // namespace plaquette
