// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Solutions in closed form, and how far a state is from one.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "common/dg/dg_problem.hpp"
#include "common/dg/dg_solver.hpp"

namespace plaquette {

/// All fields at a point and a time.
using field_function = std::function<void(const std::array<double, 3>& x, double t, std::span<double> fields)>;

/// A box whose sides the standing waves know.
struct box_sides {
  std::array<double, 3> low{-1.0, -1.0, -1.0}, high{1.0, 1.0, 1.0};
};

/// Returns a standing wave between rigid walls with wave numbers n: with k_i = pi n_i / (length of side i), X_i = x_i -
/// low_i and w = c |k|: p = prod cos(k_i X_i) cos(w t), u_i = k_i / (rho w) sin(k_i X_i) prod_{j != i} cos(k_j X_j)
/// sin(w t).
field_function standing_wave(const box_sides& box, std::array<int, 3> n, const medium& m, int dimension);

/// Returns a mode of a cavity of perfectly conducting walls: E_i = a_i cos(k_i X_i) prod_{j != i} sin(k_j X_j) cos(w
/// t), a the part of the polarisation that is orthogonal to k, and H = -curl E / (mu w) with sin(w t). Throws
/// input_error where that part, or the whole field, is zero.
field_function cavity_mode(const box_sides& box, std::array<int, 3> n, std::array<double, 3> polarisation,
                           const medium& m);
/// Returns the same in two dimensions, Ez = sin(k_x X) sin(k_y Y) cos(w t).
field_function cavity_mode_tm(const box_sides& box, std::array<int, 3> n, const medium& m);

/// Returns a plane wave that solves the equations: fills amplitude and speed. Acoustics: p = 1, u = k / (|k| Z).
/// Maxwell: E the part of the polarisation orthogonal to k, of length 1; H = k x E / (|k| Z).
plane_wave make_plane_wave(wave_equations equations, int dimension, std::array<double, 3> wave_vector,
                           std::array<double, 3> polarisation, const medium& m);
field_function wave_function(const plane_wave& wave, int fields);

/// Returns a state as dg_solver takes it, one column.
/// \param stride  as of errors_of; elsewhere it is zero
std::vector<double> sample(const dg_domain& domain, const field_function& f, double t, std::int32_t stride = 1);

/// Of each field over all ranks.
struct field_errors {
  std::vector<double> max;   ///< at nodes
  std::vector<double> l2;    ///< by the mass matrix: of the interpolant
  std::vector<double> fine;  ///< L2 by cubature that is exact for polynomials of degree 2 N + 4: of the function
};
/// Returns distance of one column of a state from a function. Collective.
/// \param stride  counts every element of that number only: the first, and so on
field_errors errors_of(const dg_domain& domain, std::span<const double> state, const field_function& exact, double t,
                       std::int32_t stride = 1);

/// Returns the constant of the medium that goes with a field: the energy is half the integral of the sum of constant
/// times square.
double energy_constant(const dg_domain& domain, int field, std::int32_t element);

/// Returns what numbers of a field are multiplied with, so that both fields of a wave are of one size: the energy is
/// half the sum of the squares.
double energy_weight(const dg_domain& domain, int field, std::int32_t element);

/// Returns the largest number of one column, with energy_weight; NaN where one is. On this rank.
double largest_number(const dg_domain& domain, std::span<const double> column);

/// Returns whether both have the same bits.
bool same_bits(std::span<const double> a, std::span<const double> b);

/// Fills `product` with the mass matrix times the nodes of one field and element, summed in the order of nodes.
/// \param columns  transposed(domain.reference.mass)
void multiply_by_mass(const dg_domain& domain, const dense_matrix& columns, const double* q, double* product);

/// Returns integrals of the energy of each column; in double. Collective.
std::vector<double> energy_of(const dg_domain& domain, std::span<const double> states, int columns);

/// Returns fields at a point of an element here (where point_location::element is a number of the whole mesh).
std::vector<double> value_at(const dg_domain& domain, std::span<const double> state, std::int32_t element,
                             const reference_point& at);

}  // namespace plaquette
