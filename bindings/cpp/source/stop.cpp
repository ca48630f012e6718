// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/cpp/source/stop.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "common/stopwatch.hpp"
#include "plaquette/plaquette.hpp"

namespace plaquette::api {
inline namespace v1 {

namespace {

std::function<bool()>& function_of_thread() {
  static thread_local std::function<bool()> goes_on;
  return goes_on;
}

}  // namespace

void stop_function(std::function<bool()> goes_on) { function_of_thread() = std::move(goes_on); }

class stops_of_call::asker {
 public:
  explicit asker(const communicator& ranks) : ranks_(ranks), goes_on_(function_of_thread()) {}

  bool asked() {
    if (stops_) return true;
    if (ranks_.size() == 1) {
      constexpr double interval = 0.02;
      if (was_asked_ && since_.seconds() < interval) return false;
      was_asked_ = true;
      since_ = stopwatch();
      return stops_ = !goes_on();
    }
    if (++calls_ < stride_) return false;
    calls_ = 0;
    std::array<double, 2> of_all{goes_on() ? 0.0 : 1.0, since_.seconds()};
    since_ = stopwatch();
    ranks_.maximum(std::span(of_all));
    constexpr double interval = 0.1;
    constexpr int longest = 64;  // a step may come to take much longer than those before
    if (of_all[1] < 0.5 * interval)
      stride_ = std::min(2 * stride_, longest);
    else if (of_all[1] > interval)
      stride_ = std::max(1, static_cast<int>(stride_ * interval / of_all[1]));
    return stops_ = of_all[0] > 0.0;
  }

  void leave() const {
    if (!stops_) return;
    if (thrown_) throw callers_exception{thrown_};
    throw error(code::interrupted, "stopped by the caller's stop function");
  }

 private:
  bool goes_on() {
    try {
      return goes_on_();
    } catch (...) {
      thrown_ = std::current_exception();
      return false;
    }
  }

  communicator ranks_;
  std::function<bool()> goes_on_;
  std::exception_ptr thrown_{};
  stopwatch since_{};
  int calls_ = 0, stride_ = 1;
  bool stops_ = false, was_asked_ = false;
};

stops_of_call::asker*& stops_of_call::current() {
  static thread_local asker* asks = nullptr;
  return asks;
}

stops_of_call::stops_of_call(const communicator& ranks) {
  if (!function_of_thread() || current() != nullptr) return;
  own_ = std::make_unique<asker>(ranks);
  current() = own_.get();
  points_ = std::make_unique<stop_question>([](stop_kind) { ask(); });
}

stops_of_call::~stops_of_call() {
  if (own_) current() = nullptr;
}

void stops_of_call::leave() {
  if (const asker* asks = current()) asks->leave();
}

std::function<bool()> stops_of_call::question() {
  if (current() == nullptr) return nullptr;
  return [asks = current()] { return asks->asked(); };
}

void stops_of_call::ask() {
  if (asker* asks = current(); asks != nullptr && asks->asked()) asks->leave();
}

}  // namespace v1
}  // namespace plaquette::api
