// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The lowest modes of gamma_5 M by solves, and the lowest combinations of given vectors. The closed form is the free
/// quark's: |gamma_5 M| of momentum p is sqrt((m + sum (1 - cos p))^2 + sum sin^2 p).
#include <gtest/gtest.h>

#include "common/eigen/inverse_modes.hpp"
#include "common/krylov/bicgstab.hpp"
#include "cpu_ref/blas/basis.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"

namespace plaquette::validation {
namespace {

using quarks = cpu::field<double>;

gauge_configuration free_links(const cpu::context& ctx) {
  gauge_configuration links = cpu::unit_configuration(ctx.geometry());
  exchange_ghosts(links, ctx.comm());
  return links;
}

class LowModes : public testing::Test {
 protected:
  static constexpr double mass = 0.05;
  /// The lowest momentum is (0, 0, 0, +-pi / 4): 24 modes of one |eigenvalue|, half of them of either sign.
  const double lowest = std::hypot(mass + 1.0 - std::cos(0.25 * pi), std::sin(0.25 * pi));
  static constexpr double pi = 3.14159265358979323846;

  cpu::context ctx{lattice_geometry({4, 4, 4, 4}), communicator()};
  cpu::wilson_clover<double> m{ctx, free_links(ctx), fermion_action::isotropic(mass, 0.0)};
  struct hermitian {
    const cpu::wilson_clover<double>& m;
    void apply(quarks& out, const quarks& in) const {
      m.apply(out, in);
      gamma5(out, out);
    }
  } h{m};
  std::uint64_t drawn = 0;
  random_fill<quarks> fill = [this](quarks& v) {
    for (int c = 0; c < v.columns(); ++c)
      import_column(v, c, cpu::random_spinor(ctx.geometry(), 7, drawn++, ctx.comm()));
  };
  quarks random_fine_field(int columns) {
    quarks v(ctx, field_shape{.columns = columns});
    fill(v);
    return v;
  }
  void invert(quarks& x, const quarks& b, double tolerance) const {
    quarks rotated = like(b);
    gamma5(rotated, b);
    zero(x);
    stopping_rule rule;
    rule.tolerance = tolerance;
    rule.guess_is_zero = true;
    bicgstab(m, x, rotated, rule);
  }
};

TEST_F(LowModes, BySolvesMeetTheFreeQuark) {
  quarks start = random_fine_field(4);
  const auto inverse = [&](quarks& x, const quarks& b) { invert(x, b, 1e-8); };
  const auto found = modes_by_inverse(h, inverse, start, 12, 4, fill);
  // Of 12 steps the next level, 1.6 times as high, is left with 1.6^-24 in |eigenvalue|^2, times its 72 modes.
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_TRUE(std::abs(std::hypot(found.values[k], found.residuals[k]) - lowest) <= 1e-3 * lowest)
        << found.values[k] << " " << found.residuals[k] << " " << lowest;
    EXPECT_TRUE(std::abs(host_values(norm2(view(found.vectors, static_cast<int>(k), 1)))[0].re - 1.0) <= 1e-12);
  }
}

TEST_F(LowModes, OfASpanAreFoundThoughItsVectorsDependOnEachOther) {
  quarks good = random_fine_field(3);
  for (int step = 0; step < 20; ++step) {
    quarks next = like(good);
    invert(next, good, 1e-6);
    copy(good, next);
    orthonormalise(good, fill);
  }
  // Random vectors hide the good ones: v_k = good_k + 10 noise_k, noise of norm 1, and one vector twice.
  quarks v = random_fine_field(7);
  scale(v, uniform_scalars(v, 1.0 / std::sqrt(24.0 * 256.0)));
  copy_columns(v, std::vector<int>{6}, v, std::vector<int>{3});
  quarks noisy = view(v, 0, 3), noise = view(v, 3, 3);
  copy(noisy, good);
  axpy(noisy, uniform_scalars(noisy, 10.0), noise);
  const quarks best = lowest_in_span(h, v, 3);
  ASSERT_EQ(best.columns(), 3);
  quarks hv = like(best);
  h.apply(hv, best);
  const auto gains = host_values(norm2(hv)), sizes = host_values(norm2(best));
  // The Gram matrix of vectors of norm 10 has rounding that such a combination multiplies by 100.
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_TRUE(std::abs(sizes[k].re - 1.0) <= 1e-6) << sizes[k].re;
    EXPECT_TRUE(std::abs(std::sqrt(gains[k].re) - lowest) <= 1e-3 * lowest) << std::sqrt(gains[k].re);
  }
}

TEST_F(LowModes, RefuseMoreThanTheirSpaceHolds) {
  quarks start = random_fine_field(2);
  const auto inverse = [&](quarks& x, const quarks& b) { copy(x, b); };
  EXPECT_THROW(modes_by_inverse(h, inverse, start, 1, 5, fill), input_error);
}

}  // namespace
}  // namespace plaquette::validation
