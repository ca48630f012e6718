// SPDX-License-Identifier: BSD-3-Clause
#include "common/operators/whole_lattice.hpp"

#include <algorithm>
#include <span>

namespace plaquette {

namespace {

/// Returns the box that a rank holds of the lattice whose vectors these are, or the extents of all.
extents fine_extents(const null_space& v, const extents& coarse) {
  extents fine = coarse;
  for (int mu = 0; mu < dimensions; ++mu) fine[mu] *= v.blocks.shape()[mu];
  return fine;
}

/// Visits the numbers of a site: chirality by chirality, rows * vectors of them.
template <class V, class Visit>
void for_each_chirality(V& v, std::int64_t site, Visit&& visit) {
  for (int chirality = 0; chirality < chiralities; ++chirality)
    visit(v.row(v.blocks.row_begin(v.blocks.place(site), chirality, v.rows)), v.rows * v.vectors);
}

}  // namespace

std::vector<complex<float>> gathered_sites(const std::vector<complex<float>>& mine,
                                           const std::vector<std::int64_t>& places, std::size_t numbers,
                                           const communicator& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<complex<float>> all(mine.size() * ranks), sorted(all.size());
  std::vector<std::int64_t> all_places(places.size() * ranks);
  comm.gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  comm.gather(std::as_bytes(std::span(places)), std::as_writable_bytes(std::span(all_places)));
  for (std::size_t i = 0; i < all_places.size(); ++i)
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(i * numbers), numbers,
                sorted.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(all_places[i]) * numbers));
  return sorted;
}

coarse_geometry whole_lattice(const coarse_geometry& part) { return {part.global(), {1, 1, 1, 1}, 0}; }

std::vector<std::int64_t> places_in(const coarse_geometry& whole, const coarse_geometry& part) {
  std::vector<std::int64_t> places;
  for (std::int64_t s = 0; s < part.sites(); ++s)
    places.push_back(whole.site(coordinate_of(part.global_index(s), whole.global())));
  return places;
}

coarse_matrices whole_lattice(const coarse_matrices& part, const communicator& comm) {
  coarse_matrices whole(whole_lattice(part.geometry), part.n);
  const auto numbers = static_cast<std::size_t>(coarse_matrices_of_a_site * part.matrix_size());
  whole.numbers = gathered_sites(part.numbers, places_in(whole.geometry, part.geometry), numbers, comm);
  return whole;
}

null_space whole_lattice(const null_space& part, const communicator& comm) {
  const coarse_geometry& coarse = part.blocks.coarse();
  const extents fine = fine_extents(part, coarse.global());
  const coordinate origin = fine_extents(part, coarse.origin());
  null_space whole(aggregates(fine, coordinate{}, whole_lattice(coarse)), part.rows, part.vectors);
  const std::int64_t sites = volume(part.blocks.fine_local());
  const auto numbers = static_cast<std::size_t>(chiralities * part.rows * part.vectors);
  std::vector<complex<float>> mine;
  std::vector<std::int64_t> places;
  for (std::int64_t s = 0; s < sites; ++s) {
    coordinate x = coordinate_of(s, part.blocks.fine_local());
    for (int mu = 0; mu < dimensions; ++mu) x[mu] += origin[mu];
    places.push_back(lexicographic(x, fine));
    for_each_chirality(part, s,
                       [&](const complex<float>* from, int count) { mine.insert(mine.end(), from, from + count); });
  }
  const std::vector<complex<float>> all = gathered_sites(mine, places, numbers, comm);
  for (std::int64_t s = 0; s < volume(fine); ++s) {
    const complex<float>* from = all.data() + static_cast<std::size_t>(s) * numbers;
    for_each_chirality(whole, s, [&](complex<float>* to, int count) {
      std::copy_n(from, count, to);
      from += count;
    });
  }
  return whole;
}

}  // namespace plaquette
