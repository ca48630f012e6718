// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Sums over ranks inside a kernel, through memory that all ranks reach (peer_memory). For .cu files; to others
/// `rank_sum` is data.
///
/// A sum is an epoch. Each rank writes its numbers into every rank's memory, each together with the epoch, in words
/// that are written as a whole. A reader that finds this epoch in both words of a number has the number. So there is no
/// flag to set after the data, and a number is under way for one trip.
///
/// There are two sets of slots, for even and odd epochs. That is enough: a rank overwrites the slots of epoch e in
/// epoch e + 2, and so after it has seen numbers of epoch e + 1 from every rank. Those were written by kernels that ran
/// after their rank's kernel of epoch e had ended, which had read its slots by then. Nor does a number need a fence: a
/// reader that finds the epoch in its words has the number itself. A thread that reads the words after a barrier behind
/// the one that found them finds no older ones.
///
/// A word that is not of this epoch is of an older one. (A slot left unused for exactly 2^32 sums would be taken for
/// new.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gpu/device/device_flags.hpp"

namespace plaquette::gpu {

// Functions that touch slots run on a device, or on the host in the host build.
#ifdef __CUDACC__
#define PLAQUETTE_WHERE_KERNELS_RUN __device__
#else
#define PLAQUETTE_WHERE_KERNELS_RUN
#endif

/// A number in two words, each 32 bits of it (above) and the epoch (below).
struct numbered {
  std::uint64_t words[2];
};

PLAQUETTE_WHERE_KERNELS_RUN inline void send_number(numbered& slot, std::uint32_t epoch, double number) {
  std::uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  store_word(&slot.words[0], (bits & ~std::uint64_t{0xffffffff}) | epoch);
  store_word(&slot.words[1], bits << 32 | epoch);
}
/// Waits for it. `word` and `value`: see `wait_until`.
PLAQUETTE_WHERE_KERNELS_RUN inline double receive_number(const numbered& slot, std::uint32_t epoch, std::uint64_t* word,
                                                         std::uint64_t value) {
  std::uint64_t upper, lower;
  wait_until(
      [&] {
        upper = load_word(&slot.words[0]), lower = load_word(&slot.words[1]);  // side by side
        return static_cast<std::uint32_t>(upper) == epoch && static_cast<std::uint32_t>(lower) == epoch;
      },
      word, value);
  const std::uint64_t bits = (upper & ~std::uint64_t{0xffffffff}) | lower >> 32;
  double number;
  memcpy(&number, &bits, sizeof number);
  return number;
}

/// Returns the word for a watchdog: the rank that is waited for, and the epoch.
PLAQUETTE_HOST_DEVICE inline std::uint64_t sum_waiting_word(int rank, std::uint32_t epoch) {
  return (static_cast<std::uint64_t>(rank) + 1) << 32 | epoch;
}

/// Sums of a kernel, [column][count] on the device.
struct number_rows {
  double* begin = nullptr;
  std::int32_t count = 0;
};

/// The arguments by which a kernel adds its sums over the sites of a rank, a few numbers a column, over ranks too,
/// before it ends. Columns are sums of their own, each with its epochs. Sums of kernels before, of as many columns,
/// that no kernel has used yet may be carried along.
struct rank_sum {
  static constexpr int most_ranks = 8, most_columns = 32, most_numbers = 8, most_carried = 2;
  /// Of a column, in each rank's memory: the epoch of this rank's last sum, then numbered[2][most_ranks][most_numbers].
  static constexpr std::size_t slots_begin = 128;
  static constexpr std::size_t column_bytes =
      slots_begin + std::size_t{2} * most_ranks * most_numbers * sizeof(numbered);

  std::byte* memory[most_ranks] = {};  ///< of each rank, [most_columns][column_bytes]
  std::int32_t rank = 0, ranks = 1;    ///< one: there is nothing to add
  std::uint64_t* words = nullptr;      ///< of a watchdog, one a rank that is waited for, or null
  number_rows carried[most_carried] = {};
  std::int32_t carried_numbers = 0;  ///< a column, of all rows

  /// Returns 0 <= k < carried_numbers
  PLAQUETTE_HOST_DEVICE double* carried_number(int column, int k) const {
    const bool second = k >= carried[0].count;
    const number_rows& rows = carried[second ? 1 : 0];
    return rows.begin + column * rows.count + (second ? k - carried[0].count : k);
  }
  PLAQUETTE_HOST_DEVICE std::uint32_t* last_epoch(int column) const {
    return reinterpret_cast<std::uint32_t*>(memory[rank] + column * column_bytes);
  }
  PLAQUETTE_WHERE_KERNELS_RUN void send(int column, std::uint32_t epoch, int to, int i, double number) const {
    send_number(slot(to, column, epoch, rank, i), epoch, number);
  }
  PLAQUETTE_WHERE_KERNELS_RUN double receive(int column, std::uint32_t epoch, int from, int i) const {
    return receive_number(slot(rank, column, epoch, from, i), epoch, words != nullptr ? words + from : nullptr,
                          sum_waiting_word(from, epoch));
  }

 private:
  PLAQUETTE_HOST_DEVICE numbered& slot(int at, int column, std::uint32_t epoch, int from, int i) const {
    auto* const slots = reinterpret_cast<numbered*>(memory[at] + column * column_bytes + slots_begin);
    return slots[((epoch & 1U) * most_ranks + static_cast<unsigned>(from)) * most_numbers + static_cast<unsigned>(i)];
  }
};

}  // namespace plaquette::gpu
