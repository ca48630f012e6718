// SPDX-License-Identifier: BSD-3-Clause
#include "common/lattice/extents.hpp"

#include <charconv>

#include "common/error.hpp"

namespace plaquette {

extents parse_extents(std::string_view text, std::string_view what) {
  const auto refuse = [&] {
    return input_error(std::string(what) + ": expected four positive integers like 8x8x8x16, found '" +
                       std::string(text) + "'");
  };
  extents result{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int mu = 0; mu < dimensions; ++mu) {
    if (mu > 0 && (at == end || *at++ != 'x')) throw refuse();
    const auto [next, code] = std::from_chars(at, end, result[mu]);
    if (code != std::errc{} || result[mu] < 1) throw refuse();
    at = next;
  }
  if (at != end) throw refuse();
  return result;
}

std::string to_string(const extents& e) {
  return std::to_string(e[0]) + 'x' + std::to_string(e[1]) + 'x' + std::to_string(e[2]) + 'x' + std::to_string(e[3]);
}

}  // namespace plaquette
