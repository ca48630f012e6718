// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vectors of a library against numbers of the host and the textbook operator, on one rank and on several. The same
/// lines test the CPU library and the CUDA library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <numbers>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "common/error.hpp"
#include "common/hmc/hybrid_action.hpp"
#include "common/hmc/molecular_dynamics.hpp"
#include "common/lattice/conversion_counts.hpp"
#include "common/lattice/ghosts.hpp"
#include "common/random/noise.hpp"
#include "common/solvers/library.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/fields/site_sum.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/gauge_fixing.hpp"
#include "cpu_ref/gauge/gradient_flow.hpp"
#include "cpu_ref/gauge/heatbath.hpp"
#include "cpu_ref/gauge/link_smearing.hpp"
#include "cpu_ref/gauge/stout.hpp"
#include "cpu_ref/library.hpp"
#include "cpu_ref/observables/baryons.hpp"
#include "cpu_ref/observables/correlators.hpp"
#include "cpu_ref/solvers.hpp"
#include "cpu_ref/sources/sources.hpp"
#include "gpu/device/preparation_count.hpp"
#include "gpu/device/runtime.hpp"
#include "gpu/library.hpp"
#include "validation/support/process_grids.hpp"

namespace {

/// Allocations by operator new above 20 kB: fields of the host, not the memory that a GPU library pools.
long large_allocations = 0;

void* counted_allocation(std::size_t bytes, std::size_t alignment) {
  if (bytes > 20000) ++large_allocations;
  void* memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return counted_allocation(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted_allocation(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace plaquette::validation {
namespace {

using testing::HasSubstr;

const extents lattice{4, 6, 2, 8};
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// \param by_time  ranks have slices of time; else the last grid that is possible
std::shared_ptr<library> open(device_kind device, const extents& of = lattice, bool by_time = false) {
  const auto world = communicator::world();
  library_options options;
  options.threads = 1;
  options.ranks.wait = wait_mode::block;  // there may be more ranks than cores
  const auto grids = legal_grids(of, world.size());
  const lattice_geometry geometry(of, by_time ? extents{1, 1, 1, world.size()} : grids.back(), world.rank());
  return (device == device_kind::cpu ? cpu::this_platform() : gpu::this_platform()).open(geometry, world, options);
}

/// Makes all numbers NaN.
void poison(vectors& v) {
  spinor_configuration psi(v.geometry());
  for (std::int64_t site = 0; site < v.geometry().local_volume(); ++site)
    for (int k = 0; k < spins * colours; ++k) psi.at_site(site)(k / colours, k % colours) = {nan, nan};
  for (int n = 0; n < v.columns(); ++n) v.set(n, psi);
}

/// A field times a number.
struct term {
  term(double by, const spinor_configuration* of) : number{by, 0.0}, psi(of) {}
  term(complex<double> by, const spinor_configuration* of) : number(by), psi(of) {}
  complex<double> number;
  const spinor_configuration* psi;
};

struct library_test : testing::TestWithParam<device_kind> {
  std::shared_ptr<library> on = open(GetParam());
  const lattice_geometry& geometry = on->geometry();
  const communicator& comm = on->comm();
  std::shared_ptr<const gauge_configuration> links =
      std::make_shared<const gauge_configuration>(cpu::random_configuration(geometry, 5, comm));
  /// Twisted boundary conditions and a clover term that differ by direction. Heavy: all systems are solved quickly.
  fermion_action action{.mass = 0.6,
                        .clover_spatial = 0.2,
                        .clover_temporal = 0.1,
                        .anisotropy = 1.1,
                        .boundary_phase = {complex<double>{0.6, 0.8}, {1, 0}, {0, 1}, {-1, 0}}};

  spinor_configuration drawn(std::uint64_t index) const { return cpu::random_spinor(geometry, 17, index, comm); }
  /// Returns vectors whose column n is `drawn(n)`.
  vectors drawn_vectors(const vectors_shape& shape, std::uint64_t first = 0) const {
    vectors v = on->make_vectors(shape);
    for (int n = 0; n < shape.columns; ++n) v.set(n, drawn(first + static_cast<std::uint64_t>(n)));
    return v;
  }
  vectors poisoned(const vectors_shape& shape) const {
    vectors v = on->make_vectors(shape);
    v.zero();
    if (shape.numbers == precision::half) {
      v.fill_random(99);  // 16 bits know no NaN
      return v;
    }
    poison(v);
    return v;
  }
  spinor_configuration column(const vectors& v, int n) const {
    spinor_configuration psi(geometry);
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site) psi.at_site(site)(1, 1) = {nan, nan};
    v.get(n, psi);
    return psi;
  }
  double norm_of(const spinor_configuration& psi) const {
    const auto sum = cpu::sum_over_sites<1>(
        geometry, comm, [&](const coordinate& x) -> std::array<double, 1> { return {norm2(psi(x))}; });
    return std::sqrt(sum[0]);
  }
  /// Returns sum_k a_k psi_k on sites of a parity, zero on the others; -1: on all.
  spinor_configuration sum(const std::vector<term>& terms, int parity = -1) const {
    spinor_configuration total(geometry);
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
      const coordinate x = geometry.local_coordinate(site);
      total(x) = {};
      if (parity >= 0 && plaquette::parity(x) != parity) continue;
      for (const auto& [a, psi] : terms)
        for (int s = 0; s < spins; ++s)
          for (int c = 0; c < colours; ++c) total(x)(s, c) += a * (*psi)(x)(s, c);
    }
    return total;
  }
  spinor_configuration part(const spinor_configuration& psi, int parity) const { return sum({{1.0, &psi}}, parity); }
  spinor_configuration times_gamma_5(spinor_configuration psi) const {
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
      for (int s = 2; s < spins; ++s)
        for (int c = 0; c < colours; ++c) psi.at_site(site)(s, c) = -psi.at_site(site)(s, c);
    return psi;
  }
  double distance(const spinor_configuration& a, const spinor_configuration& b) const {
    return norm_of(sum({{1.0, &a}, {-1.0, &b}})) / norm_of(b);
  }

  // The textbook operator.

  spinor_configuration m(spinor_configuration in, bool dagger) const {
    spinor_configuration out(geometry);
    cpu::textbook::apply(out, in, *links, action, comm, dagger);
    return out;
  }
  /// Returns A_oo^-1 of it on odd sites: a system of 12 equations a site, whose matrix is read from the operator.
  spinor_configuration divided_on_odd_sites(const spinor_configuration& psi) const {
    constexpr int n = spins * colours;
    if (columns_of_a.empty())
      for (int k = 0; k < n; ++k) {
        spinor_configuration unit(geometry);
        for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
          unit.at_site(site)(k / colours, k % colours) = {1.0, 0.0};
        columns_of_a.push_back(part(m(part(unit, 1), false), 1));
      }
    spinor_configuration result(geometry);
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
      if (plaquette::parity(geometry.local_coordinate(site)) == 0) continue;
      std::array<std::array<complex<double>, n + 1>, n> rows{};
      for (int i = 0; i < n; ++i) {
        for (int k = 0; k < n; ++k)
          rows[i][k] = columns_of_a[static_cast<std::size_t>(k)].at_site(site)(i / colours, i % colours);
        rows[i][n] = psi.at_site(site)(i / colours, i % colours);
      }
      for (int i = 0; i < n; ++i)  // by elimination: A is positive
        for (int j = 0; j < n; ++j) {
          if (i == j) continue;
          const complex<double> factor = rows[j][i] / rows[i][i];
          for (int k = i; k <= n; ++k) rows[j][k] = rows[j][k] - factor * rows[i][k];
        }
      for (int i = 0; i < n; ++i) result.at_site(site)(i / colours, i % colours) = rows[i][n] / rows[i][i];
    }
    return result;
  }
  /// Returns Mhat of the even sites: M of the field whose odd part makes M zero there.
  spinor_configuration mhat(const spinor_configuration& psi, bool dagger) const {
    const spinor_configuration even = part(psi, 0);
    const spinor_configuration odd = divided_on_odd_sites(part(m(even, dagger), 1));
    return part(m(sum({{1.0, &even}, {-1.0, &odd}}), dagger), 0);
  }
  spinor_configuration expected(const spinor_configuration& in, site_subset sites, const operator_form& form,
                                double mu) const {
    const bool full = sites == site_subset::full;
    const spinor_configuration x = full ? in : part(in, 0), rotated = times_gamma_5(x);
    const spinor_configuration ax = full ? m(x, form.dagger) : mhat(x, form.dagger);
    spinor_configuration y =
        sum({{1.0, &ax}, {form.shift, &x}, {complex<double>{0.0, form.dagger ? -mu : mu}, &rotated}});
    return form.gamma_5 ? times_gamma_5(y) : y;
  }

 private:
  mutable std::vector<spinor_configuration> columns_of_a;
};

/// Numbers in and out of a precision: a rounding relative to the largest number of a site.
double rounding(precision p) { return 8.0 * unit_roundoff(p); }
/// An application adds about 100 numbers a row, of either sign: less than 20 roundings of its inputs. As many come from
/// the links, whose norms are 1.
double rounding_of_operator(precision p) { return 40.0 * unit_roundoff(p); }

std::string message_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const input_error& e) {
    return e.what();
  }
  return "no input_error";
}

constexpr std::array all_precisions{precision::double_, precision::single, precision::half};
constexpr std::array all_sites{site_subset::full, site_subset::even, site_subset::odd};
int parity_of(site_subset sites) { return sites == site_subset::full ? -1 : sites == site_subset::even ? 0 : 1; }

TEST_P(library_test, VectorsKeepFieldsOfTheHost) {
  for (const precision p : all_precisions)
    for (const site_subset sites : all_sites) {
      SCOPED_TRACE(to_string(vectors_shape{3, sites, p}));
      vectors v = poisoned({3, sites, p});
      for (const int n : {2, 0, 1}) v.set(n, drawn(static_cast<std::uint64_t>(n)));
      for (int n = 0; n < 3; ++n)
        EXPECT_LE(distance(column(v, n), part(drawn(static_cast<std::uint64_t>(n)), parity_of(sites))), rounding(p));
    }
}

/// On any grid a site has the noise of its place in the whole lattice; hops of smearing cross ranks.
TEST_P(library_test, VectorsAreFilledWithNoiseAndSmearedSources) {
  const auto moving = on->import_links(*links);
  const source_description smeared{.kind = source_kind::gaussian, .position = {1, 2, 0, 3}, .smearing_steps = 4};
  const spinor_configuration gaussian = cpu::make_source(smeared, 2, 1, *links, comm);
  for (const precision p : all_precisions)
    for (const site_subset sites : all_sites) {
      SCOPED_TRACE(to_string(vectors_shape{3, sites, p}));
      vectors v = poisoned({3, sites, p});
      for (const noise_kind kind : {noise_kind::z2, noise_kind::z4}) {
        v.make_noise(1, {kind, 5, 23}, {1, 2});
        spinor_configuration expected(geometry);
        for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
          const coordinate x = geometry.local_coordinate(site);
          expected(x) = {};
          if (geometry.to_global(x)[3] == 5)
            expected(x)(1, 2) = noise_number(kind, 23, static_cast<std::uint64_t>(geometry.global_index(x)));
        }
        EXPECT_LE(distance(column(v, 1), part(expected, parity_of(sites))), rounding(p));
      }
      v.make_source(2, smeared, {2, 1}, *moving);
      // Twenty roundings a step of smearing, in double.
      EXPECT_LE(distance(column(v, 2), part(gaussian, parity_of(sites))), rounding(p) + 4 * 20 * 1.2e-16);
      // Waves of the whole lattice.
      const lattice_momentum n{1, -2, 3};
      const auto waving = [&](spinor_configuration psi) {
        for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
          const coordinate at = geometry.to_global(geometry.local_coordinate(site));
          double angle = 0.0;
          for (std::size_t i = 0; i < 3; ++i)
            angle += 2.0 * std::numbers::pi * n[i] * at[i] / geometry.global()[static_cast<int>(i)];
          psi.at_site(site) = complex<double>{std::cos(angle), std::sin(angle)} * psi.at_site(site);
        }
        return part(psi, parity_of(sites));
      };
      v.make_noise(0, {noise_kind::z4, 2, 29, n}, {3, 0});
      EXPECT_LE(distance(column(v, 0), waving(cpu::noise_source(geometry, {noise_kind::z4, 2, 29}, 3, 0))),
                rounding(p) + 2e-15);
      v.make_source(1, {.kind = source_kind::wall, .position = {0, 0, 0, 6}, .momentum = n}, {0, 2});
      EXPECT_LE(distance(column(v, 1), waving(cpu::wall_source(geometry, 6, 0, 2))), rounding(p) + 2e-15);
      v.make_source(0, {.position = {3, 5, 1, 4}, .momentum = n}, {1, 0});
      if (parity_of(sites) != 0) {
        EXPECT_LE(distance(column(v, 0), waving(cpu::point_source(geometry, {3, 5, 1, 4}, 1, 0))), rounding(p) + 2e-15);
      }
      source_description moving_gaussian = smeared;
      moving_gaussian.momentum = n;
      v.make_source(0, moving_gaussian, {2, 1}, *moving);
      EXPECT_LE(distance(column(v, 0), waving(gaussian)), rounding(p) + 4 * 20 * 1.2e-16 + 2e-15);
    }
  vectors v = on->make_vectors({});
  EXPECT_THAT(message_of([&] { v.make_noise(1, {}, {0, 0}); }), HasSubstr("columns below 1"));
  EXPECT_THAT(message_of([&] { v.make_noise(0, {.time = 8}, {0, 0}); }), HasSubstr("a time from 0 to 7"));
  EXPECT_THAT(message_of([&] { v.make_noise(0, {}, {4, 0}); }), HasSubstr("spins 0 to 3"));
  const auto other = open(GetParam() == device_kind::cpu ? device_kind::gpu : device_kind::cpu);
  EXPECT_THAT(message_of([&] { v.make_source(0, smeared, {0, 0}, *other->make_links({}, 1)); }),
              HasSubstr("links of another library"));
}

/// Other links are made on the device, without a copy to or from the host, of neighbours on other ranks, too.
TEST_P(library_test, LinksAreSmearedFlowedAndFixed) {
  const gauge_configuration weak = cpu::weak_field_configuration(geometry, 0.2, 3, comm);
  const auto here = on->import_links(weak);
  const stout_smearing stout{2, 0.08};
  const ape_smearing ape{2, 0.6, true};
  constexpr int sweeps = 4;
  const gauge_fixing_rule rule{.tolerance = 1e-30, .sweep_limit = sweeps};
  int steps = 0;
  const conversion_counts before = counted_conversions();
  const auto by_stout = here->smeared(stout), by_ape = here->smeared(ape), by_hyp = here->smeared(hyp_smearing{});
  const flowed_links flowed = here->flowed(0.15, 0.1, [&] { ++steps; });
  const fixed_links fixed = here->fixed(gauge_condition::coulomb, rule);
  const plaquettes measured = by_hyp->measure();
  EXPECT_EQ(counted_conversions() - before, conversion_counts{});

  const auto largest_difference = [&](const gauge_configuration& a, const gauge_configuration& b) {
    double worst = 0.0;
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
      for (std::size_t mu = 0; mu < dimensions; ++mu) {
        for (int k = 0; k < colours * colours; ++k) {
          const complex<double> off =
              a.at_site(site)[mu](k / colours, k % colours) - b.at_site(site)[mu](k / colours, k % colours);
          if (const double size = std::sqrt(norm2(off)); !(size <= worst)) worst = size;
        }
      }
    return worst;
  };
  // Bounds as in validation/gpu-vs-cpu/gauge.
  constexpr double u = 0x1p-53, of_a_step = 400.0 * 2.0 * u;
  EXPECT_LE(largest_difference(by_stout->on_host(), cpu::stout_smeared(weak, stout, comm)), 2 * of_a_step);
  EXPECT_LE(largest_difference(by_ape->on_host(), cpu::ape_smeared(weak, ape, comm)), 2 * of_a_step);
  const gauge_configuration hyp = cpu::hyp_smeared(weak, {}, comm);
  EXPECT_LE(largest_difference(by_hyp->on_host(), hyp), 3 * of_a_step);
  EXPECT_NEAR(measured.average, on->import_links(hyp)->measure().average, 3 * of_a_step);

  cpu::gradient_flow flow(weak, comm);
  const auto history = flow_history(flow, 0.15, 0.1);
  EXPECT_LE(largest_difference(flowed.links->on_host(), flow.links()), 300.0 * 2 * std::pow(3.4, 2) * u);
  EXPECT_EQ(steps, 2);
  ASSERT_EQ(flowed.history.size(), 3U);
  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_EQ(flowed.history[n].time, history[n].time);
    EXPECT_NEAR(flowed.history[n].energy_density, history[n].energy_density, 1e-12);
    EXPECT_NEAR(flowed.history[n].charge, history[n].charge, 1e-12);
  }

  const double of_sweeps = 100.0 * std::pow(3.0, sweeps) * u;
  const cpu::fixed_gauge expected = cpu::gauge_fixed(weak, gauge_condition::coulomb, rule, comm);
  EXPECT_LE(largest_difference(fixed.links->on_host(), expected.links), of_sweeps);
  EXPECT_LE(largest_difference(cpu::transformed(weak, fixed.g, comm), expected.links), of_sweeps);
  EXPECT_NEAR(fixed.quality.functional, expected.quality.functional, of_sweeps);
  EXPECT_NEAR(fixed.quality.theta, expected.quality.theta, 10.0 * of_sweeps);
  EXPECT_EQ(fixed.sweeps, sweeps);
  EXPECT_FALSE(fixed.converged);
  EXPECT_LE(largest_difference(here->on_host(), weak), 0.0) << "the links themselves stay";
  EXPECT_EQ(here->moves(), 0);
}

/// An array with the columns fastest and room between, in another basis.
TEST_P(library_test, VectorsReadAndWriteArraysOfACaller) {
  constexpr int columns = 2, reals = 26;
  const extents& local = geometry.local();
  spinor_places places{.first = 3, .spin = 6 * columns, .colour = 2 * columns, .imaginary = 1, .column = 2};
  std::int64_t step = reals * columns;
  for (std::size_t nu = 4; nu-- > 0;) {
    places.site[nu] = step;
    step *= local[static_cast<int>(nu)];
  }
  spinor_array<double> array{
      .columns = columns, .places = places, .rotates = true, .rotation = basis_rotation(gamma_basis::tmlqcd)};
  std::vector<double> numbers(static_cast<std::size_t>(step + 3), 1.25);
  array.numbers = numbers.data();
  const std::vector<spinor_configuration> psi{drawn(4), drawn(5)};
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    for (int n = 0; n < columns; ++n) {
      const coordinate x = geometry.local_coordinate(site);
      write_spinor(array, psi[static_cast<std::size_t>(n)](x), x, local, n);
    }
  const spinor_array<const double> source{numbers.data(), columns, array.places, true, array.rotation};
  for (const site_subset sites : all_sites) {
    SCOPED_TRACE(to_string(vectors_shape{4, sites, precision::double_}));
    vectors v = drawn_vectors({4, sites, precision::double_});
    v.read(1, source);
    for (int n = 0; n < columns; ++n)
      EXPECT_LE(distance(column(v, n + 1), part(psi[static_cast<std::size_t>(n)], parity_of(sites))), 1e-15);
    EXPECT_LE(distance(column(v, 0), part(drawn(0), parity_of(sites))), 1e-15);
    EXPECT_LE(distance(column(v, 3), part(drawn(3), parity_of(sites))), 1e-15);

    std::vector<double> out(numbers.size(), 7.5);
    spinor_array<double> to = array;
    to.numbers = out.data();
    v.write(1, to);
    const spin_matrix back = adjoint(array.rotation);
    double worst = 0.0;
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
      for (int n = 0; n < columns; ++n) {
        const coordinate x = geometry.local_coordinate(site);
        const bool is_here = parity_of(sites) < 0 || plaquette::parity(x) == parity_of(sites);
        const spinor<double> found = read_spinor(to, back, x, local, n);
        for (int s = 0; s < spins; ++s)
          for (int c = 0; c < colours; ++c) {
            const complex<double> wanted =
                is_here ? psi[static_cast<std::size_t>(n)](x)(s, c) : complex<double>{0.0, 0.0};
            const double away = std::max(std::abs(found(s, c).re - wanted.re), std::abs(found(s, c).im - wanted.im));
            if (!(away <= worst)) worst = away;
          }
      }
    EXPECT_LE(worst, 1e-14);
    EXPECT_EQ(std::ranges::count(out, 7.5), 3 + 2 * columns * geometry.local_volume()) << "room between was written";
  }
}

TEST_P(library_test, VectorsAreFilledFromAStreamOfRandomNumbers) {
  for (const precision p : all_precisions)
    for (const site_subset sites : all_sites) {
      SCOPED_TRACE(to_string(vectors_shape{2, sites, p}));
      vectors v = poisoned({2, sites, p});
      v.fill_random(17, 8);
      // Logarithms and cosines of a device differ in the last places.
      for (int n = 0; n < 2; ++n)
        EXPECT_LE(distance(column(v, n), part(drawn(8 + static_cast<std::uint64_t>(n)), parity_of(sites))),
                  rounding(p) + 1e-14);
    }
}

TEST_P(library_test, VectorsAreCombinedColumnByColumn) {
  for (const precision p : all_precisions)
    for (const site_subset sites : all_sites) {
      SCOPED_TRACE(to_string(vectors_shape{3, sites, p}));
      const int parity = parity_of(sites);
      const vectors u = drawn_vectors({3, sites, p}, 10);
      vectors v = drawn_vectors({3, sites, p});
      const std::vector<complex<double>> a{{0.5, -1.0}, {0.0, 2.0}, {-0.25, 0.0}};
      v.scale(complex<double>{0.0, 0.5});
      v.add(a, u);
      v.rotate_by_gamma_5();
      for (int n = 0; n < 3; ++n) {
        const auto k = static_cast<std::uint64_t>(n);
        const spinor_configuration x = drawn(k), y = drawn(10 + k);
        const auto wanted = part(times_gamma_5(sum({{complex<double>{0.0, 0.5}, &x}, {a[k], &y}})), parity);
        EXPECT_LE(distance(column(v, n), wanted), 4.0 * rounding(p));
      }
      const auto products = u.dot(v);
      const auto squares = v.norm2();
      for (int n = 0; n < 3; ++n) {
        const spinor_configuration x = column(u, n), y = column(v, n);
        const auto sums = cpu::sum_over_sites<3>(geometry, comm, [&](const coordinate& at) -> std::array<double, 3> {
          const complex<double> product = dot(x(at), y(at));
          return {product.re, product.im, norm2(y(at))};
        });
        const double scale = norm_of(x) * norm_of(y);
        EXPECT_NEAR(products[static_cast<std::size_t>(n)].re, sums[0], 1e-6 * scale);
        EXPECT_NEAR(products[static_cast<std::size_t>(n)].im, sums[1], 1e-6 * scale);
        EXPECT_NEAR(squares[static_cast<std::size_t>(n)], sums[2], 1e-6 * sums[2]);
      }
      v.add(-1.0, v);  // to itself
      for (const double square : v.norm2()) EXPECT_EQ(square, 0.0);
    }
}

TEST_P(library_test, VectorsAreCopiedBetweenPrecisionsAndColumns) {
  const vectors u = drawn_vectors({3, site_subset::odd, precision::double_});
  for (const precision p : all_precisions) {
    vectors v = poisoned({3, site_subset::odd, p}), back = poisoned(u.shape());
    v.copy(u);
    back.copy(v);
    for (int n = 0; n < 3; ++n)
      EXPECT_LE(distance(column(back, n), part(drawn(static_cast<std::uint64_t>(n)), 1)), rounding(p));
    vectors wide = drawn_vectors({5, site_subset::odd, p}, 20);
    wide.copy_columns(2, v, 1, 2);
    for (const auto& [at, number] : {std::pair{1, 21}, {2, 1}, {3, 2}, {4, 24}})
      EXPECT_LE(distance(column(wide, at), part(drawn(static_cast<std::uint64_t>(number)), 1)), rounding(p));
  }
  vectors moved = u.like();
  moved.copy(u);
  const vectors taken = std::move(moved);
  EXPECT_LE(distance(column(taken, 0), part(drawn(0), 1)), 1e-15);
  EXPECT_THAT(message_of([&] { moved.zero(); }), HasSubstr("moved from"));
  EXPECT_EQ(taken.basis(), spin_basis::time_diagonal);
}

TEST_P(library_test, OperatorsAreThoseOfTheTextbook) {
  for (const precision p : all_precisions) {
    const auto a = on->make_vector_operator(links, {.action = action, .numbers = p});
    for (const site_subset sites : {site_subset::full, site_subset::even})
      for (const operator_form& form :
           {operator_form{}, operator_form{.dagger = true}, operator_form{.shift = -0.3, .mu = {0.4}},
            operator_form{.dagger = true, .gamma_5 = true, .shift = 0.2, .mu = {0.5, 0.0, -0.7}},
            operator_form{.gamma_5 = true, .mu = {0.25, -0.25, 3.0}}}) {
        SCOPED_TRACE(to_string(vectors_shape{3, sites, p}));
        const vectors x = drawn_vectors({3, sites, p}, 30);
        vectors y = poisoned(x.shape());
        a->apply(y, x, form);
        for (int n = 0; n < 3; ++n) {
          const double mu = form.mu.empty()       ? 0.0
                            : form.mu.size() == 1 ? form.mu[0]
                                                  : form.mu[static_cast<std::size_t>(n)];
          EXPECT_LE(distance(column(y, n), expected(column(x, n), sites, form, mu)), rounding_of_operator(p));
        }
      }
  }
}

/// The residual of each solution, by the textbook.
TEST_P(library_test, SolutionsSolveTheSystemsOfTheTextbook) {
  struct system_case {
    site_subset sites;
    vector_system system;
  };
  const std::vector<system_case> cases{{site_subset::full, {}},
                                       {site_subset::full, {.dagger = true}},
                                       {site_subset::even, {.mu = {0.3}}},
                                       {site_subset::even, {.mu = {-0.3}}},
                                       {site_subset::even, {.dagger = true, .mu = {0.5, 0.5, -0.2}}},
                                       {site_subset::even, {.squared = true}},
                                       {site_subset::even, {.squared = true, .mu = {0.1, 0.8, 0.8}}}};
  for (const auto& [outer, inner] : {std::pair{precision::double_, precision::double_},
                                     {precision::double_, precision::half},
                                     {precision::single, precision::single}}) {
    propagator_settings settings = settings_of(action, outer, inner);
    settings.columns = 1;  // of the other members; vectors have as many as they have
    const auto solver = on->make_propagator_solver(links, settings);
    stopping_rule rule;
    rule.tolerance = outer == precision::double_ ? 1e-11 : 1e-5;
    rule.limit = 500;
    for (const auto& [sites, system] : cases) {
      SCOPED_TRACE(std::string(name(outer)) + "-" + name(inner) + (sites == site_subset::even ? " even" : " full") +
                   (system.dagger ? " dagger" : "") + (system.squared ? " squared" : ""));
      const vectors b = drawn_vectors({3, sites, outer}, 40);
      vectors x = poisoned(b.shape());
      const schur_report report = solver->solve(x, b, rule, system);
      EXPECT_TRUE(report.all_converged());
      ASSERT_EQ(report.true_residuals.size(), 3U);
      for (int n = 0; n < 3; ++n) {
        const auto k = static_cast<std::size_t>(n);
        const double mu = system.mu.empty() ? 0.0 : system.mu.size() == 1 ? system.mu[0] : system.mu[k];
        const spinor_configuration found = column(x, n), source = column(b, n);
        spinor_configuration ax = expected(found, sites, {.dagger = system.dagger}, system.squared ? 0.0 : mu);
        if (system.squared) {
          const spinor_configuration twice = mhat(ax, true);
          ax = sum({{1.0, &twice}, {mu * mu, &found}});
        }
        EXPECT_LE(distance(ax, source), 2.0 * rule.tolerance);
        // The same, from inside: up to the rounding of the operator and of the textbook.
        EXPECT_LE(std::abs(report.true_residuals[k] - distance(ax, source)), 300.0 * unit_roundoff(outer));
      }
    }
  }
}

TEST_P(library_test, SolvesLeaveWhatASolverHolds) {
  const auto solver = on->make_propagator_solver(links, settings_of(action, precision::double_, precision::single));
  solver->make_sources({}, {0, 5});
  stopping_rule rule;
  rule.tolerance = 1e-10;
  rule.limit = 500;
  solver->solve(rule);
  const vectors before = on->copy_of(solver->solutions());
  const vectors b = drawn_vectors({2, site_subset::full, precision::double_});
  const solved_vectors found = solver->solve(b, rule);
  EXPECT_TRUE(found.report.all_converged());
  vectors after = on->copy_of(solver->solutions());
  EXPECT_EQ(after.columns(), spin_colours);
  after.add(-1.0, before);
  for (const double square : after.norm2()) EXPECT_EQ(square, 0.0);
}

TEST_P(library_test, MultigridSolvesVectors) {
  const auto wide = open(GetParam(), {8, 4, 4, 8});
  const auto weak = std::make_shared<const gauge_configuration>(
      cpu::weak_field_configuration(wide->geometry(), 0.3, 3, wide->comm()));
  const fermion_action light = fermion_action::isotropic(-0.4, 1.0);
  const auto solver = wide->make_multigrid_solver(weak, {.action = light});
  stopping_rule rule;
  rule.tolerance = 1e-10;
  rule.limit = 60;
  vectors b = wide->make_vectors(vectors_shape{.columns = 2}), x = b.like();
  b.fill_random(3);
  EXPECT_THAT(message_of([&] { solver->solve(x, b, rule); }), HasSubstr("set_up"));
  multigrid_parameters parameters;
  parameters.coarsenings = {{{2, 2, 2, 2}, 8}};
  parameters.refinements = 1;
  solver->set_up(parameters);
  for (const bool dagger : {false, true}) {
    poison(x);
    const schur_report report = solver->solve(x, b, rule, {.dagger = dagger});
    EXPECT_TRUE(report.all_converged());
    for (int n = 0; n < 2; ++n) {
      spinor_configuration solution(wide->geometry()), source(wide->geometry()), image(wide->geometry());
      x.get(n, solution);
      b.get(n, source);
      cpu::textbook::apply(image, solution, *weak, light, wide->comm(), dagger);
      double away = 0.0, all = 0.0;
      for (std::int64_t site = 0; site < wide->geometry().local_volume(); ++site) {
        away += norm2(image.at_site(site) - source.at_site(site));
        all += norm2(source.at_site(site));
      }
      EXPECT_LE(wide->sum_over_ranks(away), 4.0 * rule.tolerance * rule.tolerance * wide->sum_over_ranks(all));
    }
  }
  EXPECT_THAT(message_of([&] {
                vectors even = b.like({.columns = 2, .sites = site_subset::even});
                even.zero();
                solver->solve(even, rule);
              }),
              HasSubstr("expected vectors on all sites"));
}

TEST_P(library_test, HandlesOfSolversAreFrozenVectors) {
  const auto solver = on->make_multigrid_solver(links, {.action = action});
  stopping_rule rule;
  rule.tolerance = 1e-4;
  rule.limit = 200;
  const vectors b = drawn_vectors({2, site_subset::full, precision::single});
  vectors given = b.like();
  given.copy(b);
  const vectors_handle handle = std::move(given).freeze();
  EXPECT_EQ(count(handle), 2);
  const vectors x = on->copy_of(solver->solve_in_single(handle, rule, true).x);
  EXPECT_EQ(x.shape(), b.shape());
  for (int n = 0; n < 2; ++n) EXPECT_LE(distance(m(column(x, n), false), column(b, n)), 4e-4);
  EXPECT_THAT(message_of([&] { given.zero(); }), HasSubstr("moved from"));
  EXPECT_THAT(message_of([&] { on->make_vectors({.sites = site_subset::even}).freeze(); }), HasSubstr("all sites"));
  EXPECT_THAT(message_of([&] { on->copy_of(vectors_handle{}); }), HasSubstr("found none"));
  const auto other = GetParam() == device_kind::cpu ? device_kind::gpu : device_kind::cpu;
  EXPECT_THAT(message_of([&] { open(other)->copy_of(handle); }), HasSubstr("of another library"));
  EXPECT_THAT(message_of([&] { open(GetParam(), {4, 6, 2, 12})->copy_of(handle); }),
              HasSubstr("vectors of a solver on a lattice"));
}

/// A propagator of a solver, in one batch and in several, and random columns: what the host makes of the columns.
TEST_P(library_test, PropagatorsAreContractedWhereTheyAre) {
  propagator_settings settings = settings_of(action, precision::double_, precision::single);
  const auto solver = on->make_propagator_solver(links, settings);
  stopping_rule rule;
  rule.tolerance = 1e-10;
  rule.limit = 500;
  vectors b = on->make_vectors({.columns = 12}), quark = b.like();
  for (int n = 0; n < 12; ++n) b.make_source(n, {.position = {1, 0, 1, 2}}, component_of_column(n));
  EXPECT_TRUE(solver->solve(quark, b, rule).all_converged());
  vectors random = b.like(), copy = b.like(), first = b.like({.columns = 7}), last = b.like({.columns = 6});
  random.fill_random(7);
  copy.copy(quark);
  first.copy_columns(0, quark, 0, 7);
  last.copy_columns(0, quark, 7, 5);
  const std::vector<handle_columns> whole{{std::move(copy).freeze(), 12}},
      parts{{std::move(first).freeze(), 7}, {std::move(last).freeze(), 5}};

  const auto expect = [&](const contractions& found, const vectors& of) {
    cpu::propagator columns;
    for (int n = 0; n < 12; ++n) columns.push_back(column(of, n));
    const std::vector<double> pion = cpu::pion_correlator(columns, comm);
    const auto near = [&](const auto& numbers, const auto& expected, const char* what) {
      ASSERT_EQ(numbers.size(), pion.size()) << what;
      for (std::size_t t = 0; t < pion.size(); ++t) {
        const auto difference = numbers[t] - expected[t];
        double distance = 0.0;
        if constexpr (std::is_same_v<decltype(difference), const double>)
          distance = std::abs(difference);
        else
          distance = std::sqrt(norm2(difference));
        // Magnitudes of a meson's terms are together at most |S|^2, with some 30 roundings. A nucleon's are below
        // 4 |S|^3 at each site, |S| at most that of the slice, with some 20.
        const double size = *what == 'n' ? 80.0 * pion[t] * std::sqrt(pion[t]) : 30.0 * pion[t];
        EXPECT_TRUE(distance <= 0x1p-53 * size) << what << " at " << t << ": " << distance / size * 0x1p53;
      }
    };
    near(found.pion(), pion, "pion");
    near(found.rho(), cpu::rho_correlator(columns, comm), "rho");
    for (const lattice_momentum& p : {lattice_momentum{}, lattice_momentum{1, -1, 2}}) {
      const meson_gammas gammas(gamma_matrix(3) * gamma_matrix(4), gamma_matrix(4));
      near(found.meson(gammas, p), cpu::momentum_correlator(columns, gammas, p, comm), "meson");
      near(found.nucleon(found, -1, p), cpu::nucleon_correlator(columns, columns, -1, p, comm), "nucleon");
    }
  };
  const conversion_counts before = counted_conversions();
  const auto use = [](const std::unique_ptr<contractions>& found) {
    found->pion();
    found->nucleon(*found, 1, {});
  };
  use(on->contract(quark));
  use(on->contract(whole));
  use(on->contract(parts));
  const auto to_host = (counted_conversions() - before).to_host_fields;
  EXPECT_EQ(to_host, GetParam() == device_kind::gpu ? 0 : 36);
  expect(*on->contract(quark), quark);
  expect(*on->contract(whole), quark);
  expect(*on->contract(parts), quark);
  expect(*on->contract(random), random);

  EXPECT_THAT(message_of([&] { on->contract(on->make_vectors({.columns = 11})); }), HasSubstr("expected 12 columns"));
  EXPECT_THAT(message_of([&] { on->contract(std::span(parts).first(1)); }), HasSubstr("found 7 columns"));
  EXPECT_THAT(message_of([&] { open(GetParam())->contract(quark); }), HasSubstr("vectors of another library"));
  const auto other = open(GetParam() == device_kind::cpu ? device_kind::gpu : device_kind::cpu);
  EXPECT_THAT(message_of([&] { other->contract(whole); }), HasSubstr("of another library"));
  vectors there = other->make_vectors({.columns = 12});
  there.zero();
  EXPECT_THAT(message_of([&] { on->contract(quark)->nucleon(*other->contract(there), 1, {}); }),
              HasSubstr("expected both quarks"));
}

TEST_P(library_test, VectorsOfAnotherLibraryAreRefused) {
  const auto twin = open(GetParam()), longer = open(GetParam(), {4, 6, 2, 12});
  const auto other = open(GetParam() == device_kind::cpu ? device_kind::gpu : device_kind::cpu);
  const auto a = on->make_vector_operator(links, {.action = action});
  propagator_settings settings = settings_of(action, precision::double_, precision::double_);
  settings.columns = 1;
  const auto solver = on->make_propagator_solver(links, settings);
  vectors here = drawn_vectors({});
  for (const auto& [from, message] : {std::pair{twin, "vectors of another library"},
                                      {other, "vectors of another library"},
                                      {longer, "vectors on a lattice"}}) {
    vectors there = from->make_vectors({});
    vectors found = there.like();
    there.zero();
    EXPECT_THAT(message_of([&] { here.copy(there); }), HasSubstr(message));
    EXPECT_THAT(message_of([&] { here.copy_columns(0, there, 0, 1); }), HasSubstr(message));
    EXPECT_THAT(message_of([&] { here.add(1.0, there); }), HasSubstr(message));
    EXPECT_THAT(message_of([&] { here.dot(there); }), HasSubstr(message));
    EXPECT_THAT(message_of([&] { a->apply(there, here); }), HasSubstr(message));
    EXPECT_THAT(message_of([&] { a->apply(here, there); }), HasSubstr(message));
    EXPECT_THAT(message_of([&] { solver->solve(there, here, {}); }), HasSubstr(message));
    EXPECT_THAT(message_of([&] { solver->solve(found, there, {}); }), HasSubstr(message));
  }
  spinor_configuration psi(longer->geometry());
  EXPECT_THAT(message_of([&] { here.set(0, psi); }), HasSubstr("a spinor field on a lattice"));
  EXPECT_THAT(message_of([&] { here.get(0, psi); }), HasSubstr("a spinor field on a lattice"));
  const auto of_nobody = cpu::make_propagator_solver(cpu::context(geometry, comm), links, settings);
  EXPECT_THAT(message_of([&] { of_nobody->solve(here, {}); }), HasSubstr("no library made this solver"));
}

TEST_P(library_test, OperatorsFollowLinksThatMove) {
  const auto moving = on->import_links(*links);
  const auto a = on->make_vector_operator(*moving, {.action = action});
  const vectors x = drawn_vectors({2, site_subset::even, precision::double_});
  vectors y = poisoned(x.shape()), first = x.like();
  a->apply(first, x);
  EXPECT_THAT(message_of([&] { moving->restore(); }), HasSubstr("expected a snapshot"));
  moving->snapshot();
  moving->combined_sweep({.beta = 5.5}, {}, 3, 1);
  EXPECT_EQ(moving->moves(), 1);
  EXPECT_THAT(message_of([&] { a->apply(y, x); }), HasSubstr("follows move 0 of its links, which have made 1"));
  a->follow(*moving);
  a->apply(y, x);
  const auto made_now =
      on->make_vector_operator(std::make_shared<const gauge_configuration>(moving->on_host()), {.action = action});
  vectors wanted = x.like();
  made_now->apply(wanted, x);
  wanted.add(-1.0, y);
  for (const double square : wanted.norm2()) EXPECT_EQ(square, 0.0);
  moving->restore();
  EXPECT_THAT(message_of([&] { a->apply(y, x); }), HasSubstr("which have made 2"));
  a->follow(*moving);
  a->apply(y, x);
  y.add(-1.0, first);
  for (const double square : y.norm2()) EXPECT_EQ(square, 0.0);
  const auto longer = open(GetParam(), {4, 6, 2, 12});
  EXPECT_THAT(message_of([&] { a->follow(*longer->make_links({}, 1)); }), HasSubstr("links on a lattice"));
  const auto other = open(GetParam() == device_kind::cpu ? device_kind::gpu : device_kind::cpu);
  EXPECT_THAT(message_of([&] { a->follow(*other->make_links({}, 1)); }), HasSubstr("links of another library"));
}

TEST_P(library_test, OperatorsFollowInPlace) {
  const auto moving = on->make_links({link_start::kind::weak, 0.3}, 5);
  const auto a = on->make_vector_operator(*moving, {.action = action});
  for (int n = 0; n < 3; ++n) {
    moving->smear({1, 0.1, false});
    const long before = large_allocations;
    a->follow(*moving);
    EXPECT_EQ(large_allocations, before);
  }
}

TEST_P(library_test, PropagatorSolversFollowLinksThatMove) {
  const auto moving = on->import_links(*links);
  propagator_settings settings = settings_of(action, precision::double_, precision::single);
  settings.columns = 1;
  const auto solver = on->make_propagator_solver(*moving, settings);
  const source_description smeared{.kind = source_kind::gaussian, .position = {1, 2, 0, 3}};
  stopping_rule rule;
  rule.tolerance = 1e-10;
  rule.limit = 500;
  const vectors b = drawn_vectors({2, site_subset::full, precision::double_});
  const vectors even = drawn_vectors({2, site_subset::even, precision::double_});
  struct solutions {
    vectors of_full, of_even, of_source;
  };
  const auto solutions_of = [&](propagator_solver& by) {
    by.make_sources(smeared, {4});
    by.solve(rule);
    return solutions{by.solve(b, rule).x, by.solve(even, rule, {.squared = true, .mu = {0.2}}).x,
                     on->copy_of(by.solutions())};
  };
  const auto expect_equal = [](solutions a, const solutions& c) {
    for (auto [found, wanted] :
         {std::pair{&a.of_full, &c.of_full}, {&a.of_even, &c.of_even}, {&a.of_source, &c.of_source}}) {
      found->add(-1.0, *wanted);
      for (const double square : found->norm2()) EXPECT_EQ(square, 0.0);
    }
  };
  const solutions first = solutions_of(*solver);
  moving->snapshot();
  moving->combined_sweep({.beta = 5.5}, {}, 3, 1);
  vectors x = b.like();
  EXPECT_THAT(message_of([&] { solver->solve(x, b, rule); }),
              HasSubstr("this solver follows move 0 of its links, which have made 1"));
  EXPECT_THAT(message_of([&] { solver->solve(rule); }), HasSubstr("this solver follows move 0"));
  EXPECT_THAT(message_of([&] { solver->make_sources(smeared, {4}); }), HasSubstr("this solver follows move 0"));
  solver->follow(*moving);
  const auto made_now =
      on->make_propagator_solver(std::make_shared<const gauge_configuration>(moving->on_host()), settings);
  expect_equal(solutions_of(*solver), solutions_of(*made_now));
  moving->restore();
  EXPECT_THAT(message_of([&] { solver->solve(rule); }), HasSubstr("which have made 2"));
  const long before = large_allocations;
  for (int n = 0; n < 10; ++n) solver->follow(*moving);
  EXPECT_EQ(large_allocations, before);
  const gauge_configuration more(geometry);
  EXPECT_EQ(large_allocations, before + 1) << "the count of allocations counts";
  expect_equal(solutions_of(*solver), first);
  const auto longer = open(GetParam(), {4, 6, 2, 12});
  EXPECT_THAT(message_of([&] { solver->follow(*longer->make_links({}, 1)); }), HasSubstr("links on a lattice"));
  const auto other = open(GetParam() == device_kind::cpu ? device_kind::gpu : device_kind::cpu);
  EXPECT_THAT(message_of([&] { solver->follow(*other->make_links({}, 1)); }), HasSubstr("links of another library"));
}

bool have_same_bits(const gauge_configuration& a, const gauge_configuration& b) {
  const std::int64_t sites = a.geometry().local_volume();
  for (std::int64_t site = 0; site < sites; ++site) {
    const coordinate x = a.geometry().local_coordinate(site);
    for (std::size_t mu = 0; mu < 4; ++mu)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
          if (a(x)[mu](i, j).re != b(x)[mu](i, j).re || a(x)[mu](i, j).im != b(x)[mu](i, j).im) return false;
  }
  return true;
}

/// On a GPU each copy of the links to or from the host takes longer than a sweep.
TEST_P(library_test, LinksMoveAndAreFollowedWhereTheyAre) {
  const auto first = on->import_links(*links);
  const auto a = on->make_vector_operator(links, {.action = action});
  const auto solver = on->make_propagator_solver(links, settings_of(action, precision::double_, precision::single));
  const conversion_counts before = counted_conversions();
  const auto moving = first->copy();
  moving->combined_sweep({.beta = 5.5}, {.heatbath = 0, .overrelaxation = 2}, 3, 0);
  a->follow(*moving);
  solver->follow(*moving);
  moving->measure();
  EXPECT_EQ(counted_conversions() - before, conversion_counts{});
  gauge_configuration expected = *links;
  cpu::heatbath_updater updater(geometry, comm);
  updater.combined_sweep(expected, {.beta = 5.5}, {.heatbath = 0, .overrelaxation = 2}, 3, 0);
  EXPECT_TRUE(have_same_bits(moving->exported(), expected));
  EXPECT_EQ((counted_conversions() - before).to_host_links, on->is_gpu() ? 1 : 0) << "the count counts";
  EXPECT_EQ(moving->moves(), 1) << "a copy to the host is no move";
  EXPECT_EQ(first->moves(), 0);
  EXPECT_TRUE(have_same_bits(first->exported(), *links)) << "a copy moves by itself";
  if (on->is_gpu() && !gpu::kernels_run_on_host()) return;  // logarithms and cosines differ in the last places
  moving->combined_sweep({.beta = 5.5}, {.heatbath = 2, .overrelaxation = 1}, 3, 1);
  updater.combined_sweep(expected, {.beta = 5.5}, {.heatbath = 2, .overrelaxation = 1}, 3, 1);
  EXPECT_TRUE(have_same_bits(moving->exported(), expected));
}

/// A = 4 + m + C is 0 on links of 1 if m = -4, which is known after half of the work is done.
TEST_P(library_test, AFollowThatFailsHalfwayLeavesNothingToSolveWith) {
  const std::string sentence = "follows no links, since its last follow failed halfway: call follow(links)";
  const fermion_action singular = fermion_action::isotropic(-4.0, 1.0);
  const auto good = on->import_links(*links), unit = on->make_links({}, 1);
  const auto longer = open(GetParam(), {4, 6, 2, 12});
  const auto of_longer = longer->make_links({}, 1);
  const vectors x = drawn_vectors({});
  const auto expect_same = [](vectors found, const vectors& wanted) {
    found.add(-1.0, wanted);
    for (const double square : found.norm2()) EXPECT_EQ(square, 0.0);
  };

  const auto a = on->make_vector_operator(links, {.action = singular});
  vectors y = poisoned(x.shape()), wanted = x.like();
  a->apply(wanted, x);
  EXPECT_THAT(message_of([&] { a->follow(*of_longer); }), HasSubstr("links on a lattice"));
  a->apply(y, x);
  expect_same(std::move(y), wanted);
  EXPECT_THAT(message_of([&] { a->follow(*unit); }), HasSubstr("singular"));
  y = poisoned(x.shape());
  EXPECT_THAT(message_of([&] { a->apply(y, x); }), HasSubstr("this operator " + sentence));
  a->follow(*good);
  a->apply(y, x);
  expect_same(std::move(y), wanted);

  propagator_settings settings = settings_of(singular, precision::double_, precision::double_);
  settings.columns = 1;
  const stopping_rule few{.tolerance = 1e-10, .limit = 5};
  const auto solver = on->make_propagator_solver(links, settings);
  vectors first = solver->solve(x, few).x;
  EXPECT_THAT(message_of([&] { solver->follow(*of_longer); }), HasSubstr("links on a lattice"));
  expect_same(solver->solve(x, few).x, first);
  EXPECT_THAT(message_of([&] { solver->follow(*unit); }), HasSubstr("singular"));
  for (const auto& work : std::vector<std::function<void()>>{
           [&] { solver->solve(x, few); }, [&] { solver->solve(few); }, [&] { solver->make_sources({}, {0}); }})
    EXPECT_THAT(message_of(work), HasSubstr("this solver " + sentence));
  solver->follow(*good);
  expect_same(solver->solve(x, few).x, first);

  const auto by_multigrid = on->make_multigrid_solver(links, {.action = singular});
  EXPECT_THAT(message_of([&] { by_multigrid->follow(*unit); }), HasSubstr("singular"));
  EXPECT_THAT(message_of([&] { by_multigrid->make_sources({}, {0}, {1.0, 0.0}); }),
              HasSubstr("this solver " + sentence));
  by_multigrid->follow(*good);
  by_multigrid->make_sources({}, {0}, {1.0, 0.0});
}

/// Returns links of the last rank's slices: U_y = diag(i^x, (-i)^x, 1), else 1. There each plaquette of the plane xy is
/// diag(i, -i, 1), so C has the eigenvalues -1/2, 0, 1/2 of c_SW = 1, and -1/2 and 1/2 at x = 0 in its first slice too.
/// On other slices no eigenvalue is below -1/4. All of it is exact: A = 4 + m + C of m = -3.5 has no inverse on the
/// last rank alone.
gauge_configuration flux_on_the_last_rank(const lattice_geometry& geometry, const communicator& comm) {
  constexpr std::array<double, 4> re{1.0, 0.0, -1.0, 0.0}, im{0.0, 1.0, 0.0, -1.0};
  const int first = geometry.global()[3] - geometry.local()[3];
  gauge_configuration links = cpu::unit_configuration(geometry);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate here = geometry.local_coordinate(site), x = geometry.to_global(here);
    if (x[3] < first) continue;
    const auto turn = static_cast<std::size_t>(x[0] % 4);
    su3<double>& u = links(here)[1];
    u(0, 0) = {re[turn], im[turn]};
    u(1, 1) = {re[turn], -im[turn]};
  }
  exchange_ghosts(links, comm);
  return links;
}

TEST_P(library_test, CloverMatricesThatAreSingularOnOneRankAreRefusedByAll) {
  const auto by_time = open(GetParam(), lattice, true);
  const lattice_geometry& slices = by_time->geometry();
  const int first = slices.global()[3] - slices.local()[3];
  const std::string sentence =
      "clover term: expected an invertible matrix at every site, found a singular one at (x, y, z, t) = (0, 0, 0, " +
      std::to_string(first) + ")";
  const fermion_action singular = fermion_action::isotropic(-3.5, 1.0);
  const auto good = std::make_shared<const gauge_configuration>(cpu::random_configuration(slices, 5, comm));
  const auto flux = std::make_shared<const gauge_configuration>(flux_on_the_last_rank(slices, comm));
  const propagator_settings settings = settings_of(singular, precision::double_, precision::single);
  // Each sum meets the same sum on the other ranks only if all ranks have thrown.
  const auto expect_refusal = [&](const std::function<void()>& work) {
    EXPECT_EQ(message_of(work), sentence);
    EXPECT_EQ(by_time->sum_over_ranks(1.0), static_cast<double>(comm.size()));
  };

  expect_refusal([&] { by_time->make_vector_operator(flux, {.action = singular}); });
  expect_refusal([&] { by_time->make_propagator_solver(flux, settings); });
  expect_refusal([&] { by_time->make_multigrid_solver(flux, {.action = singular}); });

  const auto moved = by_time->import_links(*flux);
  const auto a = by_time->make_vector_operator(good, {.action = singular});
  expect_refusal([&] { a->follow(*moved); });
  const auto solver = by_time->make_propagator_solver(good, settings);
  expect_refusal([&] { solver->follow(*moved); });
  const auto by_multigrid = by_time->make_multigrid_solver(good, {.action = singular});
  expect_refusal([&] { by_multigrid->follow(*moved); });

  hybrid_action of_quarks;
  of_quarks.quarks.emplace().action = singular;
  expect_refusal([&] { by_time->make_molecular_dynamics(slices, comm, *flux, of_quarks); });
}

/// Solves by multigrid on links that move, in one set of precisions and with one relaxation.
struct multigrid_case {
  std::string what;
  multigrid_settings settings{};
  smoother_kind smoother = smoother_kind::ca_gcr;
};

struct moving_multigrid_test : testing::TestWithParam<device_kind> {
  std::shared_ptr<library> on = open(GetParam(), {4, 4, 4, 8});
  std::unique_ptr<link_field> moving = on->make_links({link_start::kind::weak, 0.3}, 3);
  fermion_action action = fermion_action::isotropic(0.1, 1.0);
  /// Smeared, so that links make it.
  source_description source{.kind = source_kind::gaussian, .position = {1, 2, 0, 3}};
  stopping_rule rule{.tolerance = 1e-10, .limit = 80};

  std::vector<multigrid_case> cases() const {
    std::vector<multigrid_case> all{{"cycle in half", {.action = action, .cycle_precision = precision::half}},
                                    {"Schwarz",
                                     {.action = action, .direction_precision = precision::double_},
                                     smoother_kind::multiplicative_schwarz}};
    if (on->is_gpu() && on->comm().size() == 1)
      all.push_back({"pairs", {.action = action, .operator_precision = precision::pairs}});
    return all;
  }
  multigrid_parameters parameters(const multigrid_case& of) const {
    multigrid_parameters p;
    p.coarsenings = {{{2, 2, 2, 2}, 4}};
    p.relaxation_iterations = 6;
    p.refinements = 1;
    p.smoother = of.smoother;
    p.steps_after = {of.smoother == smoother_kind::multiplicative_schwarz ? 1 : 3};
    p.coarsest_steps = 4;
    return p;
  }
  std::unique_ptr<multigrid_solver> fresh(const multigrid_case& of) const {
    auto solver =
        on->make_multigrid_solver(std::make_shared<const gauge_configuration>(moving->on_host()), of.settings);
    solver->set_up(parameters(of));
    return solver;
  }
  int iterations(multigrid_solver& solver) const {
    solver.make_sources(source, {4}, {1.0, 0.0});
    const multigrid_solve_report solved = solver.solve(rule);
    EXPECT_TRUE(solved.report.all_converged());
    return solved.report.iterations();
  }
  /// Returns |b - M x| / |b| with the M of the links as they are.
  double residual(const vectors& x, const vectors& b) const {
    const auto m = on->make_vector_operator(std::make_shared<const gauge_configuration>(moving->on_host()),
                                            {.action = action, .numbers = b.shape().numbers});
    vectors r = b.like();
    m->apply(r, x);
    r.add(-1.0, b);
    return std::sqrt(r.norm2().front() / b.norm2().front());
  }
  static double distance(vectors a, const vectors& b) {
    a.add(-1.0, b);
    return std::sqrt(a.norm2().front() / b.norm2().front());
  }
  /// Expects that all operators of a solver have the present links: each in a solve of its own.
  void expect_current_operators(multigrid_solver& solver) const {
    vectors b = on->make_vectors({.columns = 1, .numbers = precision::single});
    b.fill_random(9);
    vectors given = b.like();
    given.copy(b);
    const vectors_handle handle = std::move(given).freeze();
    for (const auto& [by_bicgstab, tolerance] : {std::pair{false, 1e-4}, {true, 1e-4}, {true, 2e-2}}) {
      SCOPED_TRACE("in single precision, " + std::string(by_bicgstab ? "BiCGstab, " : "cycles, ") +
                   std::to_string(tolerance));
      stopping_rule coarse{.tolerance = tolerance, .limit = 300};
      const single_solution found = solver.solve_in_single(handle, coarse, by_bicgstab);
      EXPECT_TRUE(found.report.all_converged());
      EXPECT_LE(residual(on->copy_of(found.x), b), 4.0 * tolerance);
    }
    vectors in_double = on->make_vectors({});
    in_double.fill_random(9);
    EXPECT_LE(residual(solver.solve(in_double, rule).x, in_double), 4.0 * rule.tolerance);
  }
};

TEST_P(moving_multigrid_test, SolversFollowInPlace) {
  const auto other = open(GetParam() == device_kind::cpu ? device_kind::gpu : device_kind::cpu, {4, 4, 4, 8});
  for (const multigrid_case& of : cases()) {
    SCOPED_TRACE(of.what);
    const auto solver = on->make_multigrid_solver(*moving, of.settings);
    EXPECT_THAT(message_of([&] { solver->renew(1); }), HasSubstr("set_up"));
    solver->set_up(parameters(of));
    iterations(*solver);
    const vectors first = on->copy_of(solver->solutions());
    moving->snapshot();
    moving->smear({.steps = 1, .rho = 0.02});
    vectors x = first.like(), b = first.like();
    b.fill_random(1);
    vectors in_single = on->make_vectors({.numbers = precision::single});
    in_single.fill_random(1);
    const vectors_handle handle = std::move(in_single).freeze();
    const std::string behind = "this solver follows move " + std::to_string(moving->moves() - 1) + " of its links";
    for (const auto& work : std::vector<std::function<void()>>{
             [&] { solver->solve(x, b, rule); }, [&] { solver->solve(rule); },
             [&] { solver->solve_by_bicgstab(rule, precision::single); },
             [&] { solver->solve_in_single(handle, rule, true); },
             [&] { solver->make_sources(source, {4}, {1.0, 0.0}); }, [&] { solver->set_residuals_as_sources(); },
             [&] { solver->profile(rule); }, [&] { solver->tune({}); }, [&] { solver->low_modes({}, {}); },
             [&] { solver->identities(false); }, [&] { solver->set_up(parameters(of)); }, [&] { solver->renew(1); }})
      EXPECT_THAT(message_of(work), HasSubstr(behind));

    solver->follow(*moving);
    {
      const auto made_now = fresh(of);
      const int now = iterations(*solver), at_best = iterations(*made_now);
      EXPECT_LE(now, 1.5 * at_best) << "fresh " << at_best;
      // Two residuals of this tolerance, and a condition of M below 100 on links like these.
      EXPECT_LE(distance(on->copy_of(solver->solutions()), on->copy_of(made_now->solutions())), 200.0 * rule.tolerance);
    }
    if (of.smoother == smoother_kind::multiplicative_schwarz) {
      // A profile recomputes the cycle, with domains of these links. The one before had them, too.
      const vectors before = on->copy_of(solver->solutions());
      solver->profile(rule);
      iterations(*solver);
      EXPECT_EQ(distance(on->copy_of(solver->solutions()), before), 0.0);
    }
    expect_current_operators(*solver);
    for (const precision inner : {precision::single, precision::half}) {
      const auto solved = solver->solve_by_bicgstab({.tolerance = 1e-8, .limit = 400}, inner);
      EXPECT_TRUE(solved.report.all_converged());
    }

    const auto longer = open(GetParam(), {4, 4, 4, 12});
    EXPECT_THAT(message_of([&] { solver->follow(*longer->make_links({}, 1)); }), HasSubstr("links on a lattice"));
    EXPECT_THAT(message_of([&] { solver->follow(*other->make_links({}, 1)); }), HasSubstr("links of another library"));
    expect_current_operators(*solver);

    // Back on the first links nothing is left of the others.
    moving->restore();
    solver->follow(*moving);
    iterations(*solver);
    EXPECT_EQ(distance(on->copy_of(solver->solutions()), first), 0.0);
  }
}

TEST_P(moving_multigrid_test, FollowingPreparesNothingAnew) {
  for (const multigrid_case& of : cases()) {
    if (of.smoother == smoother_kind::multiplicative_schwarz) continue;  // its domains are recomputed
    SCOPED_TRACE(of.what);
    rule.tolerance = 1e-3;
    const auto solver = on->make_multigrid_solver(*moving, of.settings);
    solver->set_up(parameters(of));
    for (int n = 0; n < 2; ++n) {
      iterations(*solver);
      solver->follow(*moving);
    }
    const long before = large_allocations;
    for (int n = 0; n < 10; ++n) solver->follow(*moving);
    EXPECT_EQ(large_allocations, before);
    const gauge_configuration more(on->geometry());
    EXPECT_EQ(large_allocations, before + 1) << "the count of allocations counts";
    if (!on->is_gpu()) continue;
    const gpu::preparation_count warm = gpu::preparations();
    for (int n = 0; n < 10; ++n) {
      solver->follow(*moving);
      iterations(*solver);
    }
    EXPECT_EQ(gpu::preparations().segments, warm.segments);
    EXPECT_EQ(gpu::preparations().graphs, warm.graphs);
    iterations(*fresh(of));
    EXPECT_GT(gpu::preparations().segments, warm.segments) << "the count of segments counts";
    if (on->comm().size() > 1) continue;
    EXPECT_GT(gpu::preparations().graphs, warm.graphs) << "the count of graphs counts";
  }
}

/// Far from the links that the null vectors were made on, inverse iterations make them as good as fresh ones.
TEST_P(moving_multigrid_test, RenewedVectorsAreAsGoodAsFresh) {
  for (const multigrid_case& of : cases()) {
    SCOPED_TRACE(of.what);
    const auto solver = on->make_multigrid_solver(*moving, of.settings);
    solver->set_up(parameters(of));
    iterations(*solver);
    moving->combined_sweep({.beta = 6.0}, {}, 3, 1);
    solver->follow(*moving);
    const auto errors = [&] {
      std::vector<double> all;
      for (const identity_check& check : solver->identities(false)) all.push_back(check.value / check.tolerance);
      return all;
    };
    EXPECT_GT(std::ranges::max(errors()), 100.0) << "the coarse operator is that of the first links";
    EXPECT_THAT(message_of([&] { solver->renew(0); }), HasSubstr("expected at least 1 inverse iteration"));
    const setup_report renewed = solver->renew(2);
    EXPECT_GT(renewed.seconds.whole, 0.0);
    EXPECT_LE(std::ranges::max(errors()), 1.0);
    const int now = iterations(*solver), at_best = iterations(*fresh(of));
    EXPECT_LE(now, 1.25 * at_best);
    expect_current_operators(*solver);
  }
}

/// An overlap solver on links that move: the results of the stages of a calculation.
struct overlap_stages {
  kernel_modes of_h;
  sign_handle sign;
  overlap_modes of_d;

  explicit overlap_stages(overlap_solver& solver)
      : of_h(solver.lowest_kernel_modes({.modes = 6})),
        sign(solver.sign(of_h)),
        of_d(solver.lowest_overlap_modes(sign, {.modes = 2, .tolerance = 1e-5})) {
    EXPECT_TRUE(of_h.complete && of_d.complete);
  }
};

TEST_P(library_test, OverlapSolversFollowLinksThatMove) {
  const auto small = open(GetParam(), {2, 2, 2, 4});
  const auto moving = small->make_links({link_start::kind::weak, 0.3}, 5);
  const overlap_settings settings{.rho = 1.4, .seed = 3};
  const source_description source{.kind = source_kind::gaussian, .position = {1, 0, 1, 0}};
  const std::vector<double> masses{0.3};
  const overlap_solve_rule by_cg{.tolerance = 1e-7};
  overlap_solve_rule by_clover{.tolerance = 1e-6, .scheme = overlap_scheme::preconditioned};
  by_clover.preconditioner.method = clover_method::bicgstab;
  const auto solver = small->make_overlap_solver(*moving, settings);
  const overlap_stages before(*solver);
  const vectors_handle x = solver->random_vectors(2),
                       first = solver
                                   ->solve(before.sign, before.of_d, solver->columns(solver->sources(source), 5, 2),
                                           masses, by_clover)
                                   .x[0];

  moving->smear({1, 0.1, false});
  const std::string stale = "this overlap solver follows move 0 of its links, which have made 1: call follow(links)";
  for (const auto& work : std::vector<std::function<void()>>{
           [&] { solver->sources(source); }, [&] { solver->apply_kernel(x, precision::double_); },
           [&] { solver->lowest_kernel_modes({.modes = 6}); }, [&] { solver->residuals(before.of_h); },
           [&] { solver->sign(before.of_h); }, [&] { before.sign->apply(x, 1e-9); },
           [&] { solver->lowest_overlap_modes(before.sign, {.modes = 3}); },
           [&] { solver->solve(before.sign, before.of_d, x, masses, by_cg); },
           [&] { solver->judge(before.sign, x, first, masses[0], 1e-9); }})
    EXPECT_THAT(message_of(work), HasSubstr(stale));

  solver->follow(*moving);
  EXPECT_EQ(solver->follows(), 2);  // as it was made, too
  for (const auto& [made, work] : std::vector<std::pair<std::string, std::function<void()>>>{
           {"modes of H", [&] { solver->sign(before.of_h); }},
           {"a sign function", [&] { before.sign->apply(x, 1e-9); }},
           {"a sign function", [&] { solver->solve(before.sign, {}, x, masses, by_cg); }}})
    EXPECT_THAT(message_of(work), HasSubstr("expected " + made + " of the links that it follows"));
  for (const double residual : solver->residuals(before.of_h)) EXPECT_GE(residual, 1e-4);

  // All its results now agree with a solver of these links.
  const overlap_stages now(*solver);
  EXPECT_THAT(message_of([&] { solver->solve(now.sign, before.of_d, x, masses, by_cg); }), HasSubstr("modes of D"));
  const auto fresh = small->make_overlap_solver(std::make_shared<const gauge_configuration>(moving->exported()),
                                                {.rho = 1.4, .seed = 8});
  const overlap_stages expected(*fresh);
  for (const precision number : {precision::double_, precision::single})
    EXPECT_EQ(fresh->distance(solver->apply_kernel(x, number).out, fresh->apply_kernel(x, number).out), 0.0);
  ASSERT_EQ(now.of_h.values.size(), expected.of_h.values.size());
  for (std::size_t i = 0; i < now.of_h.values.size(); ++i)
    EXPECT_NEAR(std::abs(now.of_h.values[i]), std::abs(expected.of_h.values[i]), 1e-9);
  EXPECT_NEAR(now.sign->lowest(), expected.sign->lowest(), 1e-9);
  EXPECT_LE(fresh->distance(now.sign->apply(x, 1e-10), expected.sign->apply(x, 1e-10)), 1e-9);
  EXPECT_EQ(now.of_d.index(), expected.of_d.index());
  for (const int chirality : {+1, -1}) {
    const auto &found = now.of_d.of(chirality).eigenvalues, &wanted = expected.of_d.of(chirality).eigenvalues;
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-6);
  }
  const vectors_handle all = solver->sources(source), b = solver->columns(all, 5, 2);
  EXPECT_EQ(fresh->distance(all, fresh->sources(source)), 0.0);
  for (const overlap_solve_rule& rule : {by_cg, by_clover}) {
    const overlap_solutions quarks = solver->solve(now.sign, now.of_d, b, masses, rule);
    EXPECT_TRUE(quarks.report.masses[0].converged);
    EXPECT_LE(fresh->judge(expected.sign, b, quarks.x[0], masses[0], 1e-9).residual, rule.tolerance);
    const double as_before = fresh->judge(expected.sign, b, first, masses[0], 1e-9).residual;
    EXPECT_GE(as_before, 1e-3);
  }
}

/// With 12 stored numbers a link, links that are not in SU(3) cannot be followed, which is known halfway.
TEST_P(library_test, OverlapSolversFollowInPlaceOrNotAtAll) {
  const auto moving = on->make_links({link_start::kind::weak, 0.3}, 5);
  const auto solver =
      on->make_overlap_solver(*moving, {.links = reconstruct::twelve, .half_precision = true, .seed = 3});
  const vectors_handle x = solver->random_vectors(2);
  const auto expect_h_of = [&](const library::links_pointer& u) {
    const auto fresh = on->make_overlap_solver(u, {.links = reconstruct::twelve, .half_precision = true, .seed = 3});
    for (const precision number : {precision::double_, precision::single, precision::half})
      EXPECT_EQ(fresh->distance(solver->apply_kernel(x, number).out, fresh->apply_kernel(x, number).out), 0.0);
  };
  solver->follow(*moving);
  for (int k = 0; k < 3; ++k) {
    moving->smear({1, 0.1, false});
    const long before = large_allocations;
    solver->follow(*moving);
    EXPECT_EQ(large_allocations, before);
  }
  const auto u = std::make_shared<const gauge_configuration>(moving->exported());
  expect_h_of(u);

  const auto of_longer = open(GetParam(), {4, 6, 2, 12})->make_links({}, 1);
  EXPECT_THAT(message_of([&] { solver->follow(*of_longer); }), HasSubstr("links on a lattice"));
  expect_h_of(u);

  gauge_configuration stretched = *u;
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    for (su3<double>& link : stretched.at_site(site)) link = 1.5 * link;
  exchange_ghosts(stretched, comm);
  const auto far = on->import_links(stretched);
  EXPECT_THAT(message_of([&] { solver->follow(*far); }), HasSubstr("need links in SU(3)"));
  EXPECT_THAT(message_of([&] { solver->apply_kernel(x, precision::double_); }),
              HasSubstr("this overlap solver follows no links, since its last follow failed halfway"));
  solver->follow(*moving);
  expect_h_of(u);
}

TEST_P(library_test, OperatorsOfASolverKnowThatItsLinksHaveMoved) {
  const auto moving = on->import_links(*links);
  propagator_settings settings = settings_of(action, precision::double_, precision::single);
  settings.columns = 1;
  const auto solver = on->make_propagator_solver(*moving, settings);
  const auto full = solver->full_operator(false), in_single = solver->full_operator(true),
             even = solver->schur_operator(false), even_in_single = solver->schur_operator(true);
  const auto all = {full.get(), in_single.get(), even.get(), even_in_single.get()};
  const spinor_configuration psi = drawn(1);
  for (operator_trial* one : all) {
    one->set_input(0, psi);
    one->apply();
  }
  moving->combined_sweep({.beta = 5.5}, {}, 3, 1);
  for (operator_trial* one : all) {
    const std::string behind = "this operator follows move 0 of its links, which have made 1: call follow(links)";
    EXPECT_THAT(message_of([&] { one->apply(); }), HasSubstr(behind));
    EXPECT_THAT(message_of([&] { one->apply(true); }), HasSubstr(behind));
  }
  solver->follow(*moving);
  const auto made_now =
      on->make_propagator_solver(std::make_shared<const gauge_configuration>(moving->on_host()), settings);
  const auto expected = made_now->full_operator(false);
  expected->set_input(0, psi);
  spinor_configuration found(geometry), wanted(geometry);
  full->set_input(0, psi);
  full->apply();
  expected->apply();
  full->get_output(0, found);
  expected->get_output(0, wanted);
  EXPECT_EQ(distance(found, wanted), 0.0);
}

TEST_P(library_test, LinksThatWereTakenAreRefused) {
  const auto a = on->make_vector_operator(links, {.action = action});
  const auto taken = on->import_links(*links);
  taken->snapshot();
  EXPECT_TRUE(have_same_bits(taken->take(), *links));
  EXPECT_EQ(taken->moves(), 1);
  const stout_smearing stout{.steps = 1, .rho = 0.1};
  vectors v = on->make_vectors({});
  for (const auto& work : std::vector<std::function<void()>>{
           [&] { taken->measure(); }, [&] { taken->combined_sweep({.beta = 5.5}, {}, 1, 0); },
           [&] { taken->smear(stout); }, [&] { taken->on_host(); }, [&] { taken->take(); }, [&] { taken->exported(); },
           [&] { taken->copy(); }, [&] { taken->smeared(stout); }, [&] { taken->smeared(ape_smearing{}); },
           [&] { taken->smeared(hyp_smearing{}); }, [&] { taken->flowed(0.02, 0.02); },
           [&] { taken->fixed(gauge_condition::landau, {}); }, [&] { taken->snapshot(); }, [&] { taken->restore(); },
           [&] { a->follow(*taken); }, [&] { v.make_source(0, {}, {0, 0}, *taken); },
           [&] { on->make_vector_operator(*taken, {.action = action}); }})
    EXPECT_THAT(message_of(work), HasSubstr("links: these were taken"));
  EXPECT_EQ(taken->moves(), 1) << "what fails is no move";
  vectors x = drawn_vectors({}), y = x.like();
  a->apply(y, x);
}

TEST_P(library_test, LinksOfAnotherLibraryAreRefused) {
  const auto twin = open(GetParam()), longer = open(GetParam(), {4, 6, 2, 12});
  const auto other = open(GetParam() == device_kind::cpu ? device_kind::gpu : device_kind::cpu);
  propagator_settings settings = settings_of(action, precision::double_, precision::single);
  settings.columns = 1;
  const auto a = on->make_vector_operator(links, {.action = action});
  const auto solver = on->make_propagator_solver(links, settings);
  const auto by_multigrid = on->make_multigrid_solver(links, {.action = action});
  const auto overlap = on->make_overlap_solver(links, {});
  const source_description smeared{.kind = source_kind::gaussian};
  vectors v = on->make_vectors({});
  for (const auto& [from, message] : {std::pair{twin, "links of another library"},
                                      {other, "links of another library"},
                                      {longer, "links on a lattice"}}) {
    const auto there = from->make_links({link_start::kind::weak, 0.3}, 4);
    for (const auto& work : std::vector<std::function<void()>>{
             [&] { a->follow(*there); }, [&] { solver->follow(*there); }, [&] { by_multigrid->follow(*there); },
             [&] { overlap->follow(*there); }, [&] { v.make_source(0, smeared, {0, 0}, *there); },
             [&] { on->make_vector_operator(*there, {.action = action}); },
             [&] { on->make_propagator_solver(*there, settings); },
             [&] { on->make_multigrid_solver(*there, {.action = action}); },
             [&] { on->make_overlap_solver(*there, {}); }})
      EXPECT_THAT(message_of(work), HasSubstr(message));
    const stout_smearing stout{.steps = 1, .rho = 0.1};
    EXPECT_THAT(message_of([&] { a->follow(*from->import_links(there->exported())); }), HasSubstr(message));
    EXPECT_THAT(message_of([&] { a->follow(*there->copy()); }), HasSubstr(message));
    EXPECT_THAT(message_of([&] { a->follow(*there->smeared(stout)); }), HasSubstr(message));
    EXPECT_THAT(message_of([&] { a->follow(*there->smeared(ape_smearing{})); }), HasSubstr(message));
    EXPECT_THAT(message_of([&] { a->follow(*there->smeared(hyp_smearing{})); }), HasSubstr(message));
    EXPECT_THAT(message_of([&] { a->follow(*there->flowed(0.02, 0.02).links); }), HasSubstr(message));
    EXPECT_THAT(message_of([&] { a->follow(*there->fixed(gauge_condition::landau, {.sweep_limit = 1}).links); }),
                HasSubstr(message));
  }
  const auto alone = on->make_own_links({}, 1, lattice);
  EXPECT_EQ(alone->measure().average, 1.0);
  EXPECT_THAT(message_of([&] { a->follow(*alone); }),
              testing::AnyOf(HasSubstr("links of another library"), HasSubstr("links on a lattice")));

  const auto of_nobody = cpu::make_propagator_solver(cpu::context(geometry, comm), links, settings);
  const auto here = on->import_links(*links);
  EXPECT_THAT(message_of([&] { of_nobody->follow(*here); }), HasSubstr("no library made this solver"));
  a->follow(*here->copy());
  solver->follow(*here->copy());
  overlap->follow(*here->copy());
}

TEST_P(library_test, HandlesOfAnotherLibraryAreRefused) {
  const auto twin = open(GetParam()), longer = open(GetParam(), {4, 6, 2, 12});
  const auto solver = on->make_multigrid_solver(links, {.action = action});
  const stopping_rule rule{.tolerance = 1e-4, .limit = 200};
  for (const auto& [from, message] :
       {std::pair{twin, "vectors of another library"}, {longer, "vectors on a lattice"}}) {
    vectors there = from->make_vectors({.numbers = precision::single});
    there.fill_random(1);
    const vectors_handle handle = std::move(there).freeze();
    EXPECT_THAT(message_of([&] { solver->solve_in_single(handle, rule, true); }), HasSubstr(message));
    EXPECT_THAT(message_of([&] { on->copy_of(handle); }), HasSubstr("vectors of a solver o"));
  }
  const auto overlap = on->make_overlap_solver(links, {});
  const vectors_handle own = overlap->random_vectors(1);
  for (const auto& [from, message] :
       {std::pair{twin, "vectors of another library"}, {longer, "vectors on a lattice"}}) {
    const vectors_handle there =
        from->make_overlap_solver(std::make_shared<const gauge_configuration>(from->make_links({}, 1)->exported()), {})
            ->random_vectors(1);
    for (const auto& work : std::vector<std::function<void()>>{
             [&] { overlap->apply_kernel(there, precision::double_); }, [&] { overlap->columns(there, 0, 1); },
             [&] { overlap->distance(own, there); }, [&] { overlap->distance_from_orthonormal(there); }})
      EXPECT_THAT(message_of(work), HasSubstr(message));
  }
  overlap->apply_kernel(own, precision::double_);
  vectors here = on->make_vectors({.numbers = precision::single});
  here.fill_random(1);
  const single_solution once = solver->solve_in_single(std::move(here).freeze(), rule, true);
  EXPECT_TRUE(solver->solve_in_single(once.x, rule, true).report.all_converged());
}

TEST_P(library_test, ColumnsThatASolverDoesNotHaveAreRefused) {
  propagator_settings settings = settings_of(action, precision::double_, precision::single);
  settings.columns = 2;
  const auto by_krylov = on->make_propagator_solver(links, settings);
  const auto by_multigrid = on->make_multigrid_solver(links, {.action = action});
  by_multigrid->resize(2);
  spinor_configuration psi(geometry), longer(open(GetParam(), {4, 6, 2, 12})->geometry());
  const auto refuse = [&](auto& solver, const auto& make_sources) {
    for (const int column : {-1, 2, 99}) {
      EXPECT_THAT(message_of([&] { solver.set_source(column, psi); }), HasSubstr("expected columns below 2"));
      EXPECT_THAT(message_of([&] { solver.get_solution(column, psi); }), HasSubstr("expected columns below 2"));
      EXPECT_THAT(message_of([&] { solver.solutions()->get(column, psi); }), HasSubstr("expected columns below 2"));
    }
    EXPECT_THAT(message_of([&] { solver.solutions()->write(1, {.columns = 2}); }),
                HasSubstr("expected columns below 2"));
    EXPECT_THAT(message_of([&] { solver.set_source(0, longer); }), HasSubstr("a source on a lattice"));
    EXPECT_THAT(message_of([&] { solver.get_solution(0, longer); }), HasSubstr("a solution on a lattice"));
    EXPECT_THAT(message_of([&] { make_sources({12}); }), HasSubstr("spin-colours from 0 to 11, found 12"));
    EXPECT_THAT(message_of([&] { make_sources({-1}); }), HasSubstr("spin-colours from 0 to 11, found -1"));
  };
  refuse(*by_krylov, [&](const std::vector<int>& components) { by_krylov->make_sources({}, components); });
  EXPECT_THAT(message_of([&] { by_krylov->make_sources({}, {0, 1, 2}); }), HasSubstr("expected columns below 2"));
  EXPECT_THAT(message_of([&] { by_krylov->set_sources({.columns = 3}); }), HasSubstr("expected columns below 2"));
  refuse(*by_multigrid,
         [&](const std::vector<int>& components) { by_multigrid->make_sources({}, components, {1.0, 0.0}); });
  EXPECT_THAT(message_of([&] { by_multigrid->resize(0); }), HasSubstr("at least 1 column"));
  EXPECT_THAT(message_of([&] { by_multigrid->make_sources({}, {}, {1.0, 0.0}); }), HasSubstr("at least 1 column"));
}

TEST_P(library_test, MultigridRefusesWorkBeforeItsSetup) {
  const auto solver = on->make_multigrid_solver(links, {.action = action});
  const stopping_rule rule{.tolerance = 1e-4, .limit = 5};
  spinor_configuration psi(geometry);
  vectors given = on->make_vectors({.numbers = precision::single});
  given.fill_random(1);
  const vectors_handle b = std::move(given).freeze();
  for (const auto& work : std::vector<std::function<void()>>{
           [&] { solver->set_source(0, psi); }, [&] { solver->get_solution(0, psi); }, [&] { solver->solve(rule); },
           [&] { solver->solve_by_bicgstab(rule, precision::single); }, [&] { solver->solutions(); },
           [&] { solver->solution_norms(); }, [&] { solver->source_norms(); },
           [&] { solver->set_residuals_as_sources(); }, [&] { solver->profile(rule); }})
    EXPECT_THAT(message_of(work), HasSubstr("call resize, set_sources or make_sources first"));
  solver->resize(1);
  for (const auto& work : std::vector<std::function<void()>>{
           [&] { solver->solve(rule); }, [&] { solver->solve_in_single(b, rule, false); },
           [&] { solver->profile(rule); }, [&] { solver->low_modes({}, {}); }, [&] { solver->identities(false); },
           [&] { solver->null_vectors(); }, [&] { solver->tune({}); }, [&] { solver->renew(1); }})
    EXPECT_THAT(message_of(work), HasSubstr("call set_up first"));
  for (const auto& work :
       std::vector<std::function<void()>>{[&] { solver->get_low_mode(0, psi); }, [&] { solver->study_null_space(); }})
    EXPECT_THAT(message_of(work), HasSubstr("call low_modes first"));
  EXPECT_TRUE(solver->solve_in_single(b, {.tolerance = 1e-2, .limit = 200}, true).report.all_converged());
}

TEST_P(library_test, ShapesThatDoNotFitAreRefused) {
  const auto a = on->make_vector_operator(links, {.action = action});
  propagator_settings settings = settings_of(action, precision::double_, precision::double_);
  settings.columns = 1;
  const auto solver = on->make_propagator_solver(links, settings);
  const auto made = [&](int columns, site_subset sites = site_subset::full, precision p = precision::double_) {
    return drawn_vectors({columns, sites, p});
  };
  vectors x = made(3), two = made(2), single = made(3, site_subset::full, precision::single),
          even = made(3, site_subset::even), odd = made(3, site_subset::odd), y = x.like(), odd_too = odd.like(),
          single_too = single.like(), even_too = even.like();
  stopping_rule rule;
  EXPECT_THAT(message_of([&] { on->make_vectors({.columns = 0}); }), HasSubstr("at least 1 column"));
  EXPECT_THAT(message_of([&] { on->make_vectors({.numbers = precision::pairs}); }),
              HasSubstr("double, single or half"));
  EXPECT_THAT(message_of([&] { x.add(1.0, two); }),
              HasSubstr("found 3 columns on all sites in double precision and 2 "));
  EXPECT_THAT(message_of([&] { x.add(1.0, single); }), HasSubstr("one shape"));
  EXPECT_THAT(message_of([&] { x.copy(even); }), HasSubstr("on the same sites"));
  EXPECT_THAT(message_of([&] { x.copy(two); }), HasSubstr("as many columns"));
  EXPECT_THAT(message_of([&] { x.copy_columns(2, two, 0, 2); }), HasSubstr("expected columns below 3"));
  EXPECT_THAT(message_of([&] { x.copy_columns(0, two, 1, 2); }), HasSubstr("expected columns below 2"));
  EXPECT_THAT(message_of([&] { x.copy_columns(1, x, 0, 2); }), HasSubstr("overlap"));
  EXPECT_THAT(message_of([&] { x.scale(std::vector<complex<double>>(2)); }), HasSubstr("one for each of 3 columns"));
  EXPECT_THAT(message_of([&] { x.set(3, spinor_configuration(geometry)); }), HasSubstr("columns below 3"));
  EXPECT_THAT(message_of([&] { x.write(2, {.columns = 2}); }), HasSubstr("columns below 3"));
  EXPECT_THAT(message_of([&] { a->apply(two, x); }), HasSubstr("this operator: expected vectors of one shape"));
  EXPECT_THAT(message_of([&] { a->apply(x, x); }), HasSubstr("two different vectors"));
  EXPECT_THAT(message_of([&] { a->apply(single, single_too); }), HasSubstr("expected vectors in double precision"));
  EXPECT_THAT(message_of([&] { a->apply(odd_too, odd); }), HasSubstr("on all or on even sites"));
  EXPECT_THAT(message_of([&] { a->apply(y, x, {.mu = {1.0, 2.0}}); }),
              HasSubstr("mu: expected one number, or one for"));
  EXPECT_THAT(message_of([&] { a->apply(y, x, {.mu = {nan}}); }), HasSubstr("mu: expected finite"));
  const std::vector<complex<double>> mixed{{1.0, 0.0}, {0.0, nan}, {1.0, 0.0}};
  for (const double bad : {nan, std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(message_of([&] { x.scale(bad); }), HasSubstr("factors of vectors: expected finite"));
    EXPECT_THAT(message_of([&] { x.add(bad, y); }), HasSubstr("factors of vectors: expected finite"));
    EXPECT_THAT(message_of([&] { x.add(bad, x); }), HasSubstr("factors of vectors: expected finite"));
    EXPECT_THAT(message_of([&] { a->apply(y, x, {.shift = bad}); }), HasSubstr("shift: expected a finite"));
  }
  EXPECT_THAT(message_of([&] { x.scale(mixed); }), HasSubstr("factors of vectors: expected finite"));
  EXPECT_THAT(message_of([&] { solver->solve(y, x, rule, {.mu = {0.1}}); }), HasSubstr("vectors on even sites"));
  EXPECT_THAT(message_of([&] { solver->solve(y, x, rule, {.squared = true}); }), HasSubstr("vectors on even sites"));
  EXPECT_THAT(message_of([&] { solver->solve(single_too, single, rule); }), HasSubstr("in double precision"));
  EXPECT_THAT(message_of([&] { solver->solve(even_too, even, rule, {.mu = {1.0, 2.0}}); }),
              HasSubstr("mu: expected one"));
  rule.column_tolerances = {1e-3};
  EXPECT_THAT(message_of([&] { solver->solve(y, x, rule); }), HasSubstr("tolerances: expected one a column"));
}

const auto name_of_device = [](const auto& of) { return of.param == device_kind::cpu ? "Cpu" : "Gpu"; };
INSTANTIATE_TEST_SUITE_P(Of, moving_multigrid_test, testing::Values(device_kind::cpu, device_kind::gpu),
                         name_of_device);
INSTANTIATE_TEST_SUITE_P(Of, library_test, testing::Values(device_kind::cpu, device_kind::gpu), name_of_device);

}  // namespace
}  // namespace plaquette::validation
