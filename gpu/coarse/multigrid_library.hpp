// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The types and functions of the CUDA library that the setup of multigrid needs
/// (common/multigrid/multigrid_setup.hpp). The twin of cpu_ref/coarse/multigrid_library.hpp.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/operators/whole_lattice.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/coarse/coarse_operator.hpp"
#include "gpu/coarse/domains.hpp"
#include "gpu/coarse/galerkin.hpp"
#include "gpu/coarse/lattice_gather.hpp"
#include "gpu/coarse/transfer.hpp"
#include "gpu/coarse/vector_pool.hpp"
#include "gpu/dirac/duo_polynomial.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

/// Single precision on all levels, but for the coarse matrices and null vectors that cycles read, which have 16 bits.
/// Copies share everything.
class multigrid_library {
 public:
  using fine_field = field<float>;
  using coarse_field = gpu::coarse_field<float>;
  using fine_operator = schur_wilson_clover<float>;
  using coarse_system = coarse_schur<float>;
  using transfer = gpu::transfer<float>;
  using basis = null_space;
  using matrices = coarse_matrices;
  using singular_values = gpu::singular_values;
  /// Unit roundoff of the coarse matrices that cycles read: floats of 11 bits.
  static constexpr double matrix_roundoff = 0x1p-12;

  multigrid_library(const context& ctx, const gauge_configuration& links, const fermion_action& action,
                    reconstruct stored = reconstruct::none)
      : multigrid_library(ctx, links, action,
                          std::make_shared<const wilson_clover<float>>(ctx, links, action, stored)) {}
  /// Takes an operator that is there. A caller who changes the links lets it follow.
  /// \param links  shared
  multigrid_library(const context& ctx, const gauge_configuration& links, const fermion_action& action,
                    std::shared_ptr<const wilson_clover<float>> full)
      : context_(ctx),
        coarse_(ctx),
        links_(std::make_shared<gauge_configuration>(links)),
        action_(action),
        full_(std::move(full)),
        system_(std::make_shared<const fine_operator>(full_, schur_kind::asymmetric)) {}

  /// Takes other links for `galerkin` and `fine_domains`, in all copies. A caller lets the operator follow them.
  /// \param links  shared
  void use_links(const gauge_configuration& links) { *links_ = links; }

  const context& get_context() const { return context_; }
  /// Returns this library for coarse lattices that every rank holds whole.
  multigrid_library alone() const {
    multigrid_library same = *this;
    same.coarse_ = coarse_.alone();
    return same;
  }
  /// Returns levels as every rank holds them whole. They go through the host. Collective.
  matrices whole(const matrices& part) const {
    return import_matrices(coarse_.alone(), whole_lattice(export_matrices(part), context_.comm()));
  }
  basis whole(const basis& part) const {
    return import_null_space(coarse_.alone(), whole_lattice(export_null_space(part), context_.comm()), true);
  }
  using gather_of_lattice = lattice_gather;
  std::shared_ptr<const lattice_gather> make_gather(const coarse_system& part, const coarse_system& whole) const {
    return std::make_shared<const lattice_gather>(context_, part.geometry(), whole.geometry());
  }
  const std::shared_ptr<const fine_operator>& system() const { return system_; }
  /// Whether a number on the host costs nothing.
  static constexpr bool is_synchronous() { return false; }
  void finish() const { context_.queue().synchronize(); }
  /// Returns the seconds that finding out how to launch kernels has taken so far.
  double tuning_seconds() const { return context_.tuner().seconds_spent(); }

  /// Returns random fields on all sites of the fine lattice.
  fine_field random_fine_field(int columns, std::uint64_t seed) const {
    fine_field v(context_, {spins, colours, site_subset::full, columns});
    random_spinors(v, seed, std::uint64_t{1} << 32);
    return v;
  }
  fine_field even_field(int columns) const { return {context_, {spins, colours, site_subset::even, columns}}; }
  void restrict_to_even(fine_field& even, const fine_field& v) const { copy(even, v.parity(0)); }
  void restrict_to_even(coarse_field& working, const coarse_field& v) const {
    if (working.shape().sites == site_subset::full)
      copy(working, v);
    else
      copy(working, v.parity(0));
  }
  void fill_random(coarse_field& v, std::uint64_t seed) const { gpu::fill_random(v, seed, std::uint64_t{2} << 32); }
  void apply_full(fine_field& out, const fine_field& in) const { full_->apply(out, in); }
  /// Applies the operator of a coarse lattice on all sites.
  void apply_full(coarse_field& out, const coarse_field& in, const matrices& numbers) const {
    coarse_operator<float>(coarse_, numbers).apply(out, in);
  }

  basis gather(const fine_field& v, const extents& aggregate) const {
    return gathered(v, tables_of(context_.geometry(), aggregate, false));
  }
  basis gather(const coarse_field& v, const extents& aggregate) const {
    return gathered(v, tables_of(v.geometry(), aggregate, true));
  }
  orthonormalisation make_orthonormal(basis& vectors) const { return orthonormalise(vectors); }
  singular_values take_leading_vectors(const basis* kept, const singular_values& of_kept, basis& fresh,
                                       std::span<const double> weights) const {
    return gpu::take_leading_vectors(kept, of_kept, fresh, weights);
  }
  std::shared_ptr<const transfer> make_transfer(const basis& vectors) const {
    return std::make_shared<const transfer>(coarse_, vectors);
  }
  /// Whether cycles on fields Field work with numbers of 16 bits: fields of half, and coarse ones, whose matrices have
  /// 16 bits.
  template <class Field>
  static constexpr bool relaxes_in_16_bits = !std::is_same_v<Field, fine_field>;
  std::shared_ptr<const transfer> make_transfer_in_16_bits(const basis& vectors) const {
    return std::make_shared<const transfer>(coarse_, vectors, coarse_storage::half);
  }
  matrices galerkin(const basis& vectors) const { return galerkin_product(*links_, action_, vectors); }
  matrices galerkin(const matrices& finer, const basis& vectors) const { return galerkin_product(finer, vectors); }
  std::shared_ptr<const coarse_system> make_system(const matrices& numbers) const {
    return std::make_shared<const coarse_system>(coarse_, numbers, coarse_storage::half);
  }
  /// Returns P^+ (M + i mu gamma_5) P of P^+ M P.
  matrices with_twist(const matrices& numbers, double mu) const { return gpu::with_twist(numbers, mu); }
  template <class T>
  schwarz_domains<field<T>> fine_domains(const schur_wilson_clover<T>& a, const extents& shape) const {
    return gpu::fine_domains(a, *links_, shape);
  }
  schwarz_domains<coarse_field> coarse_domains(const matrices& numbers, const extents& shape) const {
    return gpu::coarse_domains(numbers, shape, coarse_storage::half);
  }

 private:
  /// Tables of aggregates are made once: a setup that refines its vectors gathers them several times.
  template <class Geometry>
  std::shared_ptr<const aggregate_tables> tables_of(const Geometry& fine, const extents& aggregate,
                                                    bool is_coarse) const {
    const coarse_geometry coarse = coarsened(fine, aggregate);
    for (const auto& known : *tables_)
      if (known->fine_is_coarse() == is_coarse && known->blocks().shape() == aggregate &&
          known->blocks().coarse() == coarse)
        return known;
    return tables_->emplace_back(
        std::make_shared<const aggregate_tables>(context_, aggregates(fine, coarse), is_coarse));
  }

  context context_;
  execution coarse_;  ///< where coarse lattices live
  std::shared_ptr<gauge_configuration> links_;
  fermion_action action_;
  std::shared_ptr<const wilson_clover<float>> full_;
  std::shared_ptr<const fine_operator> system_;
  std::shared_ptr<std::vector<std::shared_ptr<const aggregate_tables>>> tables_ =
      std::make_shared<std::vector<std::shared_ptr<const aggregate_tables>>>();
};

}  // namespace plaquette::gpu
