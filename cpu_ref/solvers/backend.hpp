// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The names of the CPU library, for code that both libraries share.
#pragma once

#include <cstdint>
#include <memory>

#include "common/solvers/backend.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/clover_term.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/field.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/link_arithmetic.hpp"
#include "cpu_ref/sources/sources.hpp"

namespace plaquette::cpu {

/// See common/solvers/backend.hpp.
struct solver_backend {
  using context = cpu::context;
  using links = std::shared_ptr<const gauge_configuration>;
  template <class T>
  using field = cpu::field<T>;
  template <class T>
  using wilson_clover = cpu::wilson_clover<T>;
  template <class T>
  using schur_wilson_clover = cpu::schur_wilson_clover<T>;
  static constexpr int check_interval = 1, check_lag = 0;  // answers are ready at once
  static constexpr bool records = false, has_pairs = false;

  /// Returns the links that operators are made of.
  static const gauge_configuration& links_of(const links& u) { return *u; }
  template <class T>
  static void make_source(field<T>& b, int column, const source_description& source, source_component component,
                          const links& u, const context& ctx) {
    import_column(b, column, cpu::make_source(source, component.spin, component.colour, *u, ctx.comm()));
  }
  template <class T>
  static void random_spinor(field<T>& x, int column, std::uint64_t seed, std::uint64_t index, const context& ctx) {
    import_column(x, column, cpu::random_spinor(ctx.geometry(), seed, index, ctx.comm()));
  }
  /// Makes a point or a wall.
  template <class T>
  static void unsmeared_source(field<T>& x, int column, const source_description& source, source_component of,
                               const context& ctx) {
    import_column(x, column, cpu::unsmeared_source(ctx.geometry(), source, of.spin, of.colour));
  }

  template <class T>
  static void source_of_links(field<T>& x, int column, const source_description& source, source_component of,
                              const gauge_configuration& u, const context& ctx) {
    import_column(x, column, cpu::make_source(source, of.spin, of.colour, u, ctx.comm()));
  }
  template <class T>
  static void noise_source(field<T>& x, int column, const noise_description& noise, source_component of,
                           const context& ctx) {
    import_column(x, column, cpu::noise_source(ctx.geometry(), noise, of.spin, of.colour));
  }

  static std::shared_ptr<gauge_configuration> copy_of_links(const gauge_configuration& u) {
    return std::make_shared<gauge_configuration>(u);
  }
  static void assign_links(const std::shared_ptr<gauge_configuration>& to, const gauge_configuration& u) {
    cpu::assign(*to, u);
  }
  static clover_configuration make_blocks(const context& ctx) { return clover_configuration(ctx.geometry()); }
  static clover_configuration blocks_behind(const site_diagonal<double>&, const context& ctx) {
    return make_blocks(ctx);
  }
  static void make_diagonal(clover_configuration& a, const gauge_configuration& u, const fermion_action& action) {
    make_site_diagonal(a, u, action);
  }
  static void invert(clover_configuration& to, const clover_configuration& a, const context& ctx) {
    cpu::invert(to, a, ctx.comm());
  }
};
static_assert(backend<solver_backend>);

}  // namespace plaquette::cpu
