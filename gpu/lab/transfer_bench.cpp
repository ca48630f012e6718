// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Restriction and prolongation of multigrid, in blocks of 4^4. Each is compared with the pure gather.
///
///   kernel_bench transfer PRECISION single|half [COLUMNS] [only=restrict|prolong] [vectors=N] [even] [lattice=XxYxZxT]
///   kernel_bench transfer all      every precision and 1, 4, 12, 24 columns; and how long the setup's parts take
#include <memory>
#include <string>

#include "common/error.hpp"
#include "common/lattice/extents.hpp"
#include "gpu/coarse/coarse_operator.hpp"
#include "gpu/coarse/galerkin.hpp"
#include "gpu/coarse/transfer.hpp"
#include "gpu/device/timing.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/lab/kernel_bench.hpp"

#include <cstdio>

namespace plaquette::gpu {
namespace {

/// Returns the seconds of a part of the setup, which is done once.
double seconds_once(const execution& on, const std::function<void()>& work) {
  on.queue().synchronize();
  return seconds_a_launch(on.queue(), 1, work);
}

/// Restriction and prolongation of fields of quarks, verified against the pure gather.
template <class T>
void time_transfer(const context& ctx, const null_space& v, coarse_storage storage, site_subset sites, int columns,
                   const std::string& only, lab::bench_report& report) {
  transfer<float> p(ctx, v, storage);
  const field_shape shape{4, 3, sites, columns};
  field<T> fine(ctx, shape), prolonged(ctx, shape), expected_fine(ctx, shape);
  random_spinors(fine, 9, 0);
  auto coarse = p.coarse_like(columns), restricted = p.coarse_like(columns), expected = p.coarse_like(columns);
  fill_random(coarse, 9, 0);
  p.set_kernel(product_kernel::gather);
  const bool restricts = only != "prolong", prolongs = only != "restrict";
  if (restricts) p.restrict_to(expected, fine);
  if (prolongs) p.prolong(expected_fine, coarse);
  p.set_kernel(product_kernel::fastest);
  fill_bytes(ctx.queue(), restricted.numbers().begin, 0xff,
             static_cast<std::size_t>(restricted.sites() * columns * restricted.components()) * 8);
  if (restricts) p.restrict_to(restricted, fine);
  if (prolongs) p.prolong(prolonged, coarse);
  // Fewest bytes: null vectors of the sites that the field has, and the field. (The coarse field is 1% of that.)
  const double rows =
      12.0 * static_cast<double>(volume(ctx.geometry().global())) / (sites == site_subset::full ? 1 : 2);
  const double of_number = is_half<T> ? 4.0 + 4.0 / 12.0 : 8.0;
  const double bytes = rows * (v.vectors() * (storage == coarse_storage::half ? 4.0 : 8.0) + of_number * columns),
               flops = rows * v.vectors() * 8.0 * columns;
  const std::string name = std::string(storage == coarse_storage::half ? "16-bit " : "fp32 ") +
                           (is_half<T> ? "half" : "float") + (sites == site_subset::full ? "" : " even");
  const std::string label = to_string(ctx.geometry().global()) + " " + name;
  if (restricts)
    report.add({"restrict", label, columns, lab::seconds_of_call(ctx.queue(), [&] { p.restrict_to(restricted, fine); }),
                bytes, flops, lab::distance(restricted, expected), 1e-5});
  if (prolongs)
    report.add({"prolong", label, columns, lab::seconds_of_call(ctx.queue(), [&] { p.prolong(prolonged, coarse); }),
                bytes, flops, lab::distance(prolonged, expected_fine), is_half<T> ? 1e-4 : 1e-5});
}

void time_setup(const context& ctx, const null_space& v) {
  const std::string name = to_string(ctx.geometry().global());
  const gauge_configuration links = weak_field_configuration(ctx, 0.2, 3);
  const auto action = fermion_action::isotropic(0.05, 1.0);
  std::unique_ptr<coarse_matrices> m;
  for (int k = 0; k < 2; ++k)
    std::printf(
        "galerkin        %s  %.1f ms\n", name.c_str(),
        1e3 * seconds_once(ctx, [&] { m = std::make_unique<coarse_matrices>(galerkin_product(links, action, v)); }));
  for (int k = 0; k < 2; ++k)
    std::printf("inverse, links  %s  %.1f ms\n", name.c_str(),
                1e3 * seconds_once(ctx, [&] { const coarse_schur<float> schur(ctx, *m, coarse_storage::half); }));
  std::fflush(stdout);
  m.reset();
}

}  // namespace

int lab::bench_transfer(const bench_words& words) {
  const context ctx{lattice_geometry(parse_extents(words.named("lattice", "32x32x32x64"), "lattice")), communicator()};
  const std::string precision = words.word(0, "PRECISION or all");
  const auto tables = std::make_shared<const aggregate_tables>(
      ctx, aggregates(ctx.geometry(), coarsened(ctx.geometry(), {4, 4, 4, 4})), false);
  field<float> seeds(ctx, {4, 3, site_subset::full, words.named("vectors", 24)});
  random_spinors(seeds, 5, 0);
  null_space v = gathered(seeds, tables);
  orthonormalise(v);
  bench_report report(ctx.queue(), words);
  const std::string only = words.named("only", "");
  if (precision == "all") {
    null_space again = gathered(seeds, tables);
    std::printf("orthonormalise  %.1f ms\n", 1e3 * seconds_once(ctx, [&] { orthonormalise(again); }));
    time_setup(ctx, v);
    for (const auto storage : {coarse_storage::single, coarse_storage::half})
      for (const int columns : {1, 4, 12, 24}) {
        time_transfer<float>(ctx, v, storage, site_subset::full, columns, only, report);
        if (storage == coarse_storage::half) {
          time_transfer<half>(ctx, v, storage, site_subset::full, columns, only, report);
          time_transfer<half>(ctx, v, storage, site_subset::even, columns, only, report);
        }
      }
    return report.finish();
  }
  const auto storage = words.word(1, "single or half") == "half" ? coarse_storage::half : coarse_storage::single;
  const auto sites = words.has("even") ? site_subset::even : site_subset::full;
  const int columns = words.number_or(2, 1);
  if (precision == "single")
    time_transfer<float>(ctx, v, storage, sites, columns, only, report);
  else if (precision == "half")
    time_transfer<half>(ctx, v, storage, sites, columns, only, report);
  else
    throw input_error("kernel_bench transfer: PRECISION is single or half, found '" + precision + "'");
  return report.finish();
}

}  // namespace plaquette::gpu
