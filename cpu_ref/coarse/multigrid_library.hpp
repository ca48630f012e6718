// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The types and functions of the CPU library that the setup of multigrid needs (common/multigrid/multigrid_setup.hpp).
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "common/operators/whole_lattice.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/coarse/coarse_operator.hpp"
#include "cpu_ref/coarse/domains.hpp"
#include "cpu_ref/coarse/galerkin.hpp"
#include "cpu_ref/coarse/lattice_gather.hpp"
#include "cpu_ref/coarse/transfer.hpp"
#include "cpu_ref/coarse/vector_pool.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/random_spinor.hpp"

namespace plaquette::cpu {

/// Types and functions for lattices of multigrid with any operator: single precision on all levels. Copies share
/// everything.
class multigrid_lattices {
 public:
  using fine_field = field<float>;
  using coarse_field = cpu::coarse_field<float>;
  using coarse_system = coarse_schur<float>;
  using transfer = cpu::transfer<float>;
  using basis = null_space;
  using matrices = coarse_matrices;
  using singular_values = cpu::singular_values;
  using gather_of_lattice = lattice_gather;
  /// Unit roundoff of the coarse matrices that cycles read.
  static constexpr double matrix_roundoff = 0x1p-24;

  explicit multigrid_lattices(const context& ctx) : context_(ctx), coarse_(ctx) {}

  const context& get_context() const { return context_; }
  /// Returns levels as every rank holds them whole. Collective.
  matrices whole(const matrices& part) const { return whole_lattice(part, context_.comm()); }
  basis whole(const basis& part) const { return whole_lattice(part, context_.comm()); }
  std::shared_ptr<const lattice_gather> make_gather(const coarse_system& part, const coarse_system& whole) const {
    return std::make_shared<const lattice_gather>(context_, part.geometry(), whole.geometry());
  }
  /// Whether a number on the host costs nothing.
  static constexpr bool is_synchronous() { return true; }
  void finish() const {}
  /// Returns the seconds that finding out how to launch kernels has taken so far.
  static constexpr double tuning_seconds() { return 0.0; }

  /// Returns random fields on all sites of the fine lattice.
  fine_field random_fine_field(int columns, std::uint64_t seed) const {
    fine_field v(context_, {spins, colours, site_subset::full, columns});
    for (int c = 0; c < columns; ++c) {
      stop_point(stop_kind::late);
      import_column(v, c,
                    random_spinor(context_.geometry(), seed, (std::uint64_t{1} << 32) + static_cast<std::uint64_t>(c),
                                  context_.comm()));
    }
    return v;
  }
  void restrict_to_even(coarse_field& working, const coarse_field& v) const {
    if (working.shape().sites == site_subset::full)
      copy(working, v);
    else
      copy(working, v.parity(0));
  }
  void fill_random(coarse_field& v, std::uint64_t seed) const { cpu::fill_random(v, seed, std::uint64_t{2} << 32); }
  /// Applies the operator of a coarse lattice on all sites.
  void apply_full(coarse_field& out, const coarse_field& in, const matrices& numbers) const {
    coarse_operator<float>(coarse_, numbers).apply(out, in);
  }

  basis gather(const fine_field& v, const extents& aggregate) const {
    return gathered(v, aggregates(context_.geometry(), coarsened(context_.geometry(), aggregate)));
  }
  basis gather(const coarse_field& v, const extents& aggregate) const {
    return gathered(v, aggregates(v.geometry(), coarsened(v.geometry(), aggregate)));
  }
  orthonormalisation make_orthonormal(basis& vectors) const { return orthonormalise(vectors, context_); }
  singular_values take_leading_vectors(const basis* kept, const singular_values& of_kept, basis& fresh,
                                       std::span<const double> weights) const {
    return cpu::take_leading_vectors(kept, of_kept, fresh, weights, context_);
  }
  std::shared_ptr<const transfer> make_transfer(const basis& vectors) const {
    return std::make_shared<const transfer>(coarse_, vectors);
  }
  std::shared_ptr<const coarse_system> make_system(const matrices& numbers) const {
    return std::make_shared<const coarse_system>(coarse_, numbers);
  }
  /// Returns P^+ (M + i mu gamma_5) P of P^+ M P.
  matrices with_twist(const matrices& numbers, double mu) const { return plaquette::with_twist(numbers, mu); }
  schwarz_domains<coarse_field> coarse_domains(const matrices& numbers, const extents& shape) const {
    return cpu::coarse_domains(coarse_, numbers, shape);
  }

 protected:
  context context_;
  execution coarse_;  ///< where coarse lattices live
};

/// The same for the Wilson-clover operator.
class multigrid_library : public multigrid_lattices {
 public:
  using fine_operator = schur_wilson_clover<float>;

  /// \param links  with ghosts filled
  multigrid_library(const context& ctx, std::shared_ptr<const gauge_configuration> links, const fermion_action& action)
      : multigrid_library(ctx, links, action, std::make_shared<const wilson_clover<float>>(ctx, *links, action)) {}
  /// Takes an operator that is there. A caller who changes the links lets it follow.
  multigrid_library(const context& ctx, std::shared_ptr<const gauge_configuration> links, const fermion_action& action,
                    std::shared_ptr<const wilson_clover<float>> full)
      : multigrid_lattices(ctx),
        links_(std::make_shared<shared_links>(std::move(links))),
        action_(action),
        full_(std::move(full)),
        system_(std::make_shared<const fine_operator>(full_, schur_kind::asymmetric)) {}

  /// Takes other links for `galerkin` and `fine_domains`, in all copies. A caller lets the operator follow them.
  void use_links(std::shared_ptr<const gauge_configuration> links) { *links_ = std::move(links); }

  /// Returns this library for coarse lattices that every rank holds whole.
  multigrid_library alone() const {
    multigrid_library same = *this;
    same.coarse_ = coarse_.alone();
    return same;
  }
  const std::shared_ptr<const fine_operator>& system() const { return system_; }
  fine_field even_field(int columns) const { return {context_, {spins, colours, site_subset::even, columns}}; }
  using multigrid_lattices::restrict_to_even;
  void restrict_to_even(fine_field& even, const fine_field& v) const { copy(even, v.parity(0)); }
  using multigrid_lattices::apply_full;
  void apply_full(fine_field& out, const fine_field& in) const { full_->apply(out, in); }
  matrices galerkin(const basis& vectors) const { return galerkin_product(context_, **links_, action_, vectors); }
  matrices galerkin(const matrices& finer, const basis& vectors) const {
    return galerkin_product(context_, finer, vectors);
  }
  template <class T>
  schwarz_domains<field<T>> fine_domains(const schur_wilson_clover<T>& a, const extents& shape) const {
    return cpu::fine_domains(a, **links_, shape);
  }

 private:
  using shared_links = std::shared_ptr<const gauge_configuration>;

  std::shared_ptr<shared_links> links_;
  fermion_action action_;
  std::shared_ptr<const wilson_clover<float>> full_;
  std::shared_ptr<const fine_operator> system_;
};

}  // namespace plaquette::cpu
