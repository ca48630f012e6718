// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The verdict, the report, the exit status: they say one thing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <stdexcept>

#include "common/algebra/largest.hpp"
#include "common/app/memory.hpp"
#include "common/app/report.hpp"
#include "common/app/run_app.hpp"
#include "common/app/run_control.hpp"
#include "common/app/timing.hpp"
#include "common/app/verification.hpp"
#include "common/error.hpp"

namespace plaquette {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Verification, KeepsTheWorseOfTwoChecks) {
  verification v;
  v.add("bits", true);
  v.add("residual", 1e-10, 1e-9);
  v.keep_worse({"residual", 1e-11, 1e-9});
  v.keep_worse({"energy", 0.5, 1.0});
  EXPECT_TRUE(v.passed());
  v.keep_worse({"bits", 1.0, 0.0});
  v.keep_worse({"residual", nan, 1e-9});
  ASSERT_EQ(v.checks().size(), 3U);
  EXPECT_FALSE(v.checks()[0].passed());
  EXPECT_FALSE(v.checks()[1].passed());
  v.keep_worse({"bits", 0.0, 0.0});
  EXPECT_FALSE(v.checks()[0].passed());
}

TEST(Verification, PassesAtItsToleranceAndFailsJustAbove) {
  verification v;
  v.add("residual", 1e-10, 1e-10);
  EXPECT_TRUE(v.passed());
  EXPECT_THAT(v.line(), StartsWith("VERIFIED   PASSED"));
  v.add("residual", std::nextafter(1e-10, 1.0), 1e-10);
  EXPECT_FALSE(v.passed());
  EXPECT_THAT(v.line(), StartsWith("VERIFIED   FAILED"));
}

TEST(Verification, FailsForNaNAndInfinity) {
  for (const double bad : {nan, infinity}) {
    verification v;
    v.add("good", 0.0, 1.0);
    v.add("bad", bad, 1.0);
    EXPECT_FALSE(v.passed());
    EXPECT_EQ(v.worst()->name, "bad");
  }
  verification tolerance_lost;
  tolerance_lost.add("tolerance is NaN", 0.0, nan);
  EXPECT_FALSE(tolerance_lost.passed());
}

TEST(Verification, KeepsANaNAmongSeveralWhereverItStands) {
  for (std::size_t place = 0; place < 3; ++place) {
    double values[] = {1e-13, 2e-13, 1e-14};
    values[place] = nan;
    double largest = 0.0;
    worst_of_several worst;
    for (const double value : values) {
      keep_largest(largest, value);
      worst.add(value, 1e-12);
    }
    EXPECT_TRUE(std::isnan(largest)) << place;
    EXPECT_TRUE(std::isnan(worst.value)) << place;
  }
}

TEST(Verification, FailsWhereNothingWasChecked) {
  const verification nothing;
  EXPECT_FALSE(nothing.passed());
  EXPECT_THAT(nothing.line(), StartsWith("VERIFIED   FAILED"));
}

TEST(Verification, NamesTheWorstByItsTolerance) {
  verification v;
  v.add("large but far below", 1.0, 100.0);
  v.add("small but close", 9e-9, 1e-8);
  v.add("yes or no", true);
  EXPECT_EQ(v.worst()->name, "small but close");
  v.add("a failed yes or no", false);
  EXPECT_EQ(v.worst()->name, "a failed yes or no");
  EXPECT_THAT(v.line(), HasSubstr("1 of 4 checks failed"));
}

TEST(Report, SaysInJsonWhatTheVerdictSays) {
  report r;
  r.app = "test";
  r.checks.add("a", 0.5, 1.0);
  EXPECT_TRUE(to_json(r)["verified"].get<bool>());
  r.checks.add("b", nan, 1.0);
  const json_document document = to_json(r);
  EXPECT_FALSE(document["verified"].get<bool>());
  EXPECT_FALSE(document["checks"][1]["passed"].get<bool>());
}

TEST(Report, WritesNumbersThatAreNotFiniteAsText) {
  report r;
  r.fom.value = infinity;
  r.checks.add("b", nan, 1.0);
  r.observables["pion"] = {1.0, nan, -infinity};
  const json_document document = to_json(r);
  EXPECT_EQ(document["fom"]["value"], "inf");
  EXPECT_EQ(document["checks"][0]["value"], "nan");
  EXPECT_EQ(document["observables"]["pion"][2], "-inf");
  EXPECT_EQ(document.dump().find("null"), std::string::npos);
}

TEST(Report, SaysWhereThereIsNoFigureOfMerit) {
  EXPECT_EQ(fom_line({nan, "GFLOP/s", "what it is"}), "FOM        none GFLOP/s     (what it is)");
  EXPECT_EQ(fom_line({12.34, "GFLOP/s", "what it is"}), "FOM        12.34 GFLOP/s     (what it is)");
  EXPECT_EQ(fom_line({nan, "GFLOP/s", "what it is", "nothing was timed"}), "FOM        none     (nothing was timed)");
  report r;
  EXPECT_FALSE(to_json(r)["fom"].contains("none"));
  r.fom = {nan, "GFLOP/s", "what it is", "nothing was timed"};
  EXPECT_EQ(to_json(r)["fom"]["none"], "nothing was timed");
}

TEST(Report, HasTheKeysThatOutsideScriptsRelyOn) {
  const json_document document = to_json(report{});
  for (const char* key : {"schema_version", "app", "fom", "verified", "checks", "parameters", "machine", "build",
                          "gauge", "figures", "solves", "observables"})
    EXPECT_TRUE(document.contains(key)) << key;
  EXPECT_EQ(document.size(), 12u);
}

/// A directory of this test's own, gone at the end.
class ReportFile : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() / ("plaquette-report-" + std::to_string(getpid()));
    std::filesystem::create_directory(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string path(const char* name) const { return (directory_ / name).string(); }
  std::filesystem::path directory_;
};

TEST_F(ReportFile, IsNotOverwrittenUnlessForced) {
  const std::string file = path("report.json");
  write_report(report{}, file, false);
  std::ofstream(file) << "precious";
  EXPECT_THROW(require_writable(file, false), output_error);
  EXPECT_THROW(write_report(report{}, file, false), output_error);
  std::string content;
  std::getline(std::ifstream(file), content);
  EXPECT_EQ(content, "precious");
  EXPECT_NO_THROW(require_writable(file, true));
  write_report(report{}, file, true);
  std::ifstream stream(file);
  EXPECT_TRUE(json_document::parse(stream).contains("schema_version"));
}

TEST_F(ReportFile, IsRefusedBeforeTheRunWhereItCannotBeMade) {
  EXPECT_THROW(require_writable(path("missing/report.json"), false), output_error);
  EXPECT_THROW(require_writable(directory_.string(), true), output_error);
  EXPECT_NO_THROW(require_writable(path("new.json"), false));
}

TEST(ExitStatus, FollowsFromTheError) {
  const auto status_of = [](const auto& thrown) {
    try {
      throw thrown;
    } catch (...) {
      return describe_current_exception();
    }
  };
  EXPECT_EQ(status_of(input_error("x")).status, exit_status::unusable_input);
  EXPECT_EQ(status_of(output_error("x")).status, exit_status::output_failed);
  EXPECT_EQ(status_of(memory_error("x")).status, exit_status::out_of_memory);
  EXPECT_EQ(status_of(error(exit_status::no_convergence, "x")).status, exit_status::no_convergence);
  EXPECT_EQ(status_of(std::bad_alloc()).status, exit_status::out_of_memory);
  EXPECT_THAT(status_of(std::bad_alloc()).message, HasSubstr("available"));
  enter_stage("the third step");
  const failure unknown = status_of(std::runtime_error("broken"));
  EXPECT_EQ(unknown.status, exit_status::internal_error);
  EXPECT_THAT(unknown.message,
              testing::AllOf(HasSubstr("internal error"), HasSubstr("the third step"), HasSubstr("broken")));
  EXPECT_EQ(status_of(42).status, exit_status::internal_error);
}

TEST(RunControl, StopsAtTheTimeLimit) {
  run_control patient(communicator{}, 1e6);
  EXPECT_FALSE(patient.should_stop());
  run_control hasty(communicator{}, 1e-9);
  EXPECT_TRUE(hasty.should_stop());
  EXPECT_THAT(hasty.reason(), HasSubstr("time limit"));
  EXPECT_THROW(hasty.stop_if_requested("the test"), error);
}

TEST(RunControl, StopsAtASignalAndTheNextOneEndsTheProcess) {
  const pid_t child = fork();
  if (child == 0) {
    catch_stop_signals();
    run_control control(communicator{}, infinity);
    if (control.should_stop()) _exit(10);
    std::raise(SIGTERM);
    if (!control.should_stop() || control.reason().find("15") == std::string::npos) _exit(11);
    std::raise(SIGTERM);
    _exit(12);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "exit status " << WEXITSTATUS(status);
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(Memory, IsRefusedBeforeItIsTakenWhereThereIsLess) {
  const communicator alone;
  EXPECT_GT(available_memory(), 0.0);
  EXPECT_LE(available_memory(), total_memory());
  EXPECT_NO_THROW(require_memory(alone, 1024.0, "a kilobyte"));
  try {
    require_memory(alone, 1e18, "an exabyte");
    FAIL() << "an exabyte was found";
  } catch (const memory_error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(HasSubstr("an exabyte needs 888.2 PiB"), HasSubstr("available")));
  }
}

TEST(Statistics, AreThoseOfTheSamples) {
  const sample_statistics odd = statistics({3.0, 1.0, 2.0});
  EXPECT_EQ(odd.min, 1.0);
  EXPECT_EQ(odd.median, 2.0);
  EXPECT_EQ(odd.max, 3.0);
  EXPECT_EQ(odd.samples, 3);
  EXPECT_EQ(statistics({1.0, 2.0, 4.0, 8.0}).median, 3.0);
  EXPECT_EQ(statistics({}).samples, 0);
}

}  // namespace
}  // namespace plaquette
