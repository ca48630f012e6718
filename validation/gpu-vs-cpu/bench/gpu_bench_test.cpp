// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The bench's measurements on small lattices: its checks pass, figures are the requested ones.
#include <gtest/gtest.h>

#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "miniapps/bench/gpu_operator_bench.hpp"
#include "miniapps/bench/gpu_solver_bench.hpp"
#include "miniapps/bench/gpu_vector_bench.hpp"

namespace plaquette::bench {

namespace {

gpu_timing short_timing() {
  gpu_timing timing;
  timing.how = {.samples = 3, .seconds = 1e-4};
  timing.protocols.state = {.idle_seconds = 1e-3, .running_seconds = 1e-3};
  return timing;
}

gpu_lattice weak_lattice(const extents& lattice) {
  return gpu_lattice(lattice, {.from = gauge_choice::origin::weak, .noise = 0.2}, std::make_shared<gpu::tuner>());
}

void expect_good(const std::vector<timed_samples>& samples, const verification& checks) {
  ASSERT_EQ(samples.size(), 2U);
  for (const timed_samples& s : samples) {
    EXPECT_EQ(s.seconds.samples, 3);
    EXPECT_GT(s.seconds.min, 0.0);
  }
  EXPECT_TRUE(checks.passed()) << checks.line();
}

gpu_row row_of(gpu_subject subject, const std::string& precision, int reals, int rhs,
               const std::string& operation = "") {
  return {.name = "row",
          .subject = subject,
          .operation = operation,
          .lattice = {},
          .precision = precision,
          .reals = reals,
          .rhs = rhs};
}

TEST(gpu_bench, times_a_hopping_term_that_agrees_with_the_textbook) {
  gpu_lattice lattice = weak_lattice({4, 6, 2, 8});
  struct form {
    const char* precision;
    int reals, rhs;
  };
  for (const auto& [precision, reals, rhs] : {form{"double", 18, 1},
                                              {"pairs", 18, 1},
                                              {"single", 12, 3},
                                              {"single", 8, 1},
                                              {"half", 12, 1},
                                              {"half", 12, 3}}) {
    verification checks;
    const auto samples =
        time_hopping(lattice, row_of(gpu_subject::hopping, precision, reals, rhs), short_timing(), checks);
    expect_good(samples, checks);
    EXPECT_EQ(checks.checks().size(), 4U);  // three before it is timed, the last timed output
  }
}

TEST(gpu_bench, times_a_clover_matrix_that_agrees_with_the_textbook) {
  gpu_lattice lattice = weak_lattice({4, 4, 6, 4});
  for (const char* precision : {"double", "pairs", "single", "half"})
    for (const int rhs : {1, 2}) {
      verification checks;
      const auto samples =
          time_clover_schur(lattice, row_of(gpu_subject::clover_schur, precision, 12, rhs), short_timing(), checks);
      expect_good(samples, checks);
      EXPECT_EQ(checks.checks().size(), 4U);  // before and after it is timed
    }
}

TEST(gpu_bench, an_operator_on_other_links_does_not_agree) {
  const extents four{4, 4, 4, 4};
  gpu_lattice weak = weak_lattice(four);
  gpu_lattice unit(four, {.from = gauge_choice::origin::unit}, std::make_shared<gpu::tuner>());
  const fermion_action action = fermion_action::isotropic(0.1, 1.0);
  const gpu::context& ctx = unit.get_context();
  const gpu::wilson_clover<double> m(ctx, unit.links(), action);
  gpu::field<double> in(ctx, {}), out(ctx, {});
  gpu::random_spinors(in, 7);
  m.apply(out, in);
  spinor_configuration psi(ctx.geometry()), found(ctx.geometry());
  gpu::export_column(psi, in, 0);
  gpu::export_column(found, out, 0);
  EXPECT_GT(weak.distance_from_textbook(found, psi, action, 0), 1e-3);
  EXPECT_LT(unit.distance_from_textbook(found, psi, action, 0), 1e-13);
}

TEST(gpu_bench, times_vector_operations_that_agree_with_their_definitions) {
  const gpu_lattice lattice = weak_lattice({4, 4, 4, 4});
  for (const gpu_row& listed : gpu_rows()) {
    if (listed.subject != gpu_subject::vector_operation) continue;
    verification checks;
    const auto samples =
        time_vector_operation(lattice.get_context(), row_of(listed.subject, listed.precision, 12, 2, listed.operation),
                              short_timing(), checks);
    expect_good(samples, checks);
    EXPECT_EQ(checks.checks().size(), 2U) << listed.name;  // of one application, and of the last timed one
  }
}

TEST(gpu_bench, solves_reach_their_tolerance) {
  gpu_lattice lattice = weak_lattice({4, 4, 4, 8});
  const gpu_system system{.mass = 0.2, .csw = 1.0, .tolerance = 1e-10, .copy_gbytes_per_s = 100.0};
  for (const char* how : {"double", "double-single", "double-half", "single-half"})
    for (const int rhs : {1, 2}) {
      if (rhs > 1 && how != std::string("double-half")) continue;
      verification checks;
      const gpu_solve solve = time_solve(lattice, row_of(gpu_subject::solve, how, 12, rhs, how), system, checks);
      EXPECT_TRUE(checks.passed()) << checks.line();
      EXPECT_GT(solve.iterations, 3) << how;
      EXPECT_GT(solve.tflops, 0.0);
      EXPECT_GT(solve.predicted_seconds, 0.0);
      EXPECT_EQ(solve.batch_gain.has_value(), rhs > 1);
    }
}

}  // namespace

}  // namespace plaquette::bench
