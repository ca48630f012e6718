// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The library of multigrid (common/multigrid/multigrid_setup.hpp) for an operator that is known by its applications
/// alone.
#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/cpp/source/state.hpp"
#include "common/lattice/source_description.hpp"
#include "cpu_ref/coarse/multigrid_library.hpp"
#include "plaquette/own_operator.hpp"

namespace plaquette::api {
inline namespace v1 {

/// A caller's M on this rank's vectors.
class called_vectors {
 public:
  called_vectors(const lattice_geometry& geometry, own_operator m)
      : m_(std::move(m)), in_(numbers(geometry)), out_(numbers(geometry)) {}

  /// Computes out = M in. Ghosts are not filled. An exception of the caller's leaves as callers_exception.
  void apply(spinor_configuration& out, const spinor_configuration& in) {
    const lattice_geometry& geometry = in.geometry();
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
      for (int k = 0; k < spin_colours; ++k) {
        const auto& number = in.at_site(site)(k / colours, k % colours);
        in_[index(site, k)] = {number.re, number.im};
      }
    try {
      m_(out_, in_);
    } catch (...) {
      throw callers_exception{std::current_exception()};
    }
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
      for (int k = 0; k < spin_colours; ++k) out.at_site(site)(k / colours, k % colours) = inner(out_[index(site, k)]);
  }

 private:
  static std::size_t numbers(const lattice_geometry& geometry) { return index(geometry.local_volume(), 0); }
  static std::size_t index(std::int64_t site, int k) { return static_cast<std::size_t>(site * spin_colours + k); }

  own_operator m_;
  std::vector<std::complex<double>> in_, out_;
};

/// M on fields of all sites, as a system that is solved as it is: it has no red-black form and no adjoint.
template <class T>
class called_operator {
 public:
  using field = cpu::field<T>;

  called_operator(const lattice_geometry& geometry, std::shared_ptr<called_vectors> m)
      : m_(std::move(m)), in_(geometry), out_(geometry) {}

  void apply(field& out, const field& in) const {
    for (int n = 0; n < in.columns(); ++n) {
      export_column(in_, in, n);
      m_->apply(out_, in_);
      import_column(out, n, out_);
    }
  }
  field even_like(const field& full) const { return like(full); }
  void prepare_source(field& working, const field& b) const { copy(working, b); }
  void reconstruct_solution(field& x, const field& working, const field&) const { copy(x, working); }

 private:
  std::shared_ptr<called_vectors> m_;
  mutable spinor_configuration in_, out_;
};

/// Returns a colour for each site of a periodic lattice: no site has the colour of another one within two hops.
inline std::vector<int> colours_of(const extents& lattice) {
  std::vector<int> colours(static_cast<std::size_t>(volume(lattice)), -1);
  const auto hop = [&](coordinate x, int d) {
    x[d / 2] = (x[d / 2] + (d % 2 == 0 ? 1 : lattice[d / 2] - 1)) % lattice[d / 2];
    return x;
  };
  for (std::size_t site = 0; site < colours.size(); ++site) {
    std::vector<bool> taken(1 + hop_directions * (1 + hop_directions), false);
    const auto take = [&](const coordinate& x) {
      if (const int colour = colours[static_cast<std::size_t>(lexicographic(x, lattice))]; colour >= 0)
        taken[static_cast<std::size_t>(colour)] = true;
    };
    const coordinate x = coordinate_of(static_cast<std::int64_t>(site), lattice);
    for (int d = 0; d < hop_directions; ++d) {
      take(hop(x, d));
      for (int e = 0; e < hop_directions; ++e) take(hop(hop(x, d), e));
    }
    colours[site] = static_cast<int>(std::ranges::find(taken, false) - taken.begin());
  }
  return colours;
}

/// Returns P^+ M P of an operator that joins aggregates with a common face: M P e for all vectors e of one number on
/// the sites of one colour, whose images do not meet. Collective.
/// \param apply  out = M in on fields of the finer lattice
/// \param fine   such a field
template <class Fine, class Apply>
coarse_matrices probed_product(const cpu::transfer<float>& p, const Fine& fine, const Apply& apply) {
  constexpr int batch = 12;
  const coarse_geometry& lattice = *p.coarse();
  coarse_matrices product(lattice, chiralities * p.vectors());
  const std::vector<int> colours = colours_of(lattice.global());
  const auto colour_at = [&](std::int64_t site, int d) {  // d = -1: of the site itself
    coordinate x = lattice.local_coordinate(site);
    for (int mu = 0; mu < dimensions; ++mu) x[mu] += lattice.origin()[mu];
    if (d >= 0) {
      const int length = lattice.global()[d / 2];
      x[d / 2] = (x[d / 2] + (d % 2 == 0 ? 1 : length - 1)) % length;
    }
    return colours[static_cast<std::size_t>(lexicographic(x, lattice.global()))];
  };
  for (int colour = 0; colour <= std::ranges::max(colours); ++colour)
    for (int first = 0; first < product.n; first += batch) {
      const int count = std::min(batch, product.n - first);
      auto e = p.coarse_like(count), image = like(e);
      Fine in = like(fine, count), out = like(in);
      zero(e);
      for (std::int64_t site = 0; site < lattice.sites(); ++site)
        if (colour_at(site, -1) == colour)
          for (int k = 0; k < count; ++k) e.at(site, k)[first + k] = {1.0F, 0.0F};
      p.prolong(in, e);
      apply(out, in);
      p.restrict_to(image, out);
      for (std::int64_t site = 0; site < lattice.sites(); ++site)
        for (int d = -1; d < hop_directions; ++d) {
          const int length = d < 0 ? 0 : lattice.global()[d / 2];
          if (colour_at(site, d) != colour || length == 1) continue;  // around the lattice into itself: part of X
          const float share = length == 2 ? 0.5F : 1.0F;              // of one of two hops to one site
          complex<float>* const matrix = product.matrix(site, 1 + d);
          for (int k = 0; k < count; ++k)
            for (int i = 0; i < product.n; ++i) matrix[i * product.n + first + k] = share * image.at(site, k)[i];
        }
    }
  return product;
}

/// See multigrid_setup.hpp. Copies share everything.
class called_library : public cpu::multigrid_lattices {
 public:
  using fine_operator = called_operator<float>;

  called_library(const cpu::context& ctx, const std::shared_ptr<called_vectors>& m)
      : multigrid_lattices(ctx), system_(std::make_shared<const fine_operator>(ctx.geometry(), m)) {}

  called_library alone() const {
    called_library same = *this;
    same.coarse_ = coarse_.alone();
    return same;
  }
  const std::shared_ptr<const fine_operator>& system() const { return system_; }
  fine_field even_field(int columns) const { return {context_, {spins, colours, site_subset::full, columns}}; }
  using multigrid_lattices::restrict_to_even;
  void restrict_to_even(fine_field& working, const fine_field& v) const { copy(working, v); }
  using multigrid_lattices::apply_full;
  void apply_full(fine_field& out, const fine_field& in) const { system_->apply(out, in); }
  matrices galerkin(const basis& vectors) const {
    return probed_product(transfer(coarse_, vectors), even_field(1),
                          [this](fine_field& out, const fine_field& in) { system_->apply(out, in); });
  }
  matrices galerkin(const matrices& finer, const basis& vectors) const {
    const coarse_operator_of_level a(coarse_, finer);
    const coarse_field shape(coarse_, std::make_shared<const coarse_geometry>(finer.geometry),
                             {chiralities, finer.n / chiralities, site_subset::full, 1});
    return probed_product(transfer(coarse_, vectors), shape,
                          [&a](coarse_field& out, const coarse_field& in) { a.apply(out, in); });
  }

 private:
  using coarse_operator_of_level = cpu::coarse_operator<float>;
  std::shared_ptr<const fine_operator> system_;
};

}  // namespace v1
}  // namespace plaquette::api
