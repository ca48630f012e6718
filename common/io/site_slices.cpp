// SPDX-License-Identifier: BSD-3-Clause
#include "common/io/site_slices.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace plaquette {

namespace {

/// Visits this geometry's sites of a time slice of the whole lattice: visit(local coordinate, running number).
template <class Visit>
void for_each_site_at(const lattice_geometry& geometry, int time, Visit&& visit) {
  const extents& local = geometry.local();
  coordinate x{0, 0, 0, time - geometry.origin()[3]};
  if (x[3] < 0 || x[3] >= local[3]) return;
  std::size_t at = 0;
  for (x[2] = 0; x[2] < local[2]; ++x[2])
    for (x[1] = 0; x[1] < local[1]; ++x[1])
      for (x[0] = 0; x[0] < local[0]; ++x[0]) visit(x, at++);
}

std::size_t sites_at(const lattice_geometry& geometry, int time) {
  const extents& local = geometry.local();
  const int t = time - geometry.origin()[3];
  return t < 0 || t >= local[3] ? 0 : static_cast<std::size_t>(volume(local) / local[3]);
}

lattice_geometry geometry_of_rank(const lattice_geometry& geometry, int rank) {
  return lattice_geometry(geometry.global(), geometry.grid(), rank);
}

/// Calls copy(place in the slice, place in the part) for each site of a rank's part; places count complex numbers.
template <class Copy>
void for_each_place(const lattice_geometry& part_of, int time, std::size_t numbers_a_site, Copy&& copy) {
  for_each_site_at(part_of, time, [&](const coordinate& x, std::size_t site) {
    coordinate g = part_of.to_global(x);
    g[3] = 0;
    copy(static_cast<std::size_t>(lexicographic(g, part_of.global())) * numbers_a_site, site * numbers_a_site);
  });
}

}  // namespace

slice_numbers gathered_slice(const lattice_geometry& geometry, int time, std::size_t numbers_a_site,
                             const site_packer& pack, const communicator& comm) {
  slice_numbers part(sites_at(geometry, time) * numbers_a_site);
  for_each_site_at(geometry, time, [&](const coordinate& x, std::size_t site) {
    pack(x, std::span(part).subspan(site * numbers_a_site, numbers_a_site));
  });
  std::vector<slice_numbers> parts;
  std::vector<incoming_message> receive;
  if (comm.rank() == 0) {
    parts.resize(static_cast<std::size_t>(comm.size()));
    for (int rank = 0; rank < comm.size(); ++rank) {
      slice_numbers& from = parts[static_cast<std::size_t>(rank)];
      from.resize(sites_at(geometry_of_rank(geometry, rank), time) * numbers_a_site);
      if (!from.empty()) receive.push_back({rank, 0, std::as_writable_bytes(std::span(from))});
    }
  }
  std::vector<outgoing_message> send;
  if (!part.empty()) send.push_back({0, 0, std::as_bytes(std::span(part))});
  comm.start_exchange(send, receive).wait();
  if (comm.rank() != 0) return {};
  slice_numbers slice(static_cast<std::size_t>(volume(geometry.global()) / geometry.global()[3]) * numbers_a_site);
  for (int rank = 0; rank < comm.size(); ++rank) {
    const slice_numbers& from = parts[static_cast<std::size_t>(rank)];
    for_each_place(geometry_of_rank(geometry, rank), time, numbers_a_site, [&](std::size_t whole, std::size_t own) {
      std::copy_n(from.data() + own, numbers_a_site, slice.data() + whole);
    });
  }
  return slice;
}

void scatter_slice(const lattice_geometry& geometry, int time, std::size_t numbers_a_site, const slice_numbers& slice,
                   const site_unpacker& unpack, const communicator& comm) {
  slice_numbers part(sites_at(geometry, time) * numbers_a_site);
  std::vector<slice_numbers> parts;
  std::vector<outgoing_message> send;
  if (comm.rank() == 0) {
    parts.resize(static_cast<std::size_t>(comm.size()));
    for (int rank = 0; rank < comm.size(); ++rank) {
      slice_numbers& to = parts[static_cast<std::size_t>(rank)];
      const lattice_geometry theirs = geometry_of_rank(geometry, rank);
      to.resize(sites_at(theirs, time) * numbers_a_site);
      for_each_place(theirs, time, numbers_a_site, [&](std::size_t whole, std::size_t own) {
        std::copy_n(slice.data() + whole, numbers_a_site, to.data() + own);
      });
      if (!to.empty()) send.push_back({rank, 0, std::as_bytes(std::span(to))});
    }
  }
  std::vector<incoming_message> receive;
  if (!part.empty()) receive.push_back({0, 0, std::as_writable_bytes(std::span(part))});
  comm.start_exchange(send, receive).wait();
  for_each_site_at(geometry, time, [&](const coordinate& x, std::size_t site) {
    unpack(x, std::span(std::as_const(part)).subspan(site * numbers_a_site, numbers_a_site));
  });
}

}  // namespace plaquette
