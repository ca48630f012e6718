// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The cycle of adaptive multigrid, for any number of levels. Each level is a preconditioner made of preconditioners:
/// it reads nothing on the host, allocates no field after construction, and does not know where the next level lives.
/// Brannick, Brower, Clark, Osborn, Rebbi, Phys. Rev. Lett. 100 (2008) 041601; Babich et al., Phys. Rev. Lett. 105
/// (2010) 201602; Clark et al. (SC16).
///
/// Every level iterates on the red-black Schur complement of its lattice. Its residual there is the residual of the
/// full system on the even sites (`full_residual`), whose odd part is zero: that is what goes to the coarser lattice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/algorithms/cycle_profile.hpp"
#include "common/algorithms/gcr_directions.hpp"
#include "common/algorithms/multigrid_parameters.hpp"
#include "common/algorithms/relaxation.hpp"

namespace plaquette {

/// A relaxation whose method is chosen at run time. Copies share the method.
template <field_batch F>
class any_relaxation {
 public:
  /// \param keeps  what r refers to, kept alive
  template <class R>
    requires(!std::same_as<std::remove_cvref_t<R>, any_relaxation>)
  explicit any_relaxation(R r, std::shared_ptr<const void> keeps = nullptr) {
    auto held = std::make_shared<const R>(std::move(r));
    solve_ = [held, keeps](F& x, const F& b) { held->solve(x, b); };
    improve_ = [held](F& x, const F& b) { held->improve(x, b); };
  }
  /// x = about A^-1 b. x is not read.
  void solve(F& x, const F& b) const { solve_(x, b); }
  /// x becomes a better solution of A x = b.
  void improve(F& x, const F& b) const { improve_(x, b); }

 private:
  std::function<void(F&, const F&)> solve_, improve_;
};

/// x = about M^-1 b on a coarse lattice, in two parts: `begin` takes b to where it is solved, `end` does the rest. What
/// the caller queues in between runs at the same time where the lattice lives elsewhere. Copies share everything.
template <field_batch F>
class coarse_solver {
 public:
  template <forward_operator<F> A>
  explicit coarse_solver(A a) {
    auto held = std::make_shared<const A>(std::move(a));
    if constexpr (requires(F& x, const F& b) {
                    held->begin(b);
                    held->end(x);
                  }) {
      begin_ = [held](const F& b) { held->begin(b); };
      end_ = [held](F& x, const F&) { held->end(x); };
    } else {
      begin_ = [](const F&) {};
      end_ = [held](F& x, const F& b) { held->apply(x, b); };
    }
  }
  void begin(const F& b) const { begin_(b); }
  void end(F& x, const F& b) const { end_(x, b); }
  void apply(F& x, const F& b) const {
    begin(b);
    end(x, b);
  }

 private:
  std::function<void(const F&)> begin_;
  std::function<void(F&, const F&)> end_;
};

/// One cycle on one grid: relax, restrict the residual, correct from the coarser grid, relax. (Brandt 1977)
/// \tparam System    Mhat of this level: apply, and full_residual(full, r), the residual of the full system on its even
///                   sites; without it r itself is that
/// \tparam Transfer  restrict_to(coarse, fine), prolong(fine, coarse), add_prolonged(fine, coarse)
template <field_batch Fine, class System, class Transfer, field_batch Coarse>
class multigrid_cycle {
 public:
  /// \param shape   a field of the red-black system, with as many columns as the widest batch
  /// \param before  absent: no relaxation before the coarse correction
  /// \param after   absent: none after it
  /// \param next    x = about M^-1 b for full fields of the coarser lattice
  /// \param correction  how this and `after` go together
  /// \param number  of this lattice in the profile
  multigrid_cycle(std::shared_ptr<const System> a, std::shared_ptr<const Transfer> transfer, const Fine& shape,
                  std::optional<any_relaxation<Fine>> before, std::optional<any_relaxation<Fine>> after,
                  coarse_solver<Coarse> next, correction_kind correction, std::shared_ptr<cycle_profile> profile,
                  std::size_t number)
      : a_(std::move(a)),
        transfer_(std::move(transfer)),
        before_(std::move(before)),
        after_(std::move(after)),
        next_(std::move(next)),
        correction_(correction),
        profile_(std::move(profile)),
        number_(number),
        ax_(like(shape)),
        rc_(transfer_->coarse_like(shape.columns())),
        ec_(transfer_->coarse_like(shape.columns())) {
    if (before_) r_.emplace(like(shape));
  }

  /// x = about Mhat^-1 b. x is not read.
  void apply(Fine& x, const Fine& b) const {
    Coarse rc = view(rc_, 0, b.columns()), ec = view(ec_, 0, b.columns());
    if (profile_->on) ++profile_->lattices.at(number_).cycles;
    profile_->timed(number_, &lattice_profile::whole, [&] {
      bool is_zero = !before_;  // x, so that r = b
      if (before_) profile_->timed(number_, &lattice_profile::smoothing, [&] { before_->solve(x, b); });
      profile_->timed(number_, &lattice_profile::transfer, [&] { restrict_residual(rc, x, b, is_zero); });
      if (correction_ == correction_kind::additive) {
        profile_->timed(number_, &lattice_profile::below, [&] { next_.begin(rc); });
        relax_after(x, b, is_zero);
        profile_->timed(number_, &lattice_profile::below, [&] { next_.end(ec, rc); });
        profile_->timed(number_, &lattice_profile::transfer, [&] { correct(x, ec, is_zero); });
      } else {
        profile_->timed(number_, &lattice_profile::below, [&] { next_.apply(ec, rc); });
        profile_->timed(number_, &lattice_profile::transfer, [&] { correct(x, ec, is_zero); });
        relax_after(x, b, is_zero);
      }
    });
  }

 private:
  void relax_after(Fine& x, const Fine& b, bool& is_zero) const {
    if (!after_) return;
    profile_->timed(number_, &lattice_profile::smoothing,
                    [&] { is_zero ? after_->solve(x, b) : after_->improve(x, b); });
    is_zero = false;
  }
  /// x += P e, or x = P e.
  void correct(Fine& x, const Coarse& ec, bool& is_zero) const {
    is_zero ? transfer_->prolong(x, ec) : transfer_->add_prolonged(x, ec);
    is_zero = false;
  }
  /// rc = P^+ (b - A x).
  void restrict_residual(Coarse& rc, const Fine& x, const Fine& b, bool is_zero) const {
    if (is_zero) return restrict_even(rc, b);
    Fine r = view(*r_, 0, b.columns()), ax = view(ax_, 0, b.columns());
    a_->apply(ax, x);
    subtract_norm2(r, b, ax);
    restrict_even(rc, r);
  }
  void restrict_even(Coarse& rc, const Fine& r) const {
    if constexpr (requires(Fine& f) { a_->full_residual(f, r); }) {
      Fine full = view(ax_, 0, r.columns());
      a_->full_residual(full, r);
      transfer_->restrict_to(rc, full);
    } else {
      transfer_->restrict_to(rc, r);
    }
  }

  std::shared_ptr<const System> a_;
  std::shared_ptr<const Transfer> transfer_;
  std::optional<any_relaxation<Fine>> before_, after_;
  coarse_solver<Coarse> next_;
  correction_kind correction_;
  std::shared_ptr<cycle_profile> profile_;
  std::size_t number_;
  mutable std::optional<Fine> r_;  ///< where there is relaxation before
  mutable Fine ax_;
  mutable Coarse rc_, ec_;
};

/// How GCR runs inside a cycle.
struct inner_gcr_parameters {
  int steps = 8;
  /// Ends early where every column's residual is below this fraction of its source: reads after each step, so only
  /// where answers are ready at once. 0: never reads.
  double tolerance = 0.0;
  step_hook between = nullptr;
};

/// x = about A^-1 b by flexible GCR from x = 0, a fixed number of steps with or without a preconditioner: the K-cycle,
/// where the preconditioner is the cycle of a level, and the solver of the coarsest. (Notay, Vassilevski 2008)
template <field_batch F, class A>
class inner_gcr {
  using scalars = typename F::scalars;

 public:
  inner_gcr(std::shared_ptr<const A> a, const F& shape, const inner_gcr_parameters& parameters,
            std::optional<any_operator<F>> inverse, std::shared_ptr<cycle_profile> profile, std::size_t number)
      : a_(std::move(a)),
        parameters_(parameters),
        inverse_(std::move(inverse)),
        profile_(std::move(profile)),
        number_(number),
        r_(like(shape)),
        one_(r_, 1.0) {
    if (parameters.steps < 1)
      throw input_error("multigrid: inner GCR needs at least 1 step, found " + std::to_string(parameters.steps));
    for (int k = 0; k < parameters.steps; ++k) p_.push_back(like(shape)), q_.push_back(like(shape));
  }

  void apply(F& x, const F& b) const {
    const int columns = b.columns();
    F r = view(r_, 0, columns);
    zero(x);
    copy(r, b);
    const bool watches = parameters_.tolerance > 0.0;
    std::vector<double> limits;
    if (watches)
      for (const auto& b2 : host_values(norm2(b)))
        limits.push_back(parameters_.tolerance * parameters_.tolerance * b2.re);
    detail::gcr_directions<F> kept;
    for (std::size_t m = 0; m < p_.size(); ++m) {
      if (parameters_.between) parameters_.between();
      kept.p.push_back(view(p_[m], 0, columns)), kept.q.push_back(view(q_[m], 0, columns));
      if (profile_->on) ++profile_->lattices.at(number_).krylov_steps;
      if (inverse_)
        inverse_->apply(kept.p[m], r);
      else
        copy(kept.p[m], r);
      const scalars step = orthogonalise(kept, r);
      if (m + 1 == p_.size()) {
        axpy(x, step, kept.p[m]);
        return;
      }
      const scalars rr = cg_update(x, r, step, kept.p[m], kept.q[m]);
      if (!watches) continue;
      const auto values = host_values(rr);
      bool done = true;
      for (std::size_t c = 0; c < values.size(); ++c) done = done && values[c].re <= limits[c];
      if (done) return;
    }
  }

 private:
  /// Takes the new direction in. Returns the step along it, <q, r> / |q|^2.
  scalars orthogonalise(detail::gcr_directions<F>& kept, const F& r) const {
    const auto [q_r, norm, norm_before] = kept.add(*a_, r, one_(r.columns()));
    kept.form_last();
    // Where only rounding is left of q, the direction is not used.
    constexpr double rounding = 16.0 * unit_roundoff(precision_of<F>);
    const std::vector<double> least(static_cast<std::size_t>(r.columns()), rounding * rounding);
    kept.qq.back() = norm * where_above(ratio(norm, norm_before), std::span<const double>(least));
    return ratio(q_r, kept.qq.back());
  }

  std::shared_ptr<const A> a_;
  inner_gcr_parameters parameters_;
  std::optional<any_operator<F>> inverse_;
  std::shared_ptr<cycle_profile> profile_;
  std::size_t number_;
  mutable F r_;
  number_for_any_width<scalars> one_;
  mutable std::vector<F> p_, q_;
};

/// x = about A^-1 b by a relaxation whose steps the profile counts: a solver of the coarsest lattice that never reads.
template <field_batch F>
struct counted_relaxation {
  any_relaxation<F> relaxation;
  std::shared_ptr<cycle_profile> profile;
  std::size_t number;  ///< of the lattice
  int steps;

  void apply(F& x, const F& b) const {
    if (profile->on) profile->lattices.at(number).krylov_steps += steps;
    relaxation.solve(x, b);
  }
};

/// x = about M^-1 b on all sites of a lattice, by way of its red-black system.
template <field_batch F, class System>
class red_black_inverse {
 public:
  /// \param inverse  of the red-black system
  /// \param shape    one of its fields, with as many columns as the widest batch
  red_black_inverse(std::shared_ptr<const System> a, const F& shape, any_operator<F> inverse)
      : a_(std::move(a)), inverse_(std::move(inverse)), x_(like(shape)), b_(like(shape)) {}

  void apply(F& x, const F& b) const {
    F x_even = view(x_, 0, b.columns()), b_even = view(b_, 0, b.columns());
    a_->prepare_source(b_even, b);
    inverse_.apply(x_even, b_even);
    a_->reconstruct_solution(x, x_even, b);
  }

 private:
  std::shared_ptr<const System> a_;
  any_operator<F> inverse_;
  mutable F x_, b_;
};

/// x = about M^-1 b on a lattice that is divided among ranks, by a solver of the same lattice that every rank holds
/// whole: b is gathered, all ranks solve alike, each takes its own sites.
/// \tparam Gather  gather(whole, part), take_part(part, whole)
template <field_batch F, class Gather>
class whole_lattice_solver {
 public:
  /// \param whole  a field of the whole lattice with as many columns as the widest batch
  whole_lattice_solver(any_operator<F> inverse, std::shared_ptr<const Gather> ranks, const F& whole)
      : inverse_(std::move(inverse)), ranks_(std::move(ranks)), b_(like(whole)), x_(like(whole)) {}

  void apply(F& x, const F& b) const {
    F all_b = view(b_, 0, b.columns()), all_x = view(x_, 0, b.columns());
    ranks_->gather(all_b, b);
    inverse_.apply(all_x, all_b);
    ranks_->take_part(x, all_x);
  }

 private:
  any_operator<F> inverse_;
  std::shared_ptr<const Gather> ranks_;
  mutable F b_, x_;
};

}  // namespace plaquette
