// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Arrays of callers in any order of their numbers: fields of both libraries take and give the numbers that canonical
/// fields take and give.
#include "common/lattice/spinor_array.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "common/random/random_stream.hpp"
#include "cpu_ref/fields/field.hpp"
#include "gpu/device/runtime.hpp"
#include "gpu/fields/field.hpp"
#include "validation/gpu-vs-cpu/support/twin_fields.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette::validation {
namespace {

constexpr double untouched = 1.25;

/// An order of numbers, and the length of an array in it.
struct array_order {
  const char* name;
  spinor_places places;
  std::int64_t length;
};

/// Orders for three columns: as the library's own, sites backwards and colours before spins, columns fastest, with
/// room between, and sites in a random order (their places stand in `list`).
std::vector<array_order> orders(const extents& local, std::vector<std::int64_t>& list) {
  constexpr int columns = 3, reals = 24;
  const std::int64_t sites = volume(local);
  const auto strides = [&](std::int64_t step, bool x_first) {
    std::array<std::int64_t, 4> site{};
    for (int k = 0; k < 4; ++k) {
      const int nu = x_first ? k : 3 - k;
      site[static_cast<std::size_t>(nu)] = step;
      step *= local[nu];
    }
    return site;
  };
  std::vector<array_order> all;
  all.push_back({"own", {.site = strides(reals, true), .column = reals * sites}, columns * reals * sites});
  spinor_places back{.spin = 2, .colour = 8, .imaginary = 1, .column = reals * sites};
  back.site = strides(-reals, false);
  back.first = reals * (sites - 1);
  all.push_back({"backwards", back, columns * reals * sites});
  spinor_places mixed{.spin = 6 * columns, .colour = 2 * columns, .imaginary = 1, .column = 2};
  mixed.site = strides(reals * columns, true);
  all.push_back({"columns fastest", mixed, columns * reals * sites});
  spinor_places roomy{.first = 5, .spin = 7, .colour = 2, .imaginary = 1, .column = 31 * sites};
  roomy.site = strides(31, true);
  all.push_back({"room between", roomy, 5 + columns * 31 * sites});
  list.resize(static_cast<std::size_t>(sites));
  std::iota(list.begin(), list.end(), 0);
  std::mt19937_64 random(7);
  std::ranges::shuffle(list, random);
  for (std::int64_t& place : list) place *= reals;
  spinor_places listed{.spin = 3, .colour = 1, .imaginary = 12, .column = reals * sites};
  listed.of_sites = list;
  all.push_back({"any order", listed, columns * reals * sites});
  return all;
}

/// Runs both ways through a field of three columns of a library, one of them unused.
/// \param with_array  calls its last argument with the array, or with a copy where the library reads it
template <class Field>
void expect_same_as_canonical(Field field, const extents& local, double tolerance, const auto& with_array) {
  std::vector<std::int64_t> list;
  const auto& geometry = field.get_context().geometry();
  for (const array_order& order : orders(local, list))
    for (const gamma_basis basis : {gamma_basis::degrand_rossi, gamma_basis::tmlqcd}) {
      SCOPED_TRACE(order.name);
      spinor_array<double> array{.columns = 3, .places = order.places, .rotates = basis != gamma_basis::degrand_rossi};
      array.rotation = basis_rotation(basis);
      std::vector<double> numbers(static_cast<std::size_t>(order.length), untouched);
      array.numbers = numbers.data();
      std::vector<spinor_configuration> canonical;
      for (int n = 0; n < 3; ++n) {
        canonical.push_back(random_spinor(local, static_cast<std::uint64_t>(11 + n)));
        for (std::int64_t s = 0; s < geometry.local_volume(); ++s)
          write_spinor(array, canonical.back().at_site(s), geometry.local_coordinate(s), local, n);
      }
      with_array(array, numbers, [&](const spinor_array<double>& there) {
        const spinor_array<const double> in{there.numbers, there.columns,  there.places,
                                            there.rotates, there.rotation, there.is_on_device};
        import_array(field, in);
      });
      spinor_configuration found(geometry);
      for (int n = 0; n < 3; ++n) {
        export_column(found, field, n);
        for (std::int64_t s = 0; s < geometry.local_volume(); ++s)
          for (int k = 0; k < 12; ++k) {
            const auto a = found.at_site(s)(k / 3, k % 3),
                       b = canonical[static_cast<std::size_t>(n)].at_site(s)(k / 3, k % 3);
            ASSERT_NEAR(a.re, b.re, tolerance);
            ASSERT_NEAR(a.im, b.im, tolerance);
          }
      }
      std::vector<double> written(numbers.size(), untouched);
      array.numbers = written.data();
      with_array(array, written, [&](const spinor_array<double>& there) { export_array(there, field); });
      for (std::size_t k = 0; k < numbers.size(); ++k) ASSERT_NEAR(written[k], numbers[k], tolerance) << k;
    }
}

const auto of_host = [](const spinor_array<double>& array, std::vector<double>&, const auto& work) { work(array); };

TEST(SpinorArray, IsTakenAndGivenByTheCpuLibrary) {
  for (const extents& local : {extents{2, 2, 2, 2}, extents{4, 6, 2, 8}}) {
    const cpu::context ctx(lattice_geometry{local}, communicator{}, 2);
    expect_same_as_canonical(cpu::field<double>(ctx, {.columns = 4}), local, 1e-14, of_host);
    expect_same_as_canonical(cpu::field<float>(ctx, {.columns = 3}), local, 2e-6, of_host);
  }
}

TEST(SpinorArray, IsTakenAndGivenByTheCudaLibrary) {
  for (const extents& local : {extents{2, 2, 2, 2}, extents{4, 6, 2, 10}}) {
    const gpu::context ctx(lattice_geometry{local}, communicator{});
    expect_same_as_canonical(gpu::field<double>(ctx, {.columns = 4}), local, 1e-14, of_host);
    expect_same_as_canonical(gpu::field<float>(ctx, {.columns = 3}), local, 2e-6, of_host);
    const auto of_device = [&](const spinor_array<double>& array, std::vector<double>& numbers, const auto& work) {
      const std::size_t bytes = numbers.size() * sizeof(double);
      const auto there = gpu::allocate_on_device(ctx.queue().device(), bytes);
      gpu::copy_to_device(ctx.queue(), there.get(), numbers.data(), bytes);
      spinor_array<double> on_device = array;
      on_device.numbers = reinterpret_cast<double*>(there.get());
      on_device.is_on_device = true;
      work(on_device);
      gpu::copy_to_host(ctx.queue(), numbers.data(), there.get(), bytes);
    };
    expect_same_as_canonical(gpu::field<double>(ctx, {.columns = 3}), local, 1e-14, of_device);
  }
}

/// More sites than travel at once.
TEST(SpinorArray, TravelsInStretches) {
  const extents local{22, 22, 22, 18};
  const gpu::context ctx(lattice_geometry{local}, communicator{});
  gpu::field<double> field(ctx, {.columns = 2});
  std::vector<std::int64_t> list;
  for (const array_order& order : orders(local, list)) {
    if (order.name != std::string("own") && order.name != std::string("room between")) continue;
    std::vector<double> numbers(static_cast<std::size_t>(order.length), untouched), written(numbers);
    std::mt19937_64 random(3);
    spinor_array<double> array{.numbers = numbers.data(), .columns = 2, .places = order.places};
    spinor<double> psi;
    for (int n = 0; n < 2; ++n)
      for (std::int64_t s = 0; s < volume(local); ++s) {
        for (int k = 0; k < 12; ++k)
          psi(k / 3, k % 3) = {static_cast<double>(random() >> 40), static_cast<double>(random() >> 40)};
        write_spinor(array, psi, coordinate_of(s, local), local, n);
      }
    import_array(field, spinor_array<const double>{.numbers = numbers.data(), .columns = 2, .places = order.places});
    array.numbers = written.data();
    export_array(array, field);
    for (std::size_t k = 0; k < numbers.size(); ++k) ASSERT_NEAR(written[k], numbers[k], 1e-7) << k;
  }
}

}  // namespace
}  // namespace plaquette::validation
