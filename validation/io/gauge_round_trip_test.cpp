// SPDX-License-Identifier: BSD-3-Clause
// Files that were written are read back; files of other programs, as made_files.hpp makes them, are read as they were
// meant.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/algebra/gamma.hpp"
#include "common/algebra/largest.hpp"
#include "common/error.hpp"
#include "common/io/checksum.hpp"
#include "common/io/gauge_file.hpp"
#include "common/io/lime.hpp"
#include "common/io/spinor_file.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "validation/io/made_files.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette {
namespace {

using validation::random_links;

const communicator alone;
const std::vector<extents> lattices{{2, 2, 2, 2}, {4, 4, 4, 4}, {4, 6, 2, 8}, {2, 8, 4, 6}};

loaded_gauge read(const made::bytes& b, const extents& lattice) {
  return read_gauge(memory_source("made", made::view(b)), lattice_geometry(lattice), alone);
}

/// The rows of each link rounded to float, all three or the third computed from the other two.
gauge_configuration rounded_to_float(gauge_configuration u, bool two_row) {
  for (std::int64_t s = 0; s < u.geometry().local_volume(); ++s)
    for (auto& link : u.at_site(s)) {
      for (auto& row : link.e)
        for (auto& z : row) z = {made::to_float(z.re), made::to_float(z.im)};
      if (two_row) complete_third_row(link);
    }
  return u;
}

bool ghosts_hold_neighbours(const gauge_configuration& u) {
  const extents& l = u.geometry().global();
  coordinate x;
  for (x[3] = -1; x[3] <= l[3]; ++x[3])
    for (x[2] = -1; x[2] <= l[2]; ++x[2])
      for (x[1] = -1; x[1] <= l[1]; ++x[1])
        for (x[0] = -1; x[0] <= l[0]; ++x[0])
          if (!(u(x) == u(u.geometry().to_global(x)))) return false;
  return true;
}

TEST(Crc32, HasThePublishedCheckValue) {
  EXPECT_EQ(crc32(made::view("123456789")), 0xcbf43926u);
  EXPECT_EQ(crc32({}), 0u);
  for (std::size_t n = 0; n < 20; ++n) {
    const made::bytes b(n, '\x5a');
    EXPECT_EQ(crc32(made::view(b)), made::crc(b)) << n;
  }
}

TEST(GaugeWriter, NerscInDoubleIsReadBackBitForBit) {
  made::folder folder;
  for (const extents& lattice : lattices)
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const auto u = random_links(lattice, seed);
      const std::string path = folder.file("u");
      write_nersc(path, u, alone, {.existing = existing_file::replace, .plaquette = 0.25});
      const auto [links, header] = read_gauge(path, lattice_geometry(lattice), alone);
      EXPECT_TRUE(made::same_links(links, u)) << to_string(lattice);
      EXPECT_TRUE(ghosts_hold_neighbours(links));
      EXPECT_EQ(header.format, gauge_format::nersc);
      EXPECT_EQ(header.lattice, lattice);
      EXPECT_EQ(header.precision_bits, 64);
      EXPECT_FALSE(header.two_row);
      EXPECT_EQ(header.plaquette, 0.25);
      EXPECT_EQ(header.checksum_claimed, header.checksum_found);
      EXPECT_NEAR(header.link_trace, cpu::link_trace(u, alone), 1e-12);  // twelve digits are printed
    }
}

TEST(GaugeWriter, IldgInDoubleIsReadBackBitForBit) {
  made::folder folder;
  for (const extents& lattice : lattices)
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const auto u = random_links(lattice, seed);
      const std::string path = folder.file("u");
      write_ildg(path, u, alone, {.existing = existing_file::replace, .plaquette = 0.25});
      const auto [links, header] = read_gauge(path, lattice_geometry(lattice), alone);
      EXPECT_TRUE(made::same_links(links, u)) << to_string(lattice);
      EXPECT_EQ(header.format, gauge_format::ildg);
      EXPECT_EQ(header.lattice, lattice);
      EXPECT_EQ(header.precision_bits, 64);
      EXPECT_EQ(header.plaquette, 0.25);
      EXPECT_FALSE(header.checksum_claimed.empty());
      EXPECT_EQ(header.checksum_claimed, header.checksum_found);
      EXPECT_NEAR(header.link_trace, cpu::link_trace(u, alone), 1e-12);
    }
}

TEST(GaugeWriter, SinglePrecisionIsReadBackAsTheRoundedLinks) {
  made::folder folder;
  const extents lattice{4, 6, 2, 8};
  const auto u = random_links(lattice, 7);
  const auto rounded = rounded_to_float(u, false);
  write_nersc(folder.file("nersc"), u, alone, {.precision_bits = 32});
  write_ildg(folder.file("ildg"), u, alone, {.precision_bits = 32});
  for (const char* name : {"nersc", "ildg"}) {
    const auto [links, header] = read_gauge(folder.file(name), lattice_geometry(lattice), alone);
    EXPECT_TRUE(made::same_links(links, rounded)) << name;
    EXPECT_EQ(header.precision_bits, 32);
  }
}

// A third row from two exact ones. Each of its entries is a difference of two products of numbers of at most 1, with
// three roundings each in real and imaginary part. The departure of the original from SU(3), of the same size, is
// added.
TEST(GaugeWriter, TwoRowsInDoubleGiveTheLinksToRounding) {
  made::folder folder;
  const extents lattice{4, 6, 2, 8};
  const auto u = random_links(lattice, 8);
  write_nersc(folder.file("u"), u, alone, {.two_row = true});
  const auto [links, header] = read_gauge(folder.file("u"), lattice_geometry(lattice), alone);
  EXPECT_TRUE(header.two_row);
  EXPECT_LE(made::largest_difference(links, u), 16 * 0x1p-53);
}

TEST(GaugeWriter, TwoRowsInSingleAreReadBackAsTheRoundedRows) {
  made::folder folder;
  const extents lattice{2, 8, 4, 6};
  const auto u = random_links(lattice, 9);
  write_nersc(folder.file("u"), u, alone, {.precision_bits = 32, .two_row = true});
  const auto [links, header] = read_gauge(folder.file("u"), lattice_geometry(lattice), alone);
  EXPECT_TRUE(made::same_links(links, rounded_to_float(u, true)));
}

TEST(GaugeWriter, WritesTheBytesThatTheFormatsMean) {
  made::folder folder;
  const auto u = random_links({4, 6, 2, 8}, 10);
  for (const int bits : {32, 64}) {
    const auto path = folder.file("ildg" + std::to_string(bits));
    write_ildg(path, u, alone, {.precision_bits = bits, .logical_file_name = "lfn://here"});
    const auto whole = made::contents(path), data = made::all_links(u, bits, true);
    std::vector<std::string> types;
    for (const auto& record : lime_records(memory_source("made", made::view(whole)))) {
      types.push_back(record.type);
      if (record.type == "ildg-binary-data") {
        EXPECT_TRUE(whole.substr(record.offset, record.size) == data);
      }
    }
    EXPECT_EQ(types, (std::vector<std::string>{"scidac-private-file-xml", "scidac-file-xml",
                                               "scidac-private-record-xml", "scidac-record-xml", "ildg-format",
                                               "ildg-data-lfn", "ildg-binary-data", "scidac-checksum"}));
    for (const bool two_row : {false, true}) {
      const auto nersc_path = folder.file("nersc");
      write_nersc(nersc_path, u, alone,
                  {.precision_bits = bits, .two_row = two_row, .existing = existing_file::replace});
      const auto expected = made::all_links(u, bits, true, two_row ? 2 : 3);
      EXPECT_TRUE(made::contents(nersc_path).ends_with("END_HEADER\n" + expected));
    }
  }
}

TEST(GaugeWriter, TextsOfTheCallerStandInTheHeaders) {
  made::folder folder;
  const auto u = random_links({2, 2, 2, 2}, 11);
  gauge_write_options options;
  options.ensemble_id = "beta 6.0";
  options.ensemble_label = "a < b & c";
  options.sequence_number = "42";
  options.date = "Sat Nov 21 00:00:00 2026";
  options.information = "</info><dims>9 9 9 9</dims>";
  write_nersc(folder.file("nersc"), u, alone, options);
  const auto nersc = read_gauge_header(folder.file("nersc"));
  EXPECT_EQ(nersc.text.at("ENSEMBLE_ID"), "beta 6.0");
  EXPECT_EQ(nersc.text.at("ENSEMBLE_LABEL"), "a < b & c");
  EXPECT_EQ(nersc.text.at("SEQUENCE_NUMBER"), "42");
  EXPECT_EQ(nersc.text.at("CREATION_DATE"), options.date);
  EXPECT_TRUE(std::isnan(nersc.plaquette));
  write_ildg(folder.file("ildg"), u, alone, options);
  EXPECT_NE(read_gauge_header(folder.file("ildg")).text.at("scidac-file-xml").find("a &lt; b &amp; c"),
            std::string::npos);
}

TEST(GaugeWriter, RefusesWhatCouldNotBeReadBack) {
  made::folder folder;
  auto u = random_links({4, 4, 4, 4}, 12);
  const auto good = u;
  EXPECT_THROW(write_nersc(folder.file("a"), u, alone, {.precision_bits = 16}), input_error);
  EXPECT_THROW(write_nersc(folder.file("a"), u, alone, {.ensemble_id = "two\nlines"}), input_error);
  EXPECT_THROW(write_ildg(folder.file("a"), u, alone, {.two_row = true}), input_error);
  u({1, 2, 3, 0})[2](1, 1).re += 1e-3;
  for (const auto& write : {write_nersc, write_ildg}) try {
      write(folder.file("a"), u, alone, {});
      FAIL() << "wrote a link that is not in SU(3)";
    } catch (const input_error& e) {
      EXPECT_NE(std::string(e.what()).find("(1, 2, 3, 0), direction z"), std::string::npos) << e.what();
    }
  EXPECT_TRUE(folder.names().empty());
  made::put(folder.file("a"), "old");
  for (const auto& write : {write_nersc, write_ildg})
    EXPECT_THROW(write(folder.file("a"), good, alone, {}), output_error);
  EXPECT_EQ(made::contents(folder.file("a")), "old");
  for (const auto& write : {write_nersc, write_ildg})
    EXPECT_THROW(write(folder.file("absent/a"), good, alone, {}), output_error);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"a"});
}

TEST(GaugeReader, ReadsEveryFormOfNersc) {
  for (const extents& lattice : lattices) {
    const auto u = random_links(lattice, 21);
    for (const int bits : {32, 64})
      for (const bool two_row : {false, true})
        for (const bool big_endian : {false, true})
          for (const bool named : {true, false}) {
            const std::string type = named ? "" : "IEEE" + std::to_string(bits);
            const auto [links, header] = read(made::nersc(u, {bits, big_endian, two_row, type}), lattice);
            EXPECT_EQ(header.big_endian, big_endian);
            EXPECT_EQ(header.two_row, two_row);
            EXPECT_EQ(header.precision_bits, bits);
            if (bits == 32) {
              EXPECT_TRUE(made::same_links(links, rounded_to_float(u, two_row)));
            } else if (two_row) {
              EXPECT_LE(made::largest_difference(links, u), 16 * 0x1p-53);
            } else {
              EXPECT_TRUE(made::same_links(links, u));
            }
          }
  }
}

TEST(GaugeReader, ReadsMilcInBothByteOrders) {
  for (const extents& lattice : lattices)
    for (const bool big_endian : {false, true}) {
      const auto u = random_links(lattice, 22);
      const auto [links, header] = read(made::milc(u, big_endian), lattice);
      EXPECT_EQ(header.format, gauge_format::milc_v5);
      EXPECT_EQ(header.big_endian, big_endian);
      EXPECT_EQ(header.checksum_found, header.checksum_claimed);
      EXPECT_TRUE(made::same_links(links, rounded_to_float(u, false)));
    }
}

TEST(GaugeReader, ReadsIldgWithAndWithoutSciDacRecords) {
  for (const extents& lattice : lattices)
    for (const int bits : {32, 64}) {
      const auto u = random_links(lattice, 23);
      const auto expected = bits == 32 ? rounded_to_float(u, false) : u;
      const auto scidac = read(made::scidac(u, bits), lattice);
      EXPECT_EQ(scidac.header.format, gauge_format::scidac);
      EXPECT_TRUE(made::same_links(scidac.links, expected));
      const auto ildg = read(made::ildg(u, bits, "plaquette = 6.350e-01\nbeta = 6.0"), lattice);
      EXPECT_EQ(ildg.header.format, gauge_format::ildg);
      EXPECT_TRUE(made::same_links(ildg.links, expected));
      EXPECT_EQ(ildg.header.plaquette, 0.635);
      EXPECT_NEAR(ildg.header.plaquette_tolerance, 1e-4, 2e-5);
    }
}

TEST(GaugeReader, TellsOpenQcdFromDDalphaAmgByWhereThePlaquettesClose) {
  for (const extents& lattice : {extents{4, 4, 4, 4}, extents{4, 6, 2, 8}, extents{2, 8, 4, 6}, extents{8, 6, 4, 8}}) {
    for (const bool weak : {false, true}) {
      const auto u = weak ? validation::weak_links(lattice, 0.1, 24) : random_links(lattice, 24);
      const double plaquette = cpu::average_plaquette(u, alone);
      const auto openqcd = read(made::openqcd(u, plaquette), lattice);
      EXPECT_EQ(openqcd.header.format, gauge_format::openqcd) << to_string(lattice);
      EXPECT_TRUE(made::same_links(openqcd.links, u));
      EXPECT_FALSE(openqcd.header.open_boundary);
      for (const bool big_endian : {false, true}) {
        const auto ddalphaamg = read(made::ddalphaamg(u, plaquette, big_endian), lattice);
        EXPECT_EQ(ddalphaamg.header.format, gauge_format::ddalphaamg) << to_string(lattice);
        EXPECT_TRUE(made::same_links(ddalphaamg.links, u));
        EXPECT_TRUE(std::abs(ddalphaamg.header.plaquette - plaquette) <= ddalphaamg.header.plaquette_tolerance);
      }
    }
    // Unit links close in both orders: the requested lattice decides.
    const auto unit = validation::unit_links(lattice);
    EXPECT_TRUE(made::same_links(read(made::openqcd(unit, 1.0), lattice).links, unit));
    EXPECT_TRUE(made::same_links(read(made::ddalphaamg(unit, 1.0), lattice).links, unit));
  }
}

TEST(GaugeReader, ReportsTheOpenBoundaryOfOpenQcd) {
  const extents lattice{4, 6, 2, 8};
  auto u = random_links(lattice, 25);
  for (std::int64_t s = 0; s < u.geometry().local_volume(); ++s)
    if (u.geometry().local_coordinate(s)[3] == lattice[3] - 1) u.at_site(s)[3] = {};
  exchange_ghosts(u, alone);
  const auto [links, header] = read(made::openqcd(u, cpu::average_plaquette(u, alone)), lattice);
  EXPECT_TRUE(header.open_boundary);
  EXPECT_TRUE(made::same_links(links, u));
}

TEST(GaugeReader, DoublesConvertedFromFloatsAreHeldToTheFloatsPrecision) {
  const extents lattice{4, 4, 4, 4};
  const auto u = rounded_to_float(random_links(lattice, 26), false);
  const auto [links, header] = read(made::ildg(u, 64), lattice);
  EXPECT_TRUE(made::same_links(links, u));
  EXPECT_GT(header.distance_from_su3, 1e-8);
  EXPECT_LT(header.distance_from_su3, 1e-6);
}

TEST(GaugeReader, TakesTheOneGaugeFieldAmongOtherFields) {
  const extents lattice{2, 4, 2, 4};
  const auto u = random_links(lattice, 27);
  const auto other =
      made::lime_record("scidac-private-record-xml", made::private_record_xml("ColorVector", 32, 1), true, false) +
      made::lime_record("scidac-binary-data", "not links", false, false) +
      made::lime_record("scidac-checksum", "<suma>1</suma><sumb>2</sumb>", false, true);
  const auto file = made::scidac(u, 64);
  const std::size_t second_message =
      made::lime_record("scidac-private-file-xml", made::private_file_xml(lattice), true, false).size() +
      made::lime_record("scidac-file-xml", "<title>made</title>", false, true).size();
  made::bytes before = file;
  before.insert(second_message, other);
  EXPECT_TRUE(made::same_links(read(before, lattice).links, u));
  EXPECT_TRUE(made::same_links(read(file + other, lattice).links, u));
}

TEST(SpinorReader, ReadsTheNumbersAsTheyStand) {
  for (const extents& lattice : lattices) {
    const auto psi = validation::random_spinor(lattice, 31);
    for (const int bits : {32, 64}) {
      const auto file = made::etmc_spinor(psi, bits);
      const memory_source source("made", made::view(file));
      EXPECT_EQ(lime_spinor_lattice(source), lattice);
      const auto read_back = read_lime_spinor(source, lattice_geometry(lattice), alone);
      for (std::int64_t s = 0; s < psi.geometry().local_volume(); ++s)
        for (int spin = 0; spin < spins; ++spin)
          for (int colour = 0; colour < colours; ++colour) {
            const complex<double> z = psi.at_site(s)(spin, colour);
            const complex<double> expected =
                bits == 64 ? z : complex<double>{made::to_float(z.re), made::to_float(z.im)};
            ASSERT_EQ(read_back.at_site(s)(spin, colour), expected);
          }
    }
  }
}

std::vector<spinor_configuration> random_columns(const extents& lattice) {
  std::vector<spinor_configuration> columns;
  for (unsigned n = 0; n < spin_colours; ++n) columns.push_back(validation::random_spinor(lattice, 40 + n));
  return columns;
}

/// The data of the records of a type.
std::vector<std::string> data_of(const made::bytes& b, const std::string& type) {
  const memory_source source("made", made::view(b));
  std::vector<std::string> found;
  for (const lime_record& record : lime_records(source))
    if (record.type == type) found.push_back(source.read_text(record.offset, record.size));
  return found;
}

double largest_difference(const std::vector<spinor_configuration>& a, const std::vector<spinor_configuration>& b) {
  double worst = 0.0;
  for (std::size_t n = 0; n < spin_colours; ++n)
    for (std::int64_t s = 0; s < a[n].geometry().local_volume(); ++s)
      keep_largest(worst, norm2(a[n].at_site(s) - b.at(n).at_site(s)));
  return std::sqrt(worst);
}

TEST(PropagatorWriter, WritesTheNumbersInTheOrderOfTheStyle) {
  const made::folder folder;
  const extents lattice{4, 2, 6, 2};
  const auto columns = random_columns(lattice);
  for (const int bits : {32, 64}) {
    propagator_write_options options;
    options.precision_bits = bits;
    options.existing = existing_file::replace;
    options.information = "a < b";
    const double rounding = bits == 64 ? 0.0 : 24 * 4.0 * 0x1p-24;  // numbers of size 1 to 4

    // QDP++: [sink spin][source spin][sink colour][source colour].
    write_lime_propagator(folder.file("s"), columns, options, alone);
    made::bytes expected, file = made::contents(folder.file("s"));
    for (std::int64_t site = 0; site < volume(lattice); ++site)
      for (int a = 0; a < spins; ++a)
        for (std::size_t d = 0; d < spins; ++d)
          for (int c = 0; c < colours; ++c)
            for (std::size_t e = 0; e < colours; ++e) {
              const complex<double> z = columns[3 * d + e].at_site(site)(a, c);
              for (const double number : {z.re, z.im})
                expected += bits == 32 ? made::raw(static_cast<float>(number), true) : made::raw(number, true);
            }
    EXPECT_TRUE(data_of(file, "scidac-binary-data") == std::vector{expected});
    const auto sums = data_of(file, "scidac-checksum");
    ASSERT_EQ(sums.size(), 1u);
    const std::string wanted = made::scidac_checksum(expected, static_cast<std::size_t>(volume(lattice)));
    for (const char* tag : {"suma", "sumb"}) EXPECT_EQ(*xml_element(sums[0], tag), *xml_element(wanted, tag));
    EXPECT_EQ(xml_element(data_of(file, "scidac-private-record-xml").at(0), "datatype"), "Lattice");
    EXPECT_EQ(xml_element(data_of(file, "scidac-private-record-xml").at(0), "typesize"),
              std::to_string(288 * bits / 8));
    EXPECT_LE(largest_difference(read_lime_propagator(folder.file("s"), lattice_geometry(lattice), alone), columns),
              rounding);

    // tmLQCD: twelve fields, in its basis: S' = R S R^+.
    options.style = propagator_style::etmc;
    write_lime_propagator(folder.file("e"), columns, options, alone);
    file = made::contents(folder.file("e"));
    auto rotated = columns;
    rotate_basis(rotated, basis_rotation(gamma_basis::tmlqcd));
    const auto fields = data_of(file, "scidac-binary-data");
    ASSERT_EQ(fields.size(), 12u);
    made::bytes theirs;
    for (std::size_t n = 0; n < 12; ++n) {
      EXPECT_TRUE(fields[n] == made::all_spinors(rotated[n], bits)) << n;
      theirs += made::etmc_spinor(rotated[n], bits);  // as `cat` puts twelve files together
    }
    EXPECT_EQ(xml_element(data_of(file, "etmc-propagator-format").at(0), "lt"), "2");
    const auto read_back = read_lime_propagator(folder.file("e"), lattice_geometry(lattice), alone);
    // Rotations there and back: some 16 terms each.
    EXPECT_LE(largest_difference(read_back, columns), 2 * rounding + 64 * 0x1p-52);
    EXPECT_LE(largest_difference(
                  read_lime_propagator(memory_source("cat", made::view(theirs)), lattice_geometry(lattice), alone),
                  read_back),
              0.0);
    EXPECT_LE(largest_difference(
                  read_lime_propagator(folder.file("e"), lattice_geometry(lattice), alone, gamma_basis::degrand_rossi),
                  rotated),
              rounding);
  }
  EXPECT_THROW(write_lime_propagator(folder.file("s"), columns, {}, alone), output_error);  // it exists
}

TEST(PropagatorReader, RefusesWhatIsDamagedOrIncomplete) {
  const made::folder folder;
  const extents lattice{2, 2, 2, 4};
  const auto columns = random_columns(lattice);
  for (const auto style : {propagator_style::scidac, propagator_style::etmc}) {
    propagator_write_options options;
    options.style = style;
    options.existing = existing_file::replace;
    write_lime_propagator(folder.file("p"), columns, options, alone);
    const made::bytes file = made::contents(folder.file("p"));
    const auto read = [&](const made::bytes& b, const extents& on) {
      return read_lime_propagator(memory_source("made", made::view(b)), lattice_geometry(on), alone);
    };
    EXPECT_NO_THROW(read(file, lattice));
    EXPECT_THROW(read(file, {2, 2, 4, 2}), input_error);
    made::bytes flipped = file;
    flipped[file.size() - 2000] ^= 1;
    EXPECT_THROW(read(flipped, lattice), input_error);
    EXPECT_THROW(read(file + file, lattice), input_error);
    EXPECT_THROW(read(file.substr(0, file.size() - 320), lattice), input_error);
    auto infinite = columns;
    infinite[5].at_site(3)(1, 2).im = std::nan("");
    write_lime_propagator(folder.file("p"), infinite, options, alone);
    EXPECT_THROW(read_lime_propagator(folder.file("p"), lattice_geometry(lattice), alone), input_error);
  }
  EXPECT_THROW(read_lime_propagator(memory_source("links", made::view(made::scidac(random_links(lattice, 1), 64))),
                                    lattice_geometry(lattice), alone),
               input_error);
}

/// Reads a file of twelve columns in its own basis.
std::vector<spinor_configuration> propagator_in(const made::bytes& file, const extents& lattice) {
  return read_lime_propagator(memory_source("made", made::view(file)), lattice_geometry(lattice), alone,
                              gamma_basis::degrand_rossi);
}
/// The words with which a file is refused; empty if it is read.
std::string refusal_of(const made::bytes& file, const extents& lattice) {
  try {
    propagator_in(file, lattice);
  } catch (const input_error& e) {
    return e.what();
  }
  return {};
}

class PropagatorOfOthers : public testing::Test {
 protected:
  const extents lattice{2, 2, 2, 2};
  const std::vector<spinor_configuration> columns = random_columns(lattice);
  const spinor_configuration other = validation::random_spinor(lattice, 99);

  made::bytes etmc(int flavours) const {
    return made::lime_record("etmc-propagator-format", made::etmc_format(lattice, 64, flavours), true, true);
  }
  void expect_columns(const made::bytes& file) const {
    EXPECT_EQ(refusal_of(file, lattice), "");
    EXPECT_EQ(largest_difference(propagator_in(file, lattice), columns), 0.0);
    EXPECT_EQ(lime_propagator_lattice(memory_source("made", made::view(file))), lattice);
  }
  void expect_refused(const made::bytes& file, const std::string& words) const {
    EXPECT_NE(refusal_of(file, lattice).find(words), std::string::npos) << refusal_of(file, lattice);
    EXPECT_THROW(lime_propagator_lattice(memory_source("made", made::view(file))), input_error);
  }
};

TEST_F(PropagatorOfOthers, OfTwoFlavoursIsRefused) {
  made::bytes one_format, two_formats;
  for (std::size_t n = 0; n < 12; ++n) {
    const made::bytes both[] = {made::spinor_data(columns[n], 64), made::spinor_data(other, 64)};
    one_format += etmc(2) + both[0] + both[1];
    if (n < 6) two_formats += etmc(2) + both[0] + etmc(2) + both[1];
  }
  expect_refused(one_format, "expected one flavour");
  expect_refused(two_formats, "expected one flavour");
  const made::bytes pair = etmc(2) + made::spinor_data(columns[0], 64) + made::spinor_data(other, 64);
  EXPECT_THROW(read_lime_spinor(memory_source("made", made::view(pair)), lattice_geometry(lattice), alone),
               input_error);
}

TEST_F(PropagatorOfOthers, OneFormatRecordDescribesAllFieldsBehindIt) {
  made::bytes file = etmc(1);
  for (const auto& column : columns) file += made::spinor_data(column, 64);
  expect_columns(file);
  expect_refused(file + made::spinor_data(other, 64), "found 0 and 13");
}

TEST_F(PropagatorOfOthers, SourcesOfTmlqcdArePassedOver) {
  const auto source = made::lime_record("etmc-source-format", made::etmc_format(lattice, 64), true, true) +
                      made::spinor_data(other, 64);
  const auto type = made::lime_record("propagator-type", "DiracFermion_Source_Sink_Pairs", true, true);
  made::bytes described, alternating, six;
  for (std::size_t n = 0; n < 12; ++n) {
    const made::bytes solution = etmc(1) + made::spinor_data(columns[n], 64);
    described += type + source + solution;
    alternating += type + etmc(1) + made::spinor_data(other, 64) + solution;
    if (n == 5) six = alternating;
  }
  expect_columns(described);
  expect_columns(alternating);
  expect_refused(six, "found 0 and 6 (6 others are sources)");
}

TEST_F(PropagatorOfOthers, PairsOfUsqcdGiveTheirSolutions) {
  const auto begin = made::usqcd_file(lattice, "USQCD_DiracFermion_Source_Sink_Pairs");
  const std::string source = "<usqcdSourceInfo><version>1.0</version><info/></usqcdSourceInfo>";
  for (const bool sources_say_so : {true, false})
    for (const bool solutions_say_so : {true, false}) {
      made::bytes file = begin;
      for (std::size_t n = 0; n < 12; ++n) {
        const int number = static_cast<int>(n);
        file +=
            made::usqcd_spinor(other, 64, sources_say_so ? source : "<info/>") +
            made::usqcd_spinor(columns[n], 64, solutions_say_so ? made::usqcd_info(number / 3, number % 3) : "<info/>");
        if (n == 5) expect_refused(file, "found 0 and 6 (6 others are sources)");
      }
      expect_columns(file);
    }
  // Chroma writes a source on its time slice only.
  made::bytes record = made::private_record_xml("DiracFermion", 64, 1), of_chroma = begin;
  record.replace(record.find("<recordtype>0"), 13, "<recordtype>1");
  for (int n = 0; n < 12; ++n)
    of_chroma += made::lime_record("scidac-private-record-xml", record, true, false) +
                 made::lime_record("scidac-record-xml", source, false, false) +
                 made::lime_record("scidac-binary-data", "a slice", false, true) +
                 made::usqcd_spinor(columns[static_cast<std::size_t>(n)], 64, made::usqcd_info(n / 3, n % 3));
  expect_columns(of_chroma);
  made::bytes odd = begin;
  for (std::size_t n = 0; n < 11; ++n) odd += made::usqcd_spinor(columns[n], 64, "<info/>");
  expect_refused(odd, "expected pairs of source and solution");
}

TEST_F(PropagatorOfOthers, SpinAndColorOfTheRecordsGiveTheOrder) {
  const auto begin = made::usqcd_file(lattice, "USQCD_DiracFermion_ScalarSource_TwelveSink");
  for (const char* element : {"usqcdPropInfo", "usqcdInfo"}) {  // of QIO's manual, and of QIO 2.3.4
    made::bytes file = begin;
    for (int n = 0; n < 12; ++n) {  // spin fastest
      const int spin = n % 4, colour = n / 4;
      made::bytes user = made::usqcd_info(spin, colour);
      for (const std::string name = "usqcdPropInfo"; const std::size_t at : {user.rfind(name), user.find(name)})
        user.replace(at, name.size(), element);
      file += made::usqcd_spinor(columns[static_cast<std::size_t>(3 * spin + colour)], 64, user);
    }
    expect_columns(file);
  }
  const auto with = [&](int column, const std::string& user) {
    made::bytes file = begin;
    for (int n = 0; n < 12; ++n)
      file += made::usqcd_spinor(columns[static_cast<std::size_t>(n)], 64,
                                 n == column ? user : made::usqcd_info(n / 3, n % 3));
    return file;
  };
  expect_refused(with(5, made::usqcd_info(0, 1)), "expected one column of spin 0 and color 1, found 2");
  expect_refused(with(5, made::usqcd_info(4, 1)), "expected a spin from 0 to 3");
  expect_refused(with(5, made::usqcd_info(-1, 1)), "expected a spin from 0 to 3");
  expect_refused(with(5, "<usqcdPropInfo><spin>1</spin></usqcdPropInfo>"), "<color>");
  expect_refused(with(5, "<info/>"), "of all 12 columns, found them in 11");
}

TEST_F(PropagatorOfOthers, WithoutAChecksumIsReadWithARemark) {
  made::bytes file;
  for (const auto& column : columns) file += made::etmc_spinor(column, 64);
  std::vector<std::string> remarks;
  const auto read = [&] {
    remarks.clear();
    read_lime_propagator(memory_source("made", made::view(file)), lattice_geometry(lattice), alone, {}, &remarks);
  };
  read();
  EXPECT_EQ(remarks, std::vector<std::string>());
  file.replace(file.find("scidac-checksum"), 6, "absent");
  read();
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_NE(remarks.front().find("1 of 12 fields have no checksum"), std::string::npos) << remarks.front();
}

TEST_F(PropagatorOfOthers, WithoutColumnsSaysWhatTheFileHolds) {
  const auto links = made::scidac(random_links(lattice, 1), 64);
  EXPECT_NE(refusal_of(links, lattice).find("found 0 and 0 (a record holds links)"), std::string::npos);
  EXPECT_EQ(lime_propagator_lattice(memory_source("made", made::view(links))), std::nullopt);
  EXPECT_NE(refusal_of(made::spinor_data(other, 64), lattice).find("found 0 and 0 (no record describes the data"),
            std::string::npos);
  EXPECT_NE(refusal_of(made::lime_record("some-text", "0", true, true), lattice).find("it has no record of data"),
            std::string::npos);
  const auto source = made::lime_record("etmc-source-format", made::etmc_format(lattice, 64), true, true) +
                      made::spinor_data(other, 64);
  EXPECT_NE(refusal_of(source, lattice).find("describes a source"), std::string::npos);
  // One field of tmLQCD is no propagator, and no configuration.
  expect_refused(made::etmc_spinor(other, 64), "found 0 and 1");
}

}  // namespace
}  // namespace plaquette
