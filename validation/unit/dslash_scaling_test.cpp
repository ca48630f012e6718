// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// dslash-scaling: the work of its operators against the published tables, and its checks, seen to fail for each thing
/// that they look at.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include "common/app/draw.hpp"
#include "common/error.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/solvers.hpp"
#include "miniapps/dslash-scaling/latency_run.hpp"
#include "miniapps/dslash-scaling/scaling_options.hpp"
#include "miniapps/shared/operator_checks.hpp"

namespace plaquette::scaling {
namespace {

using enum operator_kind;
using enum number_precision;
using enum site_layout;

const communicator alone;
const extents odd_shape{4, 6, 2, 8};

// --- work

TEST(Work, BytesOfTheEvenOddHoppingTermAreThePublishedOnes) {
  const struct {
    number_precision precision;
    reconstruct links;
    double bytes;
  } table[] = {{double_precision, reconstruct::none, 1536},  {double_precision, reconstruct::twelve, 1152},
               {double_precision, reconstruct::eight, 896},  {single_precision, reconstruct::none, 768},
               {single_precision, reconstruct::twelve, 576}, {single_precision, reconstruct::eight, 448},
               {half_precision, reconstruct::none, 392},     {half_precision, reconstruct::twelve, 296},
               {half_precision, reconstruct::eight, 232}};
  for (const auto& line : table) EXPECT_EQ(bytes_per_site({hopping, even_odd, line.precision, line.links}), line.bytes);
}

TEST(Work, BytesOfTheCloverSchurComplementAreThePublishedOnes) {
  const struct {
    number_precision precision;
    reconstruct links;
    double bytes;
  } table[] = {{double_precision, reconstruct::none, 4416},   {double_precision, reconstruct::twelve, 3648},
               {double_precision, reconstruct::eight, 3136},  {single_precision, reconstruct::none, 2208},
               {single_precision, reconstruct::twelve, 1824}, {single_precision, reconstruct::eight, 1568},
               {half_precision, reconstruct::none, 1140},     {half_precision, reconstruct::twelve, 948},
               {half_precision, reconstruct::eight, 820}};
  for (const auto& line : table)
    EXPECT_EQ(bytes_per_site({clover_schur, even_odd, line.precision, line.links}), line.bytes);
}

TEST(Work, LinksAreReadOnceForAllRightHandSides) {
  // Twelve of them, single, 12 reals: 224 bytes a site and right-hand side.
  EXPECT_EQ(bytes_per_site({hopping, even_odd, single_precision, reconstruct::twelve, 12}), 12 * 224.0);
  // The full lattice in one call: 480, 384, 320 bytes a site in single.
  EXPECT_EQ(bytes_per_site({hopping, full, single_precision, reconstruct::none}), 480.0);
  EXPECT_EQ(bytes_per_site({hopping, full, single_precision, reconstruct::twelve}), 384.0);
  EXPECT_EQ(bytes_per_site({hopping, full, single_precision, reconstruct::eight}), 320.0);
}

TEST(Work, VectorOperationsReadAndWriteSpinorsOnly) {
  for (const auto links : {reconstruct::none, reconstruct::twelve}) {
    EXPECT_EQ(bytes_per_site({axpy, full, single_precision, links}), 3 * 96.0);
    EXPECT_EQ(bytes_per_site({dot, even_odd, double_precision, links, 5}), 5 * 2 * 192.0);
    EXPECT_EQ(bytes_per_site({norm2, full, half_precision, links}), 52.0);
  }
  EXPECT_EQ(flops_per_site(axpy), 96.0);
  EXPECT_EQ(flops_per_site(dot), 96.0);
  EXPECT_EQ(flops_per_site(norm2), 48.0);
  // Once for each precision, layout and number of columns, whatever the list of links.
  const auto cases =
      combinations({{axpy}, {even_odd, full}, {single_precision}, {reconstruct::none, reconstruct::eight}, {1, 2}});
  EXPECT_EQ(cases.size(), 4U);
}

TEST(Latency, MessagesGrowByFourAndEndWithTheLongest) {
  EXPECT_EQ(message_sizes(8), (std::vector<std::size_t>{8}));
  EXPECT_EQ(message_sizes(512), (std::vector<std::size_t>{8, 32, 128, 512}));
  EXPECT_EQ(message_sizes(1000), (std::vector<std::size_t>{8, 32, 128, 512, 1000}));
  EXPECT_EQ(message_sizes(std::size_t{256} << 20).size(), 14U);
}

TEST(Work, FlopsAreTheStandardCounts) {
  EXPECT_EQ(flops_per_site(hopping), 1320.0);
  EXPECT_EQ(flops_per_site(wilson), 1368.0);
  EXPECT_EQ(flops_per_site(clover), 1872.0);
  EXPECT_EQ(flops_per_site(wilson_schur), 2688.0);
  EXPECT_EQ(flops_per_site(clover_schur), 3696.0);
}

TEST(Combinations, LeaveOutWhatDoesNotExist) {
  const auto cases = combinations(
      {{hopping, wilson, clover_schur}, {even_odd, full}, {single_precision}, {reconstruct::none}, {1, 12}});
  EXPECT_EQ(cases.size(), 2u * (2 + 1 + 1));
  EXPECT_THROW(combinations({{wilson}, {even_odd}, {single_precision}, {reconstruct::none}, {1}}), input_error);
}

// --- the check of an operator

scaling_options options_for(cpu::schur_kind preconditioning) {
  scaling_options options;
  options.shared.action = fermion_action::isotropic(0.2, 1.3);
  options.preconditioning = preconditioning;
  return options;
}

/// An operator with its input and output on a rough field.
struct applied_case {
  operator_case what;
  scaling_options options;
  bool dagger;
  lattice_geometry geometry{odd_shape};
  gauge_configuration links = cpu::weak_field_configuration(geometry, 0.3, 31, alone);
  spinor_configuration psi = cpu::random_spinor(geometry, 32, 0, alone);
  spinor_configuration found{geometry};

  applied_case(const operator_case& c, cpu::schur_kind preconditioning = cpu::schur_kind::symmetric,
               bool adjoint = false)
      : what(c), options(options_for(preconditioning)), dagger(adjoint) {
    const cpu::context ctx(geometry, alone, 1);
    const auto op = cpu::make_timed_operators(ctx, {links, options.shared.action, options.preconditioning})->make(what);
    for (int column = 0; column < what.rhs; ++column) op->set_input(column, psi);
    op->apply(dagger);
    op->get_output(what.rhs - 1, found);
  }
  difference compared(const fermion_action& action, bool judged_as_adjoint) const {
    return compare_with_textbook(found, psi, links, action,
                                 {what.kind, what.layout, options.preconditioning, judged_as_adjoint},
                                 site_sample(geometry, true, 0), alone);
  }
  bool passes_for(const fermion_action& action, bool judged_as_adjoint) const {
    const difference value = compared(action, judged_as_adjoint), allowed = tolerance_of(what);
    return value.norm <= allowed.norm && value.worst_site <= allowed.worst_site;
  }
  bool passes() const { return passes_for(options.shared.action, dagger); }
};

/// One of each kind and layout.
std::vector<operator_case> all_kinds(number_precision precision, reconstruct links = reconstruct::none) {
  return combinations(
      {{hopping, wilson, clover, wilson_schur, clover_schur}, {even_odd, full}, {precision}, {links}, {2}});
}

TEST(OperatorCheck, PassesForEveryOperatorAndItsAdjoint) {
  for (const auto& [precision, links] : {std::pair{double_precision, reconstruct::none},
                                         {single_precision, reconstruct::twelve},
                                         {half_precision, reconstruct::eight}})
    for (const operator_case& c : all_kinds(precision, links))
      for (const auto preconditioning : {cpu::schur_kind::symmetric, cpu::schur_kind::asymmetric})
        for (const bool dagger : {false, true}) {
          if (!c.is_schur() && preconditioning == cpu::schur_kind::asymmetric) continue;
          const applied_case applied(c, preconditioning, dagger);
          EXPECT_TRUE(applied.passes()) << describe(c) << (dagger ? " adjoint" : "");
        }
}

/// A site that the output of a case has.
coordinate site_of_output(const operator_case& c) {
  return c.kind == hopping ? coordinate{3, 0, 1, 7} : coordinate{3, 5, 1, 7};
}

TEST(OperatorCheck, FailsForOneWrongSignOfOneComponent) {
  for (const auto precision : {double_precision, single_precision, half_precision})
    for (const operator_case& c : all_kinds(double_precision)) {
      applied_case applied(c);
      applied.what.precision = precision;  // the tolerance of a lower precision must see it too
      ASSERT_TRUE(applied.passes());
      complex<double>& one = applied.found(site_of_output(c))(2, 1);
      one = -one;
      EXPECT_FALSE(applied.passes()) << describe(applied.what);
    }
}

TEST(OperatorCheck, FailsForOneNaN) {
  for (const operator_case& c : all_kinds(double_precision)) {
    applied_case applied(c);
    applied.found(site_of_output(c))(0, 2).im = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(applied.passes()) << describe(c);
    const difference found = applied.compared(applied.options.shared.action, false);
    EXPECT_TRUE(std::isnan(found.norm) && std::isnan(found.worst_site));
  }
}

TEST(OperatorCheck, FailsForAnOutputOfZeros) {
  for (const operator_case& c : all_kinds(single_precision)) {
    applied_case applied(c);
    applied.found = spinor_configuration(applied.geometry);
    EXPECT_FALSE(applied.passes()) << describe(c);
  }
}

TEST(OperatorCheck, FailsForTheAdjointInPlaceOfTheOperator) {
  for (const operator_case& c : all_kinds(single_precision)) {
    const applied_case applied(c, cpu::schur_kind::symmetric, true);
    EXPECT_FALSE(applied.compared(applied.options.shared.action, false).norm <= 1e-2) << describe(c);
  }
}

TEST(OperatorCheck, FailsForTheOtherFormOfTheSchurComplement) {
  for (const operator_kind kind : {wilson_schur, clover_schur}) {
    applied_case applied({kind, even_odd, single_precision}, cpu::schur_kind::asymmetric);
    applied.options.preconditioning = cpu::schur_kind::symmetric;
    EXPECT_FALSE(applied.passes());
  }
}

TEST(OperatorCheck, FailsForAnotherMassOrCloverCoefficient) {
  for (const operator_case& c : all_kinds(single_precision)) {
    if (c.kind == hopping) continue;  // has neither
    const applied_case applied(c);
    fermion_action other = applied.options.shared.action;
    other.mass += 1e-3;
    EXPECT_FALSE(applied.passes_for(other, false)) << describe(c);
    other = applied.options.shared.action;
    other.clover_spatial *= -1.0;
    EXPECT_EQ(applied.passes_for(other, false), !c.has_clover()) << describe(c);
  }
}

TEST(OperatorCheck, FailsForAnotherLink) {
  for (const operator_case& c : all_kinds(single_precision)) {
    applied_case applied(c);
    applied.links(coordinate{1, 2, 1, 4})[2] = su3<double>::identity();
    exchange_ghosts(applied.links, alone);
    EXPECT_FALSE(applied.passes()) << describe(c);
  }
}

TEST(OperatorCheck, FailsForTheOtherBoundaryCondition) {
  for (const operator_case& c : all_kinds(single_precision)) {
    const applied_case applied(c);
    fermion_action periodic = applied.options.shared.action;
    periodic.boundary_phase[3] = {1.0, 0.0};
    EXPECT_FALSE(applied.passes_for(periodic, false)) << describe(c);
  }
}

// --- the sample of a large lattice

TEST(SiteSample, IsEverySiteOfASmallLattice) {
  const lattice_geometry geometry(odd_shape);
  EXPECT_TRUE(site_sample(geometry, false, 0).everywhere());
}

TEST(SiteSample, MeetsEveryCoordinateAndBothParitiesOfALargeLattice) {
  const lattice_geometry geometry({24, 16, 16, 12});
  const site_sample sample(geometry, false, 8);
  EXPECT_FALSE(sample.everywhere());
  std::int64_t count = 0;
  std::set<int> met[dimensions], parities;
  for (std::int64_t s = 0; s < geometry.global_volume(); ++s) {
    const coordinate x = geometry.local_coordinate(s);
    if (!sample.holds(x)) continue;
    ++count;
    parities.insert(parity(x));
    for (int mu = 0; mu < dimensions; ++mu) met[mu].insert(x[mu]);
  }
  // 4096 are wanted; their number is binomial, of standard deviation 64: five of those
  EXPECT_NEAR(static_cast<double>(count), 4096.0, 5 * 64.0);
  EXPECT_EQ(parities.size(), 2u);
  for (int mu = 0; mu < dimensions; ++mu) EXPECT_EQ(met[mu].size(), static_cast<std::size_t>(geometry.global()[mu]));
  EXPECT_TRUE(site_sample(geometry, true, 0).everywhere());
}

TEST(SiteSample, IsAnotherForAnotherNumber) {
  const lattice_geometry geometry({24, 16, 16, 12});
  const site_sample one(geometry, false, 8), other(geometry, false, 9);
  int in_one = 0, in_both = 0;
  for (std::int64_t s = 0; s < geometry.global_volume(); ++s) {
    const coordinate x = geometry.local_coordinate(s);
    in_one += one.holds(x) ? 1 : 0;
    in_both += one.holds(x) && other.holds(x) ? 1 : 0;
  }
  // Of 4096 in 73728 sites 1 in 18 by chance: 228, and five standard deviations.
  EXPECT_LT(in_both, in_one / 18 + 5 * 15);
  std::set<std::uint64_t> numbers;
  for (int i = 0; i < 100; ++i) numbers.insert(drawn_number(communicator()));
  EXPECT_EQ(numbers.size(), 100u);
}

TEST(SiteSample, KnowsWhatItsHopsRead) {
  const lattice_geometry geometry({24, 16, 16, 12});
  const site_sample sample(geometry, false, 8);
  int inside = 0, near = 0;
  for (std::int64_t s = 0; s < geometry.global_volume(); s += 7) {
    const coordinate x = geometry.local_coordinate(s);
    bool next = false, two = false;
    for (int mu = 0; mu < dimensions; ++mu)
      for (const int sign : {+1, -1}) {
        const coordinate y = geometry.to_global(shifted(x, mu, sign));
        next = next || sample.holds(y);
        two = two || sample.is_next_to(y);
      }
    ASSERT_EQ(sample.is_next_to(x), next);
    ASSERT_EQ(sample.is_two_from(x), two);
    inside += next ? 1 : 0;
    near += two ? 1 : 0;
  }
  EXPECT_GT(inside, 0);
  EXPECT_GT(near, inside);
}

}  // namespace
}  // namespace plaquette::scaling
