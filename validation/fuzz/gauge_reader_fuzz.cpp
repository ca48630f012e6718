// SPDX-License-Identifier: BSD-3-Clause
// Any bytes at all as a gauge configuration: they are refused with an input_error, or give links in SU(3).
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "common/error.hpp"
#include "common/io/gauge_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plaquette;
  const memory_source source("input", std::as_bytes(std::span(data, size)));
  try {
    const gauge_file_header header = read_gauge_header(source);
    const auto [links, again] = read_gauge(source, lattice_geometry(header.lattice), communicator());
    if (again.format != header.format || again.lattice != header.lattice) std::abort();
    if (!(again.distance_from_su3 <= 1e-4)) std::abort();
  } catch (const input_error&) {
  }
  return 0;
}
