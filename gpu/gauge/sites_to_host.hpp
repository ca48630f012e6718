// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Matrices of a few sites of a big lattice, on the host.
#pragma once

#include <span>

#include "common/lattice/site_field.hpp"
#include "gpu/gauge/gauge_fields.hpp"

namespace plaquette::gpu {

/// Copies the four matrices of some sites of this rank to the host. Waits for them.
/// \param to  as many as `at`
/// \param at  local coordinates
void get_sites(std::span<site_links> to, const gauge_configuration& from, std::span<const coordinate> at);

}  // namespace plaquette::gpu
