// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/cpp/source/process.hpp"

#include <unistd.h>

#include <atomic>

#include "plaquette/plaquette.hpp"

namespace plaquette::api {
inline namespace v1 {

namespace {

std::atomic<pid_t> with_threads{0};  ///< the process that note_threads() was called in

}  // namespace

void note_threads() {
  pid_t none = 0;
  with_threads.compare_exchange_strong(none, getpid());
}

bool is_forked() {
  const pid_t process = with_threads;
  return process != 0 && process != getpid();
}

void require_unforked() {
  if (is_forked())
    throw error(
        code::not_available,
        "this process was made by fork() after the library had started threads, MPI or a GPU, which it does not "
        "have; start it anew (in Python: multiprocessing's method \"spawn\"), or fork before the first call");
}

}  // namespace v1
}  // namespace plaquette::api
