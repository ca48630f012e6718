// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where the gauge configuration of a run comes from: the words of --gauge.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/lattice/extents.hpp"

namespace plaquette {

struct gauge_choice {
  enum class origin { file, unit, weak, random, heat_bath };
  origin from = origin::unit;
  std::string path{};  ///< of a file
  double noise = 0.0;  ///< weak: size of the noise added to the identity; of a cell: of links that its own are times
  double beta = 0.0;   ///< heat bath
  int sweeps = default_sweeps;    ///< heat bath: combined sweeps from a cold start
  std::optional<extents> cell{};  ///< heat bath: of this lattice, which is repeated; none: of the whole

  static constexpr int default_sweeps = 100;
  static constexpr double default_noise_of_cell = 0.02;
  /// Returns the word as --gauge takes it.
  std::string describe() const;
};

/// Parses "unit", "random", "weak:EPS", "heatbath:BETA", "heatbath:BETA:SWEEPS", "heatbath:BETA:SWEEPS:XxYxZxT[:EPS]";
/// everything else is the path of a file. Throws input_error, naming `what`, for numbers that cannot be used.
gauge_choice parse_gauge_choice(std::string_view text, std::string_view what);

}  // namespace plaquette
