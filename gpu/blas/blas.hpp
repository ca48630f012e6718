// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vector operations on batches of columns; a scalar of each call holds one number a column. Fields of one call have
/// the same shape. Sums are double in every precision, of the numbers as they are stored, over fixed ranges of sites in
/// a fixed order (gpu/device/launch.hpp). So they have the same bits run after run, whatever else is in the batch.
/// Nothing waits: the sums are handles.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "gpu/fields/field.hpp"

namespace plaquette::gpu {

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

// On a few fields at once: one pass over memory instead of one for each pair of them.
// common/krylov/few_fields.hpp says how many a call may have.

/// Returns the c for which |r - sum_k c_k v_k| is smallest. A v_k of which only `rounding` times its length is
/// independent of those before it gets 0.
template <class T>
std::vector<scalars> fused_least_squares(std::span<const field<T>> v, const field<T>& r, double rounding);
/// Returns mask <v_k, w> / norms_k, 0 if norms_k is 0
template <class T>
std::vector<scalars> fused_coefficients(std::span<const field<T>> v, std::span<const scalars> norms, const field<T>& w,
                                        const scalars& mask);
/// Computes x += sign sum_k c_k v_k
template <class T>
void fused_combination(field<T>& x, double sign, std::span<const scalars> c, std::span<const field<T>> v);
/// Does the same; returns <w, x> and |x|^2.
template <class T>
std::pair<scalars, scalars> fused_combination(field<T>& x, double sign, std::span<const scalars> c,
                                              std::span<const field<T>> v, const field<T>& w);

}  // namespace plaquette::gpu
