// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/random/random_stream.hpp"
#include "gpu/coarse/aggregate_products.hpp"
#include "gpu/coarse/transfer.hpp"

namespace plaquette::gpu {

namespace {

/// Matrices of tasks (an aggregate and chirality each) in double, [row][column][task].
struct task_matrices {
  complex<double>* begin;
  std::int64_t tasks;
  std::int32_t n;
  PLAQUETTE_HOST_DEVICE complex<double>& at(std::int64_t task, std::int32_t i, std::int32_t j) const {
    return begin[(std::int64_t{i} * n + j) * tasks + task];
  }
};

/// The vectors themselves as the right factor.
struct same_vectors {
  const complex<float>* v;
  aggregate_pointers aggregates;
  std::int32_t rows, vectors;
  PLAQUETTE_HOST_DEVICE static int blocks() { return chiralities; }
  PLAQUETTE_HOST_DEVICE static int left_chirality(int block) { return block; }
  PLAQUETTE_HOST_DEVICE const complex<float>* row(int block, std::int64_t, std::int64_t place) const {
    return v + aggregates.row_begin(place, block, rows) * vectors;
  }
};
struct into_task_matrices {
  task_matrices to;
  PLAQUETTE_HOST_DEVICE void operator()(int block, std::int64_t s, std::int32_t i, std::int32_t j,
                                        const complex<double>& sum) const {
    to.at(s * chiralities + block, i, j) = sum;
  }
};

/// R of V^+ V = R^+ R, upper, in place of V^+ V; then R^-1. A vector of which nothing is left by those before it is
/// marked and left out.
struct factorise {
  task_matrices g, inverse;
  std::int8_t* missing;  ///< [vector][task]

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t task) const {
    // A vector of which so little is left is rounding of single precision.
    constexpr double least_part = 1e-10;  // of the norm's square
    for (std::int32_t k = 0; k < g.n; ++k) {
      double left = g.at(task, k, k).re;
      const double before = left;
      for (std::int32_t l = 0; l < k; ++l) left -= norm2(g.at(task, l, k));
      const bool nothing = !(left > least_part * before) || !(before < 1e300);
      missing[k * g.tasks + task] = nothing ? 1 : 0;
      const double root = nothing ? 0.0 : sqrt(left), scale = nothing ? 0.0 : 1.0 / root;
      g.at(task, k, k) = {root, 0.0};
      inverse.at(task, k, k) = {scale, 0.0};
      for (std::int32_t j = k + 1; j < g.n; ++j) {
        complex<double> sum = g.at(task, k, j);
        for (std::int32_t l = 0; l < k; ++l) sum -= conj(g.at(task, l, k)) * g.at(task, l, j);
        g.at(task, k, j) = nothing ? complex<double>{} : scale * sum;
      }
    }
    for (std::int32_t j = 0; j < g.n; ++j)
      for (std::int32_t i = j - 1; i >= 0; --i) {
        complex<double> sum{};
        for (std::int32_t l = i + 1; l <= j; ++l) sum += g.at(task, i, l) * inverse.at(task, l, j);
        inverse.at(task, i, j) = -inverse.at(task, i, i).re * sum;
      }
  }
};

/// A row of V becomes one of V R^-1, some columns at a time, the last ones first.
struct multiply_row {
  static constexpr std::int32_t at_once = 8;

  complex<float>* v;
  aggregate_pointers blocks;
  std::int32_t rows;
  task_matrices inverse;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t of_a_task = std::int64_t{rows} * blocks.volume, task = index / of_a_task;
    const std::int64_t within = index - task * of_a_task, s = task / chiralities;
    const int chirality = static_cast<int>(task - s * chiralities);
    const std::int64_t even_rows = std::int64_t{blocks.even[s]} * rows;
    const std::int64_t row = within < even_rows ? blocks.block_begin(s, 0, chirality, rows) + within
                                                : blocks.block_begin(s, 1, chirality, rows) + (within - even_rows);
    complex<float>* const numbers = v + row * inverse.n;
    for (std::int32_t first = (inverse.n - 1) / at_once * at_once; first >= 0; first -= at_once) {
      const std::int32_t end = first + at_once < inverse.n ? first + at_once : inverse.n;
      complex<double> sum[at_once]{};
      for (std::int32_t j = 0; j < end; ++j) {
        const auto x = complex_cast<double>(numbers[j]);
        PLAQUETTE_GPU_UNROLL
        for (std::int32_t k = 0; k < at_once; ++k)
          if (j <= first + k && first + k < end) sum[k] += x * inverse.at(task, j, first + k);
      }
      PLAQUETTE_GPU_UNROLL
      for (std::int32_t k = 0; k < at_once; ++k)
        if (first + k < end) numbers[first + k] = complex_cast<float>(sum[k]);
    }
  }
};

/// Random numbers for vectors that are missing; an index is a place and chirality.
struct replace_vectors {
  complex<float>* v;
  aggregate_pointers blocks;
  std::int32_t rows, vectors;
  const std::int8_t* missing;
  std::int64_t tasks;
  const std::int64_t* global_indices;
  std::uint64_t attempt;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t place = index / chiralities, s = place / blocks.volume;
    const int chirality = static_cast<int>(index - place * chiralities);
    for (std::int32_t k = 0; k < vectors; ++k) {
      if (missing[k * tasks + s * chiralities + chirality] == 0) continue;
      random_stream random(static_cast<std::uint64_t>(k), random_stream_id(random_purpose::test, 1 + attempt),
                           static_cast<std::uint64_t>((global_indices[s] * chiralities + chirality) * blocks.volume +
                                                      (place - s * blocks.volume)));
      complex<float>* to = v + blocks.row_begin(place, chirality, rows) * vectors + k;
      for (std::int32_t r = 0; r < rows; ++r, to += vectors) {
        const auto [re, im] = random.gaussians();
        *to = {static_cast<float>(re), static_cast<float>(im)};
      }
    }
  }
};

}  // namespace

orthonormalisation orthonormalise(null_space& v) {
  const execution& on = v.get_execution();
  const aggregates& blocks = v.blocks();
  const int rows = blocks.volume() * v.rows();
  if (v.vectors() > rows)
    throw input_error(std::string("multigrid: ").append(std::to_string(v.vectors())) +
                      " null vectors a chirality on aggregates of " + to_string(blocks.shape()) + ", which hold " +
                      std::to_string(rows) + " numbers of one: take fewer vectors or larger aggregates");
  const std::int64_t sites = blocks.coarse().sites(), tasks = sites * chiralities;
  const aggregate_pointers pointers = v.tables().pointers();
  const std::size_t bytes = static_cast<std::size_t>(tasks * v.vectors() * v.vectors()) * sizeof(complex<double>);
  const auto gram = on.workspace().take(bytes), inverse = on.workspace().take(bytes);
  const auto marks = on.workspace().take(static_cast<std::size_t>(tasks * v.vectors()));
  const task_matrices g{reinterpret_cast<complex<double>*>(gram.get()), tasks, v.vectors()};
  const task_matrices r{reinterpret_cast<complex<double>*>(inverse.get()), tasks, v.vectors()};
  auto* const missing = reinterpret_cast<std::int8_t*>(marks.get());
  std::vector<std::int8_t> found(static_cast<std::size_t>(tasks * v.vectors()));
  std::vector<double> replaced(static_cast<std::size_t>(v.vectors()));
  constexpr int passes = 2;
  constexpr std::uint64_t most_attempts = 8;
  std::uint64_t attempt = 0;
  double given_up = 0.0;
  for (int pass = 0; pass < passes;) {
    queue_products(
        on.queue(), sites,
        aggregate_product<double, same_vectors, into_task_matrices>{
            v.begin(), pointers, v.rows(), v.vectors(), 0, {}, {v.begin(), pointers, v.rows(), v.vectors()}, {g}});
    for_each_index(on.queue(), tasks, factorise{g, r, missing}, 64);
    copy_to_host(on.queue(), found.data(), missing, found.size());
    const auto count = std::ranges::count(found, 1);
    if (count > 0) {
      if (++attempt > most_attempts) {
        given_up = 1.0;  // the other ranks have to know
        break;
      }
      if (pass == 0 && attempt == 1)
        for (std::size_t k = 0; k < replaced.size(); ++k)
          replaced[k] = static_cast<double>(std::ranges::count(
              std::span(found).subspan(k * static_cast<std::size_t>(tasks), static_cast<std::size_t>(tasks)), 1));
      for_each_index(on.queue(), blocks.fine_sites() * chiralities,
                     replace_vectors{v.begin(), pointers, v.rows(), v.vectors(), missing, tasks,
                                     v.tables().coarse()->global_indices(), attempt});
      pass = 0;
      continue;
    }
    for_each_index(on.queue(), tasks * rows, multiply_row{v.begin(), pointers, v.rows(), r});
    ++pass;
  }
  replaced.push_back(given_up);
  on.comm().sum(std::span(replaced));
  if (replaced.back() > 0.0)
    throw input_error("multigrid: null vectors cannot be made orthonormal: numbers that are not finite?");
  replaced.pop_back();
  return {{replaced.begin(), replaced.end()}, volume(blocks.coarse().global()) * chiralities};
}

}  // namespace plaquette::gpu
