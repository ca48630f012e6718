// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>

#include "common/error.hpp"

namespace plaquette {

namespace {

int output_descriptor = STDOUT_FILENO;

/// Returns 0, or the number of the error.
int write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Keeps SIGPIPE from this thread, and takes away the one that a write has caused.
class without_broken_pipe {
 public:
  without_broken_pipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~without_broken_pipe() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  without_broken_pipe(const without_broken_pipe&) = delete;
  without_broken_pipe& operator=(const without_broken_pipe&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

}  // namespace

void open_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    const int opened = ::open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR);
    if (opened >= 0 && opened != descriptor) {
      dup2(opened, descriptor);
      ::close(opened);
    }
  }
}

void write_to_stderr(std::string_view text) noexcept {
  const without_broken_pipe guard;
  write_all(STDERR_FILENO, text);
}

void print_tables_on_stderr() {
  std::fflush(stdout);
  if (output_descriptor != STDOUT_FILENO) return;
  const int kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (kept < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw output_error(std::string("standard output could not be kept for the report: ") + std::strerror(errno));
  output_descriptor = kept;
}

void write_to_standard_output(std::string_view text) {
  if (const int failed = write_all(output_descriptor, text); failed != 0)
    throw output_error(std::string("standard output could not be written: ") + std::strerror(failed));
}

}  // namespace plaquette
