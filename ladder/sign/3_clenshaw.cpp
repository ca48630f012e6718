// SPDX-License-Identifier: BSD-3-Clause
// ladder/sign/3_clenshaw.cpp: like 2_zolotarev, but by a polynomial of H^2. It takes more products with H, but three
// vectors in place of two a pole, and no sums over the lattice: nothing waits for a reduction.
#include "ladder/sign/clenshaw.hpp"

namespace ladder::sign {
namespace {

class clenshaw : public sign_rung {
 public:
  clenshaw(size s, std::uint64_t seed)
      : sign_rung(s, seed), polynomial_(plaquette::minimax_of_error(delta, lowest * lowest / (highest * highest))) {}

  void run() override {
    m.applications = 0;
    vector t = x[0];
    const auto apply_h = [&](vector& out, const vector& in) { h(out, in); };
    const auto square = [&](vector& out, const vector& in) { h(t, in), h(out, t); };
    for (int column = 0; column < p.columns; ++column)
      polynomial_of(y[column], x[column], polynomial_, highest, apply_h, square);
    applied = m.applications;
  }
  std::string remark() const override {
    return sign_rung::remark() + ", degree " + std::to_string(polynomial_.degree());
  }

 private:
  plaquette::minimax_polynomial polynomial_;
};

const add<clenshaw> here("sign", 3, "Clenshaw", 2e-8, "like 2, but by a polynomial of H^2");

}  // namespace
}  // namespace ladder::sign
