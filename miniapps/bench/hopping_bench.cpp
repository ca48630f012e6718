// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/hopping_bench.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/app/draw.hpp"
#include "common/app/timing.hpp"
#include "common/solvers/alternating_inputs.hpp"
#include "common/solvers/timed.hpp"
#include "cpu_ref/blas/blas.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/random_spinor.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "miniapps/shared/machine_speed.hpp"

namespace plaquette::bench {

namespace {

constexpr std::uint64_t seed = 20;

/// A component is a sum of about 200 products: a few roundoffs of the numbers; 16 is well above what is seen and below
/// any mistake. Eight reals carry up to four times the roundoff of each. In 16 bits, 1e-4 bounds what rounding input,
/// links and output leaves (3.5e-5), and eight reals leave 2e-4 more.
template <class T>
double tolerance(reconstruct links) {
  if (cpu::is_half<T>) return links == reconstruct::eight ? 3e-4 : 1e-4;
  return 8.0 * std::numeric_limits<cpu::real_of<T>>::epsilon() * (links == reconstruct::eight ? 4.0 : 1.0);
}

/// Returns the first of the sites that are compared, one every `stride`: drawn when the output is there.
std::int64_t drawn_start(std::int64_t stride) {
  return static_cast<std::int64_t>(drawn_number(communicator()) % static_cast<std::uint64_t>(stride));
}

/// |found - M in| / |M in| of the last of `columns` equal columns, at some sites.
template <class T>
double distance_from_textbook(const cpu::context& ctx, const gauge_configuration& links, const cpu::wilson_clover<T>& m,
                              const spinor_configuration& in, int columns) {
  cpu::field<T> packed(ctx, {.columns = columns}), out(ctx, {.columns = columns});
  for (int c = 0; c < columns; ++c) cpu::import_column(packed, c, in);
  m.apply(out, packed);
  spinor_configuration found(ctx.geometry());
  cpu::export_column(found, out, columns - 1);
  const std::int64_t stride = std::max<std::int64_t>(1, ctx.geometry().local_volume() / 997);  // a prime: all faces
  double wrong = 0.0, size = 0.0;
  for (std::int64_t s = drawn_start(stride); s < ctx.geometry().local_volume(); s += stride) {
    const coordinate x = ctx.geometry().local_coordinate(s);
    const auto expected = cpu::textbook::at_site(x, in, links, m.action());
    wrong += norm2(found(x) - expected);
    size += norm2(expected);
  }
  return std::sqrt(wrong / size);
}

/// |out - D in| / |D in| of a column, in on even sites, at some odd ones: the textbook's M in is -1/2 D in there.
template <class T>
double distance_of_hopping(const gauge_configuration& links, const cpu::field<T>& out, const cpu::field<T>& in,
                           int column) {
  const lattice_geometry& geometry = links.geometry();
  spinor_configuration psi(geometry), found(geometry);
  cpu::export_column(psi, in, column);
  cpu::export_column(found, out, column);
  exchange_ghosts(psi, communicator());
  const fermion_action action = fermion_action::isotropic(0.0, 0.0);
  const std::int64_t stride = std::max<std::int64_t>(1, geometry.local_volume() / 997);
  double wrong = 0.0, size = 0.0;
  for (std::int64_t s = drawn_start(stride); s < geometry.local_volume(); s += stride) {
    const coordinate x = geometry.local_coordinate(s);
    if (parity(geometry.to_global(x)) == 0) continue;
    const auto expected = -2.0 * cpu::textbook::at_site(x, psi, links, action);
    wrong += norm2(found(x) - expected);
    size += norm2(expected);
  }
  return std::sqrt(wrong / size);
}

}  // namespace

const gauge_configuration& hopping_bench::links_for(const extents& lattice) {
  if (!links_ || links_->geometry().global() != lattice) {
    links_.reset();  // before the new one is made
    links_ = std::make_unique<gauge_configuration>(
        cpu::weak_field_configuration(lattice_geometry(lattice), 0.3, seed, communicator()));
  }
  return *links_;
}

template <class T>
operator_figure hopping_bench::time_in(const hopping_case& what, verification& checks) {
  const lattice_geometry geometry(what.lattice);
  const communicator comm;
  const cpu::context ctx(geometry, comm, what.threads, isa_);
  const gauge_configuration& links = links_for(what.lattice);
  const cpu::wilson_clover<T> m(ctx, links, fermion_action::isotropic(0.1, 0.0), what.links);

  const std::string name = "hopping " + to_string(what.lattice) + " N=" + std::to_string(what.rhs) + " " +
                           what.precision + " " + std::to_string(stored_reals(what.links));
  scaling::alternating_inputs<cpu::field<T>> in(cpu::field<T>(ctx, {spins, colours, site_subset::even, what.rhs}));
  {
    const spinor_configuration psi = cpu::random_spinor(geometry, seed, 0, comm);
    checks.add(name, distance_from_textbook(ctx, links, m, psi, std::min(what.rhs, 2)), tolerance<T>(what.links));
    cpu::import_column(in.first(), 0, psi);
  }
  const int first[] = {0};
  for (int c = 1; c < what.rhs; ++c) {
    const int to[] = {c};
    copy_columns(in.first(), to, in.first(), first);
  }
  cpu::field<T> out(ctx, {spins, colours, site_subset::odd, what.rhs});
  int stretch = 0;
  const auto refresh = [&] {  // inputs of its own for each sample, and nothing of the last output
    in.refresh(++stretch);
    zero(out);
  };
  refresh();
  const auto apply = [&](int times) {
    const stopwatch watch;
    for (int i = 0; i < times; ++i) m.hopping().apply(out, in.next());
    return watch.seconds();
  };
  const double sites = 0.5 * static_cast<double>(geometry.local_volume()) * what.rhs;
  const counted_work work{.flops = sites * cpu::hopping_flops, .bytes = sites * fewest_bytes_per_site(what)};
  std::vector<double> of_peak;
  const auto after_sample = [&](double seconds) {
    const machine_limits peak{.fma_gflops = fma_gflops<cpu::real_of<T>>(ctx, 1)};
    of_peak.push_back(rates_of(work, seconds, peak).fraction_of_fma_peak);
  };
  const timed_kernel kernel{.apply = apply, .refresh = refresh, .after_sample = after_sample};
  const sampling how{.samples = samples_, .seconds = 0.01, .should_stop = [&] {
                       return !of_peak.empty() && should_stop_ && should_stop_();  // one sample at least
                     }};
  const double copy_before = copy_gbytes_per_s(ctx, work.bytes);
  const std::vector<double> seconds = timed(kernel, how, applications_of_sample(kernel, how));
  checks.add(name + ", last timed output", distance_of_hopping(links, out, in.last(), what.rhs - 1),
             tolerance<T>(what.links));
  const double copy = 0.5 * (copy_before + copy_gbytes_per_s(ctx, work.bytes));

  operator_figure figure;
  figure.operator_name = "hopping";
  figure.layout = "even-odd";
  figure.precision = what.precision;
  figure.reconstruct = stored_reals(what.links);
  figure.rhs = what.rhs;
  figure.lattice = what.lattice;
  figure.threads = what.threads;
  figure.seconds = statistics(seconds);
  set_rates(figure, work, {.copy_gbytes_per_s = copy});
  figure.fraction_of_fma_peak = median(std::move(of_peak));
  return figure;
}

double fewest_bytes_per_site(const hopping_case& what) {
  const double real = what.precision == "double" ? 8.0 : what.precision == "single" ? 4.0 : 2.0;
  const double scales = what.precision == "half" ? 8.0 : 0.0;
  return (8.0 * stored_reals(what.links) / what.rhs + 2.0 * spinor_reals) * real + scales;
}

operator_figure hopping_bench::time(const hopping_case& what, verification& checks) {
  if (what.precision == "double") return time_in<double>(what, checks);
  if (what.precision == "half") return time_in<half>(what, checks);
  return time_in<float>(what, checks);
}

}  // namespace plaquette::bench
