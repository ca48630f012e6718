// SPDX-License-Identifier: BSD-3-Clause
// Any bytes at all as a mesh of Gmsh: they are refused with an input_error, or give a mesh whose links answer each
// other.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "common/error.hpp"
#include "common/mesh/gmsh_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plaquette;
  const memory_source source("input", std::as_bytes(std::span(data, size)));
  try {
    const simplex_mesh mesh = read_gmsh(source);
    for (std::int64_t e = 0; e < mesh.size(); ++e)
      for (int f = 0; f < mesh.faces(); ++f) {
        const face_link& link = mesh.links[static_cast<std::size_t>(e)][static_cast<std::size_t>(f)];
        if (link.is_boundary()) {
          if (static_cast<std::size_t>(link.boundary) >= mesh.boundary_tags.size()) std::abort();
          continue;
        }
        const face_link& back = mesh.links[static_cast<std::size_t>(link.element)][static_cast<std::size_t>(link.face)];
        if (back.element != e || back.face != f) std::abort();
      }
  } catch (const input_error&) {
  }
  return 0;
}
