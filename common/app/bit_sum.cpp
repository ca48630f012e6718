// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/bit_sum.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace plaquette {

namespace {

constexpr std::uint64_t odd = 0xd6e8feb86659fd93;

/// Maps the state one to one for any word, and the word one to one for any state: so no flipped bit is lost.
std::uint64_t mixed(std::uint64_t state, std::uint64_t word) {
  const std::uint64_t product = (state ^ word) * odd;
  return (product ^ (product >> 32U)) * odd;
}

}  // namespace

void bit_sum::add_bytes(std::span<const std::byte> bytes) {
  constexpr std::size_t lanes = 4, word = sizeof(std::uint64_t), step = lanes * word;
  std::array<std::uint64_t, lanes> state{};  // independent chains, as one multiplication waits for the one before
  std::size_t at = 0;
  for (; at + step <= bytes.size(); at += step) {
    std::array<std::uint64_t, lanes> words;
    std::memcpy(words.data(), bytes.data() + at, step);
    for (std::size_t i = 0; i < lanes; ++i) state[i] = mixed(state[i], words[i]);
  }
  for (; at < bytes.size(); at += word) {
    std::uint64_t last = 0;
    std::memcpy(&last, bytes.data() + at, std::min(word, bytes.size() - at));
    state[0] = mixed(state[0], last);
  }
  for (const std::uint64_t s : state) state_ = mixed(state_, s);
  state_ = mixed(state_, bytes.size());
}

void check_same_bits(verification& checks, const std::string& what, const bit_sum& judged, const bit_sum& used,
                     const communicator& comm) {
  std::array<double, 1> differs{judged == used ? 0.0 : 1.0};
  comm.maximum(differs);
  checks.add(what + " are the bits that were judged", differs[0] == 0.0);
}

}  // namespace plaquette
