// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The cycle of adaptive multigrid, for any number of levels. Each level is a preconditioner made of preconditioners:
/// it reads nothing on the host, allocates no field after construction, and does not know where the next level lives.
/// Brannick, Brower, Clark, Osborn, Rebbi, Phys. Rev. Lett. 100 (2008) 041601; Babich et al., Phys. Rev. Lett. 105
/// (2010) 201602; Clark et al. (SC16).
///
/// Every level iterates on the red-black Schur complement of its lattice. Its residual there is the residual of the
/// full system on the even sites (`full_residual`), whose odd part is zero. The full residual goes to the coarser
/// lattice.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "common/concepts.hpp"
#include "common/multigrid/multigrid_parameters.hpp"

namespace plaquette {

/// A relaxation whose method is chosen at run time. Copies share the method.
template <field_batch Field>
class any_relaxation {
 public:
  /// \param keeps  what r refers to, kept alive
  template <class R>
    requires(!std::same_as<std::remove_cvref_t<R>, any_relaxation>)
  explicit any_relaxation(R r, std::shared_ptr<const void> keeps = nullptr) {
    auto held = std::make_shared<const R>(std::move(r));
    solve_ = [held, keeps](Field& x, const Field& b) { held->solve(x, b); };
    improve_ = [held](Field& x, const Field& b) { held->improve(x, b); };
  }
  /// x = about A^-1 b. x is not read.
  void solve(Field& x, const Field& b) const { solve_(x, b); }
  /// x becomes a better solution of A x = b.
  void improve(Field& x, const Field& b) const { improve_(x, b); }
  void apply(Field& x, const Field& b) const { solve(x, b); }

 private:
  std::function<void(Field&, const Field&)> solve_, improve_;
};

/// x = about M^-1 b on a coarse lattice, in two parts: `begin` copies b to the device of the lattice, `end` does the
/// rest. If that is another device, work that the caller queues in between runs at the same time. Copies share
/// everything.
template <field_batch Field>
class coarse_solver {
 public:
  template <forward_operator<Field> A>
  explicit coarse_solver(A a) {
    auto held = std::make_shared<const A>(std::move(a));
    if constexpr (requires(Field& x, const Field& b) {
                    held->begin(b);
                    held->end(x);
                  }) {
      begin_ = [held](const Field& b) { held->begin(b); };
      end_ = [held](Field& x, const Field&) { held->end(x); };
    } else {
      begin_ = [](const Field&) {};
      end_ = [held](Field& x, const Field& b) { held->apply(x, b); };
    }
  }
  coarse_solver(std::function<void(const Field& b)> begin, std::function<void(Field& x, const Field& b)> end)
      : begin_(std::move(begin)), end_(std::move(end)) {}

  void begin(const Field& b) const { begin_(b); }
  void end(Field& x, const Field& b) const { end_(x, b); }
  void apply(Field& x, const Field& b) const {
    begin(b);
    end(x, b);
  }

 private:
  std::function<void(const Field&)> begin_;
  std::function<void(Field&, const Field&)> end_;
};

/// The way between a lattice, of whose red-black system the fields are, and the next coarser one.
template <field_batch Fine, field_batch Coarse>
class grid_transfer {
 public:
  virtual ~grid_transfer() = default;
  /// rc = P^+ b.
  virtual void restrict_source(Coarse& rc, const Fine& b) const = 0;
  /// rc = P^+ (b - A x).
  virtual void restrict_residual(Coarse& rc, const Fine& x, const Fine& b) const = 0;
  /// x = P ec.
  virtual void prolong(Fine& x, const Coarse& ec) const = 0;
  /// x += P ec.
  virtual void add_prolonged(Fine& x, const Coarse& ec) const = 0;
};

/// The same, of a system and the columns of P.
/// \tparam System    Mhat of this level: apply, and full_residual(full, r), the residual of the full system on its even
///                   sites; without it r itself is that
/// \tparam Transfer  restrict_to(coarse, fine), prolong(fine, coarse), add_prolonged(fine, coarse)
template <field_batch Fine, class System, class Transfer, field_batch Coarse>
class residual_transfer final : public grid_transfer<Fine, Coarse> {
 public:
  /// \param shape      a field of the red-black system, with as many columns as the widest batch
  /// \param residuals  whether restrict_residual will be called
  residual_transfer(std::shared_ptr<const System> a, std::shared_ptr<const Transfer> transfer, const Fine& shape,
                    bool residuals)
      : a_(std::move(a)), transfer_(std::move(transfer)), ax_(like(shape)) {
    if (residuals) r_.emplace(like(shape));
  }

  void restrict_source(Coarse& rc, const Fine& b) const override {
    if constexpr (requires(Fine& f) { a_->full_residual(f, b); }) {
      Fine full = view(ax_, 0, b.columns());
      a_->full_residual(full, b);
      transfer_->restrict_to(rc, full);
    } else {
      transfer_->restrict_to(rc, b);
    }
  }
  void restrict_residual(Coarse& rc, const Fine& x, const Fine& b) const override {
    Fine r = view(*r_, 0, b.columns()), ax = view(ax_, 0, b.columns());
    a_->apply(ax, x);
    subtract_norm2(r, b, ax);
    restrict_source(rc, r);
  }
  void prolong(Fine& x, const Coarse& ec) const override { transfer_->prolong(x, ec); }
  void add_prolonged(Fine& x, const Coarse& ec) const override { transfer_->add_prolonged(x, ec); }

 private:
  std::shared_ptr<const System> a_;
  std::shared_ptr<const Transfer> transfer_;
  mutable Fine ax_;
  mutable std::optional<Fine> r_;
};

/// The parts of a cycle. S stands for a relaxation, Ac^-1 for the solver of the coarser lattice.
template <field_batch Fine, field_batch Coarse>
struct cycle_parts {
  std::optional<any_relaxation<Fine>> before, after;  ///< of the coarse correction; absent: none
  std::shared_ptr<const grid_transfer<Fine, Coarse>> transfer;
  coarse_solver<Coarse> next;
  mutable Coarse rc, ec;  ///< workspace, as wide as the widest batch

  std::pair<Coarse, Coarse> coarse_pair(int columns) const { return {view(rc, 0, columns), view(ec, 0, columns)}; }
};

/// Relaxation, coarse correction, relaxation. (Brandt 1977) Each cycle gives x = about Mhat^-1 b; x is not read.
template <field_batch Fine, field_batch Coarse>
class multiplicative_cycle {
 public:
  /// \param parts  with a relaxation before
  explicit multiplicative_cycle(cycle_parts<Fine, Coarse> parts) : with_(std::move(parts)) {}

  void apply(Fine& x, const Fine& b) const {
    auto [rc, ec] = with_.coarse_pair(b.columns());
    with_.before->solve(x, b);                    // x = S b
    with_.transfer->restrict_residual(rc, x, b);  // rc = P^+ (b - A x)
    with_.next.apply(ec, rc);                     // ec = about Ac^-1 rc
    with_.transfer->add_prolonged(x, ec);         // x += P ec
    if (with_.after) with_.after->improve(x, b);  // x += S (b - A x)
  }

 private:
  cycle_parts<Fine, Coarse> with_;
};

/// Coarse correction of x = 0, relaxation.
template <field_batch Fine, field_batch Coarse>
class multiplicative_cycle_from_zero {
 public:
  /// \param parts  without a relaxation before
  explicit multiplicative_cycle_from_zero(cycle_parts<Fine, Coarse> parts) : with_(std::move(parts)) {}

  void apply(Fine& x, const Fine& b) const {
    auto [rc, ec] = with_.coarse_pair(b.columns());
    with_.transfer->restrict_source(rc, b);       // rc = P^+ b
    with_.next.apply(ec, rc);                     // ec = about Ac^-1 rc
    with_.transfer->prolong(x, ec);               // x = P ec
    if (with_.after) with_.after->improve(x, b);  // x += S (b - A x)
  }

 private:
  cycle_parts<Fine, Coarse> with_;
};

/// Relaxation, then coarse correction and relaxation of the same residual at the same time (correction_kind).
template <field_batch Fine, field_batch Coarse>
class additive_cycle {
 public:
  /// \param parts  with a relaxation before and one after
  explicit additive_cycle(cycle_parts<Fine, Coarse> parts) : with_(std::move(parts)) {}

  void apply(Fine& x, const Fine& b) const {
    auto [rc, ec] = with_.coarse_pair(b.columns());
    with_.before->solve(x, b);                    // x = S b
    with_.transfer->restrict_residual(rc, x, b);  // rc = P^+ (b - A x)
    with_.next.begin(rc);
    with_.after->improve(x, b);            // x += S (b - A x), while
    with_.next.end(ec, rc);                // ec = about Ac^-1 rc
    with_.transfer->add_prolonged(x, ec);  // x += P ec
  }

 private:
  cycle_parts<Fine, Coarse> with_;
};

/// Coarse correction and relaxation of x = 0 at the same time.
template <field_batch Fine, field_batch Coarse>
class additive_cycle_from_zero {
 public:
  /// \param parts  without a relaxation before, and with one after
  explicit additive_cycle_from_zero(cycle_parts<Fine, Coarse> parts) : with_(std::move(parts)) {}

  void apply(Fine& x, const Fine& b) const {
    auto [rc, ec] = with_.coarse_pair(b.columns());
    with_.transfer->restrict_source(rc, b);  // rc = P^+ b
    with_.next.begin(rc);
    with_.after->solve(x, b);              // x = S b, while
    with_.next.end(ec, rc);                // ec = about Ac^-1 rc
    with_.transfer->add_prolonged(x, ec);  // x += P ec
  }

 private:
  cycle_parts<Fine, Coarse> with_;
};

/// Returns the cycle that has these parts. Without relaxation after it, an additive correction is a multiplicative one.
template <field_batch Fine, field_batch Coarse>
any_operator<Fine> make_cycle(cycle_parts<Fine, Coarse> parts, correction_kind correction) {
  const bool from_zero = !parts.before;
  if (correction == correction_kind::additive && parts.after)
    return from_zero ? any_operator<Fine>(additive_cycle_from_zero<Fine, Coarse>(std::move(parts)))
                     : any_operator<Fine>(additive_cycle<Fine, Coarse>(std::move(parts)));
  return from_zero ? any_operator<Fine>(multiplicative_cycle_from_zero<Fine, Coarse>(std::move(parts)))
                   : any_operator<Fine>(multiplicative_cycle<Fine, Coarse>(std::move(parts)));
}

}  // namespace plaquette
