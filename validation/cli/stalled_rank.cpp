// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A program that hangs: "stalled_rank RANK WAY SECONDS" works with all ranks for a while. Then that rank goes away and
/// the others wait for it. They wait in a kernel's sum ("sum"), in a sum through the host ("staged-sum"), for a message
/// ("message"), or no rank waits ("none"). The way "death" is "sum" with a rank that is killed. The watchdog has
/// SECONDS seconds.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/app/run_app.hpp"
#include "gpu/comms/device_messages.hpp"
#include "gpu/comms/global_sum.hpp"

namespace {

using namespace plaquette;
using namespace plaquette::gpu;

rank_options staged() {
  rank_options options;
  options.policy = halo_policy::staged;
  return options;
}

/// One of everything, with every rank.
struct work {
  communicator comm;
  std::shared_ptr<watchdog> watch;
  queue q = queue(0);
  global_sum peer_sum = global_sum(comm, 0, {}, watch), staged_sum = global_sum(comm, 0, staged(), watch);
  device_messages messages = device_messages(comm, 0, halo_policy::staged, wait_mode::block, watch, [](int tag) {
    return std::string("the halo message ") + (tag == 0 ? "+t" : "-t");
  });
  std::vector<double> numbers = std::vector<double>(3, 1.0);

  void sum() { peer_sum.add(q, numbers.data(), 3); }
  void sum_staged() { staged_sum.add(q, numbers.data(), 3); }
  void exchange() {
    const int up = (comm.rank() + 1) % comm.size(), down = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<std::byte> data(4 * 1000);
    const device_message send[] = {{up, 0, data.data(), 1000}, {down, 1, data.data() + 1000, 1000}};
    const device_message receive[] = {{down, 0, data.data() + 2000, 1000}, {up, 1, data.data() + 3000, 1000}};
    messages.start(q, send, receive);
    messages.finish(q);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return run_app("stalled_rank", argc, argv, [](int count, const char* const* arguments, const communicator& world) {
    if (count != 4) throw input_error("expected RANK WAY SECONDS");
    const int absent = std::atoi(arguments[1]);
    const std::string way = arguments[2];
    work w{world, std::make_shared<watchdog>(world, std::atof(arguments[3]))};
    for (int i = 0; i < 5; ++i) {
      w.sum();
      w.sum_staged();
      w.exchange();
    }
    if (way == "none") {
      sleep(2);  // no rank waits: the watchdog has nothing to say
      return exit_status::success;
    }
    if (world.rank() == absent && way == "death") std::raise(SIGKILL);
    if (world.rank() == absent)
      for (;;) sleep(1);
    if (way == "sum" || way == "death") w.sum();
    if (way == "staged-sum") w.sum_staged();
    if (way == "message") w.exchange();
    return exit_status::success;
  });
}
