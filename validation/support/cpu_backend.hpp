// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The CPU library as `backend` (backend.hpp): its functions of gauge configurations with the arguments of the CUDA
/// library's, which know their context.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "common/lattice/source_description.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/clover_term.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/heatbath.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "cpu_ref/sources/sources.hpp"

namespace plaquette::validation {

/// Fills with NaN, so that a number that is never written is seen.
template <class T>
void poison(cpu::field<T>& x) {
  for (int part = 0; part < x.parts(); ++part)
    for (std::int64_t b = 0; b < x.layout().blocks(); ++b)
      for (int c = 0; c < x.columns(); ++c)
        if constexpr (cpu::is_half<T>)
          std::fill_n(x.block(part, b, c), x.block_words(), 0xffffffffU);  // of the scales this makes NaN
        else
          std::fill_n(x.block(part, b, c), x.block_words(), std::numeric_limits<T>::quiet_NaN());
}

namespace backend {

inline constexpr const char* operators_name = "production";
inline constexpr bool has_textbook = true;

using cpu::context;
using cpu::field;
using cpu::schur_kind;
using cpu::schur_wilson_clover;
using cpu::wilson_clover;

inline context context_with_threads(const lattice_geometry& geometry, const communicator& comm, int threads) {
  return context(geometry, comm, threads);
}

using plaquette::gauge_configuration;

inline gauge_configuration import_links(const context&, const gauge_configuration& from) { return from; }
inline const gauge_configuration& export_links(const gauge_configuration& from) { return from; }

inline gauge_configuration unit_configuration(const context& ctx) { return cpu::unit_configuration(ctx.geometry()); }
inline gauge_configuration random_configuration(const context& ctx, std::uint64_t seed) {
  return cpu::random_configuration(ctx.geometry(), seed, ctx.comm());
}
inline gauge_configuration constant_flux_configuration(const context& ctx, const std::array<int, 2>& fluxes,
                                                       abelian_embedding embedding) {
  return cpu::constant_flux_configuration(ctx.geometry(), fluxes, embedding, ctx.comm());
}
inline gauge_configuration heatbath_configuration(const context& ctx, const gauge_action& action,
                                                  const sweep_plan& plan, int sweeps, std::uint64_t seed) {
  return cpu::heatbath_configuration(ctx.geometry(), action, plan, sweeps, seed, ctx.comm());
}

class heatbath_updater : public cpu::heatbath_updater {
 public:
  explicit heatbath_updater(const context& ctx) : cpu::heatbath_updater(ctx.geometry(), ctx.comm()) {}
};

inline void heatbath_sweep(gauge_configuration& links, const gauge_action& action, std::uint64_t seed,
                           std::uint64_t sweep_number) {
  cpu::heatbath_sweep(links, action, seed, sweep_number, communicator());
}
inline void overrelaxation_sweep(gauge_configuration& links, const gauge_action& action) {
  cpu::overrelaxation_sweep(links, action, communicator());
}

inline double action_value(const gauge_configuration& links, const gauge_action& action) {
  return cpu::action_value(links, action, communicator());
}
inline plaquettes measure_plaquettes(const gauge_configuration& links) {
  return cpu::measure_plaquettes(links, communicator());
}
inline double average_plaquette(const gauge_configuration& links) {
  return cpu::average_plaquette(links, communicator());
}
inline double link_trace(const gauge_configuration& links) { return cpu::link_trace(links, communicator()); }
inline double distance_from_su3(const gauge_configuration& links) {
  return cpu::distance_from_su3(links, communicator());
}

using cpu::make_clover_term;
inline const site_field<clover_block>& export_clover(const site_field<clover_block>& from) { return from; }

/// Returns a right-hand side that the library has made, as a canonical field.
inline spinor_configuration canonical_source(const source_description& source, int spin, int colour,
                                             const plaquette::gauge_configuration& links) {
  return cpu::make_source(source, spin, colour, links, communicator());
}

/// Multiplies one of the numbers that x holds.
inline void strike(field<float>& x, float factor) { x.block(0, 5, 0)[17] *= factor; }

}  // namespace backend
}  // namespace plaquette::validation
