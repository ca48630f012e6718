// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Hermitian Wilson operator of either library against gamma_5 times the textbook Wilson operator, alone and with
/// its addends. In every precision and number of stored reals, odd shapes, batches, boundary conditions.
#include "common/error.hpp"
#include "validation/support/overlap_backend.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace plaquette::validation {
namespace {

using backend::context;
using backend::field;
using backend::hermitian_wilson;

const std::vector<extents> lattices = {{2, 2, 2, 2}, {4, 6, 2, 8}, {6, 6, 6, 6}, {2, 6, 10, 2}};
const extents large_lattice{4, 6, 8, 10};
constexpr int batches[] = {1, 3, 5, 12};

static_assert(linear_operator<hermitian_wilson<float>, field<float>>);

/// rho = 1.4 with antiperiodic time, rho = 0.9 periodic, and an anisotropic action with complex phases.
std::vector<fermion_action> kernel_actions() {
  fermion_action periodic = fermion_action::isotropic(-0.9, 0.0);
  periodic.boundary_phase[3] = {1.0, 0.0};
  fermion_action twisted{-1.2, 0.0, 0.0, 3.4, 0.95};
  twisted.boundary_phase = {complex<double>{std::cos(0.3), std::sin(0.3)}, complex<double>{-1.0, 0.0},
                            complex<double>{std::cos(1.1), -std::sin(1.1)},
                            complex<double>{std::cos(2.0), std::sin(2.0)}};
  return {fermion_action::isotropic(-1.4, 0.0), periodic, twisted};
}

spinor_configuration textbook_result(const spinor_configuration& in, const gauge_configuration& links,
                                     const fermion_action& action) {
  spinor_configuration result(in.geometry()), source = in;
  cpu::textbook::apply(result, source, links, action, communicator(), false);
  return times_gamma5(result);
}

/// Bound on |out - H in| / |H in| (support/production.hpp); the second term is the textbook's own.
template <class T>
double tolerance_of(reconstruct stored) {
  return application_multiple * (unit_roundoff<T> * reconstruction_multiple(stored) + unit_roundoff<double>);
}

template <class T>
struct HermitianWilson : testing::Test {};
using precisions = testing::Types<half, float, double>;
TYPED_TEST_SUITE(HermitianWilson, precisions);

TYPED_TEST(HermitianWilson, IsGamma5TimesTheTextbookWilsonOperator) {
  std::uint64_t seed = 10;
  double worst = 0.0;
  std::vector<extents> all = lattices;
  all.push_back(large_lattice);
  for (const extents& lattice : all)
    for (const fermion_action& action : kernel_actions()) {
      if (lattice == large_lattice && action.anisotropy != 1.0) continue;
      const lattice_geometry geometry(lattice);
      const context ctx = backend::context_with_threads(geometry, communicator(), 2);
      const auto links = cpu::random_configuration(geometry, ++seed, communicator());
      const int columns = batches[seed % 4];
      const stored_columns<TypeParam> in(ctx, columns, seed);
      for (const reconstruct stored : every_reconstruct) {
        const hermitian_wilson<TypeParam> h(ctx, links, action, stored);
        auto out = inner_columns<TypeParam>(ctx, columns);
        h.apply(out, in.packed);
        for (int c = 0; c < columns; ++c) {
          const auto expected = textbook_result(in.canonical[static_cast<std::size_t>(c)], links, action);
          const double distance = relative_distance(canonical_column(out, c), expected, communicator());
          worst = std::max(worst, distance / tolerance_of<TypeParam>(stored));
          ASSERT_TRUE(distance <= tolerance_of<TypeParam>(stored))
              << distance / tolerance_of<TypeParam>(stored) << " of the tolerance, " << to_string(lattice) << ", "
              << columns << " columns, " << stored_reals(stored) << " reals";
        }
      }
    }
  this->RecordProperty("worst_share_of_tolerance", std::to_string(worst));
}

/// The error of the sum is the sum of its parts' errors, each as large as its bound allows.
TYPED_TEST(HermitianWilson, AddsOneOrTwoFieldsWhichMayBeTheOutput) {
  std::uint64_t seed = 50;
  for (const extents& lattice : lattices) {
    const lattice_geometry geometry(lattice);
    const context ctx = backend::context_with_threads(geometry, communicator(), 2);
    const auto links = cpu::random_configuration(geometry, ++seed, communicator());
    const fermion_action action = kernel_actions()[seed % 3];
    const int columns = batches[seed / 3 % 4];
    const stored_columns<TypeParam> in(ctx, columns, ++seed), u(ctx, columns, ++seed), w(ctx, columns, ++seed);
    const reconstruct stored = every_reconstruct[seed % 3];
    const hermitian_wilson<TypeParam> h(ctx, links, action, stored);
    const double a = 1.7, d = 0.8, b = -0.6, c = 2.3;
    for (const auto& [with_u, with_w] : {std::pair{true, true}, {true, false}, {false, true}, {false, false}})
      for (const int aliased : {0, 1, 2}) {  // out is a field of its own, u, w
        if ((aliased == 1 && !with_u) || (aliased == 2 && !with_w)) continue;
        auto out = inner_columns<TypeParam>(ctx, columns);
        if (aliased > 0) copy(out, aliased == 1 ? u.packed : w.packed);
        h.apply(out, a, in.packed, d, b, with_u ? (aliased == 1 ? &out : &u.packed) : nullptr, c,
                with_w ? (aliased == 2 ? &out : &w.packed) : nullptr);
        for (int n = 0; n < columns; ++n) {
          const auto k = static_cast<std::size_t>(n);
          auto expected = textbook_result(in.canonical[k], links, action);
          double size = a * norm(expected) + d * norm(in.canonical[k]);
          for (std::int64_t s = 0; s < geometry.local_volume(); ++s) {
            spinor<double>& z = expected.at_site(s);
            z = a * z + d * in.canonical[k].at_site(s);
            if (with_u) z = z + b * u.canonical[k].at_site(s);
            if (with_w) z = z + c * w.canonical[k].at_site(s);
          }
          if (with_u) size += std::abs(b) * norm(u.canonical[k]);
          if (with_w) size += std::abs(c) * norm(w.canonical[k]);
          const double distance =
              relative_distance(canonical_column(out, n), expected, communicator()) * norm(expected);
          ASSERT_TRUE(distance <= tolerance_of<TypeParam>(stored) * size)
              << distance / (tolerance_of<TypeParam>(stored) * size) << " of the tolerance, " << to_string(lattice)
              << " u " << with_u << " w " << with_w << " out is " << aliased;
        }
      }
  }
}

TYPED_TEST(HermitianWilson, IsHermitian) {
  const lattice_geometry geometry(large_lattice);
  const context ctx = backend::context_with_threads(geometry, communicator(), 2);
  const auto links = cpu::random_configuration(geometry, 71, communicator());
  const stored_columns<TypeParam> u(ctx, 3, 72), v(ctx, 3, 73);
  for (const fermion_action& action : kernel_actions()) {
    const hermitian_wilson<TypeParam> h(ctx, links, action);
    auto hu = like(u.packed), hv = like(u.packed);
    poison(hu), poison(hv);
    h.apply(hu, u.packed);
    h.apply_dagger(hv, v.packed);
    const auto left = host_values(dot(u.packed, hv)), right = host_values(dot(hu, v.packed));
    const auto size = host_values(norm2(hu)), other = host_values(norm2(v.packed));
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_TRUE(std::sqrt(norm2(left[c] - right[c])) <=
                  2 * tolerance_of<TypeParam>(reconstruct::twelve) * std::sqrt(size[c].re * other[c].re));
  }
}

/// Twelve columns each have the bits of one: a chain, so that each application sees the state that the one before left
/// behind.
TYPED_TEST(HermitianWilson, TreatsColumnsAlike) {
  const lattice_geometry geometry({4, 6, 2, 8});
  const context ctx = backend::context_with_threads(geometry, communicator(), 2);
  const auto links = cpu::random_configuration(geometry, 81, communicator());
  const stored_columns<TypeParam> in(ctx, 12, 82);
  for (const reconstruct stored : every_reconstruct) {
    const hermitian_wilson<TypeParam> h(ctx, links, kernel_actions()[0], stored);
    const auto chain = [&](const field<TypeParam>& first) {
      auto x = inner_columns<TypeParam>(ctx, first.columns()), y = inner_columns<TypeParam>(ctx, first.columns());
      h.apply(x, first);
      h.apply(y, 0.3, x, -0.2, &first, 0.0, nullptr);
      h.apply(x, 0.3, y, 0.5, &x, 0.1, &first);
      return x;
    };
    const auto together = chain(in.packed);
    for (const int c : {0, 5, 11})
      EXPECT_TRUE(same_bits(canonical_column(together, c), canonical_column(chain(view(in.packed, c, 1)), 0)))
          << stored_reals(stored) << " reals, column " << c;
  }
}

#ifdef PLAQUETTE_TEST_GPU_BACKEND
/// On a GPU; the host build has variant 1 alone.
TYPED_TEST(HermitianWilson, GivesTheSameBitsHoweverItIsLaunched) {
  for (const extents& lattice : {extents{4, 6, 2, 8}, {8, 8, 8, 8}, {24, 4, 4, 6}}) {
    const lattice_geometry geometry(lattice);
    const context ctx = backend::context_with_threads(geometry, communicator(), 2);
    const auto links = cpu::random_configuration(geometry, 91, communicator());
    for (const int columns : {1, 5}) {
      const stored_columns<TypeParam> in(ctx, columns, 92);
      for (const reconstruct stored : {reconstruct::twelve, reconstruct::eight}) {
        hermitian_wilson<TypeParam> h(ctx, links, kernel_actions()[0], stored);
        // As if nothing stayed in the cache: then there are more ways.
        gpu::hopping_problem problem = h.hopping().problem(columns, false);
        problem.cache_bytes = 1000;
        const auto chain = [&](const gpu::hermitian_launch& how) {
          h.set_launch(how);
          auto x = inner_columns<TypeParam>(ctx, columns), y = inner_columns<TypeParam>(ctx, columns);
          h.apply(x, in.packed);
          h.apply(y, 0.3, x, 0.7, -0.2, &in.packed, 0.0, nullptr);
          h.apply(x, 0.3, y, 0.0, 0.5, &x, 0.1, &in.packed);
          return canonical_column(x, columns - 1);
        };
        const auto expected = chain(gpu::hermitian_launch{});
        auto list = gpu::hermitian_candidates(problem, 1000);
        ASSERT_FALSE(list.empty());
        const std::size_t every = gpu::kernels_run_on_host() ? list.size() : 1 + list.size() / 60;
        for (std::size_t i = 0; i < list.size(); i += every)
          EXPECT_TRUE(same_bits(chain(list[i]), expected)) << to_string(lattice) << ' ' << list[i].name();
      }
    }
  }
}
#endif

TYPED_TEST(HermitianWilson, RefusesACloverTerm) {
  const lattice_geometry geometry({2, 2, 2, 2});
  const context ctx = backend::context_with_threads(geometry, communicator(), 1);
  const auto links = cpu::unit_configuration(geometry);
  EXPECT_THROW(hermitian_wilson<TypeParam>(ctx, links, fermion_action::isotropic(-1.4, 1.0)), input_error);
}

}  // namespace
}  // namespace plaquette::validation
