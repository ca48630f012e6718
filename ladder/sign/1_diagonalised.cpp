// SPDX-License-Identifier: BSD-3-Clause
// ladder/sign/1_diagonalised.cpp: the definition. H = V diag(lambda) V^+, so sign(H) = V diag(sign lambda) V^+. All of
// its eigenvectors are needed: the cost grows with the cube of the volume. Here it is the oracle.
#include "ladder/sign/problem.hpp"

namespace ladder::sign {
namespace {

class diagonalised : public sign_rung {
 public:
  using sign_rung::sign_rung;

  void run() override {
    m.applications = 0;
    const spectrum all = eigenvectors();
    for (int column = 0; column < p.columns; ++column) {
      std::fill(y[column].begin(), y[column].end(), 0);
      for (std::size_t k = 0; k < all.values.size(); ++k) {
        const auto part = dot(all.vectors[k], x[column]) * (all.values[k] > 0 ? 1.0 : -1.0);
        for (std::size_t i = 0; i < x[column].size(); ++i) y[column][i] += part * all.vectors[k][i];
      }
    }
    applied = m.applications;
  }
};

double columns_of_run(size) { return dirac::problem::columns; }
const describe ladder("sign", "sign(H) x for the Hermitian Wilson operator H, four vectors x", "vector", columns_of_run,
                      0);
const add<diagonalised> here("sign", 1, "diagonalised", 0, "all eigenvectors, and the signs of their eigenvalues");

}  // namespace
}  // namespace ladder::sign
