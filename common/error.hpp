// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Errors and the exit status they lead to. A library function throws; only `main` turns an error into a status.
#pragma once

#include <stdexcept>
#include <string>

namespace plaquette {

/// What a program of this suite returns to the shell.
enum class exit_status : int {
  success = 0,              ///< done and verified
  verification_failed = 1,  ///< a check failed
  unusable_input = 2,       ///< arguments or an input file cannot be used
  no_convergence = 3,       ///< a solver stopped above its tolerance
  out_of_memory = 4,        ///< with what was needed and what there was
  output_failed = 5,        ///< a result could not be written
  interrupted = 6,          ///< a signal or the time limit
  internal_error = 70       ///< a defect of the program itself
};

/// An error with one line for the user and the exit status it leads to.
class error : public std::runtime_error {
 public:
  error(exit_status status, const std::string& what) : std::runtime_error(what), status_(status) {}
  exit_status status() const { return status_; }

 private:
  exit_status status_;
};

/// Arguments or an input file cannot be used (exit status 2).
struct input_error : error {
  explicit input_error(const std::string& what) : error(exit_status::unusable_input, what) {}
};

/// A result could not be written (exit status 5).
struct output_error : error {
  explicit output_error(const std::string& what) : error(exit_status::output_failed, what) {}
};

/// Memory that was needed is not there (exit status 4).
struct memory_error : error {
  explicit memory_error(const std::string& what) : error(exit_status::out_of_memory, what) {}
};

}  // namespace plaquette
