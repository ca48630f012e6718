// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One complex number a column, living on the device: handles to sums, and expressions in them.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/algebra/complex.hpp"
#include "gpu/execution.hpp"

namespace plaquette::gpu {

struct scalar_program;  // scalar_program.hpp
class scalars;

/// The coefficients of a vector operation; null if it has fewer.
using coefficients = std::array<const scalars*, 3>;
/// Computes them in one launch, before `on_device` needs them.
void evaluate(const coefficients& numbers);

/// A handle: copies mean the same numbers, which never change. Arithmetic queues nothing; an expression is computed on
/// the device, in one launch, when a kernel or the host first needs its numbers. Meets `column_scalars`.
class scalars {
 public:
  /// Numbers of the host.
  scalars(const execution& on, std::span<const complex<double>> numbers);

  const execution& get_execution() const;
  int columns() const;
  /// Returns complex<double>[columns] on the device, valid in the queue from here on and as long as this or a copy
  /// lives.
  const complex<double>* on_device() const;
  /// Keeps the memory of `on_device` alive.
  std::shared_ptr<const void> storage() const;
  friend std::vector<scalar_program> take_programs(const coefficients& numbers);

  friend scalars operator+(const scalars& a, const scalars& b);
  friend scalars operator-(const scalars& a, const scalars& b);
  friend scalars operator*(const scalars& a, const scalars& b);
  friend scalars operator-(const scalars& a);
  friend scalars conj(const scalars& a);
  friend scalars ratio(const scalars& a, const scalars& b);
  friend scalars where_above(const scalars& a, std::span<const double> limits);
  friend scalars compacted(const scalars& a, std::span<const int> keep);
  friend std::vector<complex<double>> host_values(const scalars& a);
  /// Waits once for all.
  friend std::vector<std::vector<complex<double>>> host_values(std::span<const scalars> list);
  /// Queues the reading; the function waits for it alone, and is called once at most.
  friend std::function<std::vector<std::vector<complex<double>>>()> values_on_their_way(std::span<const scalars> list);

  struct node;  ///< an expression

 private:
  friend class column_sums;
  friend struct node;
  explicit scalars(std::shared_ptr<node> expression) : node_(std::move(expression)) {}
  std::shared_ptr<node> node_;
};

/// Room for the sums of a kernel: double [columns][count] on the device, as `sum_over` writes it. Have the kernel
/// queued, and then `add_over_ranks`, before handles to its sums are used.
class column_sums {
 public:
  column_sums(const execution& on, int columns, int count);

  /// Of this rank alone, until `execution::complete_sums`.
  double* on_device() const { return begin_; }
  std::shared_ptr<const void> storage() const { return memory_; }
  /// Makes sums over all ranks of sums over the sites of this rank, before their first use. Collective.
  void add_over_ranks() const { execution_.add_over_ranks(memory_, begin_, columns_, count_); }
  /// Sum number k of each column, as a real number.
  scalars real_sum(int k) const;
  /// Sums number k and k + 1: real and imaginary part.
  scalars complex_sum(int k) const;

 private:
  scalars part(int re, int im) const;

  execution execution_;
  int columns_, count_;
  std::shared_ptr<std::byte> memory_;
  double* begin_;
};

}  // namespace plaquette::gpu
