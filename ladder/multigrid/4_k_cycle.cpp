// SPDX-License-Identifier: BSD-3-Clause
// ladder/multigrid/4_k_cycle.cpp: like 3_hops, but with a third grid. A few steps of GCR around its cycle stand for the
// inverse of P^+ M P. The cost of an inverse grows with the cube of the volume. (Notay, Vassilevski 2008)
#include "ladder/multigrid/k_cycle.hpp"

namespace ladder::multigrid {
namespace {

class three_grids : public multigrid_rung {
 public:
  three_grids(size s, std::uint64_t seed) : multigrid_rung(s, seed), next_(coarse, blocks->coarse, seed) {
    fine = hops;
    relax = [this](const vector& r) { return relaxed_by_gcr(r); };
    correct = [this](const vector& r) { return blocks->prolonged(next_(blocks->restricted(r))); };
  }

 private:
  k_cycle next_;
};

const add<three_grids> rung_4("multigrid", 4, "K-cycle", 3e-9, "like 3, but a third grid in place of the inverse");

}  // namespace
}  // namespace ladder::multigrid
