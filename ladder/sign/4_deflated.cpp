// SPDX-License-Identifier: BSD-3-Clause
// ladder/sign/4_deflated.cpp: like 3_clenshaw, but knows the lowest modes of H. Along them the sign is exact. The
// polynomial serves the rest, whose spectrum begins higher: its degree falls in the same proportion. Finding modes is
// not timed: it is done once a configuration, for many vectors.
#include "ladder/sign/deflated.hpp"

namespace ladder::sign {
namespace {

class deflated : public known_modes_rung {
 public:
  using known_modes_rung::known_modes_rung;

  void run() override {
    m.applications = 0;
    vector t = x[0], rest = x[0];
    const auto apply_h = [&](vector& out, const vector& in) { h(out, in); };
    const auto square = [&](vector& out, const vector& in) { h(t, in), h(out, t); };
    for (int column = 0; column < p.columns; ++column) {
      // x = sum_k v_k (v_k, x) + rest, so that sign(H) x = sum_k sign(lambda_k) v_k (v_k, x) + sign(H) rest
      std::vector<std::complex<double>> parts;
      rest = x[column];
      for (const auto& [v, sign] : lowest_modes) {
        parts.push_back(dot(v, x[column]));
        for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= parts.back() * v[i];
      }
      polynomial_of(y[column], rest, polynomial, highest, apply_h, square);
      for (std::size_t k = 0; k < lowest_modes.size(); ++k)
        for (std::size_t i = 0; i < rest.size(); ++i)
          y[column][i] += lowest_modes[k].sign * parts[k] * lowest_modes[k].v[i];
    }
    applied = m.applications;
  }
};

const add<deflated> here("sign", 4, "deflated", 2e-8, "like 3, but exact on the lowest modes");

}  // namespace
}  // namespace ladder::sign
