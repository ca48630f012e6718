// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The identities that make a coarse lattice: P^+ P = 1, P P^+ v = v, Mhat = P^+ M P, gamma_5 Mhat gamma_5 = Mhat^+,
/// and the identities of its red-black complement.
#include "validation/multigrid/coarse_setting.hpp"
#include "validation/support/actions.hpp"
#include "validation/support/dense_dirac.hpp"

namespace plaquette::validation {
namespace {

struct coarse_case {
  extents lattice, aggregate;
  int vectors;
  int action;  ///< of typical_actions()
};
void PrintTo(const coarse_case& c, std::ostream* out) {
  *out << to_string(c.lattice) << " by " << to_string(c.aggregate) << ", " << c.vectors << " vectors";
}

class CoarseLattice : public testing::TestWithParam<coarse_case> {
 protected:
  coarse_setting setting{cpu::context(lattice_geometry(GetParam().lattice), communicator()),
                         typical_actions()[static_cast<std::size_t>(GetParam().action)].action, GetParam().aggregate,
                         GetParam().vectors};
};

TEST_P(CoarseLattice, RestrictionUndoesProlongation) {
  for (const int columns : {1, 5}) {
    const auto c = setting.random_coarse(columns, 3);
    auto fine = random_fine_field(setting.ctx, columns, 99);
    setting.p.prolong(fine, c);
    auto back = like(c);
    poison(back);
    setting.p.restrict_to(back, fine);
    EXPECT_TRUE(distance(back, c) <= single_precision_bound) << distance(back, c);
  }
}

TEST_P(CoarseLattice, ProjectionKeepsTheNullVectors) {
  auto c = setting.p.coarse_like(setting.seeds.columns());
  setting.p.restrict_to(c, setting.seeds);
  auto projected = like(setting.seeds);
  setting.p.prolong(projected, c);
  EXPECT_TRUE(distance(projected, setting.seeds) <= single_precision_bound) << distance(projected, setting.seeds);
}

TEST_P(CoarseLattice, OperatorIsThatOfTheFineLatticeBetweenProlongations) {
  const auto eta = setting.random_coarse(3, 4);
  auto fine = random_fine_field(setting.ctx, 3, 99);
  auto m_fine = like(fine);
  setting.p.prolong(fine, eta);
  setting.fine.apply(m_fine, fine);
  auto expected = like(eta), found = like(eta);
  poison(expected), poison(found);
  setting.p.restrict_to(expected, m_fine);
  setting.coarse.apply(found, eta);
  EXPECT_TRUE(distance(found, expected) <= single_precision_bound) << distance(found, expected);
}

TEST_P(CoarseLattice, DaggerIsTheAdjoint) {
  const auto x = setting.random_coarse(2, 5), y = setting.random_coarse(2, 6);
  auto mx = like(x), m_dagger_y = like(x);
  setting.coarse.apply(mx, x);
  setting.coarse.apply_dagger(m_dagger_y, y);
  const auto left = host_values(dot(y, mx)), right = host_values(dot(m_dagger_y, x)), size = host_values(norm2(mx));
  for (std::size_t c = 0; c < left.size(); ++c)
    EXPECT_TRUE(std::sqrt(norm2(left[c] - right[c])) <= single_precision_bound * size[c].re);
}

TEST_P(CoarseLattice, EvenFieldsAreFullOnesWithZerosOnOddSites) {
  auto full = random_fine_field(setting.ctx, 2, 7);
  auto odd = full.parity(1);
  const auto even = full.parity(0);
  auto all = setting.p.coarse_like(2), of_even = like(all), of_odd = like(all);
  setting.p.restrict_to(all, full);
  setting.p.restrict_to(of_even, even);
  zero(odd);
  setting.p.restrict_to(of_odd, full);
  EXPECT_TRUE(distance(of_even, of_odd) == 0.0);
  EXPECT_TRUE(distance(of_even, all) > 0.1);
  auto prolonged = like(full);
  setting.p.prolong(prolonged, all);
  cpu::field<double> some(setting.ctx, {spins, colours, site_subset::even, 2});
  copy(some, even);
  setting.p.add_prolonged(some, all);
  axpy(some, uniform_scalars(some, -1.0), even);
  EXPECT_TRUE(distance(some, prolonged.parity(0)) <= 1e-14);
}

TEST_P(CoarseLattice, SchurComplementSolvesTheWholeSystem) {
  const cpu::coarse_schur<double> schur(setting.ctx, setting.numbers);
  const auto x = setting.random_coarse(3, 8);
  auto b = like(x);
  setting.coarse.apply(b, x);
  // Mhat x_e = the prepared source, and x from x_e.
  auto source = schur.solved_field(3), mx = like(source), x_even = like(source);
  if (source.shape().sites == site_subset::full)
    copy(x_even, x);
  else
    copy(x_even, x.parity(0));
  poison(source), poison(mx);
  schur.prepare_source(source, b);
  schur.apply(mx, x_even);
  // Products with X^-1 multiply rounding of the source by about |X^-1| |M|, below 50 here.
  EXPECT_TRUE(distance(mx, source) <= 50 * 1e-15 * 100) << distance(mx, source);
  auto again = like(x);
  poison(again);
  schur.reconstruct_solution(again, x_even, b);
  EXPECT_TRUE(distance(again, x) <= 50 * 1e-15 * 100) << distance(again, x);

  // The full residual of a red-black residual r is X_ee r on even sites and zero on odd ones.
  auto zeros = like(x), guess = like(x), m_guess = like(x);
  zero(zeros);
  schur.reconstruct_solution(guess, x_even, zeros);
  setting.coarse.apply(m_guess, guess);
  auto full = like(mx);
  schur.full_residual(full, mx);
  if (source.shape().sites != site_subset::full) {
    EXPECT_TRUE(distance(full, m_guess.parity(0)) <= 5e-12);
    EXPECT_TRUE(host_values(norm2(m_guess.parity(1)))[0].re <= 1e-24 * host_values(norm2(m_guess))[0].re);
  }
  // And the adjoint.
  auto y = like(source), m_dagger_y = like(source);
  fill_random(y, 12, 0);
  schur.apply_dagger(m_dagger_y, y);
  const auto left = host_values(dot(y, mx)), right = host_values(dot(m_dagger_y, x_even));
  for (std::size_t c = 0; c < left.size(); ++c)
    EXPECT_TRUE(std::sqrt(norm2(left[c] - right[c])) <= single_precision_bound * host_values(norm2(mx))[c].re);
}

TEST_P(CoarseLattice, SchurComplementOfATwistSolvesTheWholeSystem) {
  const coarse_matrices twisted = with_twist(setting.numbers, 0.4);
  const cpu::coarse_operator<double> full(setting.ctx, twisted);
  const cpu::coarse_schur<double> schur(setting.ctx, twisted);
  const auto x = setting.random_coarse(3, 8);
  auto b = like(x), again = like(x);
  full.apply(b, x);
  auto source = schur.solved_field(3), mx = like(source), x_even = like(source), residual = like(source);
  if (source.shape().sites == site_subset::full)
    copy(x_even, x);
  else
    copy(x_even, x.parity(0));
  poison(source), poison(mx), poison(again), poison(residual);
  schur.prepare_source(source, b);
  schur.apply(mx, x_even);
  EXPECT_TRUE(distance(mx, source) <= 50 * 1e-15 * 100) << distance(mx, source);
  schur.reconstruct_solution(again, x_even, b);
  EXPECT_TRUE(distance(again, x) <= 50 * 1e-15 * 100) << distance(again, x);
  // X_ee times the red-black source of b is b itself, if b is zero on odd sites.
  if (source.shape().sites == site_subset::full) return;
  auto b_odd = b.parity(1);
  zero(b_odd);
  schur.prepare_source(source, b);
  schur.full_residual(residual, source);
  EXPECT_TRUE(distance(residual, b.parity(0)) <= 50 * 1e-15 * 100) << distance(residual, b.parity(0));
}

/// Largest |a - b| of all numbers.
double largest_difference(const coarse_matrices& a, const coarse_matrices& b) {
  double worst = 0.0;
  for (std::size_t k = 0; k < a.numbers.size(); ++k) {
    const double d = std::sqrt(norm2(a.numbers[k] - b.numbers[k]));
    if (!(d <= worst)) worst = d;
  }
  return worst;
}

TEST_P(CoarseLattice, TwistOfTheNextLatticeIsTheSame) {
  const coarse_geometry& geometry = setting.numbers.geometry;
  extents aggregate{};
  for (int mu = 0; mu < dimensions; ++mu) aggregate[mu] = geometry.local()[mu] % 2 == 0 ? 2 : 1;
  auto seeds = setting.random_coarse(3, 31);
  const auto vectors = setting.orthonormal(cpu::gathered(seeds, aggregates(geometry, coarsened(geometry, aggregate))));
  const auto plain = cpu::galerkin_product(setting.ctx, setting.numbers, vectors);
  const auto twisted = cpu::galerkin_product(setting.ctx, with_twist(setting.numbers, 0.4), vectors);
  // Numbers of P^+ M P are up to about 8.
  EXPECT_LE(largest_difference(twisted, with_twist(plain, 0.4)), 8 * single_precision_bound);
  EXPECT_GE(largest_difference(twisted, plain), 0.39);
}

TEST_P(CoarseLattice, NextLatticeIsThatOfBothProlongations) {
  const coarse_geometry& geometry = setting.numbers.geometry;
  extents aggregate{};
  for (int mu = 0; mu < dimensions; ++mu) aggregate[mu] = geometry.local()[mu] % 2 == 0 ? 2 : 1;
  auto seeds = setting.random_coarse(3, 31);
  auto vectors = setting.orthonormal(cpu::gathered(seeds, aggregates(geometry, coarsened(geometry, aggregate))));
  const auto numbers = cpu::galerkin_product(setting.ctx, setting.numbers, vectors);
  const cpu::transfer<double> p2(setting.ctx, vectors);
  const cpu::coarse_operator<double> coarsest(setting.ctx, numbers);
  auto eta = p2.coarse_like(2);
  fill_random(eta, 5, 0);
  auto middle = setting.p.coarse_like(2), m_middle = like(middle);
  auto fine = random_fine_field(setting.ctx, 2, 99), m_fine = like(fine);
  p2.prolong(middle, eta);
  setting.p.prolong(fine, middle);
  setting.fine.apply(m_fine, fine);
  setting.p.restrict_to(m_middle, m_fine);
  auto expected = like(eta), found = like(eta);
  p2.restrict_to(expected, m_middle);
  coarsest.apply(found, eta);
  EXPECT_TRUE(distance(found, expected) <= 4 * single_precision_bound) << distance(found, expected);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, CoarseLattice,
    testing::Values(coarse_case{{4, 4, 4, 8}, {2, 2, 2, 2}, 4, 1}, coarse_case{{4, 4, 4, 4}, {4, 2, 1, 2}, 5, 5},
                    coarse_case{{4, 4, 4, 4}, {4, 4, 4, 4}, 6, 3}, coarse_case{{6, 6, 6, 4}, {3, 3, 3, 2}, 9, 4},
                    coarse_case{{4, 6, 4, 4}, {2, 2, 4, 1}, 8, 0}, coarse_case{{10, 4, 2, 8}, {5, 2, 2, 8}, 12, 2},
                    // Odd extents of the coarse lattice, long aggregates, and a basis of all that an aggregate holds.
                    coarse_case{{10, 10, 2, 4}, {2, 2, 1, 1}, 6, 1}, coarse_case{{6, 6, 6, 4}, {2, 2, 2, 2}, 4, 3},
                    coarse_case{{10, 10, 2, 8}, {5, 5, 2, 8}, 12, 0}, coarse_case{{4, 2, 2, 4}, {2, 1, 1, 1}, 12, 2}));

/// A coarse field of all unit vectors, one a column.
cpu::coarse_field<double> unit_vectors(const cpu::transfer<double>& p) {
  const cpu::coarse_field<double> one = p.coarse_like(1);
  const std::size_t size = static_cast<std::size_t>(one.sites() * one.components());
  cpu::coarse_field<double> all = p.coarse_like(static_cast<int>(size));
  for (std::size_t k = 0; k < size; ++k) {
    std::vector<complex<double>> numbers(size);
    numbers[k] = {1.0, 0.0};
    import_column(all, static_cast<int>(k), std::span<const complex<double>>(numbers));
  }
  return all;
}

dense_matrix dense(const cpu::coarse_field<double>& columns) {
  std::vector<complex<double>> numbers(static_cast<std::size_t>(columns.sites() * columns.components()));
  dense_matrix m(static_cast<Eigen::Index>(numbers.size()), columns.columns());
  for (int c = 0; c < columns.columns(); ++c) {
    export_column(std::span(numbers), columns, c);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      m(static_cast<Eigen::Index>(i), c) = {numbers[i].re, numbers[i].im};
  }
  return m;
}

/// As matrices: M from the formula by Kronecker products, P and Mhat column by column.
TEST(CoarseOperator, IsTheDenseMatrixBetweenDenseProlongations) {
  const cpu::context ctx(lattice_geometry({4, 4, 2, 2}), communicator());
  for (const extents& aggregate : {extents{2, 2, 1, 1}, extents{2, 4, 2, 1}})
    for (const int action : {1, 5}) {
      const coarse_setting s(ctx, typical_actions()[static_cast<std::size_t>(action)].action, aggregate, 3);
      const auto units = unit_vectors(s.p);
      cpu::field<double> prolonged(ctx, {spins, colours, site_subset::full, units.columns()});
      auto image = like(units);
      s.p.prolong(prolonged, units);
      s.coarse.apply(image, units);
      const dense_matrix m = dense_dirac(s.links, s.action), m_hat = dense(image);
      dense_matrix p(m.rows(), m_hat.cols());
      spinor_configuration column(ctx.geometry());
      for (int c = 0; c < units.columns(); ++c) {
        export_column(column, prolonged, c);
        p.col(c) = to_dense(column);
      }
      EXPECT_TRUE((m_hat - p.adjoint() * m * p).norm() <= single_precision_bound * m_hat.norm());
      EXPECT_TRUE((p.adjoint() * p - dense_matrix::Identity(p.cols(), p.cols())).norm() <=
                  single_precision_bound * std::sqrt(p.cols()));
      // gamma_5 is +1 on the first half of a site's numbers: gamma_5 Mhat is Hermitian, Mhat is not.
      dense_matrix h = m_hat;
      const Eigen::Index n = image.components();
      for (Eigen::Index row = 0; row < h.rows(); ++row)
        if (row % n >= n / 2) h.row(row) *= -1.0;
      EXPECT_TRUE((h - h.adjoint()).norm() <= single_precision_bound * h.norm());
      EXPECT_FALSE((m_hat - m_hat.adjoint()).norm() <= 1e-3 * h.norm());
      // An error made of columns of P is all removed by the correction from the coarse lattice.
      const dense_matrix left = p - p * m_hat.partialPivLu().solve(p.adjoint() * m * p);
      EXPECT_TRUE(left.norm() <= 100.0 * single_precision_bound * p.norm()) << left.norm();
    }
}

/// P^+ (M + i mu gamma_5) P, all of it from formulas, and the hermiticity that is left.
TEST(CoarseOperator, OfATwistIsTheDenseMatrixBetweenDenseProlongations) {
  const cpu::context ctx(lattice_geometry({4, 4, 2, 2}), communicator());
  const coarse_setting s(ctx, typical_actions()[5].action, {2, 2, 1, 1}, 3);
  const auto units = unit_vectors(s.p);
  cpu::field<double> prolonged(ctx, {spins, colours, site_subset::full, units.columns()});
  s.p.prolong(prolonged, units);
  dense_matrix p(spins * colours * ctx.geometry().local_volume(), units.columns());
  spinor_configuration column(ctx.geometry());
  for (int c = 0; c < units.columns(); ++c) {
    export_column(column, prolonged, c);
    p.col(c) = to_dense(column);
  }
  for (const double mu : {0.3, -0.3}) {
    dense_matrix m = dense_dirac(s.links, s.action);
    for (Eigen::Index k = 0; k < m.rows(); ++k) m(k, k) += std::complex<double>(0.0, k < m.rows() / 2 ? mu : -mu);
    auto image = like(units);
    cpu::coarse_operator<double>(ctx, with_twist(s.numbers, mu)).apply(image, units);
    const dense_matrix expected = p.adjoint() * m * p;
    EXPECT_TRUE((dense(image) - expected).norm() <= single_precision_bound * expected.norm());
    s.coarse.apply(image, units);
    EXPECT_TRUE((dense(image) - expected).norm() >= 0.01 * expected.norm());
  }
}

/// M of domains by themselves: the dense matrix without couplings of sites of different ones.
TEST(Domains, AreTheOperatorWithoutHopsBetweenThem) {
  const cpu::context ctx(lattice_geometry({4, 4, 4, 2}), communicator());
  const extents shape{2, 1, 2, 1};
  const auto links = cpu::weak_field_configuration(ctx.geometry(), 0.3, 11, ctx.comm());
  const auto action = typical_actions()[5].action;
  const cpu::wilson_clover<double> whole(ctx, links, action), inside(whole, links_inside_domains(links, shape));
  dense_matrix m = dense_dirac(links, action);
  const std::int64_t sites = ctx.geometry().local_volume();
  const auto domain = [&](Eigen::Index row) {
    coordinate x = ctx.geometry().local_coordinate(row / colours % sites);
    for (int mu = 0; mu < dimensions; ++mu) x[mu] /= shape[mu];
    return x;
  };
  for (Eigen::Index j = 0; j < m.cols(); ++j)
    for (Eigen::Index i = 0; i < m.rows(); ++i)
      if (domain(i) != domain(j)) m(i, j) = 0.0;
  const auto in = random_fine_field(ctx, 2, 3);
  auto out = like(in);
  inside.apply(out, in);
  spinor_configuration from(ctx.geometry()), to(ctx.geometry());
  for (int c = 0; c < 2; ++c) {
    export_column(from, in, c);
    export_column(to, out, c);
    const dense_vector expected = m * to_dense(from);
    EXPECT_TRUE((to_dense(to) - expected).norm() <= 1e-14 * expected.norm());
  }
}

/// Two colours make up the lattice, and the operator of domains leads from neither to the other.
template <class Field>
void expect_domains(const schwarz_domains<Field>& domains, const any_operator<Field>& whole, const Field& x,
                    double bound) {
  Field parts[2] = {like(x), like(x)}, sum = like(x), image = like(x), part_of_image = like(x), outside = like(x);
  domains.inside.apply(image, x);
  whole.apply(outside, x);
  EXPECT_TRUE(distance(image, outside) >= 10 * bound) << distance(image, outside) << ": nothing was cut";
  for (int colour : {0, 1}) {
    domains.colours[static_cast<std::size_t>(colour)].apply(parts[colour], x);
    EXPECT_TRUE(distance(parts[colour], x) >= 0.3);
    domains.colours[static_cast<std::size_t>(colour)].apply(part_of_image, image);
    domains.inside.apply(outside, parts[colour]);
    EXPECT_TRUE(distance(outside, part_of_image) <= bound) << colour;
  }
  copy(sum, parts[0]);
  axpy(sum, uniform_scalars(sum, 1.0), parts[1]);
  EXPECT_TRUE(distance(sum, x) <= bound);
}

TEST(Domains, OfTwoColoursDoNotTouch) {
  const auto action = typical_actions()[3].action;
  const coarse_setting s(cpu::context(lattice_geometry({8, 4, 4, 8}), communicator()), action, {2, 2, 2, 2}, 4);
  const auto links = std::make_shared<gauge_configuration>(s.links);
  const cpu::multigrid_library library(s.ctx, links, action);
  auto quarks = library.even_field(3);
  library.restrict_to_even(quarks, library.random_fine_field(3, 8));
  expect_domains(library.fine_domains(*library.system(), {2, 2, 4, 4}),
                 any_operator<cpu::field<float>>(*library.system()), quarks, 1e-6);
  cpu::field<half> halves(s.ctx, quarks.shape());
  convert(halves, quarks);
  const auto low = std::make_shared<const cpu::wilson_clover<half>>(s.ctx, s.links, action);
  const cpu::schur_wilson_clover<half> schur(low, schur_kind::asymmetric);
  // 16 bits of the largest number of a site, several times.
  expect_domains(library.fine_domains(schur, {2, 2, 4, 4}), any_operator<cpu::field<half>>(schur), halves, 3e-4);

  const cpu::coarse_schur<float> coarse(s.ctx, s.numbers);
  auto working = coarse.solved_field(2);
  fill_random(working, 5, 0);
  for (const extents& shape : {extents{2, 1, 2, 2}, extents{1, 1, 1, 2}})
    expect_domains(library.coarse_domains(s.numbers, shape),
                   any_operator<cpu::coarse_field<float>>(cpu::coarse_schur<float>(s.ctx, s.numbers)), working, 1e-6);
}

TEST(NullVectors, ThatAddNothingAreReplaced) {
  const cpu::context ctx(lattice_geometry({4, 4, 4, 4}), communicator());
  auto v = random_fine_field(ctx, 3, 1);
  const int from[] = {0}, to[] = {2};
  copy_columns(v, std::span<const int>(to), v, std::span<const int>(from));
  auto vectors = cpu::gathered(v, aggregates(ctx.geometry(), coarsened(ctx.geometry(), {2, 2, 2, 2})));
  const auto found = cpu::orthonormalise(vectors, ctx);
  EXPECT_EQ(found.replaced(), 16 * 2);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(found.is_useless(k), k == 2) << k;
  const cpu::transfer<double> p(ctx, vectors);
  auto c = p.coarse_like(1), back = like(c);
  fill_random(c, 1, 0);
  auto fine = random_fine_field(ctx, 1, 2);
  p.prolong(fine, c);
  p.restrict_to(back, fine);
  EXPECT_TRUE(distance(back, c) <= single_precision_bound);
}

TEST(NullVectors, MayNotBeMoreThanAnAggregateHasNumbers) {
  const cpu::context ctx(lattice_geometry({4, 4, 4, 4}), communicator());
  auto vectors =
      cpu::gathered(random_fine_field(ctx, 7, 1), aggregates(ctx.geometry(), coarsened(ctx.geometry(), {1, 1, 1, 1})));
  EXPECT_THROW(cpu::orthonormalise(vectors, ctx), input_error);
  EXPECT_THROW(coarsened(ctx.geometry(), {3, 2, 2, 2}), input_error);
}

/// Constant vectors of each spin and colour: with unit links and periodic boundaries the coarse constant has the mass
/// for an eigenvalue.
TEST(NullVectors, OfTheFreeFieldGiveTheMass) {
  const cpu::context ctx(lattice_geometry({4, 4, 4, 8}), communicator());
  const double mass = 0.17;
  const fermion_action action = periodic(fermion_action::isotropic(mass, 1.0));
  cpu::field<double> v(ctx, {spins, colours, site_subset::full, 6});
  for (int k = 0; k < 6; ++k) {
    spinor_configuration constant(ctx.geometry());
    for (std::int64_t s = 0; s < ctx.geometry().local_volume(); ++s)
      for (int spin : {k / 3, 2 + k / 3}) constant.at_site(s)(spin, k % 3) = {1.0, 0.0};
    import_column(v, k, constant);
  }
  auto vectors = cpu::gathered(v, aggregates(ctx.geometry(), coarsened(ctx.geometry(), {2, 2, 2, 4})));
  cpu::orthonormalise(vectors, ctx);
  const auto numbers = cpu::galerkin_product(ctx, cpu::unit_configuration(ctx.geometry()), action, vectors);
  const cpu::coarse_operator<double> m(ctx, numbers);
  const cpu::transfer<double> p(ctx, vectors);
  auto constant = p.coarse_like(1), image = like(constant);
  p.restrict_to(constant, view(v, 0, 1));
  m.apply(image, constant);
  scale(constant, uniform_scalars(constant, mass));
  // Rounding of numbers of size 4 that leave the mass.
  EXPECT_TRUE(distance(image, constant) <= single_precision_bound * 4.0 / mass) << distance(image, constant);
}

/// Each operation against loops over numbers, on a view of some columns of a field of odd sites.
TEST(CoarseFields, OperationsAreTheirFormulas) {
  const cpu::context ctx(lattice_geometry({4, 4, 4, 8}), communicator());
  const auto geometry = std::make_shared<const coarse_geometry>(coarsened(ctx.geometry(), {2, 2, 2, 2}));
  using Field = cpu::coarse_field<double>;
  const auto fresh = [&](std::uint64_t seed) {
    Field whole(ctx, geometry, {2, 5, site_subset::full, 4});
    fill_random(whole, seed, 0);
    return view(whole.parity(1), 1, 3);
  };
  const auto numbers = [&](const Field& x) {
    std::vector<complex<double>> all;
    for (int c = 0; c < x.columns(); ++c) {
      std::vector<complex<double>> column(static_cast<std::size_t>(x.sites() * x.components()));
      export_column(std::span(column), x, c);
      all.insert(all.end(), column.begin(), column.end());
    }
    return all;
  };
  const complex<double> a[] = {{0.5, 1.0}, {-1.5, 0.25}, {2.0, -0.75}};
  const complex<double> b[] = {{1.5, -1.0}, {0.5, 0.125}, {-2.0, 0.5}};
  const complex<double> c[] = {{0.25, 2.0}, {1.0, 1.0}, {-1.0, 0.5}};
  const Field u = fresh(1), v = fresh(2);
  const auto U = numbers(u), V = numbers(v);
  const auto A = make_scalars(u, std::span<const complex<double>>(a)),
             B = make_scalars(u, std::span<const complex<double>>(b)),
             C = make_scalars(u, std::span<const complex<double>>(c));
  const std::size_t n = U.size() / 3;
  const auto same = [&](const Field& x, const auto& formula, const char* what) {
    const auto found = numbers(x);
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_TRUE(std::sqrt(norm2(found[i] - formula(i, i / n))) <= 1e-13) << what;
  };
  const auto sums = [&](const cpu::scalars& found, const auto& term, const char* what) {
    for (std::size_t k = 0; k < 3; ++k) {
      complex<double> sum{};
      for (std::size_t i = k * n; i < (k + 1) * n; ++i) sum += term(i, k);
      EXPECT_TRUE(std::sqrt(norm2(found[static_cast<int>(k)] - sum)) <= 1e-11) << what;
    }
  };
  sums(dot(u, v), [&](std::size_t i, std::size_t) { return conj(U[i]) * V[i]; }, "dot");
  sums(norm2(u), [&](std::size_t i, std::size_t) { return conj(U[i]) * U[i]; }, "norm2");
  Field x = fresh(3), y = fresh(4), z = fresh(5);
  auto X = numbers(x);
  axpy(x, A, u);
  same(x, [&](std::size_t i, std::size_t k) { return X[i] + a[k] * U[i]; }, "axpy");
  X = numbers(x);
  xpay(x, u, A);
  same(x, [&](std::size_t i, std::size_t k) { return U[i] + a[k] * X[i]; }, "xpay");
  X = numbers(x);
  axpy_pair(x, A, u, B, v);
  same(x, [&](std::size_t i, std::size_t k) { return X[i] + a[k] * U[i] + b[k] * V[i]; }, "axpy_pair");
  sums(
      subtract_norm2(x, u, v), [&](std::size_t i, std::size_t) { return conj(U[i] - V[i]) * (U[i] - V[i]); },
      "subtract_norm2");
  X = numbers(x);
  auto Y = numbers(y);
  sums(
      cg_update(x, y, A, u, v),
      [&](std::size_t i, std::size_t k) {
        const auto w = Y[i] - a[k] * V[i];
        return conj(w) * w;
      },
      "cg_update");
  same(x, [&](std::size_t i, std::size_t k) { return X[i] + a[k] * U[i]; }, "cg_update x");
  X = numbers(x), Y = numbers(y);
  const auto Z = numbers(z);
  sums(
      bicgstab_step(x, y, z, A, B, C, u, v),
      [&](std::size_t i, std::size_t k) {
        const auto w = Y[i] - b[k] * U[i];
        return conj(w) * w;
      },
      "bicgstab_step");
  same(x, [&](std::size_t i, std::size_t k) { return X[i] + a[k] * Z[i] + b[k] * Y[i]; }, "bicgstab_step x");
  same(
      z, [&](std::size_t i, std::size_t k) { return Y[i] - b[k] * U[i] + c[k] * (Z[i] - b[k] * V[i]); },
      "bicgstab_step z");
  X = numbers(x);
  const auto [d, d2] = axpy_dot_norm2(x, A, u, v);
  sums(d, [&](std::size_t i, std::size_t k) { return conj(V[i]) * (X[i] + a[k] * U[i]); }, "axpy_dot_norm2");
  const auto [e, e2] = dot_norm2(u, v);
  sums(e2, [&](std::size_t i, std::size_t) { return conj(U[i]) * U[i]; }, "dot_norm2");
}

}  // namespace
}  // namespace plaquette::validation
