// SPDX-License-Identifier: BSD-3-Clause
// ladder/multigrid/2_gcr.cpp: like 1_two_grids, but a few steps of GCR relax: each takes the step that leaves least of
// the residual. No factor has to be chosen.
#include "ladder/multigrid/problem.hpp"

namespace ladder::multigrid {
namespace {

class relaxed : public multigrid_rung {
 public:
  relaxed(size s, std::uint64_t seed)
      : multigrid_rung(s, seed),
        m_(dense::matrix_of(hops, b.size())),
        p_(dense::matrix_of([&](const vector& c) { return blocks->prolonged(c); }, coarse.rows)),
        inverse_(dense::inverse(coarse)) {
    fine = [this](const vector& v) { return m_ * v; };
    relax = [this](const vector& r) { return relaxed_by_gcr(r); };
    correct = [this](const vector& r) { return p_ * (inverse_ * p_.adjoint_times(r)); };
  }

 private:
  dense::matrix m_, p_, inverse_;
};

const add<relaxed> rung_2("multigrid", 2, "relaxed by GCR", 3e-9, "like 1, but GCR relaxes");

}  // namespace
}  // namespace ladder::multigrid
