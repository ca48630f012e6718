// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The adaptive setup of multigrid: null vectors, coarse operators, and the cycle made of them. Written once for all
/// libraries: `Library` names the types and the few functions that differ.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algorithms/bicgstab.hpp"
#include "common/algorithms/conjugate_gradients.hpp"
#include "common/algorithms/deflation.hpp"
#include "common/algorithms/multigrid.hpp"
#include "common/algorithms/multigrid_parameters.hpp"
#include "common/algorithms/schwarz.hpp"

namespace plaquette {

/// Seconds since it was made, without those that found out how kernels are launched.
template <class Library>
class work_clock {
 public:
  explicit work_clock(const Library& library)
      : library_(library), tuned_(library.tuning_seconds()), start_(std::chrono::steady_clock::now()) {}
  double tuning_seconds() const { return library_.tuning_seconds() - tuned_; }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() - tuning_seconds();
  }

 private:
  const Library& library_;
  double tuned_;
  std::chrono::steady_clock::time_point start_;
};

/// What a setup says about itself.
struct multigrid_setup_report {
  double relaxation_seconds = 0;   ///< null vectors from random ones
  double refinement_seconds = 0;   ///< inverse iteration with the cycle
  double orthonormal_seconds = 0;  ///< of vectors on aggregates
  double galerkin_seconds = 0;     ///< products P^+ M P, inverses of diagonals
  std::int64_t replaced = 0;       ///< vectors that added nothing on an aggregate, over all levels
  int dropped = 0;                 ///< vectors that added nothing on any aggregate
  /// |M v| / |v|, smallest and largest of the null vectors of the finest lattice.
  double least_eigenvalue_estimate = 0, largest_of_null_space = 0;
};

/// The parts of a hierarchy of lattices. Library has
///   quark_field, coarse_field           field types of the cycle
///   quark_system, coarse_system         Mhat: apply, prepare_source, reconstruct_solution, (full_residual)
///   transfer, basis, matrices           P; its columns; P^+ M P
///   make_orthonormal(basis)             returns an `orthonormalisation`, or what has its `replaced` and `is_useless`
///   quark_domains, coarse_domains       schwarz_domains of Mhat and of matrices, given their shape
/// and the functions called below.
template <class Library>
class multigrid {
 public:
  using quark_field = typename Library::quark_field;
  using coarse_field = typename Library::coarse_field;
  using quark_system = typename Library::quark_system;
  using coarse_system = typename Library::coarse_system;
  using transfer = typename Library::transfer;
  using basis = typename Library::basis;
  using matrices = typename Library::matrices;

  /// One coarse lattice and the way to it.
  struct level {
    std::shared_ptr<const transfer> from_finer;
    std::shared_ptr<const basis> vectors;
    std::shared_ptr<const matrices> operator_numbers;
    std::shared_ptr<const coarse_system> system;
    /// P with null vectors in 16 bits, made when a cycle first reads it.
    mutable std::shared_ptr<const transfer> from_finer_in_16_bits = nullptr;
  };

  /// Makes null vectors and coarse operators. Collective.
  multigrid(const Library& library, const multigrid_parameters& parameters)
      : multigrid(library, parameters, without_levels{}) {
    const int count = parameters.coarsenings.front().vectors;
    quark_field v = timed(report_.relaxation_seconds, [&] {
      quark_field random = library.random_quarks(count, parameters.seed);
      relax(*library.system(), random);
      return random;
    });
    build(v);
    for (int pass = 0; pass < parameters.refinements; ++pass) {
      timed(report_.refinement_seconds, [&] { refine(v); });
      build(v);
    }
    note_quality(v);
  }

  /// From null vectors that are there already (a file, another mass): makes the coarse operators.
  /// \param coefficients  as the member function gives them
  multigrid(const Library& library, const multigrid_parameters& parameters, std::vector<basis> vectors,
            const std::vector<std::vector<complex<double>>>& coefficients)
      : multigrid(library, parameters, without_levels{}) {
    for (std::size_t number = 0; number < vectors.size(); ++number) {
      level next;
      timed(report_.galerkin_seconds, [&] {
        next.vectors = std::make_shared<const basis>(std::move(vectors[number]));
        take_vectors(next, number);
      });
      levels_.push_back(next);
    }
    coefficients_.emplace(levels_.front().from_finer->coarse_like(static_cast<int>(coefficients.size())));
    for (std::size_t k = 0; k < coefficients.size(); ++k)
      import_column(*coefficients_, static_cast<int>(k), std::span<const complex<double>>(coefficients[k]));
  }

  /// Improves null vectors that are there, by one more inverse iteration, and makes the coarse lattices anew: for
  /// vectors of another mass, or where the cycle converges slowly. Collective.
  void improve() {
    quark_field v = null_vectors();
    timed(report_.refinement_seconds, [&] { refine(v); });
    build(v);
    note_quality(v);
  }

  /// P^+ v of the null vectors of the finest lattice before they were made orthonormal, on this rank: a column each,
  /// [site][number]. v is P times that.
  std::vector<std::vector<complex<double>>> coefficients() const {
    std::vector<std::vector<complex<double>>> all;
    for (int k = 0; k < coefficients_->columns(); ++k) {
      all.emplace_back(static_cast<std::size_t>(coefficients_->sites() * coefficients_->components()));
      export_column(std::span(all.back()), *coefficients_, k);
    }
    return all;
  }

  /// The null vectors of the finest lattice, from what is kept of them.
  quark_field null_vectors() const {
    quark_field v = library_.random_quarks(coefficients_->columns(), 0);
    levels_.front().from_finer->prolong(v, *coefficients_);
    return v;
  }

  /// What makes a level: its columns of P and its operator.
  struct made_level {
    basis vectors;
    matrices numbers;
  };
  /// Of levels that are there: those of another library, say.
  multigrid(const Library& library, const multigrid_parameters& parameters, std::vector<made_level> made)
      : multigrid(library, parameters, without_levels{}) {
    for (made_level& from : made) {
      level next;
      next.vectors = std::make_shared<const basis>(std::move(from.vectors));
      next.from_finer = library_.make_transfer(*next.vectors);
      next.operator_numbers = std::make_shared<const matrices>(std::move(from.numbers));
      next.system = library_.make_system(*next.operator_numbers);
      levels_.push_back(next);
    }
  }

  const std::vector<level>& levels() const { return levels_; }
  const multigrid_setup_report& report() const { return report_; }
  const multigrid_parameters& parameters() const { return parameters_; }
  const Library& library() const { return library_; }
  /// Of all cycles of this object.
  cycle_profile& profile() const { return *profile_; }

  /// x = about Mhat^-1 b for even fields of quarks, of `columns` columns or fewer.
  any_operator<quark_field> cycle(int columns) const {
    return cycle_in(library_.system(), library_.working_quarks(columns));
  }
  /// x = about M^-1 b for full fields of the coarse lattice `number`, of `columns` columns or fewer.
  any_operator<coarse_field> coarse_inverse(std::size_t number, int columns) const {
    if (is_whole(number)) return any_operator<coarse_field>(gathered_solver(number, columns));
    return inverse_of(number, columns);
  }

  /// Finds the polynomials with which cycles that are made from here on relax, where that is wanted: the mean
  /// coefficients of CA-GCR in cycles on a random right-hand side, x += alpha B r, r = b - A x, alpha such that |r|
  /// falls as much as it can (an additive correction needs that). M is gamma_5-Hermitian, its eigenvalues come in
  /// conjugate pairs, and the coefficients of the best polynomial are real. Collective.
  void learn_polynomials() {
    if (parameters_.smoother != smoother_kind::polynomial ||
        std::ranges::all_of(places_of_polynomials(),
                            [this](const auto& place) { return parameters_.polynomials.contains(place); }))
      return;
    constexpr int rounds = 6, ignored = 1;
    heard_ = std::make_shared<heard_numbers>();
    const auto& a = *library_.system();
    quark_field r = library_.working_quarks(1), x = like(r), ax = like(r);
    library_.take_working_sites(r, library_.random_quarks(1, parameters_.seed + 996));
    {
      const auto inverse = cycle(1);
      for (int round = 0; round < rounds + ignored; ++round) {
        if (round == ignored) heard_->clear();
        inverse.apply(x, r);
        const auto [ax_r, ax2] = apply_dot_norm2(a, ax, x, r);
        axpy(r, -ratio(ax_r, ax2), ax);
      }
    }
    for (const auto& [place, calls] : *heard_) {
      std::vector<double> mean(calls.front().size());
      for (const auto& numbers : calls)
        for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += numbers[j] / static_cast<double>(calls.size());
      if (std::ranges::all_of(mean, [](double c) { return std::isfinite(c); })) parameters_.polynomials[place] = mean;
    }
    heard_.reset();
    for (const auto& place : places_of_polynomials()) parameters_.polynomials.try_emplace(place);
  }

  /// Of cycles that are made from here on.
  void use_cycle(const cycle_shape& shape) {
    if (shape.additive_on != parameters_.additive_on) parameters_.polynomials.clear();  // they met other residuals
    parameters_.set_shape(shape);
  }

  /// Every rank holds the lattices from `number` on whole, in cycles that are made from here on; 0: none.
  void use_whole_lattices(std::size_t number) { parameters_.whole_from = number; }

  /// x = about M^-1 b on a coarse lattice, made for a number of columns.
  using solver_maker = std::function<coarse_solver<coarse_field>(int columns)>;
  /// Cycles that are made from here on solve the lattices from `number` on by what `make` gives, in another library,
  /// say. Without `make` they are solved here.
  void solve_elsewhere(std::size_t number, solver_maker make) {
    first_elsewhere_ = number;
    elsewhere_ = std::move(make);
  }

  /// The same in another precision on the finest lattice.
  /// \param a      Mhat in it, of the kind of `Library::quark_system`
  /// \param shape  an even field of as many columns as the widest batch
  template <class System, field_batch F>
  any_operator<F> cycle_in(std::shared_ptr<const System> a, const F& shape) const {
    return any_operator<F>(cycle_of<F>(std::move(a), shape, 0, shape.columns()));
  }

 private:
  struct without_levels {};
  multigrid(const Library& library, const multigrid_parameters& parameters, without_levels)
      : library_(library), parameters_(parameters) {
    profile_->lattices.resize(parameters.coarsenings.size() + 1);
    profile_->finish = [library] { library.finish(); };
  }

  /// Runs body, adding its seconds. Returns what it returns.
  template <class Body>
  auto timed(double& seconds, Body&& body) const {
    const work_clock watch(library_);
    const auto stop = [&] {
      library_.finish();
      seconds += watch.seconds();
    };
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      stop();
    } else {
      auto made = body();
      stop();
      return made;
    }
  }

  /// Calls body(part) for so many columns of v at a time that their workspace is not many times the vectors.
  template <class F, class Body>
  void for_each_group(F& v, const Body& body) const {
    for (int first = 0; first < v.columns(); first += parameters_.setup_batch) {
      if (parameters_.between_parts) parameters_.between_parts();
      F part = view(v, first, std::min(parameters_.setup_batch, v.columns() - first));
      body(part);
    }
  }

  /// M v = 0 from random v, on the red-black system: a Krylov solver for the correction, or a polynomial. (They take
  /// out what is quick to converge; what stays is the null space.)
  template <class System, class F>
  void relax(const System& a, F& v) const {
    for_each_group(v, [&](F& part) {
      F zero_source = like(part);
      zero(zero_source);
      F even = a.even_like(part), r = like(even), correction = like(even);
      library_.take_working_sites(even, part);
      stopping_rule rule;
      rule.tolerance = parameters_.relaxation_tolerance;
      rule.limit = parameters_.relaxation_iterations;
      rule.guess_is_zero = true;
      rule.interrupted = [this] {
        if (parameters_.between_parts) parameters_.between_parts();
        return false;
      };
      if (rule.limit > 0 && parameters_.relaxation == null_vector_solver::chebyshev) {
        filter(a, even, rule.limit, parameters_.between_parts);
      } else if (rule.limit > 0) {
        a.apply(r, even);
        zero(correction);
        parameters_.relaxation == null_vector_solver::cgnr ? cgnr(a, correction, r, rule)
                                                           : bicgstab(a, correction, r, rule);
        axpy(even, uniform_scalars(even, -1.0), correction);
      }
      F random = like(part);
      copy(random, part);
      a.reconstruct_solution(part, even, zero_source);
      keep_where_nothing_is_left(part, random);
    });
    normalise_columns(v);
  }

  /// Where only rounding is left of a column, as with heavy quarks, it becomes that of `random` again.
  template <class F>
  static void keep_where_nothing_is_left(F& v, F& random) {
    constexpr double rounding = 16.0 * unit_roundoff(precision_of<F>);
    const auto both = host_values_of(std::vector{norm2(v), norm2(random)});
    for (int c = 0; c < v.columns(); ++c) {
      const auto k = static_cast<std::size_t>(c);
      if (both[0][k].re > rounding * rounding * both[1][k].re) continue;
      F to = view(v, c, 1);
      copy(to, view(random, c, 1));
    }
  }

  /// v becomes T_d(z(A^+ A)) v, d = degree. z maps [lowest, highest] to [-1, 1]; below T_d grows, at zero to nearly
  /// cosh(2 d sqrt(lowest / highest)).
  template <class System, class F>
  static void filter(const System& a, F& v, int degree, const std::function<void()>& between) {
    // The wanted modes are in the lowest fiftieth of the spectrum. They are to grow by three digits at least, and by no
    // more than single precision holds.
    const auto fraction = [&](double growth) { return std::pow(std::acosh(growth) / (2.0 * degree), 2); };
    const double wanted = std::min(std::clamp(0.02, fraction(1e3), fraction(1e24)), 0.5);
    F scratch = like(v);
    const auto squared = [&](F& out, const F& in) {
      if (between) between();
      F some = view(scratch, 0, in.columns());
      detail::apply_squared(a, out, some, in);
    };
    // Ten steps find it from below, and T_d grows steeply above it: a wide margin.
    const double highest = 1.5 * detail::highest_eigenvalue(squared, view(v, 0, 1));
    apply_chebyshev(squared, v, degree, wanted * highest, highest);
  }

  /// v = about M^-1 v.
  void refine(quark_field& v) const {
    const int columns = std::min(parameters_.setup_batch, v.columns());
    red_black_inverse<quark_field, quark_system> inverse(library_.system(), library_.working_quarks(columns),
                                                         cycle(columns));
    for_each_group(v, [&](quark_field& part) {
      quark_field x = like(part);
      inverse.apply(x, part);
      copy(part, x);
    });
    normalise_columns(v);
  }

  /// What cycles of a lattice call between steps. It is collective, so nothing where ranks are by themselves.
  step_hook between_steps(std::size_t number) const {
    return library_.answers_at_once() && !is_whole(number) ? parameters_.between_parts : nullptr;
  }

  /// Whether every rank holds the lattice whole.
  bool is_whole(std::size_t number) const {
    const std::size_t first = parameters_.whole_from;
    return first > 0 && number >= first && library_.get_context().comm().size() > 1;
  }
  /// Returns the library of a coarse lattice.
  Library coarse_library(std::size_t number) const { return is_whole(number) ? library_.alone() : library_; }
  /// Returns the coarse lattice `number` as cycles have it. Makes whole ones at the first call: collective then.
  const level& level_of(std::size_t number) const {
    if (!is_whole(number)) return levels_[number - 1];
    whole_levels_.resize(levels_.size());
    level& made = whole_levels_[number - 1];
    const level& part = levels_[number - 1];
    const Library alone = library_.alone();
    // The columns of P lead from the lattice above, which is whole too, but for the first.
    if (is_whole(number - 1) && !made.from_finer) {
      made.vectors = std::make_shared<const basis>(library_.whole(*part.vectors));
      made.from_finer = alone.make_transfer(*made.vectors);
    }
    if (!made.system) {
      made.operator_numbers = std::make_shared<const matrices>(library_.whole(*part.operator_numbers));
      made.system = alone.make_system(*made.operator_numbers);
    }
    return made;
  }

  /// Takes out of v what adds nothing.
  void build(quark_field& v) {
    levels_.clear();
    whole_levels_.clear();
    parameters_.polynomials.clear();
    add_level(v, 0);
    coefficients_.emplace(levels_.front().from_finer->coarse_like(v.columns()));
    levels_.front().from_finer->restrict_to(*coefficients_, v);
  }

  /// Adds the lattice that vectors v of the one above make, and those below. The null vectors of a coarse lattice are
  /// those of the finer one as it sees them.
  template <class Fine>
  void add_level(Fine& v, std::size_t number) {
    coarsening& c = parameters_.coarsenings[number];
    level next;
    timed(report_.orthonormal_seconds, [&] { next.vectors = orthonormal_columns(v, c.aggregate); });
    c.vectors = v.columns();
    timed(report_.galerkin_seconds, [&] { take_vectors(next, number); });
    levels_.push_back(next);
    if (number + 1 == parameters_.coarsenings.size()) return;

    const int wanted = parameters_.coarsenings[number + 1].vectors;
    coarse_field below = next.from_finer->coarse_like(wanted);
    if (wanted > v.columns()) {
      timed(report_.relaxation_seconds, [&] {
        library_.fill_random(below, parameters_.seed);
        relax(*next.system, below);
      });
    }
    const int taken = std::min(wanted, v.columns());
    coarse_field some = view(below, 0, taken);
    next.from_finer->restrict_to(some, view(v, 0, taken));
    add_level(below, number + 1);
  }

  /// The columns of P that vectors v make. A vector that adds nothing on any aggregate to those before it is taken out
  /// of v: random numbers in its place are no null vector.
  template <class Fine>
  std::shared_ptr<const basis> orthonormal_columns(Fine& v, const extents& aggregate) {
    for (;;) {
      auto vectors = library_.gather(v, aggregate);
      const auto found = library_.make_orthonormal(vectors);
      std::vector<int> keep;
      for (int k = 0; k < v.columns(); ++k)
        if (!found.is_useless(k)) keep.push_back(k);
      if (std::ssize(keep) == v.columns()) {
        report_.replaced += found.replaced();
        return std::make_shared<const basis>(std::move(vectors));
      }
      if (keep.empty())
        throw input_error("multigrid: no null vector of " + std::to_string(v.columns()) +
                          " adds anything to the others; is the operator finite and not zero?");
      report_.dropped += v.columns() - static_cast<int>(keep.size());
      v = gather_columns(v, keep);
    }
  }

  /// Makes transfer and operator of a level whose vectors are there.
  void take_vectors(level& next, std::size_t number) const {
    next.from_finer = library_.make_transfer(*next.vectors);
    next.operator_numbers = std::make_shared<const matrices>(
        number == 0 ? library_.galerkin(*next.vectors)
                    : library_.galerkin(*levels_[number - 1].operator_numbers, *next.vectors));
    next.system = library_.make_system(*next.operator_numbers);
  }

  void note_quality(const quark_field& v) {
    quark_field mv = like(v);
    library_.apply_full(mv, v);
    const auto m2 = host_values(norm2(mv)), v2 = host_values(norm2(v));
    report_.least_eigenvalue_estimate = 1e300;
    report_.largest_of_null_space = 0.0;
    for (std::size_t k = 0; k < m2.size(); ++k) {
      const double gain = std::sqrt(m2[k].re / v2[k].re);
      report_.least_eigenvalue_estimate = std::min(report_.least_eigenvalue_estimate, gain);
      report_.largest_of_null_space = std::max(report_.largest_of_null_space, gain);
    }
  }

  /// CA-GCR, or the polynomial that it was on average where that is wanted and known.
  template <class F, class System>
  any_relaxation<F> by_polynomials(std::shared_ptr<const System> a, const F& shape, std::size_t number,
                                   int steps) const {
    const multigrid_parameters& p = parameters_;
    const auto known = p.polynomials.find({number, steps});
    if (p.smoother == smoother_kind::polynomial && known != p.polynomials.end() && !known->second.empty() && !heard_)
      return any_relaxation<F>(polynomial_relaxation(*a, shape, known->second), a);
    if (!heard_ || steps > longest_polynomial)
      return any_relaxation<F>(ca_gcr_relaxation(*a, shape, steps, p.steps_at_a_time, nullptr, between_steps(number)),
                               a);
    const auto listen = [all = heard_, number, steps](const auto& c) {
      std::vector<double> numbers;
      for (const auto& values : host_values_of(c)) numbers.push_back(values[0].re);
      (*all)[{number, steps}].push_back(std::move(numbers));
    };
    return any_relaxation<F>(ca_gcr_relaxation(*a, shape, steps, steps, listen), a);
  }

  /// A relaxation of `steps` steps on lattice `number`.
  template <class F, class System>
  any_relaxation<F> smoother(std::shared_ptr<const System> a, const F& shape, std::size_t number, int steps) const {
    const multigrid_parameters& p = parameters_;
    switch (p.smoother) {
      case smoother_kind::mr:
        return any_relaxation<F>(mr_relaxation(*a, shape, steps, p.relaxation_factor, between_steps(number)), a);
      case smoother_kind::gcr:
        return any_relaxation<F>(gcr_relaxation(*a, shape, steps, between_steps(number)), a);
      case smoother_kind::ca_gcr:
      case smoother_kind::polynomial:
        return by_polynomials<F>(a, shape, number, steps);
      default:
        return any_relaxation<F>(
            schwarz_relaxation(*a, shape, domains<F>(*a, number), steps, p.domain_steps, between_steps(number)), a);
    }
  }

  /// The aggregates of lattice `number` as domains.
  template <class F, class System>
  schwarz_domains<F> domains(const System& a, std::size_t number) const {
    const extents& shape = parameters_.coarsenings[number].aggregate;
    const auto chosen = [&](schwarz_domains<F> made) {
      if (parameters_.smoother == smoother_kind::additive_schwarz) made.colours.clear();
      return made;
    };
    if constexpr (std::same_as<F, coarse_field>)
      if (number > 0) return chosen(coarse_library(number).coarse_domains(*level_of(number).operator_numbers, shape));
    if constexpr (requires { library_.quark_domains(a, shape); }) return chosen(library_.quark_domains(a, shape));
    throw error(exit_status::internal_error, "multigrid: domains of a lattice without an operator");
  }

  /// P as the cycle of lattice `number` reads it, whose fields there are F.
  template <class F>
  std::shared_ptr<const transfer> transfer_of(std::size_t number) const {
    // A divided lattice leads to a divided one, whose sites are gathered behind it.
    const level& next = is_whole(number) ? level_of(number + 1) : levels_[number];
    if constexpr (requires { library_.make_transfer_in_16_bits(*next.vectors); })
      if (parameters_.vectors_in_16_bits && Library::template relaxes_in_16_bits<F>) {
        if (!next.from_finer_in_16_bits)
          next.from_finer_in_16_bits = coarse_library(number).make_transfer_in_16_bits(*next.vectors);
        return next.from_finer_in_16_bits;
      }
    return next.from_finer;
  }

  /// The cycle of lattice `number`, 0 the finest, which is not the coarsest.
  template <class F, class System>
  auto cycle_of(std::shared_ptr<const System> a, const F& shape, std::size_t number, int columns) const {
    const auto some = [&](const std::vector<int>& steps) -> std::optional<any_relaxation<F>> {
      const int count = multigrid_parameters::on_lattice(steps, number);
      if (count > 0) return smoother(a, shape, number, count);
      return std::nullopt;
    };
    return multigrid_cycle<F, System, transfer, coarse_field>(
        a, transfer_of<F>(number), shape, some(parameters_.steps_before), some(parameters_.steps_after),
        solver_of(number + 1, columns),
        parameters_.additive_on == number ? correction_kind::additive : correction_kind::multiplicative, profile_,
        number);
  }

  /// x = about Mhat^-1 b on the coarsest lattice.
  any_operator<coarse_field> coarsest_solver(const std::shared_ptr<const coarse_system>& a,
                                             const coarse_field& shape) const {
    const multigrid_parameters& p = parameters_;
    const double tolerance = library_.answers_at_once() ? p.coarsest_tolerance : 0.0;
    any_operator<coarse_field> steps =
        p.coarsest == coarsest_kind::gcr
            ? any_operator<coarse_field>(inner_gcr<coarse_field, coarse_system>(
                  a, shape, {p.coarsest_steps, tolerance, between_steps(levels_.size())}, std::nullopt, profile_,
                  levels_.size()))
            : any_operator<coarse_field>(counted_relaxation<coarse_field>{
                  any_relaxation<coarse_field>(ca_gcr_relaxation(*a, shape, p.coarsest_steps, p.steps_at_a_time,
                                                                 nullptr, between_steps(levels_.size())),
                                               a),
                  profile_, levels_.size(), p.coarsest_steps});
    if (p.coarsest_modes == 0) return steps;
    if (modes_of_ != a) {
      coarse_field v = like(shape, p.coarsest_modes + std::max(2, p.coarsest_modes / 4));
      library_.fill_random(v, p.seed + 1);
      modes_.emplace(lowest_singular_vectors(*a, v, p.coarsest_modes, 6, 16,
                                             is_whole(levels_.size()) ? nullptr : p.between_parts));
      modes_of_ = a;
    }
    return any_operator<coarse_field>(
        deflated_solver<coarse_field, coarse_system>(a, shape, *modes_, std::move(steps)));
  }

  /// The coarse lattice `number`, here or elsewhere.
  coarse_solver<coarse_field> solver_of(std::size_t number, int columns) const {
    if (elsewhere_ && number == first_elsewhere_) return elsewhere_(columns);
    if (is_whole(number) && !is_whole(number - 1)) return coarse_solver<coarse_field>(gathered_solver(number, columns));
    return coarse_solver<coarse_field>(inverse_of(number, columns));
  }

  /// The same on the first lattice that every rank holds whole, for fields that are divided.
  auto gathered_solver(std::size_t number, int columns) const {
    using gather = typename Library::gather_of_lattice;
    const level& whole = level_of(number);
    if (!gather_ || gather_of_ != whole.system) {
      gather_ = library_.make_gather(*levels_[number - 1].system, *whole.system);
      gather_of_ = whole.system;
    }
    return whole_lattice_solver<coarse_field, gather>(inverse_of(number, columns), gather_,
                                                      whole.system->full_field(columns));
  }

  /// x = about M^-1 b on the coarse lattice `number`, solved here.
  any_operator<coarse_field> inverse_of(std::size_t number, int columns) const {
    const auto a = level_of(number).system;
    const coarse_field shape = a->working_field(columns);
    using gcr = inner_gcr<coarse_field, coarse_system>;
    const auto on_red_black = [&](auto inverse) {
      return any_operator<coarse_field>(
          red_black_inverse<coarse_field, coarse_system>(a, shape, any_operator<coarse_field>(std::move(inverse))));
    };
    const double watches = library_.answers_at_once() ? 1.0 : 0.0;
    if (number == levels_.size()) return on_red_black(coarsest_solver(a, shape));
    auto inner = cycle_of<coarse_field>(a, shape, number, columns);
    if (parameters_.cycle == cycle_kind::v) return on_red_black(std::move(inner));
    const int steps = parameters_.cycle == cycle_kind::w ? 2 : parameters_.k_steps;
    return on_red_black(gcr(a, shape, {steps, watches * parameters_.k_tolerance, between_steps(number)},
                            any_operator<coarse_field>(std::move(inner)), profile_, number));
  }

  /// Powers of A times r grow more parallel, in 16 bits before long.
  static constexpr int longest_polynomial = 8;
  using place_of_polynomial = std::pair<std::size_t, int>;  ///< lattice and number of steps
  std::vector<place_of_polynomial> places_of_polynomials() const {
    const multigrid_parameters& p = parameters_;
    std::vector<place_of_polynomial> places;
    for (std::size_t number = 0; number < p.coarsenings.size(); ++number)
      for (const auto* list : {&p.steps_before, &p.steps_after}) {
        const int steps = multigrid_parameters::on_lattice(*list, number);
        if (steps > 0 && steps <= longest_polynomial) places.emplace_back(number, steps);
      }
    return places;
  }

  /// Coefficients of CA-GCR, call by call, by lattice and number of steps.
  using heard_numbers = std::map<place_of_polynomial, std::vector<std::vector<double>>>;

  Library library_;
  multigrid_parameters parameters_;
  std::shared_ptr<heard_numbers> heard_;  ///< while there is something to learn
  std::vector<level> levels_;
  mutable std::vector<level> whole_levels_;  ///< those that every rank holds whole, where they are there
  mutable std::shared_ptr<const typename Library::gather_of_lattice> gather_;
  mutable std::shared_ptr<const coarse_system> gather_of_;  ///< the whole lattice that it leads to
  std::optional<coarse_field> coefficients_;
  std::size_t first_elsewhere_ = 0;
  solver_maker elsewhere_;
  mutable std::shared_ptr<const coarse_system> modes_of_;  ///< whose the modes are
  mutable std::optional<singular_vectors<coarse_field>> modes_;
  mutable multigrid_setup_report report_;
  std::shared_ptr<cycle_profile> profile_ = std::make_shared<cycle_profile>();
};

}  // namespace plaquette
