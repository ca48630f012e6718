// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/propagator_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <variant>

#include "common/app/checkpoint.hpp"
#include "common/app/parse.hpp"
#include "common/app/provenance.hpp"
#include "common/error.hpp"
#include "common/io/byte_order.hpp"
#include "common/io/byte_source.hpp"
#include "common/io/checksum.hpp"
#include "common/io/collective_error.hpp"
#include "common/io/lime.hpp"

namespace plaquette {

namespace {

constexpr int format_version = 1, version_with_thin_links = 2;
constexpr const char* data_set_name = "/propagator";

/// The 12 x 12 complex numbers of a site: [sink spin][sink colour][source spin][source colour].
constexpr std::size_t site_numbers = spin_colours * spin_colours;
const hdf5_extents site_of_propagator{spins, colours, spins, colours};

/// Some columns, in the order of their file.
using column_list = std::vector<spinor_configuration*>;
using const_column_list = std::vector<const spinor_configuration*>;

template <class List, class Propagator>
List all_of(Propagator& columns) {
  List list;
  for (auto& column : columns) list.push_back(&column);
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
  std::string text = fmt::format("{} {} {} {}", name_of(facts.basis), facts.gauge, name(facts.source.kind),
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
      {"source", name(facts.source.kind)},
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

/// Throws input_error if a number is none that a run can have had.
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

/// Returns the result of some work, and puts the name of the file before the message of an input_error.
template <class Work>
auto named(const std::string& path, Work&& work) {
  try {
    return work();
  } catch (const input_error& e) {
    throw input_error(printable(path) + ": " + e.what());
  }
}

// ---- LIME: the same facts, as JSON in a record behind the numbers

constexpr const char* facts_record = "plaquette-propagator";

bool is_named_lime(const std::string& path) { return path.ends_with(".lime"); }

/// The same on all ranks. Collective.
bool begins_as_lime(const std::string& path, const communicator& comm) {
  bool is_lime = false;
  on_all_ranks_or_none(comm, [&] { is_lime = is_lime_file(path); });
  return is_lime;
}

std::string text_of(const propagator_facts& facts) {
  json_document text;
  for (const hdf5_attribute& attribute : attributes_of(facts))
    std::visit([&](const auto& value) { text[attribute.name] = value; }, attribute.value);
  return checkpoint_text(text);
}

/// Reads facts as hdf5_input does.
class facts_of_lime {
 public:
  explicit facts_of_lime(const std::string& path) : path_(printable(path)) {
    const file_source source(path);
    for (const lime_record& record : lime_records(source))
      if (record.type == facts_record) text_ = parse_checkpoint_text(path, lime_text(source, record));
    if (text_.is_null())
      throw input_error(path_ + ": expected a record '" + facts_record +
                        "' that says what was solved, found none; files of other programs are read by "
                        "plaquette::api::propagator::read or plaquette.Propagator.read");
  }
  double real(const char*, const char* name) const { return get<double>(name); }
  int integer(const char*, const char* name) const { return get<int>(name); }
  std::string text(const char*, const char* name) const { return get<std::string>(name); }
  std::vector<double> reals(const char*, const char* name, std::size_t count) const {
    return list<double>(name, count);
  }
  std::vector<int> integers(const char*, const char* name, std::size_t count) const { return list<int>(name, count); }
  bool has_attribute(const char*, const char* name) const { return text_.contains(name); }

 private:
  template <class Value>
  Value get(const char* name) const {
    return checkpoint_value<Value>(path_, text_, name);
  }
  template <class Number>
  std::vector<Number> list(const char* name, std::size_t count) const {
    auto numbers = get<std::vector<Number>>(name);
    if (numbers.size() != count)
      throw input_error(fmt::format("{}: expected {} numbers as '{}' in record {}, found {}", path_, count, name,
                                    facts_record, numbers.size()));
    return numbers;
  }

  std::string path_;
  json_document text_;
};

template <class File>
propagator_facts read_facts(const File& file, const std::string& path) {
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
  facts.source.kind = named(path, [&] { return parse_source_kind(printable(source)); });
  std::ranges::copy(file.integers(data_set_name, "source_position", dimensions), facts.source.position.begin());
  facts.source.smearing_radius = real("smearing_radius");
  facts.source.smearing_steps = file.integer(data_set_name, "smearing_steps");
  facts.residuals = file.reals(data_set_name, "residuals", spin_colours);
  facts.tolerance = real("tolerance");
  require_possible(facts, path);
  if (file.has_attribute(data_set_name, "facts_checksum"))  // files of before have none
    if (const std::string claimed = file.text(data_set_name, "facts_checksum"), found = checksum_of(facts);
        claimed != found)
      throw input_error(
          fmt::format("{}: expected attributes of checksum {}, found {}", printable(path), printable(claimed), found));
  return facts;
}

/// The same on all ranks, or none. Collective.
template <class File>
propagator_facts facts_read_by(const std::string& path, const communicator& comm) {
  propagator_facts facts;
  on_all_ranks_or_none(comm, [&] { facts = read_facts(File(path), path); });
  return facts;
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

bool is_lime_file(const std::string& path) {
  const file_source source(path);
  std::array<std::byte, 4> start{};
  if (source.size() < start.size()) return false;
  source.read(0, start);
  return load_unsigned<std::uint32_t>(start.data(), true) == lime_magic;
}

double propagator_file_bytes(const extents& lattice) {
  return static_cast<double>(volume(lattice)) * site_numbers * sizeof(complex<double>);
}

void write_propagator(const std::string& path, bool replace, const propagator& columns, const propagator_facts& facts,
                      const communicator& comm) {
  if (is_named_lime(path)) {
    propagator_write_options options;
    options.style = facts.basis == basis_of(propagator_style::etmc) ? propagator_style::etmc : propagator_style::scidac;
    options.basis = facts.basis;
    options.existing = replace ? existing_file::replace : existing_file::keep;
    options.information = fmt::format("Plaquette: mass {}, source {}", facts.action.mass, name(facts.source.kind));
    options.last_record = {facts_record, text_of(facts)};
    return write_lime_propagator(path, columns, options, comm);
  }
  const lattice_geometry& geometry = columns.front().geometry();
  propagator rotated;  // a copy if there is something to rotate
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

void check_propagator_file(verification& checks, const std::string& path, const propagator& columns,
                           const propagator_facts& facts, const communicator& comm, const std::string& which) {
  const spin_matrix rotation = basis_rotation(facts.basis);
  const auto expected_at = [&](const coordinate& x) {
    propagator_site expected{};
    for (std::size_t n = 0; n < expected.size(); ++n) expected[n] = columns[n](x);
    return facts.basis == gamma_basis::degrand_rossi ? expected : rotated_site(expected, rotation);  // as was written
  };
  double differing = 0.0;
  const auto differs = [](const complex<double>& a, const complex<double>& b) {
    return std::memcmp(&a, &b, sizeof a) != 0 ? 1.0 : 0.0;
  };
  propagator_facts found;
  if (begins_as_lime(path, comm)) {
    found = facts_read_by<facts_of_lime>(path, comm);
    const auto there = read_lime_propagator(path, columns.front().geometry(), comm, gamma_basis::degrand_rossi);
    for (std::int64_t site = 0; site < columns.front().geometry().local_volume(); ++site) {
      const propagator_site expected = expected_at(columns.front().geometry().local_coordinate(site));
      for (std::size_t n = 0; n < expected.size(); ++n)
        for (int a = 0; a < spins; ++a)
          for (int c = 0; c < colours; ++c) differing += differs(there[n].at_site(site)(a, c), expected[n](a, c));
    }
  } else {
    const hdf5_input file(path, comm);
    found = read_facts(file, path);
    file.read_field(data_set_name, 0, columns.front().geometry(), site_numbers,
                    [&](const coordinate& x, std::span<const complex<double>> numbers) {
                      std::size_t at = 0;
                      const propagator_site expected = expected_at(x);
                      for (int a = 0; a < spins; ++a)
                        for (int c = 0; c < colours; ++c)
                          for (const auto& column : expected) differing += differs(numbers[at++], column(a, c));
                    });
  }
  comm.sum(std::span(&differing, 1));
  checks.add("numbers of the propagator that differ in its file" + which, differing, 0.0);
  checks.add("facts in the propagator's file" + which,
             found.basis == facts.basis && found.gauge == facts.gauge && found.plaquette == facts.plaquette &&
                 found.residuals == facts.residuals && found.tolerance == facts.tolerance);
}

loaded_propagator read_propagator(const std::string& path, const lattice_geometry& geometry, const communicator& comm) {
  if (begins_as_lime(path, comm)) {
    const propagator_facts facts = facts_read_by<facts_of_lime>(path, comm);
    named(path, [&] { require_source_on(facts.source, geometry.global()); });
    return {read_lime_propagator(path, geometry, comm, facts.basis), facts};
  }
  loaded_propagator loaded{propagator(spin_colours, spinor_configuration(geometry)), {}};
  const hdf5_input file(path, comm);
  file.require(data_set_name, extents_of_field(geometry.global(), site_of_propagator),
               "a propagator on lattice " + to_string(geometry.global()));
  loaded.facts = read_facts(file, path);
  named(path, [&] { require_source_on(loaded.facts.source, geometry.global()); });
  const auto list = all_of<column_list>(loaded.columns);
  file.read_field(data_set_name, 0, geometry, site_numbers, unpacker_of(list));
  rotate_basis(loaded.columns, adjoint(basis_rotation(loaded.facts.basis)));
  return loaded;
}

}  // namespace plaquette
