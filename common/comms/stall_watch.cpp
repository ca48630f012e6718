// SPDX-License-Identifier: BSD-3-Clause
#include "common/comms/stall_watch.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "common/comms/host_name.hpp"

namespace plaquette {

namespace {

using clock = std::chrono::steady_clock;
constexpr double seconds_between_checks = 0.1;
/// The most that counts between two checks: a process that was stopped meanwhile has not waited.
constexpr double most_between_checks = 1.0;
/// MPI may hang while it ends the others; then this process ends by itself.
constexpr auto time_to_end = std::chrono::seconds(5);

// One thread of a process calls MPI, and it waits for one thing at a time.
std::atomic<const char*> current_wait{nullptr};
std::atomic<std::uint64_t> waits{0}, unanswered_polls{0};

void count(std::atomic<std::uint64_t>& number) noexcept {
  number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

void end_stalled_run(int rank, double timeout, const std::string& what) {
  constexpr int internal_error = 70;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3g s", timeout);
  const std::string line =
      "rank " + std::to_string(rank) + " on " + host_name() + " has waited " + seconds + " for " + what + "\n";
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  std::thread([] {
    std::this_thread::sleep_for(time_to_end);
    std::_Exit(internal_error);
  }).detach();
  end_all_ranks(internal_error);
}

rank_wait::rank_wait(const char* what) noexcept {
  count(waits);
  current_wait.store(what, std::memory_order_relaxed);
}
rank_wait::~rank_wait() { current_wait.store(nullptr, std::memory_order_relaxed); }

void note_unanswered_poll() noexcept { count(unanswered_polls); }

struct stall_watch::state {
  int rank;
  double timeout;
  std::function<std::string()> during;

  std::mutex mutex{};
  std::condition_variable_any wake{};
  std::jthread thread{};  ///< the last member: it ends before what it reads

  void run(const std::stop_token& stop) {
    std::uint64_t seen_waits = 0, seen_polls = 0;
    double waited = 0.0;
    // GPUs have a watch that knows more; it speaks at the timeout itself. A busy host takes a second or two to end a
    // job.
    const double longest = timeout + 0.5 + 2.0 * std::min(rank, 5);
    auto last = clock::now();
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      wake.wait_for(lock, stop, std::chrono::duration<double>(seconds_between_checks), [] { return false; });
      if (stop.stop_requested()) return;
      const auto now = clock::now();
      const double passed = std::chrono::duration<double>(now - last).count();
      last = now;
      const char* const what = current_wait.load(std::memory_order_relaxed);
      const std::uint64_t number = waits.load(std::memory_order_relaxed),
                          polls = unanswered_polls.load(std::memory_order_relaxed);
      const bool is_waiting = number == seen_waits && (what != nullptr || polls != seen_polls);
      seen_waits = number;
      seen_polls = polls;
      waited = is_waiting ? waited + std::min(passed, most_between_checks) : 0.0;
      if (waited > longest) report_and_abort(what);
    }
  }

  [[noreturn]] void report_and_abort(const char* what) const {
    end_stalled_run(rank, timeout,
                    std::string("other ranks: ") + (what != nullptr ? what : "messages of its neighbours") +
                        ", during " + during() + "; the run ends (--stall-timeout says how long a rank waits)");
  }
};

stall_watch::stall_watch(const communicator& world, double timeout, std::function<std::string()> during) {
  if (world.size() == 1 || !(timeout > 0.0)) return;
  state_ = std::make_unique<state>(world.rank(), timeout, std::move(during));
  state_->thread = std::jthread([s = state_.get()](const std::stop_token& stop) { s->run(stop); });
}

stall_watch::~stall_watch() = default;

}  // namespace plaquette
