// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Numbers in messages.
#pragma once

#include <cstdio>
#include <string>

namespace plaquette {

/// Returns a number to six digits: "1e-09", not "0.000000" as std::to_string has it.
inline std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace plaquette
