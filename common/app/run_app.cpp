// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/run_app.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "common/app/command_line.hpp"
#include "common/app/memory.hpp"
#include "common/app/parse.hpp"
#include "common/app/profiler.hpp"
#include "common/app/run_control.hpp"
#include "common/app/standard_streams.hpp"
#include "common/comms/stall_watch.hpp"
#include "common/io/hdf5_file.hpp"

namespace plaquette {

namespace {

/// Where an error meets several ranks at once, rank 0 speaks and ends the others. A rank that fails alone waits, to be
/// ended by that, and then speaks itself.
void let_lower_ranks_report(const communicator& world) {
  if (world.rank() == 0) return;
  const double seconds = 3.0 + 0.1 * std::min(world.rank(), 40);
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

std::mutex stage_mutex;  // the thread of a watch reads it too
std::string current_stage = "start-up";

/// From the options until the end of MPI, where a rank may be waited for too.
std::unique_ptr<stall_watch> watch_of_run;

std::string out_of_memory_message() {
  return "out of memory during " + stage_now() + ": " + format_bytes(peak_memory()) +
         " were in use when more was needed, and " + format_bytes(available_memory()) + " are available";
}

/// Ends the last range of a profiler, however a run ends.
struct range_of_run {
  ~range_of_run() { mark_range({}); }
};

}  // namespace

void enter_stage(const std::string& what) {
  mark_range(what);
  const std::lock_guard lock(stage_mutex);
  current_stage = what;
}

std::string stage_now() {
  const std::lock_guard lock(stage_mutex);
  return current_stage;
}

void watch_stalls(const communicator& world, double timeout) {
  watch_of_run.reset();
  watch_of_run = std::make_unique<stall_watch>(world, timeout, stage_now);
}

failure describe_current_exception() {
  try {
    throw;
  } catch (const error& e) {
    return {e.status(), e.what()};
  } catch (const std::bad_alloc&) {
    return {exit_status::out_of_memory, out_of_memory_message()};
  } catch (const std::length_error&) {  // a container needed more than can be addressed
    return {exit_status::out_of_memory, out_of_memory_message()};
  } catch (const std::exception& e) {
    return {exit_status::internal_error, "internal error during " + stage_now() + ": " + e.what()};
  } catch (...) {
    return {exit_status::internal_error, "internal error during " + stage_now() + ": an exception of unknown type"};
  }
}

namespace {

/// The status of a run whose output did not all arrive (a full disk behind a redirection, say).
exit_status after_output(exit_status status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  throw output_error("standard output could not be written");
}

}  // namespace

int run_app(const char* name, int argc, char** argv, const app_body& body) {
  open_standard_streams();
  end_without_hdf5();
  std::optional<mpi_session> session;
  try {
    session.emplace(&argc, &argv);
  } catch (...) {
    const failure what = describe_current_exception();
    write_to_stderr(fmt::format("{}: {}\n", name, printable(what.message)));
    return static_cast<int>(what.status);
  }
  const communicator world = communicator::world();
  const range_of_run ranges{};
  catch_stop_signals();
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // what is known is seen at once, in a pipe too
  try {
    return static_cast<int>(after_output(body(argc, argv, world)));
  } catch (const help_requested& help) {
    if (world.rank() == 0) std::fputs(help.text.c_str(), stdout);
    const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    return static_cast<int>(written ? exit_status::success : exit_status::output_failed);
  } catch (...) {
    failure what = describe_current_exception();
    if (std::ferror(stdout) != 0) what = {exit_status::output_failed, "standard output could not be written"};
    let_lower_ranks_report(world);
    std::fflush(stdout);
    write_to_stderr(fmt::format("{}: {}\n", name, printable(what.message)));
    if (world.size() > 1) end_all_ranks(static_cast<int>(what.status));
    return static_cast<int>(what.status);
  }
}

}  // namespace plaquette
