// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Checks identities of any hierarchy of coarse lattices, for all null vectors: P^+ P = 1 and P^+ M P = Mhat.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/multigrid/multigrid_setup.hpp"
#include "common/solvers/multigrid_solver.hpp"

namespace plaquette {

/// Tries the identities on random numbers. Refers to the multigrid.
template <class Library>
class coarse_identities {
  using fine_field = typename Library::fine_field;

 public:
  explicit coarse_identities(const multigrid<Library>& mg) : mg_(mg), library_(mg.library()) {}

  std::vector<identity_check> of_all_levels() const {
    std::vector<identity_check> found;
    const std::uint64_t seed = mg_.parameters().seed;
    std::size_t number = 0;
    for (const auto& level : mg_.levels()) {
      auto c = level.from_finer->coarse_like(1);
      library_.fill_random(c, seed + ++number);
      if (number == 1) {
        add(found, number, c, library_.random_fine_field(1, 1),
            [&](fine_field& out, const fine_field& in) { library_.apply_full(out, in); });
      } else {
        const auto& finer = mg_.levels()[number - 2];
        using field = std::remove_cvref_t<decltype(c)>;
        add(found, number, c, finer.system->full_field(1),
            [&](field& out, const field& in) { library_.apply_full(out, in, *finer.operator_numbers); });
      }
    }
    return found;
  }

  /// Compares a cycle of this library in single precision with another library's, of the same vectors and matrices. No
  /// loop may end early. Rounding of the coarse matrices that cycles read is multiplied by the condition of the coarse
  /// systems, and reduced by relaxation; measured half of that rounding near the critical mass.
  identity_check of_cycle(const coarse_hierarchy& other) const {
    fine_field b = library_.random_fine_field(1, mg_.parameters().seed + 77);
    fine_field even = library_.even_field(1), x = like(even);
    library_.restrict_to_even(even, b);
    spinor_configuration from(library_.get_context().geometry()), here(from), there(from);
    export_column(from, even, 0);
    mg_.cycle(1).apply(x, even);
    export_column(here, x, 0);
    other.cycle(there, from);
    std::array<double, 2> sums{};  // of |here - there|^2 and |there|^2
    for (std::int64_t site = 0; site < from.geometry().local_volume(); ++site)
      for (int s = 0; s < spins; ++s)
        for (int c = 0; c < colours; ++c) {
          sums[0] += norm2(here.at_site(site)(s, c) - there.at_site(site)(s, c));
          sums[1] += norm2(there.at_site(site)(s, c));
        }
    library_.get_context().comm().sum(std::span(sums));
    return {"cycle: that of the CPU library", std::sqrt(sums[0] / sums[1]), 50.0 * Library::matrix_roundoff};
  }

 private:
  /// Adds checks of P^+ P = 1 and P^+ M P = Mhat on coarse numbers c. M is the operator of the lattice above.
  template <class Coarse, class Fine, class Apply>
  void add(std::vector<identity_check>& found, std::size_t number, const Coarse& c, Fine fine,
           const Apply& apply) const {
    const std::string name = "level " + std::to_string(number);
    const auto& level = mg_.levels()[number - 1];
    const auto& p = *level.from_finer;
    Coarse back = like(c);
    Fine image = like(fine);
    p.prolong(fine, c);
    p.restrict_to(back, fine);
    const double rounding = rounding_of_transfer(number);
    found.push_back({name + ": restriction undoes prolongation", distance_at_worst_site(back, c), 2.0 * rounding});
    apply(image, fine);
    p.restrict_to(back, image);  // P^+ M P c
    const auto& coarse = *level.system;
    auto source = coarse.solved_field(1), mc = like(source), working = like(source);
    coarse.prepare_source(source, back);
    library_.restrict_to_even(working, c);
    coarse.apply(mc, working);
    // The red-black system multiplies errors of P^+ M P c by a factor, measured on random numbers of that length.
    Coarse noise = like(c);
    library_.fill_random(noise, mg_.parameters().seed + number + 100);
    auto of_noise = like(source);
    coarse.prepare_source(of_noise, noise);
    const double factor = norm_of(of_noise) / norm_of(source) * norm_of(back) / norm_of(noise);
    // Both operators sum 9 n products each. Rounding of the stored matrices, each number by itself, adds its size for
    // each of the few largest products.
    const auto rounding_of_products = [](double numbers) { return std::sqrt(9.0 * numbers / 3.0) * 0x1p-24; };
    const double allowed = 2.0 * (1.0 + factor) * rounding +
                           2.0 * (rounding_of_products(coarse.n()) + rounding_of_products(numbers_of_finer(number))) +
                           4.0 * Library::matrix_roundoff;
    found.push_back({name + ": coarse operator is P^+ M P", distance(mc, source), allowed});
  }

  /// Returns the error of P^+ P c by rounding in single precision, relative to c. Each number is a sum over an
  /// aggregate whose N terms have random signs. It is rounded N times, at the length of its partial sums.
  double rounding_of_transfer(std::size_t number) const {
    const auto& all = mg_.parameters().coarsenings;
    const double terms =
        numbers_of_finer(number) / chiralities * static_cast<double>(volume(all[number - 1].aggregate));
    return (1.0 + std::sqrt(terms / 3.0)) * 0x1p-24;
  }
  /// Returns the numbers of a site of the lattice above.
  double numbers_of_finer(std::size_t number) const {
    return number == 1 ? 12.0 : 2.0 * mg_.parameters().coarsenings[number - 2].vectors;
  }

  template <class Field>
  static double norm_of(const Field& x) {
    return std::sqrt(host_values(norm2(x))[0].re);
  }
  template <class Field>
  static double distance(const Field& a, const Field& b) {
    Field difference = like(a);
    const auto d2 = host_values(subtract_norm2(difference, a, b)), b2 = host_values(norm2(b));
    return std::sqrt(d2[0].re / b2[0].re);
  }
  /// Returns the largest |a - b| of a site over the mean |b| of sites: one wrong number shows on a lattice of any size.
  template <class Field>
  double distance_at_worst_site(const Field& a, const Field& b) const {
    std::vector<complex<double>> here(static_cast<std::size_t>(a.sites() * a.components())), there(here);
    export_column(std::span(here), a, 0);
    export_column(std::span(there), b, 0);
    const auto of_site = static_cast<std::size_t>(a.components());
    double worst2 = 0.0;
    for (std::size_t site = 0; site < here.size(); site += of_site) {
      double sum = 0.0;
      for (std::size_t k = site; k < site + of_site; ++k) sum += norm2(here[k] - there[k]);
      keep_largest(worst2, sum);
    }
    const communicator& comm = library_.get_context().comm();
    std::array<double, 2> largest{worst2, std::isnan(worst2) ? 1.0 : 0.0};
    comm.maximum(std::span(largest));
    if (largest[1] > 0.0) return std::numeric_limits<double>::quiet_NaN();
    std::array<double, 1> sites{static_cast<double>(b.sites())};
    comm.sum(std::span(sites));
    return std::sqrt(largest[0] * sites[0]) / norm_of(b);
  }

  const multigrid<Library>& mg_;
  const Library& library_;
};

}  // namespace plaquette
