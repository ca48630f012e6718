// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Complex numbers a site between host and device, as fields of links and clover blocks hold them: [parity][block of 32
/// sites][number][32 sites]. For .cu files only.
#pragma once

#include <algorithm>
#include <vector>

#include "gpu/context.hpp"

namespace plaquette::gpu {

/// Numbers as they lie on the device, packed and copied some megabytes at a time.
class site_numbers {
 public:
  /// \param begin   [2][blocks][numbers][32], on the device
  site_numbers(const context& ctx, std::byte* begin, int numbers)
      : context_(ctx),
        begin_(begin),
        numbers_(numbers),
        at_once_(std::min(ctx.order().blocks(), most_blocks)),
        packed_(static_cast<std::size_t>(at_once_) * static_cast<std::size_t>(numbers) * lanes) {}

  /// Copies to the device: number(x, k) is number k of the host's site x.
  template <class Number>
  void to_device(Number&& number) {
    for_each_batch([&](int parity, std::int32_t first, std::int32_t blocks) {
      for_each_number(parity, first, blocks,
                      [&](const coordinate& x, int k, complex<double>& packed) { packed = number(x, k); });
      copy_to_device(context_.queue(), place(parity, first), packed_.data(), bytes(blocks));
    });
  }

  /// Copies to the host: set(x, k, z) takes number k of site x.
  template <class Set>
  void to_host(Set&& set) {
    for_each_batch([&](int parity, std::int32_t first, std::int32_t blocks) {
      copy_to_host(context_.queue(), packed_.data(), place(parity, first), bytes(blocks));
      for_each_number(parity, first, blocks,
                      [&](const coordinate& x, int k, const complex<double>& packed) { set(x, k, packed); });
    });
  }

 private:
  static constexpr std::int32_t most_blocks = 1024;  ///< some 20 MB of links

  std::size_t bytes(std::int64_t blocks) const {
    return static_cast<std::size_t>(blocks * numbers_ * lanes) * sizeof(complex<double>);
  }
  std::byte* place(int parity, std::int32_t block) const {
    return begin_ + bytes(std::int64_t{parity} * context_.order().blocks() + block);
  }
  template <class Visit>
  void for_each_batch(Visit&& visit) const {
    const std::int32_t all = context_.order().blocks();
    for (int parity = 0; parity < 2; ++parity)
      for (std::int32_t first = 0; first < all; first += at_once_)
        visit(parity, first, std::min(at_once_, all - first));
  }
  template <class Visit>
  void for_each_number(int parity, std::int32_t first_block, std::int32_t blocks, Visit&& visit) {
    const site_order& order = context_.order();
    const std::int32_t first = first_block * lanes, end = std::min(order.sites, (first_block + blocks) * lanes);
#pragma omp parallel for schedule(static)
    for (std::int32_t i = first; i < end; ++i) {
      const site_coordinate at = order.coordinate_of(parity, i);
      const std::int64_t block = i / lanes - first_block;
      for (int k = 0; k < numbers_; ++k)
        visit(coordinate{at.x[0], at.x[1], at.x[2], at.x[3]}, k,
              packed_[static_cast<std::size_t>((block * numbers_ + k) * lanes + i % lanes)]);
    }
  }

  context context_;
  std::byte* begin_;
  int numbers_;
  std::int32_t at_once_;
  std::vector<complex<double>> packed_;
};

}  // namespace plaquette::gpu
