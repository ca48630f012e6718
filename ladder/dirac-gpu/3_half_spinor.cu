// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-gpu/3_half_spinor.cu: like 2_site_order, but projects before it multiplies: two products of a link with
// a colour vector a hop, not four. A link and a spinor are in registers once.
#include "ladder/dirac-gpu/problem.hpp"

namespace ladder::dirac_gpu {
namespace {

struct half_spinor_body {
  lattice l;
  const complex<double>*links, *in;  // [mu][row][column][site], [column][spin][colour][site]
  complex<double>* out;

  LADDER_BOTH void operator()(int index) const {
    const int site = index % l.sites, column = index / l.sites;
    spinor<double> sum{};
    dirac::for_each_hop([&]<int mu, int sign>() {
      const int y = l.neighbour(site, mu, sign), at = sign > 0 ? site : y;
      link<double> u;
      spinor<double> psi;
      for (int k = 0; k < 9; ++k) u[k / 3][k % 3] = links[(mu * 9 + k) * l.sites + at];
      for (int k = 0; k < 12; ++k) psi[k / 3][k % 3] = in[(column * 12 + k) * l.sites + y];
      dirac::add_hop<mu, sign>(sum, u, psi);  // projects, multiplies two colour vectors, makes four of them
    });
    for (int k = 0; k < 12; ++k) out[(column * 12 + k) * l.sites + site] = sum[k / 3][k % 3];
  }
};

class projected_hops : public site_order_rung<double> {
 public:
  projected_hops(size s, std::uint64_t seed)
      : site_order_rung(s, seed),
        links_(by_number<double>(p.links, p.sites, 36)),
        in_(by_number<double>(p.in, p.sites, 12)) {}
  double bytes() const override { return links_.bytes() + in_.bytes() + result_.bytes(); }
  void run() override {
    for_each_index(p.sites * columns, half_spinor_body{order, links_.data(), in_.data(), result_.data()});
  }

 private:
  device_array<complex<double>> links_, in_;
};

const add<projected_hops> rung_3("dirac-gpu", 3, "half spinors", 4e-15, "like 2, but projects before it multiplies");

}  // namespace
}  // namespace ladder::dirac_gpu
