// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/comms/watchdog.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "common/comms/stall_watch.hpp"
#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

namespace {

using clock = std::chrono::steady_clock;
constexpr auto time_between_checks = std::chrono::milliseconds(100);

struct wait_of_host {
  std::uint64_t number;
  std::function<std::string()> what;
  clock::time_point since;
};

/// One word that kernels write, as it was seen last.
struct seen_word {
  std::uint64_t value = 0;
  clock::time_point since = {};
};

/// Words of one user; gone when the user is.
struct words_of_device {
  std::weak_ptr<std::uint64_t> words;
  std::function<std::string(std::uint64_t)> describe;
  std::vector<seen_word> seen;
};

}  // namespace

struct watchdog::state {
  int rank;
  clock::duration timeout;
  double timeout_seconds;

  std::mutex mutex;
  std::condition_variable_any wake;
  std::list<wait_of_host> waits;  ///< the innermost last
  std::uint64_t last_number = 0;
  std::list<words_of_device> words;
  std::jthread thread = {};  ///< the last member: it ends before the members that it looks at

  bool is_on() const { return timeout_seconds > 0.0; }

  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    while (!stop.stop_requested()) {
      wake.wait_for(lock, stop, time_between_checks, [] { return false; });
      if (stop.stop_requested()) return;
      const auto now = clock::now();
      auto stalled = stalled_kernel(now);  // it names the rank; the host then waits for the kernel at best
      if (!stalled) stalled = stalled_host(now);
      if (stalled) end_stalled_run(rank, timeout_seconds, *stalled);
    }
  }

  /// The innermost alone: those around it go on when it does.
  std::optional<std::string> stalled_host(clock::time_point now) const {
    if (waits.empty() || now - waits.back().since <= timeout) return {};
    return waits.back().what();
  }

  std::optional<std::string> stalled_kernel(clock::time_point now) {
    words.remove_if([](const words_of_device& w) { return w.words.expired(); });
    for (words_of_device& w : words) {
      const auto alive = w.words.lock();
      if (!alive) continue;
      for (std::size_t i = 0; i < w.seen.size(); ++i) {
        const std::uint64_t value = std::atomic_ref(alive.get()[i]).load(std::memory_order_relaxed);
        seen_word& seen = w.seen[i];
        if (value != seen.value) seen = {value, now};
        if (value != 0 && now - seen.since > timeout) return w.describe(value);
      }
    }
    return {};
  }
};

watchdog::watchdog(const communicator& comm, double stall_timeout) {
  const double seconds = stall_timeout > 0.0 ? std::min(stall_timeout, 1e9) : 0.0;
  state_ = std::make_unique<state>(
      comm.rank(), std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds)), seconds);
  if (state_->is_on()) state_->thread = std::jthread([s = state_.get()](const std::stop_token& stop) { s->run(stop); });
}

watchdog::~watchdog() = default;

std::shared_ptr<std::uint64_t> watchdog::device_words(std::size_t count,
                                                      std::function<std::string(std::uint64_t)> describe) {
  if (!state_->is_on() || count == 0) return nullptr;
  const auto memory = allocate_pinned(count * sizeof(std::uint64_t));
  std::memset(memory.get(), 0, count * sizeof(std::uint64_t));
  const std::shared_ptr<std::uint64_t> words(memory, reinterpret_cast<std::uint64_t*>(memory.get()));
  const std::lock_guard lock(state_->mutex);
  state_->words.push_back({words, std::move(describe), std::vector<seen_word>(count)});
  return words;
}

host_wait::host_wait(watchdog* watch, std::function<std::string()> what)
    : watch_(watch != nullptr && watch->state_->is_on() ? watch : nullptr) {
  if (watch_ == nullptr) return;
  watchdog::state& s = *watch_->state_;
  const std::lock_guard lock(s.mutex);
  number_ = ++s.last_number;
  s.waits.push_back({number_, std::move(what), clock::now()});
}

host_wait::~host_wait() {
  if (watch_ == nullptr) return;
  watchdog::state& s = *watch_->state_;
  const std::lock_guard lock(s.mutex);
  s.waits.remove_if([&](const wait_of_host& w) { return w.number == number_; });
}

}  // namespace plaquette::gpu
