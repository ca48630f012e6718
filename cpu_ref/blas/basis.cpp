// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/blas/basis.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "common/eigen/basis_checks.hpp"
#include "cpu_ref/fields/exact_sums.hpp"
#include "cpu_ref/fields/lane_numbers.hpp"

namespace plaquette::cpu {

namespace {

template <class T>
basis_arguments<T> arguments_for(const field<T>& v, const field<T>& w) {
  require_same_sites(v, w);
  basis_arguments<T> arg;
  arg.v_stride = v.block(0, 1, 0) - v.block(0, 0, 0);
  arg.w_stride = w.block(0, 1, 0) - w.block(0, 0, 0);
  arg.components = v.components();
  arg.rows = v.columns();
  arg.columns = w.columns();
  return arg;
}

/// target = V C times factor, or that is added.
template <class T>
void multiply(field<T>& target, const field<T>& v, std::span<const complex<double>> c, double factor, bool add) {
  basis_arguments<T> arg = arguments_for(v, target);
  require_size(c, v.columns(), target.columns());
  std::vector<complex<T>> matrix;
  matrix.reserve(c.size());
  for (const complex<double>& z : c) matrix.push_back(complex_cast<T>(factor * z));
  arg.matrix = &matrix.data()->re;
  arg.add = add;
  const auto kernel = v.get_context().template kernels<T>().combine;
  const std::int64_t blocks = v.layout().blocks();
  for (int part = 0; part < v.parts(); ++part) {
    arg.v = v.block(part, 0, 0);
    arg.target = target.block(part, 0, 0);
#pragma omp parallel for num_threads(v.get_context().threads()) schedule(static)
    for (std::int64_t b = 0; b < blocks; ++b) kernel(arg, b, 1);
  }
}

/// How V^+ W is divided: rows among tasks, and blocks into ranges whose sums are added at the end. A function of sizes
/// alone, so that the order of additions is too.
struct division {
  static constexpr int rows_of_a_task = 8 * basis_tile_rows;  ///< whose blocks stay in the second-level cache
  static constexpr std::int64_t enough_tasks = 32;

  int row_tasks;
  std::int64_t ranges;

  division(int rows, std::int64_t blocks)
      : row_tasks((rows + rows_of_a_task - 1) / rows_of_a_task),
        ranges(std::clamp<std::int64_t>(enough_tasks / row_tasks, 1, blocks)) {}
};

/// visit(numbers of `from`, numbers to be written), each [component], for each site and column.
template <class T, std::size_t from_count, std::size_t to_count, class Visit>
void rewrite_sites(field<T>& to, const field<T>& from, const Visit& visit) {
  const int width = from.layout().width();
  for (int part = 0; part < from.parts(); ++part)
#pragma omp parallel for num_threads(from.get_context().threads())
    for (std::int64_t b = 0; b < from.layout().blocks(); ++b)
      for (int c = 0; c < from.columns(); ++c)
        for (int lane = 0; lane < width; ++lane) {
          std::array<complex<double>, from_count> numbers;
          std::array<complex<double>, to_count> results;
          read_lane<T>(numbers, from.block(part, b, c) + lane, width);
          visit(numbers, results);
          write_lane<T>(to.block(part, b, c) + lane, width, results);
        }
}

constexpr std::size_t of_spinor = spins * colours, of_chirality = of_spinor / 2;
using dirac_numbers = std::array<complex<double>, of_spinor>;
using chiral_numbers = std::array<complex<double>, of_chirality>;
/// Of a lane, without the scale.
template <class T>
inline constexpr std::int64_t spinor_words = 12 * storage<T>::words_of_complex;
constexpr double inverse_root_two = 0.70710678118654752440;

}  // namespace

template <class T>
std::vector<complex<double>> inner_products(const field<T>& v, const field<T>& w) {
  const basis_arguments<T> all = arguments_for(v, w);
  if (exact_sums::are_on()) return exact_products(v, w, true);
  const context& ctx = v.get_context();
  const std::int64_t blocks = v.layout().blocks();
  const division tasks(v.columns(), v.parts() * blocks);
  const std::size_t count = static_cast<std::size_t>(v.columns()) * static_cast<std::size_t>(w.columns());
  std::vector<double> partial(2 * count * static_cast<std::size_t>(tasks.ranges));  // [range][column][row][re, im]
  const auto kernel = ctx.kernels<T>().products;
#pragma omp parallel for num_threads(ctx.threads()) schedule(dynamic)
  for (std::int64_t task = 0; task < tasks.ranges * tasks.row_tasks; ++task) {
    const std::int64_t range = task / tasks.row_tasks;
    const int row = static_cast<int>(task % tasks.row_tasks) * division::rows_of_a_task;
    basis_arguments<T> arg = all;
    arg.sums = partial.data() + 2 * count * static_cast<std::size_t>(range);
    // A range of the blocks of both parts.
    const std::int64_t first = v.parts() * blocks * range / tasks.ranges,
                       last = v.parts() * blocks * (range + 1) / tasks.ranges;
    for (int part = 0; part < v.parts(); ++part) {
      const std::int64_t from = std::clamp<std::int64_t>(first - part * blocks, 0, blocks),
                         to = std::clamp<std::int64_t>(last - part * blocks, 0, blocks);
      arg.v = v.block(part, 0, 0);
      arg.w = w.block(part, 0, 0);
      kernel(arg, row, std::min(division::rows_of_a_task, v.columns() - row), from, to - from);
    }
  }
  std::vector<complex<double>> products(count);
  for (std::size_t k = 0; k < partial.size(); k += 2)
    products[k / 2 % count] += complex<double>{partial[k], partial[k + 1]};
  ctx.comm().sum(std::span(&products.data()->re, 2 * count));
  return products;
}

template <class T>
void subtract_combinations(field<T>& w, const field<T>& v, std::span<const complex<double>> c) {
  multiply(w, v, c, -1.0, true);
}
template <class T>
void add_combinations(field<T>& w, const field<T>& v, std::span<const complex<double>> c) {
  multiply(w, v, c, 1.0, true);
}
template <class T>
void combine(field<T>& out, const field<T>& v, std::span<const complex<double>> q) {
  multiply(out, v, q, 1.0, false);
}

template <class T>
void rotate(field<T>& v, std::span<const complex<double>> q, int count) {
  if (count < 0 || count > v.columns()) throw std::logic_error("basis: a rotation to more columns than there are");
  require_size(q, v.columns(), count);
  if (count == 0) return;
  std::vector<complex<T>> matrix;
  matrix.reserve(q.size());
  for (const complex<double>& z : q) matrix.push_back(complex_cast<T>(z));
  basis_arguments<T> all = arguments_for(v, v);
  all.columns = count;
  all.matrix = &matrix.data()->re;
  const auto kernel = v.get_context().template kernels<T>().combine;
  const std::int64_t words = v.block_words() * count, blocks = v.layout().blocks();
#pragma omp parallel num_threads(v.get_context().threads())
  {
    aligned_buffer<T> result(static_cast<std::size_t>(words));
    for (int part = 0; part < v.parts(); ++part)
#pragma omp for schedule(static)
      for (std::int64_t b = 0; b < blocks; ++b) {
        basis_arguments<T> arg = all;
        arg.v = v.block(part, b, 0);
        arg.target = result.data();
        kernel(arg, 0, 1);
        std::copy_n(result.data(), words, v.block(part, b, 0));
      }
  }
}

template <class T>
void gamma5(field<T>& out, const field<T>& in) {
  require_spinors(in, spins, out);
  // Words, so that numbers of 16 bits stay the integers that they are.
  const std::int64_t half_words = spinor_words<T> * in.layout().width() / 2, rest = in.block_words() - 2 * half_words;
  for (int part = 0; part < in.parts(); ++part)
#pragma omp parallel for num_threads(in.get_context().threads())
    for (std::int64_t b = 0; b < in.layout().blocks(); ++b)
      for (int c = 0; c < in.columns(); ++c) {
        const word_of<T>* const from = in.block(part, b, c);
        word_of<T>* const to = out.block(part, b, c);
        for (std::int64_t k = 0; k < half_words; ++k) {
          const word_of<T> upper = from[k], lower = from[k + half_words];
          to[k] = lower;
          to[k + half_words] = upper;
        }
        std::copy_n(from + 2 * half_words, rest, to + 2 * half_words);  // scales
      }
}

template <class T>
void chirality_part(field<T>& out, const field<T>& in, int sign) {
  require_spinors(in, spins, out);
  const double s = chirality_sign(sign);
  rewrite_sites<T, of_spinor, of_spinor>(out, in, [s](const dirac_numbers& from, dirac_numbers& to) {
    for (std::size_t k = 0; k < of_spinor; ++k) to[k] = 0.5 * (from[k] + s * from[(k + of_chirality) % of_spinor]);
  });
}

template <class T>
void take_chirality(field<T>& half_vectors, const field<T>& full, int sign) {
  require_spinors(full, spins / 2, half_vectors);
  const double s = chirality_sign(sign);
  rewrite_sites<T, of_spinor, of_chirality>(half_vectors, full, [s](const dirac_numbers& from, chiral_numbers& to) {
    for (std::size_t k = 0; k < of_chirality; ++k) to[k] = inverse_root_two * (from[k] + s * from[k + of_chirality]);
  });
}

template <class T>
void put_chirality(field<T>& full, const field<T>& half_vectors, int sign) {
  require_spinors(full, spins / 2, half_vectors);
  const double s = chirality_sign(sign);
  rewrite_sites<T, of_chirality, of_spinor>(full, half_vectors, [s](const chiral_numbers& from, dirac_numbers& to) {
    for (std::size_t k = 0; k < of_chirality; ++k) {
      to[k] = inverse_root_two * from[k];
      to[k + of_chirality] = s * to[k];
    }
  });
}

#define PLAQUETTE_INSTANTIATE(T)                                 \
  template void gamma5(field<T>&, const field<T>&);              \
  template void chirality_part(field<T>&, const field<T>&, int); \
  template void take_chirality(field<T>&, const field<T>&, int); \
  template void put_chirality(field<T>&, const field<T>&, int);
PLAQUETTE_INSTANTIATE(half)
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

#define PLAQUETTE_INSTANTIATE(T)                                                                     \
  template std::vector<complex<double>> inner_products(const field<T>&, const field<T>&);            \
  template void subtract_combinations(field<T>&, const field<T>&, std::span<const complex<double>>); \
  template void add_combinations(field<T>&, const field<T>&, std::span<const complex<double>>);      \
  template void combine(field<T>&, const field<T>&, std::span<const complex<double>>);               \
  template void rotate(field<T>&, std::span<const complex<double>>, int);
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::cpu
