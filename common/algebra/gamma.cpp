// SPDX-License-Identifier: BSD-3-Clause
#include "common/algebra/gamma.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "common/error.hpp"

namespace plaquette {

spin_matrix basis_rotation(gamma_basis to) {
  constexpr complex<double> one{1.0, 0.0};
  switch (to) {
    case gamma_basis::degrand_rossi:
      return spin_matrix::identity();
    case gamma_basis::nonrelativistic: {
      // (1/sqrt 2) [[e, e], [e, -e]], e = i sigma_2
      const complex<double> h{1.0 / std::sqrt(2.0), 0.0};
      spin_matrix s;
      s(0, 1) = h, s(0, 3) = h, s(1, 0) = -h, s(1, 2) = -h;
      s(2, 1) = h, s(2, 3) = -h, s(3, 0) = -h, s(3, 2) = h;
      return s;
    }
    case gamma_basis::dirac_pauli: {
      // gamma_t of the nonrelativistic basis, diag(1, 1, -1, -1), turns the sign of its gamma_k
      spin_matrix s = basis_rotation(gamma_basis::nonrelativistic);
      for (int a = 2; a < spins; ++a)
        for (int b = 0; b < spins; ++b) s(a, b) = -s(a, b);
      return s;
    }
    case gamma_basis::openqcd:
      return gamma_matrix(1);
    case gamma_basis::tmlqcd: {
      // The two orderings of the chiralities are opposite: R = [[0, e], [-e, 0]], e = i sigma_2.
      spin_matrix r;
      r(0, 3) = one, r(1, 2) = -one, r(2, 1) = -one, r(3, 0) = one;
      return r;
    }
  }
  throw std::logic_error("basis_rotation: no such basis");
}

gamma_basis parse_gamma_basis(std::string_view name) {
  if (name == "degrand-rossi") return gamma_basis::degrand_rossi;
  if (name == "nonrelativistic") return gamma_basis::nonrelativistic;
  if (name == "dirac-pauli") return gamma_basis::dirac_pauli;
  if (name == "openqcd") return gamma_basis::openqcd;
  if (name == "tmlqcd") return gamma_basis::tmlqcd;
  throw input_error("gamma basis: expected degrand-rossi, nonrelativistic, dirac-pauli, openqcd or tmlqcd, found '" +
                    std::string(name) + "'");
}

}  // namespace plaquette
