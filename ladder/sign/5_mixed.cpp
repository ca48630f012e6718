// SPDX-License-Identifier: BSD-3-Clause
// ladder/sign/5_mixed.cpp: like 4_deflated, but most steps of the recurrence are in single precision. It begins with
// the highest coefficients, which are tiny: what these add needs few digits. Double takes over where they have grown.
#include "ladder/sign/deflated.hpp"

namespace ladder::sign {
namespace {

using single_vector = solvers::vector<float>;
constexpr double rounding = 6e-8;  ///< of a number in single precision

class mixed : public known_modes_rung {
 public:
  mixed(size s, std::uint64_t seed) : known_modes_rung(s, seed), m_single_(p) {
    // An error of step k is multiplied by at most k + 1 until the end (Chebyshev polynomials of the second kind).
    double error = 0;
    for (change_ = polynomial.degree() + 1; change_ > 0 && error < delta / 10; --change_)
      error += rounding * (change_ + 1) * std::abs(polynomial.coefficients[std::size_t(change_ - 1)]);
  }
  void run() override {
    m.applications = 0;
    vector rest = x[0];
    for (int column = 0; column < p.columns; ++column) {
      std::vector<std::complex<double>> parts;
      rest = x[column];
      for (const auto& [v, sign] : lowest_modes) {
        parts.push_back(dot(v, x[column]));
        for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= parts.back() * v[i];
      }
      apply_polynomial(y[column], rest);
      for (std::size_t k = 0; k < lowest_modes.size(); ++k)
        for (std::size_t i = 0; i < rest.size(); ++i)
          y[column][i] += lowest_modes[k].sign * parts[k] * lowest_modes[k].v[i];
    }
    applied = m.applications;
  }
  std::string remark() const override {
    return known_modes_rung::remark() + ", " + std::to_string(change_) + " steps in double";
  }

 private:
  /// Computes to = sign(H) rest, in two precisions.
  void apply_polynomial(vector& to, const vector& rest) {
    const single_vector b(rest.begin(), rest.end());
    single_vector now(b.size()), before(b.size()), t = b;
    m_single_.applications = 0;
    clenshaw_steps(now, before, b, polynomial, highest, polynomial.degree(), change_,
                   [&](single_vector& out, const single_vector& in) { h_single(t, in), h_single(out, t); });
    m.applications += m_single_.applications;
    vector now_double(now.begin(), now.end()), before_double(before.begin(), before.end()), u = rest;
    clenshaw_steps(now_double, before_double, rest, polynomial, highest, change_ - 1, 0,
                   [&](vector& out, const vector& in) { h(u, in), h(out, u); });
    h(to, now_double);
    for (auto& v : to) v /= highest;
  }
  void h_single(single_vector& out, const single_vector& in) const {
    m_single_.apply(out, in);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (i % 12 >= 6) out[i] = -out[i];
  }

  solvers::wilson<float> m_single_;
  int change_;  ///< the first step in double precision is change_ - 1
};

const add<mixed> here("sign", 5, "mixed", 2e-8, "like 4, but most steps are in single precision");

}  // namespace
}  // namespace ladder::sign
