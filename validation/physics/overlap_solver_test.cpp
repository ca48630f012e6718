// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The overlap solver that either library makes: stages as functions of values, handles, searches that go on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "cpu_ref/observables/correlators.hpp"
#include "cpu_ref/solvers.hpp"
#include "validation/support/backend.hpp"
#include "validation/support/test_fields.hpp"
#ifdef PLAQUETTE_TEST_GPU_BACKEND
#include "gpu/solvers.hpp"
#endif

namespace plaquette::validation {
namespace {

std::unique_ptr<overlap_solver> make_solver(const gauge_configuration& links, const overlap_settings& settings) {
  const backend::context ctx(links.geometry(), communicator());
#ifdef PLAQUETTE_TEST_GPU_BACKEND
  return gpu::make_overlap_solver(ctx, std::make_shared<gauge_configuration>(links), settings);
#else
  return cpu::make_overlap_solver(ctx, std::make_shared<gauge_configuration>(links), settings);
#endif
}

gauge_configuration some_links() { return weak_links({2, 2, 2, 4}, 0.3, 5); }

/// Keeps the last snapshot in memory, as vectors of the host.
template <class State>
struct memory_of_host final : search_memory<State> {
  overlap_solver* solver = nullptr;
  std::optional<State> state;
  std::vector<spinor_configuration> vectors;
  int chirality = 0, restored = 0;

  std::optional<search_snapshot<State>> last() override {
    if (!state) return std::nullopt;
    ++restored;
    return search_snapshot<State>{*state, solver->import_vectors(static_cast<int>(vectors.size()), chirality,
                                                                 [&](int n, spinor_configuration& to) {
                                                                   to = vectors[static_cast<std::size_t>(n)];
                                                                 })};
  }
  void keep(const std::function<search_snapshot<State>()>& make) override {
    const search_snapshot<State> now = make();
    state = now.state;
    chirality = now.basis->chirality();
    vectors.assign(static_cast<std::size_t>(now.basis->count()), some_links_shape());
    for (int n = 0; n < now.basis->count(); ++n) now.basis->get(n, vectors[static_cast<std::size_t>(n)]);
  }
  static spinor_configuration some_links_shape() { return spinor_configuration(lattice_geometry({2, 2, 2, 4})); }
};

/// The sign function of some modes, with low precision as far as the accuracy allows.
sign_handle calibrated(overlap_solver& solver, const kernel_modes& modes, double delta) {
  const sign_handle sign = solver.sign(modes);
  const vectors_handle x = solver.random_vectors(2);
  return solver.calibrated(
      sign,
      {x, sign->apply(x, 1e-3 * delta, sign_precision::as_double), sign->apply(x, delta, sign_precision::as_double)},
      delta);
}

TEST(OverlapSolver, leads_from_links_to_pions_that_fulfil_gmor) {
  const gauge_configuration links = some_links();
  const auto solver = make_solver(links, {.rho = 1.4, .seed = 3});
  const kernel_modes h_modes = solver->lowest_kernel_modes({.modes = 6});
  ASSERT_TRUE(h_modes.complete);
  EXPECT_LE(solver->distance_from_orthonormal(h_modes.vectors), 1e-12);
  for (const double residual : solver->residuals(h_modes)) EXPECT_LE(residual, 1e-10);
  const sign_handle sign = solver->sign(h_modes);
  const overlap_modes d_modes = solver->lowest_overlap_modes(sign, {.modes = 3, .tolerance = 1e-6});
  ASSERT_TRUE(d_modes.complete);
  const vectors_handle b = solver->sources({});
  const std::vector<double> masses{0.1, 0.4};
  const overlap_solutions quarks = solver->solve(sign, d_modes, b, masses, {.tolerance = 1e-8});
  for (std::size_t i = 0; i < masses.size(); ++i) {
    const overlap_judgement judged = solver->judge(sign, b, quarks.x[i], masses[i], 1e-11);
    EXPECT_LE(judged.residual, 1e-8);
    EXPECT_LE(judged.gmor, judged.gmor_tolerance);
    const auto propagator = overlap_propagator(links.geometry(), quarks.x[i], b, masses[i], 1.4);
    double sum = 0.0;
    for (const double pion : cpu::pion_correlator(propagator, communicator())) sum += pion;
    EXPECT_NEAR(sum / judged.sum_of_squares, 1.0, 1e-12);  // the pion is S^+ S
    EXPECT_NEAR(judged.condensate / (masses[i] * sum), 1.0, 1e-6);
  }
}

TEST(OverlapSolver, solutions_scale_with_their_sources) {
  const gauge_configuration links = some_links();
  const auto solver = make_solver(links, {.rho = 1.4, .seed = 3});
  const sign_handle sign = calibrated(*solver, solver->lowest_kernel_modes({.modes = 6}), 1e-9);
  const auto times = [&](const vectors_handle& x, double factor) {
    return solver->import_vectors(x->count(), 0, [&](int n, spinor_configuration& to) {
      x->get(n, to);
      for (std::int64_t site = 0; site < to.geometry().local_volume(); ++site)
        to.at_site(site) = factor * to.at_site(site);
    });
  };
  // One of each chirality; the change of basis has rounded imported fields.
  const vectors_handle b = times(solver->columns(solver->sources({}), 5, 2), 1.0);
  const std::vector<double> masses{0.1, 0.4};
  overlap_solve_rule coarse{.tolerance = 1e-7};
  coarse.coarse_sign_delta = 1e-10;
  overlap_solve_rule preconditioned{.tolerance = 1e-6, .scheme = overlap_scheme::preconditioned};
  preconditioned.preconditioner.method = clover_method::bicgstab;
  for (const overlap_solve_rule& rule : {overlap_solve_rule{.tolerance = 1e-8, .scheme = overlap_scheme::defect},
                                         overlap_solve_rule{.tolerance = 1e-8}, coarse, preconditioned}) {
    const overlap_solutions expected = solver->solve(sign, {}, b, masses, rule);
    for (const double factor : {0x1p-600, 0x1p-500, 0x1p500}) {  // powers of two round nothing
      const vectors_handle source = times(b, factor);
      const overlap_solutions found = solver->solve(sign, {}, source, masses, rule);
      for (std::size_t i = 0; i < masses.size(); ++i) {
        EXPECT_TRUE(found.report.masses[i].converged) << factor;
        EXPECT_EQ(solver->distance(times(found.x[i], 1.0 / factor), times(expected.x[i], 1.0)), 0.0) << factor;
        const overlap_judgement one = solver->judge(sign, b, expected.x[i], masses[i], 1e-9),
                                other = solver->judge(sign, source, found.x[i], masses[i], 1e-9);
        EXPECT_EQ(other.residual, one.residual) << factor;
        EXPECT_EQ(other.gmor, one.gmor) << factor;
        EXPECT_EQ(solver->judging_delta(source, found.x[i], masses[i], 1e-8),
                  solver->judging_delta(b, expected.x[i], masses[i], 1e-8))
            << factor;
        EXPECT_EQ(solver->judging_error(sign, found.x[i], 1e-9), solver->judging_error(sign, expected.x[i], 1e-9))
            << factor;
        // Squares of the smallest are 0.
        if (factor == 0x1p-600) continue;
        EXPECT_NEAR(other.condensate / factor / factor / one.condensate, 1.0, 1e-14) << factor;
      }
    }
  }
}

TEST(OverlapSolver, solves_with_the_clover_preconditioner_what_conjugate_gradients_solve) {
  const gauge_configuration links = some_links();
  const auto solver = make_solver(links, {.rho = 1.4, .seed = 3});
  const sign_handle sign = solver->sign(solver->lowest_kernel_modes({.modes = 6}));
  const vectors_handle b = solver->columns(solver->sources({}), 5, 2);  // one of each chirality
  const std::vector<double> masses{0.1, 0.4};
  const overlap_solutions expected = solver->solve(sign, {}, b, masses, {.tolerance = 1e-7});
  const auto directions = [&](const overlap_preconditioner& preconditioner, bool have_partners = true) {
    overlap_solve_rule rule{.tolerance = 1e-6, .scheme = overlap_scheme::preconditioned};
    if (!have_partners) rule.coarse_sign_delta = 1e-9;
    rule.preconditioner = preconditioner;
    const overlap_solutions quarks = solver->solve(sign, {}, b, masses, rule);
    const preconditioned_work& work = quarks.report.work;
    EXPECT_EQ(work.by_multigrid, preconditioner.method == clover_method::multigrid);
    EXPECT_EQ(work.cheap_signs, preconditioner.inner_steps * work.directions);
    EXPECT_EQ(work.clover_solves, std::max(1, preconditioner.inner_steps) * work.directions);
    for (std::size_t i = 0; i < masses.size(); ++i) {
      EXPECT_TRUE(quarks.report.masses[i].converged);
      EXPECT_LE(solver->judge(sign, b, quarks.x[i], masses[i], 1e-9).residual, 1e-6);
      // |D(m)^-1| is at most 1 / m.
      EXPECT_LE(solver->distance(quarks.x[i], expected.x[i]), 1.2e-6 / masses[i]);
    }
    return work.directions;
  };
  const double nested = directions({.method = clover_method::bicgstab, .batch = 1});
  const double plain = directions({.method = clover_method::multigrid, .inner_steps = 0});
  EXPECT_LE(nested, 0.6 * plain);
  // Where M^-1 is left out, so that a alone is left, it takes more. (Not with partners, on so small a lattice: these
  // directions are then a Krylov space of D^+ D that serves both masses.)
  EXPECT_LE(directions({.method = clover_method::multigrid, .inner_steps = 0}, false),
            0.8 * directions({.mass = 1e6, .method = clover_method::bicgstab, .inner_steps = 0}, false));
}

TEST(OverlapSolver, gives_modes_of_D_back_when_they_are_directions) {
  const auto solver = make_solver(some_links(), {.seed = 3});
  const sign_handle sign = solver->sign(solver->lowest_kernel_modes({.modes = 6}));
  overlap_modes modes = solver->lowest_overlap_modes(sign, {.modes = 3, .tolerance = 1e-4});
  const std::weak_ptr plus = modes.plus.vectors, minus = modes.minus.vectors;
  const vectors_handle b = solver->columns(solver->sources({}), 5, 2);
  overlap_solve_rule rule{.tolerance = 1e-6, .scheme = overlap_scheme::preconditioned};
  rule.preconditioner.method = clover_method::bicgstab;
  int steps = 0;
  rule.progress = [&](int, double) {
    ++steps;
    EXPECT_TRUE(plus.expired() && minus.expired());
  };
  EXPECT_TRUE(solver->solve(sign, std::move(modes), b, {0.1}, rule).report.masses[0].converged);
  EXPECT_GE(steps, 1);
}

// The residual of such an x is known but for the solver's own, a hundred times smaller.
TEST(OverlapSolver, is_judged_by_a_sign_function_that_tells_three_tolerances_from_half_of_one) {
  const auto solver = make_solver(some_links(), {.seed = 7});
  const kernel_modes modes = solver->lowest_kernel_modes({.modes = 6, .tolerance = 1e-12});
  const sign_handle sign = calibrated(*solver, modes, 1e-9);
  const overlap_modes low = solver->lowest_overlap_modes(sign, {.modes = 3});
  constexpr double tolerance = 1e-8, rho = 1.4;
  const int chirality = low.searched;
  const chiral_modes<vectors_handle>& of = low.of(chirality);
  ASSERT_GT(of.eigenvalues.back(), 1e-3);
  spinor_configuration mode(lattice_geometry({2, 2, 2, 4}));
  of.vectors->get(of.vectors->count() - 1, mode);
  const vectors_handle b = solver->sources({.position = {1, 0, 1, 0}});
  for (const double mass : {0.002, 0.3}) {
    const overlap_solutions quarks = solver->solve(sign, low, b, {mass}, {.tolerance = 0.01 * tolerance});
    ASSERT_TRUE(quarks.report.masses[0].converged);
    // |D(m) v|^2 = m^2 + (rho^2 - m^2 / 4) e of a mode D^+ D v = e v; sources have norm 1.
    const double of_mode = std::sqrt(mass * mass + (rho * rho - 0.25 * mass * mass) * of.eigenvalues.back());
    for (const double off : {0.5, 3.0}) {
      const auto shifted = [&](int n, spinor_configuration& to) {
        quarks.x[0]->get(n, to);
        for (std::int64_t site = 0; site < to.geometry().local_volume(); ++site)
          to.at_site(site) = to.at_site(site) + (off * tolerance / of_mode) * mode.at_site(site);
      };
      const vectors_handle x = solver->import_vectors(b->count(), 0, shifted);
      const double delta = solver->judging_delta(b, x, mass, tolerance);
      EXPECT_LE(delta, 1e-10);
      EXPECT_LE(solver->judging_error(sign, x, delta), 1.2 * delta) << "mass " << mass;
      const overlap_judgement judged = solver->judge(sign, b, x, mass, delta);
      EXPECT_EQ(judged.residual <= tolerance, off < 1.0) << "mass " << mass;
      EXPECT_NEAR(judged.residual / tolerance, off, 0.04) << "mass " << mass;
      EXPECT_LE(judged.gmor, judged.gmor_tolerance);
    }
  }
}

TEST(OverlapSolver, begins_later_columns_with_directions_of_the_first) {
  // Periodic and nearly free: twelve modes of D are near zero, and slow in all columns.
  overlap_settings settings{.rho = 1.4, .seed = 3};
  settings.boundary_phase[3] = {1.0, 0.0};
  const auto solver = make_solver(weak_links({2, 2, 2, 4}, 0.1, 5), settings);
  const sign_handle sign = solver->sign(solver->lowest_kernel_modes({.modes = 6}));
  const vectors_handle b = solver->columns(solver->sources({}), 4, 4);  // two of each chirality
  const std::vector<double> masses{0.005, 0.4};
  const auto of_others = [&](int recycled, const overlap_modes& modes) {
    overlap_solve_rule rule{.tolerance = 1e-7, .scheme = overlap_scheme::preconditioned};
    rule.preconditioner = {.method = clover_method::bicgstab, .inner_steps = 1, .batch = 1, .recycled = recycled};
    const overlap_solutions quarks = solver->solve(sign, modes, b, masses, rule);
    for (std::size_t i = 0; i < masses.size(); ++i)
      EXPECT_LE(solver->judge(sign, b, quarks.x[i], masses[i], 1e-11).residual, 1e-7);
    const preconditioned_work& work = quarks.report.work;
    EXPECT_EQ(work.recycled, recycled);
    return recycled == 0 ? 0.75 * work.directions : work.directions - work.directions_of_leading;
  };
  ASSERT_EQ(leading_columns(4), 1);
  const double others = of_others(10, {});
  EXPECT_LE(others, 0.9 * of_others(0, {}));  // 81 for 100: partners do a part of the modes' work
  // Modes of D stay among the first directions.
  EXPECT_LE(of_others(6, solver->lowest_overlap_modes(sign, {.modes = 2, .tolerance = 1e-4})), others);
}

TEST(OverlapSolver, applies_sign_h_that_squares_to_one_and_that_modes_have_their_signs_of) {
  const gauge_configuration links = some_links();
  const auto solver = make_solver(links, {});
  const kernel_modes modes = solver->lowest_kernel_modes({.modes = 4});
  const sign_handle sign = solver->sign(modes);
  const vectors_handle x = solver->random_vectors(2), y = sign->apply(x, 1e-9);
  EXPECT_LE(solver->distance(sign->apply(y, 1e-9), x), 3e-9);
  EXPECT_GE(solver->distance(y, x), 0.1);
  const vectors_handle images = sign->apply(modes.vectors, 1e-9);
  for (int i = 0; i < 4; ++i) {
    const vectors_handle v = solver->columns(modes.vectors, i, 1), image = solver->columns(images, i, 1);
    EXPECT_NEAR(solver->distance(image, v), modes.values[static_cast<std::size_t>(i)] > 0.0 ? 0.0 : 2.0, 1e-8);
  }
  const overlap_algebra algebra = solver->algebra(sign, x, 1e-9);
  EXPECT_LE(algebra.ginsparg_wilson, 5e-9);
  EXPECT_LE(algebra.normality, 5e-9);
}

TEST(OverlapSolver, goes_on_with_searches_from_what_was_kept) {
  const gauge_configuration links = some_links();
  const auto whole = make_solver(links, {.seed = 3});
  const mode_search search{.modes = 6, .most = 14};
  const kernel_modes expected = whole->lowest_kernel_modes(search);

  memory_of_host<mode_search_state> memory;
  int requested = 0;
  const auto stopped = make_solver(links, {.seed = 3, .interrupted = [&] { return memory.state && ++requested > 20; }});
  memory.solver = stopped.get();
  const kernel_modes none = stopped->lowest_kernel_modes(search, 6, &memory);
  EXPECT_FALSE(none.complete);
  ASSERT_TRUE(memory.state);

  const auto goes_on = make_solver(links, {.seed = 4});
  memory.solver = goes_on.get();
  const kernel_modes found = goes_on->lowest_kernel_modes(search, 6, &memory);
  EXPECT_EQ(memory.restored, 1);
  ASSERT_EQ(found.values.size(), expected.values.size());
  for (std::size_t i = 0; i < found.values.size(); ++i) EXPECT_NEAR(found.values[i], expected.values[i], 1e-9);

  memory_of_host<overlap_search_state> of_d;
  of_d.solver = goes_on.get();
  const sign_handle sign = goes_on->sign(found);
  const overlap_modes modes = goes_on->lowest_overlap_modes(sign, {.modes = 3, .most = 8}, &of_d);
  ASSERT_TRUE(of_d.state);
  EXPECT_EQ(of_d.chirality, modes.searched);
  const overlap_modes again = goes_on->lowest_overlap_modes(sign, {.modes = 3, .most = 8}, &of_d);
  EXPECT_EQ(of_d.restored, 1);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(again.of(again.searched).eigenvalues[i], modes.of(modes.searched).eigenvalues[i], 1e-9);
}

TEST(OverlapSolver, gives_vectors_back_as_they_were) {
  const gauge_configuration links = some_links();
  const auto solver = make_solver(links, {});
  const vectors_handle x = solver->random_vectors(3);
  const auto source = [&](int n, spinor_configuration& to) { x->get(n, to); };
  EXPECT_LE(solver->distance(solver->import_vectors(3, 0, source), x), 1e-15);
  // Both chiralities together are the whole.
  spinor_configuration plus(links.geometry()), minus(links.geometry()), all(links.geometry());
  solver->import_vectors(3, +1, source)->get(2, plus);
  solver->import_vectors(3, -1, source)->get(2, minus);
  x->get(2, all);
  for (std::int64_t site = 0; site < links.geometry().local_volume(); ++site)
    for (int s = 0; s < spins; ++s)
      for (int c = 0; c < colours; ++c)
        EXPECT_NEAR(std::sqrt(norm2(plus.at_site(site)(s, c) + minus.at_site(site)(s, c) - all.at_site(site)(s, c))),
                    0.0, 1e-15);
}

TEST(OverlapSolver, refuses_what_is_not_its_own) {
  struct others_vectors final : solver_vectors {
    int count() const override { return 1; }
    int chirality() const override { return 0; }
    void get(int, spinor_configuration&) const override {}
    void write(int /*first*/, const spinor_array<double>& /*to*/) const override {}
  };
  const gauge_configuration links = some_links();
  const auto solver = make_solver(links, {});
  const vectors_handle x = solver->random_vectors(1);
  EXPECT_THROW(solver->distance(x, std::make_shared<others_vectors>()), input_error);
  EXPECT_THROW(solver->distance(x, nullptr), input_error);
  EXPECT_THROW(solver->algebra(nullptr, x, 1e-9), input_error);
  EXPECT_THROW(solver->apply_kernel(x, precision::half), input_error);
  EXPECT_THROW(make_solver(links, {.rho = 2.5}), input_error);
}

}  // namespace
}  // namespace plaquette::validation
