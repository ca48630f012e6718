// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/resumable.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/app/checkpoint.hpp"
#include "common/app/parse.hpp"
#include "common/io/checksum.hpp"
#include "common/io/hdf5_file.hpp"
#include "common/lattice/sum_rounding.hpp"

namespace plaquette {

namespace {

constexpr const char* vectors_name = "/vectors";  // [count][T][Z][Y][X][4][3]
constexpr const char* state_name = "/state";
constexpr std::size_t site_numbers = static_cast<std::size_t>(spins) * colours;
using site_values = std::array<complex<double>, site_numbers>;

site_values values_of(const spinor<double>& psi) {
  site_values numbers;
  for (int s = 0; s < spins; ++s)
    for (int c = 0; c < colours; ++c) numbers[static_cast<std::size_t>(s * colours + c)] = psi(s, c);
  return numbers;
}

/// A sum over the numbers of a vector, the same on every process grid. Collective.
std::string sum_of(const spinor_configuration& vector, const communicator& world) {
  const lattice_geometry& geometry = vector.geometry();
  site_checksum sum(checksum_kind::scidac);
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    const site_values numbers = values_of(vector(x));
    sum.add(static_cast<std::uint64_t>(geometry.global_index(x)), std::as_bytes(std::span(numbers)), false);
  }
  sum.combine(world);
  return hexadecimal(sum.first()) + hexadecimal(sum.second());
}

/// Writes vectors and the state, with a sum of each vector as "sums".
void write_vectors(const std::string& path, int count, const vector_source& source, json_document state,
                   const lattice_geometry& geometry, const communicator& world) {
  // The sums are known at the end. Until then others of the same length stand in for them.
  std::vector<std::string> sums(static_cast<std::size_t>(count), std::string(16, '0'));
  state["sums"] = sums;
  const std::size_t length = checkpoint_text(state).size();
  const auto blocks = static_cast<std::uint64_t>(count);
  std::vector<hdf5_data_set> sets{{state_name, hdf5_number::byte, {length}}};
  if (count > 0)
    sets.push_back(
        {vectors_name, hdf5_number::complex_double, extents_of_field(geometry.global(), {spins, colours}, blocks)});
  hdf5_output file(path, existing_file::replace, sets, world);
  spinor_configuration vector(geometry);
  for (int n = 0; n < count; ++n) {
    source(n, vector);
    sums[static_cast<std::size_t>(n)] = sum_of(vector, world);
    file.write_field(1, static_cast<std::uint64_t>(n), geometry, site_numbers,
                     [&](const coordinate& x, std::span<complex<double>> numbers) {
                       std::ranges::copy(values_of(vector(x)), numbers.begin());
                     });
  }
  state["sums"] = sums;
  const std::string text = checkpoint_text(state);
  file.write(0, 0, std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace

kept_numbers::kept_numbers(const std::string& path, const json_document& state)
    : path_(printable(path)), state_(state) {}

int kept_numbers::integer(const char* key, int least, int most) const {
  const auto found = checkpoint_value<std::int64_t>(path_, state_, key);
  if (found < least || found > most)
    throw input_error(fmt::format("{}: expected \"{}\" from {} to {}, found {}", path_, key, least, most, found));
  return static_cast<int>(found);
}

double kept_numbers::real(const char* key, double least, double most) const {
  const auto found = checkpoint_value<double>(path_, state_, key);
  if (!(found >= least && found <= most))
    throw input_error(fmt::format("{}: expected \"{}\" from {:g} to {:g}, found {:g}", path_, key, least, most, found));
  return found;
}

bool kept_numbers::flag(const char* key) const { return checkpoint_value<bool>(path_, state_, key); }

std::vector<double> kept_numbers::reals(const char* key, int fewest, int most, double bound) const {
  auto found = checkpoint_value<std::vector<double>>(path_, state_, key);
  if (std::ssize(found) < fewest || std::ssize(found) > most)
    throw input_error(fmt::format("{}: expected {} numbers in \"{}\"{}, found {}", path_, fewest, key,
                                  fewest < most ? fmt::format(" or up to {}", most) : "", found.size()));
  for (const double x : found)
    if (!(std::abs(x) <= bound))
      throw input_error(
          fmt::format("{}: expected numbers of at most {:g} in \"{}\", found {:g}", path_, bound, key, x));
  return found;
}

kept_numbers kept_numbers::part(const char* key) const {
  return {path_, checkpoint_value<json_document>(path_, state_, key)};
}

std::vector<kept_numbers> kept_numbers::parts(const char* key, int count) const {
  const auto list = checkpoint_value<json_document>(path_, state_, key);
  if (!list.is_array() || std::ssize(list) != count)
    throw input_error(fmt::format("{}: expected a list of {} in \"{}\", found {}", path_, count, key,
                                  list.is_array() ? std::to_string(list.size()) : "no list"));
  std::vector<kept_numbers> all;
  for (const json_document& one : list) all.emplace_back(path_, one);
  return all;
}

kept_content::kept_content(std::shared_ptr<const hdf5_input> file, const std::string& path, const json_document& state,
                           const lattice_geometry& geometry, const communicator& world)
    : kept_numbers(path, state), file_(std::move(file)), geometry_(&geometry), world_(&world) {}

vector_source kept_content::vectors(int count) const {
  const auto sums = checkpoint_value<std::vector<std::string>>(path_, state_, "sums");
  if (std::ssize(sums) != count)
    throw input_error(fmt::format("{}: expected the sums of {} vectors, found {}", path_, count, sums.size()));
  if (count > 0)
    file_->require(vectors_name,
                   extents_of_field(geometry_->global(), {spins, colours}, static_cast<std::uint64_t>(count)),
                   std::to_string(count) + " vectors on lattice " + to_string(geometry_->global()));
  return [content = *this, sums](int n, spinor_configuration& to) {
    content.read_vector(n, to);
    const std::string& expected = sums[static_cast<std::size_t>(n)];
    if (const std::string found = sum_of(to, *content.world_); found != expected)
      throw input_error(
          fmt::format("{}: expected vector {} with the checksum {}, found {}: the file was changed; remove it",
                      content.path_, n, printable(expected), found));
  };
}

void kept_content::read_vector(int number, spinor_configuration& to) const {
  file_->read_field(vectors_name, static_cast<std::uint64_t>(number), *geometry_, site_numbers,
                    [&](const coordinate& x, std::span<const complex<double>> numbers) {
                      for (int s = 0; s < spins; ++s)
                        for (int c = 0; c < colours; ++c)
                          to(x)(s, c) = numbers[static_cast<std::size_t>(s * colours + c)];
                    });
}

json_document state_of_kept_file(const std::string& path) {
  const communicator alone;
  return parse_checkpoint_text(path, hdf5_input(path, alone).read_text(state_name));
}

kept_file::kept_file(std::string path, kept_problem problem, const lattice_geometry& geometry,
                     const communicator& world)
    : path_(std::move(path)), problem_(std::move(problem)), geometry_(&geometry), world_(&world) {}

bool kept_file::exists() const { return checkpoint_exists(path_); }

void kept_file::write(const kept_value& value) const {
  if (path_.empty()) return;
  json_document state{{"problem", problem_.parameters}, {"plaquette", problem_.plaquette}};
  state.update(value.state);
  write_vectors(path_, value.vectors, value.source, std::move(state), *geometry_, *world_);
}

kept_content kept_file::read() const {
  auto file = std::make_shared<const hdf5_input>(path_, *world_);
  const json_document state = parse_checkpoint_text(path_, file->read_text(state_name));
  require_same_parameters(path_, checkpoint_value<json_document>(printable(path_), state, "problem"),
                          problem_.parameters);
  const auto plaquette = checkpoint_value<double>(printable(path_), state, "plaquette");
  if (!(std::abs(plaquette - problem_.plaquette) <= sum_rounding(geometry_->global())))
    throw input_error(fmt::format("{}: expected a checkpoint on the configuration of plaquette {:.12f}, found {:.12f}",
                                  printable(path_), problem_.plaquette, plaquette));
  return {std::move(file), path_, state, *geometry_, *world_};
}

void kept_file::remove() const {
  std::error_code ignored;
  if (!path_.empty() && world_->rank() == 0) std::filesystem::remove(path_, ignored);
}

}  // namespace plaquette
