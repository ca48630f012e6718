// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include "common/app/standard_streams.hpp"

namespace plaquette {

namespace {
constexpr double silent_seconds = 3.0;  // a run shorter than this shows nothing
constexpr double between_lines = 0.2, between_lines_of_file = 60.0;
}  // namespace

progress_line::progress_line(bool enabled) : enabled_(enabled), is_terminal_(isatty(STDERR_FILENO) != 0) {}

progress_line::~progress_line() { clear(); }

void progress_line::begin(const std::string& what) {
  what_ = what;
  piece_ = stopwatch();
}

void progress_line::update(double done, const std::string& detail) {
  const double now = run_.seconds();
  if (!enabled_ || now < silent_seconds || now - last_ < (is_terminal_ ? between_lines : between_lines_of_file)) return;
  last_ = now;
  std::string line = what_;
  if (done >= 0.0) line += fmt::format("  {:3.0f}%", 100.0 * done);
  if (!detail.empty()) line += "  " + detail;
  line += fmt::format("  {:.0f} s", now);
  if (done > 0.0 && done < 1.0) line += fmt::format(", about {:.0f} s to go", piece_.seconds() * (1.0 - done) / done);
  write_to_stderr(fmt::format("{}{}{}", is_terminal_ ? "\r\033[K" : "", line, is_terminal_ ? "" : "\n"));
  shown_ = is_terminal_;
}

void progress_line::clear() {
  if (!shown_) return;
  write_to_stderr("\r\033[K");
  shown_ = false;
}

}  // namespace plaquette
