// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Modes of the overlap operator D as values: eigenvectors of D^+ D in both chiralities, whatever type holds vectors.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/algebra/complex.hpp"

namespace plaquette {

/// Orthonormal eigenvectors of D^+ D in one chirality, fields of 2 spins; e = eigenvalues[i] ascending. To each e there
/// are two eigenvalues of D, e/2 +- i sqrt(e - e^2/4); to e = 0 one.
template <class Field>
struct chiral_modes {
  Field vectors;
  std::vector<double> eigenvalues{};  ///< e
  std::vector<double> residuals{};    ///< |D^+ D v - e v|
};

/// The modes of both chiralities: zero modes first, then pairs.
template <class Field>
struct overlap_mode_set {
  chiral_modes<Field> plus, minus;
  int zero_plus = 0, zero_minus = 0;
  int searched = +1;  ///< the chirality that was searched
  int cycles = 0;
  int restarts = 0;  ///< searches that began again, since modes came late
  int late = 0;      ///< copies of degenerate modes that the search had missed
  bool complete = true;

  chiral_modes<Field>& of(int chirality) { return chirality > 0 ? plus : minus; }
  const chiral_modes<Field>& of(int chirality) const { return chirality > 0 ? plus : minus; }
  /// Returns n+ - n-, the zero modes of gamma_5 = +1 minus those of -1.
  int index() const { return zero_plus - zero_minus; }
};

/// The eigenvalues of D: zeros, then pairs e/2 +- i sqrt(e - e^2/4) of the chirality that has more.
template <class Field>
std::vector<complex<double>> overlap_eigenvalues(const overlap_mode_set<Field>& modes) {
  std::vector<complex<double>> values(static_cast<std::size_t>(modes.zero_plus + modes.zero_minus));
  const bool plus = modes.plus.eigenvalues.size() >= modes.minus.eigenvalues.size();
  const auto& eigenvalues = plus ? modes.plus.eigenvalues : modes.minus.eigenvalues;
  for (std::size_t i = static_cast<std::size_t>(plus ? modes.zero_plus : modes.zero_minus); i < eigenvalues.size();
       ++i) {
    const double e = eigenvalues[i], s = std::sqrt(std::max(0.0, e - 0.25 * e * e));
    values.push_back({0.5 * e, s});
    values.push_back({0.5 * e, -s});
  }
  return values;
}

}  // namespace plaquette
