// SPDX-License-Identifier: BSD-3-Clause
// Files that are damaged, lie, or hold something else: each is refused with one line, or has done no harm.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <iomanip>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/io/gauge_file.hpp"
#include "common/io/spinor_file.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "validation/io/made_files.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette {
namespace {

using made::bytes;
const communicator alone;

loaded_gauge read(const bytes& b, const extents& lattice) {
  return read_gauge(memory_source("the-file", made::view(b)), lattice_geometry(lattice), alone);
}

/// The message of the input_error that reading throws, which must be one line that names the file; empty if it throws
/// none.
std::string refusal(const bytes& b, const extents& lattice) {
  try {
    read(b, lattice);
    return {};
  } catch (const input_error& e) {
    const std::string message = e.what();
    EXPECT_TRUE(message.starts_with("the-file: ")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_LT(message.size(), 500u) << message;
    return message;
  }
}

void expect_refusal(const bytes& b, const extents& lattice, const std::vector<std::string>& words) {
  const std::string message = refusal(b, lattice);
  EXPECT_NE(message, "") << "was read";
  for (const std::string& word : words)
    EXPECT_NE(message.find(word), std::string::npos) << message << " lacks " << word;
}

bytes replaced(bytes b, const std::string& what, const std::string& by) {
  const std::size_t at = b.find(what);
  EXPECT_NE(at, bytes::npos) << what;
  return b.replace(at, what.size(), by);
}

struct sample {
  std::string name;
  bool checked_sum;  // has a checksum over its links
  std::function<bytes(const gauge_configuration&)> make;
};

double plaquette_of(gauge_configuration u) {
  exchange_ghosts(u, alone);
  return cpu::average_plaquette(u, alone);
}

const std::vector<sample>& samples() {
  static const std::vector<sample> all{
      {"nersc two-row 32", true, [](const auto& u) { return made::nersc(u, {32, true, true}); }},
      {"nersc 3x3 64 little", true, [](const auto& u) { return made::nersc(u, {64, false, false}); }},
      {"ildg 64", true, [](const auto& u) { return made::ildg(u, 64, "plaquette = 0.5"); }},
      {"scidac 32", true, [](const auto& u) { return made::scidac(u, 32); }},
      {"milc little", true, [](const auto& u) { return made::milc(u, false); }},
      {"milc big", true, [](const auto& u) { return made::milc(u, true); }},
      {"milc v4", false, [](const auto& u) { return made::milc_v4(u, true); }},
      {"nersc of milc little", true, [](const auto& u) { return made::nersc_of_milc(u, true); }},
      {"scidac of 2004", false, [](const auto& u) { return made::scidac_of_2004(u, 64); }},
      {"openqcd", false, [](const auto& u) { return made::openqcd(u, plaquette_of(u)); }},
      {"ddalphaamg", false, [](const auto& u) { return made::ddalphaamg(u, plaquette_of(u)); }}};
  return all;
}

const extents smallest{2, 2, 2, 2};

TEST(DamagedGaugeFile, TruncatedAtAnyByteIsRefused) {
  const auto u = validation::random_links(smallest, 41);
  for (const sample& each : samples()) {
    const bytes whole = each.make(u);
    ASSERT_EQ(refusal(whole, smallest), "") << each.name;
    // The last record of this one is no part of the configuration: without it the file is whole.
    const std::size_t unneeded = each.name == "ildg 64" ? whole.rfind("some-state") - 16 : bytes::npos;
    // Some programs leave the padding of the last record out, zero bytes that hold nothing.
    const bool is_lime = each.name == "ildg 64" || each.name == "scidac 32";
    const std::size_t padding = is_lime ? whole.find_last_not_of('\0') + 1 : whole.size(),
                      text_end = is_lime ? whole.rfind('>') + 1 : bytes::npos;
    for (std::size_t size = 0; size < padding; ++size)
      if (size < text_end || size > unneeded) {
        EXPECT_NE(refusal(whole.substr(0, size), smallest), "") << each.name << " " << size;
      }
  }
}

TEST(DamagedGaugeFile, FollowedByOtherBytesIsRefused) {
  const auto u = validation::random_links(smallest, 42);
  for (const sample& each : samples())
    for (const std::size_t more : {1u, 7u, 8u, 144u, 1000u}) {
      const bytes b = each.make(u);
      const bool is_lime = b.starts_with("\x45\x67\x89\xab");
      // Less than the padding of a LIME record is passed over with a remark.
      EXPECT_EQ(refusal(b + bytes(more, 'x'), smallest).empty(), is_lime && more < 8) << each.name << " " << more;
    }
}

// Every bit of the first 400 bytes and one bit of every third byte of the rest. A flip that is not refused has hit a
// text or a claim. Or, in a format without a checksum, one of the last bits of a number. The 1024 roundings that
// su3_tolerance allows are seen in U U^+ or det U as at least half the change of one entry (the rest of its column, or
// its cofactor, is not small).
TEST(DamagedGaugeFile, AFlippedBitIsRefusedOrDoesNoHarm) {
  const auto u = validation::random_links(smallest, 43);
  for (const sample& each : samples()) {
    const bytes whole = each.make(u);
    const auto original = read(whole, smallest).links;
    int accepted = 0;
    for (std::size_t at = 0; at < whole.size(); ++at)
      for (int bit = 0; bit < 8; ++bit) {
        if (at > 400 && (at % 3 != 0 || bit != static_cast<int>(at / 3 % 8))) continue;
        bytes flipped = whole;
        flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
        try {
          const auto links = read(flipped, smallest).links;
          ++accepted;
          const double allowed = each.checked_sum         ? 0.0
                                 : each.name == "milc v4" ? 4 * 1024 * 0x1p-24
                                                          : 4 * 1024 * 0x1p-53;
          EXPECT_TRUE(made::largest_difference(links, original) <= allowed) << each.name << " " << at << " " << bit;
        } catch (const input_error&) {
        }
      }
    EXPECT_GT(accepted, 0) << each.name;
  }
}

// With a fixed seed, what fuzzing does at length: several bytes at once, anywhere.
TEST(DamagedGaugeFile, ManyWrongBytesEndInNothingButARefusal) {
  const auto u = validation::random_links(smallest, 44);
  std::mt19937 random(44);
  for (const sample& each : samples()) {
    const bytes whole = each.make(u);
    for (int trial = 0; trial < 2000; ++trial) {
      bytes b = whole;
      const std::size_t reach = trial % 2 ? b.size() : std::min<std::size_t>(b.size(), 600);
      for (int i = 0; i < 1 + trial % 8; ++i) b[random() % reach] = static_cast<char>(random());
      if (trial % 3 == 0) b.resize(random() % b.size());
      refusal(b, smallest);  // anything but an input_error fails the test
    }
  }
}

TEST(DamagedGaugeFile, AnotherLatticeIsRefusedWithBoth) {
  const auto u = validation::random_links({2, 4, 6, 2}, 45);
  for (const sample& each : samples()) {
    expect_refusal(each.make(u), {2, 2, 2, 2}, {"expected", "2x2x2x2", "found", "2x4x6x2"});
    expect_refusal(each.make(u), {4, 2, 2, 6}, {"4x2x2x6"});  // as many sites
  }
}

TEST(DamagedGaugeFile, ALinkThatIsNotInSu3IsNamedWithItsPlaceAndDistance) {
  const extents lattice{4, 2, 2, 4};
  const auto good = validation::random_links(lattice, 46);
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const sample& each : samples())
    for (const double wrong : {nan, infinity, -3.0, 1e300, 0.37}) {
      if (wrong == 1e300 && each.name != "openqcd" && each.name != "ddalphaamg") continue;  // not all hold it
      auto u = good;
      // In the second row: the third is computed in a two-row file.
      u({1, 0, 1, 2})[1](1, 2).im = wrong;
      u({3, 1, 1, 3})[0](0, 0).re = wrong;  // a later one
      // The claim of the good links, since a NaN would stand in the header's own number.
      bytes b = each.make(u);
      if (!each.checked_sum) {
        const bytes header = each.make(good).substr(0, 24);
        b.replace(0, 24, header);
      }
      expect_refusal(b, lattice, {"SU(3)", "(1, 0, 1, 2), direction y", std::isnan(wrong) ? "nan" : "distance"});
    }
}

TEST(DamagedGaugeFile, TheToleranceOnSu3IsThatOfThePrecisionStored) {
  const extents lattice{2, 2, 2, 2};
  const auto scaled = [&](double excess) {
    auto u = validation::random_links(lattice, 47);
    auto& link = u({1, 1, 0, 1})[3];
    for (int j = 0; j < colours; ++j) link(0, j) = (1 + excess) * link(0, j);  // |row|^2 and det grow
    return u;
  };
  // 1024 u is 6.1e-5 for floats, 1.1e-13 for doubles; |row|^2 departs from 1 by twice the excess.
  EXPECT_EQ(refusal(made::milc(scaled(2e-5), true), lattice), "");
  EXPECT_NE(refusal(made::milc(scaled(4e-5), true), lattice), "");
  EXPECT_EQ(refusal(made::ildg(scaled(4e-14), 64), lattice), "");
  EXPECT_NE(refusal(made::ildg(scaled(7e-14), 64), lattice), "");
}

TEST(DamagedGaugeFile, ZeroLinksAreForOpenBoundariesOfOpenQcdAlone) {
  const extents lattice{2, 4, 2, 4};
  const auto good = validation::random_links(lattice, 48);
  auto u = good;
  for (std::int64_t s = 0; s < volume(lattice); ++s)
    if (u.geometry().local_coordinate(s)[3] == 3) u.at_site(s)[3] = {};
  for (const sample& each : samples()) {
    if (each.name == "openqcd")
      EXPECT_EQ(refusal(each.make(u), lattice), "");
    else
      expect_refusal(each.make(u), lattice, {"SU(3)", "direction t"});
  }
  auto partly = u;
  partly({1, 2, 0, 3})[3] = good({1, 2, 0, 3})[3];
  expect_refusal(made::openqcd(partly, plaquette_of(partly)), lattice, {"zero", "15"});
  auto elsewhere = u;
  elsewhere({1, 2, 0, 2})[3] = {};
  expect_refusal(made::openqcd(elsewhere, plaquette_of(elsewhere)), lattice, {"SU(3)", "(1, 2, 0, 2), direction t"});
}

TEST(DamagedGaugeFile, AWrongChecksumIsNamedWithBothValues) {
  const auto u = validation::random_links(smallest, 49);
  for (const sample& each : samples()) {
    if (!each.checked_sum) continue;
    const bytes good = each.make(u);
    const auto header = read(good, smallest).header;
    ASSERT_FALSE(header.checksum_claimed.empty());
    // The last bit of a link in the middle: far below any tolerance on SU(3).
    bytes b = good;
    const std::size_t links = b.find(made::link(u({0, 0, 0, 1})[0], each.name.find("64") != std::string::npos ? 64 : 32,
                                                each.name.find("little") == std::string::npos, 2));
    ASSERT_NE(links, bytes::npos) << each.name;
    const std::size_t last = each.name.find("little") != std::string::npos ? 0
                             : each.name.find("64") != std::string::npos   ? 7
                                                                           : 3;
    b[links + last] = static_cast<char>(b[links + last] ^ 1);
    expect_refusal(b, smallest, {"checksum", "expected " + header.checksum_claimed, "found"});
  }
}

TEST(DamagedGaugeFile, AWrongLinkTraceIsRefused) {
  const auto u = validation::random_links(smallest, 50);
  const double trace = cpu::link_trace(u, alone);
  const auto with = [&](double claim) {
    return made::nersc(u, {64, true, false, "", "LINK_TRACE = " + std::to_string(claim) + "\n"});
  };
  EXPECT_EQ(refusal(with(trace), smallest), "");
  expect_refusal(with(trace + 3e-6), smallest, {"link trace"});
  expect_refusal(made::nersc(u, {64, true, false, "", "LINK_TRACE = nan\n"}), smallest, {"LINK_TRACE", "nan"});
  expect_refusal(made::nersc(u, {64, true, false, "", "PLAQUETTE = x\n"}), smallest, {"PLAQUETTE", "'x'"});
}

TEST(DamagedGaugeFile, AnAverageOfSinglePrecisionIsTakenWhereTheChecksumIsRight) {
  const auto u = validation::random_links(smallest, 52);
  const auto with = [&](double off) {
    std::ostringstream line;
    line << std::setprecision(15) << "LINK_TRACE = " << cpu::link_trace(u, alone) + off << '\n';
    return made::nersc(u, {64, true, false, "", line.str()});
  };
  EXPECT_EQ(refusal(with(5e-7), smallest), "");
  expect_refusal(with(2e-6), smallest, {"link trace"});
  EXPECT_EQ(refusal(replaced(with(0.0), "CHECKSUM", "XCHECKSUM"), smallest), "");
  expect_refusal(replaced(with(5e-7), "CHECKSUM", "XCHECKSUM"), smallest, {"link trace"});
}

TEST(DamagedGaugeFile, TheNerscHeaderMustBeWhole) {
  const auto u = validation::random_links(smallest, 51);
  const bytes good = made::nersc(u, {32, true, true});
  for (const std::string key : {"DATATYPE", "DIMENSION_1", "DIMENSION_4", "END_HEADER"})
    expect_refusal(replaced(good, key, "X" + key), smallest, {"NERSC"});
  expect_refusal(replaced(good, "4D_SU3_GAUGE", "4D_SU4_GAUGE"), smallest, {"4D_SU3_GAUGE", "4D_SU4_GAUGE"});
  expect_refusal(replaced(good, "IEEE32BIG", "IEEE16BIG"), smallest, {"IEEE16BIG"});
  expect_refusal(replaced(good, "IEEE32BIG", "IEEE32MIXED"), smallest, {"IEEE32MIXED"});
  expect_refusal(replaced(good, "IEEE32BIG", "IEEE64BIG"), smallest, {"bytes"});
  expect_refusal(replaced(good, "IEEE32BIG", ""), smallest, {"FLOATING_POINT", "nothing"});
  EXPECT_EQ(read(replaced(good, "FLOATING_POINT", "XFLOATING_POINT"), smallest).header.remarks.size(), 1u);
  expect_refusal(replaced(good, "4D_SU3_GAUGE", "4D_SU3_GAUGE_3X3"), smallest, {"bytes"});
  expect_refusal(replaced(good, "DIMENSION_2 = 2", "DIMENSION_1 = 2"), smallest, {"DIMENSION_2", "nothing"});
  expect_refusal(replaced(good, "DIMENSION_2 = 2", "DIMENSION_2"), smallest, {"DIMENSION_2", "nothing"});
  expect_refusal(replaced(good, "CHECKSUM", "DIMENSION_1 = 4\nCHECKSUM"), smallest, {"DIMENSION_1", "'2' and '4'"});
  const bytes odd = replaced(good, "CHECKSUM", "CREATOR = \x1b[2J \xff\nand a line of its own\nCHECKSUM");
  EXPECT_EQ(read(odd, smallest).header.text.at("CREATOR"), "?[2J ?");
  for (const std::string length : {"0", "-2", "two", "2.0", "2 2", "99999999999999999999", ""})
    EXPECT_NE(refusal(replaced(good, "DIMENSION_2 = 2", "DIMENSION_2 = " + length), smallest), "") << length;
}

// Extents whose volume times 576 bytes wraps around 2^64 must not lead to an allocation.
TEST(DamagedGaugeFile, AbsurdExtentsAreRefusedAtOnce) {
  const auto u = validation::random_links(smallest, 52);
  for (const std::int64_t length : {65535, 65536, 65537, 1 << 20, std::numeric_limits<int>::max(), -2, 0}) {
    const std::string text = std::to_string(length);
    bytes nersc = made::nersc(u, {64, true, false});
    for (int mu = 1; mu <= 4; ++mu)
      nersc =
          replaced(nersc, "DIMENSION_" + std::to_string(mu) + " = 2", "DIMENSION_" + std::to_string(mu) + " = " + text);
    EXPECT_NE(refusal(nersc, smallest), "") << length;
    bytes ildg = made::ildg(u, 64), scidac = made::scidac(u, 64);
    for (const char* tag : {"lx", "ly", "lz", "lt"}) {
      const std::string name = tag;
      ildg = replaced(ildg, "<" + name + ">2<", "<" + name + ">" + text + "<");
    }
    // The record's length changes with its text: rebuild the file around it.
    const bytes format = "<ildgFormat><field>su3gauge</field><precision>64</precision><lx>" + text + "</lx><ly>" +
                         text + "</ly><lz>" + text + "</lz><lt>" + text + "</lt></ildgFormat>";
    EXPECT_NE(refusal(made::lime_record("ildg-format", format, true, false) +
                          made::lime_record("ildg-binary-data", made::all_links(u, 64, true), false, true),
                      smallest),
              "");
    for (const bool big_endian : {true, false}) {
      bytes milc = made::milc(u, big_endian);
      bytes plain = made::ddalphaamg(u, 0.0, big_endian);
      for (std::size_t mu = 0; mu < 4; ++mu) {
        const bytes number = made::raw(static_cast<std::int32_t>(length), big_endian);
        milc.replace(4 + 4 * mu, 4, number);
        plain.replace(4 * mu, 4, number);
      }
      EXPECT_NE(refusal(milc, smallest), "") << length;
      EXPECT_NE(refusal(plain, smallest), "") << length;
    }
  }
}

TEST(DamagedGaugeFile, AMilcFileInAnotherOrderOfSitesIsRefused) {
  bytes b = made::milc(validation::random_links(smallest, 53), true);
  b[87] = 2;
  expect_refusal(b, smallest, {"natural order", "2"});
}

TEST(DamagedGaugeFile, APlaquetteThatIsNoneIsRefusedInABinaryHeader) {
  const auto u = validation::random_links(smallest, 54);
  for (const double wrong : {std::nan(""), 1.01, -7.0, 1e300})
    for (const bytes& b : {made::openqcd(u, wrong), made::ddalphaamg(u, wrong)})
      expect_refusal(b, smallest, {"plaquette"});
}

/// A LIME file of these records around the links of u.
bytes lime_file(const gauge_configuration& u, const std::vector<std::pair<std::string, bytes>>& before,
                const std::string& data_type = "ildg-binary-data", int bits = 64) {
  bytes b;
  for (const auto& [type, text] : before) b += made::lime_record(type, text, false, false);
  return b + made::lime_record(data_type, made::all_links(u, bits, true), false, true);
}

TEST(DamagedGaugeFile, LimeRecordsMustAgree) {
  const extents l = smallest;
  const auto u = validation::random_links(l, 55);
  const std::string file = "scidac-private-file-xml", record = "scidac-private-record-xml", format = "ildg-format";
  const bytes file_xml = made::private_file_xml(l), record_xml = made::private_record_xml("ColorMatrix", 64, 4),
              format_xml = made::ildg_format(l, 64);
  EXPECT_EQ(refusal(lime_file(u, {{file, file_xml}, {record, record_xml}, {format, format_xml}}), l), "");
  EXPECT_EQ(refusal(lime_file(u, {{file, file_xml}, {record, record_xml}}, "scidac-binary-data"), l), "");
  const std::vector<bytes> wrong{
      lime_file(u, {{file, replaced(file_xml, "2 2 2 2 ", "2 2 2 4 ")}, {record, record_xml}, {format, format_xml}}),
      lime_file(u, {{file, replaced(file_xml, "2 2 2 2 ", "2 2 2 ")}, {record, record_xml}}),
      lime_file(u, {{file, replaced(file_xml, "2 2 2 2 ", "2 2 2 2 2")}, {record, record_xml}}),
      lime_file(u, {{file, replaced(file_xml, "<volfmt>0", "<volfmt>1")}, {record, record_xml}}),
      lime_file(u, {{file, replaced(file_xml, "<spacetime>4", "<spacetime>5")}, {record, record_xml}}),
      lime_file(u, {{file, file_xml}, {record, made::private_record_xml("ColorMatrix", 32, 4)}, {format, format_xml}}),
      lime_file(u, {{file, file_xml}, {record, made::private_record_xml("ColorMatrix", 32, 4)}}),
      lime_file(u, {{file, file_xml}, {record, made::private_record_xml("ColorMatrix", 64, 1)}}),
      lime_file(u, {{file, file_xml}, {record, made::private_record_xml("DiracFermion", 64, 1)}}),
      lime_file(u, {{file, file_xml}, {record, replaced(record_xml, "<colors>3", "<colors>2")}}),
      lime_file(u, {{file, file_xml}, {record, replaced(record_xml, "<recordtype>0", "<recordtype>1")}}),
      lime_file(u, {{file, file_xml}, {record, replaced(record_xml, "<precision>D", "<precision>Q")}}),
      lime_file(u, {{file, file_xml}, {record, replaced(record_xml, "<datatype>", "<date>")}}),
      lime_file(u, {{file, file_xml}}),
      lime_file(u, {{record, record_xml}}),
      lime_file(u, {{format, replaced(format_xml, "su3gauge", "su2gauge")}}),
      lime_file(u, {{format, replaced(format_xml, "64", "16")}}),
      lime_file(u, {{format, made::ildg_format(l, 32)}}),
      lime_file(u, {{format, replaced(format_xml, "<lt>", "<l>")}}),
      lime_file(u, {{format, ""}}),
      made::lime_record(format, format_xml, true, true),
      lime_file(u, {{format, format_xml}}) + lime_file(u, {{format, format_xml}}),
      lime_file(u, {{format, bytes(2 << 20, ' ')}}),
      lime_file(u, {{format, format_xml}}) +
          made::lime_record("scidac-checksum", "<suma>xyz</suma><sumb>1</sumb>", 0, 1)};
  for (std::size_t i = 0; i < wrong.size(); ++i) EXPECT_NE(refusal(wrong[i], l), "") << "case " << i;
}

TEST(DamagedGaugeFile, ALimeRecordThatSaysItIsLongerThanTheFileIsRefused) {
  const auto u = validation::random_links(smallest, 56);
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{9217}, std::uint64_t{1} << 40,
                                   std::numeric_limits<std::uint64_t>::max(), std::uint64_t{0} - 144}) {
    bytes b = made::ildg(u, 64);
    const std::size_t record = b.find("ildg-binary-data") - 16;
    b.replace(record + 8, 8, made::raw(size, true));
    EXPECT_NE(refusal(b, smallest), "") << size;
  }
}

TEST(DamagedGaugeFile, TenThousandEmptyLimeRecordsAreEnough) {
  bytes b;
  for (int i = 0; i < 10001; ++i) b += made::lime_record("x", "", true, true);
  expect_refusal(b, smallest, {"10000"});
}

TEST(NoGaugeFile, IsRefusedByPath) {
  made::folder folder;
  made::put(folder.file("empty"), "");
  made::put(folder.file("text"), "kappa = 0.15\nand nothing else in this file\n");
  made::put(folder.file("four ints"), made::raw(std::int32_t{4}, false) + made::raw(std::int32_t{4}, false) +
                                          made::raw(std::int32_t{4}, false) + made::raw(std::int32_t{4}, false));
  for (const std::string& path : {folder.file("absent"), folder.path(), folder.file("empty"), folder.file("text"),
                                  folder.file("four ints"), std::string("/dev/null"), std::string("")}) {
    EXPECT_THROW(read_gauge_header(path), input_error) << path;
    try {
      read_gauge(path, lattice_geometry(smallest), alone);
      FAIL() << path;
    } catch (const input_error& e) {
      EXPECT_TRUE(std::string(e.what()).starts_with(path + ": ")) << e.what();
    }
    EXPECT_THROW(read_lime_spinor(path, lattice_geometry(smallest), alone), input_error) << path;
  }
}

std::string spinor_refusal(const bytes& b, const extents& lattice) {
  try {
    read_lime_spinor(memory_source("the-file", made::view(b)), lattice_geometry(lattice), alone);
    return {};
  } catch (const input_error& e) {
    return e.what();
  }
}

TEST(DamagedSpinorFile, IsRefusedWhereTruncatedFlippedOrNotFinite) {
  const auto psi = validation::random_spinor(smallest, 57);
  const bytes good = made::etmc_spinor(psi, 64);
  EXPECT_EQ(spinor_refusal(good, smallest), "");
  const std::size_t checksum_record = good.rfind("scidac-checksum") - 16, data = good.find("scidac-binary-data") + 128;
  const std::size_t padding = good.find_last_not_of('\0') + 1;  // some programs leave it out
  for (std::size_t size = 0; size < padding; ++size)
    if (size != checksum_record) {
      EXPECT_NE(spinor_refusal(good.substr(0, size), smallest), "") << size;
    }
  for (std::size_t at = data; at < checksum_record; ++at) {
    bytes b = good;
    b[at] = static_cast<char>(b[at] ^ (1 << (at % 8)));
    EXPECT_NE(spinor_refusal(b, smallest), "") << at;
  }
  EXPECT_NE(spinor_refusal(good, {2, 2, 2, 4}), "");
  auto wrong = psi;
  wrong({1, 0, 1, 0})(2, 1).re = std::nan("");
  EXPECT_NE(spinor_refusal(made::etmc_spinor(wrong, 64), smallest).find("finite"), std::string::npos);
  EXPECT_NE(spinor_refusal(made::ildg(validation::random_links(smallest, 58), 64), smallest), "");
  EXPECT_NE(refusal(good, smallest), "");
}

}  // namespace
}  // namespace plaquette
