// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/run_control.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <span>
#include <utility>

#include "common/app/timing.hpp"
#include "common/error.hpp"

namespace plaquette {

namespace {

constexpr std::array stop_signals{SIGINT, SIGTERM, SIGUSR1};
volatile std::sig_atomic_t caught_signal = 0;

extern "C" void remember_signal(int signal) {
  caught_signal = signal;
  for (const int next : stop_signals) std::signal(next, SIG_DFL);
}

}  // namespace

void catch_stop_signals() {
  for (const int signal : stop_signals) std::signal(signal, remember_signal);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows beyond a limit is an error of the write, and reported as such
}

int stop_signal() { return caught_signal; }

run_control::run_control(communicator world, double time_limit)
    : world_(std::move(world)), time_limit_(time_limit), start_(seconds_now()) {}

bool run_control::should_stop() {
  if (stopped_) return true;
  const bool late = seconds_now() - start_ > time_limit_;
  std::array<double, 2> requested{static_cast<double>(stop_signal()), late ? 1.0 : 0.0};
  world_.maximum(std::span(requested));
  if (const int signal = static_cast<int>(requested[0]); signal != 0) {
    stopped_ = true;
    reason_ = fmt::format("signal {} ({})", signal, strsignal(signal));
  } else if (requested[1] > 0.0) {
    stopped_ = true;
    reason_ = fmt::format("the time limit of {:g} s", time_limit_);
  }
  if (stopped_) stopped_at_ = seconds_now();
  return stopped_;
}

bool run_control::is_overdue() const {
  constexpr double seconds_after_a_stop = 0.5;
  if (!stopped_) return false;
  std::array<double, 1> passed{seconds_now() - stopped_at_};
  world_.maximum(std::span(passed));
  return passed[0] > seconds_after_a_stop;
}

void run_control::note_stop(verification& checks) const {
  if (stopped_) checks.add("run was not stopped by " + reason_, false);
}

void run_control::stop_if_requested(const std::string& during) {
  if (should_stop()) throw error(exit_status::interrupted, fmt::format("stopped by {} during {}", reason_, during));
}

void run_control::stop_alone_if_requested(const std::string& during) const {
  run_control alone(communicator(), time_limit_);
  alone.start_ = start_;
  alone.stop_if_requested(during);
}

sparse_stop::sparse_stop(run_control& control, const communicator& world)
    : control_(control), world_(world), last_(seconds_now()) {}

bool sparse_stop::operator()() {
  if (control_.stopped()) return true;
  if (++calls_ < stride_) return false;
  calls_ = 0;
  if (world_.size() == 1) return control_.should_stop();
  constexpr double interval = 0.1;
  constexpr int longest = 64;  // a step may come to take much longer than those before
  const double now = seconds_now();
  std::array<double, 1> passed{now - last_};
  world_.maximum(std::span(passed));  // so that all ranks take the same stride
  last_ = now;
  if (passed[0] < 0.5 * interval)
    stride_ = std::min(2 * stride_, longest);
  else if (passed[0] > interval)
    stride_ = std::max(1, static_cast<int>(stride_ * interval / passed[0]));
  return control_.should_stop();
}

}  // namespace plaquette
