// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/sources/sources.hpp"

#include "common/stop_point.hpp"
#include "cpu_ref/gauge/gaussian_smearing.hpp"

namespace plaquette::cpu {
namespace {

/// \param time  the slice where psi is not 0
void multiply_by_phase(spinor_configuration& psi, const lattice_momentum& momentum, int time) {
  if (is_zero(momentum)) return;
  const lattice_geometry& geometry = psi.geometry();
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate local = geometry.local_coordinate(site), x = geometry.to_global(local);
    if (x[3] == time) psi(local) = momentum_phase(momentum, x, geometry.global()) * psi(local);
  }
}

}  // namespace

spinor_configuration point_source(const lattice_geometry& geometry, const coordinate& position, int spin, int colour) {
  spinor_configuration source(geometry);
  if (coordinate local; geometry.holds(position, local)) source(local)(spin, colour) = {1.0, 0.0};
  return source;
}

spinor_configuration wall_source(const lattice_geometry& geometry, int time, int spin, int colour) {
  spinor_configuration source(geometry);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    if (geometry.to_global(geometry.local_coordinate(site))[3] == time) source.at_site(site)(spin, colour) = {1.0, 0.0};
  return source;
}

spinor_configuration unsmeared_source(const lattice_geometry& geometry, const source_description& source, int spin,
                                      int colour) {
  spinor_configuration made = source.kind == source_kind::wall ? wall_source(geometry, source.position[3], spin, colour)
                                                               : point_source(geometry, source.position, spin, colour);
  multiply_by_phase(made, source.momentum, source.position[3]);
  return made;
}

spinor_configuration noise_source(const lattice_geometry& geometry, const noise_description& noise, int spin,
                                  int colour) {
  spinor_configuration source(geometry);
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate local = geometry.local_coordinate(site);
    if (geometry.to_global(local)[3] == noise.time)
      source(local)(spin, colour) =
          noise_number(noise.kind, noise.seed, static_cast<std::uint64_t>(geometry.global_index(local)));
  }
  multiply_by_phase(source, noise.momentum, noise.time);
  return source;
}

spinor_configuration make_source(const source_description& source, int spin, int colour,
                                 const gauge_configuration& links, const communicator& comm) {
  const lattice_geometry& geometry = links.geometry();
  if (geometry.local_volume() >= sites_between_stops) stop_point();
  require_source_on(source, geometry.global());
  if (source.kind != source_kind::gaussian) return unsmeared_source(geometry, source, spin, colour);
  spinor_configuration smeared = gaussian_smeared(point_source(geometry, source.position, spin, colour), links,
                                                  source.smearing_radius, source.smearing_steps, comm);
  multiply_by_phase(smeared, source.momentum, source.position[3]);
  return smeared;
}

}  // namespace plaquette::cpu
