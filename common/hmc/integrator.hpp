// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Integrators of molecular dynamics. An integrator is data: a flat list of operations, made by nesting schemes of a
/// few coefficients each. All schemes are symmetric, so that the way back undoes the way there.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plaquette {

/// A scheme of one time scale, by the operations of one step of length h.
///
/// - leapfrog: of second order.
/// - omelyan2: of second order, its error least for lambda = 0.1931833275037836. (Omelyan, Mryglod, Folk, Phys. Rev. E
///   65 (2002) 056706, equation 31)
/// - omf4: of fourth order, five forces a step. (the same authors, Comput. Phys. Commun. 151 (2003) 272, equation 71)
/// - force_gradient: of fourth order, three forces a step, one of them at links that are displaced along the force.
///   (Yin, Mawhinney, arXiv:1111.5059, equation 2.7)
enum class md_scheme { leapfrog, omelyan2, omf4, force_gradient };

/// A time scale: in each step the forces of some terms of the action act, and in between the next level moves the
/// links.
struct md_level {
  md_scheme scheme = md_scheme::omelyan2;
  int steps = 1;  ///< in a move of the level before; of the first level: in a trajectory
  std::vector<std::string> terms{};

  bool operator==(const md_level&) const = default;
};

/// One operation of the flat list.
struct md_operation {
  enum class kind { drift, kick, displaced_kick };
  kind what = kind::drift;
  int level = 0;      ///< of a kick: whose terms act
  double step = 0.0;  ///< units of molecular dynamics time
  double displacement =
      0.0;  ///< of a displaced kick: it acts at the links exp(displacement F) U, F the force of the level's terms

  bool operator==(const md_operation&) const = default;
};

/// Reads "force-gradient:2(light) omelyan:2(heavy,det) omf4:1(gauge)": levels from the longest steps to the shortest.
/// Each has a scheme (leapfrog, omelyan, omf4, force-gradient), a number of steps and the names of terms. Throws
/// input_error for a text that is none, and unless each of `terms` stands in one level.
/// \param what  the option, for messages
std::vector<md_level> parse_integrator(std::string_view text, std::span<const std::string> terms,
                                       const std::string& what);
/// Returns the text of which parse_integrator makes these levels.
std::string describe(std::span<const md_level> levels);

/// Returns the operations of a trajectory of length tau. Kicks of one level that nothing separates but other kicks are
/// one kick.
std::vector<md_operation> operations_of(std::span<const md_level> levels, double tau);

/// Returns the number of forces of each level in a trajectory: a displaced kick takes two.
std::vector<int> forces_of(std::span<const md_operation> operations, int levels);

}  // namespace plaquette
