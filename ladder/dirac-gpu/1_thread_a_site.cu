// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-gpu/1_thread_a_site.cu: the formula of rung 1 of dirac-cpu, on the same plain arrays, but a thread for
// each site and column. Threads of a warp read numbers that lie 192 bytes apart.
#include "ladder/dirac-gpu/problem.hpp"

namespace ladder::dirac_gpu {
namespace {

struct textbook_body {
  lattice l;
  const complex<double>*links, *in;  // [site][mu][row][column], [column][site][spin][colour]
  complex<double>* out;

  LADDER_BOTH void operator()(int index) const {
    const int site = index % l.sites, first = index - site;
    complex<double> sum[12]{};
    for (int mu = 0; mu < 4; ++mu)
      for (int sign = 1; sign >= -1; sign -= 2) {
        const int y = l.neighbour(site, mu, sign);
        add_hop(sum, links + (4 * (sign > 0 ? site : y) + mu) * 9, in + (first + y) * 12, mu, sign);
      }
    for (int k = 0; k < 12; ++k) out[index * 12 + k] = sum[k];
  }

 private:
  /// Adds (1 - sign gamma_mu) U psi; U^+ backwards.
  LADDER_BOTH static void add_hop(complex<double>* sum, const complex<double>* u, const complex<double>* psi, int mu,
                                  int sign) {
    // gamma_mu of DeGrand and Rossi has one number in each row: i^power in this column.
    const int column_of[4][4] = {{3, 2, 1, 0}, {3, 2, 1, 0}, {2, 3, 0, 1}, {2, 3, 0, 1}};
    const int power_of[4][4] = {{1, 1, 3, 3}, {2, 0, 0, 2}, {1, 3, 3, 1}, {0, 0, 0, 0}};
    complex<double> moved[12]{};
    for (int spin = 0; spin < 4; ++spin)
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
          if (sign > 0)
            add_product(moved[spin * 3 + a], u[a * 3 + b], psi[spin * 3 + b]);
          else
            add_conjugate_product(moved[spin * 3 + a], u[b * 3 + a], psi[spin * 3 + b]);
    for (int spin = 0; spin < 4; ++spin)
      for (int a = 0; a < 3; ++a) {
        const int power = power_of[mu][spin];
        const double s = (power < 2 ? 1 : -1) * sign;
        const complex<double>&own = moved[spin * 3 + a], &other = moved[column_of[mu][spin] * 3 + a];
        sum[spin * 3 + a].re += own.re - s * (power % 2 == 0 ? other.re : -other.im);
        sum[spin * 3 + a].im += own.im - s * (power % 2 == 0 ? other.im : other.re);
      }
  }
};

class thread_a_site : public gpu_rung {
 public:
  thread_a_site(size s, std::uint64_t seed)
      : gpu_rung(s, seed), links_(plain(p.links)), in_(plain(p.in)), result_(plain(p.in)) {}
  void run() override {
    for_each_index(p.sites * columns, textbook_body{lattice(p), links_.data(), in_.data(), result_.data()});
  }
  double bytes() const override { return links_.bytes() + in_.bytes() + result_.bytes(); }
  std::vector<double> result() const override {
    std::vector<double> to;
    for (const complex<double>& z : result_.numbers()) to.insert(to.end(), {z.re, z.im});
    return to;
  }

 private:
  static std::vector<complex<double>> plain(const std::vector<number>& from) {
    std::vector<complex<double>> to;
    for (const number& z : from) to.push_back({z.real(), z.imag()});
    return to;
  }
  device_array<complex<double>> links_, in_, result_;
};

double sites_of_run(size s) {
  const auto e = extents_of(s);
  return double(e[0] * e[1] * e[2] * e[3]) * columns;
}
const describe ladder("dirac-gpu", "hopping term D on random links, four columns, on a GPU", "site", sites_of_run,
                      1320);
const add<thread_a_site> rung_1("dirac-gpu", 1, "a thread a site", 0, "the formula on plain arrays");

}  // namespace
}  // namespace ladder::dirac_gpu
