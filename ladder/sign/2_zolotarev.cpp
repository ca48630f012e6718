// SPDX-License-Identifier: BSD-3-Clause
// ladder/sign/2_zolotarev.cpp: like 1_diagonalised, but approximates: sign(H) x = H sum_l w_l (H^2 + s_l)^-1 x, by the
// best rational function on the spectrum (Zolotarev; van den Eshof et al., hep-lat/0202025). Its poles and weights come
// from the library. All shifted systems share one Krylov space, so that multi-shift conjugate gradients solve them
// together.
#include "common/approximation/zolotarev.hpp"
#include "ladder/sign/problem.hpp"

namespace ladder::sign {
namespace {

/// A shifted system whose residual is this much shorter than that of the smallest shift is solved.
constexpr double done = 1e-20;

class zolotarev : public sign_rung {
 public:
  zolotarev(size s, std::uint64_t seed)
      : sign_rung(s, seed), function_(plaquette::zolotarev_of_error(delta, lowest, highest)) {}

  void run() override {
    m.applications = 0;
    for (int column = 0; column < p.columns; ++column) apply(y[column], x[column]);
    applied = m.applications;
  }
  std::string remark() const override {
    return sign_rung::remark() + ", " + std::to_string(function_.poles()) + " poles";
  }

 private:
  /// Runs conjugate gradients for the smallest shift s_0. Its residuals r are those of shift s_l up to a factor zeta_l.
  /// (B. Jegerlehner, hep-lat/9612014)
  void apply(vector& to, const vector& b) const {
    const auto& s = function_.shifts;
    const std::size_t n = s.size();
    vector r = b, q = b, hq = b, aq = b, sum(b.size());
    std::vector<vector> directions(n, b), solutions(n, vector(b.size()));
    std::vector<double> zeta(n, 1), zeta_old(n, 1);
    double rr = norm2(r), alpha_old = 1, beta_old = 0;
    const double small = 1e-2 * delta * delta * rr;
    for (int k = 0; k < 2000 && !(rr <= small); ++k) {
      h(hq, q), h(aq, hq);
      for (std::size_t i = 0; i < q.size(); ++i) aq[i] += s[0] * q[i];
      const double alpha = rr / dot(q, aq).real();
      std::vector<double> steps(n), zeta_new(n);
      for (std::size_t l = 0; l < n; ++l) {
        zeta_new[l] = zeta[l];
        if (std::abs(zeta[l]) < done) continue;  // and steps[l] is 0
        const double before = zeta_old[l] * alpha_old;
        zeta_new[l] =
            zeta[l] * before / (alpha * beta_old * (zeta_old[l] - zeta[l]) + before * (1 + alpha * (s[l] - s[0])));
        steps[l] = alpha * zeta_new[l] / zeta[l];
        for (std::size_t i = 0; i < b.size(); ++i) solutions[l][i] += steps[l] * directions[l][i];
      }
      for (std::size_t i = 0; i < r.size(); ++i) r[i] -= alpha * aq[i];
      const double rr_new = norm2(r), beta = rr_new / rr;
      for (std::size_t i = 0; i < r.size(); ++i) q[i] = r[i] + beta * q[i];
      for (std::size_t l = 0; l < n; ++l) {
        if (std::abs(zeta[l]) < done) continue;
        const double own = beta * zeta_new[l] * steps[l] / (zeta[l] * alpha);
        for (std::size_t i = 0; i < r.size(); ++i) directions[l][i] = zeta_new[l] * r[i] + own * directions[l][i];
      }
      zeta_old = zeta, zeta = zeta_new, rr = rr_new, alpha_old = alpha, beta_old = beta;
    }
    for (std::size_t l = 0; l < n; ++l)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += function_.weights[l] * solutions[l][i];
    h(to, sum);
  }

  plaquette::zolotarev_function function_;
};

const add<zolotarev> here("sign", 2, "Zolotarev", 2e-8, "like 1, but by a rational function of H^2");

}  // namespace
}  // namespace ladder::sign
