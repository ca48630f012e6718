// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Schwarz's alternating procedure as a relaxation: the lattice is cut into domains, and each is solved by itself, with
/// nothing from its neighbours. (Schwarz 1870; Luescher, Comput. Phys. Commun. 156 (2004) 209)
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/krylov/relaxation.hpp"

namespace plaquette {

/// The domains of a lattice as operators.
template <field_batch Field>
struct schwarz_domains {
  any_operator<Field> inside;  ///< A without the terms from domain to domain
  /// to = from on the domains of a colour and 0 elsewhere, for each colour; none: all domains at the same time.
  std::vector<any_operator<Field>> colours{};
};

/// Sweeps of Schwarz's procedure. Multiplicative, with two colours of a checkerboard: for one after the other, e =
/// about inside^-1 r there and x += e. Additive, without colours: x += alpha e for all domains at the same time, with
/// the alpha that makes the residual smallest. Domains are solved by minimal residual steps, whose lengths all domains
/// of a colour share: such sums are the only numbers that leave a domain. For every colour a sweep takes `steps`
/// applications inside and one of A.
template <field_batch Field>
class schwarz_steps {
 public:
  schwarz_steps(Field& shape, schwarz_domains<Field> domains, int sweeps, int steps, step_hook between = nullptr)
      : domains_(std::move(domains)),
        sweeps_(sweeps),
        solver_(shape, steps, 1.0, std::move(between)),
        one_(shape, 1.0),
        minus_one_(shape, -1.0),
        e_(like(shape)),
        r_(like(shape)),
        ae_(like(shape)) {
    if (sweeps < 1) throw input_error("schwarz: expected at least 1 sweep, found " + std::to_string(sweeps));
    if (steps < 1) throw input_error("schwarz: expected at least 1 step in a domain, found " + std::to_string(steps));
  }
  Field& scratch() { return ae_; }

  template <forward_operator<Field> A>
  void operator()(const A& a, Field& x, Field& r) {
    const int n = r.columns(), stages = sweeps_ * std::max<int>(1, static_cast<int>(domains_.colours.size()));
    Field e = view(e_, 0, n), r_here = view(r_, 0, n), ae = view(ae_, 0, n);
    for (int stage = 0; stage < stages; ++stage) {
      if (domains_.colours.empty())
        copy(r_here, r);
      else
        domains_.colours[static_cast<std::size_t>(stage) % domains_.colours.size()].apply(r_here, r);
      zero(e);
      solver_(domains_.inside, e, r_here);
      if (domains_.colours.empty()) {
        const auto [ae_r, aeae] = apply_dot_norm2(a, ae, e, r);
        const auto alpha = ratio(ae_r, aeae);
        axpy(x, alpha, e);
        axpy(r, -alpha, ae);
      } else {
        axpy(x, one_(n), e);
        if (stage + 1 == stages) return;
        a.apply(ae, e);
        axpy(r, minus_one_(n), ae);
      }
    }
  }

 private:
  schwarz_domains<Field> domains_;
  int sweeps_;
  mr_steps<Field> solver_;
  number_for_any_width<typename Field::scalars> one_, minus_one_;
  Field e_, r_, ae_;
};

/// Returns a relaxation of `sweeps` sweeps, each of `steps` minimal residual steps in every domain.
template <field_batch Field, forward_operator<Field> A>
auto schwarz_relaxation(const A& a, const Field& shape, const schwarz_domains<Field>& domains, int sweeps, int steps,
                        const step_hook& between = nullptr) {
  return relaxation<Field, A, schwarz_steps<Field>>(
      a, shape, [&](Field& like_this) { return schwarz_steps<Field>(like_this, domains, sweeps, steps, between); });
}

}  // namespace plaquette
