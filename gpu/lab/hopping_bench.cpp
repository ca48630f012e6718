// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Measures the device's hopping term in each way to launch it. Each launch is verified before it is timed: against
/// variant 1, bit for bit, in a chain of applications (tests hold variant 1 to the CPU).
///
///   kernel_bench hopping PRECISION REALS [COLUMNS] [lattice=XxYxZxT] [clover] [try=N] [sustained=M] [launch=SUBSTRING]
///
/// tries the first N candidates (default 1, the table's choice), and prints a line for each of the six fastest and for
/// the fastest of each kind. The line has its share of the limit, which is the fewest bytes at the bandwidth of a copy.
/// Then come the M fastest and the first, cool and sustained.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "common/error.hpp"
#include "common/lattice/extents.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/device/timing.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/lab/hopping_kernel.hpp"
#include "gpu/lab/kernel_bench.hpp"

namespace plaquette::gpu {
namespace {

struct request {
  extents lattice{};
  std::string precision;
  reconstruct stored = reconstruct::twelve;
  int columns = 1, tries = 1;
  bool clover = false;
  int finalists = 0;
  std::string filter;
};

request parse(const lab::bench_words& words) {
  request r;
  r.lattice = parse_extents(words.named("lattice", "32x32x32x64"), "lattice");
  r.precision = words.word(0, "PRECISION");
  r.stored = static_cast<reconstruct>(words.number(1, "REALS"));
  r.columns = words.number_or(2, 1);
  r.clover = words.has("clover");
  r.finalists = words.named("sustained", 0);
  r.tries = words.named("try", 1);
  r.filter = words.named("launch", "");
  return r;
}

/// Sites of one parity, from one to the other and back: the hop, or with clover the two halves of the Schur complement.
template <class T>
class work {
 public:
  work(const context& ctx, const request& r)
      : ctx_(ctx),
        m_(ctx, r.clover ? weak_field_configuration(ctx, 0.3, 11) : random_configuration(ctx, 11),
           fermion_action::isotropic(0.1, r.clover ? 1.0 : 0.0), r.stored),
        start_(ctx, {spins, colours, site_subset::even, r.columns}),
        even_(start_.get_context(), start_.shape()),
        odd_(ctx, {spins, colours, site_subset::odd, r.columns}),
        clover_(r.clover) {
    random_spinors(start_, 12);
    restart();
    set({});
    // The norm stays near 1 over thousands of applications: zeros and infinities draw less power and run faster. The
    // largest singular vector sets the growth, once the others are gone.
    const int steps = r.columns == 1 ? 150 : 40;
    for (const int before : {steps, 2 * steps}) {
      for (int k = 0; k < before; ++k) step();
      const double from = norm();
      for (int k = 0; k < steps; ++k) step();
      scale_ *= std::pow(from / norm(), 1.0 / (4 * steps));
    }
    restart();
  }

  void set(const std::optional<hopping_launch>& how) { m_.hopping().set_launch(how); }
  void restart() { copy(even_, start_); }
  double norm() const { return host_values(norm2(even_))[0].re; }
  const field<T>& result() const { return even_; }
  hopping_problem problem(int columns) const { return m_.hopping().problem(columns, clover_); }

  void step() {
    const auto& hop = m_.hopping();
    if (clover_) {
      hop.apply(odd_, even_, false, {epilogue::clover, scale_, nullptr, 1.0, m_.inverse_diagonal().blocks(1)});
      hop.apply(even_, odd_, false, {epilogue::add_clover, -scale_, &start_, 0.1, m_.inverse_diagonal().blocks(0)});
    } else {
      hop.apply(odd_, even_, false, {epilogue::store, scale_});
      hop.apply(even_, odd_, false, {epilogue::store, scale_});
    }
  }

 private:
  context ctx_;
  wilson_clover<T> m_;
  field<T> start_, even_, odd_;
  bool clover_;
  double scale_ = 0.25;
};

template <class T>
void measure(const context& ctx, const request& r, lab::bench_report& report) {
  work<T> w(ctx, r);
  const queue& q = ctx.queue();
  constexpr int chain = 5;
  w.set(hopping_launch{});
  for (int k = 0; k < chain; ++k) w.step();
  auto expected = like(w.result());
  copy(expected, w.result());

  const double pair_flops = (r.clover ? 3696.0 : 2640.0) * 0.5 * static_cast<double>(volume(r.lattice)) * r.columns;
  // Of both hops: links once for all columns, a spinor read and one written each. With clover a block a site each, and
  // the input of the first for the second.
  const double real = is_half<T> ? 2.0 : sizeof(real_of<T>), spinor = 24.0 * real + (is_half<T> ? 4.0 : 0.0);
  const double pair_bytes = 0.5 * static_cast<double>(volume(r.lattice)) *
                            (2.0 * (8.0 * stored_reals(r.stored) * real + (r.clover ? 72.0 * real : 0.0)) +
                             (r.clover ? 5.0 : 4.0) * spinor * r.columns);
  auto list = candidates(w.problem(r.columns), 1000);
  std::erase_if(list, [&](const hopping_launch& how) {
    return how.name().find(r.filter) == std::string::npos || !lab::has_kernel(how, r.clover);
  });
  if (list.empty()) throw input_error("kernel_bench hopping: no launch of this shape has the kernel that was compiled");
  if (static_cast<int>(list.size()) > r.tries) list.resize(static_cast<std::size_t>(r.tries));
  list.push_back({});  // variant 1
  const auto trials = lab::try_launches(q, w, list, expected, chain, 3e-3);
  std::set<std::tuple<hopping_variant, int, int, int, bool, bool, bool, bool>> kinds;
  const std::string what = to_string(r.lattice) + " " + r.precision + " " + std::to_string(stored_reals(r.stored));
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const hopping_launch& how = trials[i].how;
    const bool is_default = how == list[0];
    const bool first_of_kind = kinds
                                   .emplace(how.variant, how.groups, how.parts, how.warps, how.whole_links,
                                            how.past_caches, how.dependent, how.alternates)
                                   .second;
    if (i < 6 || is_default || first_of_kind || trials[i].difference != 0.0 || how.variant == hopping_variant::gather)
      // Of one of both hops; the same bits are wanted.
      report.add({r.clover ? "clover" : "hopping", what + ": " + how.name() + (is_default ? " (default)" : ""),
                  r.columns, 0.5 * trials[i].seconds, 0.5 * pair_bytes, 0.5 * pair_flops, trials[i].difference, 0.0});
  }
  if (r.finalists > 0) {
    std::vector<hopping_launch> finalists{list[0]};
    for (std::size_t i = 0; i < trials.size() && std::ssize(finalists) <= r.finalists; ++i)
      if (!(trials[i].how == list[0])) finalists.push_back(trials[i].how);
    for (const hopping_launch& how : finalists) {
      if (how.variant == hopping_variant::gather) continue;
      w.set(how);
      w.restart();
      const int pairs = std::clamp(static_cast<int>(3e-3 / trials[0].seconds), 2, 100);
      const work_graph graph(q, pairs, [&] { w.step(); });
      const timed_kernel kernel{by_device_clock(q, [&] { graph.launch(); }, pairs)};
      const int steps = applications_of_sample(kernel, {});
      double rate[2];
      for (const auto protocol : {timing_protocol::cool, timing_protocol::sustained}) {
        const timing_state state{.protocol = protocol, .idle_seconds = 0.7, .running_seconds = 0.8};
        rate[protocol == timing_protocol::cool ? 0 : 1] = 1e-12 * pair_flops / median(timed(kernel, {}, steps, state));
      }
      std::printf("%s: cool %.2f sustained %.2f TFLOP/s, norm %.2g  %s\n", what.c_str(), rate[0], rate[1], w.norm(),
                  how.name().c_str());
    }
  }
}

}  // namespace

int lab::bench_hopping(const bench_words& words) {
  const request r = parse(words);
  const context ctx(lattice_geometry(r.lattice), communicator());
  bench_report report(ctx.queue(), words);
  in_precision("hopping", r.precision, [&]<class T>(std::type_identity<T>) { measure<T>(ctx, r, report); });
  return report.finish();
}

}  // namespace plaquette::gpu
