// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Null vectors of multigrid: from random ones by relaxation, and better ones by inverse iteration.
/// (Brannick et al., Phys. Rev. Lett. 100 (2008) 041601)
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "common/eigen/deflation.hpp"
#include "common/krylov/bicgstab.hpp"
#include "common/krylov/conjugate_gradients.hpp"
#include "common/krylov/gcr.hpp"
#include "common/krylov/precision.hpp"
#include "common/multigrid/multigrid_parameters.hpp"

namespace plaquette {

/// Makes null vectors on a lattice of a library. A short-lived object: it refers to both.
template <class Library>
class null_vector_maker {
 public:
  null_vector_maker(const Library& library, const multigrid_parameters& parameters)
      : library_(library), parameters_(parameters) {}

  /// M v = 0 from random v, on the red-black system: a Krylov solver for the correction, or a polynomial. (They remove
  /// the parts that converge quickly; the null space stays.) GCR if the system has no adjoint.
  template <class System, class Field>
  void relax(const System& a, Field& v) const {
    for_each_group(v, [&](Field& part) {
      Field zero_source = like(part);
      zero(zero_source);
      Field even = a.even_like(part), r = like(even), correction = like(even);
      library_.restrict_to_even(even, part);
      stopping_rule rule;
      rule.tolerance = parameters_.relaxation_tolerance;
      rule.limit = parameters_.relaxation_iterations;
      rule.guess_is_zero = true;
      rule.interrupted = [this] {
        if (parameters_.between_parts) parameters_.between_parts();
        return false;
      };
      if (rule.limit > 0) {
        if constexpr (linear_operator<System, Field>) {
          relax_by_adjoint(a, even, r, correction, rule);
        } else {  // of two applications each, as many steps
          rule.limit *= 2;
          take_out(a, even, r, correction, [&] { gcr(a, correction, r, rule, 10); });
        }
      }
      Field random = like(part);
      copy(random, part);
      a.reconstruct_solution(part, even, zero_source);
      keep_where_nothing_is_left(part, random);
    });
    normalise_columns(v);
  }

  /// v = about M^-1 v.
  /// \param inverse  apply(x, b), for as many columns as are set up together
  template <class Field, class Inverse>
  void refine(Field& v, const Inverse& inverse) const {
    for_each_group(v, [&](Field& part) {
      Field x = like(part);
      inverse.apply(x, part);
      copy(part, x);
    });
    normalise_columns(v);
  }

 private:
  /// Relaxes even fields by the method of the parameters.
  template <class System, class Field>
  void relax_by_adjoint(const System& a, Field& even, Field& r, Field& correction, const stopping_rule& rule) const {
    if (parameters_.relaxation == null_vector_solver::chebyshev)
      return filter(a, even, rule.limit, parameters_.between_parts);
    take_out(a, even, r, correction, [&] {
      parameters_.relaxation == null_vector_solver::cgnr ? cgnr(a, correction, r, rule)
                                                         : bicgstab(a, correction, r, rule);
    });
  }

  /// Subtracts from v the correction that `solve` finds for A correction = r, r = A v.
  template <class System, class Field, class Solve>
  static void take_out(const System& a, Field& v, Field& r, Field& correction, const Solve& solve) {
    a.apply(r, v);
    zero(correction);
    solve();
    axpy(v, uniform_scalars(v, -1.0), correction);
  }

  /// Calls body(part) for so many columns of v at a time that their workspace is not many times the vectors.
  template <class Field, class Body>
  void for_each_group(Field& v, const Body& body) const {
    for (int first = 0; first < v.columns(); first += parameters_.setup_batch) {
      if (parameters_.between_parts) parameters_.between_parts();
      Field part = view(v, first, std::min(parameters_.setup_batch, v.columns() - first));
      body(part);
    }
  }

  /// If only rounding is left of a column, as with heavy quarks, it becomes the column of `random` again.
  template <class Field>
  static void keep_where_nothing_is_left(Field& v, Field& random) {
    constexpr double rounding = 16.0 * unit_roundoff(precision_of<Field>);
    const auto both = host_values_of(std::vector{norm2(v), norm2(random)});
    for (int c = 0; c < v.columns(); ++c) {
      const auto k = static_cast<std::size_t>(c);
      if (both[0][k].re > rounding * rounding * both[1][k].re) continue;
      Field to = view(v, c, 1);
      copy(to, view(random, c, 1));
    }
  }

  /// v becomes T_d(z(A^+ A)) v, d = degree. z maps [lowest, highest] to [-1, 1]; below T_d grows, at zero to nearly
  /// cosh(2 d sqrt(lowest / highest)).
  template <class System, class Field>
  static void filter(const System& a, Field& v, int degree, const std::function<void()>& between) {
    // The wanted modes are in the lowest fiftieth of the spectrum. They are to grow by three digits at least, and by no
    // more than single precision holds.
    const auto fraction = [&](double growth) { return std::pow(std::acosh(growth) / (2.0 * degree), 2); };
    const double wanted = std::min(std::clamp(0.02, fraction(1e3), fraction(1e24)), 0.5);
    Field scratch = like(v);
    const auto squared = [&](Field& out, const Field& in) {
      if (between) between();
      Field some = view(scratch, 0, in.columns());
      detail::apply_squared(a, out, some, in);
    };
    // Ten steps find it from below, and T_d grows steeply above it: a wide margin.
    const double highest = 1.5 * detail::highest_eigenvalue(squared, view(v, 0, 1));
    apply_chebyshev(squared, v, degree, wanted * highest, highest);
  }

  const Library& library_;
  const multigrid_parameters& parameters_;
};

}  // namespace plaquette
