// SPDX-License-Identifier: BSD-3-Clause
#include "common/comms/host_name.hpp"

#include <unistd.h>

namespace plaquette {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

}  // namespace plaquette
