// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums over sites that have the same bits on any process grid, where a caller wants them so.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "common/algebra/exact_sum.hpp"
#include "common/comms/communicator.hpp"
#include "cpu_ref/fields/field.hpp"
#include "cpu_ref/fields/lane_numbers.hpp"

namespace plaquette::cpu {

/// While one lives and is on, sums of its thread are exact: those over sites and slices, and of vectors of the CPU
/// library. Sums of coarse fields are not. The same on all ranks.
class exact_sums {
 public:
  explicit exact_sums(bool on) : before_(std::exchange(is_on_, on)) {}
  ~exact_sums() { is_on_ = before_; }
  exact_sums(const exact_sums&) = delete;
  exact_sums& operator=(const exact_sums&) = delete;
  static bool are_on() { return is_on_; }

 private:
  inline static thread_local bool is_on_ = false;
  bool before_;
};

/// Returns sums over all ranks. Collective.
inline std::vector<double> values_over_ranks(std::span<const exact_sum> sums, const communicator& comm) {
  constexpr std::size_t n = exact_sum::numbers;
  std::vector<double> digits(n * sums.size()), values;
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i].digits_to(std::span(digits).subspan(n * i).first<n>());
  comm.sum(std::span(digits));
  for (std::size_t i = 0; i < sums.size(); ++i)
    values.push_back(exact_sum::of_digits(std::span<const double>(digits).subspan(n * i).first<n>()).value());
  return values;
}

/// Returns <u_i, v_j> for all columns i of u with j = i, or with all j of v: [i] or [j][i]. Sums over sites are exact,
/// of products in double, which are summed in one order within a site. Collective.
template <class T>
std::vector<complex<double>> exact_products(const field<T>& u, const field<T>& v, bool all_pairs = false) {
  const context& ctx = u.get_context();
  const int width = u.layout().width(), rows = u.columns(), columns = all_pairs ? v.columns() : 1;
  const auto numbers = static_cast<std::size_t>(u.components());
  std::vector<exact_sum> sums(2 * static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  const std::int64_t blocks = u.layout().blocks();
#pragma omp parallel num_threads(ctx.threads())
  {
    std::vector<exact_sum> mine(sums.size());
    std::vector<complex<double>> a(numbers), b(numbers);
#pragma omp for schedule(static) nowait
    for (std::int64_t block = 0; block < u.parts() * blocks; ++block)
      for (int lane = 0; lane < width; ++lane) {
        const auto read = [&](std::vector<complex<double>>& to, const field<T>& f, int column) {
          const auto* from = f.block(static_cast<int>(block / blocks), block % blocks, column);
          read_lane<T>(to, from + lane, width);
        };
        for (int j = 0; j < columns; ++j) {
          if (all_pairs) read(b, v, j);
          for (int i = 0; i < rows; ++i) {
            read(a, u, i);
            if (!all_pairs) read(b, v, i);
            complex<double> product{};
            for (std::size_t k = 0; k < numbers; ++k) product += conj(a[k]) * b[k];
            const std::size_t at = 2 * static_cast<std::size_t>(j * rows + i);
            mine[at].add(product.re);
            mine[at + 1].add(product.im);
          }
        }
      }
#pragma omp critical(plaquette_exact_products)
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += mine[i];
  }
  const std::vector<double> values = values_over_ranks(sums, ctx.comm());
  std::vector<complex<double>> products;
  for (std::size_t i = 0; i < values.size(); i += 2) products.push_back({values[i], values[i + 1]});
  return products;
}

}  // namespace plaquette::cpu
