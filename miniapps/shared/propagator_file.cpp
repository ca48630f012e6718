// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/propagator_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "common/app/parse.hpp"
#include "common/app/provenance.hpp"
#include "common/error.hpp"
#include "common/io/checksum.hpp"

namespace plaquette {

namespace {

constexpr int format_version = 1, version_with_thin_links = 2;
constexpr const char* data_set_name = "/propagator";
constexpr const char* columns_name = "/columns";
constexpr const char* state_name = "/state";

/// The 12 x 12 complex numbers of a site: [sink spin][sink colour][source spin][source colour].
constexpr std::size_t site_numbers = cpu::spin_colours * cpu::spin_colours;
const hdf5_extents site_of_propagator{spins, colours, spins, colours};

hdf5_extents site_of_columns(std::size_t count) { return {spins, colours, count}; }

/// Some columns, in the order of their file.
using column_list = std::vector<spinor_configuration*>;
using const_column_list = std::vector<const spinor_configuration*>;

template <class List, class Propagator>
List all_of(Propagator& columns) {
  List list;
  for (auto& column : columns) list.push_back(&column);
  return list;
}

template <class List, class Propagator>
List chosen(Propagator& columns, const std::vector<int>& which) {
  List list;
  for (const int column : which) list.push_back(&columns.at(static_cast<std::size_t>(column)));
  return list;
}

/// The numbers of a site are [sink spin][sink colour][column].
site_packer packer_of(const const_column_list& columns) {
  return [&columns](const coordinate& x, std::span<complex<double>> numbers) {
    std::size_t at = 0;
    for (int a = 0; a < spins; ++a)
      for (int c = 0; c < colours; ++c)
        for (const spinor_configuration* column : columns) numbers[at++] = (*column)(x)(a, c);
  };
}

site_unpacker unpacker_of(const column_list& columns) {
  return [&columns](const coordinate& x, std::span<const complex<double>> numbers) {
    std::size_t at = 0;
    for (int a = 0; a < spins; ++a)
      for (int c = 0; c < colours; ++c)
        for (spinor_configuration* column : columns) (*column)(x)(a, c) = numbers[at++];
  };
}

/// CRC-32 of all facts that are read back: an attribute that was damaged is no other propagator.
std::string checksum_of(const propagator_facts& facts) {
  const fermion_action& action = facts.action;
  std::string text = fmt::format("{} {} {} {}", name_of(facts.basis), facts.gauge, cpu::name(facts.source.kind),
                                 facts.source.smearing_steps);
  for (const int x : facts.source.position) text += fmt::format(" {}", x);
  const auto add = [&text](double value) { text += fmt::format(" {:.17g}", value); };
  for (const double value : {facts.plaquette, action.mass, action.clover_spatial, action.clover_temporal,
                             action.anisotropy, action.nu, facts.source.smearing_radius, facts.tolerance})
    add(value);
  for (const auto& phase : action.boundary_phase) {
    add(phase.re);
    add(phase.im);
  }
  for (const double residual : facts.residuals) add(residual);
  return hexadecimal(crc32(std::as_bytes(std::span(text))));
}

std::vector<hdf5_attribute> attributes_of(const propagator_facts& facts) {
  const fermion_action& action = facts.action;
  std::vector<double> phases;
  for (const auto& phase : action.boundary_phase) phases.insert(phases.end(), {phase.re, phase.im});
  const auto& position = facts.source.position;
  std::vector<hdf5_attribute> all{
      {"format_version", facts.source.thin_links ? version_with_thin_links : format_version},
      {"basis", name_of(facts.basis)},
      {"basis_note", "S' = R S R^+ from the DeGrand-Rossi basis; gamma_5 = gamma_x gamma_y gamma_z gamma_t"},
      {"gauge", facts.gauge},
      {"plaquette", facts.plaquette},
      {"mass", action.mass},
      {"kappa", action.kappa()},
      {"clover_spatial", action.clover_spatial},
      {"clover_temporal", action.clover_temporal},
      {"anisotropy", action.anisotropy},
      {"nu", action.nu},
      {"boundary_phases", phases, {dimensions, 2}},
      {"source", cpu::name(facts.source.kind)},
      {"source_position", std::vector<int>(position.begin(), position.end())},
      {"smearing_radius", facts.source.smearing_radius},
      {"smearing_steps", facts.source.smearing_steps},
      {"residuals", facts.residuals},
      {"tolerance", facts.tolerance},
      {"revision", build_information().revision},
      {"facts_checksum", checksum_of(facts)}};
  all.insert(all.end(), facts.more.begin(), facts.more.end());
  return all;
}

/// Throws input_error where a number is none that a run can have had.
void require_possible(const propagator_facts& facts, const std::string& path) {
  const auto require = [&path](bool possible, const std::string& expected, double found) {
    if (!possible)
      throw input_error(fmt::format("{}: expected {} in the attributes of {}, found {}", printable(path), expected,
                                    data_set_name, found));
  };
  const fermion_action& action = facts.action;
  for (const double number : {facts.plaquette, action.mass, action.clover_spatial, action.clover_temporal})
    require(std::abs(number) <= 1e10, "a plaquette, mass and clover coefficients within 1e10", number);
  for (const double number : {action.anisotropy, action.nu})
    require(number > 0.0 && number <= 1e10, "an anisotropy and nu above 0, at most 1e10", number);
  for (const auto& phase : action.boundary_phase)
    require(std::abs(norm2(phase) - 1.0) <= 1e-9, "boundary_phases of modulus 1", norm2(phase));
  require(facts.source.smearing_steps >= 0 && facts.source.smearing_steps <= most_smearing_steps,
          fmt::format("0 to {} smearing_steps", most_smearing_steps), facts.source.smearing_steps);
  require(facts.source.smearing_radius >= 0.0 && facts.source.smearing_radius <= 1e10,
          "a smearing_radius from 0 to 1e10", facts.source.smearing_radius);
  for (const double residual : facts.residuals)
    require(residual >= 0.0 && residual <= 1e10, "residuals from 0 to 1e10", residual);
  // A tolerance of 1 is met by nothing at all.
  require(facts.tolerance > 0.0 && facts.tolerance < 1.0, "a tolerance above 0 and below 1", facts.tolerance);
}

/// The same result, with the name of the file before what is refused.
template <class Work>
auto named(const std::string& path, Work&& work) {
  try {
    return work();
  } catch (const input_error& e) {
    throw input_error(printable(path) + ": " + e.what());
  }
}

propagator_facts read_facts(const hdf5_input& file, const std::string& path) {
  const auto real = [&file](const char* name) { return file.real(data_set_name, name); };
  const int version = file.integer(data_set_name, "format_version");
  if (version != format_version && version != version_with_thin_links)
    throw input_error(fmt::format("{}: expected format_version {} or {}, found {}", printable(path), format_version,
                                  version_with_thin_links, version));
  propagator_facts facts;
  facts.source.thin_links = version == version_with_thin_links;
  const std::string basis = file.text(data_set_name, "basis"), source = file.text(data_set_name, "source");
  facts.basis = named(path, [&] { return parse_gamma_basis(printable(basis)); });
  facts.gauge = file.text(data_set_name, "gauge");
  facts.plaquette = real("plaquette");
  facts.action.mass = real("mass");
  facts.action.clover_spatial = real("clover_spatial");
  facts.action.clover_temporal = real("clover_temporal");
  facts.action.anisotropy = real("anisotropy");
  facts.action.nu = real("nu");
  const auto phases = file.reals(data_set_name, "boundary_phases", 2 * dimensions);
  for (std::size_t mu = 0; mu < dimensions; ++mu)
    facts.action.boundary_phase[mu] = {phases[2 * mu], phases[2 * mu + 1]};
  facts.source.kind = named(path, [&] { return cpu::parse_source_kind(printable(source)); });
  std::ranges::copy(file.integers(data_set_name, "source_position", dimensions), facts.source.position.begin());
  facts.source.smearing_radius = real("smearing_radius");
  facts.source.smearing_steps = file.integer(data_set_name, "smearing_steps");
  facts.residuals = file.reals(data_set_name, "residuals", cpu::spin_colours);
  facts.tolerance = real("tolerance");
  require_possible(facts, path);
  if (file.has_attribute(data_set_name, "facts_checksum"))  // files of before have none
    if (const std::string claimed = file.text(data_set_name, "facts_checksum"), found = checksum_of(facts);
        claimed != found)
      throw input_error(
          fmt::format("{}: expected attributes of checksum {}, found {}", printable(path), printable(claimed), found));
  return facts;
}

/// R S R^+ at one site.
std::array<spinor<double>, cpu::spin_colours> rotated_site(const std::array<spinor<double>, cpu::spin_colours>& columns,
                                                           const spin_matrix& rotation) {
  std::array<spinor<double>, cpu::spin_colours> rotated{};
  for (int d = 0; d < spins; ++d)
    for (int e = 0; e < colours; ++e) {
      const spinor<double> sink = rotation * columns[static_cast<std::size_t>(colours * d + e)];
      for (int f = 0; f < spins; ++f)  // S'(f) = sum_d (R S)(d) conj R(f, d)
        rotated[static_cast<std::size_t>(colours * f + e)] += conj(rotation(f, d)) * sink;
    }
  return rotated;
}

}  // namespace

std::string name_of(gamma_basis basis) {
  switch (basis) {
    case gamma_basis::degrand_rossi:
      return "degrand-rossi";
    case gamma_basis::nonrelativistic:
      return "nonrelativistic";
    case gamma_basis::dirac_pauli:
      return "dirac-pauli";
    case gamma_basis::openqcd:
      return "openqcd";
    case gamma_basis::tmlqcd:
      return "tmlqcd";
  }
  return "unknown";
}

double propagator_file_bytes(const extents& lattice) {
  return static_cast<double>(volume(lattice)) * site_numbers * sizeof(complex<double>);
}

void rotate_basis(cpu::propagator& columns, const spin_matrix& rotation) {
  if (rotation == spin_matrix::identity()) return;
  const lattice_geometry& geometry = columns.front().geometry();
#pragma omp parallel for
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    std::array<spinor<double>, cpu::spin_colours> at_site{};
    for (std::size_t n = 0; n < at_site.size(); ++n) at_site[n] = columns[n](x);
    at_site = rotated_site(at_site, rotation);
    for (std::size_t n = 0; n < at_site.size(); ++n) columns[n](x) = at_site[n];
  }
}

void write_propagator(const std::string& path, bool replace, const cpu::propagator& columns,
                      const propagator_facts& facts, const communicator& comm) {
  const lattice_geometry& geometry = columns.front().geometry();
  cpu::propagator rotated;  // a copy where there is something to rotate
  if (facts.basis != gamma_basis::degrand_rossi) {
    rotated = columns;
    rotate_basis(rotated, basis_rotation(facts.basis));
  }
  hdf5_output file(path, replace ? existing_file::replace : existing_file::keep,
                   {{data_set_name, hdf5_number::complex_double,
                     extents_of_field(geometry.global(), site_of_propagator), attributes_of(facts)}},
                   comm);
  const auto list = all_of<const_column_list>(rotated.empty() ? columns : std::as_const(rotated));
  file.write_field(0, 0, geometry, site_numbers, packer_of(list));
  file.commit();
}

void check_propagator_file(verification& checks, const std::string& path, const cpu::propagator& columns,
                           const propagator_facts& facts, const communicator& comm) {
  const hdf5_input file(path, comm);
  const propagator_facts found = read_facts(file, path);
  const spin_matrix rotation = basis_rotation(facts.basis);
  const bool is_rotated = facts.basis != gamma_basis::degrand_rossi;
  double differing = 0.0;
  const auto compare = [&](const coordinate& x, std::span<const complex<double>> numbers) {
    std::array<spinor<double>, cpu::spin_colours> expected{};
    for (std::size_t n = 0; n < expected.size(); ++n) expected[n] = columns[n](x);
    if (is_rotated) expected = rotated_site(expected, rotation);  // the same bits as when it was written
    std::size_t at = 0;
    for (int a = 0; a < spins; ++a)
      for (int c = 0; c < colours; ++c)
        for (const auto& column : expected)
          if (std::memcmp(&numbers[at++], &column(a, c), sizeof(complex<double>)) != 0) differing += 1.0;
  };
  file.read_field(data_set_name, 0, columns.front().geometry(), site_numbers, compare);
  comm.sum(std::span(&differing, 1));
  checks.add("numbers of the propagator that differ in its file", differing, 0.0);
  checks.add("facts in the propagator's file",
             found.basis == facts.basis && found.gauge == facts.gauge && found.plaquette == facts.plaquette &&
                 found.residuals == facts.residuals && found.tolerance == facts.tolerance);
}

loaded_propagator read_propagator(const std::string& path, const lattice_geometry& geometry, const communicator& comm) {
  loaded_propagator loaded{cpu::propagator(cpu::spin_colours, spinor_configuration(geometry)), {}};
  const hdf5_input file(path, comm);
  file.require(data_set_name, extents_of_field(geometry.global(), site_of_propagator),
               "a propagator on lattice " + to_string(geometry.global()));
  loaded.facts = read_facts(file, path);
  named(path, [&] { cpu::require_source_on(loaded.facts.source, geometry.global()); });
  const auto list = all_of<column_list>(loaded.columns);
  file.read_field(data_set_name, 0, geometry, site_numbers, unpacker_of(list));
  rotate_basis(loaded.columns, adjoint(basis_rotation(loaded.facts.basis)));
  return loaded;
}

void write_columns(const std::string& path, const cpu::propagator& columns, const std::vector<int>& which,
                   const std::string& state, const communicator& comm) {
  const lattice_geometry& geometry = columns.front().geometry();
  hdf5_output file(
      path, existing_file::replace,
      {{columns_name, hdf5_number::complex_double, extents_of_field(geometry.global(), site_of_columns(which.size()))},
       {state_name, hdf5_number::byte, {state.size()}}},
      comm);
  const auto list = chosen<const_column_list>(columns, which);
  if (!which.empty()) file.write_field(0, 0, geometry, which.size() * cpu::spin_colours, packer_of(list));
  file.write(1, 0, std::as_bytes(std::span(state)));
  file.commit();
}

std::string read_columns_state(const std::string& path) {
  const communicator alone;
  const hdf5_input file(path, alone);
  if (!file.has(state_name))
    throw input_error(printable(path) +
                      ": expected a checkpoint of plaquette-mixed-precision-solver, with a data set " + state_name +
                      ", found none");
  return file.read_text(state_name);
}

void read_columns(const std::string& path, cpu::propagator& columns, const std::vector<int>& which,
                  const communicator& comm) {
  if (which.empty()) return;
  const lattice_geometry geometry = columns.front().geometry();
  const hdf5_input file(path, comm);
  file.require(columns_name, extents_of_field(geometry.global(), site_of_columns(which.size())),
               fmt::format("{} columns on lattice {}", which.size(), to_string(geometry.global())));
  const auto list = chosen<column_list>(columns, which);
  file.read_field(columns_name, 0, geometry, which.size() * cpu::spin_colours, unpacker_of(list));
}

}  // namespace plaquette
