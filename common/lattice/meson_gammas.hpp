// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The spin matrices of mesons.
#pragma once

#include "common/algebra/gamma.hpp"

namespace plaquette {

/// The spin matrices of a meson: its correlator is tr [ sink S source gamma_5 S^+ gamma_5 ]. DeGrand-Rossi basis, with
/// one entry in each row and column, as products of gamma matrices are.
struct meson_gammas {
  meson_gammas(const spin_matrix& at_both) : sink(at_both), source(at_both) {}
  meson_gammas(const spin_matrix& at_sink, const spin_matrix& at_source) : sink(at_sink), source(at_source) {}

  spin_matrix sink, source;
};

}  // namespace plaquette
