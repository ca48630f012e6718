// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operations on a basis of many vectors, which is one field with many columns: products with small matrices, and the
/// two chiralities of Dirac spinors. The twin of cpu_ref/blas/basis.
///
/// Matrices are of the host, complex<double>, column by column. Fields of one call lie on the same sites and have the
/// same spins and colours (any shape, views too); numbers of columns are as said. Throws std::logic_error if shapes do
/// not fit.
#pragma once

#include <span>
#include <vector>

#include "gpu/fields/field.hpp"

namespace plaquette::gpu {

/// Returns V^+ W: element (i, j), at i + j v.columns(), is <v_i, w_j> over all ranks. Sums are made in double, in a
/// fixed order of this rank's sites. Waits. Collective. T is double or float, as below.
template <class T>
std::vector<complex<double>> inner_products(const field<T>& v, const field<T>& w);

/// Computes W -= V C, where C has v.columns() rows and w.columns() columns. w shares no storage with v.
template <class T>
void subtract_combinations(field<T>& w, const field<T>& v, std::span<const complex<double>> c);
/// Computes W += V C, the same otherwise.
template <class T>
void add_combinations(field<T>& w, const field<T>& v, std::span<const complex<double>> c);
/// Computes out = V Q, where Q has v.columns() rows and out.columns() columns. out shares no storage with v.
template <class T>
void combine(field<T>& out, const field<T>& v, std::span<const complex<double>> q);

/// Replaces the first `count` columns of V by V Q, where Q has v.columns() rows and `count` columns: a few blocks of
/// sites at a time, so that no second basis is in memory. The other columns of v keep their numbers.
template <class T>
void rotate(field<T>& v, std::span<const complex<double>> q, int count);

/// Computes out = gamma_5 in, of Dirac spinors; out may be in. T is half too, as in the next three.
template <class T>
void gamma5(field<T>& out, const field<T>& in);
/// Computes out = (1 + sign gamma_5) / 2 in; out may be in.
/// \param sign  +1 or -1
template <class T>
void chirality_part(field<T>& out, const field<T>& in, int sign);

/// Copies the spinors of one chirality as fields of half the numbers: 2 spins, the upper two (sign = +1) or lower two
/// (-1) of the DeGrand-Rossi basis. Norms are kept. The other chirality of `full` is left out.
template <class T>
void take_chirality(field<T>& half_vectors, const field<T>& full, int sign);
/// Does the inverse; the other chirality of `full` becomes zero.
template <class T>
void put_chirality(field<T>& full, const field<T>& half_vectors, int sign);

}  // namespace plaquette::gpu
