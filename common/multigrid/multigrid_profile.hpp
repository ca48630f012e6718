// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Clocks and counters around the parts of a cycle. A factory adds them if a profile is wanted; without one, cycles
/// have nothing of it.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "common/krylov/relaxation.hpp"
#include "common/multigrid/cycle_profile.hpp"
#include "common/multigrid/multigrid.hpp"

namespace plaquette {

/// The place where the parts of one lattice's cycle note their seconds.
struct profile_of_lattice {
  std::shared_ptr<cycle_profile> profile;
  std::size_t number;  ///< of the lattice, 0 the finest

  lattice_profile& notes() const { return profile->lattices.at(number); }
  template <class Body>
  void timed(double lattice_profile::* where, Body&& body) const {
    profile->timed(number, where, std::forward<Body>(body));
  }
};

namespace detail {

template <field_batch Field>
struct timed_relaxation {
  any_relaxation<Field> inner;
  profile_of_lattice profile;

  void solve(Field& x, const Field& b) const {
    profile.timed(&lattice_profile::smoothing, [&] { inner.solve(x, b); });
  }
  void improve(Field& x, const Field& b) const {
    profile.timed(&lattice_profile::smoothing, [&] { inner.improve(x, b); });
  }
};

template <field_batch Fine, field_batch Coarse>
class timed_transfer final : public grid_transfer<Fine, Coarse> {
 public:
  timed_transfer(std::shared_ptr<const grid_transfer<Fine, Coarse>> inner, profile_of_lattice profile)
      : inner_(std::move(inner)), profile_(std::move(profile)) {}
  void restrict_source(Coarse& rc, const Fine& b) const override {
    timed([&] { inner_->restrict_source(rc, b); });
  }
  void restrict_residual(Coarse& rc, const Fine& x, const Fine& b) const override {
    timed([&] { inner_->restrict_residual(rc, x, b); });
  }
  void prolong(Fine& x, const Coarse& ec) const override {
    timed([&] { inner_->prolong(x, ec); });
  }
  void add_prolonged(Fine& x, const Coarse& ec) const override {
    timed([&] { inner_->add_prolonged(x, ec); });
  }

 private:
  template <class Body>
  void timed(Body&& body) const {
    profile_.timed(&lattice_profile::transfer, std::forward<Body>(body));
  }
  std::shared_ptr<const grid_transfer<Fine, Coarse>> inner_;
  profile_of_lattice profile_;
};

template <field_batch Field>
struct timed_cycle {
  any_operator<Field> inner;
  profile_of_lattice profile;

  void apply(Field& x, const Field& b) const {
    ++profile.notes().cycles;
    profile.timed(&lattice_profile::whole, [&] { inner.apply(x, b); });
  }
};

template <field_batch Field>
struct counted_steps {
  any_operator<Field> inner;
  profile_of_lattice profile;
  int steps;

  void apply(Field& x, const Field& b) const {
    profile.notes().krylov_steps += steps;
    inner.apply(x, b);
  }
};

}  // namespace detail

/// Returns parts that note their seconds.
template <field_batch Fine, field_batch Coarse>
cycle_parts<Fine, Coarse> profiled(cycle_parts<Fine, Coarse> parts, const profile_of_lattice& profile) {
  for (auto* relaxation : {&parts.before, &parts.after})
    if (*relaxation) relaxation->emplace(detail::timed_relaxation<Fine>{**relaxation, profile});
  parts.transfer = std::make_shared<const detail::timed_transfer<Fine, Coarse>>(parts.transfer, profile);
  const auto below = &lattice_profile::below;
  parts.next = coarse_solver<Coarse>(
      [=, inner = parts.next](const Coarse& b) { profile.timed(below, [&] { inner.begin(b); }); },
      [=, inner = parts.next](Coarse& x, const Coarse& b) { profile.timed(below, [&] { inner.end(x, b); }); });
  return parts;
}

/// Returns a cycle that notes its number and seconds.
template <field_batch Field>
any_operator<Field> profiled(any_operator<Field> cycle, const profile_of_lattice& profile) {
  return any_operator<Field>(detail::timed_cycle<Field>{std::move(cycle), profile});
}

/// Returns a solver each application of which counts as `steps` Krylov steps.
template <field_batch Field>
any_operator<Field> counting_steps(any_operator<Field> solver, int steps, const profile_of_lattice& profile) {
  return any_operator<Field>(detail::counted_steps<Field>{std::move(solver), profile, steps});
}
/// Returns a hook between steps, `between` or null, that counts them too.
inline step_hook counting_steps(const step_hook& between, const profile_of_lattice& profile) {
  return [=] {
    if (between) between();
    ++profile.notes().krylov_steps;
  };
}

}  // namespace plaquette
