// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums over the bits of data. What a run judges gets a sum at that moment; what it uses later must have the same one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "common/app/verification.hpp"
#include "common/comms/communicator.hpp"

namespace plaquette {

/// A 64-bit sum of bytes in their order. A flipped bit always changes it, other changes do but for one in 2^64.
class bit_sum {
 public:
  /// Adds the bytes of numbers.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void add(std::span<T> numbers) {
    add_bytes(std::as_bytes(numbers));
  }
  std::uint64_t value() const { return state_; }
  friend bool operator==(const bit_sum&, const bit_sum&) = default;

 private:
  void add_bytes(std::span<const std::byte> bytes);
  std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

/// Adds the check that data have the bits that they had when they were judged, on all ranks. Collective.
/// \param what  the data, for the name of the check: "solutions"
void check_same_bits(verification& checks, const std::string& what, const bit_sum& judged, const bit_sum& used,
                     const communicator& comm);

}  // namespace plaquette
