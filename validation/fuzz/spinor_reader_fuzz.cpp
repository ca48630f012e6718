// SPDX-License-Identifier: BSD-3-Clause
// Any bytes at all as a LIME file with a spinor field, or a propagator: they are refused with an input_error, or give
// finite numbers.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "common/error.hpp"
#include "common/io/spinor_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plaquette;
  const memory_source source("input", std::as_bytes(std::span(data, size)));
  try {
    const lattice_geometry geometry(lime_spinor_lattice(source));
    const auto psi = read_lime_spinor(source, geometry, communicator());
    for (std::int64_t site = 0; site < geometry.local_volume(); ++site)
      if (!std::isfinite(norm2(psi.at_site(site)))) std::abort();
  } catch (const input_error&) {
  }
  try {
    if (const auto lattice = lime_propagator_lattice(source))
      for (const auto& column : read_lime_propagator(source, lattice_geometry(*lattice), communicator()))
        if (!std::isfinite(norm2(column.at_site(0)))) std::abort();
  } catch (const input_error&) {
  }
  return 0;
}
