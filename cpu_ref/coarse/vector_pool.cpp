// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/coarse/vector_pool.hpp"

#include <algorithm>
#include <array>

#include "common/algebra/gram_vectors.hpp"
#include "cpu_ref/coarse/local_columns.hpp"

namespace plaquette::cpu {

namespace {

/// The pool of one aggregate and chirality: columns of `rows` numbers.
class local_pool {
 public:
  local_pool(int rows, int columns, int kept, instruction_set isa)
      : rows_(rows),
        kept_(kept),
        columns_(rows, columns, isa),
        gram_(size(columns, columns)),
        combinations_(size(kept, columns)),
        leading_(size(kept, rows)),
        scales_(static_cast<std::size_t>(columns)),
        workspace_(static_cast<std::size_t>(columns)),
        order_(static_cast<std::size_t>(columns)) {}

  complex<double>* column(int k) { return columns_.column(k); }
  double& scale(int k) { return scales_[static_cast<std::size_t>(k)]; }
  const complex<double>* leading(int k) const { return leading_.data() + size(k, rows_); }

  /// \param sizes  singular values
  void take_leading(double* sizes) {
    columns_.inner_products(gram_.data());
    leading_combinations(lone_thread{}, gram_.data(), columns_.columns(), scales_.data(), kept_, sizes,
                         combinations_.data(), workspace_.data(), order_.data());
    columns_.combine(combinations_.data(), kept_, leading_.data());
  }

 private:
  static std::size_t size(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

  int rows_, kept_;
  local_columns columns_;
  std::vector<complex<double>> gram_, combinations_, leading_;  ///< columns
  std::vector<double> scales_, workspace_;
  std::vector<int> order_;
};

}  // namespace

singular_values take_leading_vectors(const null_space* kept, const singular_values& of_kept, null_space& fresh,
                                     std::span<const double> weights, const execution& on) {
  const aggregates& blocks = fresh.blocks;
  const int rows = blocks.volume() * fresh.rows, before = kept != nullptr ? kept->vectors : 0;
  const std::int64_t tasks = blocks.coarse().sites() * chiralities;
  singular_values found{fresh.vectors, std::vector<double>(static_cast<std::size_t>(tasks * fresh.vectors))};
#pragma omp parallel num_threads(on.threads())
  {
    local_pool pool(rows, before + fresh.vectors, fresh.vectors, on.isa());
#pragma omp for schedule(dynamic)
    for (std::int64_t task = 0; task < tasks; ++task) {
      const std::int64_t s = task / chiralities;
      const int chirality = static_cast<int>(task % chiralities);
      const rows_of_aggregate row(blocks, s, chirality, fresh.rows);
      for (int j = 0; j < rows; ++j) {
        for (int k = 0; k < before; ++k) pool.column(k)[j] = complex_cast<double>(kept->row(row(j))[k]);
        for (int k = 0; k < fresh.vectors; ++k) pool.column(before + k)[j] = complex_cast<double>(fresh.row(row(j))[k]);
      }
      for (int k = 0; k < before; ++k) pool.scale(k) = of_kept.of(task)[k];
      for (int k = 0; k < fresh.vectors; ++k) pool.scale(before + k) = weights[static_cast<std::size_t>(k)];
      pool.take_leading(found.numbers.data() + task * fresh.vectors);
      for (int j = 0; j < rows; ++j)
        for (int k = 0; k < fresh.vectors; ++k) fresh.row(row(j))[k] = complex_cast<float>(pool.leading(k)[j]);
    }
  }
  for (std::int64_t task = 0; task < tasks; ++task)
    found.rank = std::max(found.rank, static_cast<int>(std::count_if(found.of(task), found.of(task) + found.vectors,
                                                                     [](double size) { return size > 0.0; })));
  std::array<double, 1> rank{static_cast<double>(found.rank)};
  on.comm().maximum(std::span(rank));
  found.rank = static_cast<int>(rank[0]);
  return found;
}

}  // namespace plaquette::cpu
