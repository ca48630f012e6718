// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A preconditioner of D(m) for new directions: M^-1 of a clover operator on smeared links, D(m)^-1 being about
/// M^-1 + 1 / (2 rho), and some steps of GCR with a cheap sign function. (After Brannick, Frommer, Kahl, Leder,
/// Rottmann, Strebel 2016, arXiv:1410.7170)
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/eigen/krylov_basis.hpp"
#include "common/operators/overlap.hpp"
#include "common/overlap/overlap_mode_search.hpp"
#include "common/overlap/overlap_solve_rule.hpp"
#include "common/stopwatch.hpp"

namespace plaquette {

namespace detail {

/// Numbers, one a column, as a handle.
template <field_batch Field>
typename Field::scalars scalars_of(const Field& x, const std::vector<double>& numbers) {
  std::vector<complex<double>> list;
  for (const double number : numbers) list.push_back({number, 0.0});
  return make_scalars(x, std::span<const complex<double>>(list));
}

/// Adds the seconds of part(), where work can be waited for, before it and after it.
template <class Part>
void add_seconds(double& seconds, const std::function<void()>& finish, const Part& part) {
  if (!finish) return part();
  finish();
  const stopwatch watch;
  part();
  finish();
  seconds += watch.seconds();
}

/// About D(m)^-1 in single precision: some steps of GCR on D(m) with a cheap sign function, each of which starts from
/// P(r) = M^-1 r + a r. They look for what the search space does not hold: images are made orthogonal to the space's,
/// so that low modes that it knows do not slow them down. (GCRO: de Sturler 1996)
/// \tparam Inverse  InnerField inverse(const InnerField& r): about M^-1 r
template <class Sign, class Inverse>
class nested_preconditioner {
 public:
  using Field = typename Sign::Field;
  using InnerField = typename Sign::InnerField;

  nested_preconditioner(const overlap_operator<Sign>& d, const Inverse& inverse, const overlap_solve_rule& rule,
                        preconditioned_work& work)
      : d_(&d), inverse_(&inverse), rule_(rule.preconditioner), finish_(rule.finish), work_(&work) {}

  /// \param r        is used up
  /// \param masses   one a column
  /// \param project  project(y) takes out of images what those of the search space hold, of the same masses
  template <class Project>
  InnerField apply(InnerField r, const std::vector<double>& masses, const Project& project) const {
    if (rule_.inner_steps == 0) return first(r);
    std::vector<double> weights;
    for (const double mass : masses) weights.push_back(d_->rho() - 0.5 * mass);
    const auto alpha = scalars_of(r, weights), beta = scalars_of(r, masses);
    InnerField t = like(r);
    zero(t);
    std::vector<InnerField> p, q;
    std::vector<typename InnerField::scalars> qq;
    for (int step = 0; step < rule_.inner_steps; ++step) {
      InnerField z = first(r), image = like(r);
      apply_cheap_sign(image, z);
      gamma5(image, image);
      axpy(image, uniform_scalars(z, 1.0), z);  // D z
      scale(image, alpha);
      axpy(image, beta, z);
      add_seconds(work_->projection_seconds, finish_, [&] { project(image); });
      for (std::size_t i = 0; i < q.size(); ++i) {
        const auto c = ratio(dot(q[i], image), qq[i]);
        axpy(image, -c, q[i]);
        axpy(z, -c, p[i]);
      }
      qq.push_back(norm2(image));
      const auto c = ratio(dot(image, r), qq.back());
      axpy(t, c, z);
      axpy(r, -c, image);
      p.push_back(std::move(z));
      q.push_back(std::move(image));
    }
    return t;
  }

 private:
  /// P(r)
  InnerField first(const InnerField& r) const {
    std::optional<InnerField> found;
    add_seconds(work_->clover_seconds, finish_, [&] { found = (*inverse_)(r); });
    InnerField& z = *found;
    axpy(z, uniform_scalars(r, rule_.constant), r);
    return std::move(z);
  }
  void apply_cheap_sign(InnerField& y, const InnerField& x) const {
    work_->cheap_signs += x.columns();
    add_seconds(work_->cheap_sign_seconds, finish_, [&] { compute_cheap_sign(y, x); });
  }
  void compute_cheap_sign(InnerField& y, const InnerField& x) const {
    const Sign& sign = d_->sign();
    if (rule_.modes_in_single && sign.is_single(rule_.inner_delta)) return sign.apply(y, x, rule_.inner_delta);
    Field in = like(x, x.columns(), as<Field>), out = like(in);
    convert(in, x);
    sign.apply(out, in, rule_.inner_delta);
    convert(y, out);
  }

  const overlap_operator<Sign>* d_;
  const Inverse* inverse_;
  overlap_preconditioner rule_;
  std::function<void()> finish_;
  preconditioned_work* work_;
};

}  // namespace detail

}  // namespace plaquette
