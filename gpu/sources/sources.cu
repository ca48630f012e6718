// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/sources/sources.hpp"

#include <utility>

#include "gpu/blas/blas.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/dirac_spinors.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/gaussian_smearing.hpp"

namespace plaquette::gpu {
namespace {

constexpr int anywhere = -1;

/// One part of one column: 1, or a plane wave if it moves, in one component of the sites at `position`, where -1 stands
/// for any coordinate.
template <class T, bool moves>
struct set_component {
  spinor_pointer<T> to;
  site_order order;
  global_order whole;
  int parity, column, component;
  int position[dimensions];
  lattice_momentum momentum;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto i = static_cast<std::int32_t>(n);
    const site_coordinate x = whole.coordinate_of(order.coordinate_of(parity, i));
    bool here = true;
    PLAQUETTE_GPU_UNROLL
    for (int mu = 0; mu < dimensions; ++mu) here = here && (position[mu] == anywhere || position[mu] == x.x[mu]);
    complex<double> number{here ? 1.0 : 0.0, 0.0};
    if constexpr (moves)
      if (here) number = momentum_phase(momentum, x.x, whole.length);
    complex<double> numbers[spinor_components];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < spinor_components; ++k) numbers[k] = k == component ? number : complex<double>{};
    store_degrand_rossi(to, i, column, numbers);
  }
};

/// One part of one column: noise, times a plane wave if it moves, in one component of the sites of a time slice.
template <class T, bool moves>
struct set_noise {
  spinor_pointer<T> to;
  site_order order;
  global_order whole;
  int parity, column, component;
  noise_description noise;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto i = static_cast<std::int32_t>(n);
    const site_coordinate x = order.coordinate_of(parity, i);
    complex<double> numbers[spinor_components] = {};
    const site_coordinate at = whole.coordinate_of(x);
    if (at.x[3] == noise.time) {
      complex<double> drawn = noise_number(noise.kind, noise.seed, whole.index(x));
      if constexpr (moves) drawn = momentum_phase(noise.momentum, at.x, whole.length) * drawn;
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < spinor_components; ++k) numbers[k] = k == component ? drawn : complex<double>{};
    }
    store_degrand_rossi(to, i, column, numbers);
  }
};

/// One part of one column: multiplies it by a plane wave.
struct multiply_by_phase {
  spinor_pointer<double> to;
  spinor_pointer<const double> from;
  site_order order;
  global_order whole;
  int parity, column;
  lattice_momentum momentum;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto i = static_cast<std::int32_t>(n);
    const site_coordinate x = whole.coordinate_of(order.coordinate_of(parity, i));
    const complex<double> phase = momentum_phase(momentum, x.x, whole.length);
    complex<double> numbers[spinor_components];
    load_site<double, spinor_components>(from, i, column, numbers);
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < spinor_components; ++k) numbers[k] = phase * numbers[k];
    store_site<double, spinor_components>(to, i, column, numbers);
  }
};

template <bool moves, class T>
void fill(field<T>& x, int column, const coordinate& position, int spin, int colour,
          const lattice_momentum& momentum = {}) {
  require_column(x, column, "a source");
  const context& ctx = x.get_context();
  for (int part = 0; part < x.parts(); ++part)
    for_each_index(ctx.queue(), ctx.order().sites,
                   set_component<T, moves>{x.sites(part),
                                           ctx.order(),
                                           global_order(ctx.geometry()),
                                           x.parity_of_part(part),
                                           column,
                                           colours * spin + colour,
                                           {position[0], position[1], position[2], position[3]},
                                           momentum});
}

coordinate on_time_slice(int time) { return {anywhere, anywhere, anywhere, time}; }

template <bool moves, class T>
void fill_with_noise(field<T>& x, int column, const noise_description& noise, int spin, int colour) {
  const context& ctx = x.get_context();
  for (int part = 0; part < x.parts(); ++part)
    for_each_index(ctx.queue(), ctx.order().sites,
                   set_noise<T, moves>{x.sites(part), ctx.order(), global_order(ctx.geometry()), x.parity_of_part(part),
                                       column, colours * spin + colour, noise});
}

/// Makes all columns of the source, which columns begin with: points of a Gaussian.
void finish_sources(field<double>& x, const source_description& source, const gauge_configuration& links) {
  if (source.kind != source_kind::gaussian) return;
  copy(x, gaussian_smeared(x, links, source.smearing_radius, source.smearing_steps));
  if (is_zero(source.momentum)) return;
  const context& ctx = x.get_context();
  for (int column = 0; column < x.columns(); ++column)
    for (int part = 0; part < x.parts(); ++part)
      for_each_index(ctx.queue(), ctx.order().sites,
                     multiply_by_phase{x.sites(part), std::as_const(x).sites(part), ctx.order(),
                                       global_order(ctx.geometry()), x.parity_of_part(part), column, source.momentum});
}

void begin_source(field<double>& x, int column, const source_description& source, const source_component& of) {
  if (source.kind == source_kind::gaussian)
    point_source(x, column, source.position, of.spin, of.colour);
  else
    unsmeared_source(x, column, source, of.spin, of.colour);
}

}  // namespace

template <class T>
void point_source(field<T>& x, int column, const coordinate& position, int spin, int colour) {
  fill<false>(x, column, position, spin, colour);
}

template <class T>
void wall_source(field<T>& x, int column, int time, int spin, int colour) {
  fill<false>(x, column, on_time_slice(time), spin, colour);
}

template <class T>
void unsmeared_source(field<T>& x, int column, const source_description& source, int spin, int colour) {
  const coordinate position = source.kind == source_kind::wall ? on_time_slice(source.position[3]) : source.position;
  if (is_zero(source.momentum))
    fill<false>(x, column, position, spin, colour);
  else
    fill<true>(x, column, position, spin, colour, source.momentum);
}

template <class T>
void noise_source(field<T>& x, int column, const noise_description& noise, int spin, int colour) {
  require_column(x, column, "a source");
  if (is_zero(noise.momentum))
    fill_with_noise<false>(x, column, noise, spin, colour);
  else
    fill_with_noise<true>(x, column, noise, spin, colour);
}

void make_sources(field<double>& x, const source_description& source, int first, const gauge_configuration& links) {
  require_source_on(source, x.get_context().geometry().global());
  for (int column = 0; column < x.columns(); ++column)
    begin_source(x, column, source, component_of_column(first + column));
  finish_sources(x, source, links);
}

void make_source(field<double>& x, int column, const source_description& source, int spin, int colour,
                 const gauge_configuration& links) {
  require_source_on(source, x.get_context().geometry().global());
  require_column(x, column, "a source");
  field<double> one = view(x, column, 1);
  begin_source(one, 0, source, {spin, colour});
  finish_sources(one, source, links);
}

template void point_source(field<double>&, int, const coordinate&, int, int);
template void point_source(field<float>&, int, const coordinate&, int, int);
template void point_source(field<half>&, int, const coordinate&, int, int);
template void wall_source(field<double>&, int, int, int, int);
template void wall_source(field<float>&, int, int, int, int);
template void wall_source(field<half>&, int, int, int, int);
template void unsmeared_source(field<double>&, int, const source_description&, int, int);
template void unsmeared_source(field<float>&, int, const source_description&, int, int);
template void unsmeared_source(field<half>&, int, const source_description&, int, int);
template void noise_source(field<double>&, int, const noise_description&, int, int);
template void noise_source(field<float>&, int, const noise_description&, int, int);
template void noise_source(field<half>&, int, const noise_description&, int, int);

}  // namespace plaquette::gpu
