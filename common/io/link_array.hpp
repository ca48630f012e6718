// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links that another program holds in an array, in whatever order it keeps them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette {

/// Where numbers stand in an array of reals: the real part of element (i, j) of U_mu(x), x the local coordinate of a
/// site, at
///
///     first + sum_nu x_nu site[nu] + direction[mu] + i row + j column
///
/// and the imaginary part `imaginary` behind it. All are counted in reals. Any of them may be negative.
struct link_layout {
  std::int64_t first = 0;
  std::array<std::int64_t, dimensions> site{};       ///< from a site to its neighbour in x, y, z, t
  std::array<std::int64_t, dimensions> direction{};  ///< of the links along x, y, z, t
  std::int64_t row = 6, column = 2, imaginary = 1;
  /// Sites in an order of their own: where the numbers of each local site begin, x fastest, in place of `site`. A
  /// number a site, or none.
  std::span<const std::int64_t> places{};
};

/// What the numbers of an array are multiplied by, and SU(3) links are not. `import_links` takes it out.
struct folded_phases {
  /// Of the links along x, y, z, t that leave the last site of the lattice in their direction. Each of length 1.
  std::array<complex<double>, dimensions> boundary{complex<double>{1, 0}, complex<double>{1, 0}, complex<double>{1, 0},
                                                   complex<double>{1, 0}};
  /// The signs of staggered fermions as MILC has them: (-1)^t, (-1)^(t+x), (-1)^(t+x+y), 1 along x, y, z, t.
  bool staggered = false;
};

enum class site_order_of_array { x_fastest, t_fastest };
/// Inner: the four links of a site stand together. Outer: all links of one direction do.
enum class direction_of_array { inner, outer };
enum class matrix_of_array { row_major, column_major };

/// Returns the layout of a dense array of a rank's box: 72 doubles a site, directions in the order x, y, z, t.
link_layout dense_layout(const extents& local, site_order_of_array sites, direction_of_array directions,
                         matrix_of_array matrices);

/// Returns the links of an array as a configuration with ghosts filled. Each rank has an array of its own box. The
/// boundary condition is not in the links that are returned: it belongs to the fermion action.
///
/// Throws input_error, on all ranks together, where the layout leaves the array or puts two numbers into one place, and
/// where a link is not in SU(3). The tolerance is that of a file, see `read_gauge`. Collective. Wrong orders of sites
/// or of matrix elements leave links in SU(3): the plaquette tells them. Links of doubles that are off SU(3) by no more
/// than updates leave (`drift_of_doubles`) are taken back to it.
/// \param remark  becomes the sentence on these, or empty; null: it is not wanted
gauge_configuration import_links(const lattice_geometry& geometry, std::span<const double> numbers,
                                 const link_layout& layout, const communicator& comm, const folded_phases& folded = {},
                                 std::string* remark = nullptr);
gauge_configuration import_links(const lattice_geometry& geometry, std::span<const float> numbers,
                                 const link_layout& layout, const communicator& comm, const folded_phases& folded = {},
                                 std::string* remark = nullptr);

/// Writes the links of a rank's box to an array, multiplied by the phases that `import_links` takes out of it. Numbers
/// between those of the links stay. Throws input_error, on all ranks together, if the layout leaves the array or puts
/// two numbers into one place. Collective.
void export_links(std::span<double> numbers, const gauge_configuration& links, const link_layout& layout,
                  const communicator& comm, const folded_phases& folded = {});
void export_links(std::span<float> numbers, const gauge_configuration& links, const link_layout& layout,
                  const communicator& comm, const folded_phases& folded = {});

}  // namespace plaquette
