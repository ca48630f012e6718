// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The lowest modes of the overlap operator D, through those of D^+ D in one chirality, where a product takes one sign
/// function. (Alexandru, Pelissier, Gamari, Lee 2011; Giusti, Hoelbling, Luescher, Wittig, hep-lat/0212012)
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/algorithms/batch.hpp"
#include "common/algorithms/conjugate_gradients.hpp"
#include "common/algorithms/sign_function.hpp"
#include "common/algorithms/thick_restart.hpp"
#include "common/operators/overlap.hpp"

namespace plaquette {

/// Orthonormal eigenvectors of D^+ D in one chirality, fields of 2 spins; e = squares[i] ascending. To each e there are
/// two eigenvalues of D, e/2 +- i sqrt(e - e^2/4); to e = 0 one.
template <class F>
struct chiral_modes {
  F vectors;
  std::vector<double> squares{};
  std::vector<double> residuals{};  ///< |D^+ D v - e v|
};

/// The modes of both chiralities: zero modes first, then pairs.
template <class F>
struct overlap_mode_set {
  chiral_modes<F> plus, minus;
  int zero_plus = 0, zero_minus = 0;
  int searched = +1;  ///< the chirality that was searched
  int cycles = 0;
  int restarts = 0;  ///< searches that began anew, since modes came late
  int late = 0;      ///< copies of degenerate modes that the search had missed
  bool complete = true;

  chiral_modes<F>& of(int chirality) { return chirality > 0 ? plus : minus; }
  const chiral_modes<F>& of(int chirality) const { return chirality > 0 ? plus : minus; }
  /// n+ - n-, zero modes of gamma_5 = +1 less those of -1.
  int index() const { return zero_plus - zero_minus; }
};

struct overlap_mode_search {
  int modes = 0;  ///< in the chirality that is searched, zero modes included
  double tolerance = 1e-10;
  int chirality = 0;    ///< that is searched, +1 or -1; 0: the one that seems to have no zero modes
  bool relaxed = true;  ///< the sign function becomes less accurate as residuals fall
  int keep = 0, most = 0, cycles = 60;
  int block = 1;       ///< vectors that the sign function takes at once
  double zero = 1e-8;  ///< e below is a zero mode
  std::function<void(int cycle, int converged, double worst, double delta)> progress = nullptr;
  std::function<bool()> interrupted = nullptr;
};

/// Ritz vectors of D^+ D that survive a restart, of a search in blocks of `block`.
inline int kept_overlap_modes(int modes, int block) { return modes + std::max(3, block > 1 ? modes / 2 : modes / 10); }

/// Sizes of the search space, where they are not fixed. Blocks take more signs. Counted with thick restarts on a
/// spectrum like that of 100 modes at 24^3x64, to 3e-6: 2850 signs alone in a space of 250 vectors; blocks of four 3130
/// in 400, 3370 in 612; of eight 3100 in 480; of twelve 3070 to 3400 in 480 and 3380 in 800. Short cycles end sooner
/// after all has converged.
inline restart_sizes sizes_of_search(const overlap_mode_search& search) {
  const int l = search.modes, p = std::max(1, search.block);
  const int keep = search.keep > 0 ? search.keep : kept_overlap_modes(l, p);
  const int most = p > 1 ? 4 * l + p * l / 15 : (5 * l) / 2;
  return {.keep = keep,
          .most = search.most > 0 ? search.most : std::max(keep + 40 * p, most),
          .block = p,
          .cycles = search.cycles};
}

namespace detail {

inline std::vector<double> square_roots(const std::vector<complex<double>>& numbers) {
  std::vector<double> roots;
  for (const complex<double>& number : numbers) roots.push_back(std::sqrt(number.re));
  return roots;
}

/// The next quarter of a decade below: so few polynomials are needed.
inline double rounded_down(double delta) { return std::pow(10.0, std::floor(4.0 * std::log10(delta)) / 4.0); }

}  // namespace detail

/// Accuracy of the sign function in the search, where estimated residuals are at most `worst`, of modes up to e =
/// `top`. Sign functions of one accuracy are one operator, whose modes have residuals of some 0.8 delta. Later a less
/// accurate one is enough: its error counts by the share of new vectors in the Ritz vectors. That is worst / gap, with
/// a gap that top measures. Errors add up over the steps.
inline double overlap_search_accuracy(double tolerance, double worst, double top) {
  const double least = std::clamp((tolerance > 1e-8 ? 0.8 : 0.5) * tolerance, 1e-13, 1e-4);
  const double allowed = 0.03 * tolerance * top / std::max(worst, 1e-300);
  return std::max(least, detail::rounded_down(std::clamp(allowed, least, 1e-4)));
}

/// The least tolerance of a search in single precision. Roundings of the sign function leave residuals of some 6e-6.
inline constexpr double least_narrow_tolerance = 1e-5;

/// Whether a search is in single precision, where the sign function may be mixed. What it leaves above the tolerance is
/// taken off mode by mode, in some seven signs for each digit. So it is not worth while for very tight tolerances.
inline bool overlap_search_is_narrow(double tolerance) { return tolerance >= 1e-8; }

/// Accuracy of the sign function with which modes of a tolerance, once found, are judged. Residuals are known to twice
/// that, and e better.
inline double accuracy_of_residuals(double tolerance) {
  return tolerance > 1e-8 ? std::clamp(0.02 * tolerance, 1e-9, 1e-7) : std::clamp(1e-3 * tolerance, 1e-13, 1e-9);
}

/// Told after each cycle of the search for pairs: what a later call goes on from. `basis` makes a copy in double, where
/// the search is in single precision.
template <class F>
using restart_keeper = std::function<void(const std::function<F()>& basis, const restart_state& state, int chirality)>;

/// Make the basis of a search for pairs, fields of 2 spins, in double or single precision; null: like other fields.
template <class B>
struct overlap_basis_makers {
  basis_maker<typename sign_function<B>::F> wide = nullptr;
  basis_maker<typename sign_function<B>::G> narrow = nullptr;
};

namespace detail {

/// D^+ D on a basis of one chirality, and what D makes of it in the other: -chi sign(H) v there. Zeros, where the sign
/// function was interrupted.
template <class Sign, class F>
void products_of_basis(const Sign& sign, int chirality, const F& v, F& squares, F* others, double delta, int width) {
  in_batches(v.columns(), width, [&](int first, int n) {
    field_shape whole = v.shape();
    whole.spins = 4;
    whole.columns = n;
    F x(v.get_context(), whole), y(v.get_context(), whole);
    const F in = view(v, first, n);
    F square = view(squares, first, n);
    zero(square);
    if (others != nullptr) {
      F other = view(*others, first, n);
      zero(other);
    }
    if (const auto& interrupted = sign.options().interrupted; interrupted && interrupted()) return;
    put_chirality(x, in, chirality);
    sign.apply(y, x, delta, delta < 1e-9 ? sign_precision::wide : sign.options().precision);
    take_chirality(square, y, chirality);
    scale(square, uniform_scalars(square, 2.0 * chirality));
    axpy(square, uniform_scalars(square, 2.0), in);
    if (others == nullptr) return;
    F other = view(*others, first, n);
    take_chirality(other, y, -chirality);
    scale(other, uniform_scalars(other, -1.0 * chirality));
  });
}

/// Rayleigh-Ritz of D^+ D in span V, of orthonormal V: V becomes Ritz vectors, e ascending. What D^+ D and, where it is
/// given, D make of V follows it.
/// \param residual_vectors  becomes (D^+ D - e) V
template <class F>
void rayleigh_ritz_of_products(chiral_modes<F>& found, F& squares, F* others, F& residual_vectors) {
  F& v = found.vectors;
  const hermitian_eigenpairs pairs = eigenpairs_of_hermitian(hermitian_part(overlaps(v, squares)));
  rotate_basis(v, pairs.vectors);
  rotate_basis(squares, pairs.vectors);
  if (others != nullptr) rotate_basis(*others, pairs.vectors);
  found.squares = pairs.values;
  std::vector<complex<double>> minus;
  for (const double e : pairs.values) minus.push_back({-e, 0.0});
  copy(residual_vectors, squares);
  axpy(residual_vectors, make_scalars(squares, std::span<const complex<double>>(minus)), v);
  found.residuals.clear();
  for (const complex<double>& number : host_values(norm2(residual_vectors)))
    found.residuals.push_back(std::sqrt(number.re));
}

/// The same with accurate products, made here.
template <class Sign, class F>
void chiral_rayleigh_ritz(const Sign& sign, int chirality, chiral_modes<F>& found, F* others, double delta, int width) {
  F squares = like(found.vectors), residual_vectors = like(found.vectors);
  products_of_basis(sign, chirality, found.vectors, squares, others, delta, width);
  rayleigh_ritz_of_products(found, squares, others, residual_vectors);
}

/// A function as an operator.
template <class Function>
struct function_operator {
  const Function& function;
  template <class F>
  void apply(F& out, const F& in) const {
    function(out, in);
  }
  template <class F>
  void apply_dagger(F& out, const F& in) const {
    function(out, in);
  }
};

/// `count` columns of a chirality's shape.
template <class F>
F half_like(const F& full, int columns) {
  return F(full.get_context(), field_shape{2, 3, full.shape().sites, columns});
}

/// Residuals of P D v / sqrt(e - e^2/4) in the other chirality, from those of v: (D^+ D - e) commutes with D. An error
/// of v along e' counts by sqrt(e' / e) there.
template <class Sign, class F>
std::vector<double> residuals_of_partners(const Sign& sign, int chirality, const F& residual_vectors,
                                          const std::vector<double>& squares, int width) {
  F same = like(residual_vectors), other = like(residual_vectors);
  products_of_basis(sign, chirality, residual_vectors, same, &other, 3e-3, width);
  const auto norms = host_values(norm2(other));
  std::vector<double> residuals;
  for (std::size_t i = 0; i < squares.size(); ++i) {
    const double e = squares[i], s = e - 0.25 * e * e;
    residuals.push_back(s > 0.0 ? std::sqrt(norms[i].re / s) : 0.0);
  }
  return residuals;
}

/// Rayleigh-Ritz with accurate products. Returns the residuals of the partners.
template <class Sign, class F>
std::vector<double> judge_modes(const Sign& sign, int chirality, chiral_modes<F>& found, F& others, double delta,
                                int width) {
  F squares = like(found.vectors), residual_vectors = like(found.vectors);
  products_of_basis(sign, chirality, found.vectors, squares, &others, delta, width);
  rayleigh_ritz_of_products(found, squares, &others, residual_vectors);
  return residuals_of_partners(sign, chirality, residual_vectors, found.squares, width);
}

/// What residuals modes shall have.
struct refinement_goal {
  std::function<double(double e)> of;         ///< at most this, of a mode e
  double final_delta = 1e-9;                  ///< accuracy of the sign function that judges them
  double pairs_from = 1e300, pairs_to = 0.0;  ///< partners of e between these have goals too:
  std::function<double(double e)> of_partner = nullptr;
};

/// Improves eigenvectors that are roughly known, until their residuals are within a goal: v loses t, where
/// (D^+ D - e) t = (D^+ D - e) v off all that is known. This is Newton's method for the space that they span.
/// (Jacobi's correction; Sleijpen, van der Vorst 1996) The sign function within is as accurate as each residual takes.
/// What D makes of v is computed once. Then what it makes of t is taken off, which may be less accurate, as t is small.
template <class Sign, class F>
class mode_refinement {
 public:
  /// \param found    orthonormal; what is refined
  /// \param others   becomes what D makes of them in the other chirality; or null
  /// \param project  takes off what is known, these too
  mode_refinement(const chiral_square<Sign>& square, chiral_modes<F>& found, F* others,
                  const std::function<void(F&)>& project, refinement_goal goal, const overlap_mode_search& search,
                  int width)
      : square_(square),
        found_(found),
        others_(others),
        project_(project),
        goal_(std::move(goal)),
        search_(search),
        width_(width),
        products_(like(found.vectors)),
        residual_vectors_(like(found.vectors)) {}

  /// Returns residuals of the partners, where the goal asks for some of them.
  std::vector<double> run() {
    const F& v = found_.vectors;
    const int all = v.columns();
    products_of_basis(square_.sign(), square_.chirality(), v, products_, others_, goal_.final_delta, width_);
    rayleigh_ritz_of_products(found_, products_, others_, residual_vectors_);
    if (has_pairs()) make_low_products_accurate();
    for (int step = 0;; ++step) {
      of_partners_.assign(has_pairs() ? static_cast<std::size_t>(all) : 0, 0.0);
      const auto below = [&](double e) {
        return static_cast<int>(std::ranges::count_if(found_.squares, [&](double x) { return x < e; }));
      };
      const int first_pair = has_pairs() ? below(goal_.pairs_from) : 0;
      const int last_pair = has_pairs() ? std::max(first_pair, below(goal_.pairs_to)) : 0;
      find_residuals_of_partners(first_pair, last_pair);
      // The first two iterations cut the noise of a cheap search to a sixth: worth it for all.
      const double enough = step == 0 ? 0.4 : 1.0;
      std::vector<int> rough;
      for (int i = 0; i < all; ++i)
        if (!(excess(i) <= enough)) rough.push_back(i);
      if (rough.empty() || step == 8 || stops()) {
        if (has_pairs()) {
          find_residuals_of_partners(0, first_pair);
          find_residuals_of_partners(last_pair, all);
        }
        return of_partners_;
      }
      // Full batches of columns that need about as much; those that need less leave earlier.
      std::ranges::stable_sort(rough, std::greater<>{}, [&](int i) { return excess(i); });
      for (auto first = rough.begin(); first != rough.end() && !stops();) {
        const auto last = first + std::min<std::ptrdiff_t>(width_, rough.end() - first);
        std::sort(first, last);
        correct({first, last});
        first = last;
      }
      const host_matrix orthonormal = inverse_root(overlaps(v, v));
      rotate_basis(found_.vectors, orthonormal);
      rotate_basis(products_, orthonormal);
      if (others_ != nullptr) rotate_basis(*others_, orthonormal);
      rayleigh_ritz_of_products(found_, products_, others_, residual_vectors_);
    }
  }

 private:
  bool stops() const { return search_.interrupted && search_.interrupted(); }
  bool has_pairs() const { return others_ != nullptr && goal_.pairs_from < goal_.pairs_to; }
  double square_of(int i) const { return found_.squares[static_cast<std::size_t>(i)]; }
  /// The residual in units of its goal.
  double excess(int i) const {
    const auto k = static_cast<std::size_t>(i);
    const double e = found_.squares[k];
    const double of_mode = found_.residuals[k] / goal_.of(e);
    if (!has_pairs() || of_partners_[k] == 0.0) return of_mode;
    return std::max(of_mode, of_partners_[k] / goal_.of_partner(e));
  }

  /// Of modes first ... last - 1.
  void find_residuals_of_partners(int first, int last) {
    if (first == last) return;
    const std::vector<double> squares(found_.squares.begin() + first, found_.squares.begin() + last);
    std::ranges::copy(residuals_of_partners(square_.sign(), square_.chirality(),
                                            view(residual_vectors_, first, last - first), squares, width_),
                      of_partners_.begin() + first);
  }

  /// The error of the sign function counts by 1 / sqrt(e) in a partner.
  void make_low_products_accurate() {
    int low = 0;
    while (low < found_.vectors.columns() && square_of(low) <= goal_.pairs_to &&
           goal_.final_delta > 0.2 * goal_.of_partner(square_of(low)) * std::sqrt(std::max(0.0, square_of(low))))
      ++low;
    if (low == 0) return;
    F products = view(products_, 0, low), others = view(*others_, 0, low);
    products_of_basis(square_.sign(), square_.chirality(), view(found_.vectors, 0, low), products, &others,
                      0.1 * goal_.final_delta, width_);
    rayleigh_ritz_of_products(found_, products_, others_, residual_vectors_);
  }

  /// One correction of the columns `places`, which take the lowest e of them.
  void correct(const std::vector<int>& places) {
    stopping_rule rule;
    rule.tolerance = 0.3;  // the least
    double e = 4.0;
    for (const int i : places) {
      rule.column_tolerances.push_back(std::clamp(0.5 / excess(i), 1e-3, 0.3));
      rule.tolerance = std::min(rule.tolerance, rule.column_tolerances.back());
      e = std::min(e, std::max(0.0, square_of(i)));
    }
    F residual = gather_columns(residual_vectors_, places), t = like(residual);
    zero(t);
    project_(residual);
    rule.limit = 300;
    rule.guess_is_zero = true;
    rule.interrupted = search_.interrupted;
    double delta = 0.0, zeta = 0.0;
    const auto set_accuracy = [&](double reached) {  // as in solve_overlap
      zeta += 1.0 / (reached * reached);
      delta = rounded_down(std::clamp(0.06 * rule.tolerance * std::sqrt(zeta), 1e-6, 3e-3));
    };
    set_accuracy(1.0);
    rule.progress = [&](int, double reached) {
      if (reached > 0.0 && std::isfinite(reached)) set_accuracy(reached);
    };
    const auto off_modes = [&](F& out, const F& in) {
      square_.apply(out, in, delta);
      axpy(out, uniform_scalars(out, -e), in);
      project_(out);
    };
    conjugate_gradients(function_operator<decltype(off_modes)>{off_modes}, t, residual, rule);
    double longest = 0.0;  // of t, in units of the goals
    const auto squares_of_t = host_values(norm2(t));
    for (std::size_t k = 0; k < places.size(); ++k)
      longest = std::max(longest, std::sqrt(squares_of_t[k].re) / goal_.of(square_of(places[k])));
    if (!(longest > 0.0) || !std::isfinite(longest)) return;
    F products = like(t), others = like(t);
    products_of_basis(square_.sign(), square_.chirality(), t, products, &others,
                      std::clamp(0.02 / longest, 1e-10, 1e-3), width_);
    subtract(found_.vectors, places, t);
    subtract(products_, places, products);
    if (others_ != nullptr) subtract(*others_, places, others);
  }
  static void subtract(F& from, const std::vector<int>& places, const F& what) {
    F some = gather_columns(from, places);
    axpy(some, uniform_scalars(some, -1.0), what);
    scatter_columns(from, places, some);
  }

  chiral_square<Sign> square_;
  chiral_modes<F>& found_;
  F* others_;
  const std::function<void(F&)>& project_;
  refinement_goal goal_;
  const overlap_mode_search& search_;
  int width_;
  F products_, residual_vectors_;
  std::vector<double> of_partners_;
};

/// The lowest modes become so good that residuals tell zero modes from others.
/// \param gap  e of what is not known begins there
template <class Sign, class F>
void refine_lowest_modes(const chiral_square<Sign>& square, chiral_modes<F>& found, F* others,
                         const std::function<void(F&)>& project, const overlap_mode_search& search, int width,
                         double gap) {
  // A residual r leaves an error of r^2 / gap in e, a quarter of what a zero mode may have.
  const double enough = std::max(3e-7, 0.5 * std::sqrt(search.zero * gap));
  // In a propagator of mass m the error of a zero mode counts by 1 / m^2.
  const double goal =
      search.tolerance > 1e-8 ? std::max(1e-8, std::min(0.1 * search.tolerance, enough)) : 0.3 * search.tolerance;
  const refinement_goal one_goal{.of = [goal](double) { return goal; },
                                 .final_delta = std::min(1e-9, accuracy_of_residuals(search.tolerance))};
  mode_refinement<Sign, F>(square, found, others, project, one_goal, search, width).run();
}

/// The columns of both.
template <class F>
F side_by_side(const F& a, const F& b) {
  F all = like(a, a.columns() + b.columns());
  if (a.columns() > 0) {
    F first = view(all, 0, a.columns());
    copy(first, a);
  }
  if (b.columns() > 0) {
    F rest = view(all, a.columns(), b.columns());
    copy(rest, b);
  }
  return all;
}

/// One Krylov space, kept orthogonal to what is known: vectors of e below half of `expected`, roughly. Of several
/// copies it finds as many as a block has vectors. What tells that there is none is the number of steps, so that a
/// block of one does with the fewest signs.
/// \tparam V  fields of the basis, as in pair_search
/// \param p    vectors of a block
template <class V, class Sign, class F>
F lowest_beside(const chiral_square<Sign>& square, const F& known, double expected, const overlap_mode_search& search,
                const random_fill<V>& fill, int p) {
  constexpr double delta = 1e-5;
  const restart_sizes sizes{.keep = 2 * p + 4, .most = p > 1 ? 66 : 48, .block = p, .cycles = 12};
  V off = like(half_like(known, 0), known.columns(), as<V>), basis = like(off, sizes.most + p);
  assign(off, known);
  const auto project = [&](V& x) {
    if (off.columns() > 0) subtract_combinations(x, off, inner_products(off, x));
  };
  V start = view(basis, 0, p);
  fill(start);
  project(start);
  int low = 0;
  thick_restart_lanczos<V>(
      basis, sizes, {},
      [&](V& out, const V& in) {
        // P (4 - D^+ D) P: what is projected off lies at the other end of the spectrum.
        square.apply(out, in, delta);
        scale(out, uniform_scalars(out, -1.0));
        axpy(out, uniform_scalars(out, 4.0), in);
        project(out);
      },
      [&](V&, const restart_state& state) {
        low = 0;
        bool settled = true;
        for (std::size_t k = 0; k < state.values.size(); ++k) {
          const double e = 4.0 - state.values[k], error = state.estimates[k];
          if (e - error < 0.25 * expected) {  // may be one yet
            if (e + error < 0.5 * expected)
              ++low;
            else
              settled = false;
            continue;
          }
          // Lanczos comes from above: the lowest of the rest has to be known well enough.
          settled = settled && error < 0.25 * std::max(e, 1e-3);
          break;
        }
        return settled || (search.interrupted && search.interrupted());
      },
      fill, search.interrupted);
  F found = half_like(known, low);
  if (low > 0) assign(found, view(basis, 0, low));
  return found;
}

/// Random vectors in single precision from those in double.
template <class G, class F>
random_fill<G> converted_fill(const random_fill<F>& fill) {
  return [&fill](G& x) {
    F made = like(x, x.columns(), as<F>);
    fill(made);
    convert(x, made);
  };
}

/// Modes below half of `expected` beside those that are known: zero modes, and copies of degenerate ones that the
/// search in the other chirality missed. The search goes on beside those found until a block has vectors to spare.
/// \param known  orthonormal; partners of the other chirality's pairs, or all that was found here
template <class Sign, class F>
chiral_modes<F> search_beside(const Sign& sign, int chirality, const F& known, double expected,
                              const overlap_mode_search& search, const random_fill<F>& fill, int width) {
  using G = typename Sign::G;
  const chiral_square<Sign> square(sign, chirality);
  chiral_modes<F> found{half_like(known, 0)};
  while (!(search.interrupted && search.interrupted())) {
    const F all = side_by_side(known, found.vectors);
    const int block = found.vectors.columns() == 0 ? 1 : 4;
    const F fresh = sign.is_narrow(1e-5)
                        ? lowest_beside<G>(square, all, expected, search, converted_fill<G>(fill), block)
                        : lowest_beside<F>(square, all, expected, search, fill, block);
    if (fresh.columns() == 0) break;
    found.vectors = side_by_side(found.vectors, fresh);
    // A block finds as many copies as it has vectors: fewer are all.
    const bool has_all = fresh.columns() < block;
    if (known.columns() > 0)  // single precision has left something
      subtract_combinations(found.vectors, known, inner_products(known, found.vectors));
    orthonormalise(found.vectors, fill);
    if (has_all || found.vectors.columns() > 200) break;
  }
  sign.forget_narrow_modes();
  // The cheap sign function has left errors all over the spectrum.
  if (found.vectors.columns() > 0) {
    const auto project = [&](F& x) {
      for (const F& v : {known, found.vectors})
        if (v.columns() > 0) subtract_combinations(x, v, inner_products(v, x));
    };
    refine_lowest_modes<Sign, F>(square, found, static_cast<F*>(nullptr), project, search, width, 0.5 * expected);
  }
  return found;
}

/// Modes of an e above are not zero modes, whatever the tolerance leaves.
inline double surely_no_zero(const overlap_mode_search& search) {
  return search.zero + 10.0 * accuracy_of_residuals(search.tolerance) + 100.0 * search.tolerance * search.tolerance;
}

/// What a search for pairs of a loose tolerance leaves to be refined. In a propagator the error of a mode counts by
/// 1 / e, and that of a partner is longer by up to 2 / sqrt(e). So the lowest become better than others. A digit takes
/// some 18 signs a mode. To take it off a dozen columns of propagators, of four masses, takes 400: so it is not worth
/// while for more than the lowest twenty.
/// \param top  the largest e. The lowest fifth lies below 0.04 of it.
inline refinement_goal goal_of_pairs(const overlap_mode_search& search, double top) {
  const double tolerance = search.tolerance, least = std::min(tolerance, 1e-8), from = surely_no_zero(search);
  const auto goal = [=](double e) {
    return e < from ? tolerance : std::max(least, tolerance * std::clamp(150.0 * e / top, 0.1, 1.0));
  };
  const auto goal_of_partner = [=](double e) { return std::max(least, tolerance * std::max(150.0 * e / top, 0.5)); };
  return {.of = goal,
          .final_delta = accuracy_of_residuals(tolerance),
          .pairs_from = from,
          .pairs_to = 0.04 * top,
          .of_partner = goal_of_partner};
}

/// Where the tolerance does not tell zero modes from others, those that may be some become better.
/// \param partners  what D makes of main in the other chirality
template <class Sign, class F>
void refine_candidates(const Sign& sign, int chi, chiral_modes<F>& main, F& partners, const overlap_mode_search& search,
                       int width) {
  if (search.tolerance <= 1e-8) return;
  int count = 0;
  while (count < std::ssize(main.squares) && main.squares[static_cast<std::size_t>(count)] < surely_no_zero(search))
    ++count;
  if (count == 0) return;
  F place = view(main.vectors, 0, count), place_of_partners = view(partners, 0, count);
  chiral_modes<F> low{like(place)};
  copy(low.vectors, place);
  const int rest = main.vectors.columns() - count;
  const auto project = [&](F& x) {
    if (rest > 0) {
      const F others = view(main.vectors, count, rest);
      subtract_combinations(x, others, inner_products(others, x));
    }
    subtract_combinations(x, low.vectors, inner_products(low.vectors, x));
  };
  F products = like(place);
  refine_lowest_modes<Sign, F>(chiral_square<Sign>(sign, chi), low, &products, project, search, width,
                               main.squares.back());
  copy(place, low.vectors);
  copy(place_of_partners, products);
  std::ranges::copy(low.squares, main.squares.begin());
  std::ranges::copy(low.residuals, main.residuals.begin());
}

/// Modes of chirality -chi that the search in chi missed join those that it found, with their partners
/// P D v / sqrt(e - e^2/4). The lowest remain, as many as there were.
/// \param partners  of main, in the chirality of `late`
template <class Sign, class F>
void join_late_modes(const Sign& sign, int chi, const chiral_modes<F>& late, chiral_modes<F>& main, F& partners,
                     double delta, int width) {
  F products = like(late.vectors), theirs = like(late.vectors);
  products_of_basis(sign, -chi, late.vectors, products, &theirs, delta, width);
  std::vector<complex<double>> factors;
  for (const double e : late.squares) factors.push_back({1.0 / std::sqrt(e - 0.25 * e * e), 0.0});
  scale(theirs, make_scalars(theirs, std::span<const complex<double>>(factors)));
  const std::size_t count = main.squares.size();
  std::vector<double> squares = main.squares, residuals = main.residuals;
  squares.insert(squares.end(), late.squares.begin(), late.squares.end());
  residuals.insert(residuals.end(), late.residuals.begin(), late.residuals.end());
  std::vector<int> order(squares.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int i) { return squares[static_cast<std::size_t>(i)]; });
  order.resize(count);
  main.vectors = gather_columns(side_by_side(main.vectors, theirs), order);
  partners = gather_columns(side_by_side(partners, late.vectors), order);
  for (std::size_t i = 0; i < count; ++i) {
    main.squares[i] = squares[static_cast<std::size_t>(order[i])];
    main.residuals[i] = residuals[static_cast<std::size_t>(order[i])];
  }
}

/// The chirality whose lowest Ritz value of D^+ D stays higher in a short search: the other one may have zero modes.
/// A guess, which saves work where it is right; nothing depends on it.
template <class Sign, class F>
int chirality_without_zero_modes(const Sign& sign, const F& shape_of, const random_fill<F>& fill,
                                 const std::function<bool()>& interrupted) {
  double lowest[2] = {0.0, 0.0};
  for (const int chirality : {+1, -1}) {
    const chiral_square<Sign> square(sign, chirality);
    const restart_sizes sizes{.keep = 1, .most = 20, .block = 1, .cycles = 1};
    F basis = half_like(shape_of, sizes.most + 1);
    F start = view(basis, 0, 1);
    fill(start);
    thick_restart_lanczos<F>(
        basis, sizes, {},
        [&](F& out, const F& in) {
          square.apply(out, in, 1e-3);
          scale(out, uniform_scalars(out, -1.0));
        },
        [&](F&, const restart_state& state) {
          lowest[chirality > 0 ? 0 : 1] = -state.values[0];
          return true;
        },
        fill, interrupted);
  }
  return lowest[1] > lowest[0] ? -1 : +1;
}

enum class search_outcome { converged, not_converged, stopped, disturbed };

/// One search for the lowest modes of D^+ D in a chirality: Lanczos on -D^+ D, with a sign function whose accuracy
/// follows the residuals.
/// \tparam V  fields of the basis: double precision, or single where the sign function is
template <class Sign, class V>
class pair_search {
 public:
  using F = typename Sign::F;

  /// \param basis  of sizes_of_search(search).most + .block columns
  pair_search(const Sign& sign, int chirality, const overlap_mode_search& search, bool relaxed, const V& basis)
      : square_(sign, chirality),
        search_(search),
        relaxed_(relaxed),
        sizes_(sizes_of_search(search)),
        basis_(basis),
        delta_(least()) {}

  const restart_sizes& sizes() const { return sizes_; }

  /// \param state   the start is in the first columns of the basis; or what it says is
  /// \param cycles  counted on
  search_outcome run(restart_state state, const random_fill<V>& fill, int& cycles, const restart_keeper<F>& keeper) {
    const int l = search_.modes, p = sizes_.block;
    if (state.kept > 0) delta_ = accuracy_after(state);
    bool stopped = false, converged = false, disturbed = false;
    bool near = false, comes_near = false;
    double best = 1.0;
    const auto apply = [&](V& out, const V& in) {
      square_.apply(out, in, delta_);
      scale(out, uniform_scalars(out, -1.0));
    };
    const restart_decision<V> decide = [&](V& kept, const restart_state& s) {
      const double worst = worst_of(s);
      int good = 0;
      while (good < l && s.estimates[static_cast<std::size_t>(good)] < 0.3 * search_.tolerance) ++good;
      converged = good == l;
      // A mode that comes late, as the copies of a degenerate one do, is known no better than the sign function
      // has become meanwhile.
      disturbed = relaxed_ && delta_ > least() && worst > 100.0 * best;
      best = std::min(best, worst);
      delta_ = accuracy_after(s);
      if (!s.cut) ++cycles;
      if (search_.progress) search_.progress(cycles, good, worst, delta_);
      if (keeper && !disturbed) {
        const auto copied = [&] {
          F all(kept.get_context(), field_shape{2, 3, kept.shape().sites, s.kept + p});
          assign(all, view(kept, 0, s.kept + p));
          return all;
        };
        keeper(copied, s, square_.chirality());
      }
      stopped = search_.interrupted && search_.interrupted();
      comes_near = !near && 2 * good >= l;
      return converged || stopped || disturbed || comes_near;
    };
    // Near the end cycles are short: the last one would go on for long after all has converged.
    do {
      near = near || comes_near;
      comes_near = false;
      restart_sizes these = sizes_;
      if (near) these.most = sizes_.keep + std::max(2 * p, (sizes_.most - sizes_.keep) / 3);
      state = thick_restart_lanczos<V>(basis_, these, state, apply, decide, fill, search_.interrupted);
    } while (comes_near && !converged && !stopped && !disturbed && !state.cut && state.cycle < sizes_.cycles);
    kept_ = state.kept;
    if (kept_ >= l) top_ = -state.values[static_cast<std::size_t>(l) - 1];
    if (disturbed) return search_outcome::disturbed;
    if (converged && !state.cut) return search_outcome::converged;
    return stopped || state.cut ? search_outcome::stopped : search_outcome::not_converged;
  }

  /// The largest e that is wanted, as the search knows it.
  double top() const { return top_; }

  /// A block that begins another search: a mixture of what was found, and noise.
  void mix(F& block, const random_fill<F>& fill) const {
    V mixed = like(basis_, sizes_.block);
    combine_by_turns(mixed, view(basis_, 0, kept_));
    assign(block, mixed);
    F noise = like(block);
    fill(noise);
    normalise_columns(noise);
    axpy(block, uniform_scalars(block, 0.1), noise);
  }

 private:
  double least() const { return overlap_search_accuracy(search_.tolerance, 1.0, 1.0); }
  double worst_of(const restart_state& s) const {
    double worst = 0.0;
    for (int i = 0; i < std::min(search_.modes, s.kept); ++i)
      worst = std::max(worst, s.estimates[static_cast<std::size_t>(i)]);
    return worst;
  }
  double accuracy_after(const restart_state& s) const {
    if (!relaxed_ || s.kept < search_.modes) return least();
    return overlap_search_accuracy(search_.tolerance, worst_of(s),
                                   -s.values[static_cast<std::size_t>(search_.modes) - 1]);
  }

  chiral_square<Sign> square_;
  const overlap_mode_search& search_;
  bool relaxed_;
  restart_sizes sizes_;
  V basis_;
  double delta_;
  double top_ = 1.0;
  int kept_ = 0;
};

}  // namespace detail

/// The lowest modes of D in both chiralities. Lanczos on -D^+ D in the chirality of `search`; after each cycle the sign
/// function's accuracy follows the residuals. Then Rayleigh-Ritz with the accurate sign function, partners in the other
/// chirality P D v / sqrt(e - e^2/4), and zero modes there. (Symmetric links, as those of a free field, may have some
/// in both.) Collective.
/// \param shape_of  a field of 2 spins
/// \param stored    a state of an earlier call, with its basis, or none
/// \param make_basis  of the search, fields of 2 spins
template <class B>
overlap_mode_set<typename sign_function<B>::F> lowest_overlap_modes(
    const sign_function<B>& calibrated, const typename sign_function<B>::F& shape_of, const overlap_mode_search& search,
    const random_fill<typename sign_function<B>::F>& fill, int width,
    const restart_keeper<typename sign_function<B>::F>& keeper = nullptr,
    std::optional<std::pair<typename sign_function<B>::F, restart_state>> stored = std::nullopt,
    int stored_chirality = 0, const overlap_basis_makers<B>& make_basis = {}) {
  using F = typename sign_function<B>::F;
  const sign_function<B> sign = calibrated.careful();
  const int l = search.modes;
  const int chi = search.chirality != 0 ? search.chirality
                  : stored              ? stored_chirality
                           : detail::chirality_without_zero_modes(sign, shape_of, fill, search.interrupted);
  // Its copy of the modes of H in single precision serves corrections too, and then is given back.
  struct narrow_copy {
    const sign_function<B>& of;
    ~narrow_copy() { of.forget_narrow_modes(); }
  } const copy_of_modes{sign};
  const double final_delta = accuracy_of_residuals(search.tolerance);
  overlap_mode_set<F> found{{detail::half_like(shape_of, 0)}, {detail::half_like(shape_of, 0)}};
  found.searched = chi;
  chiral_modes<F>& main = found.of(chi);
  chiral_modes<F>& other = found.of(-chi);
  F partners = detail::half_like(shape_of, l);
  std::vector<double> of_partners;  // residuals
  std::optional<F> start;           // of a search that begins anew
  double top = 1.0;                 // the largest e that is wanted
  for (int attempt = 0; l > 0; ++attempt) {
    // A second search is accurate all the way.
    const bool relaxed = search.relaxed && attempt == 0;
    const bool is_narrow =
        attempt == 0 && overlap_search_is_narrow(search.tolerance) && sign.is_narrow(0.5 * least_narrow_tolerance);
    overlap_mode_search first_search = search;
    if (is_narrow) first_search.tolerance = std::max(search.tolerance, least_narrow_tolerance);
    const auto searched = [&]<class V>(V basis, const random_fill<V>& fill_basis) {
      const bool resumes = stored && attempt == 0;
      detail::pair_search<sign_function<B>, V> pairs(sign, chi, first_search, relaxed, basis);
      restart_state state;
      if (resumes) {
        state = stored->second;
        V first = view(basis, 0, stored->first.columns());
        assign(first, stored->first);
      } else {
        V first = view(basis, 0, pairs.sizes().block);
        if (start)
          assign(first, *start);
        else
          fill_basis(first);
      }
      const auto outcome = pairs.run(state, fill_basis, found.cycles, keeper);
      if (outcome == detail::search_outcome::stopped) return outcome;
      main.vectors = detail::half_like(shape_of, l);
      assign(main.vectors, view(basis, 0, l));
      start = detail::half_like(shape_of, pairs.sizes().block);
      pairs.mix(*start, fill);
      top = pairs.top();
      return outcome;
    };
    const int columns = sizes_of_search(search).most + sizes_of_search(search).block;
    detail::search_outcome outcome;
    if (is_narrow) {
      using G = typename sign_function<B>::G;
      const random_fill<G> narrow_fill = detail::converted_fill<G>(fill);
      outcome = searched(
          make_basis.narrow ? make_basis.narrow(columns) : like(detail::half_like(shape_of, 0), columns, as<G>),
          narrow_fill);
    } else {
      outcome = searched(make_basis.wide ? make_basis.wide(columns) : detail::half_like(shape_of, columns), fill);
    }
    found.complete = outcome == detail::search_outcome::converged;
    if (outcome == detail::search_outcome::stopped) return found;
    if (outcome != detail::search_outcome::disturbed) {
      orthonormalise(main.vectors, fill);
      const std::function<void(F&)> project = [&](F& x) {
        subtract_combinations(x, main.vectors, inner_products(main.vectors, x));
      };
      if (is_narrow || search.tolerance > 1e-8)
        of_partners =
            detail::mode_refinement<sign_function<B>, F>(chiral_square<sign_function<B>>(sign, chi), main, &partners,
                                                         project, detail::goal_of_pairs(search, top), search, width)
                .run();
      else
        of_partners = detail::judge_modes(sign, chi, main, partners, final_delta, width);
      if (search.interrupted && search.interrupted()) {
        found.complete = false;
        return found;
      }
      if (*std::max_element(main.residuals.begin(), main.residuals.end()) <= search.tolerance || attempt == 2) break;
    }
    ++found.restarts;
  }
  if (l > 0) detail::refine_candidates(sign, chi, main, partners, search, width);
  int zeros = 0;
  while (zeros < l && std::abs(main.squares[static_cast<std::size_t>(zeros)]) < search.zero) ++zeros;
  (chi > 0 ? found.zero_plus : found.zero_minus) = zeros;
  const int pairs = l - zeros;
  F pair_vectors = detail::half_like(shape_of, pairs);
  if (pairs > 0) {
    copy(pair_vectors, view(partners, zeros, pairs));
    std::vector<complex<double>> factors;
    for (int i = zeros; i < l; ++i) {
      const double e = main.squares[static_cast<std::size_t>(i)];
      factors.push_back({1.0 / std::sqrt(e - 0.25 * e * e), 0.0});
    }
    scale(pair_vectors, make_scalars(pair_vectors, std::span<const complex<double>>(factors)));
    rotate_basis(pair_vectors, inverse_root(overlaps(pair_vectors, pair_vectors)));
  }
  chiral_modes<F> zero_modes{detail::half_like(shape_of, 0)};
  if (pairs > 0) {
    const chiral_modes<F> beside =
        detail::search_beside(sign, -chi, pair_vectors, main.squares.back(), search, fill, width);
    const int all = beside.vectors.columns();
    int count = 0;
    while (count < all && std::abs(beside.squares[static_cast<std::size_t>(count)]) < search.zero) ++count;
    const auto part = [&](int first, int n) {
      const auto some = [&](const std::vector<double>& from) {
        return std::vector<double>(from.begin() + first, from.begin() + first + n);
      };
      return chiral_modes<F>{view(beside.vectors, first, n), some(beside.squares), some(beside.residuals)};
    };
    zero_modes = part(0, count);
    (chi > 0 ? found.zero_minus : found.zero_plus) = count;
    found.late = all - count;
    // Those that are no zero modes and have not converged are left out.
    const auto has_converged = [&](double residual) { return residual <= search.tolerance; };
    if (found.late > 0 && std::ranges::all_of(part(count, found.late).residuals, has_converged)) {
      chiral_modes<F> of_pairs{detail::half_like(shape_of, pairs),
                               {main.squares.begin() + zeros, main.squares.end()},
                               {main.residuals.begin() + zeros, main.residuals.end()}};
      F place = view(main.vectors, zeros, pairs);
      copy(of_pairs.vectors, place);
      detail::join_late_modes(sign, chi, part(count, found.late), of_pairs, pair_vectors, final_delta, width);
      copy(place, of_pairs.vectors);
      std::ranges::copy(of_pairs.squares, main.squares.begin() + zeros);
      std::ranges::copy(of_pairs.residuals, main.residuals.begin() + zeros);
      rotate_basis(main.vectors, inverse_root(overlaps(main.vectors, main.vectors)));
    }
  }
  const int extra = zero_modes.vectors.columns();
  other.vectors = detail::half_like(shape_of, extra + pairs);
  if (extra > 0) {
    F first = view(other.vectors, 0, extra);
    copy(first, zero_modes.vectors);
  }
  if (pairs > 0) {
    F rest = view(other.vectors, extra, pairs);
    copy(rest, pair_vectors);
  }
  if (found.late > 0) rotate_basis(other.vectors, inverse_root(overlaps(other.vectors, other.vectors)));
  other.squares = zero_modes.squares;
  other.residuals = zero_modes.residuals;
  other.squares.insert(other.squares.end(), main.squares.begin() + zeros, main.squares.end());
  for (std::size_t i = static_cast<std::size_t>(zeros); i < static_cast<std::size_t>(l); ++i)
    other.residuals.push_back(i < of_partners.size() ? std::max(main.residuals[i], of_partners[i]) : main.residuals[i]);
  return found;
}

/// |D^+ D v - e v| of each mode, with products made here, whatever found the modes or read them from a file.
/// Collective.
/// \param delta  accuracy of the sign function
template <class Sign, class F>
std::vector<double> residuals_of_modes(const Sign& sign, int chirality, const chiral_modes<F>& modes, double delta,
                                       int width) {
  F residual_vectors = like(modes.vectors);
  if (modes.vectors.columns() == 0) return {};
  detail::products_of_basis(sign, chirality, modes.vectors, residual_vectors, static_cast<F*>(nullptr), delta, width);
  std::vector<complex<double>> minus;
  for (const double e : modes.squares) minus.push_back({-e, 0.0});
  axpy(residual_vectors, make_scalars(residual_vectors, std::span<const complex<double>>(minus)), modes.vectors);
  return detail::square_roots(host_values(norm2(residual_vectors)));
}

/// The largest residual that a mode of the other chirality may have, w = P D v / sqrt(e - e^2/4) of a v with the
/// residual `tolerance`: (D^+ D - e) commutes with D, and |D| <= 2, as far as sign^2 = 1.
/// \param delta  error of the sign function, of which |1 - sign^2| is twice as much
inline double tolerance_of_partner(double e, double tolerance, double delta = 0.0) {
  const double s = e - 0.25 * e * e;
  if (!(s > 0.0)) return tolerance;
  return tolerance * std::max(1.0, 2.0 / std::sqrt(s)) + 2.0 * (2.0 + delta) * delta / std::sqrt(s);
}

/// What random vectors tell of D^+ D off known modes.
struct complement_of_modes {
  double lowest = 4.0;   ///< no less than the least e there
  bool settled = false;  ///< the search came as far as `steps_to_find` says
};

/// Steps of Lanczos after which a random vector of `size` components has shown an e below 0.75 of `bound`: Chebyshev
/// polynomials of D^+ D amplify it against e from `bound` on by cosh(2 n g), sinh(g)^2 = 0.25 bound / 4.
inline int steps_to_find(double bound, double size) {
  const double g = std::asinh(std::sqrt(0.0625 * bound));
  return static_cast<int>(std::ceil(0.5 * std::log(20.0 * std::sqrt(16.0 * size / bound)) / g));
}

namespace detail {

template <class V, class Sign, class F>
complement_of_modes search_in_complement(const chiral_square<Sign>& square, const F& known, double bound, double size,
                                         const random_fill<V>& fill, const std::function<bool()>& interrupted) {
  const double delta = std::clamp(2.5e-4 * bound, 1e-7, 1e-4);
  constexpr int keep = 6, most = 48;
  const int alone = steps_to_find(bound, size), enough = alone <= most ? alone : alone * 3 / 2;  // restarts take more
  const restart_sizes sizes{.keep = keep, .most = std::clamp(alone, 2 * keep, most), .block = 1, .cycles = 200};
  V off = like(half_like(known, 0), known.columns(), as<V>), basis = like(off, sizes.most + 1);
  if (known.columns() > 0) assign(off, known);
  const auto project = [&](V& x) {
    if (off.columns() > 0) subtract_combinations(x, off, inner_products(off, x));
  };
  V start = view(basis, 0, 1);
  fill(start);
  project(start);
  complement_of_modes found;
  int steps = 0;
  thick_restart_lanczos<V>(
      basis, sizes, {},
      [&](V& out, const V& in) {  // P (4 - D^+ D) P, as in lowest_beside
        square.apply(out, in, delta);
        scale(out, uniform_scalars(out, -1.0));
        axpy(out, uniform_scalars(out, 4.0), in);
        project(out);
        ++steps;
      },
      [&](V&, const restart_state& state) {
        found.lowest = 4.0 - state.values[0];
        const double error = state.estimates[0];
        // A Ritz value below the bound proves that a mode is there. One above is no lower for sure once it has settled.
        found.settled = steps >= enough && error < std::max(0.5 * (found.lowest - bound), 1e-3 * bound);
        return found.lowest < bound || found.settled || (interrupted && interrupted());
      },
      fill, interrupted);
  return found;
}

}  // namespace detail

/// Searches the least e of D^+ D in a chirality off orthonormal `known` modes, until it is clear whether it is below
/// `bound`. Starts from random vectors, and so does not depend on the search that found the modes. Collective.
/// \param size  components of a vector on the whole lattice
template <class Sign, class F>
complement_of_modes lowest_in_complement(const Sign& sign, int chirality, const F& known, double bound, double size,
                                         const random_fill<F>& fill, const std::function<bool()>& interrupted) {
  using G = typename Sign::G;
  const chiral_square<Sign> square(sign, chirality);
  const complement_of_modes found =
      sign.is_narrow(std::clamp(2.5e-4 * bound, 1e-7, 1e-4))
          ? detail::search_in_complement<G>(square, known, bound, size, detail::converted_fill<G>(fill), interrupted)
          : detail::search_in_complement<F>(square, known, bound, size, fill, interrupted);
  sign.forget_narrow_modes();
  return found;
}

/// max |V^+ V - 1|
template <class F>
double distance_from_orthonormal(const F& v) {
  if (v.columns() == 0) return 0.0;
  const host_matrix c = overlaps(v, v);
  double worst = 0.0;
  for (int j = 0; j < c.columns(); ++j)
    for (int i = 0; i < c.rows(); ++i) {
      const complex<double> expected{i == j ? 1.0 : 0.0, 0.0};
      const double d = std::sqrt(norm2(c(i, j) - expected));
      if (!(d <= worst)) worst = d;
    }
  return worst;
}

/// The eigenvalues of D: zeros, then pairs e/2 +- i sqrt(e - e^2/4) of the chirality that has more.
template <class F>
std::vector<complex<double>> overlap_eigenvalues(const overlap_mode_set<F>& modes) {
  std::vector<complex<double>> values(static_cast<std::size_t>(modes.zero_plus + modes.zero_minus));
  const bool plus = modes.plus.squares.size() >= modes.minus.squares.size();
  const auto& squares = plus ? modes.plus.squares : modes.minus.squares;
  for (std::size_t i = static_cast<std::size_t>(plus ? modes.zero_plus : modes.zero_minus); i < squares.size(); ++i) {
    const double e = squares[i], s = std::sqrt(std::max(0.0, e - 0.25 * e * e));
    values.push_back({0.5 * e, s});
    values.push_back({0.5 * e, -s});
  }
  return values;
}

}  // namespace plaquette
