// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-gpu/4_single.cu: like 3_half_spinor, but in single precision: half of the bytes, and half of the
// registers. The result has seven digits.
#include "ladder/dirac-gpu/problem.hpp"

namespace ladder::dirac_gpu {
namespace {

struct single_body {
  lattice l;
  const complex<float>*links, *in;  // [mu][row][column][site], [column][spin][colour][site]
  complex<float>* out;

  LADDER_BOTH void operator()(int index) const {
    const int site = index % l.sites, column = index / l.sites;
    spinor<float> sum{};
    dirac::for_each_hop([&]<int mu, int sign>() {
      const int y = l.neighbour(site, mu, sign), at = sign > 0 ? site : y;
      link<float> u;
      spinor<float> psi;
      for (int k = 0; k < 9; ++k) u[k / 3][k % 3] = links[(mu * 9 + k) * l.sites + at];
      for (int k = 0; k < 12; ++k) psi[k / 3][k % 3] = in[(column * 12 + k) * l.sites + y];
      dirac::add_hop<mu, sign>(sum, u, psi);
    });
    for (int k = 0; k < 12; ++k) out[(column * 12 + k) * l.sites + site] = sum[k / 3][k % 3];
  }
};

class single_precision : public site_order_rung<float> {
 public:
  single_precision(size s, std::uint64_t seed)
      : site_order_rung(s, seed),
        links_(by_number<float>(p.links, p.sites, 36)),  // rounds each number once
        in_(by_number<float>(p.in, p.sites, 12)) {}
  double bytes() const override { return links_.bytes() + in_.bytes() + result_.bytes(); }
  void run() override {
    for_each_index(p.sites * columns, single_body{order, links_.data(), in_.data(), result_.data()});
  }

 private:
  device_array<complex<float>> links_, in_;
};

const add<single_precision> rung_4("dirac-gpu", 4, "single precision", 1e-6, "like 3, but in single precision");

}  // namespace
}  // namespace ladder::dirac_gpu
