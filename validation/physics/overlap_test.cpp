// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The overlap operator of either library: modes of H, sign function, modes of D with the index, propagators. They are
/// compared with dense matrices from the formula, constant abelian fields, the free field in closed form, and each
/// other.
#include <gtest/gtest.h>

#include <Eigen/Sparse>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "common/algebra/dense.hpp"
#include "common/eigen/hermitian_modes.hpp"
#include "common/overlap/mode_checks.hpp"
#include "common/overlap/overlap_modes.hpp"
#include "common/overlap/overlap_solve.hpp"
#include "common/overlap/overlap_solve_preconditioned.hpp"
#include "common/overlap/sign_function.hpp"
#include "validation/support/dense_dirac.hpp"
#include "validation/support/overlap_backend.hpp"
#ifdef PLAQUETTE_TEST_GPU_BACKEND
#include "gpu/device/host_pool.hpp"
#endif

namespace plaquette::validation {
namespace {

struct library {
  template <class T>
  using field = backend::field<T>;
  template <class T>
  using hermitian_wilson = backend::hermitian_wilson<T>;
};
using Field = backend::field<double>;
using InnerField = backend::field<float>;
using sign_of_library = sign_function<library>;

constexpr double rho = 1.4;

fermion_action kernel_action(bool periodic) {
  fermion_action action = fermion_action::isotropic(-rho, 0.0);
  if (periodic) action.boundary_phase[3] = {1.0, 0.0};
  return action;
}

/// H on some links, and random vectors.
struct overlap_case {
  gauge_configuration links;
  fermion_action action;
  backend::context ctx;
  hermitian_kernel<library> kernel;
  std::uint64_t next = 0;

  overlap_case(gauge_configuration u, bool periodic)
      : links(std::move(u)),
        action(kernel_action(periodic)),
        ctx(links.geometry(), communicator()),
        kernel(std::make_shared<const backend::hermitian_wilson<double>>(ctx, links, action, reconstruct::none),
               std::make_shared<const backend::hermitian_wilson<float>>(ctx, links, action, reconstruct::none),
               std::make_shared<const backend::hermitian_wilson<half>>(ctx, links, action, reconstruct::none)) {}

  Field fields(int columns) const { return Field(ctx, {spins, colours, site_subset::full, columns}); }
  random_fill<Field> random() {
    return [this](Field& x) {
      Field whole = x.shape().spins == spins ? x : fields(x.columns());
      for (int c = 0; c < x.columns(); ++c)
        import_column(whole, c, cpu::random_spinor(ctx.geometry(), 7, next++, communicator()));
      if (x.shape().spins != spins) take_chirality(x, whole, +1);
    };
  }
  Field unit_vectors(int columns) {
    Field x = fields(columns);
    random()(x);
    for (int c = 0; c < columns; ++c) {
      Field one = view(x, c, 1);
      scale(one, uniform_scalars(one, 1.0 / std::sqrt(host_values(norm2(one))[0].re)));
    }
    return x;
  }
  mode_set<Field> modes(mode_search search, const mode_keeper<Field>& keeper = nullptr,
                        std::optional<std::pair<Field, mode_search_state>> stored = std::nullopt,
                        const basis_maker<Field>& make_basis = nullptr) {
    const Field shape = fields(1), sample = unit_vectors(4);
    InnerField as_single = like(sample, 4, as<InnerField>);
    convert(as_single, sample);
    const mode_space<Field, InnerField> space{shape, as_single,
                                              12.0 * static_cast<double>(ctx.geometry().global_volume()), random()};
    return lowest_modes(kernel.as_double(), kernel.as_single(), space, search,
                        {.keeper = keeper, .make_basis = make_basis, .stored = std::move(stored)});
  }
  mode_set<Field> modes(int count) { return modes(mode_search{.modes = count}); }
  sign_of_library sign(const mode_set<Field>& modes, sign_options options = {}) const {
    if (options.highest <= 0.0) options.highest = modes.highest;
    return sign_of_library(kernel, modes.vectors, modes.values, options);
  }
};

/// Fields in memory of the host, and how often one was made.
struct host_fields {
  const backend::context& ctx;
  int spins_of_site;
  int made = 0;
#ifdef PLAQUETTE_TEST_GPU_BACKEND
  std::shared_ptr<gpu::memory_pool> pool = gpu::make_host_pool();
#endif

  Field operator()(int columns) {
    ++made;
#ifdef PLAQUETTE_TEST_GPU_BACKEND
    const std::size_t before = pool->in_use();
    const gpu::redirected_memory to(*pool);
    Field x(ctx, {spins_of_site, colours, site_subset::full, columns});
    EXPECT_GE(pool->in_use(), before + 8 * 6 * static_cast<std::size_t>(columns * ctx.geometry().local_volume()));
    return x;
#else
    return Field(ctx, {spins_of_site, colours, site_subset::full, columns});
#endif
  }
};

dense_matrix columns_to_dense(const Field& x) {
  dense_matrix all(12 * x.get_context().geometry().local_volume(), x.columns());
  for (int c = 0; c < x.columns(); ++c) all.col(c) = to_dense(canonical_column(x, c));
  return all;
}

double distance(const Field& a, const Field& b) {
  Field d = like(a);
  double worst = 0.0;
  for (const complex<double>& n : host_values(subtract_norm2(d, a, b))) keep_largest(worst, std::sqrt(n.re));
  return worst;
}

/// The eigenvalues, ascending, and eigenvectors of a Hermitian matrix. (Common's, compiled once.)
std::pair<Eigen::VectorXd, dense_matrix> pairs_of_hermitian(const dense_matrix& a) {
  const int n = static_cast<int>(a.rows());
  host_matrix numbers(n, n);
  std::memcpy(static_cast<void*>(numbers.data()), a.data(), numbers.numbers().size_bytes());
  const hermitian_eigenpairs pairs = eigenpairs_of_hermitian(numbers);
  dense_matrix vectors(n, n);
  std::memcpy(static_cast<void*>(vectors.data()), pairs.vectors.data(), pairs.vectors.numbers().size_bytes());
  return {Eigen::Map<const Eigen::VectorXd>(pairs.values.data(), n), std::move(vectors)};
}

/// The operators as matrices.
struct dense_overlap {
  dense_matrix h, gamma5, sign, d;
  Eigen::VectorXd values;  ///< of H, ascending

  explicit dense_overlap(const dense_matrix& wilson) {
    const Eigen::Index n = wilson.rows();
    gamma5 = dense_matrix::Identity(n, n);
    gamma5.bottomRows(n / 2) *= -1.0;
    h = gamma5 * wilson;
    const auto [all, vectors] = pairs_of_hermitian(h);
    values = all;
    const Eigen::VectorXd signs = values.unaryExpr([](double x) { return x > 0.0 ? 1.0 : -1.0; });
    sign = vectors * signs.cast<std::complex<double>>().asDiagonal() * vectors.adjoint();
    d = dense_matrix::Identity(n, n) + gamma5 * sign;
  }
  std::vector<double> absolute_values() const {
    std::vector<double> all;
    for (const double x : values) all.push_back(std::abs(x));
    std::ranges::sort(all);
    return all;
  }
  double index() const {
    double sum = 0.0;
    for (const double x : values) sum += x > 0.0 ? 1.0 : -1.0;
    return -0.5 * sum;
  }
  /// Eigenvalues of D^+ D in a chirality.
  std::vector<double> squares(int chirality) const {
    const Eigen::Index half = d.rows() / 2;
    const dense_matrix a =
        2.0 * (dense_matrix::Identity(half, half) +
               double(chirality) * sign.block(chirality > 0 ? 0 : half, chirality > 0 ? 0 : half, half, half));
    const Eigen::VectorXd all = pairs_of_hermitian(a).first;
    return {all.begin(), all.end()};
  }
  dense_matrix massive(double m) const { return (rho - 0.5 * m) * d + m * dense_matrix::Identity(d.rows(), d.cols()); }
};

const extents small{2, 2, 2, 4};  // 384 components

// --- one colour of a constant abelian field: 1024 components

struct flux_numbers {
  std::array<int, 2> fluxes;
  double lowest, highest;
  int index, zero_modes;
  double next;         ///< |lambda| of D
  double trace = 0.0;  ///< of the propagator at a point, of mass 0.1; 0 if it is not known
};
class FluxField : public testing::TestWithParam<flux_numbers> {};

INSTANTIATE_TEST_SUITE_P(All, FluxField,
                         testing::Values(flux_numbers{{1, 1}, .6849, 6.3318, -1, 1, .7400, .147926741358},
                                         flux_numbers{{1, -1}, .6849, 6.3318, +1, 1, .7400},
                                         flux_numbers{{2, 1}, .5518, 6.2025, -2, 2, .8443}),
                         [](const auto& info) {
                           const auto& f = info.param.fluxes;
                           return "fluxes_" + std::to_string(f[0]) + (f[1] < 0 ? "_minus_" : "_") +
                                  std::to_string(std::abs(f[1]));
                         });

gauge_configuration flux_links(const std::array<int, 2>& fluxes,
                               abelian_embedding embedding = abelian_embedding::all_colours) {
  return cpu::constant_flux_configuration(lattice_geometry({4, 4, 4, 4}), fluxes, embedding, communicator());
}

/// The part of M that acts on colour 0: the three do not mix.
dense_matrix one_colour(const gauge_configuration& links, const fermion_action& action) {
  const lattice_geometry& geometry = links.geometry();
  const Eigen::Index n = spins * geometry.local_volume();
  dense_matrix m(n, n);
  for (Eigen::Index j = 0; j < n; ++j) {
    const std::int64_t site = j % geometry.local_volume();
    const spinor_configuration source = point_source(geometry.global(), geometry.local_coordinate(site),
                                                     static_cast<int>(j / geometry.local_volume()), 0);
    spinor_configuration in = source, out(geometry);
    cpu::textbook::apply(out, in, links, action, communicator(), false);
    for (Eigen::Index i = 0; i < n; ++i) {
      const complex<double> z =
          out.at_site(i % geometry.local_volume())(static_cast<int>(i / geometry.local_volume()), 0);
      m(i, j) = {z.re, z.im};
    }
  }
  return m;
}

/// Numbers of four printed digits.
constexpr double printed = 0.5001e-4;

void expect_trace_of_propagator(const dense_overlap& dense, double known) {
  const double m = 0.1;
  dense_matrix source = dense_matrix::Zero(1024, spins);
  for (int spin = 0; spin < spins; ++spin) source(spin * 256, spin) = 1.0;
  const dense_matrix x = dense.massive(m).partialPivLu().solve(source);
  const dense_matrix s = (x - source / (2.0 * rho)) / (1.0 - 0.5 * m / rho);
  const double trace = (source.adjoint() * s).trace().real(), sum = s.squaredNorm();
  EXPECT_NEAR(trace, known, 1e-12);
  EXPECT_NEAR(trace, m * sum, 1e-11);
}

TEST_P(FluxField, has_the_spectra_and_the_index_that_are_known) {
  const flux_numbers& known = GetParam();
  overlap_case field(flux_links(known.fluxes), true);
  // Three colours make every level three times as degenerate.
  const mode_set<Field> modes = field.modes(18);
  ASSERT_EQ(modes.values.size(), 18u);
  EXPECT_NEAR(std::abs(modes.values.front()), known.lowest, printed);
  EXPECT_GE(modes.highest, known.highest - printed);
  const sign_of_library sign = field.sign(modes);
  overlap_mode_search search{.modes = 6};
  const auto found = lowest_overlap_modes<library>(sign, field.fields(1), search, field.random(), 12);
  EXPECT_EQ(found.index(), 3 * known.index);
  EXPECT_EQ(found.zero_plus + found.zero_minus, 3 * known.zero_modes);
  for (const double residual : found.of(found.searched).residuals) EXPECT_LE(residual, search.tolerance);
  const auto& squares_found = found.of(found.searched).eigenvalues;
  const auto next = std::ranges::find_if(squares_found, [](double e) { return e > 1e-6; });
  ASSERT_NE(next, squares_found.end());
  EXPECT_NEAR(std::sqrt(*next), known.next, printed);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(std::abs(modes.values[i]), known.lowest, printed) << i;
  // Dense matrices take their time: one field has them.
  if (known.trace == 0.0) return;
  const dense_overlap dense(one_colour(field.links, field.action));
  const std::vector<double> h = dense.absolute_values();
  EXPECT_NEAR(h.front(), known.lowest, printed);
  EXPECT_NEAR(h.back(), known.highest, printed);
  EXPECT_EQ(dense.index(), known.index);
  const std::vector<double> squares = dense.squares(known.index > 0 ? +1 : -1);
  for (int i = 0; i < known.zero_modes; ++i) EXPECT_NEAR(squares[i], 0.0, 1e-11);
  EXPECT_NEAR(std::sqrt(squares[known.zero_modes]), known.next, printed);
  expect_trace_of_propagator(dense, known.trace);
  for (std::size_t i = 0; i < 18; ++i) EXPECT_NEAR(std::abs(modes.values[i]), h[i / 3], 1e-9) << i;
}

// diag(t, t*, 1): both colours have the index of t. The third is free: periodic, it has two zero modes of each
// chirality, and antiperiodic none.
TEST(FluxOfSU3, has_an_index_of_two_beside_a_free_colour) {
  for (const bool periodic : {true, false}) {
    overlap_case field(flux_links({1, 1}, abelian_embedding::su3), periodic);
    const mode_set<Field> modes = field.modes(8);
    if (periodic) {
      EXPECT_NEAR(std::abs(modes.values.front()), 0.6, 1e-9);
    }
    const auto found =
        lowest_overlap_modes<library>(field.sign(modes), field.fields(1), {.modes = 6}, field.random(), 12);
    EXPECT_EQ(found.index(), -2);
    EXPECT_EQ(found.zero_plus, periodic ? 2 : 0);
    EXPECT_EQ(found.zero_minus, periodic ? 4 : 2);
  }
}

TEST(FreeSpectrum, has_the_lowest_modes_that_are_known) {
  const auto next = [](const overlap_mode_set<Field>& found, int zero_modes) {
    return std::sqrt(found.of(found.searched).eigenvalues[static_cast<std::size_t>(zero_modes)]);
  };
  for (const bool periodic : {true, false}) {
    overlap_case field(unit_links({4, 4, 4, 4}), periodic);
    const mode_set<Field> modes = field.modes(12);
    EXPECT_NEAR(std::abs(modes.values.front()), periodic ? 0.6 : 0.7709, printed);
    EXPECT_GE(modes.highest, periodic ? 6.6 : 6.3466);
    EXPECT_LE(modes.highest, 1.006 * (periodic ? 6.6 : 6.3467));
    const auto found =
        lowest_overlap_modes<library>(field.sign(modes), field.fields(1), {.modes = 8}, field.random(), 12);
    EXPECT_EQ(found.zero_plus, periodic ? 6 : 0);
    EXPECT_EQ(found.zero_minus, periodic ? 6 : 0);
    EXPECT_NEAR(next(found, periodic ? 6 : 0), periodic ? 1.1213 : 0.5608, printed);
  }
}

// --- the free field in closed form

TEST(FreeField, has_the_overlap_operator_of_plane_waves) {
  const extents lattice{4, 4, 4, 4};
  overlap_case field(unit_links(lattice), true);
  const mode_set<Field> modes = field.modes(mode_search{.modes = 1, .tolerance = 1e-9});
  ASSERT_EQ(modes.values.size(), 1u);
  EXPECT_NEAR(std::abs(modes.values[0]), 0.6, 1e-9);
  EXPECT_GE(modes.highest, 6.6);
  EXPECT_LE(modes.highest, 6.6 * 1.006);
  const Field none = field.fields(0);
  const sign_of_library sign(field.kernel, none, {}, {.lowest = 0.5999, .highest = 6.601});
  const overlap_operator<sign_of_library> d(sign, rho);
  constexpr double delta = 1e-11;
  for (const coordinate& n : {coordinate{0, 0, 0, 0}, {1, 0, 0, 0}, {1, 3, 2, 1}, {2, 2, 2, 2}, {0, 1, 1, 3}}) {
    double w = 0.0, s2 = 0.0;
    spin_matrix slash;
    for (int mu = 0; mu < dimensions; ++mu) {
      const double p = 2.0 * std::numbers::pi * n[mu] / lattice[mu];
      w += 1.0 - std::cos(p);
      s2 += std::sin(p) * std::sin(p);
      slash = slash + complex<double>{0.0, std::sin(p)} * gamma_matrix(mu);
    }
    const double root = std::sqrt((w - rho) * (w - rho) + s2);
    // D_p = 1 + (W - rho + i gamma.s) / root
    const spin_matrix expected = complex<double>{1.0 + (w - rho) / root, 0.0} * spin_matrix::identity() +
                                 complex<double>{1.0 / root, 0.0} * slash;
    spinor_configuration wave{lattice_geometry(lattice)};
    visit_sites(wave.geometry(), [&](const coordinate& x) {
      double px = 0.0;
      for (int mu = 0; mu < dimensions; ++mu) px += 2.0 * std::numbers::pi * n[mu] * x[mu] / lattice[mu];
      for (int s = 0; s < spins; ++s)
        for (int c = 0; c < colours; ++c) wave(x)(s, c) = (1.0 + s + 2.0 * c) * unit_phase(px + 0.3 * s);
    });
    Field in = field.fields(1), out = field.fields(1);
    import_column(in, 0, wave);
    d.apply(out, in, delta);
    const spinor_configuration ours = canonical_column(out, 0), theirs = times(expected, wave);
    EXPECT_LE(norm(sum(ours, {-1.0, 0.0}, theirs)), 2.0 * delta * norm(wave));
  }
}

// --- against dense matrices on random links

TEST(ModesOfH, are_those_of_the_dense_matrix_none_missed_nor_doubled) {
  overlap_case field(weak_links(small, 0.5, 3), false);
  const std::vector<double> dense = dense_overlap(dense_dirac(field.links, field.action)).absolute_values();
  const auto expect_lowest = [&](const mode_set<Field>& found, int count, const char* what) {
    ASSERT_EQ(found.values.size(), static_cast<std::size_t>(count)) << what;
    EXPECT_TRUE(found.complete) << what;
    for (int i = 0; i < count; ++i) {
      EXPECT_NEAR(std::abs(found.values[static_cast<std::size_t>(i)]), dense[static_cast<std::size_t>(i)], 1e-10)
          << what;
      EXPECT_LE(found.residuals[static_cast<std::size_t>(i)], 1e-10) << what;
    }
  };
  expect_lowest(field.modes(10), 10, "all chosen");
  expect_lowest(field.modes({.modes = 10, .block = 3}), 10, "blocks of three");
  expect_lowest(field.modes({.modes = 10, .method = mode_method::arnoldi}), 10, "Arnoldi");
  for (int start = 0; start < 3; ++start)
    expect_lowest(field.modes({.modes = 10, .method = mode_method::arnoldi, .degree = 8, .most = 30}), 10,
                  "Arnoldi, several restarts");
  expect_lowest(field.modes({.modes = 10, .window = 0.5 * (dense[3] + dense[4])}), 10, "window too narrow");
  expect_lowest(field.modes({.modes = 10, .window = dense[40]}), 10, "window too wide");
}

TEST(ThickRestart, takes_fewer_vectors_in_later_cycles) {
  overlap_case field(weak_links(small, 0.5, 3), false);
  restart_sizes sizes{.keep = 6, .most = 20, .block = 2, .cycles = 3, .later = 10};
  Field basis = field.fields(sizes.most + sizes.block), start = view(basis, 0, sizes.block);
  field.random()(start);
  int columns = 0;
  std::vector<int> after_cycle;
  const std::function<void(Field&, const Field&)> apply = [&](Field& out, const Field& in) {
    field.kernel.as_double().apply(out, in);
    columns += in.columns();
  };
  const restart_decision<Field> decide = [&](Field&, const restart_state&) {
    after_cycle.push_back(columns);
    return false;
  };
  thick_restart_lanczos<Field>(basis, sizes, {}, apply, decide, field.random());
  EXPECT_EQ(after_cycle, (std::vector<int>{20, 24, 28}));
  sizes.later = 7;  // no room for a block in addition to the kept vectors
  EXPECT_THROW(thick_restart_lanczos<Field>(basis, sizes, {}, apply, decide, field.random()), input_error);
}

TEST(ModesOfH, are_right_where_the_bound_of_H_was_too_low) {
  overlap_case field(weak_links(small, 0.5, 3), false);
  const std::vector<double> dense = dense_overlap(dense_dirac(field.links, field.action)).absolute_values();
  for (const double share : {0.5, 0.9, 0.99}) {
    const mode_set<Field> found = field.modes({.modes = 6, .highest = share * dense.back()});
    ASSERT_EQ(found.values.size(), 6u) << share;
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(std::abs(found.values[i]), dense[i], 1e-10) << share;
    EXPECT_GE(found.raised, 1);
    EXPECT_GE(found.highest, dense.back());
    EXPECT_LE(found.highest, 1.1 * dense.back());
  }
}

class SearchForModesOfH : public testing::TestWithParam<mode_method> {};
INSTANTIATE_TEST_SUITE_P(All, SearchForModesOfH, testing::Values(mode_method::lanczos, mode_method::arnoldi),
                         [](const auto& info) { return info.param == mode_method::lanczos ? "Lanczos" : "Arnoldi"; });

TEST_P(SearchForModesOfH, goes_on_from_where_it_was_cut_after_any_cycle) {
  overlap_case field(weak_links(small, 0.5, 3), false);
  const mode_search search{.modes = 10, .method = GetParam(), .degree = 8, .block = 2, .most = 30};
  const mode_set<Field> whole = field.modes(search);
  for (int cut = 1; cut < whole.cycles; ++cut) {
    std::optional<std::pair<Field, mode_search_state>> kept;
    mode_search first = search;
    first.interrupted = [&] { return kept.has_value(); };
    const mode_keeper<Field> keeper = [&](const Field& basis, const mode_search_state& state) {
      if (state.cycles != cut) return;
      kept.emplace(like(basis), state);
      copy(kept->first, basis);
    };
    field.modes(first, keeper);
    ASSERT_TRUE(kept.has_value()) << cut;
    const mode_set<Field> rest = field.modes(search, nullptr, std::move(kept));
    ASSERT_EQ(rest.values.size(), 10u) << cut;
    EXPECT_GT(rest.cycles, cut);
    for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(rest.values[i], whole.values[i], 1e-12) << cut;
    EXPECT_LT(rest.filtered, whole.filtered);
  }
}

TEST_P(SearchForModesOfH, goes_on_from_where_it_was_interrupted_within_a_cycle) {
  overlap_case field(weak_links(small, 0.5, 3), false);
  mode_search search{.modes = 10, .method = GetParam(), .degree = 8, .block = 2, .most = 30};
  const mode_set<Field> whole = field.modes(search);
  search.highest = whole.highest;  // not sought once more, which would check for interruptions too
  search.window = whole.window;
  // The first cycle applies the filter 15 times to two vectors and is lost; later ones 8 times.
  const int vectors = GetParam() == mode_method::lanczos ? 2 : 1;
  for (const int applications : {10 / vectors, 40 / vectors, 62 / vectors}) {
    std::optional<std::pair<Field, mode_search_state>> kept;
    int requested = 0;
    mode_search first = search;
    first.interrupted = [&] { return ++requested > applications; };
    const mode_keeper<Field> keeper = [&](const Field& basis, const mode_search_state& state) {
      kept.emplace(like(basis), state);
      copy(kept->first, basis);
    };
    const mode_set<Field> cut = field.modes(first, keeper);
    EXPECT_FALSE(cut.complete);
    EXPECT_TRUE(cut.values.empty());
    EXPECT_EQ(kept.has_value(), applications > 30 / vectors);
    const bool goes_on = kept.has_value();
    const mode_set<Field> rest = field.modes(search, nullptr, std::move(kept));
    ASSERT_EQ(rest.values.size(), 10u) << applications;
    for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(rest.values[i], whole.values[i], 1e-12) << applications;
    if (goes_on) {
      EXPECT_LT(rest.filtered, whole.filtered);
    }
  }
}

// Each level has four copies, which one Krylov space need not hold.
TEST(ModesOfH, of_degenerate_levels_are_found_from_any_start) {
  overlap_case field(flux_links({1, 1}, abelian_embedding::su3), false);
  for (std::uint64_t start = 0; start < 12; ++start) {
    field.next = 1000 * start;
    const mode_set<Field> found = field.modes(8);
    ASSERT_EQ(found.values.size(), 8u) << start;
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_NEAR(std::abs(found.values[i]), i < 4 ? .684937 : .686306, 1e-6) << start;
      EXPECT_LE(found.residuals[i], 1e-10) << start;
    }
  }
}

// Levels of 12 and more copies, exact ones and some that are split by little; blocks of fewer vectors.
TEST(ModesOfH, of_levels_with_more_copies_than_a_block_are_complete) {
  overlap_case free(unit_links({2, 2, 2, 4}), true);
  for (const int block : {0, 3})
    for (const int count : {1, 12, 20}) {
      free.next = 0;
      const mode_set<Field> found = free.modes({.modes = count, .block = block});
      EXPECT_TRUE(found.complete) << count << " " << block;
      ASSERT_EQ(found.values.size(), static_cast<std::size_t>(count)) << block;
      for (const double value : found.values) EXPECT_NEAR(std::abs(value), 0.6, 1e-9) << count;  // 48 of them
    }
  overlap_case nearly_free(weak_links(small, 1e-5, 5), false);
  const std::vector<double> dense = dense_overlap(dense_dirac(nearly_free.links, nearly_free.action)).absolute_values();
  for (const int count : {1, 2, 12}) {
    const mode_set<Field> found = nearly_free.modes(count);
    EXPECT_TRUE(found.complete) << count;
    ASSERT_EQ(found.values.size(), static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < found.values.size(); ++i) {
      EXPECT_NEAR(std::abs(found.values[i]), dense[i], 1e-9) << count;
      EXPECT_LE(found.residuals[i], 1e-10) << count;
    }
  }
}

// A small search space takes 85 restarts, each of which adds its rounding: 8e-14 as they leave the basis.
TEST(ModesOfH, stay_orthonormal_through_many_restarts) {
  overlap_case field(weak_links({4, 4, 4, 4}, 0.5, 3), false);
  mode_set<Field> found = field.modes({.modes = 10, .degree = 4, .most = 24});
  ASSERT_EQ(found.values.size(), 10u);
  EXPECT_GT(found.cycles, 20);
  EXPECT_LE(distance_from_orthonormal(found.vectors), 2e-14);
  // One number that is none, in a vector that others follow, is no rounding.
  Field first = view(found.vectors, 0, 1);
  scale(first, uniform_scalars(first, std::nan("")));
  EXPECT_TRUE(std::isnan(distance_from_orthonormal(found.vectors)));
}

// A start without a mode hides it from its Krylov space: what such a space proves is little.
TEST(ThickRestart, bounds_the_part_of_the_start_that_a_mode_it_has_not_shown_may_have) {
  overlap_case field(weak_links(small, 0.5, 3), false);
  const mode_set<Field> modes = field.modes(4);
  const Field hidden = view(modes.vectors, 0, 1);
  const std::function<void(Field&, const Field&)> apply =
      [&](Field& out, const Field& in) {  // 40 - H^2: the lowest modes are highest
        Field hv = like(in);
        field.kernel.as_double().apply(hv, in);
        field.kernel.as_double().apply(out, hv);
        scale(out, uniform_scalars(out, -1.0));
        axpy(out, uniform_scalars(out, 40.0), in);
      };
  const double value = 40.0 - modes.values[0] * modes.values[0];
  for (const double part : {1e-2, 1e-5, 1e-8}) {
    const restart_sizes sizes{.keep = 8, .most = 30, .block = 1, .cycles = 40};
    Field basis = field.fields(sizes.most + sizes.block), start = view(basis, 0, 1);
    field.random()(start);
    normalise_columns(start);
    subtract_combinations(start, hidden, inner_products(hidden, start));
    axpy(start, uniform_scalars(start, part), hidden);
    normalise_columns(start);
    hidden_share share{.at = value * (1.0 + 1e-9), .transfer = {}};
    double bound = 1.0;
    bool is_shown = false;
    thick_restart_lanczos<Field>(
        basis, sizes, {}, apply,
        [&](Field&, const restart_state& now) {
          is_shown = now.values[0] > value * (1.0 - 1e-6);
          if (!is_shown) bound = std::sqrt(share.volume());
          return is_shown;
        },
        field.random(), nullptr, &share);
    EXPECT_TRUE(is_shown) << part;
    EXPECT_GE(bound, 0.5 * part);  // unless it is shown it may have any value
    EXPECT_LE(bound, 1e4 * part);
  }
}

TEST(ModesOfH, that_do_not_converge_are_left_out_and_said) {
  overlap_case field(weak_links(small, 0.5, 3), false);
  const std::vector<double> dense = dense_overlap(dense_dirac(field.links, field.action)).absolute_values();
  const mode_set<Field> found = field.modes({.modes = 10, .degree = 8, .most = 18, .cycles = 3});
  EXPECT_FALSE(found.complete);
  EXPECT_LT(found.values.size(), 10u);
  for (std::size_t i = 0; i < found.values.size(); ++i) EXPECT_NEAR(std::abs(found.values[i]), dense[i], 1e-9);
}

TEST(SignFunction, agrees_with_the_dense_one_whatever_is_deflated_and_however) {
  overlap_case field(weak_links(small, 0.5, 3), false);
  const dense_overlap dense(dense_dirac(field.links, field.action));
  const Field x = field.unit_vectors(3);
  const dense_matrix expected = dense.sign * columns_to_dense(x);
  Field y = like(x);
  const double lowest = dense.absolute_values().front();
  for (const int l : {0, 4, 20}) {
    mode_set<Field> modes{field.fields(0)};
    modes.highest = 1.001 * std::max(-dense.values(0), dense.values(383));
    if (l > 0) modes = field.modes(l);
    for (const sign_method method :
         {sign_method::polynomial, sign_method::zolotarev, sign_method::zolotarev_double_pass})
      for (const double delta : {1e-4, 1e-9}) {
        for (const sign_precision precision :
             {sign_precision::as_double, sign_precision::mixed, sign_precision::half}) {
          if (method != sign_method::polynomial && precision != sign_precision::as_double) continue;
          sign_of_library sign = field.sign(
              modes, {.method = method, .precision = precision, .lowest = l == 0 ? 0.999 * lowest : 0.0, .batch = 2});
          EXPECT_LE(sign.calibrate(x, delta), delta);
          sign.apply(y, x, delta);
          const double error = (columns_to_dense(y) - expected).colwise().norm().maxCoeff();
          // Rounding of some thousand operations in double.
          EXPECT_LE(error, delta + 1e-12) << "l " << l << " method " << static_cast<int>(method) << " delta " << delta
                                          << " precision " << static_cast<int>(precision);
        }
      }
  }
}

TEST(SignFunction, takes_high_orders_in_low_precision_as_long_as_the_error_stays_below_delta) {
  overlap_case field(weak_links(small, 0.5, 3), false);
  const mode_set<Field> modes = field.modes(8);
  const Field x = field.unit_vectors(4);
  Field y = like(x);
  for (const sign_precision precision : {sign_precision::mixed, sign_precision::half}) {
    sign_of_library sign = field.sign(modes, {.precision = precision});
    EXPECT_LE(sign.calibrate(x, 1e-9), 1e-9);
    field.kernel.count() = {};
    sign.apply(y, x, 1e-9);
    const double in_double = field.kernel.count().as_double;
    // Of 307 orders single precision has 175 at 1e-9; on 24^3x64 it has more, since there are more.
    EXPECT_GT(field.kernel.count().as_single, (precision == sign_precision::half ? 0.5 : 1.25) * in_double);
    if (precision == sign_precision::half) {
      EXPECT_GT(field.kernel.count().half, 0.4 * in_double);
    }
    field.kernel.count() = {};
    sign.near_modes().apply(y, x, 1e-9);  // for modes of D, where roundings are larger than on random vectors
    EXPECT_GE(field.kernel.count().as_double, (precision == sign_precision::mixed ? 1.05 : 1.0) * in_double);
    // Roundings of components along the modes would be hundreds of times larger.
    const Field v = view(modes.vectors, 0, 4);
    Field error = like(v);
    sign.apply(error, v, 1e-9);
    for (int i = 0; i < 4; ++i) {
      Field column = view(error, i, 1);
      const double s = modes.values[static_cast<std::size_t>(i)] > 0.0 ? 1.0 : -1.0;
      axpy(column, uniform_scalars(column, -s), view(v, i, 1));
    }
    for (const complex<double>& number : host_values(norm2(error))) EXPECT_LT(std::sqrt(number.re), 1e-11);
  }
}

/// Roundings of single precision add up to 1e-7 in all orders, where powers of H^2 would make them 1e-6.
TEST(SignFunction, in_single_precision_alone_reaches_the_accuracy_that_is_stated) {
  overlap_case field(weak_links(small, 0.5, 3), false);
  mode_set<Field> modes{field.fields(0)};
  modes.highest = 6.6;
  const Field x = field.unit_vectors(2);
  Field exact = like(x), y = like(x);
  for (const double lowest : {0.15, 0.3}) {
    const sign_of_library sign = field.sign(modes, {.lowest = lowest});
    for (const double delta : {least_delta_of_single, 1e-5, 1e-2}) {
      ASSERT_TRUE(sign.is_single(delta));
      sign.apply(exact, x, delta, sign_precision::as_double);
      field.kernel.count() = {};
      sign.apply(y, x, delta);
      EXPECT_EQ(field.kernel.count().as_double, 0.0);
      EXPECT_LE(distance(y, exact), 0.75 * least_delta_of_single) << delta << " " << lowest;
    }
    EXPECT_FALSE(sign.is_single(0.9 * least_delta_of_single));
  }
}

TEST(SignFunction, of_any_accuracy_is_calibrated_in_some_steps_or_until_it_is_stopped) {
  overlap_case field(weak_links(small, 0.5, 3), false);
  const mode_set<Field> modes = field.modes(8);
  const Field x = field.unit_vectors(2);
  for (const double delta : {1e-5, 1e-6, 1e-7, 1e-8, 1e-10})
    for (const double share : {1e-6, 1e3}) {
      sign_of_library sign = field.sign(modes, {.low_share = share});
      int requested = 0;
      EXPECT_LE(sign.calibrate(x, delta, [&] { return ++requested > 40; }), delta);
      EXPECT_LE(requested, 25) << delta << " " << share;
    }
  sign_of_library sign = field.sign(modes, {.low_share = 1e3});
  int requested = 0;
  sign.calibrate(x, 1e-9, [&] { return ++requested == 1; });
  EXPECT_EQ(requested, 1);
}

// What another program computed with a short polynomial is repeated to more digits than that has of the sign function.
TEST(SignFunction, of_a_fixed_degree_rounds_as_little_as_is_asked) {
  overlap_case field(weak_links(small, 0.5, 3), false);
  const mode_set<Field> modes = field.modes(8);
  const Field x = field.unit_vectors(2);
  Field as_double = like(x), y = like(x), difference = like(x);
  for (const sign_precision precision : {sign_precision::mixed, sign_precision::half}) {
    const sign_of_library sign = field.sign(modes, {.precision = precision, .degree = 20});
    ASSERT_GT(sign.polynomial(1e-9).delta, 1e-6);
    sign.apply(as_double, x, 1e-9, sign_precision::as_double);
    for (const double delta : {1e-7, 1e-9}) {
      sign.apply(y, x, delta);
      for (const complex<double>& number : host_values(subtract_norm2(difference, y, as_double)))
        EXPECT_LE(std::sqrt(number.re), delta);
    }
  }
}

TEST(SignFunction, on_a_flux_field_is_the_same_with_none_40_and_200_modes) {
  overlap_case field(flux_links({1, 1}), true);
  const Field x = field.unit_vectors(2);
  constexpr double delta = 1e-9;
  std::vector<Field> found;
  double highest = 0.0;
  for (const int l : {40, 200, 0}) {
    mode_set<Field> modes{field.fields(0)};
    if (l > 0) modes = field.modes(l);
    EXPECT_EQ(modes.values.size(), static_cast<std::size_t>(l));
    highest = std::max(highest, modes.highest);
    const sign_of_library sign(field.kernel, modes.vectors, modes.values,
                               {.lowest = l == 0 ? 0.684 : 0.0, .highest = highest});
    found.push_back(like(x));
    sign.apply(found.back(), x, delta, sign_precision::as_double);
  }
  // Each is within delta of sign(H) x.
  for (const Field& other : {found[1], found[2]}) EXPECT_LE(distance(found[0], other), 2.0 * delta);
}

TEST(SignFunction, with_the_sign_of_a_mode_turned_is_noticed) {
  overlap_case field(weak_links(small, 0.5, 3), false);
  mode_set<Field> modes = field.modes(8);
  const Field x = field.unit_vectors(2);
  Field y = like(x), rotated = like(x);
  field.sign(modes).apply(y, x, 1e-9);
  modes.values[2] = -modes.values[2];
  field.sign(modes).apply(rotated, x, 1e-9);
  EXPECT_GT(distance(rotated, y), 1e-3);
}

TEST(ModesOfD, are_those_of_the_dense_matrix_in_both_chiralities) {
  overlap_case field(weak_links(small, 0.5, 4), false);
  const dense_overlap dense(dense_dirac(field.links, field.action));
  const mode_set<Field> modes = field.modes(12);
  const sign_of_library sign = field.sign(modes);
  for (const int chirality : {+1, -1})
    for (const bool relaxed : {true, false}) {
      const overlap_mode_search search{.modes = 5, .chirality = chirality, .relaxed = relaxed};
      const auto found = lowest_overlap_modes<library>(sign, field.fields(1), search, field.random(), 4);
      EXPECT_EQ(found.index(), dense.index());
      for (const int chi : {+1, -1}) {
        const std::vector<double> expected = dense.squares(chi);
        const auto& squares = found.of(chi).eigenvalues;
        ASSERT_GE(squares.size(), 5u - (chi == chirality ? 0u : 5u));
        for (std::size_t i = 0; i < squares.size(); ++i) EXPECT_NEAR(squares[i], expected[i], 1e-9);
        // Partners are as good as the modes that they were made of.
        Field product = like(found.of(chi).vectors);
        if (product.columns() == 0) continue;
        chiral_square<sign_of_library>(sign, chi).apply(product, found.of(chi).vectors, 1e-13);
        for (int i = 0; i < product.columns(); ++i) {
          Field one = view(product, i, 1);
          axpy(one, uniform_scalars(one, -squares[static_cast<std::size_t>(i)]), view(found.of(chi).vectors, i, 1));
          EXPECT_LE(std::sqrt(host_values(norm2(one))[0].re), 2e-10);
        }
      }
    }
}

TEST(ModesOfD, of_a_loose_tolerance_in_blocks_have_the_same_index_and_eigenvalues) {
  // A constant flux has an index of -1 a colour, and sectors with and without zero modes are searched.
  overlap_case field(flux_links({1, 1}), true);
  const sign_of_library sign = field.sign(field.modes(18));
  for (const int chirality : {+1, -1})
    for (const int block : {1, 2}) {
      // With blocks of 2 the search ends far above the tolerance.
      const overlap_mode_search search{
          .modes = 5, .tolerance = block == 2 ? 1e-7 : 1e-4, .chirality = chirality, .block = block};
      const auto found = lowest_overlap_modes<library>(sign, field.fields(1), search, field.random(), 4);
      EXPECT_EQ(found.restarts, 0);
      EXPECT_EQ(found.index(), -3) << chirality << " " << block;
      for (const int chi : {+1, -1}) {
        const auto& of = found.of(chi);
        chiral_modes<Field> exact{like(of.vectors)};
        if (exact.vectors.columns() == 0) continue;
        copy(exact.vectors, of.vectors);
        const host_matrix gram = overlaps(of.vectors, of.vectors);
        for (int i = 0; i < gram.columns(); ++i)
          for (int j = 0; j < gram.columns(); ++j) EXPECT_NEAR(gram(i, j).re, i == j ? 1.0 : 0.0, 1e-11);
        // Residuals r leave errors of r^2 / gap in e. Vectors of a level may be mixed again.
        Field products = like(exact.vectors), residual_vectors = like(exact.vectors);
        detail::apply_to_block(sign, chi, exact.vectors, products, static_cast<Field*>(nullptr), 1e-12, 4);
        detail::rayleigh_ritz_of_products(exact, products, static_cast<Field*>(nullptr), residual_vectors);
        for (std::size_t i = 0; i < of.eigenvalues.size(); ++i)
          EXPECT_NEAR(of.eigenvalues[i], exact.eigenvalues[i], 1e-6);
        for (std::size_t i = 0; i < of.eigenvalues.size(); ++i) {
          EXPECT_LE(exact.residuals[i], (chi == chirality ? 1.1 : 30.0) * search.tolerance) << chi << " " << i;
          double of_level = 0.0;
          for (std::size_t j = 0; j < of.eigenvalues.size(); ++j)
            if (std::abs(of.eigenvalues[j] - of.eigenvalues[i]) < 1e-6)
              of_level = std::hypot(of_level, of.residuals[j]);
          EXPECT_LE(exact.residuals[i], 2.0 * of_level + 0.1 * search.tolerance) << chi << " " << i;
        }
      }
    }
}

// Six constant spinors of each chirality are zero modes: their index is 0, whichever chirality is searched.
TEST(ModesOfD, of_a_periodic_free_field_are_zero_in_both_chiralities) {
  overlap_case field(unit_links(small), true);
  const sign_of_library sign = field.sign(field.modes(4));
  for (const int chirality : {+1, -1}) {
    const overlap_mode_search search{.modes = 8, .tolerance = chirality > 0 ? 1e-10 : 1e-4, .chirality = chirality};
    const auto found = lowest_overlap_modes<library>(sign, field.fields(1), search, field.random(), 4);
    EXPECT_EQ(found.zero_plus, 6) << chirality;
    EXPECT_EQ(found.zero_minus, 6) << chirality;
    EXPECT_EQ(found.index(), 0);
    const auto& other = found.of(-chirality);
    ASSERT_EQ(other.eigenvalues.size(), 8u);
    for (int i = 0; i < 6; ++i) EXPECT_NEAR(other.eigenvalues[static_cast<std::size_t>(i)], 0.0, search.zero);
  }
}

// An e of half the expected one needs a sign function of some 1e-3, at less than 0.6 of the cost of 1e-5.
TEST(ModesOfD, that_are_zero_are_sought_with_a_cheap_sign_function) {
  using InnerField = sign_of_library::InnerField;
  overlap_case field(flux_links({1, 1}, abelian_embedding::su3), false);
  const sign_of_library sign = field.sign(field.modes(8));
  const random_fill<Field> fill = field.random();
  kernel_count& count = sign.kernel().count();
  count = {};
  const auto found = detail::lowest_in_complement<InnerField>(
      chiral_square<sign_of_library>(sign, -1), detail::half_like(field.fields(1), 0), 0.3, overlap_mode_search{},
      detail::converted_fill<InnerField>(fill), 4);
  EXPECT_EQ(found.columns(), 2);
  EXPECT_EQ(count.as_double, 0.0);
  EXPECT_LE(count.as_single, 1.2 * sign.polynomial(1e-5).degree() * count.sign_applications);
}

// Pairs are known by the other chirality, so that half the steps do.
TEST(ModesOfD, that_are_zero_show_in_half_the_steps_where_one_is_missing) {
  overlap_case field(flux_links({1, 1}), true);  // three zero modes of chirality -1
  const sign_of_library sign = field.sign(field.modes(18));
  const auto modes = lowest_overlap_modes<library>(sign, field.fields(1),
                                                   {.modes = 5, .tolerance = 1e-7, .chirality = +1}, field.random(), 4);
  ASSERT_EQ(modes.zero_minus, 3);
  const double bound = 0.998 * modes.plus.eigenvalues.back(), size = 6.0 * 256;
  const Field all = modes.minus.vectors;
  double applied[2] = {0.0, 0.0};
  for (const bool zero_modes_alone : {false, true}) {
    const auto probe = [&](const Field& known) {
      return probe_complement(sign, -1, known, bound, size, zero_modes_alone, field.random(), {});
    };
    sign.kernel().count() = {};
    const complement_probe of_none = probe(all);
    applied[zero_modes_alone ? 1 : 0] = sign.kernel().count().sign_applications;
    EXPECT_TRUE(of_none.settled);
    EXPECT_GE(of_none.lowest, bound);
    for (int missing = 0; missing < 3; ++missing) {
      std::vector<int> others;
      for (int n = 0; n < all.columns(); ++n)
        if (n != missing) others.push_back(n);
      Field known = like(all, all.columns() - 1);
      for (int n = 0; n < known.columns(); ++n) {
        Field column = view(known, n, 1);
        copy(column, view(all, others[static_cast<std::size_t>(n)], 1));
      }
      EXPECT_LT(probe(known).lowest, bound) << missing;
    }
  }
  EXPECT_LE(applied[1], 0.7 * applied[0]);
}

TEST(ModesOfD, of_a_loose_search_go_on_from_where_it_was) {
  overlap_case field(weak_links(small, 0.5, 4), false);
  const sign_of_library sign = field.sign(field.modes(12));
  overlap_mode_search search{.modes = 5, .tolerance = 1e-5, .chirality = +1, .most = 16};
  const auto whole = lowest_overlap_modes<library>(sign, field.fields(1), search, field.random(), 4);
  std::optional<std::pair<Field, restart_state>> kept;
  const restart_keeper<Field> keeper = [&](const std::function<Field()>& basis, const restart_state& state,
                                           int chirality) {
    EXPECT_EQ(chirality, +1);
    if (state.cycle == 2) kept.emplace(basis(), state);
  };
  search.interrupted = [&] { return kept.has_value(); };
  const auto cut = lowest_overlap_modes<library>(sign, field.fields(1), search, field.random(), 4, keeper);
  EXPECT_FALSE(cut.complete);
  ASSERT_TRUE(kept.has_value());
  search.interrupted = nullptr;
  const auto rest =
      lowest_overlap_modes<library>(sign, field.fields(1), search, field.random(), 4, nullptr, std::move(kept), +1);
  EXPECT_LE(rest.cycles + 2, whole.cycles + 1);
  ASSERT_EQ(rest.plus.eigenvalues.size(), whole.plus.eigenvalues.size());
  for (std::size_t i = 0; i < rest.plus.eigenvalues.size(); ++i) {
    EXPECT_NEAR(rest.plus.eigenvalues[i], whole.plus.eigenvalues[i], 1e-8);
    EXPECT_LE(rest.plus.residuals[i], search.tolerance);
  }
}

TEST(ModesOfD, that_do_not_deflate_meet_the_tolerance_with_fewer_signs) {
  overlap_case field(weak_links(small, 0.5, 4), false);
  const sign_of_library sign = field.sign(field.modes(12));
  const auto signs_of = [&](overlap_mode_search search) {
    field.next = 0;
    const double before = sign.kernel().count().sign_applications;
    const auto found = lowest_overlap_modes<library>(sign, field.fields(1), search, field.random(), 4);
    EXPECT_TRUE(found.complete);
    for (const int chi : {+1, -1}) {
      const std::vector<double> residuals = residuals_of_modes(sign, chi, found.of(chi), 1e-10, 4);
      EXPECT_EQ(residuals.size(), static_cast<std::size_t>(search.modes));
      for (std::size_t i = 0; i < residuals.size(); ++i)
        EXPECT_LE(residuals[i], chi == search.chirality
                                    ? search.tolerance
                                    : tolerance_of_partner(found.of(chi).eigenvalues[i], search.tolerance));
    }
    return sign.kernel().count().sign_applications - before;
  };
  // Below 1e-5 all are refined in any case.
  for (const auto& [tolerance, share] : {std::pair{1e-5, 0.9}, std::pair{1e-6, 1.0}}) {
    const overlap_mode_search deflating{.modes = 8, .tolerance = tolerance, .chirality = +1};
    overlap_mode_search alone = deflating;
    alone.for_deflation = false;
    EXPECT_LE(signs_of(alone), share * signs_of(deflating)) << tolerance;
  }
}

TEST(ModesOfD, of_degenerate_levels_that_were_missed_are_no_zero_modes) {
  overlap_case field(unit_links(small), false);
  const dense_overlap dense(dense_dirac(field.links, field.action));
  const sign_of_library sign = field.sign(field.modes(4));
  for (const int count : {5, 14}) {
    const auto found = lowest_overlap_modes<library>(sign, field.fields(1), {.modes = count}, field.random(), 4);
    EXPECT_NEAR(dense.index(), 0.0, 1e-9);
    EXPECT_EQ(found.zero_plus, 0);
    EXPECT_EQ(found.zero_minus, 0);
    for (const int chi : {+1, -1}) {
      ASSERT_EQ(found.of(chi).eigenvalues.size(), static_cast<std::size_t>(count));
      const host_matrix gram = overlaps(found.of(chi).vectors, found.of(chi).vectors);
      for (int i = 0; i < count; ++i)
        for (int j = 0; j < count; ++j) EXPECT_NEAR(gram(i, j).re, i == j ? 1.0 : 0.0, 1e-8);
    }
  }
}

TEST(ModesOfD, and_of_H_are_the_same_with_the_basis_in_memory_of_the_host) {
  overlap_case field(weak_links(small, 0.5, 3), false);
  host_fields of_h{field.ctx, spins}, of_d{field.ctx, spins / 2};
  const mode_search search{.modes = 10, .degree = 8, .block = 2, .most = 30};
  const mode_set<Field> here = field.modes(search);
  field.next = 0;
  const mode_set<Field> there = field.modes(search, nullptr, std::nullopt, std::ref(of_h));
  EXPECT_EQ(of_h.made, 1);
  ASSERT_EQ(there.values.size(), here.values.size());
  for (std::size_t i = 0; i < here.values.size(); ++i) EXPECT_NEAR(there.values[i], here.values[i], 1e-13);

  const sign_of_library sign = field.sign(here);
  const overlap_mode_search of_four{.modes = 4, .chirality = +1};
  const auto d_here = lowest_overlap_modes<library>(sign, field.fields(1), of_four, field.random(), 4);
  const auto d_there = lowest_overlap_modes<library>(sign, field.fields(1), of_four, field.random(), 4, nullptr,
                                                     std::nullopt, 0, {.as_double = std::ref(of_d)});
  EXPECT_EQ(of_d.made, 1);
  // A loose search needs a basis in single precision.
  int single_made = 0;
  const auto make_single = [&](int columns) {
    ++single_made;
    return InnerField(field.ctx, {spins / 2, colours, site_subset::full, columns});
  };
  const overlap_mode_search loose{.modes = 4, .tolerance = 1e-4, .chirality = +1};
  lowest_overlap_modes<library>(sign, field.fields(1), loose, field.random(), 4, nullptr, std::nullopt, 0,
                                {.as_double = std::ref(of_d), .as_single = make_single});
  EXPECT_EQ(single_made, 1);
  EXPECT_EQ(of_d.made, 1);
  for (const int chi : {+1, -1}) {
    ASSERT_EQ(d_there.of(chi).eigenvalues.size(), d_here.of(chi).eigenvalues.size());
    for (std::size_t i = 0; i < d_here.of(chi).eigenvalues.size(); ++i)
      EXPECT_NEAR(d_there.of(chi).eigenvalues[i], d_here.of(chi).eigenvalues[i], 1e-10);
  }
}

TEST(Propagators, are_those_of_the_dense_matrix_masses_together_and_apart) {
  overlap_case field(weak_links(small, 0.5, 4), false);
  const dense_overlap dense(dense_dirac(field.links, field.action));
  const mode_set<Field> modes = field.modes(12);
  const sign_of_library sign = field.sign(modes);
  const auto of_d = lowest_overlap_modes<library>(sign, field.fields(1), {.modes = 3}, field.random(), 4);
  const overlap_operator<sign_of_library> d(sign, rho);
  const std::vector<double> masses{0.05, 0.2, 0.5};
  Field b = field.fields(12);
  for (int c = 0; c < 12; ++c) import_column(b, c, point_source(small, {1, 0, 1, 2}, c / 3, c % 3));
  const dense_matrix right = columns_to_dense(b);
  const auto solved = [&](const std::vector<double>& list, overlap_scheme scheme) {
    std::vector<Field> x;
    for (std::size_t i = 0; i < list.size(); ++i) x.push_back(like(b));
    const overlap_solve_report report = solve_overlap(d, of_d, x, b, list, {.scheme = scheme});
    for (const overlap_mass_report& mass : report.masses) EXPECT_TRUE(mass.converged) << mass.mass;
    return x;
  };
  for (const overlap_scheme scheme : {overlap_scheme::relaxed, overlap_scheme::fixed, overlap_scheme::defect}) {
    const std::vector<Field> together = solved(masses, scheme);
    for (std::size_t i = 0; i < masses.size(); ++i) {
      const dense_matrix x = columns_to_dense(together[i]), residual = right - dense.massive(masses[i]) * x;
      EXPECT_LE(residual.colwise().norm().maxCoeff(), 1e-8);
      const std::vector<Field> apart = solved({masses[i]}, scheme);
      // Each is within tolerance / m of the solution.
      EXPECT_LE(distance(apart[0], together[i]), 2e-8 / masses[i]);
      // GMOR: Re tr b^+ S b = m sum |S b|^2.
      const dense_matrix s = (x - right / (2.0 * rho)) / (1.0 - 0.5 * masses[i] / rho);
      const double trace = (right.adjoint() * s).trace().real(), sum = s.squaredNorm();
      EXPECT_NEAR(trace / (masses[i] * sum), 1.0, 1e-6);
    }
  }
}

/// Takes the place of M^-1: 0, so that the preconditioner is a constant and steps with a cheap sign function.
sign_of_library::InnerField nothing(const sign_of_library::InnerField& r) {
  auto z = like(r);
  zero(z);
  return z;
}

TEST(Propagators, by_the_preconditioned_scheme_are_those_of_the_dense_matrix_whatever_the_preconditioner) {
  overlap_case field(weak_links(small, 0.5, 4), false);
  const dense_overlap dense(dense_dirac(field.links, field.action));
  const mode_set<Field> modes = field.modes(12);
  const sign_of_library sign = field.sign(modes);
  const overlap_operator<sign_of_library> d(sign, rho);
  overlap_mode_search coarse{.modes = 3, .tolerance = 1e-4};
  const auto of_d = lowest_overlap_modes<library>(sign, field.fields(1), coarse, field.random(), 4);
  const overlap_mode_set<Field> none{{detail::half_like(field.fields(1), 0)}, {detail::half_like(field.fields(1), 0)}};
  const std::vector<double> masses{0.05, 0.5};
  Field b = field.fields(3);
  for (int c = 0; c < 3; ++c) import_column(b, c, point_source(small, {1, 0, 1, 2}, c, c));
  scale(b, uniform_scalars(b, 7.0));
  Field of_none = view(b, 1, 1);
  zero(of_none);  // takes no step
  const dense_matrix right = columns_to_dense(b);
  constexpr double without_partners = 1e-11;
  const auto directions = [&](const overlap_mode_set<Field>& first, const overlap_preconditioner& preconditioner,
                              double coarse_sign_delta = 0.0) {
    std::vector<Field> x{like(b), like(b)};
    const overlap_solve_rule rule{.coarse_sign_delta = coarse_sign_delta, .preconditioner = preconditioner};
    const overlap_solve_report report = solve_overlap_preconditioned(d, first, x, b, masses, rule, nothing);
    for (std::size_t i = 0; i < masses.size(); ++i) {
      EXPECT_TRUE(report.masses[i].converged);
      const dense_matrix residual = right - dense.massive(masses[i]) * columns_to_dense(x[i]);
      EXPECT_LE(residual.colwise().norm().maxCoeff(), 7e-8);
      EXPECT_LE(*std::ranges::max_element(report.masses[i].residual), 1e-8);
    }
    return report.work.directions;
  };
  // Each column alone: a common space does a part of the modes' work.
  const double plain = directions(none, {.batch = 1});
  // Modes whose residuals are 1e4 times the tolerance help as they are: 18 for 20. Partners do a part of the modes'
  // work.
  EXPECT_LE(directions(of_d, {.batch = 1}), 0.95 * plain);
  EXPECT_LE(directions(none, {.inner_steps = 8, .batch = 1}),  // which have no partners
            0.85 * directions(none, {.batch = 1}, without_partners));
  directions(of_d, {});
  // A space that is full starts again from the true residual.
  EXPECT_GE(directions(none, {.directions = 8, .batch = 1}), plain);
  // Nor does it matter how inexact images are, where rounds from true residuals follow.
  directions(none, {.relaxation = 20.0, .modes_in_single = false});
}

TEST(Propagators, with_twenty_modes_of_both_chiralities_take_fewer_directions_however_accurate_they_are) {
  overlap_case field(weak_links(small, 0.5, 4), false);
  const mode_set<Field> modes = field.modes(12);
  const sign_of_library sign = field.sign(modes);
  const overlap_operator<sign_of_library> d(sign, rho);
  Field b = field.fields(3);
  for (int c = 0; c < 3; ++c) import_column(b, c, point_source(small, {1, 0, 1, 2}, c, c));
  const auto directions = [&](const overlap_mode_set<Field>& first) {
    std::vector<Field> x{like(b), like(b)};
    const overlap_solve_report report = solve_overlap_preconditioned(d, first, x, b, {0.02, 0.5}, {}, nothing);
    EXPECT_TRUE(report.masses[0].converged && report.masses[1].converged);
    EXPECT_EQ(report.work.corrections, 0);
    return report.work.directions;
  };
  const double plain = directions({{detail::half_like(field.fields(1), 0)}, {detail::half_like(field.fields(1), 0)}});
  for (const double tolerance : {1e-3, 1e-5, 1e-7}) {
    const auto of_d =
        lowest_overlap_modes<library>(sign, field.fields(1), {.modes = 20, .tolerance = tolerance}, field.random(), 4);
    EXPECT_LE(directions(of_d), 0.9 * plain) << tolerance;
  }
}

/// A sign function with memory for two columns in double precision.
struct narrow_sign : sign_of_library {
  explicit narrow_sign(const sign_of_library& sign) : sign_of_library(sign) {}
  using sign_of_library::apply;
  void apply(Field& y, const Field& x, double delta) const {
    if (x.columns() > 2) throw memory_error("none is left");
    sign_of_library::apply(y, x, delta);
  }
};

TEST(Propagators, are_judged_by_as_many_columns_at_once_as_there_is_memory_for) {
  overlap_case field(weak_links(small, 0.5, 4), false);
  const mode_set<Field> modes = field.modes(12);
  const narrow_sign sign(field.sign(modes));
  const overlap_operator<narrow_sign> d(sign, rho);
  const overlap_mode_set<Field> none{{detail::half_like(field.fields(1), 0)}, {detail::half_like(field.fields(1), 0)}};
  Field b = field.fields(1);
  import_column(b, 0, point_source(small, {1, 0, 1, 2}, 0, 0));
  const std::vector<double> masses{0.1, 0.2, 0.3, 0.4, 0.5};
  std::vector<Field> x;
  for (std::size_t i = 0; i < masses.size(); ++i) x.push_back(like(b));
  overlap_solve_rule rule{.tolerance = 1e-4};
  EXPECT_THROW(solve_overlap_preconditioned(d, none, x, b, masses, rule, nothing), memory_error);
  rule.may_shrink_batch = true;
  const overlap_solve_report report = solve_overlap_preconditioned(d, none, x, b, masses, rule, nothing);
  for (std::size_t i = 0; i < masses.size(); ++i) {
    EXPECT_TRUE(report.masses[i].converged);
    Field r = like(b), dx = like(b);
    d.apply_massive(dx, x[i], masses[i], 1e-9);
    EXPECT_LE(host_values(subtract_norm2(r, b, dx))[0].re, 1e-8 * host_values(norm2(b))[0].re);
  }
}

TEST(Propagators, have_directions_whose_images_keep_48_bits) {
  overlap_case field(weak_links(small, 0.5, 4), false);
  using single = sign_of_library::InnerField;
  Field z = field.fields(3), w = field.fields(3), x = field.fields(2), y = like(x);
  const auto fill = field.random();
  for (Field* some : {&z, &w, &x}) {
    fill(*some);
    normalise_columns(*some);
  }
  single rounded = like(z, 3, as<single>);
  convert(rounded, z);
  convert(z, rounded);
  const host_matrix c(3, 2, std::vector<complex<double>>{{1, 2}, {-1, 0}, {0, 3}, {2, 0}, {1, 1}, {0, -1}});
  for (const bool is_accurate : {true, false}) {
    direction_block<Field, single> block(z, 4, is_accurate);
    block.append(view(z, 0, 2), view(w, 0, 2));
    block.append(view(z, 2, 1), view(w, 2, 1));
    ASSERT_EQ(block.size, 3);
    const Field both = block.in_double(0, 3);
    EXPECT_EQ(distance(view(both, 0, 3), z), 0.0);
    const double least = is_accurate ? 0.0 : 1e-9, most = is_accurate ? 1e-14 : 1e-7;
    const auto expect_near = [&](double found) {
      EXPECT_GE(found, least);
      EXPECT_LE(found, most);
    };
    expect_near(distance(view(both, 3, 3), w));
    const host_matrix products = block.products(x), of_w = overlaps(w, x);
    double worst = 0.0;
    for (int j = 0; j < 2; ++j)
      for (int i = 0; i < 3; ++i) keep_largest(worst, std::sqrt(norm2(products(3 + i, j) - of_w(i, j))));
    EXPECT_LE(worst, most);
    copy(y, x);
    block.add(y, c, &c);
    Field expected = like(x);
    copy(expected, x);
    add_combinations(expected, z, c.numbers());
    add_combinations(expected, w, c.numbers());
    EXPECT_LE(distance(y, expected), 10.0 * most);
  }
}

TEST(Propagators, have_the_lowest_32_modes_of_a_chirality_as_first_directions) {
  overlap_case field(weak_links(small, 0.5, 4), false);
  const sign_of_library sign = field.sign(field.modes(12));
  const overlap_operator<sign_of_library> d(sign, rho);
  const Field shape = field.fields(1);
  overlap_mode_set<Field> modes{{detail::half_like(shape, most_modes_as_directions + 8)},
                                {detail::half_like(shape, 5)}};
  for (const int chi : {+1, -1}) {  // nothing is assumed of them
    Field& v = modes.of(chi).vectors;
    field.random()(v);
    normalise_columns(v);
  }
  preconditioned_work work;
  const auto first = first_directions(d, modes, shape, 0.1, work);
  ASSERT_EQ(first.size, most_modes_as_directions + 5);
  EXPECT_EQ(work.accurate_signs, first.size);
  for (const auto& [place, chi, number] :
       {std::tuple{0, +1, 0}, std::tuple{most_modes_as_directions - 1, +1, most_modes_as_directions - 1},
        std::tuple{most_modes_as_directions, -1, 0}, std::tuple{first.size - 1, -1, 4}}) {
    Field expected = field.fields(1), found = like(expected);
    zero(expected);
    put_chirality(expected, view(modes.of(chi).vectors, number, 1), chi);
    convert(found, view(first.z, place, 1));
    EXPECT_LE(distance(found, expected), 1e-7);
  }
}

TEST(Propagators, have_residuals_that_are_known_without_vectors) {
  overlap_case field(weak_links(small, 0.5, 4), false);
  const sign_of_library sign = field.sign(field.modes(12));
  const overlap_operator<sign_of_library> d(sign, rho);
  Field b = field.fields(2);
  field.random()(b);
  normalise_columns(b);
  constexpr double alpha = rho - 0.5 * 0.2, beta = 0.2;
  search_space<Field, sign_of_library::InnerField> space(
      direction_block<Field, sign_of_library::InnerField>(b, 0, true), true);
  residual_minimiser minimiser(alpha, beta), along(0.0, 1.0);
  host_matrix y(0, 2);
  std::vector<double> expected{1.0, 1.0};
  for (const int count : {3, 5}) {
    Field both = field.fields(2 * count), z = view(both, 0, count), w = view(both, count, count);
    sign_of_library::InnerField rounded = like(z, count, as<sign_of_library::InnerField>);
    field.random()(z);
    space.project(z, along);
    normalise_columns(z);
    convert(rounded, z);
    convert(z, rounded);
    d.apply(w, z, 1e-11);
    space.append(both, true);
    along.update(space);
    minimiser.update(space, along);
    host_matrix longer(space.dimension(), 2);
    set_block(longer, 0, 0, y);
    const auto [zb, wb] = space.products_with(b);
    const std::vector<double> gains = minimiser.gains(zb, wb, longer);
    y = minimiser.solve(zb, wb);
    host_matrix of_z = y, of_w = y;
    scale_columns(of_z, {-beta, -beta});
    scale_columns(of_w, {-alpha, -alpha});
    Field left = like(b);
    copy(left, b);
    space.add(left, of_z, &of_w);
    const auto squares = host_values(norm2(left));
    for (std::size_t c = 0; c < 2; ++c) {
      expected[c] -= gains[c];
      EXPECT_NEAR(squares[c].re, expected[c], 1e-12);
      EXPECT_GE(gains[c], 1e-3);
    }
  }
}

TEST(Propagators, inner_steps_leave_out_what_the_search_space_holds) {
  overlap_case field(weak_links(small, 0.5, 4), false);
  const mode_set<Field> modes = field.modes(12);
  const sign_of_library sign = field.sign(modes);
  const overlap_operator<sign_of_library> d(sign, rho);
  const auto of_d =
      lowest_overlap_modes<library>(sign, field.fields(1), {.modes = 3, .tolerance = 1e-4}, field.random(), 4);
  Field b = field.fields(2);
  for (int c = 0; c < 2; ++c) import_column(b, c, point_source(small, {1, 0, 1, 2}, c, c));
  constexpr double mass = 0.05;
  preconditioned_work work;
  const auto first = first_directions(d, of_d, b, 1e-9, work);
  Field both = first.in_double(0, first.size), images = view(both, first.size, first.size);
  scale(images, uniform_scalars(images, rho - 0.5 * mass));
  axpy(images, uniform_scalars(images, mass), view(both, 0, first.size));
  normalise_columns(images);
  double along = 0.0;  // images of D(m) of the space, of what inner steps start from
  const auto watched = [&](const sign_of_library::InnerField& r) {
    Field in = like(b, r.columns());
    convert(in, r);
    const auto squares = host_values(norm2(in));
    const host_matrix c = overlaps(images, in);
    for (int j = 0; j < c.columns(); ++j)
      for (int i = 0; i < c.rows(); ++i)
        keep_largest(along, std::hypot(c(i, j).re, c(i, j).im) / std::sqrt(squares[static_cast<std::size_t>(j)].re));
    return nothing(r);
  };
  std::vector<Field> x{like(b)};
  const overlap_solve_report report = solve_overlap_preconditioned(d, of_d, x, b, {mass}, {.tolerance = 1e-4}, watched);
  EXPECT_TRUE(report.masses[0].converged);
  EXPECT_LE(along, 1e-3);  // 4e-4, and 1e-2 where images keep them
}

TEST(Propagators, take_fewer_directions_where_each_has_a_partner) {
  overlap_case field(weak_links(small, 0.5, 4), false);
  const mode_set<Field> modes = field.modes(12);
  const sign_of_library sign = field.sign(modes);
  const overlap_operator<sign_of_library> d(sign, rho);
  const overlap_mode_set<Field> none{{detail::half_like(field.fields(1), 0)}, {detail::half_like(field.fields(1), 0)}};
  Field b = field.fields(1);
  import_column(b, 0, point_source(small, {1, 0, 1, 2}, 0, 0));
  const auto directions = [&](double coarse_sign_delta) {
    std::vector<Field> x{like(b), like(b)};
    const overlap_solve_rule rule{.coarse_sign_delta = coarse_sign_delta};
    const overlap_solve_report report = solve_overlap_preconditioned(d, none, x, b, {0.02, 0.2}, rule, nothing);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(report.masses[i].converged);
      Field r = like(b), dx = like(b);
      d.apply_massive(dx, x[i], report.masses[i].mass, 1e-11);
      EXPECT_LE(host_values(subtract_norm2(r, b, dx))[0].re, 1e-16 * host_values(norm2(b))[0].re);
    }
    EXPECT_EQ(report.work.corrections, 0);
    return report.work.directions;
  };
  EXPECT_LE(directions(0.0), 0.85 * directions(1e-11));  // 10 for 12
}

TEST(Propagators, of_columns_that_are_solved_for_together_take_fewer_directions) {
  overlap_case field(weak_links(small, 0.5, 4), false);
  const mode_set<Field> modes = field.modes(12);
  const sign_of_library sign = field.sign(modes);
  const overlap_operator<sign_of_library> d(sign, rho);
  const overlap_mode_set<Field> none{{detail::half_like(field.fields(1), 0)}, {detail::half_like(field.fields(1), 0)}};
  overlap_solve_rule rule{.tolerance = 1e-6, .coarse_sign_delta = 1e-11};  // without partners
  const auto directions = [&](const Field& b, int batch) {
    std::vector<Field> x{like(b)};
    rule.preconditioner.batch = batch;
    const overlap_solve_report report = solve_overlap_preconditioned(d, none, x, b, {0.05}, rule, nothing);
    EXPECT_TRUE(report.masses[0].converged);
    EXPECT_EQ(report.work.columns_at_once, batch);
    Field r = like(b), dx = like(b);
    d.apply_massive(dx, x[0], 0.05, 1e-9);
    const auto left = host_values(subtract_norm2(r, b, dx)), whole = host_values(norm2(b));
    for (std::size_t n = 0; n < left.size(); ++n) EXPECT_LE(left[n].re, 1e-12 * whole[n].re);
    return report.work.directions;
  };
  Field b = field.fields(4);
  for (int c = 0; c < 4; ++c) import_column(b, c, point_source(small, {1, 0, 1, 2}, c, c % 3));
  const double together = directions(b, 4);
  EXPECT_LE(together, 0.9 * directions(b, 1));  // 20 for 24
  {                                             // Inner steps and sign functions that take fewer at once find the same.
    int widest = 0;
    const auto of_few = [&](const auto& r) {
      widest = std::max(widest, r.columns());
      return nothing(r);
    };
    overlap_solve_rule narrow = rule;
    narrow.preconditioner.batch = 4;
    narrow.preconditioner.narrow = 3;
    std::vector<Field> x{like(b)};
    const overlap_solve_report report = solve_overlap_preconditioned(d, none, x, b, {0.05}, narrow, of_few);
    EXPECT_TRUE(report.masses[0].converged);
    EXPECT_EQ(widest, 3);
    EXPECT_NEAR(report.work.directions, together, 1.0);
  }
  // Columns that are equal, zero, or combinations of others make no directions of their own worth the name.
  Field equal = view(b, 1, 1), combination = view(b, 2, 1), zeros = view(b, 3, 1);
  copy(equal, view(b, 0, 1));
  axpy(combination, uniform_scalars(combination, 2.0), view(b, 0, 1));
  zero(zeros);
  EXPECT_LE(directions(b, 4), 0.8 * together);
  // Where memory runs out, fewer columns at once go on.
  const auto for_two = [](const auto& r) {
    if (r.columns() > 2) throw memory_error("none is left");
    return nothing(r);
  };
  rule.tolerance = 0.1;
  std::vector<Field> x{like(b)};
  EXPECT_THROW(solve_overlap_preconditioned(d, none, x, b, {0.05}, rule, for_two), memory_error);
  rule.may_shrink_batch = true;
  const overlap_solve_report report = solve_overlap_preconditioned(d, none, x, b, {0.05}, rule, for_two);
  EXPECT_TRUE(report.masses[0].converged);
  EXPECT_EQ(report.work.columns_at_once, 2);
  // Or a larger space does not fit, and the solve starts again from the residual.
  int calls = 0;
  const auto for_some_time = [&](const auto& r) {
    if (++calls == 4 * 4 + 2) throw memory_error("none is left");
    return nothing(r);
  };
  rule.tolerance = 1e-6;
  rule.preconditioner.batch = 4;
  const overlap_solve_report restarted = solve_overlap_preconditioned(d, none, x, b, {0.05}, rule, for_some_time);
  EXPECT_TRUE(restarted.masses[0].converged);
  EXPECT_GE(restarted.masses[0].corrections, 1);
  EXPECT_EQ(restarted.work.columns_at_once, 4);
}

/// sum_l weights[l] H (H^2 + shifts[l])^-1 b of a matrix H whose zeros are left out, by conjugate gradients whose
/// result is proved.
class matrix_rational {
 public:
  matrix_rational(const dense_matrix& h, zolotarev_function f) : h_(h.sparseView()), f_(std::move(f)) {}
  dense_matrix operator()(const dense_matrix& b) const {
    dense_matrix sum = dense_matrix::Zero(b.rows(), b.cols());
    for (std::size_t l = 0; l < f_.shifts.size(); ++l)
      for (Eigen::Index c = 0; c < b.cols(); ++c) sum.col(c) += f_.weights[l] * solved(f_.shifts[l], b.col(c));
    return h_ * sum;
  }

 private:
  using vector = Eigen::VectorXcd;
  vector solved(double shift, const vector& b) const {
    const auto of = [&](const vector& v) -> vector { return h_ * vector(h_ * v) + shift * v; };
    vector x = vector::Zero(b.size()), r = b, p = b;
    double rr = r.squaredNorm();
    const double end = 1e-28 * rr;
    constexpr int limit = 20000;
    for (int steps = 0; rr > end && steps < limit; ++steps) {
      const vector ap = of(p);
      const double alpha = rr / p.dot(ap).real();
      x += alpha * p;
      r -= alpha * ap;
      const double before = std::exchange(rr, r.squaredNorm());
      p = r + rr / before * p;
    }
    EXPECT_LE((b - of(x)).norm(), 1e-12 * b.norm());
    return x;
  }

  Eigen::SparseMatrix<std::complex<double>, Eigen::RowMajor> h_;
  zolotarev_function f_;
};

/// |b - D(m) x| of the worst column, of a sign function that errs far beyond the tolerance: it is solved as it is.
double residual_of_a_coarse_sign(const extents& geometry, int poles, double lowest, double highest, double tolerance) {
  overlap_case field(weak_links(geometry, 0.3, 4), false);
  const mode_set<Field> none{field.fields(0)};
  const sign_of_library sign(field.kernel, none.vectors, {},
                             {.method = sign_method::zolotarev, .lowest = lowest, .highest = highest, .poles = poles});
  const overlap_mode_set<Field> no_modes{{detail::half_like(field.fields(1), 0)},
                                         {detail::half_like(field.fields(1), 0)}};
  const overlap_operator<sign_of_library> d(sign, rho);
  Field b = field.fields(2);
  for (int c = 0; c < 2; ++c) import_column(b, c, point_source(geometry, {1, 0, 1, 2}, 2 * c, c));
  std::vector<Field> x{like(b)};
  const double mass = 0.3;
  const overlap_solve_report report =
      solve_overlap_as_given(d, no_modes, x, b, {mass}, {.tolerance = tolerance}, 1e-3 * tolerance);
  EXPECT_TRUE(report.masses[0].converged);
  dense_matrix h = dense_dirac(field.links, field.action);
  const auto times_gamma5 = [](dense_matrix a) {
    a.bottomRows(a.rows() / 2) *= -1.0;
    return a;
  };
  const matrix_rational of_h(times_gamma5(std::move(h)), sign.rational(1.0));
  const dense_matrix right = columns_to_dense(b), y = columns_to_dense(x[0]);
  const auto residual_of = [&](const dense_matrix& z) -> dense_matrix {
    return right - (rho - 0.5 * mass) * (z + times_gamma5(of_h(z))) - mass * z;
  };
  const dense_matrix residual = residual_of(y);
  // The preconditioned scheme takes no short cut.
  std::vector<Field> preconditioned{like(b)};
  const overlap_solve_rule as_given{.tolerance = tolerance, .coarse_sign_delta = 1e-3 * tolerance};
  const auto found = solve_overlap_preconditioned(d, no_modes, preconditioned, b, {mass}, as_given, nothing);
  EXPECT_TRUE(found.masses[0].converged);
  EXPECT_EQ(found.work.corrections, 0);  // which directions with partners of such a sign function would take
  EXPECT_LE(residual_of(columns_to_dense(preconditioned[0])).colwise().norm().maxCoeff(), tolerance);
  // The short cuts alone are off by the error of the sign function.
  std::vector<Field> off{like(b)};
  solve_overlap(d, no_modes, off, b, {mass}, {.tolerance = tolerance});
  EXPECT_GE(distance(off[0], x[0]), 10.0 * tolerance);
  return residual.colwise().norm().maxCoeff();
}

TEST(Propagators, of_a_coarse_sign_function_are_those_of_that_operator) {
  EXPECT_LE(residual_of_a_coarse_sign(small, 6, 0.1, 6.58, 1e-9), 1e-9);
  EXPECT_LE(residual_of_a_coarse_sign(small, 2, 0.66, 6.46357, 1e-9), 1e-9);
}

TEST(Propagators, of_a_coarse_sign_function_on_4444_are_those_of_that_operator) {
  const extents hypercube{4, 4, 4, 4};
  EXPECT_LE(residual_of_a_coarse_sign(hypercube, 2, 0.66, 6.46357, 1e-9), 1e-9);
  EXPECT_LE(residual_of_a_coarse_sign(hypercube, 6, 0.1, 6.58, 1e-9), 1e-9);
}

}  // namespace
}  // namespace plaquette::validation
