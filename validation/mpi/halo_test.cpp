// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/halo/halo.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace plaquette::cpu {
namespace {

std::int64_t number_of(int sender, int direction, std::int64_t site, int k) {
  return ((sender * 8 + direction) * 1000 + site) * 10 + k;
}

/// Sends numbers to the next rank and to the one before: sites of face `direction` are its own number.
void exchange_and_check(halo& messages, const communicator& comm, std::int64_t up, std::int64_t down, int numbers) {
  const int next = (comm.rank() + 1) % comm.size(), before = (comm.rank() + comm.size() - 1) % comm.size();
  const std::size_t bytes = static_cast<std::size_t>(numbers) * sizeof(std::int64_t);
  messages.prepare({{3, next, before, up, up}, {4, before, next, down, down}}, bytes);
  EXPECT_EQ(messages.bytes_sent(), (up + down) * static_cast<std::int64_t>(bytes));
  for (std::size_t face = 0; face < 2; ++face) {
    const halo_traffic& traffic = messages.faces()[face];
    std::byte* to = messages.outgoing(face);
    for (std::int64_t s = 0; s < traffic.sent; ++s)
      for (int k = 0; k < numbers; ++k, to += sizeof(std::int64_t)) {
        const std::int64_t number = number_of(comm.rank(), traffic.direction, s, k);
        std::memcpy(to, &number, sizeof number);
      }
  }
  messages.start(comm).wait();
  EXPECT_EQ(messages.incoming(1), messages.incoming(0) + static_cast<std::size_t>(up) * bytes);
  for (std::size_t face = 0; face < 2; ++face) {
    const halo_traffic& traffic = messages.faces()[face];
    const std::byte* from = messages.incoming(face);
    for (std::int64_t s = 0; s < traffic.received; ++s)
      for (int k = 0; k < numbers; ++k, from += sizeof(std::int64_t)) {
        std::int64_t found;
        std::memcpy(&found, from, sizeof found);
        ASSERT_EQ(found, number_of(traffic.receive_from, traffic.direction, s, k));
      }
  }
}

TEST(Halo, CarriesNumbersOfAnyFieldAndServesAgain) {
  const communicator comm = communicator::world();
  halo messages;
  exchange_and_check(messages, comm, 5, 7, 3);
  exchange_and_check(messages, comm, 40, 9, 12);  // more room
  exchange_and_check(messages, comm, 0, 2, 1);    // less, and an empty face
}

}  // namespace
}  // namespace plaquette::cpu
