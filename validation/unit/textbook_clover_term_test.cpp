// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The packed clover term against the textbook's, and its inverse.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "common/error.hpp"
#include "cpu_ref/dirac/clover_term.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "validation/support/actions.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

spinor<double> product(const cpu::clover_block& block, const spinor<double>& psi) {
  spinor<double> result;
  for (int s = 0; s < spins; ++s)
    for (int c = 0; c < colours; ++c)
      for (int column = 0; column < cpu::chiral_rows; ++column)
        result(s, c) +=
            block.chirality[s / 2]((s % 2) * colours + c, column) * psi(s / 2 * 2 + column / colours, column % colours);
  return result;
}

class clover_term : public testing::TestWithParam<named_action> {};

TEST_P(clover_term, is_the_one_of_the_textbook) {
  for (const extents& lattice : {extents{4, 6, 2, 8}, extents{2, 2, 2, 2}})
    for (std::uint64_t seed : {1, 2, 3}) {
      const gauge_configuration links = random_links(lattice, seed);
      const cpu::clover_configuration term = cpu::make_clover_term(links, GetParam().action);
      const spinor_configuration psi = random_spinor(lattice, seed + 10);
      visit_sites(links.geometry(), [&](const coordinate& x) {
        const spinor<double> expected = cpu::textbook::clover_at_site(x, psi, links, GetParam().action);
        const spinor<double> found = product(term(x), psi(x));
        // Six planes, chains of three 3x3 products and of four leaves: about 20 roundings, |C| < 12.
        EXPECT_TRUE(std::sqrt(norm2(found + -1.0 * expected)) <= 20 * 12 * epsilon * std::sqrt(norm2(psi(x))));
      });
    }
}

TEST_P(clover_term, times_its_inverse_is_one) {
  const extents lattice{4, 6, 2, 8};
  const gauge_configuration links = weak_links(lattice, 0.2, 4);  // no eigenvalue of A near zero
  cpu::clover_configuration term = cpu::make_clover_term(links, GetParam().action);
  cpu::add_to_diagonal(term, GetParam().action.diagonal());
  const cpu::clover_configuration inverse = cpu::inverse(term, communicator());
  const spinor_configuration psi = random_spinor(lattice, 5);
  visit_sites(links.geometry(), [&](const coordinate& x) {
    const spinor<double> difference = product(inverse(x), product(term(x), psi(x))) + -1.0 * psi(x);
    // LU of a 6x6 matrix whose condition number is below 10.
    EXPECT_TRUE(std::sqrt(norm2(difference)) <= 6 * 10 * epsilon * std::sqrt(norm2(psi(x))));
  });
}

INSTANTIATE_TEST_SUITE_P(all, clover_term, testing::ValuesIn(typical_actions()),
                         [](const auto& info) { return info.param.name; });

TEST(clover_term, is_exactly_zero_on_the_unit_field) {
  const cpu::clover_configuration term =
      cpu::make_clover_term(unit_links({4, 2, 6, 2}), fermion_action::isotropic(0.0, 1.7));
  visit_sites(term.geometry(), [&](const coordinate& x) {
    for (const auto& block : term(x).chirality)
      for (int i = 0; i < cpu::chiral_rows; ++i)
        for (int j = 0; j < cpu::chiral_rows; ++j) EXPECT_EQ(norm2(block(i, j)), 0.0);
  });
}

TEST(clover_term, that_is_singular_at_one_site_is_refused_with_the_site) {
  cpu::clover_configuration term = cpu::make_clover_term(unit_links({4, 2, 6, 2}), fermion_action::isotropic(0.0, 1.0));
  cpu::add_to_diagonal(term, 4.0);
  EXPECT_NO_THROW(cpu::inverse(term, communicator()));
  term({3, 1, 4, 0}).chirality[1].diagonal[2] = 0.0;
  try {
    cpu::inverse(term, communicator());
    FAIL() << "a singular block was inverted";
  } catch (const input_error& e) {
    EXPECT_NE(std::string(e.what()).find("(3, 1, 4, 0)"), std::string::npos) << e.what();
  }
  term({3, 1, 4, 0}).chirality[1].diagonal[2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(cpu::inverse(term, communicator()), input_error);
}

TEST(relative_residual, is_what_it_says) {
  const extents lattice{4, 6, 2, 8};
  const fermion_action action = typical_actions()[3].action;
  const gauge_configuration links = random_links(lattice, 6);
  spinor_configuration x = random_spinor(lattice, 7), zero{lattice_geometry(lattice)};
  spinor_configuration b(x.geometry());
  cpu::textbook::apply(b, x, links, action, communicator());
  const auto residual = [&](const spinor_configuration& source, spinor_configuration solution) {
    return cpu::textbook::relative_residual(source, solution, links, action, communicator());
  };
  EXPECT_EQ(residual(b, x), 0.0);
  EXPECT_EQ(residual(b, zero), 1.0);
  EXPECT_EQ(residual(zero, zero), 0.0);
  EXPECT_EQ(residual(zero, x), std::numeric_limits<double>::infinity());
  for (const double s : {0x1p-600, 0x1p-540, 0x1p500}) {  // sums of squares would be 0 or infinite
    const spinor_configuration small = sum(zero, {s, 0.0}, b), solution = sum(zero, {s, 0.0}, x);
    EXPECT_EQ(residual(small, solution), 0.0) << s;
    EXPECT_EQ(residual(small, zero), 1.0) << s;
  }
  // A deviation of known size at one site: |M d| is the norm of a column of M.
  const spinor_configuration d = point_source(lattice, {3, 5, 1, 7}, 2, 1);
  spinor_configuration md(x.geometry()), copy = d;
  cpu::textbook::apply(md, copy, links, action, communicator());
  const double expected = 1e-3 * norm(md) / norm(b);
  EXPECT_TRUE(std::abs(residual(b, sum(x, {1e-3, 0.0}, d)) - expected) <= 10 * epsilon);
  x({0, 0, 0, 0})(3, 2).im = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(residual(b, x)));
}

TEST(relative_residuals, are_those_of_single_columns_to_the_bit) {
  const extents lattice{4, 6, 2, 8};
  for (const named_action& a : typical_actions()) {
    const gauge_configuration links = random_links(lattice, 6);
    std::vector<spinor_configuration> b, x;
    for (int n = 0; n < 6; ++n) {  // more than are computed at once
      b.push_back(random_spinor(lattice, 10 + n));
      x.push_back(random_spinor(lattice, 20 + n));
    }
    const auto all = cpu::textbook::relative_residuals(b, x, links, a.action, communicator());
    ASSERT_EQ(all.size(), 6U);
    for (std::size_t n = 0; n < 6; ++n)
      EXPECT_EQ(all[n], cpu::textbook::relative_residual(b[n], x[n], links, a.action, communicator())) << a.name;
    EXPECT_THROW(cpu::textbook::relative_residuals(std::span(b).first(5), x, links, a.action, communicator()),
                 std::logic_error);
  }
}

}  // namespace
}  // namespace plaquette::validation
