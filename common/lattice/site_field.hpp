// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The canonical field: one value a site, sites in lexicographic order, with one layer of ghost sites around the local
/// box. Files, textbook operators and the heat bath use it; production fields are packed from it and unpacked to it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/algebra/spinor.hpp"
#include "common/algebra/su3.hpp"
#include "common/comms/communicator.hpp"
#include "common/lattice/geometry.hpp"
#include "common/lattice/site_values.hpp"

namespace plaquette {

/// A value a site of this rank's box and a value a ghost site. Local coordinates run from -1 to L, both included. Those
/// outside 0..L-1 are ghosts, filled by `exchange_ghosts`. Directions that are not cut have them too, so a formula
/// needs no special case at the boundary.
template <class Value>
class site_field {
 public:
  using value_type = Value;

  explicit site_field(const lattice_geometry& geometry)
      : geometry_(geometry),
        padded_(with_ghosts(geometry.local())),
        values_(static_cast<std::size_t>(volume(padded_))) {}

  const lattice_geometry& geometry() const { return geometry_; }

  Value& operator()(const coordinate& x) { return values_[index(x)]; }
  const Value& operator()(const coordinate& x) const { return values_[index(x)]; }

  /// Returns all values, ghosts included, in the order of memory: for sums over their bits.
  std::span<const Value> values() const { return values_.all(); }

  /// By the lexicographic index of a local site (no ghosts).
  Value& at_site(std::int64_t site) { return (*this)(geometry_.local_coordinate(site)); }
  const Value& at_site(std::int64_t site) const { return (*this)(geometry_.local_coordinate(site)); }

 private:
  static extents with_ghosts(extents local) {
    for (int& length : local) length += 2;
    return local;
  }
  std::size_t index(const coordinate& x) const {
    return static_cast<std::size_t>(lexicographic({x[0] + 1, x[1] + 1, x[2] + 1, x[3] + 1}, padded_));
  }

  lattice_geometry geometry_;
  extents padded_;
  site_values<Value> values_;
};

/// Returns the neighbour of x one step along mu; sign is +1 or -1.
constexpr coordinate shifted(coordinate x, int mu, int sign) {
  x[mu] += sign;
  return x;
}

/// Links U_mu(x), mu = x, y, z, t, of one site.
using site_links = std::array<su3<double>, dimensions>;
/// A gauge configuration as files hold it: links in SU(3), no boundary condition folded in.
using gauge_configuration = site_field<site_links>;
/// One Dirac spinor a site, DeGrand-Rossi basis.
using spinor_configuration = site_field<spinor<double>>;

namespace detail {

/// Calls visit(x, number of x) for the sites low <= x < high, x fastest, by the threads of OpenMP.
template <class Visit>
void for_each_site_of_box(const coordinate& low, const coordinate& high, Visit&& visit) {
  extents length;
  for (int mu = 0; mu < dimensions; ++mu) length[mu] = high[mu] - low[mu];
  const std::int64_t rows = volume(length) / length[0];
#pragma omp parallel for schedule(static) if (rows > 1024)
  for (std::int64_t row = 0; row < rows; ++row) {
    coordinate x = coordinate_of(row * length[0], length);
    for (int mu = 0; mu < dimensions; ++mu) x[mu] += low[mu];
    for (int k = 0; k < length[0]; ++k, ++x[0]) visit(x, static_cast<std::size_t>(row * length[0] + k));
  }
}

}  // namespace detail

/// Fills all ghosts, corners included, from the neighbouring ranks (or from this one). Collective.
/// Direction by direction, each face with the ghosts of the directions done before, so that corners arrive too.
template <class Value>
void exchange_ghosts(site_field<Value>& field, const communicator& comm) {
  const lattice_geometry& geometry = field.geometry();
  const extents& local = geometry.local();
  for (int mu = 0; mu < dimensions; ++mu) {
    coordinate low, high;  // the box of a face: everything in the other directions, ghosts of finished ones included
    for (int nu = 0; nu < dimensions; ++nu) {
      low[nu] = nu < mu ? -1 : 0;
      high[nu] = nu < mu ? local[nu] + 1 : local[nu];
    }
    low[mu] = 0, high[mu] = 1;
    const auto at = [mu](coordinate x, int place) {
      x[mu] = place;
      return x;
    };
    if (!geometry.is_cut(mu)) {
      detail::for_each_site_of_box(low, high, [&](const coordinate& x, std::size_t) {
        field(at(x, -1)) = field(at(x, local[mu] - 1));
        field(at(x, local[mu])) = field(at(x, 0));
      });
      continue;
    }
    extents face;
    for (int nu = 0; nu < dimensions; ++nu) face[nu] = high[nu] - low[nu];
    const auto sites = static_cast<std::size_t>(volume(face));
    std::vector<Value> up(sites), down(sites), from_below(sites), from_above(sites);  // sent forwards, backwards
    detail::for_each_site_of_box(low, high, [&](const coordinate& x, std::size_t k) {
      up[k] = field(at(x, local[mu] - 1));
      down[k] = field(at(x, 0));
    });
    const int above = geometry.neighbour_rank(mu, +1), below = geometry.neighbour_rank(mu, -1);
    const outgoing_message send[] = {{above, 2 * mu, std::as_bytes(std::span(up))},
                                     {below, 2 * mu + 1, std::as_bytes(std::span(down))}};
    const incoming_message receive[] = {{below, 2 * mu, std::as_writable_bytes(std::span(from_below))},
                                        {above, 2 * mu + 1, std::as_writable_bytes(std::span(from_above))}};
    comm.start_exchange(send, receive).wait();
    detail::for_each_site_of_box(low, high, [&](const coordinate& x, std::size_t k) {
      field(at(x, -1)) = from_below[k];
      field(at(x, local[mu])) = from_above[k];
    });
  }
}

}  // namespace plaquette
