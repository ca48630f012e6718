// SPDX-License-Identifier: BSD-3-Clause
#include "common/io/link_array.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/error.hpp"
#include "common/io/array_places.hpp"
#include "common/io/collective_error.hpp"
#include "common/io/gauge_layout.hpp"

namespace plaquette {

namespace {

constexpr int numbers_of_site = dimensions * 2 * colours * colours;

/// Visits the place of each real part of a site's links: visit(mu, i, j, place).
/// \param site  the index of x, x fastest
template <class Visit>
void for_each_element(const link_layout& layout, std::int64_t site, const coordinate& x, Visit&& visit) {
  std::int64_t at = layout.first;
  if (!layout.places.empty())
    at += layout.places[static_cast<std::size_t>(site)];
  else
    for (int nu = 0; nu < dimensions; ++nu) at += x[nu] * layout.site[static_cast<std::size_t>(nu)];
  for (int mu = 0; mu < dimensions; ++mu)
    for (int i = 0; i < colours; ++i)
      for (int j = 0; j < colours; ++j)
        visit(mu, i, j, at + layout.direction[static_cast<std::size_t>(mu)] + i * layout.row + j * layout.column);
}

/// Throws input_error unless each number has a place of its own in an array of `length` reals.
void require_layout(const link_layout& layout, const lattice_geometry& geometry, std::int64_t length) {
  const std::int64_t least = numbers_of_site * geometry.local_volume();
  if (length < least)
    throw input_error("array of links: expected at least " + std::to_string(least) + " reals for " +
                      to_string(geometry.local()) + " sites of a rank (72 a site), found " + std::to_string(length));
  const std::string name = "array of links";
  require_places_of_sites(name, layout.places, geometry.local_volume());
  require_small_steps(name, std::array{layout.first, layout.row, layout.column, layout.imaginary});
  require_small_steps(name, layout.site);
  require_small_steps(name, layout.direction);
  require_small_steps(name, layout.places);
  array_places places(length, least);
  const auto take = [&](std::int64_t place, const coordinate& x, int mu) {
    const array_places::answer found = places.take(place);
    if (found == array_places::answer::free) return;
    const bool inside = found == array_places::answer::taken;
    std::string site = "(";
    for (int nu = 0; nu < dimensions; ++nu) site += std::to_string(x[nu]) + (nu < 3 ? ", " : ")");
    throw input_error("array of links: the layout puts a number of site (x, y, z, t) = " + site + ", direction " +
                      "xyzt"[mu] + ", at place " + std::to_string(place) +
                      (inside ? ", where another one stands" : " of " + std::to_string(length) + " reals") +
                      "; check its strides");
  };
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    for_each_element(layout, site, x, [&](int mu, int, int, std::int64_t place) {
      take(place, x, mu);
      take(place + layout.imaginary, x, mu);
    });
  }
}

}  // namespace

link_layout dense_layout(const extents& local, site_order_of_array sites, direction_of_array directions,
                         matrix_of_array matrices) {
  constexpr std::int64_t matrix = 2 * colours * colours;
  const bool inner = directions == direction_of_array::inner;
  link_layout layout;
  std::int64_t step = inner ? numbers_of_site : matrix;
  for (int k = 0; k < dimensions; ++k) {
    const int nu = sites == site_order_of_array::x_fastest ? k : dimensions - 1 - k;
    layout.site[static_cast<std::size_t>(nu)] = step;
    step *= local[nu];
  }
  for (int mu = 0; mu < dimensions; ++mu) layout.direction[static_cast<std::size_t>(mu)] = mu * (inner ? matrix : step);
  if (matrices == matrix_of_array::column_major) std::swap(layout.row, layout.column);
  return layout;
}

namespace {

void require_phases(const folded_phases& folded) {
  for (int mu = 0; mu < dimensions; ++mu)
    if (const complex<double>& phase = folded.boundary[static_cast<std::size_t>(mu)];
        !(std::abs(norm2(phase) - 1.0) <= 1e-12))
      throw input_error("array of links: expected a phase of length 1 at the boundary in direction " +
                        std::string(1, "xyzt"[mu]) + ", found (" + std::to_string(phase.re) + ", " +
                        std::to_string(phase.im) + ")");
}

/// Returns what takes the phase of a link out of it.
complex<double> inverse_phase(const folded_phases& folded, const lattice_geometry& geometry, const coordinate& local,
                              int mu) {
  const coordinate x = geometry.to_global(local);
  complex<double> phase{1.0, 0.0};
  if (x[mu] == geometry.global()[mu] - 1) phase = conj(folded.boundary[static_cast<std::size_t>(mu)]);
  const int steps = mu == 0 ? x[3] : mu == 1 ? x[3] + x[0] : mu == 2 ? x[3] + x[0] + x[1] : 0;
  return folded.staggered && steps % 2 != 0 ? -phase : phase;
}

template <class Real>
gauge_configuration links_of(const lattice_geometry& geometry, std::span<const Real> numbers, const link_layout& layout,
                             const communicator& comm, const folded_phases& folded, std::string* remark) {
  constexpr int bits = std::is_same_v<Real, float> ? 32 : 64;
  on_all_ranks_or_none(comm, [&] {
    require_credible_length("array of links", numbers.size(), sizeof(Real));
    require_layout(layout, geometry, static_cast<std::int64_t>(numbers.size()));
    require_phases(folded);
  });
  gauge_configuration links(geometry);
  std::optional<unsuitable_link> unsuitable;
  std::uint64_t drifted = 0;
  double drift = 0.0;
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    site_links& here = links(x);
    for_each_element(layout, site, x, [&](int mu, int i, int j, std::int64_t place) {
      here[static_cast<std::size_t>(mu)](i, j) = {numbers[static_cast<std::size_t>(place)],
                                                  numbers[static_cast<std::size_t>(place + layout.imaginary)]};
    });
    for (int mu = 0; mu < dimensions; ++mu) {
      su3<double>& u = here[static_cast<std::size_t>(mu)];
      const double tolerance = su3_tolerance(u, bits);
      const bool is_float = has_floats(u, bits);
      if (const complex<double> phase = inverse_phase(folded, geometry, x, mu); phase != complex<double>{1.0, 0.0})
        u = phase * u;
      const double distance = distance_from_su3(u);
      const std::int64_t global = geometry.global_index(x);
      if (!is_float && has_drifted(u, distance, bits)) {
        ++drifted;
        keep_largest(drift, distance);
        take_back(u);
        continue;
      }
      if (!(distance <= tolerance) && !(unsuitable && unsuitable->global_site <= global))
        unsuitable = unsuitable_link{global, mu, distance};
    }
  }
  require_no_unsuitable_link("array of links", unsuitable, geometry, comm,
                             " (is the layout another? A boundary condition belongs to the action, not to the links)");
  comm.sum({&drifted, 1});
  comm.maximum({&drift, 1});
  if (remark != nullptr)
    *remark = drifted > 0 ? remark_on_drift(static_cast<std::int64_t>(drifted), drift) : std::string();
  exchange_ghosts(links, comm);
  return links;
}

template <class Real>
void put_links(std::span<Real> numbers, const gauge_configuration& links, const link_layout& layout,
               const communicator& comm, const folded_phases& folded) {
  const lattice_geometry& geometry = links.geometry();
  on_all_ranks_or_none(comm, [&] {
    require_credible_length("array for links", numbers.size(), sizeof(Real));
    require_layout(layout, geometry, static_cast<std::int64_t>(numbers.size()));
    require_phases(folded);
  });
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    site_links here = links(x);
    for (int mu = 0; mu < dimensions; ++mu)
      if (const complex<double> phase = conj(inverse_phase(folded, geometry, x, mu));
          phase != complex<double>{1.0, 0.0})
        here[static_cast<std::size_t>(mu)] = phase * here[static_cast<std::size_t>(mu)];
    for_each_element(layout, site, x, [&](int mu, int i, int j, std::int64_t place) {
      const complex<double> number = here[static_cast<std::size_t>(mu)](i, j);
      numbers[static_cast<std::size_t>(place)] = static_cast<Real>(number.re);
      numbers[static_cast<std::size_t>(place + layout.imaginary)] = static_cast<Real>(number.im);
    });
  }
}

}  // namespace

void export_links(std::span<double> numbers, const gauge_configuration& links, const link_layout& layout,
                  const communicator& comm, const folded_phases& folded) {
  put_links(numbers, links, layout, comm, folded);
}
void export_links(std::span<float> numbers, const gauge_configuration& links, const link_layout& layout,
                  const communicator& comm, const folded_phases& folded) {
  put_links(numbers, links, layout, comm, folded);
}

gauge_configuration import_links(const lattice_geometry& geometry, std::span<const double> numbers,
                                 const link_layout& layout, const communicator& comm, const folded_phases& folded,
                                 std::string* remark) {
  return links_of(geometry, numbers, layout, comm, folded, remark);
}
gauge_configuration import_links(const lattice_geometry& geometry, std::span<const float> numbers,
                                 const link_layout& layout, const communicator& comm, const folded_phases& folded,
                                 std::string* remark) {
  return links_of(geometry, numbers, layout, comm, folded, remark);
}

}  // namespace plaquette
