// SPDX-License-Identifier: BSD-3-Clause
// ladder/multigrid/5_polynomial.cpp: like 4_k_cycle, but relaxes by a fixed polynomial of M. GCR finds another one in
// each call, by inner products. They are nearly the same: so one is fitted, once, to all residuals of a trial solve. It
// takes one product less and no sum over the lattice.
#include "ladder/multigrid/k_cycle.hpp"

namespace ladder::multigrid {
namespace {

class polynomial : public multigrid_rung {
 public:
  polynomial(size s, std::uint64_t seed) : multigrid_rung(s, seed), next_(coarse, blocks->coarse, seed) {
    fine = hops;
    correct = [this](const vector& r) { return blocks->prolonged(next_(blocks->restricted(r))); };
    // Of all calls, sum |r - sum_j c_j M^(j+1) r|^2 / |r|^2 shall be smallest: gram c = right.
    dense::matrix gram{steps, std::vector<vector>(steps, vector(steps))};
    vector right(steps);
    relax = [&](const vector& r) {
      std::vector<vector> powers{fine(r)};
      while (powers.size() < steps) powers.push_back(fine(powers.back()));
      for (std::size_t j = 0; j < steps; ++j) {
        right[j] += dot(powers[j], r) / norm2(r);
        for (std::size_t k = 0; k < steps; ++k) gram.columns[k][j] += dot(powers[j], powers[k]) / norm2(r);
      }
      return relaxed_by_gcr(r);
    };
    run();
    c_ = dense::inverse(gram) * right;
    relax = [this](const vector& r) {  // Horner
      vector y(r.size());
      axpy(y, r, c_.back());
      for (std::size_t j = steps - 1; j-- > 0; ++applied) {
        y = fine(y);
        axpy(y, r, c_[j]);
      }
      return y;
    };
  }

 private:
  k_cycle next_;
  vector c_;
};

const add<polynomial> rung_5("multigrid", 5, "fitted polynomial", 3e-9, "like 4, but a fixed polynomial relaxes");

}  // namespace
}  // namespace ladder::multigrid
