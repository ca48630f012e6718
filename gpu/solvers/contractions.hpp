// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The contractions of `library`, on fields of the CUDA library. The twin of cpu_ref/solvers/contractions.hpp.
#pragma once

#include <memory>

#include "common/solvers/contractions.hpp"
#include "common/solvers/vectors.hpp"

namespace plaquette::gpu {

/// Returns contractions of vectors, whose memory they share. Throws input_error unless the vectors are a propagator.
std::unique_ptr<contractions> make_contractions(const vectors& quark);

/// Returns contractions of the first 12 vectors behind a handle; null unless it has as many on this lattice, in double
/// precision and with 4 spins.
std::unique_ptr<contractions> contractions_in_place(const lattice_geometry& geometry, const vectors_handle& quark);

}  // namespace plaquette::gpu
