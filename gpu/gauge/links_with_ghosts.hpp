// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links, or other matrices, of a rank's sites and of sites one step outside, corners included: formulas of plaquettes
/// and staples read them on a process grid.
#pragma once

#include <memory>
#include <type_traits>

#include "gpu/fields/matrix_field.hpp"
#include "gpu/gauge/box_with_ghosts.hpp"
#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/gauge/ghost_exchange.hpp"

namespace plaquette::gpu {

/// A site of a box with ghosts, and its number there.
struct box_site {
  site_coordinate at;
  int parity;
  std::int32_t index;
};

/// A number of matrices a site of a box with ghosts, as kernels take them; common/gauge reads links through it.
template <int matrices, class Byte>
struct ghosted_matrices {
  matrix_pointer<matrices, Byte> at;  ///< by number of the site in the box
  box_with_ghosts box;

  /// Returns matrix `which` of the site of local coordinate x, -1 <= x[nu] <= L[nu] in every direction: wraps if the
  /// direction is not cut, else it is the neighbour rank's.
  PLAQUETTE_HOST_DEVICE su3<double> load(const site_coordinate& x, int which) const {
    const auto [parity, i] = box.number_of(box.wrapped_coordinate_of(x));
    return at.load(parity, i, which);
  }

  /// \param own  order of the rank's own sites
  PLAQUETTE_HOST_DEVICE box_site site(const site_order& own, const site_number& n) const {
    return site(own.coordinate_of(n.parity, n.index));
  }
  /// \param local  coordinate of one of the rank's own sites
  PLAQUETTE_HOST_DEVICE box_site site(const site_coordinate& local) const {
    const site_coordinate x = box.coordinate_of(local);
    return {x, (x.x[0] + x.x[1] + x.x[2] + x.x[3]) & 1, box.order.index(x)};
  }
  PLAQUETTE_HOST_DEVICE box_site moved(const box_site& x, int mu, int sign) const {
    const site_coordinate to = gpu::moved(box.order, x.at, mu, sign);
    return {to, 1 - x.parity, box.order.index(to)};
  }
  PLAQUETTE_HOST_DEVICE su3<double> operator()(const box_site& x, int which) const {
    return at.load(x.parity, x.index, which);
  }
};

/// U_mu(x) is load(x, mu).
using ghosted_links = ghosted_matrices<dimensions, const std::byte>;

/// A field of matrices with the matrices of the sites around. If no direction is cut it shares the field's storage and
/// costs nothing; else it is a copy, with the ghosts of their last exchange.
template <int matrices>
class matrices_with_ghosts {
 public:
  /// Collective. Throws memory_error.
  explicit matrices_with_ghosts(const matrix_field<matrices>& field);

  const context& get_context() const { return own_.get_context(); }
  bool is_copy() const { return copy_ != nullptr; }

  ghosted_matrices<matrices, const std::byte> sites() const { return {{sites_.begin, sites_.parity_stride}, box_}; }
  /// To change matrices of this rank's sites in place.
  ghosted_matrices<matrices, std::byte> sites() { return {sites_, box_}; }

  /// Exchanges the ghosts of matrix `which` of the sites of one parity, after they have changed. Collective.
  void exchange(int which, int parity);
  /// Writes this rank's matrices back to the field.
  void write_back();

 private:
  static constexpr int matrix_chunks = colours * colours;

  matrix_field<matrices> own_;
  box_with_ghosts box_;
  std::shared_ptr<std::byte> copy_;  ///< none if no direction is cut
  matrix_pointer<matrices, std::byte> sites_;
  ghost_exchange exchange_;
};

using links_with_ghosts = matrices_with_ghosts<dimensions>;
using transformation_with_ghosts = matrices_with_ghosts<1>;

}  // namespace plaquette::gpu
