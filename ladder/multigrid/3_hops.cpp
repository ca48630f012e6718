// SPDX-License-Identifier: BSD-3-Clause
// ladder/multigrid/3_hops.cpp: like 2_gcr, but M works hop by hop and P aggregate by aggregate: the zeros of both
// matrices are gone. The inverse of P^+ M P is still a dense matrix.
#include "ladder/multigrid/problem.hpp"

namespace ladder::multigrid {
namespace {

class by_hops : public multigrid_rung {
 public:
  by_hops(size s, std::uint64_t seed) : multigrid_rung(s, seed), inverse_(dense::inverse(coarse)) {
    fine = hops;
    relax = [this](const vector& r) { return relaxed_by_gcr(r); };
    correct = [this](const vector& r) { return blocks->prolonged(inverse_ * blocks->restricted(r)); };
  }

 private:
  dense::matrix inverse_;
};

const add<by_hops> rung_3("multigrid", 3, "hops and aggregates", 3e-9, "like 2, but without the zeros of M and P");

}  // namespace
}  // namespace ladder::multigrid
