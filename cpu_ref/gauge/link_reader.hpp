// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links of the canonical field as common/gauge reads them.
#pragma once

#include "common/lattice/site_field.hpp"

namespace plaquette::cpu {

/// Reads links, or other matrices of a site, whose ghosts are filled.
template <class Field>
struct link_reader {
  const Field& links;

  coordinate moved(const coordinate& x, int mu, int sign) const { return shifted(x, mu, sign); }
  const su3<double>& operator()(const coordinate& x, int which) const { return links(x)[which]; }
};

template <class Field>
link_reader(const Field&) -> link_reader<Field>;

}  // namespace plaquette::cpu
