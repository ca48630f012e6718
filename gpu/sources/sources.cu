// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/sources/sources.hpp"

#include "gpu/blas/blas.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/dirac_spinors.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/gaussian_smearing.hpp"

namespace plaquette::gpu {
namespace {

constexpr int anywhere = -1;

/// One part of one column: 1 in one component of the sites at `position`, where -1 stands for any coordinate.
template <class T>
struct set_component {
  spinor_pointer<T> to;
  site_order order;
  global_order whole;
  int parity, column, component;
  int position[dimensions];

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto i = static_cast<std::int32_t>(n);
    const site_coordinate x = whole.coordinate_of(order.coordinate_of(parity, i));
    bool here = true;
    PLAQUETTE_GPU_UNROLL
    for (int mu = 0; mu < dimensions; ++mu) here = here && (position[mu] == anywhere || position[mu] == x.x[mu]);
    complex<double> numbers[spinor_components];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < spinor_components; ++k) numbers[k] = {here && k == component ? 1.0 : 0.0, 0.0};
    store_degrand_rossi(to, i, column, numbers);
  }
};

/// One part of one column: noise in one component of the sites of a time slice.
template <class T>
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
    if (whole.coordinate_of(x).x[3] == noise.time) {
      const complex<double> drawn = noise_number(noise.kind, noise.seed, whole.index(x));
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < spinor_components; ++k) numbers[k] = k == component ? drawn : complex<double>{};
    }
    store_degrand_rossi(to, i, column, numbers);
  }
};

template <class T>
void fill(field<T>& x, int column, const coordinate& position, int spin, int colour) {
  require_column(x, column, "a source");
  const context& ctx = x.get_context();
  for (int part = 0; part < x.parts(); ++part)
    for_each_index(ctx.queue(), ctx.order().sites,
                   set_component<T>{x.sites(part),
                                    ctx.order(),
                                    global_order(ctx.geometry()),
                                    x.parity_of_part(part),
                                    column,
                                    colours * spin + colour,
                                    {position[0], position[1], position[2], position[3]}});
}

void unsmeared_source(field<double>& x, int column, const source_description& source, const source_component& of) {
  if (source.kind == source_kind::wall)
    wall_source(x, column, source.position[3], of.spin, of.colour);
  else
    point_source(x, column, source.position, of.spin, of.colour);
}

void smear_if_requested(field<double>& x, const source_description& source, const gauge_configuration& links) {
  if (source.kind == source_kind::gaussian)
    copy(x, gaussian_smeared(x, links, source.smearing_radius, source.smearing_steps));
}

}  // namespace

template <class T>
void point_source(field<T>& x, int column, const coordinate& position, int spin, int colour) {
  fill(x, column, position, spin, colour);
}

template <class T>
void wall_source(field<T>& x, int column, int time, int spin, int colour) {
  fill(x, column, {anywhere, anywhere, anywhere, time}, spin, colour);
}

template <class T>
void noise_source(field<T>& x, int column, const noise_description& noise, int spin, int colour) {
  require_column(x, column, "a source");
  const context& ctx = x.get_context();
  for (int part = 0; part < x.parts(); ++part)
    for_each_index(ctx.queue(), ctx.order().sites,
                   set_noise<T>{x.sites(part), ctx.order(), global_order(ctx.geometry()), x.parity_of_part(part),
                                column, colours * spin + colour, noise});
}

void make_sources(field<double>& x, const source_description& source, int first, const gauge_configuration& links) {
  require_source_on(source, x.get_context().geometry().global());
  for (int column = 0; column < x.columns(); ++column)
    unsmeared_source(x, column, source, component_of_column(first + column));
  smear_if_requested(x, source, links);
}

void make_source(field<double>& x, int column, const source_description& source, int spin, int colour,
                 const gauge_configuration& links) {
  require_source_on(source, x.get_context().geometry().global());
  require_column(x, column, "a source");
  field<double> one = view(x, column, 1);
  unsmeared_source(one, 0, source, {spin, colour});
  smear_if_requested(one, source, links);
}

template void point_source(field<double>&, int, const coordinate&, int, int);
template void point_source(field<float>&, int, const coordinate&, int, int);
template void point_source(field<half>&, int, const coordinate&, int, int);
template void wall_source(field<double>&, int, int, int, int);
template void wall_source(field<float>&, int, int, int, int);
template void wall_source(field<half>&, int, int, int, int);
template void noise_source(field<double>&, int, const noise_description&, int, int);
template void noise_source(field<float>&, int, const noise_description&, int, int);
template void noise_source(field<half>&, int, const noise_description&, int, int);

}  // namespace plaquette::gpu
