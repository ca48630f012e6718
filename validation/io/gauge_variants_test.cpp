// SPDX-License-Identifier: BSD-3-Clause
// Files that leave something out, or have it otherwise, and are valid all the same: each is read with a remark that
// names the assumption. Their makers in made_files.hpp say which programs write them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/io/gauge_file.hpp"
#include "common/io/lime.hpp"
#include "common/io/spinor_file.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "validation/io/made_files.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette {
namespace {

using made::bytes;
const communicator alone;
const extents lattice{4, 2, 6, 4};

loaded_gauge read(const bytes& b, const gauge_read_options& options = {}) {
  return read_gauge(memory_source("the-file", made::view(b)), lattice_geometry(lattice), alone, options);
}

std::string refusal(const bytes& b, const gauge_read_options& options = {}) {
  try {
    read(b, options);
    return {};
  } catch (const input_error& e) {
    return e.what();
  }
}

gauge_configuration floats(gauge_configuration u, bool two_row = false) {
  for (std::int64_t s = 0; s < u.geometry().local_volume(); ++s)
    for (auto& link : u.at_site(s)) {
      for (auto& row : link.e)
        for (auto& z : row) z = {made::to_float(z.re), made::to_float(z.im)};
      if (two_row) complete_third_row(link);
    }
  return u;
}

/// Whether one of the remarks has these words.
bool is_remarked(const gauge_file_header& header, const std::string& words) {
  for (const std::string& remark : header.remarks)
    if (remark.find(words) != std::string::npos) return true;
  return false;
}

TEST(UnusualGaugeFile, WholeOnesHaveNoRemark) {
  const auto u = validation::random_links(lattice, 1);
  for (const bytes& b : {made::nersc(u, {32, true, true}), made::milc(u, false), made::scidac(u, 64), made::ildg(u, 32),
                         made::openqcd(u, cpu::average_plaquette(u, alone))})
    EXPECT_TRUE(read(b).header.remarks.empty()) << read(b).header.remarks.front();
}

TEST(UnusualGaugeFile, NerscAsMilcWritesIt) {
  const auto u = validation::random_links(lattice, 2);
  for (const bool inside : {true, false})
    for (const bool big_endian : {true, false})
      for (const int bits : {32, 64}) {
        const auto [links, header] = read(made::nersc_of_milc(u, inside, big_endian, bits));
        EXPECT_EQ(header.precision_bits, bits);
        EXPECT_EQ(header.big_endian, big_endian);
        EXPECT_EQ(header.checksum_found, header.checksum_claimed);
        EXPECT_TRUE(is_remarked(header, "MILC_INFO"));
        EXPECT_TRUE(is_remarked(header, "no FLOATING_POINT: " + std::to_string(bits) + " bits"));
        if (bits == 32) {
          EXPECT_TRUE(made::same_links(links, floats(u, true)));
        }
      }
}

TEST(UnusualGaugeFile, NerscWithoutAPrecisionMustHaveASizeThatOneExplains) {
  const bytes good = made::nersc_of_milc(validation::random_links(lattice, 3), true);
  for (const std::string& message : {refusal(good + "x"), refusal(good.substr(0, good.size() - 4))}) {
    EXPECT_NE(message.find("FLOATING_POINT"), std::string::npos) << message;
    EXPECT_NE(message.find(std::to_string(good.size())), std::string::npos) << message;  // what 32 bits need
  }
  bytes open = made::nersc_of_milc(validation::random_links(lattice, 3), false);
  open.replace(open.find("--------END--------"), 19, "-------------------");
  EXPECT_NE(refusal(open).find("MILC_INFO"), std::string::npos) << refusal(open);
}

TEST(UnusualGaugeFile, MilcOfVersionsOneToFour) {
  const auto u = validation::random_links(lattice, 4);
  for (const bool big_endian : {true, false}) {
    const auto [links, header] = read(made::milc_v4(u, big_endian));
    EXPECT_EQ(header.format, gauge_format::milc_v4);
    EXPECT_EQ(header.big_endian, big_endian);
    EXPECT_TRUE(header.checksum_claimed.empty());
    EXPECT_TRUE(is_remarked(header, "no checksum"));
    EXPECT_TRUE(made::same_links(links, floats(u)));
  }
}

TEST(UnusualGaugeFile, LimeOfQuda) {
  const auto u = validation::random_links(lattice, 5);
  for (const int bits : {32, 64}) {
    const auto [links, header] = read(made::scidac_of_quda(u, bits));
    EXPECT_EQ(header.format, gauge_format::scidac);
    EXPECT_EQ(header.checksum_found, header.checksum_claimed);
    EXPECT_TRUE(made::same_links(links, bits == 32 ? floats(u) : u));
  }
}

TEST(UnusualGaugeFile, AnAntiperiodicBoundaryConditionIsTakenOutOfTheLinks) {
  const auto u = validation::random_links(lattice, 6);
  const auto folded = made::with_antiperiodic_links(u);
  const double plaquette = cpu::average_plaquette(u, alone);
  for (const bytes& b :
       {made::scidac_of_quda(folded, 64), made::ildg(folded, 64), made::nersc(folded, {64, false, false}),
        made::openqcd(folded, plaquette), made::ddalphaamg(folded, plaquette)}) {
    const auto [links, header] = read(b);
    EXPECT_TRUE(header.antiperiodic_links);
    EXPECT_TRUE(is_remarked(header, "antiperiodic")) << header.remarks.size();
    EXPECT_TRUE(made::same_links(links, u));
    EXPECT_EQ(cpu::average_plaquette(links, alone), plaquette);
    EXPECT_NEAR(header.link_trace_found, average_link_trace(u, alone), 1e-14);
  }
}

TEST(UnusualGaugeFile, ALinkTraceMayBeThatOfTheLinksWithTheirBoundaryCondition) {
  const auto folded = made::with_antiperiodic_links(validation::weak_links(lattice, 0.1, 7));
  for (const bool as_stored : {true, false}) {
    const double trace = as_stored ? average_link_trace(folded, alone)
                                   : average_link_trace(made::with_antiperiodic_links(folded), alone);
    const auto line = [&](double off) { return "LINK_TRACE = " + std::to_string(trace + off) + "\n"; };
    EXPECT_EQ(refusal(made::nersc(folded, {64, false, false, "", line(0.0)})), "");
    EXPECT_NE(refusal(made::nersc(folded, {64, false, false, "", line(1e-3)})), "");
  }
}

TEST(UnusualGaugeFile, ASignThatIsNoBoundaryConditionIsRefused) {
  const auto u = validation::random_links(lattice, 8);
  const auto folded = made::with_antiperiodic_links(u);
  auto partly = folded, elsewhere = u;
  partly({1, 0, 2, 3})[3] = u({1, 0, 2, 3})[3];
  for (std::int64_t s = 0; s < volume(lattice); ++s)
    if (u.geometry().local_coordinate(s)[3] == 0) elsewhere.at_site(s)[3] = -1.0 * u.at_site(s)[3];
  EXPECT_NE(refusal(made::ildg(partly, 64)).find("47 of the 48"), std::string::npos) << refusal(made::ildg(partly, 64));
  EXPECT_NE(refusal(made::ildg(elsewhere, 64)).find("SU(3)"), std::string::npos);
}

TEST(UnusualGaugeFile, LimeWithoutItsLastPaddingOrWithAStrayByte) {
  const auto u = validation::random_links(lattice, 9);
  bytes b = made::scidac(u, 64);
  const std::size_t text_end = b.rfind('>') + 1, padding = b.size() - text_end;
  ASSERT_GT(padding, 0u);  // the text of the checksum is no multiple of 8
  for (std::size_t lacking = 1; lacking <= padding; ++lacking) {
    const auto [links, header] = read(b.substr(0, b.size() - lacking));
    EXPECT_TRUE(is_remarked(header, "lacks " + std::to_string(lacking)));
    EXPECT_TRUE(made::same_links(links, u));
    EXPECT_EQ(header.checksum_found, header.checksum_claimed);
  }
  for (const bytes& stray : {bytes("\n"), bytes(7, '\0'), bytes("E"), bytes("Eg"), bytes(8, '\0'), bytes("\x45\x67")}) {
    // 'E' is the first byte of a record, which may have been cut off.
    const bool may_be_read = stray.size() < 8 && stray[0] != 'E';
    const std::string message = refusal(b + stray);
    EXPECT_EQ(message.empty(), may_be_read) << message;
    if (may_be_read) {
      EXPECT_TRUE(is_remarked(read(b + stray).header, "followed by " + std::to_string(stray.size())));
    }
  }
  // Less than its text is not padding.
  const std::string message = refusal(b.substr(0, text_end - 1));
  EXPECT_NE(message.find("truncated"), std::string::npos) << message;
}

TEST(UnusualGaugeFile, IldgBinaryDataAloneIsReadOnAKnownLattice) {
  const auto u = validation::random_links(lattice, 10);
  for (const int bits : {32, 64}) {
    const bytes b = made::ildg_without_format(u, bits);
    const memory_source source("the-file", made::view(b));
    EXPECT_EQ(read_gauge_header(source, lattice).precision_bits, bits);
    const auto [links, header] = read(b);
    EXPECT_EQ(header.format, gauge_format::ildg);
    EXPECT_TRUE(is_remarked(header, "4x2x6x4 of --lattice"));
    EXPECT_TRUE(made::same_links(links, bits == 32 ? floats(u) : u));
    try {
      read_gauge_header(source);
      FAIL() << "was read without a lattice";
    } catch (const input_error& e) {
      EXPECT_NE(std::string(e.what()).find("--lattice"), std::string::npos) << e.what();
    }
    EXPECT_THROW(read_gauge_header(source, extents{4, 2, 6, 6}), input_error);
  }
  const auto two = made::ildg_without_format(u, 64) + made::ildg_without_format(u, 64);
  EXPECT_NE(refusal(two).find("found 2"), std::string::npos) << refusal(two);
}

TEST(UnusualGaugeFile, IldgFormatWithoutFieldOrWithPrefixes) {
  const auto u = validation::random_links(lattice, 11);
  const bytes format = made::ildg_format(lattice, 64), data = made::all_links(u, 64, true);
  const auto file = [&](const bytes& xml) {
    return made::lime_record("ildg-format", xml, true, false) +
           made::lime_record("ildg-binary-data", data, false, true);
  };
  bytes without = format;
  const bytes field = "<field> su3gauge </field>";
  without.erase(without.find(field), field.size());
  EXPECT_TRUE(is_remarked(read(file(without)).header, "no <field>"));
  EXPECT_TRUE(made::same_links(read(file(without)).links, u));
  const auto prefixed = read(file(made::with_prefix(format, "ildg:")));
  EXPECT_TRUE(is_remarked(prefixed.header, "prefix"));
  EXPECT_TRUE(made::same_links(prefixed.links, u));
  bytes other = made::with_prefix(format, "ildg:");
  other.replace(other.find("su3gauge"), 8, "su2gauge");
  EXPECT_NE(refusal(file(other)).find("su2gauge"), std::string::npos);
}

TEST(UnusualGaugeFile, XmlElementsMayHaveAPrefix) {
  EXPECT_EQ(xml_element("<a:lx>4</a:lx>", "lx"), "4");
  EXPECT_EQ(xml_element("<lxx>5</lxx><b:lx n='1'> 6 </b:lx>", "lx"), "6");
  EXPECT_EQ(xml_element("<a:lx>4</b:lx>", "lx"), std::nullopt);
  EXPECT_EQ(xml_element("<lx:a>4</lx:a>", "lx"), std::nullopt);
  EXPECT_EQ(xml_element("<lx", "lx"), std::nullopt);
  EXPECT_EQ(xml_element("", "lx"), std::nullopt);
}

TEST(UnusualGaugeFile, SciDacOf2004) {
  const auto u = validation::random_links(lattice, 12);
  for (const int bits : {32, 64}) {
    const auto [links, header] = read(made::scidac_of_2004(u, bits));
    EXPECT_EQ(header.format, gauge_format::scidac);
    EXPECT_EQ(header.precision_bits, bits);
    EXPECT_TRUE(is_remarked(header, "no <volfmt>"));
    EXPECT_TRUE(is_remarked(header, "'Lattice'"));
    EXPECT_TRUE(made::same_links(links, bits == 32 ? floats(u) : u));
  }
  bytes other = made::scidac_of_2004(u, 64);
  other.replace(other.find("<typesize>144"), 13, "<typesize>145");
  EXPECT_NE(refusal(other).find("145"), std::string::npos) << refusal(other);
}

TEST(UnusualGaugeFile, APlaquetteAboveOneIsASum) {
  const auto u = validation::weak_links(lattice, 0.2, 13);
  const double plaquette = cpu::average_plaquette(u, alone), terms = 6.0 * static_cast<double>(volume(lattice));
  for (const double sum : {plaquette * terms, 3 * plaquette * terms}) {
    const auto header = read(made::ildg(u, 64, "plaquette = " + std::to_string(sum) + "\n")).header;
    EXPECT_TRUE(is_remarked(header, "a sum of"));
    EXPECT_TRUE(std::abs(header.plaquette - plaquette) <= header.plaquette_tolerance)
        << header.plaquette << " " << plaquette;
    EXPECT_LT(header.plaquette_tolerance, 1e-8);
  }
}

TEST(UnusualGaugeFile, ATightClaimNeedsARemarkWhereSinglePrecisionMadeIt) {
  const auto u = validation::random_links(lattice, 14);
  const double trace = average_link_trace(u, alone);
  const auto with = [&](double off) {
    char line[80];
    std::snprintf(line, sizeof line, "LINK_TRACE = %.15f\n", trace + off);
    return made::nersc(u, {64, true, false, "", line});
  };
  EXPECT_TRUE(read(with(0.0)).header.remarks.empty());
  EXPECT_LT(read(with(0.0)).header.link_trace_tolerance, 1e-14);
  EXPECT_TRUE(is_remarked(read(with(3e-7)).header, "single precision"));
  EXPECT_NE(refusal(with(3e-6)), "");
}

TEST(Reunitarisation, IsForLinksThatAreALittleOff) {
  const auto scaled = [&](double excess) {
    auto u = validation::random_links(lattice, 15);
    for (const coordinate& x : {coordinate{1, 1, 0, 1}, coordinate{3, 0, 5, 2}})
      for (int j = 0; j < colours; ++j) u(x)[2](0, j) = (1 + excess) * u(x)[2](0, j);
    return u;
  };
  const gauge_read_options allow{.reunitarisable = true};
  for (const double excess : {1e-12, 4e-7}) {
    const bytes b = made::ildg(scaled(excess), 64);
    EXPECT_NE(refusal(b).find("--reunitarise"), std::string::npos) << refusal(b);
    const auto [links, header] = read(b, allow);
    EXPECT_EQ(header.links_off_su3, 2);
    EXPECT_NEAR(header.distance_from_su3 / (2 * excess), 1.0, 0.01);
    EXPECT_TRUE(made::same_links(links, scaled(excess)));  // as they stand
  }
  EXPECT_EQ(read(made::ildg(scaled(0.0), 64), allow).header.links_off_su3, 0);
  // Links as updates leave them are read unchanged, and taken back by the caller.
  const gauge_read_options drifted{.drifted = true};
  for (const double excess : {1e-13, 1e-12, 4e-11}) {
    auto [links, header] = read(made::ildg(scaled(excess), 64), drifted);
    EXPECT_TRUE(made::same_links(links, scaled(excess)));
    EXPECT_EQ(header.links_off_su3, 2);
    EXPECT_NE(take_back_drift(links, header, alone).find("2 links were up to"), std::string::npos);
    EXPECT_TRUE(is_remarked(header, "2 links were up to"));
    EXPECT_LT(header.distance_from_su3, 1e-14);
    EXPECT_TRUE(made::largest_difference(links, scaled(0.0)) <= 1e-14);
  }
  auto [links, header] = read(made::ildg(scaled(0.0), 64), drifted);
  EXPECT_EQ(take_back_drift(links, header, alone), "");
  EXPECT_NE(refusal(made::ildg(scaled(1e-10), 64), drifted), "");
  EXPECT_NE(refusal(made::ildg(scaled(1e-12), 64)), "");
  EXPECT_NE(refusal(made::ildg(scaled(6e-7), 64), allow), "");  // beyond the limit
  EXPECT_EQ(refusal(made::milc(scaled(4e-4), true), allow), "");
  EXPECT_NE(refusal(made::milc(scaled(6e-4), true), allow), "");
}

}  // namespace
}  // namespace plaquette
