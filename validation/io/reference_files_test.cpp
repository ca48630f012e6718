// SPDX-License-Identifier: BSD-3-Clause
// Files written by other programs, next to the checkout: their plaquettes, checksums and link traces.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "common/io/gauge_file.hpp"
#include "common/io/spinor_file.hpp"
#include "cpu_ref/gauge/plaquette.hpp"

namespace plaquette {
namespace {

const std::string reference = PLAQUETTE_REFERENCE_DIR;
const communicator alone;

/// Which file, its format, and where reference.json has its average plaquette.
struct known_file {
  const char* path;
  gauge_format format;
  extents lattice;
  int precision_bits;
  const char* plaquette;  // a JSON pointer; empty if none is quoted
  double tolerance;       // half a unit of the last digit quoted there, and rounding
};

void PrintTo(const known_file& file, std::ostream* out) { *out << file.path; }

// Doubles are quoted to 12 digits after the point, or in full. MILC's l4448 and the single-precision l8888 sum floats.
const known_file files[] = {
    {"milc/lat.sample.l8888", gauge_format::milc_v5, {8, 8, 8, 8}, 32, "/plaquettes/lat.sample.l8888/0", 0.6e-8},
    {"milc/lat.sample.l4444", gauge_format::milc_v5, {4, 4, 4, 4}, 32, "", 0},
    {"milc/lat.sample.l4444.ildg", gauge_format::ildg, {4, 4, 4, 4}, 32, "", 0},
    {"milc/lat.sample.l4444.scidac", gauge_format::scidac, {4, 4, 4, 4}, 32, "", 0},
    {"milc/lat.sample.l4448", gauge_format::milc_v5, {4, 4, 4, 8}, 32, "", 0},
    {"milc/lat.sample.l4448.scidac", gauge_format::scidac, {4, 4, 4, 8}, 32, "", 0},
    {"tmlqcd/L4T8conf", gauge_format::ildg, {4, 4, 4, 8}, 64, "/tmlqcd_wilson_propagator/plaquette", 1e-14},
    {"chroma/weak_field.lime",
     gauge_format::ildg,
     {4, 4, 4, 8},
     64,
     "/chroma_clover_propagator/chroma_w_plaq",
     0.6e-13},
    {"ddalphaamg/8x8x8x8b6.0000id3n1",
     gauge_format::ddalphaamg,
     {8, 8, 8, 8},
     64,
     "/plaquettes/DDalphaAMG 8^4/0",
     0.6e-12},
    {"ddalphaamg/4x4x4x4b6.0000id3n1",
     gauge_format::ddalphaamg,
     {4, 4, 4, 4},
     64,
     "/plaquettes/DDalphaAMG 4^4/0",
     0.6e-12},
    {"misc/random-gauge.nersc", gauge_format::nersc, {4, 4, 4, 8}, 32, "/plaquettes/qlua random-gauge/0", 2.4e-7},
    {"misc/random-gauge.qio", gauge_format::ildg, {4, 4, 4, 8}, 64, "/plaquettes/qlua random-gauge/0", 0.6e-12},
    {"misc/t_nersc.cfg", gauge_format::nersc, {4, 4, 4, 4}, 32, "/plaquettes/qdpxx t_nersc.cfg/0", 0.6e-12},
    // The same links widened by another program, which rounded the third rows again: by less than four floats' u each.
    {"misc/t_dprec_ildg.lime", gauge_format::ildg, {4, 4, 4, 4}, 64, "/plaquettes/qdpxx t_nersc.cfg/0", 2.4e-7},
    {"openqcd/gauge.bc_0.bin", gauge_format::openqcd, {4, 4, 4, 4}, 64, "", 0}};

class ReferenceFile : public testing::TestWithParam<known_file> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(reference + "/reference.json"))
      GTEST_SKIP() << "the reference data are not in " << reference;
  }
  static loaded_gauge load(const std::string& path, const extents& lattice) {
    return read_gauge(reference + "/" + path, lattice_geometry(lattice), alone);
  }
  static nlohmann::json quoted() { return nlohmann::json::parse(std::ifstream(reference + "/reference.json")); }
};

TEST_P(ReferenceFile, HasThePlaquetteThatIsQuoted) {
  const known_file& known = GetParam();
  const auto [links, header] = load(known.path, known.lattice);
  EXPECT_EQ(header.format, known.format);
  EXPECT_EQ(header.lattice, known.lattice);
  EXPECT_EQ(header.precision_bits, known.precision_bits);
  EXPECT_EQ(header.checksum_found, header.checksum_claimed);
  const double plaquette = cpu::average_plaquette(links, alone);
  if (!std::isnan(header.plaquette)) {
    EXPECT_TRUE(std::abs(plaquette - header.plaquette) <= header.plaquette_tolerance)
        << plaquette << " and in the header " << header.plaquette << " +- " << header.plaquette_tolerance;
  }
  if (*known.plaquette) {
    const double expected = quoted().at(nlohmann::json::json_pointer(known.plaquette)).get<double>();
    EXPECT_TRUE(std::abs(plaquette - expected) <= known.tolerance) << plaquette << " and quoted " << expected;
  }
}

std::string name_of_test(const testing::TestParamInfo<known_file>& info) {
  std::string name = info.param.path;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(Files, ReferenceFile, testing::ValuesIn(files), name_of_test);

// The same configuration in three containers.
TEST_F(ReferenceFile, FormatsOfOneConfigurationGiveTheSameLinks) {
  const std::array<std::array<const char*, 2>, 3> pairs{{{"milc/lat.sample.l4444", "milc/lat.sample.l4444.ildg"},
                                                         {"milc/lat.sample.l4444", "milc/lat.sample.l4444.scidac"},
                                                         {"milc/lat.sample.l4448", "milc/lat.sample.l4448.scidac"}}};
  for (const auto& [a, b] : pairs) {
    const extents lattice = read_gauge_header(reference + "/" + a).lattice;
    const auto first = load(a, lattice), second = load(b, lattice);
    for (std::int64_t s = 0; s < volume(lattice); ++s) ASSERT_EQ(first.links.at_site(s), second.links.at_site(s)) << b;
  }
}

TEST_F(ReferenceFile, MilcPlanesAverageToTheFiguresOfItsOwnMeasurement) {
  const auto cases = quoted().at("milc_correlators").at("cases");
  for (const char* name : {"w4448", "w8888"}) {
    const auto entry = cases.at(name);
    const auto file = load("milc/" + entry.at("file").get<std::string>(), entry.at("extent").get<extents>());
    const auto planes = cpu::measure_plaquettes(file.links, alone);
    const auto expected = entry.at("plaquette_ss_st_times_3").get<std::array<double, 2>>();
    // MILC's measurement read the single-precision links as they are and summed doubles: 3072 terms of rounding 2^-53.
    EXPECT_NEAR(3 * planes.spatial, expected[0], 1e-12) << name;
    EXPECT_NEAR(3 * planes.temporal, expected[1], 1e-12) << name;
  }
}

TEST_F(ReferenceFile, OpenBoundariesOfOpenQcdAreReported) {
  EXPECT_TRUE(load("openqcd/gauge.bc_0.bin", {4, 4, 4, 4}).header.open_boundary);
}

TEST_F(ReferenceFile, LinkTracesAreThoseOfTheHeaders) {
  for (const char* path : {"misc/random-gauge.nersc", "misc/t_nersc.cfg"}) {
    const auto header = load(path, read_gauge_header(reference + "/" + path).lattice).header;
    EXPECT_FALSE(std::isnan(header.link_trace));
    EXPECT_NEAR(header.link_trace, header.link_trace_found, 1e-6);
  }
  EXPECT_NEAR(load("chroma/weak_field.lime", {4, 4, 4, 8}).header.link_trace_found,
              quoted().at("chroma_clover_propagator").at("chroma_link").get<double>(), 1e-14);
}

// Sum over the twelve columns and a time slice of |S|^2 is the pion correlator that its program's own contraction gave.
TEST_F(ReferenceFile, PropagatorColumnsHoldThePionCorrelator) {
  const lattice_geometry geometry({4, 4, 4, 8});
  std::array<double, 8> pion{}, of_all{};
  std::string files;  // one after the other: a propagator as tmLQCD keeps it in one file
  for (int column = 0; column < spins * colours; ++column) {
    std::string number = std::to_string(column);
    number.insert(0, 2 - number.size(), '0');
    const std::string path = reference + "/tmlqcd/source_1.0003.00.inverted." + number;
    const auto psi = read_lime_spinor(path, geometry, alone);
    const file_source source(path);
    files += source.read_text(0, source.size());
    for (std::int64_t s = 0; s < geometry.local_volume(); ++s)
      pion[static_cast<std::size_t>(geometry.local_coordinate(s)[3])] += norm2(psi.at_site(s));
  }
  const auto expected =
      quoted().at("tmlqcd_wilson_propagator").at("pion_sum|S|^2").at("0.150").get<std::array<double, 8>>();
  const memory_source together("twelve files", std::as_bytes(std::span(files)));
  for (const auto& column : read_lime_propagator(together, geometry, alone))
    for (std::int64_t s = 0; s < geometry.local_volume(); ++s)
      of_all[static_cast<std::size_t>(geometry.local_coordinate(s)[3])] += norm2(column.at_site(s));
  for (std::size_t t = 0; t < 8; ++t) {
    EXPECT_NEAR(pion[t] / expected[t], 1.0, 1e-6) << t;
    EXPECT_NEAR(of_all[t] / pion[t], 1.0, 1e-13) << t;
  }
}

}  // namespace
}  // namespace plaquette
