// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-gpu/2_site_order.cu: like 1_thread_a_site, but number k of all sites lies together: a warp reads 32
// numbers that follow each other. The formula is the same.
#include "ladder/dirac-gpu/problem.hpp"

namespace ladder::dirac_gpu {
namespace {

struct site_order_body {
  lattice l;
  const complex<double>*links, *in;  // [number][site], [column][number][site]
  complex<double>* out;

  LADDER_BOTH void operator()(int index) const {
    const int site = index % l.sites, column = index / l.sites;
    const int column_of[4][4] = {{3, 2, 1, 0}, {3, 2, 1, 0}, {2, 3, 0, 1}, {2, 3, 0, 1}};  // as on rung 1
    const int power_of[4][4] = {{1, 1, 3, 3}, {2, 0, 0, 2}, {1, 3, 3, 1}, {0, 0, 0, 0}};
    complex<double> sum[12]{};
    for (int mu = 0; mu < 4; ++mu)
      for (int sign = 1; sign >= -1; sign -= 2) {
        const int y = l.neighbour(site, mu, sign), at = sign > 0 ? site : y;
        complex<double> moved[12]{};
        for (int spin = 0; spin < 4; ++spin)
          for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b) {
              const complex<double>& psi = in[(column * 12 + spin * 3 + b) * l.sites + y];
              if (sign > 0)
                add_product(moved[spin * 3 + a], links[(mu * 9 + a * 3 + b) * l.sites + at], psi);
              else
                add_conjugate_product(moved[spin * 3 + a], links[(mu * 9 + b * 3 + a) * l.sites + at], psi);
            }
        for (int spin = 0; spin < 4; ++spin)
          for (int a = 0; a < 3; ++a) {
            const int power = power_of[mu][spin];
            const double s = (power < 2 ? 1 : -1) * sign;
            const complex<double>&own = moved[spin * 3 + a], &other = moved[column_of[mu][spin] * 3 + a];
            sum[spin * 3 + a].re += own.re - s * (power % 2 == 0 ? other.re : -other.im);
            sum[spin * 3 + a].im += own.im - s * (power % 2 == 0 ? other.im : other.re);
          }
      }
    for (int k = 0; k < 12; ++k) out[(column * 12 + k) * l.sites + site] = sum[k];
  }
};

class site_order : public site_order_rung<double> {
 public:
  site_order(size s, std::uint64_t seed)
      : site_order_rung(s, seed),
        links_(by_number<double>(p.links, p.sites, 36)),
        in_(by_number<double>(p.in, p.sites, 12)) {}
  double bytes() const override { return links_.bytes() + in_.bytes() + result_.bytes(); }
  void run() override {
    for_each_index(p.sites * columns, site_order_body{order, links_.data(), in_.data(), result_.data()});
  }

 private:
  device_array<complex<double>> links_, in_;
};

const add<site_order> rung_2("dirac-gpu", 2, "site order", 4e-15, "like 1, but a number of all sites lies together");

}  // namespace
}  // namespace ladder::dirac_gpu
