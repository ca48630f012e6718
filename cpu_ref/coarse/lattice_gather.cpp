// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/coarse/lattice_gather.hpp"

#include <cstring>
#include <span>
#include <stdexcept>

#include "common/operators/whole_lattice.hpp"

namespace plaquette::cpu {

namespace {

/// Returns the bytes of a site's columns; they lie together.
template <class T>
std::size_t bytes_of_a_site(const coarse_field<T>& x) {
  return static_cast<std::size_t>(x.columns() * x.components()) * sizeof(complex<T>);
}

template <class T>
void require_alike(const coarse_field<T>& whole, const coarse_field<T>& part) {
  if (whole.shape().sites != site_subset::full || !(whole.shape() == part.shape()))
    throw std::logic_error("lattice_gather: expected two fields of all sites of one shape");
}

}  // namespace

lattice_gather::lattice_gather(const execution& on, const coarse_geometry& part, const coarse_geometry& whole)
    : execution_(on), first_(part.rank() * part.sites()), sites_(part.sites()) {
  for (int rank = 0; rank < on.comm().size(); ++rank)
    for (const std::int64_t place : places_in(whole, coarse_geometry(part.global(), part.grid(), rank)))
      places_.push_back(place);
}

template <class T>
void lattice_gather::gather(coarse_field<T>& whole, const coarse_field<T>& part) const {
  require_alike(whole, part);
  const std::size_t bytes = bytes_of_a_site(part);
  mine_.resize(static_cast<std::size_t>(sites_) * bytes);
  all_.resize(places_.size() * bytes);
  for (std::int64_t s = 0; s < sites_; ++s)
    std::memcpy(mine_.data() + static_cast<std::size_t>(s) * bytes, part.at(s, 0), bytes);
  execution_.comm().gather(mine_, all_);
  for (std::size_t i = 0; i < places_.size(); ++i)
    std::memcpy(static_cast<void*>(whole.at(places_[i], 0)), all_.data() + i * bytes, bytes);
}

template <class T>
void lattice_gather::take_part(coarse_field<T>& part, const coarse_field<T>& whole) const {
  require_alike(whole, part);
  const std::size_t bytes = bytes_of_a_site(part);
  for (std::int64_t s = 0; s < sites_; ++s)
    std::memcpy(static_cast<void*>(part.at(s, 0)), whole.at(places_[static_cast<std::size_t>(first_ + s)], 0), bytes);
}

#define PLAQUETTE_INSTANTIATE(T)                                                        \
  template void lattice_gather::gather(coarse_field<T>&, const coarse_field<T>&) const; \
  template void lattice_gather::take_part(coarse_field<T>&, const coarse_field<T>&) const;
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::cpu
