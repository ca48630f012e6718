// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/mode_files.hpp"

#include <span>

#include "common/app/checkpoint.hpp"
#include "common/app/parse.hpp"
#include "common/io/hdf5_file.hpp"

namespace plaquette {

namespace {

constexpr const char* vectors_name = "/vectors";
constexpr const char* state_name = "/state";
constexpr std::size_t site_numbers = static_cast<std::size_t>(spins) * colours;

}  // namespace

void write_vectors(const std::string& path, int count, const vector_source& source, const json_document& state,
                   const lattice_geometry& geometry, const communicator& world) {
  const std::string text = checkpoint_text(state);
  const auto blocks = static_cast<std::uint64_t>(count);
  std::vector<hdf5_data_set> sets{{state_name, hdf5_number::byte, {text.size()}}};
  if (count > 0)
    sets.push_back(
        {vectors_name, hdf5_number::complex_double, extents_of_field(geometry.global(), {spins, colours}, blocks)});
  hdf5_output file(path, existing_file::replace, sets, world);
  file.write(0, 0, std::as_bytes(std::span(text)));
  spinor_configuration vector(geometry);
  for (int n = 0; n < count; ++n) {
    source(n, vector);
    file.write_field(1, static_cast<std::uint64_t>(n), geometry, site_numbers,
                     [&](const coordinate& x, std::span<complex<double>> numbers) {
                       for (int s = 0; s < spins; ++s)
                         for (int c = 0; c < colours; ++c)
                           numbers[static_cast<std::size_t>(s * colours + c)] = vector(x)(s, c);
                     });
  }
  file.commit();
}

json_document read_state(const std::string& path, const json_document& problem, const communicator& world) {
  const hdf5_input file(path, world);
  json_document state = parse_checkpoint_text(path, file.read_text(state_name));
  require_same_parameters(path, checkpoint_value<json_document>(printable(path), state, "problem"), problem);
  return state;
}

void read_vectors(const std::string& path, int count, const vector_sink& sink, const lattice_geometry& geometry,
                  const communicator& world) {
  if (count == 0) return;
  const hdf5_input file(path, world);
  file.require(vectors_name, extents_of_field(geometry.global(), {spins, colours}, static_cast<std::uint64_t>(count)),
               std::to_string(count) + " vectors on lattice " + to_string(geometry.global()));
  spinor_configuration vector(geometry);
  for (int n = 0; n < count; ++n) {
    file.read_field(vectors_name, static_cast<std::uint64_t>(n), geometry, site_numbers,
                    [&](const coordinate& x, std::span<const complex<double>> numbers) {
                      for (int s = 0; s < spins; ++s)
                        for (int c = 0; c < colours; ++c)
                          vector(x)(s, c) = numbers[static_cast<std::size_t>(s * colours + c)];
                    });
    sink(n, vector);
  }
}

}  // namespace plaquette
