// SPDX-License-Identifier: BSD-3-Clause
#include "common/solvers/library.hpp"

#include <array>
#include <span>

namespace plaquette {

double library::sum_over_ranks(double here) const {
  std::array<double, 1> of_all{here};
  comm_.sum(std::span(of_all));
  return of_all[0];
}

double library::largest_over_ranks(double here) const {
  std::array<double, 1> of_all{here};
  comm_.maximum(std::span(of_all));
  return of_all[0];
}

}  // namespace plaquette
