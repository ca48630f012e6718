// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Every check of the mixed-precision-solver, seen to fail: each test breaks the object of a check.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/solvers.hpp"
#include "library/open_library.hpp"
#include "miniapps/mixed-precision-solver/propagator_solve.hpp"
#include "miniapps/mixed-precision-solver/solver_checks.hpp"
#include "miniapps/mixed-precision-solver/timed_solver.hpp"
#include "miniapps/shared/correlator_report.hpp"
#include "miniapps/shared/gauge_input.hpp"
#include "miniapps/shared/propagator_file.hpp"

namespace plaquette {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
const communicator alone;
const extents odd_shape{4, 6, 2, 8};

/// A solved propagator on a rough field, once for all tests.
struct solved_problem {
  solver_options options;
  lattice_geometry geometry{odd_shape};
  gauge_configuration links = cpu::weak_field_configuration(geometry, 0.3, 21, alone);
  std::shared_ptr<const library> device = open_library(device_kind::cpu, geometry, alone);
  std::unique_ptr<propagator_solver> solver;
  propagator_result result;

  explicit solved_problem(const char* precisions = "double") {
    options.shared.precision = precisions;
    options.outer = options.inner = options.shared.precision == "single" ? precision::single : precision::double_;
    options.default_tolerance = options.outer == precision::single ? 1e-7 : 1e-12;
    options.shared.action = fermion_action::isotropic(0.3, 1.2);
    options.repeat = 0;
    solver = solver_with(options);
    run_control control(alone, std::numeric_limits<double>::infinity());
    progress_line silent(false);
    result = solve_propagator({*solver, *device}, options, links, alone, control, silent);
  }
  std::unique_ptr<propagator_solver> solver_with(const solver_options& o) const {
    return cpu::make_propagator_solver(cpu::context(geometry, alone, 1), std::make_shared<gauge_configuration>(links),
                                       o.solver_settings());
  }
  /// The verdict on these columns, judged again.
  bool passes(cpu::propagator columns, const fermion_action& action) {
    std::vector<column_result> results = result.results;
    judge_columns(results, columns, options.source, action, options.tolerance(), unit_roundoff(options.outer), links,
                  alone);
    verification checks;
    check_columns(checks, results);
    return checks.passed();
  }
};
solved_problem& problem() {
  static solved_problem solved;
  return solved;
}

bool gauge_passes(const gauge_configuration& links) {
  gauge_input input{links, cpu::measure_plaquettes(links, alone), cpu::distance_from_su3(links, alone), 1e-13, {}};
  verification checks;
  check_gauge(checks, input);
  return checks.passed();
}

TEST(GaugeCheck, PassesForLinksInSU3) { EXPECT_TRUE(gauge_passes(problem().links)); }

TEST(GaugeCheck, FailsForOneLinkOffSU3) {
  gauge_configuration links = problem().links;
  links(coordinate{1, 4, 0, 7})[2](1, 1).re += 1e-11;
  exchange_ghosts(links, alone);
  EXPECT_FALSE(gauge_passes(links));
}

TEST(GaugeCheck, FailsForOneNaN) {
  gauge_configuration links = problem().links;
  links(coordinate{3, 5, 1, 0})[3](2, 0).im = nan;
  exchange_ghosts(links, alone);
  EXPECT_FALSE(gauge_passes(links));
}

scaling::site_sample some_sites(const std::string&) { return {problem().geometry, false, 1}; }

/// The operators of a solver on random columns.
applied_operators applied_by(propagator_solver& solver) {
  return [&solver](bool inner, bool dagger) {
    return apply_to_random(solver, inner, dagger, problem().options.shared.seed, problem().geometry, alone);
  };
}

bool operators_pass(const applied_operators& applied, const solver_options& options) {
  verification checks;
  check_operators(checks, applied, options, problem().links, 1e-15, alone, some_sites);
  return checks.passed();
}

/// The verdict where one number of an output is another.
bool passes_with(const std::function<void(complex<double>& number)>& change, bool inner) {
  solver_options options = problem().options;
  if (inner) options.inner = precision::single;  // only in words: the operators are the same
  const applied_operators sound = applied_by(*problem().solver);
  const applied_operators broken = [&](bool is_inner, bool dagger) {
    scaling::weighed_sums sums = sound(false, dagger);
    if (is_inner == inner) change(sums.out(coordinate{2, 3, 1, 4})(1, 2));
    return sums;
  };
  return operators_pass(broken, options);
}

TEST(OperatorCheck, PassesForTheProductionOperatorsInAllPrecisions) {
  EXPECT_TRUE(operators_pass(applied_by(*problem().solver), problem().options));
  for (const precision inner : {precision::single, precision::half}) {
    solver_options options = problem().options;
    options.inner = inner;
    options.inner_links = reconstruct::twelve;
    const auto solver = problem().solver_with(options);
    verification checks;
    check_operators(checks, applied_by(*solver), options, problem().links, 1e-15, alone, some_sites);
    EXPECT_TRUE(checks.passed()) << checks.line();
    EXPECT_EQ(checks.checks().size(), 8);  // M and M^+, of both, as a whole and at the worst site
  }
}

TEST(OperatorCheck, FailsForOneWrongSignOrNaNOfEitherOperator) {
  // The hop into one site of one spin component: the smallest thing that an index error could get wrong.
  for (const bool inner : {false, true}) {
    EXPECT_TRUE(passes_with([](complex<double>&) {}, inner));
    EXPECT_FALSE(passes_with([](complex<double>& number) { number = -number; }, inner));
    EXPECT_FALSE(passes_with([](complex<double>& number) { number.re = nan; }, inner));
  }
}

TEST(OperatorCheck, FailsForTheOtherSignOfTheCloverTerm) {
  solver_options options = problem().options;
  options.shared.action.clover_spatial *= -1.0;
  EXPECT_FALSE(operators_pass(applied_by(*problem().solver), options));
}

TEST(OperatorCheck, FailsForTheAdjointInPlaceOfTheOperator) {
  const applied_operators swapped = [sound = applied_by(*problem().solver)](bool inner, bool dagger) {
    return sound(inner, !dagger);
  };
  EXPECT_FALSE(operators_pass(swapped, problem().options));
}

TEST(ResidualCheck, PassesForTheSolution) {
  EXPECT_TRUE(problem().result.solved());
  EXPECT_TRUE(problem().passes(problem().result.columns, problem().options.shared.action));
}

TEST(ResidualCheck, FailsForOneNaN) {
  cpu::propagator columns = problem().result.columns;
  columns[4](coordinate{2, 2, 0, 5})(0, 1).re = nan;
  EXPECT_FALSE(problem().passes(columns, problem().options.shared.action));
}

TEST(ResidualCheck, FailsForOneWrongSign) {
  cpu::propagator columns = problem().result.columns;
  complex<double>& one = columns[11](coordinate{1, 0, 1, 1})(2, 2);
  one = -one;
  EXPECT_FALSE(problem().passes(columns, problem().options.shared.action));
}

TEST(ResidualCheck, FailsForTwoColumnsExchanged) {
  cpu::propagator columns = problem().result.columns;
  std::swap(columns[0], columns[1]);
  EXPECT_FALSE(problem().passes(columns, problem().options.shared.action));
}

TEST(ResidualCheck, FailsForAnotherMassAndAnotherBoundaryCondition) {
  fermion_action action = problem().options.shared.action;
  action.mass += 1e-10;
  EXPECT_FALSE(problem().passes(problem().result.columns, action));
  action = problem().options.shared.action;
  action.boundary_phase[3] = {1.0, 0.0};
  EXPECT_FALSE(problem().passes(problem().result.columns, action));
}

TEST(ResidualCheck, FailsForOneLinkOffSU3) {
  // The solution belongs to the links it was solved on.
  gauge_configuration links = problem().links;
  links(coordinate{0, 0, 0, 0})[1](0, 0).re += 1e-9;
  exchange_ghosts(links, alone);
  std::vector<column_result> results = problem().result.results;
  judge_columns(results, problem().result.columns, problem().options.source, problem().options.shared.action,
                problem().options.tolerance(), unit_roundoff(precision::double_), links, alone);
  verification checks;
  check_columns(checks, results);
  EXPECT_FALSE(checks.passed());
}

/// A verdict on one column with these residuals and a tolerance of 1e-10.
bool column_passes(double device, double reference) {
  column_result exact, column;
  exact.tolerance = column.tolerance = 1e-10;
  column.device = device;
  column.reference = reference;
  column.rounding = 1e-15;
  verification checks;
  check_columns(checks, {exact, column});
  return checks.passed() && column.solved();
}

TEST(ResidualCheck, FailsJustAboveTheTolerance) {
  EXPECT_TRUE(column_passes(1e-10, 1e-10));
  const double above = std::nextafter(1e-10, 1.0);
  EXPECT_FALSE(column_passes(above, above));
  EXPECT_FALSE(column_passes(nan, nan));
}

TEST(ResidualCheck, FailsWhereDeviceAndReferenceDisagree) {
  EXPECT_TRUE(column_passes(5.0e-11, 5.0001e-11));
  EXPECT_FALSE(column_passes(5.0e-11, 6.0e-11));
  EXPECT_FALSE(column_passes(nan, 5.0e-11));
}

TEST(ResidualCheck, AllowsRoundingOfASourceThatAHeavyQuarkHardlyMoves) {
  // kappa = 0.005: |M| |x| / |b| is 1, and either operator rounds M x by some 2 u.
  const auto passes = [](double device, double reference) {
    column_result column;
    column.tolerance = 1e-12;
    column.device = device;
    column.reference = reference;
    column.unit_roundoff = unit_roundoff(precision::double_);
    column.rounding = 1.04 * column.unit_roundoff;
    verification checks;
    check_columns(checks, {column});
    return checks.passed();
  };
  EXPECT_TRUE(passes(1e-16, 5.434e-16));
  EXPECT_FALSE(passes(1e-16, 1.5e-15));
  // What such a solution in single precision is off by at most, of 240 that were seen.
  const double u = unit_roundoff(precision::single);
  EXPECT_GE(residual_floor(1.04 * u, 3, u), 3.4 * u);
  EXPECT_LE(residual_floor(1.04 * u, 3, u), 5.0 * u);
}

TEST(ResidualCheck, FailsWhereThereIsNoColumn) {
  verification checks;
  check_columns(checks, {});
  EXPECT_FALSE(checks.passed());
}

TEST(CorrelatorCheck, FailsForOneValueThatIsNotPositive) {
  const auto passes = [](const std::vector<double>& correlator) {
    verification checks;
    check_correlator(checks, "pion", correlator);
    return checks.passed();
  };
  EXPECT_TRUE(passes({1.0, 0.5, 0.25}));
  EXPECT_FALSE(passes({1.0, -0.5, 0.25}));
  EXPECT_FALSE(passes({1.0, nan, 0.25}));
  EXPECT_FALSE(passes({1.0, 0.5, std::numeric_limits<double>::infinity()}));
  EXPECT_FALSE(passes({1.0, 1e-15, 0.0}));
  EXPECT_FALSE(passes({0.0, 0.0, 0.0}));
}

TEST(CorrelatorCheck, AllowsZeroWhereAHeavyQuarkHasFadedBelowRounding) {
  const auto passes = [](const std::vector<double>& correlator) {
    verification checks;
    check_correlator(checks, "pion", correlator);
    return checks.passed();
  };
  EXPECT_TRUE(passes({1.0, 1e-9, 1e-18, 0.0, 1e-18, 1e-9}));
  EXPECT_FALSE(passes({1.0, 1e-9, 1e-18, -1e-30, 1e-18, 1e-9}));
  EXPECT_FALSE(passes({1.0, 1e-9, 1e-18, nan, 1e-18, 1e-9}));
}

TEST(CorrelatorCheck, FailsForOneTimeThatIsNotByDefinitionAndForARhoAboveThePion) {
  const cpu::propagator& columns = problem().result.columns;
  const std::vector<double> pion = cpu::pion_correlator(columns, alone), rho = cpu::rho_correlator(columns, alone);
  const auto passes = [&](const std::vector<double>& of_pion, const std::vector<double>& of_rho) {
    verification checks;
    check_rho(checks, of_rho, of_pion);
    check_correlators_by_definition(checks, of_pion, of_rho, columns, alone);
    return checks.passed();
  };
  EXPECT_TRUE(passes(pion, rho));
  for (std::size_t t = 0; t < rho.size(); ++t) {
    for (const double wrong : {rho[t] * (1.0 + 1e-12), -rho[t], nan, 1.001 * pion[t]}) {
      std::vector<double> spoilt = rho;
      spoilt[t] = wrong;
      EXPECT_FALSE(passes(pion, spoilt)) << wrong << " at " << t;
    }
    for (const double wrong : {pion[t] * (1.0 + 1e-12), 1.01 * pion[t], nan}) {
      std::vector<double> spoilt = pion;
      spoilt[t] = wrong;
      EXPECT_FALSE(passes(spoilt, rho)) << wrong << " at " << t;
    }
  }
}

TEST(ExceptionalRemark, IsMadeWhereThePionIsLargestAwayFromItsSource) {
  EXPECT_TRUE(remark_on_exceptional({0.1, 1.0, 0.2, 0.1}, 1).empty());
  const std::string remark = remark_on_exceptional({0.1, 1.0, 0.2, 30.0}, 1);
  EXPECT_NE(remark.find("exceptional"), std::string::npos);
  EXPECT_NE(remark.find("time 3"), std::string::npos);
}

TEST(SolutionSum, IsThatOfTheColumnsThatWereJudgedAndSeesEveryBit) {
  cpu::propagator columns = problem().result.columns;
  EXPECT_TRUE(sum_of_columns(columns) == problem().result.judged);
  for (const int bit : {0, 31, 63}) {
    cpu::propagator flipped = columns;
    double& number = flipped[11](coordinate{3, 5, 1, 7})(3, 2).im;
    number = std::bit_cast<double>(std::bit_cast<std::uint64_t>(number) ^ (std::uint64_t{1} << bit));
    EXPECT_FALSE(sum_of_columns(flipped) == problem().result.judged);
  }
  exchange_ghosts(columns[2], alone);
  EXPECT_TRUE(sum_of_columns(columns) == problem().result.judged);  // ghosts are no part of a solution
}

TEST(ResidualCheck, SaysThatRebuiltLinksAreOthersWhereTheyAre) {
  column_result column;
  column.device = 1e-15;
  column.reference = 1e-8;
  column.rounding = 1e-15;
  constexpr double floats = 1e-7, doubles = 1e-15;
  EXPECT_NE(remark_on_rebuilt_links({column}, 12, floats).find("--reconstruct 18"), std::string::npos);
  EXPECT_TRUE(remark_on_rebuilt_links({column}, 18, floats).empty());
  EXPECT_TRUE(remark_on_rebuilt_links({column}, 12, doubles).empty());
  column.reference = column.device;
  EXPECT_TRUE(remark_on_rebuilt_links({column}, 12, floats).empty());
}

TEST(SinglePrecision, IsHeldToItsFloorAndNoMore) {
  solved_problem single("single");
  EXPECT_TRUE(single.result.solved());
  for (const column_result& c : single.result.results) {
    EXPECT_LE(c.tolerance, 3e-6);
    EXPECT_LE(c.reference, c.tolerance);
  }
  // One part in 10^5 in one component is no rounding any more.
  cpu::propagator columns = single.result.columns;
  columns[0](coordinate{0, 0, 0, 0})(0, 0).re *= 1.0 + 1e-4;
  EXPECT_FALSE(single.passes(columns, single.options.shared.action));
}

/// A solver whose recurrence claims more than its solution holds, until it is told the tolerance of the true residual.
class drifting_solver final : public propagator_solver {
 public:
  explicit drifting_solver(propagator_solver& sound) : sound_(sound) {}
  const propagator_settings& settings() const override { return sound_.settings(); }
  void set_source(int column, const spinor_configuration& b) override { sound_.set_source(column, b); }
  bool set_sources(const spinor_array<const double>& b) override { return sound_.set_sources(b); }
  vectors_handle solutions() override { return sound_.solutions(); }
  void make_sources(const source_description& source, const std::vector<int>& components,
                    complex<double> phase) override {
    sound_.make_sources(source, components, phase);
  }
  propagator_report solve(const stopping_rule& rule, const schur_parameters& parameters) override {
    ++solves;
    true_tolerance = parameters.true_tolerance;
    return sound_.solve(rule, parameters);
  }
  void get_solution(int place, spinor_configuration& out) const override {
    sound_.get_solution(place, out);
    if (place == 3 && (solves == 1 || always_off || solves > off_from)) out(coordinate{1, 1, 1, 1})(2, 0).re += 1e-4;
  }
  std::optional<correlator_pair> correlators() const override { return {}; }
  std::unique_ptr<operator_trial> full_operator(bool inner) override { return sound_.full_operator(inner); }
  std::unique_ptr<operator_trial> schur_operator(bool inner) override { return sound_.schur_operator(inner); }
  std::string halo_policy() const override { return {}; }

  int solves = 0;
  bool always_off = false;
  int off_from = 1 << 30;  ///< solves after which it is off again
  double true_tolerance = 0.0;

 private:
  // Programs solve for their own sources.
  bool solves_even_systems() const override { return false; }
  precision numbers_of_solutions() const override { return precision::double_; }
  schur_report solve_checked(vectors&, const vectors&, const stopping_rule&, const vector_system&) override {
    throw std::logic_error("no vectors");
  }

  propagator_solver& sound_;
};

propagator_result solved_by(propagator_solver& solver, const solver_options& options) {
  run_control control(alone, std::numeric_limits<double>::infinity());
  progress_line silent(false);
  return solve_propagator({solver, *problem().device}, options, problem().links, alone, control, silent);
}

TEST(Solve, IsRepeatedWithCorrectionsWhereTheTrueResidualStaysAboveItsTolerance) {
  drifting_solver solver(*problem().solver);
  const propagator_result result = solved_by(solver, problem().options);
  EXPECT_TRUE(result.solved());
  EXPECT_EQ(solver.solves, 2);
  EXPECT_GE(solver.true_tolerance, problem().options.tolerance());
  EXPECT_LE(solver.true_tolerance, 1.1 * problem().options.tolerance());
}

TEST(Solve, IsNotPresentedAsSolvedWhereCorrectionsDoNotHelp) {
  drifting_solver solver(*problem().solver);
  solver.always_off = true;
  const propagator_result result = solved_by(solver, problem().options);
  EXPECT_FALSE(result.solved());
  EXPECT_EQ(solver.solves, 2);
  EXPECT_FALSE(result.results[3].solved());
  EXPECT_TRUE(result.results[4].solved());
}

TEST(Solve, IsTimedFromASourceOfItsOwnAndDrawnTimedSolutionsAreJudged) {
  const auto passes = [](const propagator_result& result) {
    return std::ranges::all_of(result.timed_residuals, [&, n = std::size_t{0}](double residual) mutable {
      return residual <= result.timed_tolerances[n++];
    });
  };
  solver_options options = problem().options;
  options.repeat = 2;
  drifting_solver solver(*problem().solver);
  const propagator_result sound = solved_by(solver, options);
  EXPECT_GT(sound.timed_residuals.size(), problem().result.results.size());  // columns of one solve, one of the other
  EXPECT_TRUE(passes(sound));
  EXPECT_LE(sound.norms_apart, 1e-14);
  drifting_solver late(*problem().solver);
  late.off_from = 2;  // the first solve and its correction are sound
  const propagator_result spoilt = solved_by(late, options);
  EXPECT_TRUE(spoilt.solved());
  EXPECT_FALSE(passes(spoilt));
}

TEST(BasisRotation, GoesThereAndBackAndKeepsThePion) {
  for (const gamma_basis basis :
       {gamma_basis::nonrelativistic, gamma_basis::dirac_pauli, gamma_basis::openqcd, gamma_basis::tmlqcd}) {
    cpu::propagator columns = problem().result.columns;
    rotate_basis(columns, basis_rotation(basis));
    const auto pion = cpu::pion_correlator(columns, alone),
               expected = cpu::pion_correlator(problem().result.columns, alone);
    for (std::size_t t = 0; t < pion.size(); ++t) EXPECT_NEAR(pion[t], expected[t], 1e-14 * expected[t]);
    rotate_basis(columns, adjoint(basis_rotation(basis)));
    double difference = 0.0;
    for (std::size_t n = 0; n < columns.size(); ++n)
      for (std::int64_t site = 0; site < problem().geometry.local_volume(); ++site)
        difference += norm2(columns[n].at_site(site) - problem().result.columns[n].at_site(site));
    EXPECT_LE(std::sqrt(difference), 1e-14);
  }
}

TEST(BasisRotation, TurnsBothSpins) {
  // Gamma_mu S of one basis becomes gamma'_mu S' of the other: tested on S = gamma_x, a constant matrix.
  const spin_matrix r = basis_rotation(gamma_basis::nonrelativistic), expected = r * gamma_matrix(0) * adjoint(r);
  cpu::propagator columns;
  for (int n = 0; n < cpu::spin_colours; ++n) {
    columns.emplace_back(problem().geometry);
    for (int a = 0; a < spins; ++a) columns.back()(coordinate{})(a, n % colours) = gamma_matrix(0)(a, n / colours);
  }
  rotate_basis(columns, r);
  for (int n = 0; n < cpu::spin_colours; ++n)
    for (int a = 0; a < spins; ++a) {
      const complex<double> found = columns[static_cast<std::size_t>(n)](coordinate{})(a, n % colours);
      EXPECT_NEAR(found.re, expected(a, n / colours).re, 1e-15);
      EXPECT_NEAR(found.im, expected(a, n / colours).im, 1e-15);
    }
}

}  // namespace
}  // namespace plaquette
