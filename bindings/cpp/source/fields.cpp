// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "bindings/cpp/source/state.hpp"
#include "common/algebra/gamma.hpp"
#include "common/io/array_places.hpp"
#include "common/io/collective_error.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/sources/sources.hpp"

namespace plaquette::api {
inline namespace v1 {

fermion_action inner(const action& quarks) {
  fermion_action result;
  result.mass = quarks.mass;
  result.clover_spatial = quarks.csw;
  result.clover_temporal = quarks.csw_temporal.value_or(quarks.csw);
  result.anisotropy = quarks.anisotropy;
  result.nu = quarks.nu;
  for (const double number : {result.mass, result.clover_spatial, result.clover_temporal, result.nu})
    if (!std::isfinite(number))
      throw error(code::unusable_input, "action: expected finite numbers, found one that is not");
  if (!(std::isfinite(result.anisotropy) && result.anisotropy > 0.0))
    throw error(code::unusable_input,
                "action: expected an anisotropy above 0, found " + std::to_string(result.anisotropy));
  if (result.diagonal() == 0.0)
    throw error(code::unusable_input, "action: 1 + 3 nu / anisotropy + mass is 0; choose another mass");
  for (std::size_t mu = 0; mu < 4; ++mu) {
    result.boundary_phase[mu] = inner(quarks.boundary_phase[mu]);
    if (!(std::abs(norm2(result.boundary_phase[mu]) - 1.0) <= 1e-12))
      throw error(code::unusable_input,
                  std::string("action: expected a boundary phase of length 1 in direction ") + "xyzt"[mu]);
  }
  return result;
}

namespace {

bool is_noise(source_kind kind) { return kind == source_kind::z2 || kind == source_kind::z4; }

noise_description noise_of(const source& from) {
  return {from.kind == source_kind::z2 ? noise_kind::z2 : noise_kind::z4, from.position[3], from.seed, from.momentum};
}

}  // namespace

void require_momentum(const std::array<int, 3>& momentum, const char* of) {
  for (const int n : momentum)
    if (n < -(1 << 16) || n > (1 << 16))
      throw error(code::unusable_input,
                  std::string(of) + ": expected momenta from -65536 to 65536, found " + std::to_string(n));
}

void require_same_lattice(const lattice& a, const lattice& b, const char* what) {
  if (!(a.get()->geometry == b.get()->geometry))
    throw error(code::unusable_input, std::string(what) + ": expected a lattice of " + to_string(a.extents()) +
                                          " on ranks " + to_string(a.grid()) + ", found " + to_string(b.extents()) +
                                          " on " + to_string(b.grid()));
}

namespace {

source_description description_of(const source& from) {
  source_description inner;
  inner.kind = from.kind == source_kind::gaussian ? plaquette::source_kind::gaussian
               : from.kind == source_kind::point  ? plaquette::source_kind::point
                                                  : plaquette::source_kind::wall;
  inner.position = from.position;
  if (inner.kind == plaquette::source_kind::wall) inner.position = {0, 0, 0, from.position[3]};
  inner.smearing_radius = from.radius;
  inner.smearing_steps = from.steps;
  inner.momentum = from.momentum;
  return inner;
}

}  // namespace

void require_source(const source& from, const extents& lattice) {
  require_source_on(description_of(from), lattice);
  require_momentum(from.momentum, "source");
}

std::optional<source_description> library_source(const source& from) {
  if (is_noise(from.kind) || (from.kind == source_kind::gaussian && from.smearing_links)) return std::nullopt;
  return description_of(from);
}
std::optional<source_description> library_smearing(const source& from) {
  if (from.kind != source_kind::gaussian) return std::nullopt;
  return description_of(from);
}
std::optional<noise_description> library_noise(const source& from) {
  if (!is_noise(from.kind)) return std::nullopt;
  return noise_of(from);
}

spinor_configuration make_source(const source& from, int column, const gauge_configuration& links,
                                 const communicator& comm) {
  const lattice_geometry& geometry = links.geometry();
  require_source(from, geometry.global());
  const auto [spin, colour] = component_of_column(column);
  if (is_noise(from.kind)) return cpu::noise_source(geometry, noise_of(from), spin, colour);
  return cpu::make_source(description_of(from), spin, colour, links, comm);
}

spinor_configuration make_source(const source& from, int column, const lattice& on) {
  if (from.smearing_links) return make_source(from, column, *from.smearing_links->get()->on_host(), on.get()->comm);
  const lattice_geometry& geometry = on.get()->geometry;
  require_source(from, geometry.global());
  if (from.kind == source_kind::gaussian)
    throw error(code::unusable_input, "source: a Gaussian needs smearing_links here, found none");
  const auto [spin, colour] = component_of_column(column);
  if (is_noise(from.kind)) return cpu::noise_source(geometry, noise_of(from), spin, colour);
  return cpu::unsmeared_source(geometry, description_of(from), spin, colour);
}

spinor_layout spinor_layout::dense(const coordinate& local, site_order order) {
  spinor_layout layout;
  std::int64_t step = spinor_reals;
  for (int k = 0; k < dimensions; ++k) {
    const auto nu = static_cast<std::size_t>(order == site_order::x_fastest ? k : dimensions - 1 - k);
    layout.site[nu] = step;
    step *= local[nu];
  }
  layout.column = step;
  return layout;
}

namespace {

/// Calls visit(spin, colour, place of the real part).
template <class Visit>
void for_each_component(const spinor_layout& layout, std::int64_t at, Visit&& visit) {
  for (int s = 0; s < spins; ++s)
    for (int c = 0; c < colours; ++c) visit(s, c, at + s * layout.spin + c * layout.colour);
}

plaquette::gamma_basis inner(gamma_basis basis) {
  switch (basis) {
    case gamma_basis::nonrelativistic:
      return plaquette::gamma_basis::nonrelativistic;
    case gamma_basis::dirac_pauli:
      return plaquette::gamma_basis::dirac_pauli;
    case gamma_basis::openqcd:
      return plaquette::gamma_basis::openqcd;
    case gamma_basis::tmlqcd:
      return plaquette::gamma_basis::tmlqcd;
    case gamma_basis::degrand_rossi:
      break;
  }
  return plaquette::gamma_basis::degrand_rossi;
}

bool all_finite(std::span<const double> numbers) {
  constexpr std::uint64_t exponent = std::uint64_t{0x7ff} << 52;
  const auto size = std::ssize(numbers);
  bool found = false;  // without a branch: the loop becomes vector instructions
#pragma omp parallel for simd schedule(static) reduction(| : found)
  for (std::ptrdiff_t k = 0; k < size; ++k)
    found |= (std::bit_cast<std::uint64_t>(numbers[static_cast<std::size_t>(k)]) & exponent) == exponent;
  return !found;
}

void require_here(std::span<const double> numbers, bool is_read, int columns, const spinor_layout& layout,
                  const lattice_geometry& geometry, const std::string& name) {
  const auto refuse = [&](const std::string& why) { throw input_error(name + ": " + why); };
  require_credible_length(name, numbers.size(), sizeof(double));
  const std::int64_t sites = geometry.local_volume(), length = std::ssize(numbers);
  require_places_of_sites(name, layout.places, sites);
  const std::int64_t least = spinor_reals * sites * columns;
  if (length < least)
    refuse("expected at least " + std::to_string(least) + " doubles for " + std::to_string(columns) + " columns on " +
           to_string(geometry.local()) + " sites of a rank (24 a site), found " + std::to_string(length));
  require_small_steps(name, std::array{layout.first, layout.spin, layout.colour, layout.imaginary, layout.column});
  require_small_steps(name, layout.site);
  require_small_steps(name, layout.places);
  const extents& local = geometry.local();
  if (layout.places.empty() && stand_apart(layout.first,
                                           {{layout.site[0], local[0]},
                                            {layout.site[1], local[1]},
                                            {layout.site[2], local[2]},
                                            {layout.site[3], local[3]},
                                            {layout.spin, spins},
                                            {layout.colour, colours},
                                            {layout.imaginary, 2},
                                            {layout.column, columns}},
                                           length)) {
    // Most arrays hold nothing else, and are finite as a whole.
    if (!is_read || (length == least && all_finite(numbers))) return;
  }
  array_places places(length, least);
  const auto take = [&](std::int64_t place) {
    const array_places::answer found = places.take(place);
    if (found == array_places::answer::outside)
      refuse("the layout puts a number at place " + std::to_string(place) + " of " + std::to_string(length) +
             "; check its strides");
    if (found == array_places::answer::taken)
      refuse("the layout puts two numbers at place " + std::to_string(place) + "; check its strides");
    if (is_read && !std::isfinite(numbers[static_cast<std::size_t>(place)]))
      refuse("expected finite numbers, found one that is not at place " + std::to_string(place));
  };
  const spinor_places stands = described(numbers.data(), columns, layout).places;
  for (int n = 0; n < columns; ++n)
    for (std::int64_t site = 0; site < sites; ++site)
      for_each_component(layout, stands.of_site(geometry.local_coordinate(site), local, n),
                         [&](int, int, std::int64_t place) {
                           take(place);
                           take(place + layout.imaginary);
                         });
}

}  // namespace

void require_spinors(std::span<const double> numbers, bool is_read, int columns, const spinor_layout& layout,
                     const lattice& on, const char* name) {
  const lattice::state& here = *on.get();
  on_all_ranks_or_none(here.comm, [&] { require_here(numbers, is_read, columns, layout, here.geometry, name); });
}

namespace {

template <class Real>
spinor_array<Real> described_array(Real* numbers, int columns, const spinor_layout& layout) {
  return {.numbers = numbers,
          .columns = columns,
          .places = {.first = layout.first,
                     .site = layout.site,
                     .spin = layout.spin,
                     .colour = layout.colour,
                     .imaginary = layout.imaginary,
                     .column = layout.column,
                     .of_sites = layout.places},
          .rotates = layout.basis != gamma_basis::degrand_rossi,
          .rotation = basis_rotation(inner(layout.basis))};
}

}  // namespace

spinor_array<double> described(double* numbers, int columns, const spinor_layout& layout) {
  return described_array(numbers, columns, layout);
}
spinor_array<const double> described(const double* numbers, int columns, const spinor_layout& layout) {
  return described_array(numbers, columns, layout);
}

void take_spinor(spinor_configuration& x, std::span<const double> numbers, int column, const spinor_layout& layout) {
  const lattice_geometry& geometry = x.geometry();
  const spinor_array<const double> array = described(numbers.data(), column + 1, layout);
  const spin_matrix back = adjoint(array.rotation);
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate at = geometry.local_coordinate(site);
    x(at) = read_spinor(array, back, at, geometry.local(), column);
  }
}

void put_spinor(std::span<double> numbers, const spinor_configuration& x, int column, const spinor_layout& layout) {
  put_spinor(described(numbers.data(), column + 1, layout), x, column);
}

void put_spinor(const spinor_array<double>& array, const spinor_configuration& x, int column) {
  const lattice_geometry& geometry = x.geometry();
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate at = geometry.local_coordinate(site);
    write_spinor(array, x(at), at, geometry.local(), column);
  }
}

}  // namespace v1
}  // namespace plaquette::api
