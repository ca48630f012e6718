// SPDX-License-Identifier: BSD-3-Clause
// ladder/coarse-cpu/1_product.cpp: the definition, P^+ (M (P in)), with P as a dense matrix. Each product visits the
// fine lattice.
#include "ladder/coarse-cpu/problem.hpp"

namespace ladder::coarse {
namespace {

class product : public coarse_rung {
 public:
  product(size s, std::uint64_t seed)
      : coarse_rung(s, seed),
        p_(dense::matrix_of([&](const vector& c) { return blocks.prolonged(c); }, blocks.coarse.size())) {}

  void run() override {
    for (std::size_t column = 0; column < columns; ++column) {
      const vector fine = p_ * in[column];
      vector image = fine;
      m.apply(image, fine);
      out[column] = p_.adjoint_times(image);
    }
  }

 private:
  dense::matrix p_;
};

double sites_of_run(size s) { return double(transfer::grid{transfer::extents_of(s), 12}.sites()) / 16 * columns; }
const describe ladder("coarse-cpu", "P^+ M P, the operator of a coarse lattice with 16 numbers a site", "coarse site",
                      sites_of_run, 8.0 * (1 + hops) * n * n);
const add<product> rung_1("coarse-cpu", 1, "P^+ M P", 0, "prolong, multiply, restrict");

}  // namespace
}  // namespace ladder::coarse
