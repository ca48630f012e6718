// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Whether the ghosts of a canonical field are what its neighbours hold.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include "common/lattice/site_field.hpp"

namespace plaquette {

/// Returns a number made of the bits of one layer x_mu = at, ghosts of the other directions included (FNV-1a, 8 bytes a
/// step).
template <class Value>
std::uint64_t hash_of_layer(const site_field<Value>& field, int mu, int at) {
  static_assert(sizeof(Value) % sizeof(std::uint64_t) == 0);
  const extents& local = field.geometry().local();
  coordinate low{-1, -1, -1, -1}, high{local[0], local[1], local[2], local[3]}, x;
  low[mu] = high[mu] = at;
  std::uint64_t hash = 14695981039346656037ULL;
  for (x[3] = low[3]; x[3] <= high[3]; ++x[3])
    for (x[2] = low[2]; x[2] <= high[2]; ++x[2])
      for (x[1] = low[1]; x[1] <= high[1]; ++x[1])
        for (x[0] = low[0]; x[0] <= high[0]; ++x[0]) {
          const auto* bytes = reinterpret_cast<const unsigned char*>(&field(x));
          for (std::size_t i = 0; i < sizeof(Value); i += sizeof(std::uint64_t)) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes + i, sizeof word);
            hash = (hash ^ word) * 1099511628211ULL;
          }
        }
  return hash;
}

/// Returns whether all ghosts of all ranks hold the bits that exchange_ghosts would fill in. Each layer of ghosts is
/// compared with its neighbour's layer by a hash of both. Collective.
template <class Value>
bool has_current_ghosts(const site_field<Value>& field, const communicator& comm) {
  const lattice_geometry& geometry = field.geometry();
  double stale = 0.0;
  for (int mu = 0; mu < dimensions; ++mu) {
    const int last = geometry.local()[mu] - 1, above = geometry.neighbour_rank(mu, +1),
              below = geometry.neighbour_rank(mu, -1);
    std::uint64_t up = hash_of_layer(field, mu, last), down = hash_of_layer(field, mu, 0), from_below = 0,
                  from_above = 0;
    const outgoing_message send[] = {{above, 2 * mu, std::as_bytes(std::span(&up, 1))},
                                     {below, 2 * mu + 1, std::as_bytes(std::span(&down, 1))}};
    const incoming_message receive[] = {{below, 2 * mu, std::as_writable_bytes(std::span(&from_below, 1))},
                                        {above, 2 * mu + 1, std::as_writable_bytes(std::span(&from_above, 1))}};
    comm.start_exchange(send, receive).wait();
    if (hash_of_layer(field, mu, -1) != from_below || hash_of_layer(field, mu, last + 1) != from_above) stale = 1.0;
  }
  comm.maximum({&stale, 1});
  return stale == 0.0;
}

/// Throws std::logic_error, on all ranks, where ghosts are not what exchange_ghosts would fill in. Collective.
/// \param user  who needs them, for the message
template <class Value>
void require_current_ghosts(const site_field<Value>& field, const communicator& comm, const char* user) {
  if (!has_current_ghosts(field, comm))
    throw std::logic_error(std::string(user) +
                           ": ghosts of the field are not their neighbours' values: call exchange_ghosts first");
}

/// Does the same without the other ranks: sees ghosts that were never filled, and stale ones of directions that are not
/// cut. For functions that have no communicator.
template <class Value>
void require_own_ghosts(const site_field<Value>& field, const char* user) {
  const lattice_geometry& geometry = field.geometry();
  const Value empty{};  // as site_field has it at first
  for (int mu = 0; mu < dimensions; ++mu) {
    const int last = geometry.local()[mu] - 1;
    coordinate ghost{}, above{};  // one of each face shows whether they were filled
    ghost[mu] = -1;
    above[mu] = last + 1;
    const auto is_empty = [&](const coordinate& x) { return std::memcmp(&field(x), &empty, sizeof(Value)) == 0; };
    const bool filled = geometry.is_cut(mu) ? !is_empty(ghost) && !is_empty(above)
                                            : hash_of_layer(field, mu, -1) == hash_of_layer(field, mu, last) &&
                                                  hash_of_layer(field, mu, last + 1) == hash_of_layer(field, mu, 0);
    if (!filled)
      throw std::logic_error(std::string(user) +
                             ": ghosts of the field are not their neighbours' values: call exchange_ghosts first");
  }
}

}  // namespace plaquette
