// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/gpu_operator_bench.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/algebra/largest.hpp"
#include "common/app/timing.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/device/timing.hpp"
#include "gpu/dirac/pair_hopping.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/fields/random_spinor.hpp"

namespace plaquette::bench {

namespace {

constexpr std::uint64_t seed = 24;
constexpr int most_of_graph = 200;  ///< applications
constexpr double graph_seconds = 0.01;

/// A component is a sum of about 200 products: a few roundoffs of the numbers; eight reals carry up to four times the
/// roundoff of each. In 16 bits, 1e-4 bounds what rounding links and output leaves, and eight reals leave 2e-4 more;
/// the matrix has two hops and two blocks: three times as much. (The same bounds as for the CPU's kernels.)
template <class T>
double tolerance(const gpu_row& row) {
  const double parts = row.subject == gpu_subject::clover_schur ? 3.0 : 1.0;
  if constexpr (std::is_same_v<T, float_pair>)
    return 0x1p-44;
  else if (gpu::is_half<T>)
    return parts * (row.reals == 8 ? 3e-4 : 1e-4);
  else
    return parts * 8.0 * std::numeric_limits<gpu::real_of<T>>::epsilon() * (row.reals == 8 ? 4.0 : 1.0);
}

template <class T>
double total_norm2(const gpu::field<T>& x) {
  double sum = 0.0;
  for (const auto& number : host_values(norm2(x))) sum += number.re;
  return sum;
}

/// Sums that equal numbers give in equal bits, and others hardly ever: |x|^2 and <probe, x>, column by column.
template <class T>
std::vector<complex<double>> fingerprint(const gpu::field<T>& x, const gpu::field<T>& probe) {
  std::vector<complex<double>> sums = host_values(norm2(x));
  for (const auto& sum : host_values(dot(probe, x))) sums.push_back(sum);
  return sums;
}

/// The textbook's M of a field that lives on even sites is -1/2 D of it on odd ones, and the other way round.
/// \param factor  of D in `out`
template <class T>
double distance_of_hopping(gpu_lattice& lattice, const gpu::field<T>& out, const gpu::field<T>& in, int column,
                           double factor = -0.5, int parity = 1) {
  const lattice_geometry& geometry = lattice.get_context().geometry();
  spinor_configuration psi(geometry), found(geometry);
  gpu::export_column(psi, in, column);
  gpu::export_column(found, out, column);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
    found.at_site(site) = (-0.5 / factor) * found.at_site(site);
  return lattice.distance_from_textbook(found, psi, fermion_action::isotropic(0.0, 0.0), parity);
}

/// \tparam Term  hopping_term<T>, or what applies D in the same way to fields of T
template <class T, class Term = gpu::hopping_term<T>>
class hopping_chain {
 public:
  hopping_chain(const Term& d, int columns)
      : d_(d),
        even_(d.get_context(), {spins, colours, site_subset::even, columns}),
        odd_(d.get_context(), {spins, colours, site_subset::odd, columns}) {
    restart();
  }
  void restart() { gpu::random_spinors(even_, seed); }
  double scale() const { return scale_; }
  const gpu::field<T>& even() const { return even_; }
  const gpu::field<T>& odd() const { return odd_; }

  void half_step(bool to_odd, double scale) {
    gpu::hopping_finish<T> finish;
    finish.scale = scale;
    d_.apply(to_odd ? odd_ : even_, to_odd ? even_ : odd_, false, finish);
  }
  void step() {
    half_step(true, scale_);
    half_step(false, scale_);
  }
  /// A long chain turns into the operator's largest singular vectors, and grows by their singular value, but slowly:
  /// the spectrum is dense there. So growth is measured over twice as many steps again and again, about as long as the
  /// chain will run. (What 24^3x32 grows by from step 300 to 700 holds to 4e-5 a step over the 3000 that follow.)
  void keep_norm() {
    constexpr int first = 25, least = 200;
    constexpr double least_seconds = 0.5;
    scale_ = 1.0 / 6.0;
    const stopwatch watch;
    for (int steps = first; steps <= least || watch.seconds() < least_seconds; steps *= 2)
      scale_ /= growth_of_application(steps);
    restart();
  }

 private:
  /// By which factor an application makes numbers larger, in the mean of `steps` steps of two.
  double growth_of_application(int steps) {
    const double before = total_norm2<T>(even());
    for (int i = 0; i < steps; ++i) step();
    return std::pow(total_norm2<T>(even()) / before, 1.0 / (4 * steps));
  }

  const Term& d_;
  gpu::field<T> even_, odd_;
  double scale_ = 1.0;
};

/// False where a launch in a graph reads what the one before has not written yet.
template <class T, class Term>
bool is_the_same_in_a_graph(hopping_chain<T, Term>& chain, const gpu::queue& q) {
  constexpr int steps = 5;
  gpu::field<T> probe = like(chain.even());
  gpu::random_spinors(probe, seed + 1);
  chain.restart();
  for (int i = 0; i < steps; ++i) {
    chain.step();
    q.synchronize();
  }
  const auto expected = fingerprint<T>(chain.even(), probe);
  chain.restart();
  const gpu::work_graph graph(q, steps, [&] { chain.step(); });
  graph.launch();
  return fingerprint<T>(chain.even(), probe) == expected;
}

int times_in_graph(double seconds) {
  return std::clamp(static_cast<int>(graph_seconds / seconds), 1, most_of_graph / 2);
}

template <class T, class Term>
std::vector<timed_samples> time_hopping_of(const Term& d, gpu_lattice& lattice, const gpu_row& row,
                                           const gpu_timing& timing, double tolerance, verification& checks) {
  const gpu::context& ctx = lattice.get_context();
  const gpu::queue& q = ctx.queue();
  hopping_chain<T, Term> chain(d, row.rhs);
  chain.half_step(true, -0.5);
  double wrong = distance_of_hopping<T>(lattice, chain.odd(), chain.even(), 0);
  if (row.rhs > 1) {
    const double last = distance_of_hopping<T>(lattice, chain.odd(), chain.even(), row.rhs - 1);
    keep_largest(wrong, last);
  }
  checks.add(row.name, wrong, tolerance);
  checks.add(row.name + ", a chain in a graph", is_the_same_in_a_graph(chain, q));

  chain.keep_norm();
  const double of_step = gpu::seconds_a_launch(q, 3, [&] { chain.step(); });
  const gpu::work_graph graph(q, times_in_graph(of_step), [&] { chain.step(); });
  graph.launch();
  auto samples =
      time_on_gpu({gpu::by_device_clock(q, [&] { graph.launch(); }, 2 * graph.times())}, timing.how, timing.protocols);
  // A chain goes on: the last timed output is that of the numbers which the one before has left.
  checks.add(row.name + ", last timed output",
             distance_of_hopping<T>(lattice, chain.even(), chain.odd(), row.rhs - 1, chain.scale(), 0), tolerance);
  // Zeros and infinities take less power: they are fast for no merit.
  const double norm = total_norm2<T>(chain.even()) / (24.0 * 0.5 * static_cast<double>(ctx.geometry().local_volume()));
  checks.add(row.name + ", the norm has not left its range", norm > 1e-12 && norm < 1e12);
  return samples;
}

template <class T>
std::vector<timed_samples> time_hopping_in(gpu_lattice& lattice, const gpu_row& row, const gpu_timing& timing,
                                           verification& checks) {
  const gpu::hopping_term<T> d(lattice.get_context(), lattice.links(), fermion_action::isotropic(0.0, 0.0),
                               static_cast<reconstruct>(row.reals));
  auto samples = time_hopping_of<T>(d, lattice, row, timing, tolerance<T>(row), checks);
  for (timed_samples& s : samples) s.details["launch"] = d.launch_for(row.rhs, false).name();
  return samples;
}

std::vector<timed_samples> time_pairs(gpu_lattice& lattice, const gpu_row& row, const gpu_timing& timing,
                                      verification& checks) {
  const gpu::context& ctx = lattice.get_context();
  const gpu::pair_hopping_term d(ctx, lattice.links(), fermion_action::isotropic(0.0, 0.0));
  return time_hopping_of<float_pair>(d, lattice, row, timing, tolerance<float_pair>(row), checks);
}

/// x_e = in of column 0, x_o such that the odd part of M x vanishes, by the operator in double.
spinor_configuration extended(const gpu::wilson_clover<double>& m, const spinor_configuration& even_part) {
  const gpu::context& ctx = m.hopping().get_context();
  gpu::field<double> even(ctx, {spins, colours, site_subset::even, 1}), b(ctx, {}), x(ctx, {});
  gpu::import_column(even, 0, even_part);
  gpu::zero(b);
  // Only its full-lattice functions are used, which are the same for both kinds.
  const gpu::schur_wilson_clover<double> schur(std::shared_ptr<const gpu::wilson_clover<double>>(&m, [](auto*) {}),
                                               gpu::schur_kind::asymmetric);
  schur.reconstruct_solution(x, even, b);
  spinor_configuration result(ctx.geometry());
  gpu::export_column(result, x, 0);
  return result;
}

template <class T>
std::vector<timed_samples> time_clover_in(gpu_lattice& lattice, const gpu_row& row, const gpu_timing& timing,
                                          verification& checks) {
  const gpu::context& ctx = lattice.get_context();
  const gpu::queue& q = ctx.queue();
  const fermion_action action = fermion_action::isotropic(0.1, 1.0);
  const auto m =
      std::make_shared<const gpu::wilson_clover<T>>(ctx, lattice.links(), action, static_cast<reconstruct>(row.reals));
  const gpu::schur_wilson_clover<T> schur(m, gpu::schur_kind::asymmetric);
  const field_shape shape{spins, colours, site_subset::even, row.rhs};
  gpu::field<T> first(ctx, shape), second(ctx, shape), out(ctx, shape);
  gpu::random_spinors(first, seed);
  gpu::random_spinors(second, seed + 1);
  schur.apply(out, first);
  const auto judge = [&](const std::string& what) {
    const gpu::wilson_clover<double> oracle(ctx, lattice.links(), action);
    double wrong = 0.0, remainder = 0.0;
    for (const int column : {0, row.rhs - 1}) {
      spinor_configuration in(ctx.geometry()), found(ctx.geometry());
      gpu::export_column(in, first, column);
      gpu::export_column(found, out, column);
      spinor_configuration x = extended(oracle, in);
      const double here = lattice.distance_from_textbook(found, x, action, 0);
      keep_largest(wrong, here);
      const double left = lattice.remainder_of_textbook(x, action, 1);
      keep_largest(remainder, left);
      if (row.rhs == 1) break;
    }
    checks.add(row.name + what, wrong, tolerance<T>(row));
    // Of order 4 + m times a few hundred roundoffs of double.
    checks.add(row.name + what + ", odd part of M x", remainder, 1e-13);
  };
  judge("");
  // Two inputs alternately, the first one last: whatever skips calls that it has seen leaves the second's output.
  const auto thrice = [&] {
    schur.apply(out, first);
    schur.apply(out, second);
    schur.apply(out, first);
  };
  thrice();
  const double seconds = gpu::seconds_a_launch(q, 2, thrice);
  const gpu::work_graph graph(q, times_in_graph(seconds), thrice);
  graph.launch();
  auto samples = time_on_gpu({.apply = gpu::by_device_clock(
                                  q, [&] { graph.launch(); }, 3 * graph.times()),
                              .refresh = [&] { gpu::zero(out); }},
                             timing.how, timing.protocols);
  judge(", last timed output");
  if constexpr (!std::is_same_v<T, float_pair>)
    for (timed_samples& s : samples) s.details["launch"] = m->hopping().launch_for(row.rhs, true).name();
  return samples;
}

}  // namespace

std::vector<timed_samples> time_hopping(gpu_lattice& lattice, const gpu_row& row, const gpu_timing& timing,
                                        verification& checks) {
  if (row.precision == "pairs") return time_pairs(lattice, row, timing, checks);
  if (row.precision == "double") return time_hopping_in<double>(lattice, row, timing, checks);
  if (row.precision == "half") return time_hopping_in<half>(lattice, row, timing, checks);
  return time_hopping_in<float>(lattice, row, timing, checks);
}

std::vector<timed_samples> time_clover_schur(gpu_lattice& lattice, const gpu_row& row, const gpu_timing& timing,
                                             verification& checks) {
  if (row.precision == "pairs") return time_clover_in<float_pair>(lattice, row, timing, checks);
  if (row.precision == "double") return time_clover_in<double>(lattice, row, timing, checks);
  if (row.precision == "half") return time_clover_in<half>(lattice, row, timing, checks);
  return time_clover_in<float>(lattice, row, timing, checks);
}

}  // namespace plaquette::bench
