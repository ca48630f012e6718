// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Computes the numbers of a `null_space_study`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/algebra/dense.hpp"
#include "common/eigen/krylov_basis.hpp"
#include "common/lattice/site_field.hpp"
#include "common/multigrid/multigrid_setup.hpp"
#include "common/solvers/multigrid_solver.hpp"

namespace plaquette {

/// Refers to the multigrid and the modes that it is made of.
/// \tparam OuterField  fields of the outer solver
template <class Library, field_batch OuterField>
class null_space_examiner {
  using low = typename Library::fine_field;

 public:
  /// \param modes  the lowest modes of gamma_5 M, on all sites
  null_space_examiner(const multigrid<Library>& mg, const OuterField& modes)
      : mg_(mg), library_(mg.library()), modes_(modes) {}

  /// Adds the errors of relaxation alone and of whole cycles, and the part of the former outside the null space.
  /// \param e  on even sites, random; changed
  template <class Schur>
  void add_errors(null_space_study& study, const Schur& a, const any_operator<OuterField>& cycle, OuterField& e,
                  int iterations) {
    study.steps = mg_.parameters().steps_before.front() + mg_.parameters().steps_after.front();
    const auto relax = gcr_relaxation(*library_.system(), library_.even_field(1), study.steps);
    low b = library_.even_field(1), x = like(b);
    OuterField start = like(e);
    copy(start, e);
    study.relaxation = errors_of(a, e, iterations, &study.missed, [&](OuterField& out, const OuterField& in) {
      assign(b, in);
      relax.solve(x, b);
      assign(out, x);
    });
    copy(e, start);
    study.cycle =
        errors_of(a, e, iterations, nullptr, [&](OuterField& out, const OuterField& in) { cycle.apply(out, in); });
  }

  /// Adds the parts of the error after relaxation outside the span of the null vectors. The error had no part in the
  /// setup. After `add_errors`.
  void add_coherence(null_space_study& study) const {
    study.cut = missed_by_cut(*relaxed_);
    study.whole = missed_by_whole(*relaxed_);
    study.random = missed_by_cut(library_.random_fine_field(1, 12345));
  }

  /// Returns a plane of the lowest mode. For one rank.
  null_space_study::picture picture(const lattice_geometry& geometry) const {
    low v = like(modes_, 1, as<low>), kept = like(v);
    assign(v, view(modes_, 0, 1));
    project(kept, v);
    OuterField back = like(modes_, 1);
    assign(back, kept);
    spinor_configuration whole(geometry), projected(geometry);
    export_column(whole, modes_, 0);
    export_column(projected, back, 0);
    std::int64_t peak = 0;
    for (std::int64_t s = 1; s < geometry.local_volume(); ++s)
      if (density(whole, geometry.local_coordinate(s)) > density(whole, geometry.local_coordinate(peak))) peak = s;
    const coordinate at = geometry.local_coordinate(peak);
    return {at[2], at[3], plane(whole, at), plane(projected, at)};
  }

 private:
  template <class Schur, class Inverse>
  std::vector<double> errors_of(const Schur& a, OuterField& e, int iterations, std::vector<double>* missed,
                                const Inverse& inverse) {
    OuterField ae = like(e), step = like(e), full = like(modes_, 1), nothing = like(full);
    zero(nothing);
    const double first = norm(e);
    std::vector<double> left;
    for (int n = 0; n <= iterations; ++n) {
      left.push_back(norm(e) / first);
      if (missed) {
        a.reconstruct_solution(full, e, nothing);
        relaxed_.emplace(like(full, 1, as<low>));
        assign(*relaxed_, full);
        missed->push_back(missed_of(*relaxed_));
      }
      a.apply(ae, e);
      inverse(step, ae);
      axpy(e, uniform_scalars(e, -1.0), step);
    }
    return left;
  }

  template <class Field>
  static double norm(const Field& x) {
    return std::sqrt(host_values(norm2(x))[0].re);
  }
  void project(low& kept, const low& v) const {
    const auto& p = *mg_.levels().front().from_finer;
    auto c = p.coarse_like(v.columns());
    p.restrict_to(c, v);
    p.prolong(kept, c);
  }
  double missed_of(const low& v) const {
    low kept = like(v);
    project(kept, v);
    subtract_norm2(kept, v, kept);
    return norm(kept) / norm(v);
  }

  /// Returns the |rest| of v outside the first k vectors, averaged over the modes. `taken` holds, for each mode, the
  /// share of |v|^2 = 1 along each vector.
  static std::vector<double> left_of(const std::vector<double>& taken, int modes) {
    const auto vectors = taken.size() / static_cast<std::size_t>(modes);
    std::vector<double> left(vectors + 1);
    for (std::size_t mode = 0; mode < static_cast<std::size_t>(modes); ++mode) {
      double rest = 1.0;
      for (std::size_t k = 0; k <= vectors; ++k) {
        left[k] += std::sqrt(std::max(0.0, rest)) / modes;
        if (k < vectors) rest -= taken[mode * vectors + k];
      }
    }
    return left;
  }

  std::vector<double> missed_by_cut(const low& v) const {
    const auto& p = *mg_.levels().front().from_finer;
    auto c = p.coarse_like(v.columns());
    p.restrict_to(c, v);
    const auto all2 = host_values(norm2(v));
    const auto vectors = static_cast<std::size_t>(p.vectors());
    std::vector<double> taken;
    std::vector<complex<double>> numbers(static_cast<std::size_t>(c.sites() * c.components()));
    for (int mode = 0; mode < v.columns(); ++mode) {
      export_column(std::span(numbers), c, mode);
      std::vector<double> of_mode(vectors);
      for (std::size_t i = 0; i < numbers.size(); ++i) of_mode[i % vectors] += norm2(numbers[i]);
      library_.get_context().comm().sum(std::span(of_mode));
      for (const double t : of_mode) taken.push_back(t / all2[static_cast<std::size_t>(mode)].re);
    }
    return left_of(taken, v.columns());
  }

  std::vector<double> missed_by_whole(const low& v) const {
    const low vectors = mg_.null_vectors();
    const auto all2 = host_values(norm2(v));
    const auto count = static_cast<std::size_t>(vectors.columns());
    std::vector<double> taken(count * static_cast<std::size_t>(v.columns()));
    for (const int sign : {1, -1}) {
      low part = like(vectors), of_v = like(v);
      chirality_part(part, vectors, sign);
      chirality_part(of_v, v, sign);
      const auto factor = cholesky_factor(overlaps(part, part));  // R^+ R, with R upper triangular
      if (!factor) return {};
      const host_matrix y = adjoint_product(inverse_of_upper(*factor), overlaps(part, of_v));
      for (std::size_t k = 0; k < taken.size(); ++k)
        taken[k] += norm2(y(static_cast<int>(k % count), static_cast<int>(k / count))) / all2[k / count].re;
    }
    return left_of(taken, v.columns());
  }

  static double density(const spinor_configuration& v, const coordinate& x) {
    const spinor<double>& psi = v(x);
    double sum = 0.0;
    for (int spin = 0; spin < spins; ++spin)
      for (int colour = 0; colour < colours; ++colour) sum += norm2(psi[spin][colour]);
    return sum;
  }
  static std::vector<std::vector<double>> plane(const spinor_configuration& v, coordinate at) {
    const extents& local = v.geometry().local();
    std::vector<std::vector<double>> rows;
    for (at[1] = 0; at[1] < local[1]; ++at[1]) {
      rows.emplace_back();
      for (at[0] = 0; at[0] < local[0]; ++at[0]) rows.back().push_back(density(v, at));
    }
    return rows;
  }

  const multigrid<Library>& mg_;
  const Library& library_;
  const OuterField& modes_;
  std::optional<low> relaxed_;  ///< an error after relaxation, on all sites
};

}  // namespace plaquette
