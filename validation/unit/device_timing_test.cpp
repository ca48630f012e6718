// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How operators are timed on a device, with a made-up GPU: no device is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "common/hmc/molecular_dynamics.hpp"
#include "miniapps/shared/device_timing.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette {
namespace {

device_facts made_up_facts() {
  device_facts facts;
  facts.kind = device_kind::gpu;
  facts.name = "made up";
  facts.pci_bus_id = "no such bus";
  facts.memory_bytes = 4096.0;
  return facts;
}

/// Each application takes this time by its clock, and no time at all by the host's.
class made_up_device final : public library {
 public:
  explicit made_up_device(double free = 0.0)
      : library(made_up_facts(), lattice_geometry({4, 4, 4, 4}), communicator()), free_(free) {}

  std::unique_ptr<dg_solver> make_dg_solver(const dg_domain&, const dg_settings&) const override { return nullptr; }
  std::unique_ptr<scaling::operator_maker> make_timed_operators(const scaling::timed_action&) const override {
    return nullptr;
  }
  std::unique_ptr<molecular_dynamics> make_molecular_dynamics(const lattice_geometry&, const communicator&,
                                                              const gauge_configuration&,
                                                              const hybrid_action&) const override {
    return nullptr;
  }
  void finish() const override {}
  double seconds_of(int times, const std::function<void()>& launch) const override {
    for (int i = 0; i < times; ++i) launch();
    return 1e-4 * times;
  }
  double free_bytes() const override { return free_; }
  bool has_room() const override { return false; }
  double copy_gbytes_per_s() const override { return 1.0; }

 private:
  std::unique_ptr<link_field> imported_links(gauge_configuration) const override { return nullptr; }
  std::unique_ptr<link_field> new_links(const link_start&, std::uint64_t) const override { return nullptr; }
  std::unique_ptr<link_field> new_own_links(const link_start&, std::uint64_t, const extents&) const override {
    return nullptr;
  }
  std::unique_ptr<vectors_body> new_vectors(const vectors_shape&) const override { return nullptr; }
  std::pair<vectors_shape, std::unique_ptr<vectors_body>> copied_vectors(const vectors_handle&) const override {
    return {};
  }
  std::unique_ptr<contractions> new_contractions(const vectors&) const override { return nullptr; }
  std::unique_ptr<vector_operator> new_vector_operator(links_pointer, const vector_operator_settings&) const override {
    return nullptr;
  }
  std::unique_ptr<propagator_solver> new_propagator_solver(links_pointer, const propagator_settings&) const override {
    return nullptr;
  }
  std::unique_ptr<multigrid_solver> new_multigrid_solver(links_pointer, const multigrid_settings&) const override {
    return nullptr;
  }
  std::unique_ptr<overlap_solver> new_overlap_solver(links_pointer, const overlap_settings&) const override {
    return nullptr;
  }

  double free_;
};

gpu_access made_up_gpu(const shared_options& options) { return {std::make_shared<const made_up_device>(), options}; }

shared_options with_protocol(double idle, double running) {
  shared_options options;
  options.idle_seconds = idle;
  options.running_seconds = running;
  return options;
}

/// A kernel whose application takes 1 ms, and the calls: a word each.
struct recorded_kernel {
  std::vector<std::string> calls{};
  timed_kernel kernel() {
    return {.apply =
                [this](int times) {
                  calls.push_back("apply " + std::to_string(times));
                  return 1e-3 * times;
                },
            .refresh = [this] { calls.push_back("refresh"); },
            .after_sample =
                [this](double seconds) { calls.push_back(seconds == 1e-3 ? "sample" : "sample of another length"); },
            .judge = [this] { calls.push_back("judge"); }};
  }
};

TEST(Timed, RefreshesBeforeEachSampleAndJudgesAfterTheLast) {
  recorded_kernel r;
  EXPECT_THAT(timed(r.kernel(), {.samples = 2}, 4), testing::ElementsAre(1e-3, 1e-3));
  EXPECT_THAT(r.calls, testing::ElementsAre("refresh", "apply 4", "sample", "refresh", "apply 4", "sample", "judge"));
}

TEST(Timed, JudgesNothingIfItIsStopped) {
  recorded_kernel r;
  const sampling how{.samples = 3, .should_stop = [&r] { return r.calls.size() > 2; }};
  EXPECT_THAT(timed(r.kernel(), how, 4), testing::ElementsAre(1e-3));
  EXPECT_THAT(r.calls, testing::ElementsAre("refresh", "apply 4", "sample"));
}

TEST(Timed, JudgesOnceUnderAProtocolAndWatchesNoIdleness) {
  recorded_kernel r;
  const auto note = [&r](const char* what) { return [&r, what] { r.calls.emplace_back(what); }; };
  timing_state state{.idle_seconds = 0.0,
                     .running_seconds = 0.0,
                     .begin_watch = note("begin"),
                     .watch = note("watch"),
                     .end_watch = note("end")};
  timed(r.kernel(), {.samples = 1}, 5, state);
  EXPECT_THAT(r.calls, testing::ElementsAre("begin", "refresh", "apply 5", "sample", "end", "judge"));
  r.calls.clear();
  state.protocol = timing_protocol::sustained;
  int asked = 0;
  state.on_any_rank = [&asked](bool) { return asked++ == 2; };  // work twice
  state.running_seconds = 0.04;
  timed(r.kernel(), {.samples = 1}, 5, state);
  EXPECT_THAT(r.calls, testing::ElementsAre("begin", "apply 10", "watch", "apply 10", "watch", "refresh", "apply 5",
                                            "sample", "end", "judge"));
}

TEST(Timed, WarmsUpAndTakesAsManyApplicationsAsLastForASample) {
  recorded_kernel r;
  EXPECT_EQ(applications_of_sample(r.kernel(), {.seconds = 0.02}), 17);  // 5, 11, 17, 23, ...
  EXPECT_THAT(r.calls, testing::ElementsAre("apply 2", "apply 2", "apply 2"));
  // The first applications of a short kernel are slow: more are tried.
  std::vector<int> times;
  const timed_kernel shorter{[&times](int n) {
    times.push_back(n);
    return n == 2 ? 2e-4 : 1e-6 * n;
  }};
  EXPECT_EQ(applications_of_sample(shorter, {.seconds = 1e-3, .most_applications = 2000}), 1000 - 995 % 6);
  EXPECT_THAT(times, testing::ElementsAre(2, 2, 2, 10));
  EXPECT_EQ(applications_of_sample(shorter, {.seconds = 1.0, .most_applications = 2000}), 2000 - 1995 % 6);
}

TEST(Timed, FindsTheLengthOfASampleThoughOtherWorkDisturbsIt) {
  for (const int disturbed : {0, 1, 2}) {
    int call = 0;
    const timed_kernel kernel{[&](int n) { return (call++ == disturbed ? 1.0 : 1e-3) * n; }};
    EXPECT_EQ(applications_of_sample(kernel, {.seconds = 0.02}), 17) << disturbed;
  }
  // The trial of a short kernel may be disturbed, too.
  const timed_kernel shorter{[](int n) { return n == 2 ? 2e-4 : 1.0; }};
  EXPECT_EQ(applications_of_sample(shorter, {.seconds = 1.75e-3}), 17);
}

TEST(Timed, RelatesRatesToTheLimitsThatAreKnown) {
  const kernel_rates rates = rates_of({.flops = 4e9, .bytes = 2e9}, 0.5, {.copy_gbytes_per_s = 8.0});
  EXPECT_DOUBLE_EQ(rates.gflops, 8.0);
  EXPECT_DOUBLE_EQ(rates.gbytes_per_s, 4.0);
  EXPECT_DOUBLE_EQ(rates.fraction_of_copy, 0.5);
  EXPECT_EQ(rates.fraction_of_fma_peak, 0.0);
  EXPECT_DOUBLE_EQ(median({3.0, 1.0, 2.0}), 2.0);
  EXPECT_DOUBLE_EQ(median({4.0, 1.0, 2.0, 3.0}), 2.5);
  EXPECT_EQ(median({}), 0.0);
}

TEST(DeviceTiming, IsCoolThenSustainedOnAGpu) {
  gpu_access gpu = made_up_gpu(with_protocol(0.0, 0.0));
  const auto work = [&](int applications) { return gpu.device().seconds_of(applications, [] {}); };
  const auto both = time_applications(&gpu, 5, {work});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_TRUE(both[0].holds("cool"));
  EXPECT_TRUE(both[1].holds("sustained"));
  for (const timed_samples& samples : both) {
    EXPECT_EQ(samples.seconds.samples, 5);
    EXPECT_DOUBLE_EQ(samples.seconds.median, 1e-4);
    EXPECT_TRUE(samples.details.contains("gpu"));
  }
}

TEST(DeviceTiming, IdlesAndRunsAsLongAsTheProtocolSays) {
  gpu_access gpu = made_up_gpu(with_protocol(0.15, 0.1));
  double pause = 0.0, last = seconds_now();
  long applications = 0;
  const auto work = [&](int times) {
    pause = std::max(pause, seconds_now() - last);
    applications += times;
    last = seconds_now();
    return 1e-4 * times;
  };
  const stopwatch watch;
  time_applications(&gpu, 3, {work});
  EXPECT_GE(pause, 0.15);
  EXPECT_GE(watch.seconds(), 0.25);
  // 50 applications a sample of 5 ms, six samples, four to warm up; the running before the sustained ones adds more.
  EXPECT_GT(applications, 6 * 50 + 4);
}

TEST(DeviceTiming, HasOneProtocolOnTheCpu) {
  const auto one = time_applications(nullptr, 4, {[](int applications) { return 0.01 * applications; }});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_TRUE(one[0].details.empty());
  EXPECT_DOUBLE_EQ(one[0].seconds.max, 0.01);
}

TEST(DeviceTiming, EndsWhenItIsToldTo) {
  gpu_access gpu = made_up_gpu(with_protocol(100.0, 100.0));
  const auto work = [](int applications) { return 1e-4 * applications; };
  EXPECT_TRUE(time_applications(&gpu, 3, {work}, [] { return true; }).empty());
}

TEST(GpuMonitor, SaysWhyItDoesNotWork) {
  gpu_monitor monitor("no such bus");
  EXPECT_FALSE(monitor.works());
  EXPECT_NE(monitor.trouble(), "");
  monitor.begin();
  monitor.sample();
  const gpu_window window = monitor.end();
  EXPECT_TRUE(window.sm_clock_mhz.empty());
  EXPECT_FALSE(window.energy_joule.has_value());
}

TEST(GpuWindow, HasPowerWhereTheStretchIsLongEnoughForTheCounter) {
  gpu_window window;
  window.seconds = 2.0;
  window.energy_joule = 1000.0;
  window.sm_clock_mhz = {1980.0, 1700.0, 1755.0};
  const json_document document = to_json(window);
  EXPECT_DOUBLE_EQ(document["power_watt"].get<double>(), 500.0);
  EXPECT_DOUBLE_EQ(document["sm_clock_mhz"]["median"].get<double>(), 1755.0);
  EXPECT_FALSE(document.contains("temperature_celsius"));
  window.seconds = 0.05;
  EXPECT_FALSE(to_json(window).contains("power_watt"));
}

TEST(GpuMemory, IsRefusedWithWhatIsNeededAndWhatThereIs) {
  const made_up_device gpu(2048.0);
  EXPECT_NO_THROW(require_gpu_memory(gpu, 2048.0, "this run"));
  try {
    require_gpu_memory(gpu, 4096.0, "this run");
    FAIL() << "4096 bytes were granted of 2048";
  } catch (const memory_error& refused) {
    EXPECT_THAT(refused.what(), testing::AllOf(testing::HasSubstr("4.00 KiB"), testing::HasSubstr("2.00 KiB")));
  }
}

}  // namespace
}  // namespace plaquette
