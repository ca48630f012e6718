// SPDX-License-Identifier: BSD-3-Clause
#include "common/dg/dg_problem.hpp"

namespace plaquette {

int fields_of(wave_equations equations, int dimension) {
  switch (equations) {
    case wave_equations::acoustics:
      return dimension + 1;
    case wave_equations::maxwell:
      return 6;
    default:
      return 3;
  }
}

std::vector<std::string> field_names(wave_equations equations, int dimension) {
  switch (equations) {
    case wave_equations::acoustics:
      return dimension == 3 ? std::vector<std::string>{"p", "u", "v", "w"} : std::vector<std::string>{"p", "u", "v"};
    case wave_equations::maxwell:
      return {"Hx", "Hy", "Hz", "Ex", "Ey", "Ez"};
    default:
      return {"Hx", "Hy", "Ez"};
  }
}

}  // namespace plaquette
