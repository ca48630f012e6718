// SPDX-License-Identifier: BSD-3-Clause
// ladder/sign/5_mixed.cpp: like 4_deflated, but most steps of the recurrence are in single precision. It begins with
// the highest coefficients, which are tiny: what these add needs few digits. Double takes over where they have grown.
#include "ladder/sign/deflated.hpp"

namespace ladder::sign {
namespace {

using single_vector = solvers::vector<float>;
constexpr double rounding = 6e-8;  ///< of a number in single precision

class mixed : public deflated_rung {
 public:
  mixed(size s, std::uint64_t seed) : deflated_rung(s, seed), m_single_(p) {
    // An error of step k is multiplied by at most k + 1 until the end (Chebyshev polynomials of the second kind).
    double error = 0;
    for (change_ = polynomial_.degree() + 1; change_ > 0 && error < delta / 10; --change_)
      error += rounding * (change_ + 1) * std::abs(polynomial_.coefficients[std::size_t(change_ - 1)]);
  }
  std::string remark() const override {
    return deflated_rung::remark() + ", " + std::to_string(change_) + " steps in double";
  }

 private:
  void apply_polynomial(vector& to, const vector& rest) override {
    const single_vector b(rest.begin(), rest.end());
    single_vector now(b.size()), before(b.size()), t = b;
    m_single_.applications = 0;
    clenshaw_steps(now, before, b, polynomial_, highest, polynomial_.degree(), change_,
                   [&](single_vector& out, const single_vector& in) { h_single(t, in), h_single(out, t); });
    m.applications += m_single_.applications;
    vector now_double(now.begin(), now.end()), before_double(before.begin(), before.end()), u = rest;
    clenshaw_steps(now_double, before_double, rest, polynomial_, highest, change_ - 1, 0,
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
