// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-cpu/1_textbook.cpp: the formula with loops over all its indices. Gattringer and Lang, eq. (5.51), has it
// with kappa and the diagonal term; here is the sum over hops alone. The Dirac matrices are those of DeGrand and Rossi.
#include "ladder/dirac-cpu/problem.hpp"

namespace ladder::dirac {
namespace {

constexpr number i{0, 1};
const number gamma[4][4][4] = {{{0, 0, 0, i}, {0, 0, i, 0}, {0, -i, 0, 0}, {-i, 0, 0, 0}},  // x
                               {{0, 0, 0, -1}, {0, 0, 1, 0}, {0, 1, 0, 0}, {-1, 0, 0, 0}},  // y
                               {{0, 0, i, 0}, {0, 0, 0, -i}, {-i, 0, 0, 0}, {0, i, 0, 0}},  // z
                               {{0, 0, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}}};   // t

class textbook : public dirac_rung {
 public:
  using dirac_rung::dirac_rung;

  void run() override {
    for (int column = 0; column < p.columns; ++column)
      for (int x = 0; x < p.sites; ++x) {
        number* sum = &out[(static_cast<std::size_t>(column) * p.sites + x) * 12];
        for (int k = 0; k < 12; ++k) sum[k] = 0;
        for (int mu = 0; mu < 4; ++mu)
          for (int sign : {+1, -1}) add_hop(sum, column, x, mu, sign);
      }
  }

 private:
  /// Adds (1 - sign gamma_mu) U in(y), y = x + sign mu; U is U_mu(x) forwards and U_mu(y)^+ backwards.
  void add_hop(number* sum, int column, int x, int mu, int sign) const {
    const int y = p.neighbour(x, mu, sign);
    const number* in = &p.in[(static_cast<std::size_t>(column) * p.sites + y) * 12];
    const number* u = &p.links[(static_cast<std::size_t>(sign > 0 ? x : y) * 4 + mu) * 9];
    number transported[4][3] = {};
    for (int spin = 0; spin < 4; ++spin)
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
          transported[spin][a] += (sign > 0 ? u[3 * a + b] : std::conj(u[3 * b + a])) * in[3 * spin + b];
    for (int spin = 0; spin < 4; ++spin)
      for (int other = 0; other < 4; ++other) {
        const number projector = (spin == other ? 1.0 : 0.0) - double(sign) * gamma[mu][spin][other];
        for (int a = 0; a < 3; ++a) sum[3 * spin + a] += projector * transported[other][a];
      }
  }
};

double columns_of_sites(size s) {
  const problem p(s, 1);
  return double(p.sites) * p.columns;
}
const describe ladder("dirac-cpu", "the hopping term of the Wilson operator, four right-hand sides", "site",
                      columns_of_sites, 1320);
const add<textbook> here("dirac-cpu", 1, "textbook", 0, "the formula, with loops over all indices");

}  // namespace
}  // namespace ladder::dirac
