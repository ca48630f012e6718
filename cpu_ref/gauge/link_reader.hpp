// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links of the canonical field as common/gauge reads them.
#pragma once

#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

/// Reads links whose ghosts are filled.
struct link_reader {
  const gauge_configuration& links;

  coordinate moved(const coordinate& x, int mu, int sign) const { return shifted(x, mu, sign); }
  const su3<double>& operator()(const coordinate& x, int mu) const { return links(x)[mu]; }
};

}  // namespace plaquette::cpu
