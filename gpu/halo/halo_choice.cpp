// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/halo/halo_choice.hpp"

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "gpu/comms/rank_map.hpp"

namespace plaquette::gpu {

namespace {

/// The first is peer memory wherever it reaches.
constexpr std::array policies{halo_policy::automatic, halo_policy::nccl, halo_policy::mpi, halo_policy::staged};

/// A number from the first rank to all.
int from_first(const communicator& comm, int number) {
  std::array<std::byte, sizeof number> bytes;
  std::memcpy(bytes.data(), &number, sizeof number);
  comm.broadcast(bytes, 0);
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Seconds of an exchange; infinity where the policy cannot be had. Collective.
double seconds_of(const lattice_geometry& geometry, const communicator& comm, const queue& q,
                  const std::shared_ptr<const rank_map>& map, rank_options options,
                  const std::shared_ptr<watchdog>& watch, halo_policy policy) {
  constexpr int warm_up = 3, times = 20, site_bytes = 48, lanes_of_block = lanes;
  options.policy = policy;
  double seconds = std::numeric_limits<double>::infinity();
  try {
    halo trial(shape_of_halo(geometry), comm, q, map, options, watch);
    trial.zones(1, site_bytes * lanes_of_block);
    const auto exchange = [&](int count) {
      for (int i = 0; i < count; ++i) trial.exchange_anything(q);
      q.synchronize();
    };
    exchange(warm_up);
    comm.barrier();
    const double begin = now();
    exchange(times);
    seconds = (now() - begin) / times;
  } catch (const input_error&) {
    // On every rank alike: this way is closed.
  } catch (const memory_error&) {
    // On every rank alike, too.
  }
  std::array<double, 1> slowest{seconds};
  comm.maximum(std::span(slowest));
  // Where kernels write the messages themselves, in use that is part of an operator's kernel; here it is launches of
  // its own, which count for much.
  constexpr double of_launches = 2.0;
  return policy == halo_policy::automatic ? slowest[0] / of_launches : slowest[0];
}

/// Other properties that a choice depends on: "2 hosts", "1 hosts shared GPUs".
std::string text_of(const rank_map& map) {
  std::set<std::string> hosts;
  for (int rank = 0; rank < map.size(); ++rank) hosts.insert(map.place(rank).host);
  return std::to_string(hosts.size()) + " hosts" + (map.shares_a_device() ? " shared GPUs" : "");
}

/// Returns the choice of the first rank's tuner by trials, which all ranks make. The others' seconds count as their
/// tuners' seconds, too: they are no part of a program's measurements.
halo_policy chosen_policy(const lattice_geometry& geometry, const communicator& comm, const rank_map& map,
                          tuner& choices, const std::function<double(int)>& trial) {
  constexpr int chosen = 1000;
  if (comm.rank() != 0) {
    for (const double begin = now();;) {
      const int order = from_first(comm, 0);
      if (order < chosen) {
        trial(order);
        continue;
      }
      choices.add_seconds_spent(now() - begin);
      return policies.at(static_cast<std::size_t>(order - chosen));
    }
  }
  std::vector<std::string> names;
  for (const halo_policy policy : policies) names.emplace_back(name_of(policy));
  const tuning_key key{"halo", plaquette::to_string(geometry.local()), "single",
                       "grid " + plaquette::to_string(geometry.grid()) + " on " + text_of(map)};
  const int choice = choices.choose(key, names, [&](int i) {
    from_first(comm, i);
    return trial(i);
  });
  from_first(comm, chosen + choice);
  return policies.at(static_cast<std::size_t>(choice));
}

}  // namespace

std::shared_ptr<halo> make_halo(const lattice_geometry& geometry, const communicator& comm, const queue& q,
                                const rank_options& options, const std::shared_ptr<watchdog>& watch, tuner& choices) {
  const auto map = std::make_shared<const rank_map>(comm, q.device());
  const bool tunes = from_first(comm, choices.mode() == tuning_mode::off ? 0 : 1) != 0;
  if (options.policy != halo_policy::automatic || !tunes)
    return std::make_shared<halo>(shape_of_halo(geometry), comm, q, map, options, watch);
  rank_options taken = options;
  taken.policy = chosen_policy(geometry, comm, *map, choices, [&](int i) {
    return seconds_of(geometry, comm, q, map, options, watch, policies.at(static_cast<std::size_t>(i)));
  });
  try {
    return std::make_shared<halo>(shape_of_halo(geometry), comm, q, map, taken, watch);
  } catch (const input_error&) {  // on every rank alike: the remembered policy is gone
    return std::make_shared<halo>(shape_of_halo(geometry), comm, q, map, options, watch);
  }
}

}  // namespace plaquette::gpu
