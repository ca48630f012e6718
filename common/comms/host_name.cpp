// SPDX-License-Identifier: BSD-3-Clause
#include "common/comms/host_name.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/comms/communicator.hpp"

namespace plaquette {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

int ranks_on_this_host(const communicator& world) {
  std::vector<std::uint64_t> names(static_cast<std::size_t>(world.size()));
  const std::uint64_t mine = std::hash<std::string>{}(host_name());
  names[static_cast<std::size_t>(world.rank())] = mine;
  world.sum(std::span(names));
  return static_cast<int>(std::count(names.begin(), names.end(), mine));
}

}  // namespace plaquette
