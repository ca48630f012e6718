// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Times one kernel, for all programs and benches that state the speed of a kernel. Its inputs alternate. A clock of
/// the device or of the host times samples of applications in a row. The output is verified, and the rate is related to
/// the limits of the machine, measured in the same run.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace plaquette {

/// A kernel with its fields, as `timed` sees it.
struct timed_kernel {
  /// Applies the kernel `applications` times in a row, to inputs that alternate. Returns the seconds until the last
  /// application is done, by the clock of the device or of the host. On several ranks all return the same number.
  std::function<double(int applications)> apply;
  /// Changes the inputs and poisons the output. Called before each sample; not timed.
  std::function<void()> refresh{};
  /// Measures what belongs to a sample as soon as it is taken: a limit, another way to do the same. Gets the seconds of
  /// an application.
  std::function<void(double seconds)> after_sample{};
  /// Verifies the output, which is the output of the last timed application. Called after the last sample.
  std::function<void()> judge{};
};

/// How samples are taken.
struct sampling {
  int samples = 5;
  double seconds = 0.02;  ///< of a sample, about: long against the clock and the way to the device
  int most_applications = 10'000;
  std::function<bool()> should_stop{};  ///< asked before each sample, the same on all ranks; true ends the measurement
};

/// A GPU that was idle runs faster than one at its power limit: a figure says which of both it is of.
enum class timing_protocol { cool, sustained };
/// Returns "cool", "sustained".
std::string_view name_of(timing_protocol protocol);

/// What a device does before its samples, and who watches it.
struct timing_state {
  timing_protocol protocol = timing_protocol::cool;
  double idle_seconds = 2.0;                     ///< without work, before cool samples
  double running_seconds = 1.5;                  ///< of the same work, before sustained samples
  std::function<bool(bool here)> on_any_rank{};  ///< on several ranks: whether `here` is true on one of them
  std::function<void()> begin_watch{}, watch{}, end_watch{};  ///< around the work and between its parts; not idleness
};

/// Returns the number of applications in a sample (stretch_length.hpp), after a warm-up that is not counted: the first
/// application tunes and touches memory.
int applications_of_sample(const timed_kernel& kernel, const sampling& how);

/// Returns the seconds of one application in each sample; fewer than `how.samples` if it was stopped, and then nothing
/// is judged.
/// \param applications  of a sample
std::vector<double> timed(const timed_kernel& kernel, const sampling& how, int applications);
/// Does the same after the idleness or the work of a protocol.
std::vector<double> timed(const timed_kernel& kernel, const sampling& how, int applications, const timing_state& state);

/// Returns the median; of an even number of values the mean of the middle two, of none 0.
double median(std::vector<double> values);

/// What an application does for all right-hand sides: standard flops, and the fewest bytes.
struct counted_work {
  double flops = 0.0, bytes = 0.0;
};
/// What the machine can do, measured in the same run: 10^9 bytes and flops per second; 0 if it is not known.
struct machine_limits {
  double copy_gbytes_per_s = 0.0, fma_gflops = 0.0;
};
struct kernel_rates {
  double gflops = 0.0, gbytes_per_s = 0.0;
  double fraction_of_copy = 0.0, fraction_of_fma_peak = 0.0;  ///< 0 if the limit is not known
};
/// Returns the rates of an application that takes `seconds`.
kernel_rates rates_of(const counted_work& work, double seconds, const machine_limits& limits = {});

}  // namespace plaquette
