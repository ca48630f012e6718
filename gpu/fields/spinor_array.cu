// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "common/algebra/float_pair.hpp"
#include "common/lattice/conversion_counts.hpp"
#include "common/lattice/spinor_array.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/dirac_spinors.hpp"
#include "gpu/fields/lattice_sites.hpp"

namespace plaquette::gpu {
namespace {

constexpr std::int64_t reals = 2 * spinor_components;  ///< of a site
/// Numbers of one of the two stretches that travel between the host and the device: 32 MB, whole sites.
constexpr std::int64_t most_staged = reals * 174762;

/// Places of a column as kernels find them.
struct places_on_device {
  std::int64_t first, site[dimensions], spin, colour, imaginary;
  const std::int64_t* of_sites;  ///< of the device, or null
  std::int32_t length[dimensions];

  PLAQUETTE_HOST_DEVICE std::int64_t of_site(const site_coordinate& x) const {
    if (of_sites != nullptr)
      return first + of_sites[x.x[0] + length[0] * (x.x[1] + length[1] * (x.x[2] + std::int64_t{length[2]} * x.x[3]))];
    std::int64_t at = first;
    PLAQUETTE_GPU_UNROLL
    for (int nu = 0; nu < dimensions; ++nu) at += site[nu] * x.x[nu];
    return at;
  }
  PLAQUETTE_HOST_DEVICE std::int64_t of_component(int k) const { return (k / colours) * spin + (k % colours) * colour; }
};

/// Multiplies spins by a matrix, as an array's basis wants it.
struct turned_spins {
  bool turns;
  spin_matrix by;

  PLAQUETTE_HOST_DEVICE void operator()(complex<double> (&numbers)[spinor_components]) const {
    if (!turns) return;
    complex<double> result[spinor_components];
    for (int i = 0; i < spins; ++i)
      for (int c = 0; c < colours; ++c) {
        complex<double> sum{};
        for (int j = 0; j < spins; ++j) sum += by.e[i][j] * numbers[colours * j + c];
        result[colours * i + c] = sum;
      }
    for (int k = 0; k < spinor_components; ++k) numbers[k] = result[k];
  }
};

/// One site of a column, in a loop over the whole lattice.
template <class T>
struct site_to_array {
  spinor_pointer<const T> even, odd;
  site_order order;
  int column;
  places_on_device places;
  turned_spins turned;
  double* to;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const site_number site = site_of_loop(order, n);
    complex<real_of<T>> read[spinor_components];
    load_site<T>(site.parity == 0 ? even : odd, site.index, column, read);
    complex<double> numbers[spinor_components];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < spinor_components; ++k) numbers[k] = complex_cast<double>(read[k]);
    rotate_spin_basis(numbers, colours);
    turned(numbers);
    double* const at = to + places.of_site(order.coordinate_of(site.parity, site.index));
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < spinor_components; ++k) {
      at[places.of_component(k)] = numbers[k].re;
      at[places.of_component(k) + places.imaginary] = numbers[k].im;
    }
  }
};

template <class T>
struct site_from_array {
  spinor_pointer<T> even, odd;
  site_order order;
  int column;
  places_on_device places;
  turned_spins turned;
  const double* from;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const site_number site = site_of_loop(order, n);
    const double* const at = from + places.of_site(order.coordinate_of(site.parity, site.index));
    complex<double> numbers[spinor_components];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < spinor_components; ++k)
      numbers[k] = {at[places.of_component(k)], at[places.of_component(k) + places.imaginary]};
    turned(numbers);
    store_degrand_rossi(site.parity == 0 ? even : odd, site.index, column, numbers);
  }
};

/// The places of an array on the device, their list with them.
struct held_places {
  places_on_device places;
  std::shared_ptr<std::byte> list{};

  held_places(const context& ctx, const spinor_places& from, std::int64_t first)
      : places{first, {}, from.spin, from.colour, from.imaginary, nullptr, {}} {
    for (int nu = 0; nu < dimensions; ++nu) {
      places.site[nu] = from.site[static_cast<std::size_t>(nu)];
      places.length[nu] = ctx.order().length[nu];
    }
    if (from.of_sites.empty()) return;
    list = ctx.workspace().take(from.of_sites.size_bytes());
    copy_to_device(ctx.queue(), list.get(), from.of_sites.data(), from.of_sites.size_bytes());
    places.of_sites = reinterpret_cast<const std::int64_t*>(list.get());
  }
};

spinor_places packed_places(const extents& local) {
  spinor_places places;
  std::int64_t step = reals;
  for (int nu = 0; nu < dimensions; step *= local[nu], ++nu) places.site[static_cast<std::size_t>(nu)] = step;
  return places;
}

/// Calls work(begin, end) for pieces of 0..count, by the threads of OpenMP.
template <class Work>
void in_pieces(std::int64_t count, std::int64_t piece, Work&& work) {
#pragma omp parallel for schedule(static)
  for (std::int64_t p = 0; p < (count + piece - 1) / piece; ++p) work(p * piece, std::min(count, (p + 1) * piece));
}

/// An array of the host as stretches of its columns see it, and the same numbers on the device. They are in the order
/// of the array if a column has consecutive places for itself, else packed.
template <class Real>
class array_in_transit {
 public:
  array_in_transit(const context& ctx, const spinor_array<Real>& array)
      : array_(array),
        local_(ctx.geometry().local()),
        range_(range_of_column(array.places, local_)),
        count_(reals * volume(local_)),
        is_packed_(range_.count != count_),
        places_(ctx, is_packed_ ? packed_places(local_) : array.places,
                is_packed_ ? 0 : array.places.first - range_.first),
        image_(ctx.workspace().take(static_cast<std::size_t>(count_) * sizeof(double))),
        staged_(reinterpret_cast<double*>(ctx.queue().staging(2 * half_bytes()))) {}

  const places_on_device& places() const { return places_.places; }
  double* image() const { return reinterpret_cast<double*>(image_.get()); }
  std::int64_t stretches() const { return (count_ + most_staged - 1) / most_staged * array_.columns; }
  /// Stretches of all columns count on.
  int column_of(std::int64_t stretch) const { return static_cast<int>(stretch / of_column()); }
  bool is_first(std::int64_t stretch) const { return stretch % of_column() == 0; }
  bool is_last(std::int64_t stretch) const { return stretch % of_column() == of_column() - 1; }

  void queue_to_host(const queue& q, std::int64_t stretch) const {
    copy_rows_to_host(q, {1, bytes(stretch)}, half(stretch), bytes(stretch), image() + begin(stretch), bytes(stretch));
  }
  void queue_to_device(const queue& q, std::int64_t stretch) const {
    copy_rows_to_device(q, {1, bytes(stretch)}, image() + begin(stretch), bytes(stretch), half(stretch),
                        bytes(stretch));
  }

  /// Copies a stretch from the array to page-locked memory, or back.
  void fill(std::int64_t stretch) const {
    visit(
        stretch, [](double* staged, Real* numbers, std::size_t size) { std::memcpy(staged, numbers, size); },
        [](double* staged, Real* number) { *staged = *number; });
  }
  void empty(std::int64_t stretch) const {
    visit(
        stretch, [](const double* staged, Real* numbers, std::size_t size) { std::memcpy(numbers, staged, size); },
        [](const double* staged, Real* number) { *number = *staged; });
  }

 private:
  static std::size_t half_bytes() { return most_staged * sizeof(double); }
  std::int64_t of_column() const { return (count_ + most_staged - 1) / most_staged; }
  std::int64_t begin(std::int64_t stretch) const { return stretch % of_column() * most_staged; }
  std::int64_t size(std::int64_t stretch) const { return std::min(most_staged, count_ - begin(stretch)); }
  std::size_t bytes(std::int64_t stretch) const { return static_cast<std::size_t>(size(stretch)) * sizeof(double); }
  double* half(std::int64_t stretch) const { return staged_ + stretch % 2 * most_staged; }

  template <class Copy, class Move>
  void visit(std::int64_t stretch, Copy&& copy, Move&& move) const {
    double* const staged = half(stretch);
    const int column = column_of(stretch);
    if (!is_packed_) {
      constexpr std::int64_t piece = 1 << 15;
      Real* const numbers = array_.numbers + range_.first + column * array_.places.column + begin(stretch);
      return in_pieces(size(stretch), piece, [&](std::int64_t from, std::int64_t to) {
        copy(staged + from, numbers + from, static_cast<std::size_t>(to - from) * sizeof(double));
      });
    }
    constexpr std::int64_t piece = 256;
    const std::int64_t site = begin(stretch) / reals;
    in_pieces(size(stretch) / reals, piece, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t n = from; n < to; ++n) {
        Real* const numbers = array_.numbers + array_.places.of_site(coordinate_of(site + n, local_), local_, column);
        for (int k = 0; k < spinor_components; ++k) {
          Real* const number = numbers + k / colours * array_.places.spin + k % colours * array_.places.colour;
          move(staged + reals * n + 2 * k, number);
          move(staged + reals * n + 2 * k + 1, number + array_.places.imaginary);
        }
      }
    });
  }

  const spinor_array<Real>& array_;
  extents local_;
  places_range range_;
  std::int64_t count_;  ///< numbers of a column
  bool is_packed_;
  held_places places_;
  std::shared_ptr<std::byte> image_;
  double* staged_;
};

template <class T>
void require_columns_of_array(const field<T>& x, int columns) {
  require_full_lattice(x, "an array of spinors");
  if (columns < 0 || columns > x.columns()) throw std::logic_error("an array of spinors has more columns than a field");
}

template <class T>
void queue_export(const field<T>& x, int column, const places_on_device& places, const turned_spins& turned,
                  double* to) {
  const context& ctx = x.get_context();
  for_each_index(ctx.queue(), std::int64_t{2} * ctx.order().sites,
                 site_to_array<T>{x.sites(0), x.sites(1), ctx.order(), column, places, turned, to});
}
template <class T>
void queue_import(field<T>& x, int column, const places_on_device& places, const turned_spins& turned,
                  const double* from) {
  const context& ctx = x.get_context();
  for_each_index(ctx.queue(), std::int64_t{2} * ctx.order().sites,
                 site_from_array<T>{x.sites(0), x.sites(1), ctx.order(), column, places, turned, from});
}

}  // namespace

template <class T>
void import_array(field<T>& x, const spinor_array<const double>& from) {
  require_columns_of_array(x, from.columns);
  count_conversions({.from_arrays = from.columns});
  const context& ctx = x.get_context();
  const queue& q = ctx.queue();
  const turned_spins turned{from.rotates, adjoint(from.rotation)};
  if (from.is_on_device) {
    for (int column = 0; column < from.columns; ++column) {
      const held_places held(ctx, from.places, from.places.first + column * from.places.column);
      queue_import(x, column, held.places, turned, from.numbers);
    }
    return q.synchronize();
  }
  q.synchronize();  // page-locked memory is free
  const array_in_transit<const double> transit(ctx, from);
  for (std::int64_t n = 0; n < transit.stretches(); ++n) {
    transit.fill(n);
    q.synchronize();  // the stretch before has gone, and the next one may be filled while this one travels
    transit.queue_to_device(q, n);
    if (transit.is_last(n)) queue_import(x, transit.column_of(n), transit.places(), turned, transit.image());
  }
  q.synchronize();
}

template <class T>
void export_array(const spinor_array<double>& to, const field<T>& x) {
  require_columns_of_array(x, to.columns);
  count_conversions({.to_arrays = to.columns});
  const context& ctx = x.get_context();
  const queue& q = ctx.queue();
  const turned_spins turned{to.rotates, to.rotation};
  if (to.is_on_device) {
    for (int column = 0; column < to.columns; ++column) {
      const held_places held(ctx, to.places, to.places.first + column * to.places.column);
      queue_export(x, column, held.places, turned, to.numbers);
    }
    return q.synchronize();
  }
  q.synchronize();  // page-locked memory is free
  const array_in_transit<double> transit(ctx, to);
  const auto fetch = [&](std::int64_t n) {
    if (transit.is_first(n)) queue_export(x, transit.column_of(n), transit.places(), turned, transit.image());
    transit.queue_to_host(q, n);
  };
  if (transit.stretches() > 0) fetch(0);
  for (std::int64_t n = 0; n < transit.stretches(); ++n) {
    q.synchronize();
    if (n + 1 < transit.stretches()) fetch(n + 1);
    transit.empty(n);
  }
}

#define PLAQUETTE_INSTANTIATE(T)                                            \
  template void import_array(field<T>&, const spinor_array<const double>&); \
  template void export_array(const spinor_array<double>&, const field<T>&);
PLAQUETTE_INSTANTIATE(half)
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
PLAQUETTE_INSTANTIATE(float_pair)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::gpu
