// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vectors that callers in C++ have on a device: against arrays of the host, and against solves from such arrays.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/lattice/conversion_counts.hpp"
#include "common/random/random_stream.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/heatbath.hpp"
#include "cpu_ref/sources/sources.hpp"
#ifdef PLAQUETTE_TEST_GPU_BACKEND
#include "gpu/device/runtime.hpp"
#endif
#include "plaquette/plaquette.hpp"

namespace plaquette {
namespace {

namespace plq = plaquette::api;
using array = std::vector<double>;
using numbers = std::vector<std::complex<double>>;

#ifdef PLAQUETTE_TEST_GPU_BACKEND
constexpr plq::device where = plq::device::gpu;
/// Returns whether logarithms and cosines have the CPU's last places.
bool has_functions_of_host() { return gpu::kernels_run_on_host(); }
#else
constexpr plq::device where = plq::device::cpu;
bool has_functions_of_host() { return true; }
#endif

constexpr coordinate extents_of_test{4, 4, 4, 8};
constexpr std::size_t volume_of_test = 512, column_reals = 24 * volume_of_test;
/// Numbers are kept in a basis of the library: two rotations of two terms each, 2^-53 a term.
constexpr double rounding = 4.5e-16;
constexpr plq::action quarks{.mass = 0.3, .csw = 1.0};

/// Returns other numbers in each run; a failure prints the seed.
std::uint64_t fresh_seed() {
  static const std::uint64_t seed = std::random_device{}();
  return seed;
}

array array_of(const gauge_configuration& links) {
  array all;
  for (std::int64_t site = 0; site < links.geometry().local_volume(); ++site) {
    const coordinate x = coordinate_of(site, extents_of_test);
    for (int mu = 0; mu < 4; ++mu)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          const complex<double> u = links(x)[static_cast<std::size_t>(mu)](i, j);
          all.insert(all.end(), {u.re, u.im});
        }
  }
  return all;
}

plq::gauge_field field_on(const plq::lattice& lattice, const gauge_configuration& links) {
  return {lattice, array_of(links), plq::link_layout::dense(extents_of_test)};
}
plq::gauge_field links_on(const plq::lattice& lattice) {
  return field_on(lattice, cpu::weak_field_configuration(lattice_geometry(extents_of_test), 0.2, fresh_seed(), {}));
}

array random_array(int columns, std::uint64_t stream) {
  std::mt19937_64 engine(fresh_seed() + stream);
  std::normal_distribution<double> normal;
  array result(column_reals * static_cast<std::size_t>(columns));
  for (double& number : result) number = normal(engine);
  return result;
}

plq::spinor_layout dense() { return plq::spinor_layout::dense(extents_of_test); }

array array_of(const plq::vectors& v) {
  array result(column_reals * static_cast<std::size_t>(v.options().columns));
  v.write(result, dense());
  return result;
}

array column(const plq::vectors& v, int n) {
  const array all = array_of(v);
  const auto begin = all.begin() + n * static_cast<std::ptrdiff_t>(column_reals);
  return {begin, begin + static_cast<std::ptrdiff_t>(column_reals)};
}

plq::vectors vectors_of(const plq::lattice& on, const array& from) {
  plq::vectors v(on, {.device = where, .columns = static_cast<int>(from.size() / column_reals)});
  v.read(from, dense());
  return v;
}

double distance(const array& a, const array& b) {
  double off = 0.0, size = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) off += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
  return std::sqrt(off / size);
}

int parity_of(std::size_t real) {
  const coordinate x = coordinate_of(static_cast<std::int64_t>(real / 24 % volume_of_test), extents_of_test);
  return (x[0] + x[1] + x[2] + x[3]) % 2;
}

template <class Call>
void expect_refused(const std::string& words, Call&& call) {
  try {
    call();
    FAIL() << "expected an error with '" << words << "'";
  } catch (const plq::error& e) {
    EXPECT_EQ(e.which(), plq::code::unusable_input);
    EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
  }
}

struct CallersInCpp : testing::Test {
  void SetUp() override { RecordProperty("seed", std::to_string(fresh_seed())); }
  void TearDown() override {
    if (HasFailure()) std::printf("seed %llu\n", static_cast<unsigned long long>(fresh_seed()));
  }
  plq::lattice lattice{extents_of_test};
};

struct VectorsOfCallers : CallersInCpp {};
struct LinksOfCallers : CallersInCpp {};

TEST_F(VectorsOfCallers, LeadFromASourceToThePionOfThatSource) {
  plq::solver solver = plq::make_krylov_solver(links_on(lattice), quarks, {.device = where});
  const plq::rule rule{.tolerance = 1e-11};
  for (const plq::source& from : {plq::source{.position = {1, 2, 3, 5}}, plq::source{plq::source_kind::wall},
                                  plq::source{.kind = plq::source_kind::z4, .position = {0, 0, 0, 3}, .seed = 7}}) {
    plq::vectors b(lattice, {.device = where});
    b.fill(from);
    auto [x, report] = solver.solve_vectors(b, rule);
    EXPECT_TRUE(report.verdict().passed) << report.verdict().text;
    const plq::propagator quark = plq::propagator::of(x), other = solver.solve(from, rule);
    EXPECT_TRUE(quark.verdict().passed);
    EXPECT_EQ(quark.pion(), other.pion());
    EXPECT_NEAR(quark.report().columns[7].reference, other.report().columns[7].reference, rounding);
    x.scale(2.0);  // no longer the judged solutions
    EXPECT_FALSE(plq::propagator::of(x).verdict().judged);
    EXPECT_DOUBLE_EQ(plq::propagator::of(x).pion()[3], 4.0 * other.pion()[3]);
    EXPECT_EQ(quark.pion(), other.pion()) << "a propagator does not change with its vectors";
  }
}

TEST_F(VectorsOfCallers, HoldTheNumbersOfAnArray) {
  const array from = random_array(3, 1);
  const plq::vectors v = vectors_of(lattice, from);
  EXPECT_LE(distance(array_of(v), from), rounding);
  plq::spinor_layout other = plq::spinor_layout::dense(extents_of_test, plq::site_order::t_fastest);
  other.spin = 2, other.colour = 8, other.imaginary = 1;
  array turned(from.size());
  v.write(turned, other);
  plq::vectors back(lattice, {.device = where, .columns = 3});
  back.read(turned, other);
  EXPECT_LE(distance(array_of(back), from), rounding);
  other.basis = plq::gamma_basis::openqcd;
  v.write(turned, other);
  back.read(turned, other);
  EXPECT_LE(distance(array_of(back), from), 2.0 * rounding);
  plq::vectors even(lattice, {.device = where, .columns = 3, .sites = plq::site_set::even});
  even.read(from, dense());
  array on_even = from;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (parity_of(i) != 0) on_even[i] = 0.0;
  EXPECT_LE(distance(array_of(even), on_even), rounding);
  EXPECT_EQ(array_of(even)[24], 0.0);
  plq::vectors single(lattice, {.device = where, .columns = 3, .precision = plq::precision::single});
  single.copy(v);
  const double off = distance(array_of(single), from);
  EXPECT_GT(off, 1e-9);
  EXPECT_LE(off, 6e-8);  // 2^-24
}

TEST_F(VectorsOfCallers, AreAddedScaledAndMultiplied) {
  const array first = random_array(2, 2), second = random_array(2, 3);
  const numbers a{{0.7, -1.3}, {-2.1, 0.4}}, b{{1.9, 0.2}, {0.6, -0.8}};
  plq::vectors v = vectors_of(lattice, first);
  const plq::vectors u = vectors_of(lattice, second), kept = v.copied();
  v.scale(a);
  v.add(b, u);
  array expected(first.size());
  numbers products(2);
  std::vector<double> squares(2);
  for (std::size_t i = 0; i < first.size(); i += 2) {
    const std::size_t n = i / column_reals;
    const std::complex<double> x{first[i], first[i + 1]}, y{second[i], second[i + 1]}, z = a[n] * x + b[n] * y;
    expected[i] = z.real(), expected[i + 1] = z.imag();
    products[n] += std::conj(z) * y;
    squares[n] += std::norm(z);
  }
  EXPECT_LE(distance(array_of(v), expected), 1e-15);
  for (std::size_t n = 0; n < 2; ++n) {
    EXPECT_LE(std::abs(v.dot(u)[n] - products[n]), 1e-13 * squares[n]);
    EXPECT_NEAR(v.norm2()[n], squares[n], 1e-13 * squares[n]);
  }
  EXPECT_LE(distance(array_of(kept), first), rounding);
  plq::vectors turned = kept.copied();
  turned.rotate_by_gamma_5();
  array by_gamma_5 = first;
  for (std::size_t i = 0; i < first.size(); ++i)
    if (i % 24 >= 12) by_gamma_5[i] = -first[i];
  EXPECT_LE(distance(array_of(turned), by_gamma_5), rounding);
  turned.copy_columns(0, u, 1, 1);
  EXPECT_EQ(column(turned, 0), column(u, 1));
  EXPECT_LE(distance(column(turned, 1), {by_gamma_5.begin() + column_reals, by_gamma_5.end()}), rounding);
  turned.zero();
  EXPECT_EQ(turned.norm2(), (std::vector<double>{0.0, 0.0}));
}

TEST_F(VectorsOfCallers, AreFilledWithRandomNumbersByTheirIndex) {
  plq::vectors four(lattice, {.device = where, .columns = 4}), one(lattice, {.device = where, .columns = 1});
  four.fill_random(fresh_seed());
  one.fill_random(fresh_seed(), 3);
  EXPECT_EQ(column(four, 3), column(one, 0));
  EXPECT_NE(column(four, 2), column(one, 0));
  // The mean square of n normal deviates is 1 to about sqrt(2 / n); six of these.
  EXPECT_NEAR(one.norm2()[0] / column_reals, 1.0, 6.0 * std::sqrt(2.0 / column_reals));
}

TEST_F(VectorsOfCallers, GoThroughTheOperatorAsArraysDo) {
  const plq::dirac_operator m(links_on(lattice), quarks, where);
  const array from = random_array(1, 4);
  const plq::vectors x = vectors_of(lattice, from);
  plq::vectors y(lattice, {.device = where, .columns = 1});
  array expected(column_reals);
  for (const bool dagger : {false, true}) {
    m.apply(expected, from, dense(), dagger);
    m.apply_vectors(y, x, {.dagger = dagger});
    EXPECT_LE(distance(array_of(y), expected), 1e-15) << dagger;
    // gamma_5 (M + 0.25) x, from the same numbers
    m.apply_vectors(y, x, {.dagger = dagger, .gamma_5 = true, .shift = 0.25});
    for (std::size_t i = 0; i < column_reals; ++i)
      expected[i] = (i % 24 < 12 ? 1.0 : -1.0) * (expected[i] + 0.25 * from[i]);
    EXPECT_LE(distance(array_of(y), expected), 1e-15) << dagger;
  }
  plq::vectors single(lattice, {.device = where, .columns = 1, .precision = plq::precision::single}),
      image(lattice, single.options());
  single.copy(x);
  m.apply_vectors(image, single);
  m.apply(expected, from, dense());
  EXPECT_LE(distance(array_of(image), expected), 1e-6);
}

TEST_F(VectorsOfCallers, OfEvenSitesSolveTheirSystem) {
  const plq::gauge_field links = links_on(lattice);
  plq::solver solver = plq::make_krylov_solver(links, quarks, {.device = where});
  const plq::dirac_operator m(links, quarks, where);
  plq::vectors b(lattice, {.device = where, .columns = 2, .sites = plq::site_set::even});
  b.fill_random(fresh_seed());
  const std::vector<double> mu{0.1, 0.35};
  for (const bool dagger : {false, true}) {
    const auto [x, report] = solver.solve_vectors(b, {.tolerance = 1e-11}, {.dagger = dagger, .mu = mu});
    EXPECT_FALSE(report.verdict().judged);
    plq::vectors r(lattice, b.options());
    m.apply_vectors(r, x, {.dagger = dagger, .mu = mu});
    r.add(-1.0, b);
    for (std::size_t n = 0; n < 2; ++n) EXPECT_LE(std::sqrt(r.norm2()[n] / b.norm2()[n]), 2e-11);
  }
}

TEST_F(VectorsOfCallers, AreSolvedForTheAdjointAndJudged) {
  const plq::gauge_field links = links_on(lattice);
  plq::vectors b(lattice, {.device = where, .columns = 2});
  b.fill_random(fresh_seed());
  const plq::dirac_operator m(links, quarks, where);
  plq::solver by_multigrid = plq::make_multigrid_solver(links, quarks, {.device = where, .tune = false});
  plq::solver by_krylov = plq::make_krylov_solver(links, quarks, {.device = where});
  for (plq::solver* solver : {&by_krylov, &by_multigrid}) {
    const auto [x, report] = solver->solve_vectors(b, {.tolerance = 1e-10}, {.dagger = true});
    EXPECT_TRUE(report.verdict().passed) << report.verdict().text;
    plq::vectors r(lattice, b.options());
    m.apply_vectors(r, x, {.dagger = true});
    r.add(-1.0, b);
    EXPECT_LE(std::sqrt(r.norm2()[0] / b.norm2()[0]), 2e-10);
  }
}

TEST_F(VectorsOfCallers, SourcesAreThoseOfSolves) {
  const plq::gauge_field links = links_on(lattice), smeared = links.smeared({.kind = plq::smearing_kind::ape});
  plq::solver solver = plq::make_krylov_solver(links, quarks, {.device = where});
  const plq::dirac_operator m(links, quarks, where);
  const plq::source moving{.kind = plq::source_kind::wall, .position = {0, 0, 0, 2}, .momentum = {1, 0, -1}};
  const plq::source gaussian{.kind = plq::source_kind::gaussian, .position = {1, 0, 2, 3}, .smearing_links = smeared};
  for (const plq::source& from : {moving, gaussian}) {
    array columns(12 * column_reals);
    solver.solve(from, {.tolerance = 1e-11, .judge = false}).copy_to(columns, dense());
    const plq::vectors x = vectors_of(lattice, columns);
    plq::vectors r(lattice, {.device = where}), b(lattice, {.device = where}),
        one(lattice, {.device = where, .columns = 1});
    b.fill(from);
    m.apply_vectors(r, x);
    r.add(-1.0, b);
    for (std::size_t n = 0; n < 12; ++n) EXPECT_LE(std::sqrt(r.norm2()[n] / b.norm2()[n]), 2e-11);
    one.fill(from, 5);
    EXPECT_EQ(column(b, 5), column(one, 0));
  }
  plq::vectors b(lattice, {.device = where});
  expect_refused("smearing_links", [&] { b.fill({.kind = plq::source_kind::gaussian}); });
}

TEST_F(VectorsOfCallers, OfAnySourceTakeItsMomentum) {
  const plq::gauge_field links = links_on(lattice);
  plq::solver solver = plq::make_krylov_solver(links, quarks, {.device = where}),
              in_batches = plq::make_krylov_solver(links, quarks, {.device = where, .columns = 5});
  const plq::dirac_operator m(links, quarks, where);
  for (const plq::source_kind kind : {plq::source_kind::point, plq::source_kind::wall, plq::source_kind::gaussian,
                                      plq::source_kind::z2, plq::source_kind::z4}) {
    plq::source from{.kind = kind, .position = {1, 3, 2, 5}, .seed = fresh_seed()};
    if (kind == plq::source_kind::gaussian) from.smearing_links = links;
    plq::vectors b(lattice, {.device = where});
    b.fill(from);
    array expected = array_of(b);
    from.momentum = {1, 0, -2};
    b.fill(from);
    for (std::size_t i = 0; i < expected.size(); i += 2) {
      const coordinate x = coordinate_of(static_cast<std::int64_t>(i / 24 % volume_of_test), extents_of_test);
      const std::complex<double> z = std::polar(1.0, 2.0 * std::numbers::pi * (x[0] - 2 * x[2]) / 4.0) *
                                     std::complex(expected[i], expected[i + 1]);
      expected[i] = z.real(), expected[i + 1] = z.imag();
    }
    EXPECT_LE(distance(array_of(b), expected), 2e-15) << static_cast<int>(kind);
    // Made on the device, and so for a solve of that source.
    const std::int64_t of_host = where == plq::device::gpu ? 0 : 12;
    plq::gauge_field hops = links;
    if (from.smearing_links) {
      hops = links_on(lattice);
      hops.heatbath({.sweeps = 0, .device = where});
      from.smearing_links = hops;
    }
    const conversion_counts before = counted_conversions();
    const plq::propagator quark = solver.solve(from, {.tolerance = 0.1, .judge = false});
    const conversion_counts solved = counted_conversions();
    b.fill(from);
    const conversion_counts filled = counted_conversions() - solved;
    for (const conversion_counts& found : {solved - before, filled}) {
      EXPECT_EQ(found.from_host_fields, of_host) << static_cast<int>(kind);
      EXPECT_EQ(found.to_host_fields, 0);
      EXPECT_EQ(found.from_host_links + found.to_host_links, 0);
    }
    const bool is_noise = kind == plq::source_kind::z4;
    const plq::propagator good = solver.solve(from, {.tolerance = 1e-11, .judge = is_noise});
    EXPECT_EQ(good.verdict().passed, is_noise) << good.verdict().text;
    array columns(12 * column_reals);
    good.copy_to(columns, dense());
    const plq::vectors x = vectors_of(lattice, columns);
    plq::vectors r(lattice, {.device = where});
    m.apply_vectors(r, x);
    r.add(-1.0, b);
    for (std::size_t n = 0; n < 12; ++n) EXPECT_LE(std::sqrt(r.norm2()[n] / b.norm2()[n]), 2e-11);
    if (!is_noise) continue;
    // In batches that do not end at 12.
    const plq::propagator by_batches = in_batches.solve(from, {.tolerance = 1e-11, .judge = false});
    for (std::size_t t = 0; t < 8; ++t) EXPECT_NEAR(by_batches.pion()[t] / good.pion()[t], 1.0, 1e-7);
  }
}

TEST_F(LinksOfCallers, AreFollowedByWhatWasMadeOfThem) {
  plq::gauge_field links = links_on(lattice);
  const plq::gauge_field same = links, other = links.smeared({.steps = 2});
  array moved(72 * volume_of_test);
  other.copy_to(moved, plq::link_layout::dense(extents_of_test));
  plq::solver solver = plq::make_krylov_solver(links, quarks, {.device = where}),
              multigrid = plq::make_multigrid_solver(links, quarks, {.device = where, .tune = false}),
              fresh = plq::make_krylov_solver(other, quarks, {.device = where});
  plq::dirac_operator m(links, quarks, where);
  plq::vectors b(lattice, {.device = where, .columns = 1}), y(lattice, b.options());
  b.fill_random(fresh_seed());
  m.apply_vectors(y, b);
  const plq::source from{};
  EXPECT_EQ(links.moves(), 0);
  links.assign(moved, plq::link_layout::dense(extents_of_test));
  EXPECT_EQ(same.moves(), 1) << "copies are the same links";
  EXPECT_EQ(same.plaquette(), other.plaquette());
  expect_refused("follows move 0 of its links, which have made 1", [&] { solver.solve(from); });
  expect_refused("follow(links)", [&] { solver.solve_vectors(b); });
  expect_refused("follow(links)", [&] { multigrid.solve(from); });
  expect_refused("follow(links)", [&] { m.apply_vectors(y, b); });
  solver.follow(links);
  m.follow(links);
  const plq::rule rule{.tolerance = 1e-11};
  EXPECT_EQ(solver.solve(from, rule).pion(), fresh.solve(from, rule).pion());
  EXPECT_TRUE(solver.solve(from, rule).verdict().passed);
  const auto [x, report] = fresh.solve_vectors(b, rule);
  m.apply_vectors(y, x);
  y.add(-1.0, b);
  EXPECT_LE(std::sqrt(y.norm2()[0] / b.norm2()[0]), 2e-11);
  array out(column_reals), in = random_array(1, 9);
  m.apply(out, in, dense());
  array expected(column_reals);
  plq::dirac_operator(other, quarks, where).apply(expected, in, dense());
  EXPECT_EQ(out, expected);
  const plq::lattice small({4, 4, 4, 4});
  array unit(72 * 256);
  for (std::size_t k = 0; k < unit.size(); ++k) unit[k] = k % 18 % 8 == 0 ? 1.0 : 0.0;
  const plq::gauge_field shorter(small, unit, plq::link_layout::dense(small.local()));
  expect_refused("4x4x4x8", [&] { solver.follow(shorter); });
}

TEST_F(LinksOfCallers, AreMovedByTheHeatBathOfTheLibrary) {
  const gauge_configuration start = cpu::weak_field_configuration(lattice_geometry(extents_of_test), 0.2, 3, {});
  plq::gauge_field links = field_on(lattice, start);
  const std::uint64_t seed = fresh_seed();
  const int baths = has_functions_of_host() ? 1 : 0;
  links.heatbath({.beta = 5.9, .heatbaths = baths, .overrelaxations = 2, .sweeps = 2, .seed = seed, .device = where});
  links.heatbath({.beta = 5.9, .heatbaths = baths, .overrelaxations = 2, .seed = seed, .first = 2, .device = where});
  EXPECT_EQ(links.moves(), 2);
  gauge_configuration expected = start;
  cpu::heatbath_updater updater(start.geometry(), {});
  for (std::uint64_t n = 0; n < 3; ++n) updater.combined_sweep(expected, {.beta = 5.9}, {baths, 2}, seed, n);
  array out(72 * volume_of_test);
  links.copy_to(out, plq::link_layout::dense(extents_of_test));
  EXPECT_EQ(out, array_of(expected));
  expect_refused("beta", [&] { links.heatbath({.beta = -1.0, .device = where}); });
  expect_refused("sweeps", [&] { links.heatbath({.sweeps = -1, .device = where}); });
  EXPECT_EQ(links.moves(), 2);
}

/// Expects the numbers of links that a call copies from host fields, and to them.
void expect_links(std::int64_t from_host, std::int64_t to_host, const auto& call, const char* what = "") {
  const conversion_counts before = counted_conversions();
  call();
  const conversion_counts found = counted_conversions() - before;
  EXPECT_EQ(found.from_host_links, from_host) << what;
  EXPECT_EQ(found.to_host_links, to_host) << what;
}

/// Sweeps, plaquettes and follows read and write links in place: on a GPU the host sees them when it needs them.
TEST_F(LinksOfCallers, StayWhereTheyMove) {
  const std::int64_t one_on_gpu = where == plq::device::gpu ? 1 : 0;
  plq::gauge_field links = links_on(lattice), away = links_on(lattice);
  plq::solver solver = plq::make_krylov_solver(links, quarks, {.device = where}),
              multigrid =
                  plq::make_multigrid_solver(links, quarks, {.device = where, .null_vectors = 4, .tune = false});
  plq::dirac_operator m(links, quarks, where);
  plq::vectors b(lattice, {.device = where, .columns = 1}), x(lattice, b.options()), y(lattice, b.options());
  b.fill_random(fresh_seed());
  m.apply_vectors(y, b);
  const plq::heatbath_options how{.beta = 5.9, .overrelaxations = 2, .device = where};
  const plq::rule unjudged{.tolerance = 0.1, .judge = false}, judged{.tolerance = 1e-9};
  const auto expect_solved = [&](plq::solver& by) {
    EXPECT_TRUE(by.solve_vectors(x, b, judged).verdict().passed);
    m.apply_vectors(y, x);
    y.add(-1.0, b);
    EXPECT_LE(std::sqrt(y.norm2()[0] / b.norm2()[0]), 2e-9);
  };
  expect_links(one_on_gpu, 0, [&] { links.heatbath(how); }, "the first heat bath");
  const auto step = [&] {
    links.heatbath(how);
    links.plaquette();
    solver.follow(links);
    multigrid.follow(links);
    m.follow(links);
    solver.solve_vectors(x, b, unjudged);
    m.apply_vectors(y, x);
  };
  expect_links(0, 0, step, "a step of an update and its solves");
  expect_links(0, 0, step, "another one");
  expect_links(0, one_on_gpu, [&] { expect_solved(solver); }, "a judge");
  array out(72 * volume_of_test);
  expect_links(0, 0, [&] { links.copy_to(out, plq::link_layout::dense(extents_of_test)); }, "the host has them");
  expect_solved(multigrid);
  const plq::gauge_field same(lattice, out, plq::link_layout::dense(extents_of_test));
  EXPECT_NEAR(same.plaquette(), links.plaquette(), 1e-14);
  solver.solve_vectors(x, b, judged);
  plq::make_krylov_solver(same, quarks, {.device = where}).solve_vectors(y, b, judged);
  EXPECT_EQ(array_of(x), array_of(y));
  // A heat bath of another device takes them back to the host.
  plq::heatbath_options on_host = how;
  on_host.device = plq::device::cpu;
  expect_links(0, 0, [&] { links.heatbath(on_host); }, "a heat bath on the CPU");
  const auto follow = [&] {
    solver.follow(links);
    m.follow(links);
  };
  expect_links(2 * one_on_gpu, 0, follow, "links of the host are copied");
  expect_solved(solver);
  links.heatbath(how);
  follow();
  links = away;  // solver and operator have the last of the links before
  follow();
  expect_solved(solver);
}

TEST_F(LinksOfCallers, AreTakenToADeviceWithoutAMove) {
  const std::int64_t one_on_gpu = where == plq::device::gpu ? 1 : 0;
  plq::gauge_field links = links_on(lattice);
  plq::solver solver = plq::make_krylov_solver(links, quarks, {.device = where});
  const double plaquette = links.plaquette();
  array before(72 * volume_of_test), after(before.size());
  links.copy_to(before, plq::link_layout::dense(extents_of_test));
  expect_links(one_on_gpu, 0, [&] { links.to_device(where); });
  expect_links(0, 0, [&] {
    links.to_device(where);  // they are there
    EXPECT_NEAR(links.plaquette(), plaquette, 1e-14);
    solver.follow(links);
    links.copy_to(after, plq::link_layout::dense(extents_of_test));
  });
  EXPECT_EQ(links.moves(), 0);
  EXPECT_EQ(after, before);
  EXPECT_TRUE(solver.solve(plq::source{}, {.tolerance = 1e-8}).verdict().passed);
  // Taken back: the GPU must read them again, and sums are the host's.
  links.to_device(plq::device::cpu);
  EXPECT_EQ(links.plaquette(), plaquette);
  expect_links(one_on_gpu, 0, [&] { solver.follow(links); });
  // Links of the GPU alone reach the host before they leave it.
  links.heatbath({.beta = 5.9, .device = where});
  links.to_device(plq::device::cpu);
  links.copy_to(after, plq::link_layout::dense(extents_of_test));
  EXPECT_NE(after, before);
  EXPECT_EQ(links.moves(), 1);
  const plq::lattice exact(extents_of_test, {.reproducible = true});
  plq::gauge_field others = links_on(exact);
  others.to_device(plq::device::cpu);
  if (where == plq::device::gpu) expect_refused("reproducible", [&] { others.to_device(where); });
}

/// On a GPU kernels make other links of links that are there. They stay there, too, and the host computes the same.
TEST_F(LinksOfCallers, AreSmearedFlowedAndFixedWhereTheyAre) {
  const plq::gauge_field on_host = links_on(lattice);
  array numbers_of_links(72 * volume_of_test);
  on_host.copy_to(numbers_of_links, plq::link_layout::dense(extents_of_test));
  plq::gauge_field links(lattice, numbers_of_links, plq::link_layout::dense(extents_of_test));
  links.heatbath({.sweeps = 0, .device = where});
  const auto array_of_links = [&](const plq::gauge_field& u) {
    u.copy_to(numbers_of_links, plq::link_layout::dense(extents_of_test));
    return numbers_of_links;
  };
  const auto largest_difference = [](const auto& a, const auto& b) {
    double worst = a.size() == b.size() ? 0.0 : 1.0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      const double off = std::abs(a[i] - b[i]);
      if (!(off <= worst)) worst = off;
    }
    return worst;
  };
  const auto expect_same = [&](const plq::gauge_field& found, const plq::gauge_field& expected, double bound) {
    expect_links(0, 0, [&] { EXPECT_NEAR(found.plaquette(), expected.plaquette(), bound); });
    array there;
    expect_links(0, where == plq::device::gpu ? 1 : 0, [&] { there = array_of_links(found); });
    EXPECT_LE(largest_difference(there, array_of_links(expected)), bound);
    EXPECT_GT(largest_difference(there, array_of_links(on_host)), 1e-3) << "they are others";
  };
  // Bounds as in validation/gpu-vs-cpu/gauge: roundings of a step, a flow or a sweep.
  constexpr double unit_roundoff = 0x1p-53, of_a_step = 400.0 * 2.0 * unit_roundoff;
  using enum plq::smearing_kind;
  for (const plq::link_smearing& how :
       {plq::link_smearing{.kind = stout, .steps = 2, .weight = 0.08},
        plq::link_smearing{.kind = stout, .spatial = true}, plq::link_smearing{.kind = ape, .steps = 2, .weight = 0.6},
        plq::link_smearing{.kind = ape, .weight = 0.5, .spatial = true}, plq::link_smearing{.kind = hyp}}) {
    SCOPED_TRACE(static_cast<int>(how.kind));
    std::optional<plq::gauge_field> found;
    expect_links(0, 0, [&] { found = links.smeared(how); });
    expect_same(*found, on_host.smeared(how), 3 * how.steps * of_a_step);
  }
  expect_refused("HYP", [&] { links.smeared({.kind = hyp, .spatial = true}); });
  expect_refused("weights", [&] { links.smeared({.kind = ape, .weight = 1.5}); });

  std::optional<plq::flow_result> flow;
  expect_links(0, 0, [&] { flow = links.flow(0.25, 0.1); });
  const plq::flow_result expected = on_host.flow(0.25, 0.1);
  const double of_a_flow = 300.0 * 3 * std::pow(1.0 + 24.0 * 0.1, 3) * unit_roundoff;
  expect_same(flow->links, expected.links, of_a_flow);
  ASSERT_EQ(flow->history.size(), 4U);
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(flow->history[n].time, expected.history[n].time);
    EXPECT_NEAR(flow->history[n].energy_density, expected.history[n].energy_density, 1e-12);
    EXPECT_NEAR(flow->history[n].charge, expected.history[n].charge, 1e-12);
  }

  for (const auto condition : {plq::gauge_condition::landau, plq::gauge_condition::coulomb}) {
    constexpr int sweeps = 4;
    std::optional<plq::fixed_gauge> fixed;
    expect_links(0, 0, [&] { fixed = links.fixed(condition, 1e-30, sweeps); });
    const plq::fixed_gauge by_host = on_host.fixed(condition, 1e-30, sweeps);
    const double bound = 100.0 * std::pow(3.0, sweeps) * unit_roundoff;
    expect_same(fixed->links, by_host.links, bound);
    EXPECT_LE(largest_difference(fixed->g, by_host.g), bound);
    EXPECT_NEAR(fixed->functional, by_host.functional, bound);
    EXPECT_NEAR(fixed->theta, by_host.theta, 10.0 * bound);
    EXPECT_EQ(fixed->sweeps, sweeps);
    EXPECT_FALSE(fixed->converged);
  }
  // Links that were made there go on there: in a chain of calls, and in a solver that follows them.
  plq::solver solver = plq::make_krylov_solver(on_host, quarks, {.device = where});
  expect_links(0, 0, [&] { solver.follow(links.smeared({.kind = ape}).flow(0.1).links); });

  // A caller ends them there as elsewhere, and is told of them.
  std::vector<plq::progress> told;
  plq::progress_function([&](const plq::progress& now) {
    told.push_back(now);
    return false;
  });
  links.flow(0.5, 0.1);
  plq::progress_function(nullptr);
  ASSERT_GE(told.size(), 5U);
  EXPECT_STREQ(told.back().what, "gradient flow");
  EXPECT_EQ(told.back().step, 5);
  EXPECT_EQ(told.back().limit, 5);
  const std::vector<std::function<void()>> endless{
      [&] { links.flow(1000.0); }, [&] { links.fixed(plq::gauge_condition::landau, 1e-300); },
      [&] { links.smeared({.kind = stout, .steps = 100000}); }, [&] { links.smeared({.kind = ape, .steps = 100000}); },
      [&] { links.smeared({.kind = hyp, .steps = 100000}); }};
  for (const auto& call : endless) {
    int asked = 0;
    plq::stop_function([&] { return ++asked < 1; });
    try {
      call();
      ADD_FAILURE() << "not stopped";
    } catch (const plq::error& e) {
      EXPECT_EQ(e.which(), plq::code::interrupted);
    }
    plq::stop_function(nullptr);
  }
}

/// Exact sums are the host's alone: links of such a lattice come back to it.
TEST_F(LinksOfCallers, OfReproducibleLatticesHaveExactSums) {
  const plq::lattice exact(extents_of_test, {.reproducible = true});
  plq::gauge_field links = links_on(exact);
  links.heatbath({.device = where});
  array out(72 * volume_of_test);
  links.copy_to(out, plq::link_layout::dense(extents_of_test));
  const plq::gauge_field same(exact, out, plq::link_layout::dense(extents_of_test));
  EXPECT_EQ(links.plaquette(), same.plaquette());
  const plq::flow_result flow = links.flow(0.3, 0.1), expected = same.flow(0.3, 0.1);
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(flow.history.at(n).energy_density, expected.history.at(n).energy_density);
    EXPECT_EQ(flow.history.at(n).charge, expected.history.at(n).charge);
  }
}

TEST_F(LinksOfCallers, OfATwinLatticeAreFollowed) {
  const plq::lattice twin(extents_of_test);
  plq::gauge_field links = links_on(twin);
  links.heatbath({.device = where});
  plq::solver solver = plq::make_krylov_solver(links_on(lattice), quarks, {.device = where});
  solver.follow(links);
  EXPECT_EQ(solver.solve({}).pion(), plq::make_krylov_solver(links, quarks, {.device = where}).solve({}).pion());
}

/// Noise, random numbers and smeared points are made by kernels on a GPU, not on the host and copied.
TEST_F(VectorsOfCallers, AreFilledWhereTheyAre) {
  constexpr int columns = 3, first = 10;
  const std::int64_t of_host = where == plq::device::gpu ? 0 : columns;
  plq::gauge_field links = links_on(lattice);
  const gauge_configuration on_host = [&] {
    array out(72 * volume_of_test);
    links.copy_to(out, plq::link_layout::dense(extents_of_test));
    gauge_configuration u{lattice_geometry(extents_of_test)};
    for (std::size_t k = 0; k < out.size(); k += 2) {
      const auto site = static_cast<std::int64_t>(k / 72);
      u(coordinate_of(site, extents_of_test))[k / 18 % 4](static_cast<int>(k / 6 % 3), static_cast<int>(k / 2 % 3)) = {
          out[k], out[k + 1]};
    }
    exchange_ghosts(u, {});
    return u;
  }();
  plq::vectors b(lattice, {.device = where, .columns = columns});
  const auto filled = [&](const plq::source& from, std::int64_t copies_of_links) {
    const conversion_counts before = counted_conversions();
    b.fill(from, first);
    const conversion_counts found = counted_conversions() - before;
    EXPECT_EQ(found.from_host_fields, of_host) << static_cast<int>(from.kind);
    EXPECT_EQ(found.to_host_fields, 0);
    EXPECT_EQ(found.from_host_links, copies_of_links);
    EXPECT_EQ(found.to_host_links, 0);
    return array_of(b);
  };
  plq::source from{.kind = plq::source_kind::z2, .position = {0, 0, 0, 5}, .seed = fresh_seed()};
  for (const bool is_z4 : {false, true}) {
    from.kind = is_z4 ? plq::source_kind::z4 : plq::source_kind::z2;
    array expected(columns * column_reals);
    for (std::size_t site = 0; site < volume_of_test; ++site) {
      if (site / 64 != 5) continue;
      // As callers have had it: the first bits of stream 0x6e of the site.
      const std::uint64_t bits = random_stream(from.seed, std::uint64_t{0x6e} << 56, site).bits();
      for (std::size_t n = 0; n < columns; ++n)
        expected[(n * volume_of_test + site) * 24 + 2 * ((first + n) % 12) + (is_z4 && (bits & 2) != 0 ? 1 : 0)] =
            (bits & 1) != 0 ? -1.0 : 1.0;
    }
    EXPECT_LE(distance(filled(from, 0), expected), rounding);
  }
  from = {.kind = plq::source_kind::gaussian, .position = {1, 0, 2, 3}, .radius = 1.5, .steps = 4};
  from.smearing_links = links;
  array expected;
  for (int n = 0; n < columns; ++n) {
    const auto [spin, colour] = component_of_column((first + n) % 12);
    const spinor_configuration psi = cpu::make_source(
        {.kind = source_kind::gaussian, .position = {1, 0, 2, 3}, .smearing_radius = 1.5, .smearing_steps = 4}, spin,
        colour, on_host, {});
    for (std::size_t site = 0; site < volume_of_test; ++site)
      for (int k = 0; k < 12; ++k) {
        const complex<double> z = psi(coordinate_of(static_cast<std::int64_t>(site), extents_of_test))(k / 3, k % 3);
        expected.insert(expected.end(), {z.re, z.im});
      }
  }
  // See AsDescribedAreTheCpus of validation/gpu-vs-cpu/sources: rotations, and 20 roundings a step.
  EXPECT_LE(distance(filled(from, where == plq::device::gpu ? 1 : 0), expected), (4 + 4 * 20) * 1.2e-16);
  links.heatbath({.device = where});
  filled(from, 0);
  const conversion_counts before = counted_conversions();
  b.fill_random(from.seed);
  EXPECT_EQ((counted_conversions() - before).from_host_fields, of_host);
}

TEST_F(LinksOfCallers, ThatMovedSmearSources) {
  plq::gauge_field links = links_on(lattice);
  links.heatbath({.device = where});
  plq::source from{.kind = plq::source_kind::gaussian, .smearing_links = links};
  plq::vectors b(lattice, {.device = where}), same(lattice, b.options());
  b.fill(from);
  array out(72 * volume_of_test);
  links.copy_to(out, plq::link_layout::dense(extents_of_test));
  from.smearing_links = plq::gauge_field(lattice, out, plq::link_layout::dense(extents_of_test));
  same.fill(from);
  EXPECT_EQ(array_of(b), array_of(same));
}

/// With U_y = diag(i^x, (-i)^x, 1), and 1 in other directions, each plaquette of the plane xy is diag(i, -i, 1), so C
/// has the eigenvalues -1/2, 0, 1/2 of c_SW = 1. All of it is exact: A = 4 + m + C of m = -3.5 is singular to the last
/// bit.
TEST_F(LinksOfCallers, ThatCannotBeFollowedLeaveASentence) {
  constexpr plq::action singular{.mass = -3.5, .csw = 1.0};
  const plq::gauge_field links = links_on(lattice);
  array flux(72 * volume_of_test);
  for (std::size_t k = 0; k < flux.size(); ++k) flux[k] = k % 18 % 8 == 0 ? 1.0 : 0.0;
  for (std::size_t site = 0; site < volume_of_test; ++site) {
    constexpr std::array<double, 4> re{1.0, 0.0, -1.0, 0.0}, im{0.0, 1.0, 0.0, -1.0};
    double* const u_y = &flux[72 * site + 18];
    u_y[0] = u_y[8] = re[site % 4];
    u_y[1] = im[site % 4], u_y[9] = -im[site % 4];
  }
  const plq::gauge_field of_flux(lattice, flux, plq::link_layout::dense(extents_of_test));
  plq::solver solver = plq::make_krylov_solver(links, singular, {.device = where});
  plq::dirac_operator m(links, singular, where);
  plq::vectors b(lattice, {.device = where, .columns = 1}), y(lattice, b.options());
  b.fill_random(fresh_seed());
  m.apply_vectors(y, b);
  const array first = array_of(y), in = random_array(1, 3);
  array out(column_reals), again(column_reals);
  m.apply(out, in, dense());
  expect_refused("singular", [&] { solver.follow(of_flux); });
  expect_refused("singular", [&] { m.follow(of_flux); });
  expect_refused("failed halfway", [&] { solver.solve({}); });
  expect_refused("failed halfway", [&] { solver.solve_vectors(b); });
  expect_refused("failed halfway", [&] { m.apply(again, in, dense()); });
  expect_refused("failed halfway", [&] { m.apply_vectors(y, b); });
  solver.follow(links);
  m.follow(links);
  m.apply_vectors(y, b);
  EXPECT_EQ(array_of(y), first);
  m.apply(again, in, dense());
  EXPECT_EQ(again, out);
}

TEST_F(VectorsOfCallers, OfOthersAreRefused) {
  const plq::lattice twin(extents_of_test), small({4, 4, 4, 4});
  const plq::gauge_field links = links_on(lattice);
  plq::solver solver = plq::make_krylov_solver(links, quarks, {.device = where});
  const plq::dirac_operator m(links, quarks, where);
  plq::vectors ours(lattice, {.device = where, .columns = 2}), of_twin(twin, {.device = where, .columns = 2}),
      of_small(small, {.device = where, .columns = 2}), three(lattice, {.device = where, .columns = 3}),
      odd(lattice, {.device = where, .columns = 2, .sites = plq::site_set::odd}),
      single(lattice, {.device = where, .columns = 2, .precision = plq::precision::single});
  expect_refused("another library", [&] { solver.solve_vectors(of_twin); });
  expect_refused("another library", [&] { ours.add(1.0, of_twin); });
  expect_refused("another library", [&] { m.apply_vectors(ours, of_twin); });
  expect_refused("4x4x4x4", [&] { solver.solve_vectors(of_small); });
  expect_refused("4x4x4x4", [&] { ours.dot(of_small); });
  expect_refused("one shape", [&] { ours.add(1.0, three); });
  expect_refused("one shape", [&] { m.apply_vectors(ours, three); });
  expect_refused("double precision", [&] { solver.solve_vectors(single); });
  expect_refused("all or on even sites", [&] { solver.solve_vectors(odd); });
  expect_refused("two different vectors", [&] { solver.solve_vectors(ours, ours); });
  expect_refused("12 columns on all sites", [&] { plq::propagator::of(ours); });
  expect_refused("for each of 2 columns", [&] { ours.scale(numbers(3)); });
  expect_refused("finite", [&] { ours.scale(std::nan("")); });
  expect_refused("columns", [&] { ours.copy_columns(1, three, 0, 2); });
  expect_refused("first component", [&] { ours.fill(plq::source{}, 12); });
  array few(column_reals);
  expect_refused("at least", [&] { ours.read(few, dense()); });
  expect_refused("at least", [&] { ours.write(few, dense()); });
  array many = random_array(2, 5);
  many[77] = std::nan("");
  expect_refused("finite", [&] { ours.read(many, dense()); });
  expect_refused("1 to 1024 columns", [&] { plq::vectors(lattice, {.device = where, .columns = 0}); });
}

}  // namespace
}  // namespace plaquette
