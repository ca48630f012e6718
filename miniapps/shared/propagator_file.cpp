// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/propagator_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "common/app/parse.hpp"
#include "common/app/provenance.hpp"
#include "common/error.hpp"

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
      {"revision", build_information().revision}};
  all.insert(all.end(), facts.more.begin(), facts.more.end());
  return all;
}

propagator_facts read_facts(const hdf5_input& file, const std::string& path) {
  const auto real = [&file](const char* name) { return file.real(data_set_name, name); };
  const int version = file.integer(data_set_name, "format_version");
  if (version != format_version && version != version_with_thin_links)
    throw input_error(fmt::format("{}: expected format_version {} or {}, found {}", printable(path), format_version,
                                  version_with_thin_links, version));
  propagator_facts facts;
  facts.source.thin_links = version == version_with_thin_links;
  facts.basis = parse_gamma_basis(file.text(data_set_name, "basis"));
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
  facts.source.kind = cpu::parse_source_kind(file.text(data_set_name, "source"));
  std::ranges::copy(file.integers(data_set_name, "source_position", dimensions), facts.source.position.begin());
  facts.source.smearing_radius = real("smearing_radius");
  facts.source.smearing_steps = file.integer(data_set_name, "smearing_steps");
  if (facts.source.smearing_steps > most_smearing_steps)
    throw input_error(fmt::format("{}: expected at most {} smearing_steps, found {}", printable(path),
                                  most_smearing_steps, facts.source.smearing_steps));
  facts.residuals = file.reals(data_set_name, "residuals", cpu::spin_colours);
  facts.tolerance = real("tolerance");
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
