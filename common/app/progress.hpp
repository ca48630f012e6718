// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A line on stderr for those who watch a long run: what, how far, how fast, about how long still.
#pragma once

#include <string>

#include "common/app/timing.hpp"

namespace plaquette {

/// Silent unless it is switched on and the run has lasted some seconds. On a terminal the line overwrites itself and is
/// gone when the object is; elsewhere, as in the file of a batch job, one line a minute is written.
class progress_line {
 public:
  /// \param enabled  true on the one rank that talks
  explicit progress_line(bool enabled);
  ~progress_line();
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  /// Begins a new piece of work: the time still to go is estimated from its start.
  void begin(const std::string& what);
  /// \param done    share of the piece done, 0 to 1; negative where unknown
  /// \param detail  anything worth showing, e.g. "iteration 120, residual 3.1e-05"
  void update(double done, const std::string& detail = {});
  /// Takes the line away, so that something else can be written.
  void clear();

 private:
  bool enabled_, is_terminal_;
  bool shown_ = false;
  double last_ = 0.0;
  std::string what_;
  stopwatch run_, piece_;
};

}  // namespace plaquette
