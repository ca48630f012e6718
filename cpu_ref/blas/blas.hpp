// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vector operations on batches of columns; a scalar of each call holds one number a column. Fields of one call have
/// the same shape. Sums are double in every precision, over fixed ranges of blocks in a fixed order: the same bits for
/// any number of threads. Across process grids they agree to rounding.
#pragma once

#include <utility>

#include "cpu_ref/fields/field.hpp"

namespace plaquette::cpu {

/// Computes x = 0
template <class T>
void zero(field<T>& x);
/// Computes x = u
template <class T>
void copy(field<T>& x, const field<T>& u);
/// Computes x = a x
template <class T>
void scale(field<T>& x, const scalars& a);
/// Computes x += a u
template <class T>
void axpy(field<T>& x, const scalars& a, const field<T>& u);
/// Computes x = u + a x
template <class T>
void xpay(field<T>& x, const field<T>& u, const scalars& a);
/// Returns <u, v>, u conjugated
template <class T>
scalars dot(const field<T>& u, const field<T>& v);
/// Returns <u, u>
template <class T>
scalars norm2(const field<T>& u);
/// Computes x += a u; returns |x|^2
template <class T>
scalars axpy_norm2(field<T>& x, const scalars& a, const field<T>& u);
/// Computes x += a u + b v
template <class T>
void axpy_pair(field<T>& x, const scalars& a, const field<T>& u, const scalars& b, const field<T>& v);
/// Computes x = u - v; returns |x|^2
template <class T>
scalars subtract_norm2(field<T>& x, const field<T>& u, const field<T>& v);
/// Computes x += a u; y -= a v; returns |y|^2
template <class T>
scalars cg_update(field<T>& x, field<T>& y, const scalars& a, const field<T>& u, const field<T>& v);
/// Computes x = u + a (x - b v)
template <class T>
void bicgstab_direction(field<T>& x, const field<T>& u, const scalars& a, const scalars& b, const field<T>& v);
/// Computes x += a z + b y; y -= b u; z = y + c (z - b v), with the y that is stored; returns |y|^2. The bits of
/// axpy_pair, axpy_norm2 and bicgstab_direction one after the other.
template <class T>
scalars bicgstab_step(field<T>& x, field<T>& y, field<T>& z, const scalars& a, const scalars& b, const scalars& c,
                      const field<T>& u, const field<T>& v);
/// Returns <u, v> and <u, u>
template <class T>
std::pair<scalars, scalars> dot_norm2(const field<T>& u, const field<T>& v);
/// Computes x += a u; returns <w, x> and |x|^2
template <class T>
std::pair<scalars, scalars> axpy_dot_norm2(field<T>& x, const scalars& a, const field<T>& u, const field<T>& w);

}  // namespace plaquette::cpu
