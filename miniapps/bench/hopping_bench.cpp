// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/hopping_bench.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "miniapps/shared/machine_speed.hpp"

namespace plaquette::bench {

namespace {

constexpr std::uint64_t seed = 20;
constexpr int stored_reals = 18;

/// The largest |found - M in| / (typical |M in| of a site) at every `stride`-th site.
template <class T>
double distance_from_textbook(const cpu::context& ctx, const gauge_configuration& links,
                              const cpu::wilson_clover<T>& m) {
  const auto in = cpu::random_spinor(ctx.geometry(), seed, 0, ctx.comm());
  cpu::field<T> packed(ctx, {}), out(ctx, {});
  cpu::import_column(packed, 0, in);
  m.apply(out, packed);
  spinor_configuration found(ctx.geometry());
  cpu::export_column(found, out, 0);
  const std::int64_t stride = std::max<std::int64_t>(1, ctx.geometry().local_volume() / 997);  // a prime: all faces
  double wrong = 0.0, size = 0.0;
  for (std::int64_t s = 0; s < ctx.geometry().local_volume(); s += stride) {
    const coordinate x = ctx.geometry().local_coordinate(s);
    const auto expected = cpu::textbook::at_site(x, in, links, m.action());
    wrong += norm2(found(x) - expected);
    size += norm2(expected);
  }
  return std::sqrt(wrong / size);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

template <class T>
operator_figure bench(const hopping_case& what, cpu::instruction_set isa, int samples, verification& checks) {
  const lattice_geometry geometry(what.lattice);
  const communicator comm;
  const cpu::context ctx(geometry, comm, what.threads, isa);
  const auto links = cpu::weak_field_configuration(geometry, 0.3, seed, comm);
  const cpu::wilson_clover<T> m(ctx, links, fermion_action::isotropic(0.1, 0.0));
  // A component is a sum of about 200 products: a few roundoffs; 16 is well above what is seen and below any mistake.
  checks.add("hopping " + to_string(what.lattice) + " N=" + std::to_string(what.rhs) +
                 (what.single_precision ? " single" : " double"),
             distance_from_textbook(ctx, links, m), 8.0 * std::numeric_limits<T>::epsilon());

  cpu::field<T> in(ctx, {spins, colours, site_subset::even, what.rhs}),
      out(ctx, {spins, colours, site_subset::odd, what.rhs});
  for (int c = 0; c < what.rhs; ++c)
    cpu::import_column(in, c, cpu::random_spinor(geometry, seed, static_cast<std::uint64_t>(c), comm));

  const double sites = 0.5 * static_cast<double>(geometry.local_volume()) * what.rhs;
  const double bytes = sites * fewest_bytes_per_site(stored_reals, what.rhs, sizeof(T));
  const double copy = copy_gbytes_per_s(ctx, bytes);

  const auto apply_times = [&](int times) {
    for (int i = 0; i < times; ++i) m.hopping().apply(out, in);
  };
  apply_times(1);
  stopwatch first;
  apply_times(1);
  const int repeats = std::max(1, static_cast<int>(0.01 / first.seconds()));
  std::vector<double> seconds, of_peak;
  for (int i = 0; i < samples; ++i) {
    const stopwatch watch;
    apply_times(repeats);
    seconds.push_back(watch.seconds() / repeats);
    of_peak.push_back(1e-9 * sites * cpu::hopping_flops / seconds.back() / fma_gflops<T>(ctx, 1));
  }

  operator_figure figure;
  figure.operator_name = "hopping";
  figure.layout = "even-odd";
  figure.precision = what.single_precision ? "single" : "double";
  figure.reconstruct = stored_reals;
  figure.rhs = what.rhs;
  figure.lattice = what.lattice;
  figure.threads = what.threads;
  figure.seconds = statistics(seconds);
  figure.gflops = sites * cpu::hopping_flops / figure.seconds.median * 1e-9;
  figure.gbytes_per_s = bytes / figure.seconds.median * 1e-9;
  figure.fraction_of_copy = figure.gbytes_per_s / copy;
  figure.fraction_of_fma_peak = median(of_peak);
  return figure;
}

}  // namespace

double fewest_bytes_per_site(int reconstruct, int rhs, int bytes_per_real) {
  return (8.0 * reconstruct / rhs + 2.0 * spinor_reals) * bytes_per_real;
}

operator_figure bench_hopping(const hopping_case& what, cpu::instruction_set isa, int samples, verification& checks) {
  return what.single_precision ? bench<float>(what, isa, samples, checks) : bench<double>(what, isa, samples, checks);
}

}  // namespace plaquette::bench
