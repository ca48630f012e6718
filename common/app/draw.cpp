// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/draw.hpp"

#include <chrono>
#include <span>

namespace plaquette {

std::uint64_t drawn_number(const communicator& world) {
  // Of each clock the nanoseconds of a second are not known beforehand. Multiplications by odd numbers and shifts bring
  // them to all bits (the finaliser of splitmix64).
  const auto ticks = [](auto time) { return static_cast<std::uint64_t>(time.time_since_epoch().count()); };
  std::uint64_t x = ticks(std::chrono::system_clock::now()) ^ (ticks(std::chrono::steady_clock::now()) << 32U);
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111eb;
  x = (x ^ (x >> 31U)) >> 11U;
  world.broadcast(std::as_writable_bytes(std::span(&x, 1)), 0);
  return x;
}

}  // namespace plaquette
