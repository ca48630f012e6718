// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/lattice_gather.hpp"

#include <stdexcept>
#include <vector>

#include "common/operators/whole_lattice.hpp"
#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

namespace {

/// Site s of the part is site places[s] of the whole lattice; an index is a number of a column of a site.
template <class T>
struct take_sites {
  coarse_pointer<complex<T>> part;
  coarse_pointer<const complex<T>> whole;
  const std::int32_t* places;
  std::int32_t numbers;  ///< of a site's columns

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t site = index / numbers;
    const auto k = static_cast<std::int32_t>(index - site * numbers);
    part.at(site, 0)[k] = whole.at(places[site], 0)[k];
  }
};

template <class T>
void require_alike(const coarse_field<T>& whole, const coarse_field<T>& part) {
  if (whole.shape().sites != site_subset::full || !(whole.shape() == part.shape()))
    throw std::logic_error("lattice_gather: expected two fields of all sites of one shape");
}

template <class T>
device_rows rows_of(const coarse_field<T>& x) {
  const auto numbers = x.numbers();
  return {const_cast<std::byte*>(reinterpret_cast<const std::byte*>(numbers.begin)),
          numbers.site_stride * static_cast<std::int64_t>(sizeof(complex<T>))};
}

}  // namespace

lattice_gather::lattice_gather(const execution& on, const coarse_geometry& part, const coarse_geometry& whole)
    : queue_(on.queue()), ranks_(std::make_shared<rank_gather>(on)), sites_(part.sites()) {
  std::vector<std::int32_t> origin(static_cast<std::size_t>(whole.sites())), mine;
  for (int rank = 0; rank < on.comm().size(); ++rank) {
    std::int64_t next = rank * sites_;
    for (const std::int64_t place : places_in(whole, coarse_geometry(part.global(), part.grid(), rank))) {
      origin[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(next++);
      if (rank == part.rank()) mine.push_back(static_cast<std::int32_t>(place));
    }
  }
  if (!ranks_->recordable()) on.note_messages_of_host();
  origin_ = array_on_device(on, origin);
  places_ = array_on_device(on, mine);
}

template <class T>
void lattice_gather::gather(coarse_field<T>& whole, const coarse_field<T>& part) const {
  require_alike(whole, part);
  const std::int64_t bytes =
      std::int64_t{part.components()} * part.columns() * static_cast<std::int64_t>(sizeof(complex<T>));
  ranks_->gather(rows_of(whole), rows_of(part), sites_, bytes, origin_.get());
}

template <class T>
void lattice_gather::take_part(coarse_field<T>& part, const coarse_field<T>& whole) const {
  require_alike(whole, part);
  const std::int32_t numbers = part.components() * part.columns();
  for_each_index(queue_, sites_ * numbers, take_sites<T>{part.numbers(), whole.numbers(), places_.get(), numbers});
}

#define PLAQUETTE_INSTANTIATE(T)                                                        \
  template void lattice_gather::gather(coarse_field<T>&, const coarse_field<T>&) const; \
  template void lattice_gather::take_part(coarse_field<T>&, const coarse_field<T>&) const;
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::gpu
