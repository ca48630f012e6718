// SPDX-License-Identifier: BSD-3-Clause
#include "common/io/spinor_file.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/io/byte_order.hpp"
#include "common/io/collective_error.hpp"
#include "common/io/gauge_layout.hpp"
#include "common/io/lime.hpp"
#include "common/io/scidac.hpp"
#include "common/io/site_arrays.hpp"

namespace plaquette {

namespace {

spinor<double> decode_spinor(std::span<const std::byte> data, int precision_bits) {
  spinor<double> value;
  const std::byte* next = data.data();
  const auto number = [&] {
    const double real = load_real_of(next, precision_bits, true);
    next += precision_bits / 8;
    return real;
  };
  for (int spin = 0; spin < spins; ++spin)
    for (int colour = 0; colour < colours; ++colour) {
      value(spin, colour).re = number();
      value(spin, colour).im = number();
    }
  return value;
}

/// Reads this rank's sites of a field: take(local site, bytes). Adds them to the checksum.
template <class Take>
void read_own_sites(const byte_source& source, const scidac_field& field, scidac_content content,
                    const lattice_geometry& geometry, site_checksum& checksum, Take&& take) {
  if (field.lattice != geometry.global())
    throw input_error(source.name() + ": expected a lattice of " + to_string(geometry.global()) + ", found " +
                      to_string(field.lattice));
  constexpr std::int64_t longest = 4096;
  const auto per_site = static_cast<std::uint64_t>(reals_of(content) * field.precision_bits / 8);
  std::vector<std::byte> buffer;
  for_each_contiguous_piece(geometry, longest, [&](std::int64_t first, std::int64_t count, std::int64_t global_first) {
    buffer.resize(static_cast<std::size_t>(count) * per_site);
    source.read(field.offset + static_cast<std::uint64_t>(global_first) * per_site, buffer);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto site = std::span<const std::byte>(buffer).subspan(static_cast<std::size_t>(i) * per_site, per_site);
      checksum.add(static_cast<std::uint64_t>(global_first + i), site, true);
      take(first + i, site);
    }
  });
}

/// Throws on all ranks where a checksum is wrong or a number of any rank is not finite. Collective.
void require_sound(const byte_source& source, std::span<const scidac_field> fields, std::span<site_checksum> checksums,
                   std::span<const spinor_configuration> spinors, const communicator& comm) {
  for (std::size_t n = 0; n < fields.size(); ++n) {
    checksums[n].combine(comm);
    if (!fields[n].checksum.empty() && fields[n].checksum != checksums[n].text())
      throw input_error(source.name() + ": wrong checksum: expected " + fields[n].checksum + ", found " +
                        checksums[n].text());
  }
  on_all_ranks_or_none(comm, [&] {
    for (const spinor_configuration& column : spinors)
      for (std::int64_t site = 0; site < column.geometry().local_volume(); ++site)
        // The sum of 24 squares is finite where all numbers are, unless they are beyond 1e153.
        if (!std::isfinite(norm2(column.at_site(site))))
          throw input_error(source.name() + ": expected finite numbers in the spinor field, found others");
  });
}

std::unique_ptr<file_source> opened(const std::string& path, const communicator& comm) {
  std::unique_ptr<file_source> source;
  on_all_ranks_or_none(comm, [&] { source = std::make_unique<file_source>(path); });
  return source;
}

}  // namespace

extents lime_spinor_lattice(const byte_source& source) {
  return find_scidac_field(source, lime_records(source), scidac_content::spinor).lattice;
}

spinor_configuration read_lime_spinor(const byte_source& source, const lattice_geometry& geometry,
                                      const communicator& comm) {
  std::vector<spinor_configuration> spinors;
  site_checksum checksum(checksum_kind::scidac);
  scidac_field field;
  on_all_ranks_or_none(comm, [&] {
    field = find_scidac_field(source, lime_records(source), scidac_content::spinor);
    spinors.emplace_back(geometry);
    read_own_sites(source, field, scidac_content::spinor, geometry, checksum,
                   [&](std::int64_t site, std::span<const std::byte> data) {
                     spinors.front().at_site(site) = decode_spinor(data, field.precision_bits);
                   });
  });
  require_sound(source, std::span(&field, 1), std::span(&checksum, 1), spinors, comm);
  exchange_ghosts(spinors.front(), comm);
  return std::move(spinors.front());
}

spinor_configuration read_lime_spinor(const std::string& path, const lattice_geometry& geometry,
                                      const communicator& comm) {
  return read_lime_spinor(*opened(path, comm), geometry, comm);
}

namespace {

/// Calls visit(number, column, sink spin, sink colour) for the 288 reals of a site in the order of QDP++: [sink
/// spin][source spin][sink colour][source colour].
template <class Visit>
void for_each_qdp_number(Visit&& visit) {
  std::size_t at = 0;
  for (int a = 0; a < spins; ++a)
    for (int d = 0; d < spins; ++d)
      for (int c = 0; c < colours; ++c)
        for (int e = 0; e < colours; ++e, at += 2) visit(at, static_cast<std::size_t>(colours * d + e), a, c);
}

/// Removes the sources of a file that holds pairs of source and solution. Records name them, or they alternate.
void keep_solutions(scidac_fields& columns, const std::string& file) {
  auto& fields = columns.fields;
  const auto have = [&](field_role role) {
    return std::ranges::any_of(fields, [&](const scidac_field& field) { return field.role == role; });
  };
  if (have(field_role::source)) {
    std::erase_if(fields, [](const scidac_field& field) { return field.role == field_role::source; });
  } else if (columns.are_pairs && have(field_role::solution)) {
    std::erase_if(fields, [](const scidac_field& field) { return field.role != field_role::solution; });
  } else if (columns.are_pairs) {
    if (fields.size() % 2 != 0)
      throw input_error(file + ": expected pairs of source and solution in the LIME file, found " +
                        std::to_string(fields.size()) + " spinor fields");
    for (std::size_t n = 0; 2 * n < fields.size(); ++n) fields[n] = fields[2 * n + 1];
    fields.resize(fields.size() / 2);
  }
}

/// Puts columns in the order 3 * spin + colour of their sources, if the records name these.
void sort_columns(std::vector<scidac_field>& columns, const std::string& file) {
  const auto named =
      std::ranges::count_if(columns, [](const scidac_field& column) { return column.spin_colour.has_value(); });
  if (named == 0) return;
  if (named != std::ssize(columns))
    throw input_error(file + ": expected spin and color in the records of all 12 columns, found them in " +
                      std::to_string(named));
  std::ranges::sort(columns, {}, [](const scidac_field& column) { return *column.spin_colour; });
  for (int spin = 0; spin < spins; ++spin)
    for (int colour = 0; colour < colours; ++colour)
      if (const auto count =
              std::ranges::count(columns, std::optional(std::pair(spin, colour)), &scidac_field::spin_colour);
          count != 1)
        throw input_error(file + ": expected one column of spin " + std::to_string(spin) + " and color " +
                          std::to_string(colour) + ", found " + std::to_string(count));
}

struct propagator_fields {
  scidac_content content{};          ///< propagator: one field; spinor: twelve columns
  std::vector<scidac_field> fields;  ///< empty if the file holds no propagator
  std::string refusal;               ///< says then what it holds
  bool has_fermions = false;         ///< there is a propagator or a spinor field
};

/// Returns the one propagator of a file, or its twelve spinor fields.
propagator_fields fields_of_propagator(const byte_source& source, std::vector<std::string>* remarks = nullptr) {
  const auto records = lime_records(source, remarks);
  auto whole = find_scidac_fields(source, records, scidac_content::propagator);
  if (whole.fields.size() == 1) return {scidac_content::propagator, std::move(whole.fields), {}, true};
  auto columns = find_scidac_fields(source, records, scidac_content::spinor);
  const std::size_t all = columns.fields.size();
  keep_solutions(columns, source.name());
  if (whole.fields.empty() && columns.fields.size() == spin_colours) {
    sort_columns(columns.fields, source.name());
    const auto is_etmc = std::ranges::count_if(columns.fields, &scidac_field::is_etmc);
    if (is_etmc != 0 && is_etmc != spin_colours)
      throw input_error(source.name() + ": expected 12 columns of one program, found " + std::to_string(is_etmc) +
                        " in tmLQCD's format and " + std::to_string(spin_colours - is_etmc) + " in SciDAC's");
    return {scidac_content::spinor, std::move(columns.fields), {}, true};
  }
  const std::size_t sources = all - columns.fields.size();
  std::string why = sources > 0 ? std::to_string(sources) + " others are sources" : std::string();
  if (whole.fields.empty() && columns.fields.empty() && sources == 0) why = columns.reason;
  return {{},
          {},
          source.name() + ": expected one propagator or 12 spinor fields in the LIME file, found " +
              std::to_string(whole.fields.size()) + " and " + std::to_string(columns.fields.size()) +
              (why.empty() ? "" : " (" + why + ")"),
          !whole.fields.empty() || all > 0};
}

std::string records_before(const extents& lattice, const propagator_write_options& options, int column) {
  const std::string bits = std::to_string(options.precision_bits);
  if (options.style == propagator_style::etmc) {
    std::string text = column > 0 ? "" : lime_text_record("propagator-type", "DiracFermion_Sink", true, true);
    if (column == 0 && !options.information.empty())
      text += lime_text_record("inverter-info", options.information, true, true);
    return text +
           lime_text_record(
               "etmc-propagator-format",
               xml_begin +
                   xml_tag("etmcFormat",
                           xml_tag("field", "diracFermion") + xml_tag("precision", bits) + xml_tag("flavours", "1") +
                               xml_tag("lx", std::to_string(lattice[0])) + xml_tag("ly", std::to_string(lattice[1])) +
                               xml_tag("lz", std::to_string(lattice[2])) + xml_tag("lt", std::to_string(lattice[3]))),
               true, false);
  }
  std::string dims;
  for (const int length : lattice) dims += std::to_string(length) + " ";
  const int site_bytes = reals_of(scidac_content::propagator) * options.precision_bits / 8;
  return scidac_file_records(dims, "propagator") +
         lime_text_record(
             "scidac-private-record-xml",
             xml_begin +
                 xml_tag("scidacRecord",
                         xml_tag("version", "1.1") + xml_tag("recordtype", "0") + xml_tag("datatype", "Lattice") +
                             xml_tag("precision", options.precision_bits == 32 ? "F" : "D") + xml_tag("colors", "3") +
                             xml_tag("spins", "4") + xml_tag("typesize", std::to_string(site_bytes)) +
                             xml_tag("datacount", "1")),
             true, false) +
         lime_text_record("scidac-record-xml",
                          xml_begin + xml_tag("Propagator", xml_tag("info", escaped_xml(options.information))), false,
                          false);
}

}  // namespace

std::optional<extents> lime_propagator_lattice(const byte_source& source) {
  const propagator_fields found = fields_of_propagator(source);
  if (!found.fields.empty()) return found.fields.front().lattice;
  if (found.has_fermions && find_scidac_fields(source, lime_records(source), scidac_content::gauge).fields.empty())
    throw input_error(found.refusal);
  return std::nullopt;
}

propagator_site rotated_site(const propagator_site& columns, const spin_matrix& rotation) {
  propagator_site rotated{};
  for (int d = 0; d < spins; ++d)
    for (int e = 0; e < colours; ++e) {
      const spinor<double> sink = rotation * columns[static_cast<std::size_t>(colours * d + e)];
      for (int f = 0; f < spins; ++f)  // S'(f) = sum_d (R S)(d) conj R(f, d)
        rotated[static_cast<std::size_t>(colours * f + e)] += conj(rotation(f, d)) * sink;
    }
  return rotated;
}

void rotate_basis(std::span<spinor_configuration> columns, const spin_matrix& rotation) {
  if (rotation == spin_matrix::identity()) return;
  const lattice_geometry& geometry = columns.front().geometry();
#pragma omp parallel for
  for (std::int64_t site = 0; site < geometry.local_volume(); ++site) {
    const coordinate x = geometry.local_coordinate(site);
    propagator_site at_site{};
    for (std::size_t n = 0; n < at_site.size(); ++n) at_site[n] = columns[n](x);
    at_site = rotated_site(at_site, rotation);
    for (std::size_t n = 0; n < at_site.size(); ++n) columns[n](x) = at_site[n];
  }
}

void write_lime_propagator(const std::string& path, std::span<const spinor_configuration> columns,
                           const propagator_write_options& options, const communicator& comm) {
  if (columns.size() != spin_colours)
    throw input_error(path + ": expected the 12 columns of a propagator, found " + std::to_string(columns.size()));
  if (options.precision_bits != 32 && options.precision_bits != 64)
    throw input_error(path + ": expected a precision of 32 or 64 bits, found " +
                      std::to_string(options.precision_bits));
  const lattice_geometry& geometry = columns.front().geometry();
  const bool is_whole = options.style == propagator_style::scidac;
  const spin_matrix rotation = basis_rotation(options.basis.value_or(basis_of(options.style)));
  std::vector<spinor_configuration> rotated;  // a copy where there is something to rotate
  if (rotation != spin_matrix::identity()) {
    rotated.assign(columns.begin(), columns.end());
    rotate_basis(rotated, rotation);
    columns = rotated;
  }
  const int bytes = options.precision_bits / 8;
  const auto store = [&](std::span<std::byte> data, std::size_t at, const complex<double>& z) {
    store_real_of(data.data() + at * bytes, z.re, options.precision_bits, true);
    store_real_of(data.data() + (at + 1) * bytes, z.im, options.precision_bits, true);
  };
  const auto per_site =
      static_cast<std::uint64_t>(reals_of(is_whole ? scidac_content::propagator : scidac_content::spinor) * bytes);
  const std::uint64_t data_bytes = per_site * static_cast<std::uint64_t>(geometry.global_volume());
  std::vector<site_array> arrays;
  for (int n = 0; n < (is_whole ? 1 : spin_colours); ++n) {
    const bool is_last = is_whole || n == spin_colours - 1;
    arrays.push_back({per_site, checksum_kind::scidac,
                      [&, n](std::int64_t site, std::span<std::byte> data) {
                        if (is_whole)
                          return for_each_qdp_number([&](std::size_t at, std::size_t column, int a, int c) {
                            store(data, at, columns[column].at_site(site)(a, c));
                          });
                        const spinor<double>& s = columns[static_cast<std::size_t>(n)].at_site(site);
                        for (int a = 0; a < spins; ++a)
                          for (int c = 0; c < colours; ++c)
                            store(data, static_cast<std::size_t>(2 * (colours * a + c)), s(a, c));
                      },
                      [&, n, is_last](const site_checksum& checksum) {
                        std::string after =
                            std::string(lime_padding(data_bytes), '\0') + scidac_checksum_record(checksum);
                        if (is_last && !options.last_record.first.empty())
                          after += lime_text_record(options.last_record.first, options.last_record.second, true, true);
                        return surroundings{records_before(geometry.global(), options, n) +
                                                lime_header("scidac-binary-data", data_bytes, false, false),
                                            std::move(after)};
                      }});
  }
  write_site_arrays(path, options.existing, geometry, arrays, comm);
}

std::vector<spinor_configuration> read_lime_propagator(const byte_source& source, const lattice_geometry& geometry,
                                                       const communicator& comm,
                                                       const std::optional<gamma_basis>& basis,
                                                       std::vector<std::string>* remarks) {
  std::vector<spinor_configuration> columns;
  std::vector<scidac_field> fields;
  std::vector<site_checksum> checksums;
  on_all_ranks_or_none(comm, [&] {
    propagator_fields found = fields_of_propagator(source, remarks);
    if (found.fields.empty()) throw input_error(found.refusal);
    const scidac_content content = found.content;
    fields = std::move(found.fields);
    if (const auto bare = std::ranges::count(fields, std::string(), &scidac_field::checksum); bare > 0 && remarks)
      remarks->push_back(std::to_string(bare) + " of " + std::to_string(fields.size()) +
                         " fields have no checksum: a wrong number would not be seen");
    columns.resize(spin_colours, spinor_configuration(geometry));
    for (std::size_t n = 0; n < fields.size(); ++n) {
      const int bits = fields[n].precision_bits;
      checksums.emplace_back(checksum_kind::scidac);
      read_own_sites(source, fields[n], content, geometry, checksums.back(),
                     [&](std::int64_t site, std::span<const std::byte> data) {
                       if (content == scidac_content::spinor) {
                         columns[n].at_site(site) = decode_spinor(data, bits);
                         return;
                       }
                       const auto number = [&](std::size_t at) {
                         return load_real_of(data.data() + at * static_cast<std::size_t>(bits / 8), bits, true);
                       };
                       for_each_qdp_number([&](std::size_t at, std::size_t column, int a, int c) {
                         columns[column].at_site(site)(a, c) = {number(at), number(at + 1)};
                       });
                     });
    }
  });
  require_sound(source, fields, checksums, columns, comm);
  const auto style = fields.front().is_etmc ? propagator_style::etmc : propagator_style::scidac;
  rotate_basis(columns, adjoint(basis_rotation(basis.value_or(basis_of(style)))));
  for (spinor_configuration& column : columns) exchange_ghosts(column, comm);
  return columns;
}

std::vector<spinor_configuration> read_lime_propagator(const std::string& path, const lattice_geometry& geometry,
                                                       const communicator& comm,
                                                       const std::optional<gamma_basis>& basis,
                                                       std::vector<std::string>* remarks) {
  return read_lime_propagator(*opened(path, comm), geometry, comm, basis, remarks);
}

}  // namespace plaquette
