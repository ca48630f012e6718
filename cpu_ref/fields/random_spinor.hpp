// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Random right-hand sides.
#pragma once

#include "common/lattice/site_field.hpp"
#include "common/random/random_stream.hpp"
#include "cpu_ref/fields/site_sum.hpp"

namespace plaquette::cpu {

/// The 24 reals of every site are normal deviates of variance 1: the same bits on any process grid and any number of
/// threads. Ghosts are filled. Collective.
/// \param index  which of the independent fields of this seed (a right-hand side)
inline spinor_configuration random_spinor(const lattice_geometry& geometry, std::uint64_t seed, std::uint64_t index,
                                          const communicator& comm) {
  spinor_configuration psi(geometry);
  for_each_site(geometry, [&](const coordinate& x) {
    random_stream random(seed, random_stream_id(random_purpose::spinor, index),
                         static_cast<std::uint64_t>(geometry.global_index(x)));
    for (int spin = 0; spin < spins; ++spin)
      for (int colour = 0; colour < colours; ++colour) {
        const auto [re, im] = random.gaussians();
        psi(x)(spin, colour) = {re, im};
      }
  });
  exchange_ghosts(psi, comm);
  return psi;
}

}  // namespace plaquette::cpu
