// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What is solved: equations, materials, boundaries, sources. Formulas: common/dg/README.md.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plaquette {

/// Systems of first order.
enum class wave_equations {
  acoustics,   ///< p, u, v, w (in two dimensions p, u, v): p_t = -K div u, rho u_t = -grad p
  maxwell,     ///< Hx, Hy, Hz, Ex, Ey, Ez: mu H_t = -curl E, eps E_t = curl H
  maxwell_tm,  ///< Hx, Hy, Ez in two dimensions
};

inline constexpr int most_fields = 6;
int fields_of(wave_equations equations, int dimension);
/// Returns "p", "Hx", ...
std::vector<std::string> field_names(wave_equations equations, int dimension);

/// Two constants of an element: waves travel at speed() and meet impedance().
struct medium {
  double first = 1.0;   ///< eps of Maxwell's equations; 1/K (compressibility) of acoustics: of E, of p
  double second = 1.0;  ///< mu; rho: of H, of u
  double speed() const { return 1.0 / std::sqrt(first * second); }
  double impedance() const { return std::sqrt(second / first); }
  bool operator==(const medium&) const = default;
};

enum class boundary_kind : std::uint8_t {
  reflecting,  ///< perfect electric conductor, rigid wall
  absorbing,   ///< of first order: nothing comes in
  incident     ///< only the incident plane wave comes in
};

/// f(k.x - |k| c t + phase) times a constant vector of fields, in the first material.
struct plane_wave {
  enum class shape : std::uint8_t { sine, pulse };  ///< sin(x), or exp(-(x / width)^2)
  std::array<double, 3> wave_vector{6.283185307179586, 0.0, 0.0};
  std::array<double, most_fields> amplitude{};
  double speed = 1.0, phase = 0.0, width = 1.0;
  shape form = shape::sine;

  double argument(double x, double y, double z, double t) const {
    const auto& k = wave_vector;
    const double length = std::sqrt(k[0] * k[0] + k[1] * k[1] + k[2] * k[2]);
    return k[0] * x + k[1] * y + k[2] * z - length * speed * t + phase;
  }
  double profile(double argument_) const {
    return form == shape::sine ? std::sin(argument_) : std::exp(-(argument_ / width) * (argument_ / width));
  }
};

/// amplitude f(t) delta(x - position) on one field's right-hand side, f Ricker's wavelet of a centre frequency:
/// f = (1 - 2 s) exp(-s), s = (pi frequency (t - delay))^2.
struct point_source {
  std::array<double, 3> position{};
  int field = 0;
  double amplitude = 0.0, frequency = 1.0, delay = 1.0;

  double at(double t) const {
    const double x = 3.14159265358979323846 * frequency * (t - delay);
    return amplitude * (1.0 - 2.0 * x * x) * std::exp(-x * x);
  }
};

struct dg_problem {
  wave_equations equations = wave_equations::acoustics;
  double upwinding = 1.0;                                            ///< alpha of the flux: 1 upwind, 0 central
  std::vector<medium> media{medium{}};                               ///< of each number in simplex_mesh::material_tags
  std::vector<boundary_kind> boundaries{boundary_kind::reflecting};  ///< of each number in boundary_tags
  plane_wave incident;                                               ///< for boundary_kind::incident
  std::vector<point_source> sources;
};

}  // namespace plaquette
