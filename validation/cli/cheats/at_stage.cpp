// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A program to which something happens at a stage of its run, for tests. The linker puts the functions __wrap_* here
/// in the place of enter_stage and seconds_now. Environment:
///   PLAQUETTE_STAGE_LOG=FILE   each stage is written there, a line each (rank 0)
///   PLAQUETTE_STAGE="NAME"     the stage: the first one whose name begins so
///   PLAQUETTE_STAGE_EVENT      the number of a signal that the process then gets, or "limit": its clock jumps beyond
///                              any time limit
///   PLAQUETTE_STAGE_DELAY      milliseconds from the begin of the stage to the event (0)
///   PLAQUETTE_STAGE_RANK       of the process that gets it (0)
///   PLAQUETTE_STAGE_MARK=FILE  gets the time of the event, in seconds since 1970
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

namespace plaquette {

#define NOW_DOING "_ZN9plaquette11enter_stageERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
#define SECONDS_NOW "_ZN9plaquette11seconds_nowEv"
void honest_now_doing(const std::string&) __asm__("__real_" NOW_DOING);
void watched_now_doing(const std::string&) __asm__("__wrap_" NOW_DOING);
double honest_seconds_now() __asm__("__real_" SECONDS_NOW);
double jumping_seconds_now() __asm__("__wrap_" SECONDS_NOW);

namespace {

std::atomic<double> jump{0.0};

std::string setting(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool is_this_rank() {
  const std::string here = setting("OMPI_COMM_WORLD_RANK"), wanted = setting("PLAQUETTE_STAGE_RANK");
  return std::atoi(here.c_str()) == std::atoi(wanted.c_str());
}

void happen() {
  if (const std::string path = setting("PLAQUETTE_STAGE_MARK"); !path.empty()) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (std::FILE* const file = std::fopen(path.c_str(), "w")) {
      std::fprintf(file, "%lld.%09ld\n", static_cast<long long>(now.tv_sec), now.tv_nsec);
      std::fclose(file);
    }
  }
  const std::string event = setting("PLAQUETTE_STAGE_EVENT");
  if (event == "limit")
    jump = 1e9;
  else
    kill(getpid(), std::atoi(event.c_str()));
}

}  // namespace

double jumping_seconds_now() { return honest_seconds_now() + jump; }

void watched_now_doing(const std::string& what) {
  honest_now_doing(what);
  if (const std::string path = setting("PLAQUETTE_STAGE_LOG");
      !path.empty() && std::atoi(setting("OMPI_COMM_WORLD_RANK").c_str()) == 0)
    if (std::FILE* const file = std::fopen(path.c_str(), "a")) {
      std::fprintf(file, "%s\n", what.c_str());
      std::fclose(file);
    }
  static std::atomic<bool> has_happened{false};
  const std::string stage = setting("PLAQUETTE_STAGE");
  if (stage.empty() || !what.starts_with(stage) || !is_this_rank() || has_happened.exchange(true)) return;
  const int delay = std::atoi(setting("PLAQUETTE_STAGE_DELAY").c_str());
  if (delay <= 0) return happen();
  std::thread([delay] {
    std::this_thread::sleep_for(std::chrono::milliseconds(delay));
    happen();
  }).detach();
}

}  // namespace plaquette
