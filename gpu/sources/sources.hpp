// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Right-hand sides of a propagator, made on the device: one spin and colour at a point, on a time slice, or smeared
/// around a point. Spins are in the DeGrand-Rossi basis, and are rotated to the field's own basis. Fields have 4 spins
/// and 3 colours; all functions throw input_error for another shape or a column that is not there.
#pragma once

#include "common/lattice/source_description.hpp"
#include "common/random/noise.hpp"
#include "gpu/fields/field.hpp"
#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

/// Makes a field where spin `spin` and colour `colour` at a global coordinate are 1, everything else of the column 0.
template <class T>
void point_source(field<T>& x, int column, const coordinate& position, int spin, int colour);

/// Does the same at every site of time slice `time`.
template <class T>
void wall_source(field<T>& x, int column, int time, int spin, int colour);

/// Makes a point or a wall as described.
template <class T>
void unsmeared_source(field<T>& x, int column, const source_description& source, int spin, int colour);

/// Makes a field where spin `spin` and colour `colour` of a time slice are noise, everything else of the column 0.
template <class T>
void noise_source(field<T>& x, int column, const noise_description& noise, int spin, int colour);

/// Makes the sources as described: every column of x becomes the source of its component, column c that of propagator
/// column first + c (`component_of_column`). Smeared sources are for fields of all sites.
/// \param links  a smeared source is covariant under their gauge transformations
void make_sources(field<double>& x, const source_description& source, int first, const gauge_configuration& links);

/// Makes one of them: column `column` of x.
void make_source(field<double>& x, int column, const source_description& source, int spin, int colour,
                 const gauge_configuration& links);

}  // namespace plaquette::gpu
