// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The names of the CUDA library, for code that both libraries share. The twin of cpu_ref/solvers/backend.hpp.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/solvers/backend.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/dirac/clover_term.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/fields/field.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/gauge/link_arithmetic.hpp"
#include "gpu/sources/sources.hpp"

namespace plaquette::gpu {

/// See common/solvers/backend.hpp.
struct solver_backend {
  using context = gpu::context;
  using links = gpu::gauge_configuration;
  template <class T>
  using field = gpu::field<T>;
  template <class T>
  using wilson_clover = gpu::wilson_clover<T>;
  template <class T>
  using schur_wilson_clover = gpu::schur_wilson_clover<T>;
  static constexpr int check_interval = 10, check_lag = 2;  // answers come late
  static constexpr bool records = true, has_pairs = true;

  /// Returns the links that operators are made of.
  static const links& links_of(const links& u) { return u; }
  /// Made in double, then rounded.
  template <class T>
  static void make_source(field<T>& b, int column, const source_description& source, source_component component,
                          const links& u, const context&) {
    field<T> target = view(b, column, 1);
    if constexpr (std::is_same_v<T, double>) {
      gpu::make_source(target, 0, source, component.spin, component.colour, u);
    } else {
      auto made = like(target, 1, as<field<double>>);
      gpu::make_source(made, 0, source, component.spin, component.colour, u);
      convert(target, made);
    }
  }
  template <class T>
  static void random_spinor(field<T>& x, int column, std::uint64_t seed, std::uint64_t index, const context&) {
    gpu::random_spinor(x, column, seed, index);
  }
  /// Makes a point or a wall.
  template <class T>
  static void unsmeared_source(field<T>& x, int column, const source_description& source, source_component of,
                               const context&) {
    gpu::unsmeared_source(x, column, source, of.spin, of.colour);
  }

  template <class T>
  static void source_of_links(field<T>& x, int column, const source_description& source, source_component of,
                              const gauge_configuration& u, const context& ctx) {
    make_source(x, column, source, of, u, ctx);
  }
  template <class T>
  static void noise_source(field<T>& x, int column, const noise_description& noise, source_component of,
                           const context&) {
    gpu::noise_source(x, column, noise, of.spin, of.colour);
  }

  static gauge_configuration copy_of_links(const gauge_configuration& u) { return copy_of(u); }
  static void assign_links(gauge_configuration& to, const gauge_configuration& u) { gpu::assign(to, u); }
  static clover_configuration make_blocks(const context& ctx) { return clover_configuration(ctx); }
  static clover_configuration blocks_behind(const site_diagonal<double>& a, const context&) {
    return a.configuration();
  }
  static void make_diagonal(clover_configuration& a, const gauge_configuration& u, const fermion_action& action) {
    make_site_diagonal(a, u, action);
  }
  static void invert(clover_configuration& to, const clover_configuration& a, const context&) { gpu::invert(to, a); }
};
static_assert(backend<solver_backend>);

}  // namespace plaquette::gpu
