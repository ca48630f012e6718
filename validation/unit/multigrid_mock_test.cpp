// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Setup and cycle of multigrid on a backend that answers late: a whole cycle of any kind neither reads nor allocates,
/// and it is the formula.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "common/comms/communicator.hpp"
#include "common/krylov/flexible_gcr.hpp"
#include "common/multigrid/multigrid_setup.hpp"
#include "validation/unit/solver_support.hpp"

namespace plaquette::solver_tests {
namespace {

using field = mock::field;
constexpr int widest = 12;

/// A dense matrix as the red-black system of a lattice that does not fall into two parities.
struct dense_system {
  mock::machine* device;
  matrix m;
  mock::dense_operator a = to_operator(m);

  field solved_field(int columns) const { return {*device, static_cast<int>(m.rows()), columns}; }
  field full_field(int columns) const { return solved_field(columns); }
  void apply(field& out, const field& in) const { a.apply(out, in); }
  void apply_dagger(field& out, const field& in) const { a.apply_dagger(out, in); }
  void prepare_source(field& even, const field& b) const { copy(even, b); }
  void reconstruct_solution(field& x, const field& even, const field&) const { copy(x, even); }
  field even_like(const field& full) const { return like(full); }
};

/// P as a dense matrix.
struct dense_transfer {
  mock::machine* device;
  matrix m;
  mock::dense_operator p = to_operator(m);
  field prolonged = field(*device, static_cast<int>(m.rows()), widest);
  number_for_any_width<mock::scalars> one{prolonged, 1.0};

  field coarse_like(int columns) const { return {*device, static_cast<int>(m.cols()), columns}; }
  void restrict_to(field& coarse, const field& fine) const { p.apply_dagger(coarse, fine); }
  void prolong(field& fine, const field& coarse) const { p.apply(fine, coarse); }
  void add_prolonged(field& fine, const field& coarse) const {
    field some = view(prolonged, 0, fine.columns());
    p.apply(some, coarse);
    axpy(fine, one(fine.columns()), some);
  }
};

/// Multigrid of a dense matrix: `aggregate[0]` numbers that follow each other make `vectors` of the next lattice.
struct dense_library {
  using fine_field = field;
  using coarse_field = field;
  using fine_operator = dense_system;
  using coarse_system = dense_system;
  using transfer = dense_transfer;
  using basis = matrix;
  using matrices = matrix;

  mock::machine* device;
  std::shared_ptr<const dense_system> finest;
  bool at_once = false;

  const std::shared_ptr<const dense_system>& system() const { return finest; }
  bool is_synchronous() const { return at_once; }
  void finish() const {}
  static constexpr double tuning_seconds() { return 0.0; }
  field random_fine_field(int columns, std::uint64_t seed) const {
    generator g(seed);
    return to_field(*device, random_matrix(finest->m.rows(), columns, g));
  }
  field even_field(int columns) const { return finest->solved_field(columns); }
  void restrict_to_even(field& even, const field& v) const { copy(even, v); }
  void fill_random(field& v, std::uint64_t seed) const {
    generator g(seed);
    copy(v, to_field(*device, random_matrix(v.length(), v.columns(), g)));
  }
  void apply_full(field& out, const field& in) const { finest->apply(out, in); }

  matrix gather(const field& v, const extents& aggregate) const {
    const matrix all = to_matrix(v);
    const Eigen::Index size = aggregate[0], count = all.cols();
    matrix p = matrix::Zero(all.rows(), all.rows() / size * count);
    for (Eigen::Index block = 0; block < all.rows() / size; ++block)
      p.block(block * size, block * count, size, count) = all.middleRows(block * size, size);
    return p;
  }
  /// Of each aggregate, one after the other.
  struct singular_values {
    int rank = 0;
    vector numbers;
  };
  static singular_values take_leading_vectors(const matrix* kept, const singular_values& of_kept, matrix& fresh,
                                              std::span<const double> weights) {
    const auto count = static_cast<Eigen::Index>(weights.size()), blocks = fresh.cols() / count,
               size = fresh.rows() / blocks, before = kept ? kept->cols() / blocks : 0;
    singular_values found{static_cast<int>(count), vector(blocks * count)};
    for (Eigen::Index block = 0; block < blocks; ++block) {
      matrix pool(size, before + count);
      for (Eigen::Index k = 0; k < before; ++k)
        pool.col(k) = of_kept.numbers(block * before + k) * kept->block(block * size, block * before + k, size, 1);
      for (Eigen::Index k = 0; k < count; ++k)
        pool.col(before + k) =
            weights[static_cast<std::size_t>(k)] * fresh.block(block * size, block * count + k, size, 1);
      const singular_pairs pairs = singular_pairs_of(pool);
      fresh.block(block * size, block * count, size, count) = pairs.left.leftCols(count);
      found.numbers.segment(block * count, count) = pairs.values.head(count).cast<vector::Scalar>();
    }
    return found;
  }
  /// One rank holds every lattice whole.
  struct gather_of_lattice {
    void gather(field& whole, const field& part) const { copy(whole, part); }
    void take_part(field& part, const field& whole) const { copy(part, whole); }
  };
  std::shared_ptr<const gather_of_lattice> make_gather(const dense_system&, const dense_system&) const {
    return std::make_shared<const gather_of_lattice>();
  }
  struct one_rank {
    static communicator comm() { return {}; }
  };
  one_rank get_context() const { return {}; }
  dense_library alone() const { return *this; }
  matrix whole(const matrix& part) const { return part; }

  struct nothing_replaced {
    static std::int64_t replaced() { return 0; }
    static bool is_useless(int) { return false; }
  };
  nothing_replaced make_orthonormal(matrix& p) const {
    Eigen::Index row = 0, size = 0;
    for (Eigen::Index first = 0, count = 0; first < p.cols(); first += count, row += size) {
      size = 0, count = 0;  // of the block that begins here
      while (row + size < p.rows() && p(row + size, first) != matrix::Scalar{}) ++size;
      while (first + count < p.cols() && p(row, first + count) != matrix::Scalar{}) ++count;
      p.block(row, first, size, count) = orthonormal_columns(p.block(row, first, size, count));
    }
    return {};
  }
  std::shared_ptr<const dense_transfer> make_transfer(const matrix& p) const {
    return std::make_shared<const dense_transfer>(dense_transfer{device, p});
  }
  matrix galerkin(const matrix& p) const { return p.adjoint() * finest->m * p; }
  matrix galerkin(const matrix& finer, const matrix& p) const { return p.adjoint() * finer * p; }
  /// Domains of consecutive numbers, in alternating colours.
  schwarz_domains<field> coarse_domains(const matrix& m, const extents& shape) const {
    matrix inside = m, colour[2] = {matrix::Zero(m.rows(), m.rows()), matrix::Zero(m.rows(), m.rows())};
    for (Eigen::Index i = 0; i < m.rows(); ++i) {
      for (Eigen::Index j = 0; j < m.rows(); ++j)
        if (i / shape[0] != j / shape[0]) inside(i, j) = 0.0;
      colour[i / shape[0] % 2](i, i) = 1.0;
    }
    return {any_operator<field>(to_operator(inside)),
            {any_operator<field>(to_operator(colour[0])), any_operator<field>(to_operator(colour[1]))}};
  }
  schwarz_domains<field> fine_domains(const dense_system& a, const extents& shape) const {
    return coarse_domains(a.m, shape);
  }
  std::shared_ptr<const dense_system> make_system(const matrix& m) const {
    return std::make_shared<const dense_system>(dense_system{device, m});
  }
};

/// A chain of 48 numbers, three lattices: 48, 16 and 4.
multigrid_parameters chain_parameters() {
  multigrid_parameters p;
  p.coarsenings = {{{6, 1, 1, 1}, 2}, {{4, 1, 1, 1}, 1}};
  p.relaxation_iterations = 10;
  p.refinements = 1;
  p.steps_after = {3};
  p.k_steps = 2;
  p.coarsest_steps = 4;
  return p;
}

/// Neighbours on a ring and a little noise; smallest singular values 0.05.
matrix chain(generator& g) {
  const Eigen::Index n = 48;
  matrix a = 2.05 * matrix::Identity(n, n) + 0.01 * random_matrix(n, n, g) / std::sqrt(static_cast<double>(n));
  for (Eigen::Index i = 0; i < n; ++i) {
    a(i, (i + 1) % n) -= 1.2;
    a(i, (i + n - 1) % n) -= 0.8;
  }
  return a;
}

/// Calls body(parameters, name) for every kind of cycle, relaxation and coarsest solver.
template <class Body>
void for_each_kind(const Body& body) {
  using enum smoother_kind;
  for (const cycle_kind cycle : {cycle_kind::v, cycle_kind::w, cycle_kind::k})
    for (const smoother_kind smoother : {mr, gcr, ca_gcr, additive_schwarz, multiplicative_schwarz})
      for (const coarsest_kind coarsest : {coarsest_kind::gcr, coarsest_kind::ca_gcr}) {
        if (smoother != gcr && coarsest != coarsest_kind::gcr) continue;
        multigrid_parameters p = chain_parameters();
        p.coarsest_modes = smoother == ca_gcr ? 1 : 0;
        p.cycle = cycle;
        p.smoother = smoother;
        p.coarsest = coarsest;
        p.steps_before = {smoother == mr ? 2 : 0};
        const std::string kind = std::string(name(cycle)) + " " + name(smoother) + " " + name(coarsest);
        body(p, kind);
        if (coarsest == coarsest_kind::ca_gcr || cycle == cycle_kind::w) continue;
        p.additive_on = cycle == cycle_kind::v ? 0 : 1;
        body(p, kind + " additive");
      }
}

TEST(MultigridCycle, NeitherReadsNorAllocates) {
  generator g(1);
  const matrix a = chain(g), b = random_matrix(48, widest, g);
  for_each_kind([&](const multigrid_parameters& p, const std::string& kind) {
    mock::machine device(3);
    const auto finest = std::make_shared<const dense_system>(dense_system{&device, a});
    const multigrid<dense_library> mg(dense_library{&device, finest}, p);
    const field source = to_field(device, b);
    field x = like(source);
    const auto cycle = mg.cycle(widest);
    for (const int columns : {12, 5, 1}) {
      device.forget();
      field some_x = view(x, 0, columns);
      cycle.apply(some_x, view(source, 0, columns));
      EXPECT_EQ(device.reads().size(), 0u) << kind;
      EXPECT_EQ(device.allocations(), 0) << kind;
      EXPECT_GT(device.applications(), 10) << kind;
      EXPECT_TRUE(to_matrix(some_x).allFinite()) << kind;
    }
    // A host that is answered at once ends its loops early, for which it reads.
    const multigrid<dense_library> eager(dense_library{&device, finest, true}, p);
    const auto other = eager.cycle(widest);
    device.forget();
    other.apply(x, source);
    if (p.coarsest == coarsest_kind::gcr) {
      EXPECT_GT(device.reads().size(), 0u) << kind;
    }
  });
}

TEST(MultigridCycle, SolvesWithAnyWidthInTheSameIterations) {
  for (const std::uint64_t seed : {1, 2}) {
    generator g(seed);
    const matrix a = chain(g), b = random_matrix(48, widest, g);
    for_each_kind([&](const multigrid_parameters& p, const std::string& kind) {
      mock::machine device(seed);
      const auto finest = std::make_shared<const dense_system>(dense_system{&device, a});
      const multigrid<dense_library> mg(dense_library{&device, finest}, p);
      const auto cycle = mg.cycle(widest);
      std::vector<int> alone;
      for (const int columns : {1, 5, 12}) {
        const field source = to_field(device, b.leftCols(columns));
        field x = to_field(device, matrix::Zero(48, columns));
        const auto report = flexible_gcr(*finest, x, source, {.tolerance = 1e-10, .limit = 60}, cycle);
        EXPECT_TRUE(report.all_converged()) << kind;
        const matrix found = to_matrix(x);
        for (int c = 0; c < columns; ++c) EXPECT_TRUE(relative_residual(a, found.col(c), b.col(c)) <= 1.01e-10) << kind;
        alone.push_back(report.columns.front().iterations);
      }
      // No number of a column depends on its neighbours.
      EXPECT_EQ(alone[0], alone[1]) << kind;
      EXPECT_EQ(alone[0], alone[2]) << kind;
      EXPECT_LE(alone[0], p.additive_on ? 30 : 25) << kind;
    });
  }
}

/// Against the singular values of the dense matrix; and a solver of the rest that does nothing shows the part taken
/// out.
TEST(Deflation, TakesOutTheLowestSingularVectors) {
  for (const std::uint64_t seed : {1, 2}) {
    generator g(seed);
    const Eigen::Index n = 60;
    vector sizes(n);
    for (Eigen::Index i = 0; i < n; ++i)
      sizes(i) = i < 6 ? 0.01 * static_cast<double>(i + 1) : 0.5 + 0.05 * static_cast<double>(i);
    const matrix u = random_unitary(n, g), v = random_unitary(n, g), a = u * sizes.asDiagonal() * v.adjoint();
    mock::machine device(seed);
    const auto system = std::make_shared<const dense_system>(dense_system{&device, a});
    const auto modes = lowest_singular_vectors(*system, to_field(device, random_matrix(n, 10, g)), 6);
    // The filter of degree 16, six times, leaves nothing of values of 0.8 and more.
    for (int i = 0; i < 6; ++i)
      EXPECT_TRUE(std::abs(modes.values[static_cast<std::size_t>(i)] - 0.01 * (i + 1)) <= 1e-9) << i;
    // A b of high modes alone is unchanged. Of a b of low modes all is solved.
    matrix b(n, 3);
    b << u.col(20), u.col(2), u.col(0) + u.col(30);
    struct nothing {
      void apply(field& x, const field&) const { zero(x); }
    };
    const field source = to_field(device, b);
    field x = like(source);
    const deflated_solver<field, dense_system> solver(system, source, modes, any_operator<field>(nothing{}));
    device.forget();
    solver.apply(x, source);
    EXPECT_EQ(device.reads().size(), 0u);
    EXPECT_EQ(device.allocations(), 0);
    const matrix found = to_matrix(x);
    EXPECT_TRUE(found.col(0).norm() <= 1e-6);
    EXPECT_TRUE((found.col(1) - v.col(2) / 0.03).norm() <= 1e-6 / 0.03);
    EXPECT_TRUE((found.col(2) - v.col(0) / 0.01).norm() <= 1e-6 / 0.01);
  }
}

/// Two-grid V-cycles with steps of minimal residuals, written out.
TEST(MultigridCycle, IsTheFormula) {
  generator g(7);
  const matrix a = chain(g), b = random_matrix(48, 3, g);
  for (const bool additive : {false, true})
    for (const int before : {1, 0}) {
      multigrid_parameters p = chain_parameters();
      p.coarsenings = {{{6, 1, 1, 1}, 2}};
      p.smoother = smoother_kind::mr;
      p.steps_before = {before};
      p.steps_after = {1};
      p.relaxation_factor = 0.9;
      p.coarsest_steps = 16;  // of a space of 16 numbers: exact
      if (additive) p.additive_on = 0;
      mock::machine device(2);
      const auto finest = std::make_shared<const dense_system>(dense_system{&device, a});
      const multigrid<dense_library> mg(dense_library{&device, finest}, p);
      const matrix prolongation = *mg.levels().front().vectors;
      field x = to_field(device, b);
      mg.cycle(3).apply(x, to_field(device, b));
      const matrix found = to_matrix(x);
      const auto relaxation = [&](const vector& r) -> vector {
        const vector ar = a * r;
        return 0.9 * ar.dot(r) / ar.squaredNorm() * r;
      };
      const auto correction = [&](const vector& r) -> vector {
        return prolongation * solution_of(prolongation.adjoint() * a * prolongation, prolongation.adjoint() * r);
      };
      for (int c = 0; c < 3; ++c) {
        vector y = vector::Zero(48);
        if (before > 0) y += relaxation(b.col(c));
        const vector r = b.col(c) - a * y;
        y += correction(r);
        y += relaxation(additive ? r : b.col(c) - a * y);
        // Rounding of 1e-16, times the condition of the coarse matrix, below 1e3, and the length of its solver.
        EXPECT_TRUE((found.col(c) - y).norm() <= 1e-11 * y.norm()) << (found.col(c) - y).norm() / y.norm();
      }
    }
}

/// V-cycles on three lattices, written out: their relaxations are what `relax` makes of a residual.
struct dense_cycle {
  std::vector<matrix> systems, prolongations;
  std::function<vector(std::size_t lattice, const matrix& a, const vector& r)> relax;

  template <class Library>
  explicit dense_cycle(const multigrid<Library>& mg) : systems{mg.library().system()->m} {
    for (const auto& level : mg.levels()) {
      systems.push_back(*level.operator_numbers);
      prolongations.push_back(*level.vectors);
    }
  }
  vector operator()(const vector& b, std::size_t lattice = 0) const {
    const matrix& a = systems[lattice];
    if (lattice == prolongations.size()) return solution_of(a, b);
    const matrix& p = prolongations[lattice];
    const vector x = p * (*this)(p.adjoint() * b, lattice + 1);
    return x + relax(lattice, a, b - a * x);
  }
};

/// The polynomials are the mean coefficients of CA-GCR in six cycles after the first, and cycles relax by them.
TEST(MultigridCycle, RelaxesByTheMeanOfWhatCaGcrFound) {
  generator g(9);
  const matrix a = chain(g), b = random_matrix(48, 2, g);
  multigrid_parameters p = chain_parameters();
  p.smoother = smoother_kind::polynomial;
  p.cycle = cycle_kind::v;
  constexpr int steps = 3;
  mock::machine device(2);
  const dense_library library{&device, std::make_shared<const dense_system>(dense_system{&device, a})};
  multigrid<dense_library> mg(library, p);
  mg.fit_polynomial_smoothers();
  dense_cycle cycle(mg);
  const auto powers = [](const matrix& m, const vector& r) {
    matrix k(r.size(), steps + 1);
    k.col(0) = r;
    for (int j = 0; j < steps; ++j) k.col(j + 1) = m * k.col(j);
    return k;
  };
  std::vector<std::vector<vector>> found(2);
  cycle.relax = [&](std::size_t lattice, const matrix& m, const vector& r) -> vector {
    const matrix k = powers(m, r);
    const vector c = least_squares(k.rightCols(steps), r);
    found[lattice].push_back(c);
    return k.leftCols(steps) * c;
  };
  vector r = to_matrix(library.random_fine_field(1, p.seed + 996)).col(0);
  for (int round = 0; round < 7; ++round) {
    if (round == 1) found.assign(2, {});
    const vector ax = a * cycle(r);
    r -= ax.dot(r) / ax.squaredNorm() * ax;
  }
  std::vector<std::vector<double>> fitted;
  for (std::size_t lattice = 0; lattice < 2; ++lattice) {
    fitted.push_back(mg.parameters().polynomials.at({lattice, steps}));
    ASSERT_EQ(fitted[lattice].size(), std::size_t{steps});
    ASSERT_EQ(found[lattice].size(), 6u);
    for (int j = 0; j < steps; ++j) {
      double mean = 0.0;
      for (const vector& c : found[lattice]) mean += c(j).real() / 6.0;
      // Rounding, times the condition of three powers, and digits that later cycles have lost.
      EXPECT_NEAR(fitted[lattice][static_cast<std::size_t>(j)], mean, 1e-6 * std::abs(mean)) << lattice << ' ' << j;
    }
  }
  cycle.relax = [&](std::size_t lattice, const matrix& m, const vector& residual) -> vector {
    const matrix k = powers(m, residual);
    vector x = vector::Zero(residual.size());
    for (int j = 0; j < steps; ++j) x += fitted[lattice][static_cast<std::size_t>(j)] * k.col(j);
    return x;
  };
  field x = to_field(device, b);
  mg.cycle(2).apply(x, to_field(device, b));
  for (int c = 0; c < 2; ++c) {
    const vector expected = cycle(b.col(c));
    EXPECT_TRUE((to_matrix(x).col(c) - expected).norm() <= 1e-10 * expected.norm());
  }
  // Other null vectors, and another correction, have other residuals.
  const auto known = mg.parameters().polynomials;
  cycle_shape shape = mg.parameters().shape();
  shape.additive_on = 0;
  mg.use_cycle(shape);
  EXPECT_TRUE(mg.parameters().polynomials.empty());
  mg.fit_polynomial_smoothers();
  EXPECT_NE(mg.parameters().polynomials, known);
  mg.improve();
  EXPECT_TRUE(mg.parameters().polynomials.empty());
}

/// A library with null vectors of fewer digits together with the others; half as long here, so that they show.
struct library_with_16_bits : dense_library {
  template <class Field>
  static constexpr bool relaxes_in_16_bits = true;
  library_with_16_bits alone() const { return *this; }
  std::shared_ptr<const dense_transfer> make_transfer_in_16_bits(const matrix& p) const {
    return make_transfer(0.5 * p);
  }
};

TEST(MultigridCycle, ReadsNullVectorsIn16BitsWhereThatIsWanted) {
  generator g(10);
  const matrix a = chain(g), b = random_matrix(48, 1, g);
  for (const bool wanted : {true, false}) {
    multigrid_parameters p = chain_parameters();
    p.vectors_in_16_bits = wanted;
    p.smoother = smoother_kind::mr;
    p.steps_after = {1};
    p.cycle = cycle_kind::v;
    mock::machine device(2);
    const library_with_16_bits library{{&device, std::make_shared<const dense_system>(dense_system{&device, a})}};
    const multigrid<library_with_16_bits> mg(library, p);
    dense_cycle cycle(mg);
    if (wanted)
      for (matrix& m : cycle.prolongations) m *= 0.5;
    cycle.relax = [&](std::size_t, const matrix& m, const vector& r) -> vector {
      const vector mr = m * r;
      return p.relaxation_factor * mr.dot(r) / mr.squaredNorm() * r;
    };
    field x = to_field(device, b);
    mg.cycle(1).apply(x, to_field(device, b));
    const vector expected = cycle(b.col(0));
    EXPECT_TRUE((to_matrix(x).col(0) - expected).norm() <= 1e-10 * expected.norm()) << wanted;
  }
}

/// A solver of the coarse lattice that lives elsewhere, and notes the device's work in between.
struct offloaded_solver {
  mock::machine* device;
  matrix m;
  struct notes {
    matrix b;
    long between = -1;  ///< applications of operators
  };
  std::shared_ptr<notes> seen = std::make_shared<notes>();

  void begin(const field& b) const {
    seen->b = to_matrix(b);
    device->forget();
  }
  void end(field& x) const {
    EXPECT_EQ(device->reads().size(), 0u);  // nothing waits for the device before this solver may work
    seen->between = device->applications();
    copy(x, to_field(*device, solution_of(m, seen->b)));
  }
  void apply(field& x, const field& b) const {
    begin(b);
    end(x);
  }
};

TEST(MultigridCycle, AnAdditiveCorrectionIsSolvedElsewhereWhileTheDeviceRelaxes) {
  generator g(3);
  const matrix a = chain(g), b = random_matrix(48, 5, g);
  for (const smoother_kind smoother : {smoother_kind::ca_gcr, smoother_kind::mr})
    for (const std::size_t first : {1, 2})
      for (const bool additive : {false, true}) {
        multigrid_parameters p = chain_parameters();
        p.smoother = smoother;
        p.cycle = cycle_kind::v;
        if (additive) p.additive_on = first - 1;
        mock::machine device(4);
        const auto finest = std::make_shared<const dense_system>(dense_system{&device, a});
        multigrid<dense_library> mg(dense_library{&device, finest}, p);
        offloaded_solver there{&device, *mg.levels()[first - 1].operator_numbers};
        mg.offload_from_level(first, [&](int) { return coarse_solver<field>(there); });
        const auto cycle = mg.cycle(5);
        const field source = to_field(device, b);
        field x = like(source);
        cycle.apply(x, source);
        // Three steps of relaxation.
        EXPECT_EQ(there.seen->between, additive ? 3 : 0) << name(smoother) << ' ' << first;
        field found = to_field(device, matrix::Zero(48, 5));
        const auto report = flexible_gcr(*finest, found, source, {.tolerance = 1e-10, .limit = 60}, cycle);
        EXPECT_TRUE(report.all_converged());
        EXPECT_LE(report.columns.front().iterations, additive ? 30 : 25);
        RecordProperty(std::string(name(smoother)) + std::to_string(first) + (additive ? "additive" : ""),
                       report.columns.front().iterations);
      }
}

}  // namespace
}  // namespace plaquette::solver_tests
