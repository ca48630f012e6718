// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The autotuner with a clock and kernels that are made up: no device is needed.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <thread>

#include "common/error.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

namespace {

namespace fs = std::filesystem;

/// A directory of its own for a test, removed at its end.
class scratch_directory {
 public:
  scratch_directory() {
    std::string name = (fs::temp_directory_path() / "plaquette-tuner-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~scratch_directory() {
    std::error_code none;
    fs::remove_all(path_, none);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

/// A device on which candidate i takes seconds[i], and a clock that moves as it runs.
struct made_up_device {
  explicit made_up_device(std::vector<double> of_candidates)
      : seconds(std::move(of_candidates)), runs(seconds.size()) {}

  std::vector<double> seconds;
  std::vector<int> runs;
  std::vector<std::string> said;
  double time = 100.0;

  std::function<double(int)> trial() {
    return [this](int i) {
      const auto k = static_cast<std::size_t>(i);
      ++runs[k];
      time += 0.01;
      return seconds[k];
    };
  }
  int total_runs() const {
    int sum = 0;
    for (const int r : runs) sum += r;
    return sum;
  }
  tuning_options options(tuning_mode mode, const std::string& file = "") {
    tuning_options o;
    o.mode = mode;
    o.file = file;
    o.device = "made up";
    o.version = "1";
    o.clock = [this] { return time; };
    o.say = [this](const std::string& line) { said.push_back(line); };
    return o;
  }
};

tuning_key key_number(int n) { return {"kernel", std::to_string(n), "single", "columns=1"}; }

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_text(const std::string& file, const std::string& text) { std::ofstream(file) << text; }

TEST(tuner, takes_the_fastest_candidate_and_measures_once) {
  made_up_device device({3.0, 2.0, 1.0, 1.5});
  tuner t(device.options(tuning_mode::on));
  EXPECT_EQ(t.choose(key_number(1), 4, device.trial()), 2);
  const int runs = device.total_runs();
  EXPECT_EQ(t.choose(key_number(1), 4, device.trial()), 2);
  EXPECT_EQ(device.total_runs(), runs);
  ASSERT_EQ(t.used().size(), 1U);
  EXPECT_EQ(t.used()[0].origin, tuning_origin::measured);
  EXPECT_EQ(t.used()[0].seconds, 1.0);
  EXPECT_EQ(t.used()[0].gain, 3.0);
}

TEST(tuner, off_takes_the_default_runs_nothing_and_touches_no_file) {
  const scratch_directory scratch;
  made_up_device device({3.0, 1.0});
  tuner t(device.options(tuning_mode::off, scratch / "tuning.json"));
  EXPECT_EQ(t.choose(key_number(1), 2, device.trial()), 0);
  EXPECT_EQ(t.choose(key_number(2), 2, device.trial(), 1), 1);
  EXPECT_EQ(device.total_runs(), 0);
  EXPECT_FALSE(fs::exists(scratch / "tuning.json"));
  EXPECT_EQ(t.used()[1].origin, tuning_origin::untuned);
}

TEST(tuner, a_device_at_rest_is_warmed_up_and_a_busy_one_is_not) {
  made_up_device device({1.0, 2.0});
  auto options = device.options(tuning_mode::on);
  options.rounds = 1;
  options.warm_up_seconds = 1.0;
  options.second_warm_up_seconds = 0.2;
  options.idle_seconds = 0.5;
  tuner t(options);
  t.choose(key_number(1), 2, device.trial());
  EXPECT_NEAR(device.runs[0], 1.0 / 0.01 + 1, 2);
  EXPECT_EQ(device.runs[1], 1);
  const int before = device.runs[0];
  device.time += 0.4;
  t.choose(key_number(2), 2, device.trial());
  EXPECT_EQ(device.runs[0], before + 1);
  device.time += 0.6;  // the program worked meanwhile: clocks need little
  t.choose(key_number(3), 2, device.trial());
  EXPECT_NEAR(device.runs[0], before + 1 + 0.2 / 0.01 + 1, 2);
}

TEST(tuner, a_field_of_many_is_halved_in_each_round) {
  constexpr int candidates = 64;
  std::vector<double> seconds(candidates);
  for (int i = 0; i < candidates; ++i) seconds[static_cast<std::size_t>(i)] = 1.2 - 1e-3 * i;
  made_up_device device(seconds);
  auto options = device.options(tuning_mode::on);
  options.warm_up_seconds = 0.0;
  options.seconds_a_key = 1e3;
  tuner t(options);
  EXPECT_EQ(t.choose(key_number(1), candidates, device.trial()), candidates - 1);
  for (int i = 1; i < candidates; ++i) {
    const int behind = candidates - 1 - i;  // faster ones
    EXPECT_EQ(device.runs[static_cast<std::size_t>(i)], behind < 4    ? 5
                                                        : behind < 8  ? 4
                                                        : behind < 16 ? 3
                                                        : behind < 32 ? 2
                                                                      : 1)
        << i;
  }
  EXPECT_EQ(device.runs[0], options.rounds);  // the default stays to the end
  EXPECT_NEAR(t.used()[0].gain, 1.2 / 1.137, 1e-12);
}

TEST(tuner, a_key_that_takes_long_goes_on_with_its_finalists) {
  constexpr int candidates = 64;
  std::vector<double> seconds(candidates, 1.1);
  seconds[40] = 1.0;
  made_up_device device(seconds);  // a trial takes 0.01 s
  auto options = device.options(tuning_mode::on);
  options.warm_up_seconds = 0.0;
  options.seconds_a_key = 0.5;
  tuner t(options);
  EXPECT_EQ(t.choose(key_number(1), candidates, device.trial()), 40);
  EXPECT_EQ(device.runs[40], options.rounds);
  EXPECT_EQ(device.runs[0], options.rounds);
  EXPECT_LE(device.total_runs(), candidates + 3 * (options.rounds - 1));
  // Twelve such keys of a first run, which begins at rest.
  made_up_device first_run(std::vector<double>(candidates, 1.0));
  tuner all(first_run.options(tuning_mode::on));
  for (int key = 0; key < 12; ++key) {
    first_run.time += 1.0;
    all.choose(key_number(key), candidates, first_run.trial());
  }
  EXPECT_LE(all.seconds_spent(), 1.5 + 12 * (0.1 + 0.64 + 0.12) + 0.1);
}

TEST(tuner, the_default_stays_unless_another_is_faster_beyond_noise) {
  const auto choice_between = [](std::vector<double> of_default, std::vector<double> of_other) {
    auto options = made_up_device({}).options(tuning_mode::on);
    double time = 0.0;
    options.clock = [&time] { return time; };
    options.say = nullptr;
    options.warm_up_seconds = 0.0;
    tuner t(options);
    std::array<std::size_t, 2> runs{};
    return t.choose(key_number(1), 2, [&](int i) {
      const auto& seconds = i == 0 ? of_default : of_other;
      return seconds[runs[static_cast<std::size_t>(i)]++ % seconds.size()];
    });
  };
  EXPECT_EQ(choice_between({1.00, 1.02, 0.98, 1.01, 0.99}, {0.99, 1.01, 0.97, 1.00, 0.985}), 0);
  EXPECT_EQ(choice_between({1.00, 1.02, 0.98, 1.01, 0.99}, {0.90, 0.91, 0.89, 0.92, 0.90}), 1);
  // Also if it is far behind at first: it is not lost.
  EXPECT_EQ(choice_between({2.0, 0.9, 0.9, 0.9, 0.9}, {1.0, 1.0, 1.0, 1.0, 1.0}), 0);
}

TEST(tuner, a_first_measurement_is_announced_once) {
  const scratch_directory scratch;
  made_up_device device({2.0, 1.0});
  auto options = device.options(tuning_mode::on, scratch / "tuning.json");
  std::vector<std::string> lines;
  options.progress = [&lines](const std::string& line) { lines.push_back(line); };
  {
    tuner t(options);
    for (int key = 0; key < 3; ++key) t.choose(key_number(key), 2, device.trial());
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_THAT(lines[0], testing::HasSubstr("once a machine"));
    EXPECT_THAT(lines[0], testing::HasSubstr(options.file));
  }
  tuner again(options), of_other_rank(options);
  again.choose(key_number(1), 2, device.trial());  // the file has it
  of_other_rank.hide_progress();
  of_other_rank.choose(key_number(4), 2, device.trial());
  EXPECT_EQ(lines.size(), 1U);
}

TEST(tuner, one_lucky_sample_does_not_decide) {
  // Candidate 1 is measured fast once, and slow ever after: the median counts.
  auto options = made_up_device({}).options(tuning_mode::on);
  double time = 0.0;
  options.clock = [&time] { return time; };
  options.say = nullptr;
  options.warm_up_seconds = 0.0;
  tuner t(options);
  int runs = 0;
  EXPECT_EQ(t.choose(key_number(1), 2, [&](int i) { return i == 0 ? 1.0 : runs++ == 0 ? 0.9 : 1.1; }), 0);
}

TEST(tuner, who_is_far_behind_is_measured_once_only) {
  made_up_device device({1.0, 1.1, 10.0});
  auto options = device.options(tuning_mode::on);
  options.warm_up_seconds = 0.0;
  tuner t(options);
  t.choose(key_number(1), 3, device.trial());
  EXPECT_EQ(device.runs, (std::vector<int>{5, 5, 1}));
}

TEST(tuner, candidates_that_cannot_run_are_not_taken) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  made_up_device device({nan, inf, 5.0, 0.0, -1.0});
  tuner t(device.options(tuning_mode::on));
  EXPECT_EQ(t.choose(key_number(1), 5, device.trial()), 2);
  EXPECT_EQ(t.used()[0].gain, 1.0);

  made_up_device hopeless({nan, inf});
  tuner u(hopeless.options(tuning_mode::on));
  EXPECT_EQ(u.choose(key_number(1), 2, hopeless.trial(), 1), 1);
  EXPECT_EQ(u.used()[0].origin, tuning_origin::untuned);
}

TEST(tuner, what_a_trial_throws_passes_through_and_leaves_the_tuner_usable) {
  made_up_device device({2.0, 1.0});
  tuner t(device.options(tuning_mode::on));
  EXPECT_THROW(t.choose(key_number(1), 2, [](int) -> double { throw input_error("no links"); }), input_error);
  EXPECT_TRUE(t.used().empty());
  EXPECT_EQ(t.choose(key_number(1), 2, device.trial()), 1);
}

TEST(tuner, a_candidate_without_memory_is_not_taken_and_ends_nothing) {
  made_up_device device({2.0, 1.0, 3.0});
  tuner t(device.options(tuning_mode::on));
  const auto short_of_memory = [&](int i) {
    if (i < 2) throw memory_error("no memory");
    return device.trial()(i);
  };
  EXPECT_EQ(t.choose(key_number(1), 3, short_of_memory), 2);
  EXPECT_EQ(t.choose(key_number(2), 3, [](int) -> double { throw memory_error("no memory"); }, 1), 1);
  EXPECT_EQ(t.used()[1].origin, tuning_origin::untuned);
}

TEST(tuner, a_trial_may_tune_what_it_needs_itself) {
  made_up_device device({2.0, 1.0});
  tuner t(device.options(tuning_mode::on));
  const int choice = t.choose(key_number(1), 2, [&](int i) {
    t.choose(key_number(2), 2, device.trial());
    return i == 0 ? 1.0 : 2.0;
  });
  EXPECT_EQ(choice, 0);
  EXPECT_EQ(t.used().size(), 2U);
  // Time of the inner measurement is within the time of the outer one, and is not counted twice.
  EXPECT_LE(t.seconds_spent(), device.time - 100.0 + 1e-9);
  // Nor does the time of trials for other ranks count as measured.
  const double before = t.seconds_spent();
  t.add_seconds_spent(0.5);
  EXPECT_DOUBLE_EQ(t.seconds_spent(), before + 0.5);
}

TEST(tuner, a_second_process_uses_what_the_first_has_measured) {
  const scratch_directory scratch;
  const std::string file = scratch / "below/tuning.json";
  made_up_device device({3.0, 2.0, 1.0});
  const std::vector<std::string> names{"128x4", "256x2", "256x3"};
  {
    tuner t(device.options(tuning_mode::on, file));
    t.choose(key_number(1), names, device.trial());
  }
  const int runs = device.total_runs();
  tuner again(device.options(tuning_mode::on, file));
  EXPECT_EQ(again.choose(key_number(1), names, device.trial()), 2);
  EXPECT_EQ(device.total_runs(), runs);
  EXPECT_EQ(again.used()[0].origin, tuning_origin::file);
  EXPECT_EQ(again.used()[0].seconds, 1.0);
  EXPECT_EQ(again.used()[0].name, "256x3");
  EXPECT_EQ(again.seconds_spent(), 0.0);
  EXPECT_TRUE(device.said.empty());

  // The name counts, not the place in the list.
  const std::vector<std::string> other_order{"256x3", "256x2", "128x4"};
  tuner third(device.options(tuning_mode::on, file));
  EXPECT_EQ(third.choose(key_number(1), other_order, device.trial()), 0);
  EXPECT_EQ(device.total_runs(), runs);
}

TEST(tuner, another_list_of_candidates_is_measured_again) {
  const scratch_directory scratch;
  const std::string file = scratch / "tuning.json";
  made_up_device device({3.0, 2.0, 1.0});
  {
    tuner t(device.options(tuning_mode::on, file));
    t.choose(key_number(1), 3, device.trial());
  }
  made_up_device fewer({3.0, 2.0});
  tuner t(fewer.options(tuning_mode::on, file));
  EXPECT_EQ(t.choose(key_number(1), 2, fewer.trial()), 1);
  EXPECT_EQ(t.used()[0].origin, tuning_origin::measured);
}

TEST(tuner, choices_of_another_version_device_or_key_are_not_used_and_not_lost) {
  const scratch_directory scratch;
  const std::string file = scratch / "tuning.json";
  made_up_device device({2.0, 1.0});
  const auto choose_as = [&](const std::string& name, const std::string& version, tuning_key key) {
    auto options = device.options(tuning_mode::on, file);
    options.device = name;
    options.version = version;
    tuner t(options);
    t.choose(key, 2, device.trial());
    return t.used()[0].origin;
  };
  const tuning_key key = key_number(1);
  tuning_key half = key, other = key;
  half.precision = "half";
  other.details = "columns=12";
  EXPECT_EQ(choose_as("a", "1", key), tuning_origin::measured);
  EXPECT_EQ(choose_as("a", "2", key), tuning_origin::measured);
  EXPECT_EQ(choose_as("b", "1", key), tuning_origin::measured);
  EXPECT_EQ(choose_as("a", "1", half), tuning_origin::measured);
  EXPECT_EQ(choose_as("a", "1", other), tuning_origin::measured);
  for (const char* name : {"a", "b"})
    for (const char* version : {"1", "2"})
      EXPECT_EQ(choose_as(name, version, key),
                std::string(name) + version == "b2" ? tuning_origin::measured : tuning_origin::file);
  EXPECT_EQ(choose_as("a", "1", half), tuning_origin::file);
}

TEST(tuner, force_measures_again_and_replaces_the_entry) {
  const scratch_directory scratch;
  const std::string file = scratch / "tuning.json";
  made_up_device device({2.0, 1.0});
  {
    tuner t(device.options(tuning_mode::on, file));
    t.choose(key_number(1), 2, device.trial());
    t.choose(key_number(2), 2, device.trial());
  }
  made_up_device changed({1.0, 2.0});
  {
    tuner t(changed.options(tuning_mode::force, file));
    EXPECT_EQ(t.choose(key_number(1), 2, changed.trial()), 0);
    EXPECT_EQ(t.used()[0].origin, tuning_origin::measured);
  }
  tuner t(device.options(tuning_mode::on, file));
  EXPECT_EQ(t.choose(key_number(1), 2, device.trial()), 0);
  EXPECT_EQ(t.choose(key_number(2), 2, device.trial()), 1);
  EXPECT_EQ(t.used()[0].origin, tuning_origin::file);
}

TEST(tuner, what_another_process_tunes_meanwhile_is_used) {
  const scratch_directory scratch;
  const std::string file = scratch / "tuning.json";
  made_up_device device({2.0, 1.0});
  tuner first(device.options(tuning_mode::on, file)), second(device.options(tuning_mode::on, file));
  first.choose(key_number(1), 2, device.trial());
  second.choose(key_number(2), 2, device.trial());
  const int runs = device.total_runs();
  EXPECT_EQ(second.choose(key_number(1), 2, device.trial()), 1);
  EXPECT_EQ(first.choose(key_number(2), 2, device.trial()), 1);
  EXPECT_EQ(device.total_runs(), runs);
}

TEST(tuner, a_file_that_is_cut_short_or_foreign_is_set_aside_with_one_line) {
  const scratch_directory scratch;
  const std::string good = scratch / "good.json";
  made_up_device device({2.0, 1.0});
  {
    tuner t(device.options(tuning_mode::on, good));
    t.choose(key_number(1), 2, device.trial());
  }
  const std::string whole = text_of(good);
  std::vector<std::string> bad;
  for (std::size_t length = 0; length + 2 < whole.size(); length += 7) bad.push_back(whole.substr(0, length));
  for (const char* text : {"[]", "{}", "null", "3", "\"plaquette tuning\"", "not JSON at all", "\xff\xfe\x00",
                           R"({"format": "another", "format_version": 1, "choices": []})",
                           R"({"format": "plaquette tuning", "format_version": 2, "choices": []})",
                           R"({"format": "plaquette tuning", "format_version": 1, "choices": {}})",
                           R"({"format": "plaquette tuning", "format_version": 1})"})
    bad.push_back(text);
  bad.push_back(std::string(1'000'000, '['));
  for (const std::string& text : bad) {
    const std::string file = scratch / "bad.json";
    write_text(file, text);
    device.said.clear();
    tuner t(device.options(tuning_mode::on, file));
    EXPECT_EQ(t.choose(key_number(1), 2, device.trial()), 1);
    EXPECT_EQ(t.choose(key_number(2), 2, device.trial()), 1);
    ASSERT_EQ(device.said.size(), 1U) << text.substr(0, 100);
    EXPECT_THAT(device.said[0], testing::HasSubstr(file + ".set-aside"));
    EXPECT_EQ(device.said[0].find('\n'), std::string::npos);
    EXPECT_EQ(text_of(file + ".set-aside"), text);
    tuner next(device.options(tuning_mode::on, file));
    next.choose(key_number(1), 2, device.trial());
    EXPECT_EQ(next.used()[0].origin, tuning_origin::file);
  }
}

TEST(tuner, entries_that_make_no_sense_are_passed_over) {
  const scratch_directory scratch;
  const std::string file = scratch / "tuning.json";
  const std::string key =
      R"("kernel": "kernel", "volume": "1", "precision": "single", "details": "columns=1", "device": "made up", "version": "1")";
  for (const std::string& entry : {std::string("3"), std::string("null"), std::string("[]"), std::string("{}"),
                                   "{" + key + "}", "{" + key + R"(, "choice": 1, "candidates": 2, "seconds": 1})",
                                   "{" + key + R"(, "choice": "7", "candidates": 2, "seconds": 1})",
                                   "{" + key + R"(, "choice": "1", "candidates": "2", "seconds": 1})",
                                   "{" + key + R"(, "choice": "1", "candidates": -2e300, "seconds": 1})",
                                   "{" + key + R"(, "choice": "1", "candidates": 3, "seconds": 1})"}) {
    write_text(file, R"({"format": "plaquette tuning", "format_version": 1, "choices": [)" + entry + "]}");
    made_up_device device({2.0, 1.0});
    tuner t(device.options(tuning_mode::on, file));
    EXPECT_EQ(t.choose(key_number(1), 2, device.trial()), 1);
    EXPECT_EQ(t.used()[0].origin, tuning_origin::measured) << entry;
    EXPECT_TRUE(device.said.empty()) << entry;
  }
}

TEST(tuner, a_file_that_cannot_be_read_or_written_costs_one_line) {
  const scratch_directory scratch;
  fs::create_directory(scratch / "directory");
  write_text(scratch / "regular", "");
  ASSERT_EQ(::mkfifo((scratch / "fifo").c_str(), 0600), 0);
  for (const std::string& file : {scratch / "directory", scratch / "regular/tuning.json", scratch / "fifo",
                                  std::string("/proc/plaquette/tuning.json")}) {
    made_up_device device({2.0, 1.0});
    tuner t(device.options(tuning_mode::on, file));
    EXPECT_EQ(t.choose(key_number(1), 2, device.trial()), 1) << file;
    EXPECT_EQ(t.choose(key_number(2), 2, device.trial()), 1) << file;
    ASSERT_EQ(device.said.size(), 1U) << file;
    EXPECT_THAT(device.said[0], testing::HasSubstr(file));
    EXPECT_EQ(device.said[0].find('\n'), std::string::npos);
  }
}

/// Runs `work` in a process of its own.
template <class Work>
pid_t in_another_process(Work&& work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    work();
    ::_exit(0);
  }
  return pid;
}

TEST(tuner, processes_that_write_at_once_lose_nothing) {
  const scratch_directory scratch;
  const std::string file = scratch / "tuning.json";
  constexpr int processes = 4, keys = 25;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p)
    children.push_back(in_another_process([&] {
      made_up_device device({2.0, 1.0});
      auto options = device.options(tuning_mode::on, file);
      options.warm_up_seconds = 0.0;
      tuner t(options);
      for (int k = 0; k < keys; ++k) t.choose(key_number(p * keys + k), 2, device.trial());
      if (!device.said.empty()) ::_exit(1);
    }));
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  made_up_device device({2.0, 1.0});
  tuner t(device.options(tuning_mode::on, file));
  for (int k = 0; k < processes * keys; ++k) t.choose(key_number(k), 2, device.trial());
  for (const tuning_record& record : t.used()) EXPECT_EQ(record.origin, tuning_origin::file) << to_string(record.key);
  for (const auto& entry : fs::directory_iterator(fs::path(file).parent_path()))
    EXPECT_EQ(entry.path().string().find(".partial"), std::string::npos) << entry.path();
}

TEST(tuner, a_process_that_is_killed_while_writing_leaves_a_whole_file) {
  const scratch_directory scratch;
  const std::string file = scratch / "tuning.json";
  std::mt19937 random(5);
  for (int repeat = 0; repeat < 10; ++repeat) {
    const pid_t child = in_another_process([&] {
      made_up_device device({2.0, 1.0});
      auto options = device.options(tuning_mode::force, file);
      options.warm_up_seconds = 0.0;
      for (int k = 0;; ++k) tuner(options).choose(key_number(k % 50), 2, device.trial());
    });
    ::usleep(5000 + random() % 20000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    made_up_device device({2.0, 1.0});
    tuner t(device.options(tuning_mode::on, file));
    t.choose(key_number(1000 + repeat), 2, device.trial());
    EXPECT_THAT(device.said, testing::IsEmpty());
  }
}

TEST(tuner, threads_that_ask_for_one_key_measure_it_once) {
  made_up_device device({2.0, 1.0});
  auto options = device.options(tuning_mode::on);
  options.warm_up_seconds = 0.0;
  tuner t(options);
  std::vector<int> choices(8, -1);
  {
    std::vector<std::jthread> threads;
    const auto slow_trial = [&](int i) {
      ::usleep(1000);
      return device.trial()(i);
    };
    for (int& choice : choices) threads.emplace_back([&] { choice = t.choose(key_number(1), 2, slow_trial); });
  }
  EXPECT_THAT(choices, testing::Each(1));
  EXPECT_EQ(t.used().size(), 1U);
  EXPECT_LE(device.total_runs(), 2 * options.rounds);
}

TEST(tuner, modes_have_names_and_other_names_are_refused) {
  for (const auto mode : {tuning_mode::off, tuning_mode::on, tuning_mode::force})
    EXPECT_EQ(tuning_mode_from(name_of(mode)), mode);
  EXPECT_THROW(tuning_mode_from("yes"), input_error);
}

}  // namespace

}  // namespace plaquette::gpu
