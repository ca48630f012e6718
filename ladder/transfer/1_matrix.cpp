// SPDX-License-Identifier: BSD-3-Clause
// ladder/transfer/1_matrix.cpp: P as a matrix, with as many rows as the fine lattice has numbers. Nearly all of it is
// zero.
#include "ladder/transfer/problem.hpp"

namespace ladder::transfer {
namespace {

class as_matrix : public transfer_rung {
 public:
  as_matrix(size s, std::uint64_t seed)
      : transfer_rung(s, seed), p_{blocks.fine.size(), std::vector<vector>(d[0].size(), vector(x[0].size()))} {
    for (std::size_t k = 0; k < p_.columns.size(); ++k)
      for (int row = 0; row < blocks.rows; ++row) p_.columns[k][blocks.place(k, row)] = blocks.column(k)[row];
  }

  void run() override {
    for (std::size_t column = 0; column < columns; ++column) {
      c[column] = p_.adjoint_times(x[column]);
      y[column] = p_ * d[column];
    }
  }

 private:
  dense::matrix p_;
};

double sites_of_run(size s) { return double(grid{extents_of(s), 12}.sites()) * columns; }
const describe ladder("transfer", "P^+ x and P d, between a lattice and its aggregates of 2^4 sites, 8 vectors", "site",
                      sites_of_run, 2 * 12 * 8 * 8);
const add<as_matrix> rung_1("transfer", 1, "matrix", 0, "P as a dense matrix");

}  // namespace
}  // namespace ladder::transfer
