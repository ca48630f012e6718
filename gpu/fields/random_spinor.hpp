// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Random right-hand sides on the device.
#pragma once

#include <cstdint>

#include "gpu/fields/field.hpp"

namespace plaquette::gpu {

/// The 24 reals of every site of a column are normal deviates of variance 1. They are made of the random numbers of the
/// CPU library's field (logarithms and cosines of the device differ in the last places). They are rotated to the
/// field's basis and rounded. Fields of 4 spins and 3 colours, of all sites or of one parity.
/// \param index  which of the independent fields of this seed (a right-hand side)
template <class T>
void random_spinor(field<T>& x, int column, std::uint64_t seed, std::uint64_t index);

/// Fills every column: column c is number first_index + c.
template <class T>
void random_spinors(field<T>& x, std::uint64_t seed, std::uint64_t first_index = 0);

}  // namespace plaquette::gpu
