// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The checks of a run. They speak once: the last line of the output, the report and the exit status say the same.
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace plaquette {

/// One comparison: passed where value <= tolerance, so that NaN fails.
struct check {
  std::string name;
  double value;
  double tolerance;
  bool passed() const { return value <= tolerance; }
};

/// Keeps the value that is largest in units of its tolerance, of several; a NaN is.
struct worst_of_several {
  double value = 0.0, tolerance = 1.0;
  bool any = false;
  void add(double v, double t) {
    if (any && (std::isnan(value) || v / t <= value / tolerance)) return;
    value = v;
    tolerance = t;
    any = true;
  }
};

/// All checks of a run. A run without any is not verified.
class verification {
 public:
  /// Negative tolerances are for those who want a check to fail.
  void add(const std::string& name, double value, double tolerance) { checks_.push_back({name, value, tolerance}); }
  /// Adds a check of yes or no: value 0 or 1, tolerance 0.
  void add(const std::string& name, bool holds) { add(name, holds ? 0.0 : 1.0, 0.0); }

  /// Adds a check that was made before, unless the one of its name is as bad; else takes its place.
  void keep_worse(const check& earlier);

  const std::vector<check>& checks() const { return checks_; }
  bool passed() const;
  /// Returns the check that is worst by value / tolerance; NaN is the worst of all. Null where there is none.
  const check* worst() const;
  /// Returns "VERIFIED   PASSED     (3 checks, worst: full residual 3.1e-11 / 1e-10)"
  std::string line() const;

 private:
  std::vector<check> checks_;
};

}  // namespace plaquette
