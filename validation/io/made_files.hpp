// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Files of every format the suite reads, made in memory from a configuration of one rank, by code that shares nothing
/// with the readers and writers under test.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "common/lattice/site_field.hpp"

namespace plaquette::made {

using bytes = std::string;  // easy to search, cut and splice

/// Rounds to float. The volatile is there for g++ 12.2, which at -O2 takes double -> float -> double of neighbouring
/// numbers to be no change.
inline double to_float(double value) {
  volatile float rounded = static_cast<float>(value);
  return rounded;
}

inline bytes reversed_if(bool reverse, bytes b) {
  if (reverse) std::reverse(b.begin(), b.end());
  return b;
}
template <class T>
bytes raw(T value, bool big_endian) {
  bytes b(sizeof(T), '\0');
  std::memcpy(b.data(), &value, sizeof(T));
  return reversed_if(big_endian == (std::endian::native == std::endian::little), b);
}
inline bytes real(double value, int bits, bool big_endian) {
  return bits == 32 ? raw(static_cast<float>(value), big_endian) : raw(value, big_endian);
}
inline bytes link(const su3<double>& u, int bits, bool big_endian, int rows = 3) {
  bytes b;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < 3; ++j) b += real(u(i, j).re, bits, big_endian) + real(u(i, j).im, bits, big_endian);
  return b;
}

/// Calls visit(x) with x fastest, t slowest.
template <class Visit>
void for_each_site(const extents& l, Visit&& visit) {
  coordinate x;
  for (x[3] = 0; x[3] < l[3]; ++x[3])
    for (x[2] = 0; x[2] < l[2]; ++x[2])
      for (x[1] = 0; x[1] < l[1]; ++x[1])
        for (x[0] = 0; x[0] < l[0]; ++x[0]) visit(x);
}

inline bytes all_links(const gauge_configuration& u, int bits, bool big_endian, int rows = 3) {
  bytes b;
  for_each_site(u.geometry().global(), [&](const coordinate& x) {
    for (const auto& each : u(x)) b += link(each, bits, big_endian, rows);
  });
  return b;
}

inline std::uint32_t word(const bytes& b, std::size_t index, bool big_endian) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(b[4 * index + i])) << (8 * (big_endian ? 3 - i : i));
  return value;
}
inline std::uint32_t rotated(std::uint32_t v, unsigned by) { return by == 0 ? v : (v << by) | (v >> (32 - by)); }
inline std::string hex(std::uint32_t v) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", v);
  return text;
}

struct nersc_options {
  int bits = 64;
  bool big_endian = true;
  bool two_row = false;
  std::string floating_point = {};  // empty: IEEE32BIG and its like
  std::string more_lines = {};
};
inline bytes nersc(const gauge_configuration& u, const nersc_options& o) {
  const bytes data = all_links(u, o.bits, o.big_endian, o.two_row ? 2 : 3);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < data.size() / 4; ++i) sum += word(data, i, o.big_endian);
  bytes b = "BEGIN_HEADER\n";
  b += std::string("DATATYPE = ") + (o.two_row ? "4D_SU3_GAUGE" : "4D_SU3_GAUGE_3x3") + "\n";
  for (int mu = 0; mu < 4; ++mu)
    b += "DIMENSION_" + std::to_string(mu + 1) + " = " + std::to_string(u.geometry().global()[mu]) + "\n";
  b += "CHECKSUM = " + hex(sum) + "\n" + o.more_lines;
  b += "FLOATING_POINT = " + (o.floating_point.empty()
                                  ? "IEEE" + std::to_string(o.bits) + (o.big_endian ? "BIG" : "LITTLE")
                                  : o.floating_point);
  return b + "\nEND_HEADER\n" + data;
}

inline bytes milc(const gauge_configuration& u, bool big_endian) {
  const bytes data = all_links(u, 32, big_endian);
  std::uint32_t sum29 = 0, sum31 = 0;
  for (std::size_t i = 0; i < data.size() / 4; ++i) {
    sum29 ^= rotated(word(data, i, big_endian), static_cast<unsigned>(i % 29));
    sum31 ^= rotated(word(data, i, big_endian), static_cast<unsigned>(i % 31));
  }
  bytes b = raw(std::int32_t{20103}, big_endian);
  for (const int length : u.geometry().global()) b += raw(std::int32_t{length}, big_endian);
  bytes date = "Sat Nov 21 00:00:00 2026";
  date.resize(64, '\0');
  return b + date + raw(std::int32_t{0}, big_endian) + raw(sum29, big_endian) + raw(sum31, big_endian) + data;
}

/// Writes as MILC writes NERSC files: 32 bits in the machine's order, two rows, no FLOATING_POINT. A block holds lines
/// of its own, and here some repeat keys of the header with other values.
/// \param inside  the block stands before END_HEADER, else after it
inline bytes nersc_of_milc(const gauge_configuration& u, bool inside, bool big_endian = false, int bits = 32) {
  const std::string info =
      "MILC_INFO = -------BEGIN-------\ntime_stamp = \"Sat Nov 21 00:00:00 2026\"\nchecksums = \"1 2\"\nnx = 99\n"
      "DIMENSION_1 = 99\nMILC_INFO = --------END--------\n";
  bytes b = nersc(u, {bits, big_endian, true, {}, inside ? info : ""});
  const std::size_t at = b.find("FLOATING_POINT");
  b.erase(at, b.find('\n', at) + 1 - at);
  const std::string end = "END_HEADER\n";
  if (!inside) b.insert(b.find(end) + end.size(), info);
  return b;
}

/// Writes MILC's format of versions 1 to 4: magic, extents, two couplings, links.
inline bytes milc_v4(const gauge_configuration& u, bool big_endian) {
  bytes b = raw(std::int32_t{59354}, big_endian);
  for (const int length : u.geometry().global()) b += raw(std::int32_t{length}, big_endian);
  return b + raw(5.5f, big_endian) + raw(0.1f, big_endian) + all_links(u, 32, big_endian);
}

inline bytes ddalphaamg(const gauge_configuration& u, double plaquette, bool big_endian = false) {
  const extents& l = u.geometry().global();
  bytes b;
  for (const int mu : {3, 2, 1, 0}) b += raw(std::int32_t{l[mu]}, big_endian);
  b += raw(3 * plaquette, big_endian);
  for_each_site(l, [&](const coordinate& x) {
    for (const int mu : {3, 2, 1, 0}) b += link(u(x)[static_cast<std::size_t>(mu)], 64, big_endian);
  });
  return b;
}

inline bytes openqcd(const gauge_configuration& u, double plaquette) {
  const extents& l = u.geometry().global();
  bytes b;
  for (const int mu : {3, 0, 1, 2}) b += raw(std::int32_t{l[mu]}, false);
  b += raw(3 * plaquette, false);
  for (int t = 0; t < l[3]; ++t)
    for (int x = 0; x < l[0]; ++x)
      for (int y = 0; y < l[1]; ++y)
        for (int z = 0; z < l[2]; ++z) {
          if ((x + y + z + t) % 2 == 0) continue;
          for (const int mu : {3, 0, 1, 2}) {
            coordinate here{x, y, z, t}, below = here;
            below[mu] = (below[mu] + l[mu] - 1) % l[mu];
            b += link(u(here)[static_cast<std::size_t>(mu)], 64, false);
            b += link(u(below)[static_cast<std::size_t>(mu)], 64, false);
          }
        }
  return b;
}

inline bytes lime_record(const std::string& type, const bytes& data, bool first, bool last) {
  bytes b = raw(std::uint32_t{0x456789ab}, true) + raw(std::uint16_t{1}, true) +
            raw(static_cast<std::uint16_t>((first ? 0x8000 : 0) + (last ? 0x4000 : 0)), true) +
            raw(std::uint64_t{data.size()}, true);
  bytes name = type;
  name.resize(128, '\0');
  b += name + data;
  while (b.size() % 8 != 0) b += '\0';
  return b;
}

/// Bit by bit, as the definition has it.
inline std::uint32_t crc(const bytes& b) {
  std::uint32_t remainder = 0xffffffffu;
  for (const char c : b) {
    remainder ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder & 1) ? (remainder >> 1) ^ 0xedb88320u : remainder >> 1;
  }
  return ~remainder;
}
inline bytes scidac_checksum(const bytes& data, std::size_t sites) {
  std::uint32_t a = 0, b = 0;
  const std::size_t per_site = data.size() / sites;
  for (std::size_t s = 0; s < sites; ++s) {
    const std::uint32_t each = crc(data.substr(s * per_site, per_site));
    a ^= rotated(each, static_cast<unsigned>(s % 29));
    b ^= rotated(each, static_cast<unsigned>(s % 31));
  }
  return "<scidacChecksum><version>1.0</version><suma>" + hex(a) + "</suma><sumb>" + hex(b) +
         "</sumb></scidacChecksum>";
}

inline std::string dims(const extents& l) {
  std::string text;
  for (const int length : l) text += std::to_string(length) + " ";
  return text;
}
inline bytes private_file_xml(const extents& l) {
  return "<scidacFile><version>1.1</version><spacetime>4</spacetime><dims>" + dims(l) +
         "</dims><volfmt>0</volfmt></scidacFile>";
}
inline bytes private_record_xml(const std::string& type, int bits, int count) {
  return "<scidacRecord><version>1.1</version><date>today</date><recordtype>0</recordtype><datatype>QDP_" +
         std::string(bits == 32 ? "F3_" : "D3_") + type + "</datatype><precision>" + (bits == 32 ? "F" : "D") +
         "</precision><colors>3</colors><spins>4</spins><typesize>" + std::to_string(18 * bits / 8) +
         "</typesize><datacount>" + std::to_string(count) + "</datacount></scidacRecord>";
}
inline bytes ildg_format(const extents& l, int bits) {
  return "<ildgFormat xmlns=\"http://www.lqcd.org/ildg\"> <version>1.0</version> <field> su3gauge </field> "
         "<precision>" +
         std::to_string(bits) + "</precision><lx>" + std::to_string(l[0]) + "</lx><ly>" + std::to_string(l[1]) +
         "</ly><lz>" + std::to_string(l[2]) + "</lz><lt>" + std::to_string(l[3]) + "</lt></ildgFormat>";
}

/// Writes as QIO writes one field of a lattice without ILDG's records.
inline bytes scidac(const gauge_configuration& u, int bits) {
  const extents& l = u.geometry().global();
  const bytes data = all_links(u, bits, true);
  return lime_record("scidac-private-file-xml", private_file_xml(l), true, false) +
         lime_record("scidac-file-xml", "<title>made</title>", false, true) +
         lime_record("scidac-private-record-xml", private_record_xml("ColorMatrix", bits, 4), true, false) +
         lime_record("scidac-record-xml", "<info/>", false, false) +
         lime_record("scidac-binary-data", data, false, false) +
         lime_record("scidac-checksum", scidac_checksum(data, static_cast<std::size_t>(volume(l))), false, true);
}

/// Writes as QUDA writes it with QIO.
inline bytes scidac_of_quda(const gauge_configuration& u, int bits) {
  bytes record = private_record_xml("ColorMatrix", bits, 4);
  const bytes theirs = bits == 32 ? "QUDA_FNc3_GaugeField" : "QUDA_DNc3_GaugeField",
              ours = bits == 32 ? "QDP_F3_ColorMatrix" : "QDP_D3_ColorMatrix";
  record.replace(record.find(ours), ours.size(), theirs);
  const extents& l = u.geometry().global();
  const bytes data = all_links(u, bits, true);
  return lime_record("scidac-private-file-xml", private_file_xml(l), true, false) +
         lime_record("scidac-file-xml", "QUDA file", false, true) +
         lime_record("scidac-private-record-xml", record, true, false) +
         lime_record("scidac-record-xml", "gauge field", false, false) +
         lime_record("scidac-binary-data", data, false, false) +
         lime_record("scidac-checksum", scidac_checksum(data, static_cast<std::size_t>(volume(l))), false, true);
}

/// Writes as QIO wrote it in 2004: no <volfmt>, every type is "Lattice" and every precision "F".
inline bytes scidac_of_2004(const gauge_configuration& u, int bits) {
  const extents& l = u.geometry().global();
  const bytes data = all_links(u, bits, true);
  return lime_record(
             "scidac-private-file-xml",
             "<scidacFile><version>1.0</version><spacetime>4</spacetime><dims>" + dims(l) + "</dims></scidacFile>",
             true, false) +
         lime_record("scidac-file-xml", "<title>made</title>", false, true) +
         lime_record("scidac-private-record-xml",
                     "<scidacRecord><version>1.0</version><datatype>Lattice</datatype><precision>F</precision><colors>3"
                     "</colors><spins>4</spins><typesize>" +
                         std::to_string(18 * bits / 8) + "</typesize><datacount>4</datacount></scidacRecord>",
                     true, false) +
         lime_record("scidac-record-xml", "<info/>", false, false) +
         lime_record("scidac-binary-data", data, false, true);
}

/// Links that no record describes.
inline bytes ildg_without_format(const gauge_configuration& u, int bits) {
  return lime_record("ildg-binary-data", all_links(u, bits, true), true, true);
}

/// Returns all names of elements with a prefix.
inline bytes with_prefix(const bytes& xml, const bytes& prefix) {
  bytes b;
  for (std::size_t i = 0; i < xml.size(); ++i) {
    b += xml[i];
    if (xml[i] != '<') continue;
    if (xml[i + 1] == '/') b += xml[++i];
    b += prefix;
  }
  return b;
}

/// Returns the time links of the last slice times -1.
inline gauge_configuration with_antiperiodic_links(gauge_configuration u) {
  const extents& l = u.geometry().global();
  for (std::int64_t s = 0; s < volume(l); ++s)
    if (u.geometry().local_coordinate(s)[3] == l[3] - 1) u.at_site(s)[3] = -1.0 * u.at_site(s)[3];
  return u;
}

/// Writes as tmLQCD writes it: no SciDAC records, other records before and after.
inline bytes ildg(const gauge_configuration& u, int bits, const std::string& info = "") {
  const extents& l = u.geometry().global();
  const bytes data = all_links(u, bits, true);
  return (info.empty() ? bytes() : lime_record("xlf-info", info, true, true)) +
         lime_record("ildg-format", ildg_format(l, bits), true, false) +
         lime_record("ildg-binary-data", data, false, false) +
         lime_record("scidac-checksum", scidac_checksum(data, static_cast<std::size_t>(volume(l))), true, false) +
         lime_record("some-state", "0123456789", true, true);
}

inline bytes all_spinors(const spinor_configuration& psi, int bits) {
  bytes b;
  for_each_site(psi.geometry().global(), [&](const coordinate& x) {
    for (int s = 0; s < spins; ++s)
      for (int c = 0; c < colours; ++c) b += real(psi(x)(s, c).re, bits, true) + real(psi(x)(s, c).im, bits, true);
  });
  return b;
}
inline bytes etmc_format(const extents& l, int bits, int flavours = 1) {
  return "<etmcFormat>\n <field>diracFermion</field>\n <precision>" + std::to_string(bits) +
         "</precision>\n <flavours>" + std::to_string(flavours) + "</flavours>\n <lx>" + std::to_string(l[0]) +
         "</lx><ly>" + std::to_string(l[1]) + "</ly><lz>" + std::to_string(l[2]) + "</lz><lt>" + std::to_string(l[3]) +
         "</lt></etmcFormat>";
}
/// The numbers of a spinor field and their checksum, without a record that describes them.
inline bytes spinor_data(const spinor_configuration& psi, int bits) {
  const bytes data = all_spinors(psi, bits);
  return lime_record("scidac-binary-data", data, true, true) +
         lime_record("scidac-checksum",
                     scidac_checksum(data, static_cast<std::size_t>(volume(psi.geometry().global()))), true, true);
}
inline bytes etmc_spinor(const spinor_configuration& psi, int bits) {
  return lime_record("propagator-type", "DiracFermion_Sink", true, true) +
         lime_record("etmc-propagator-format", etmc_format(psi.geometry().global(), bits), true, true) +
         spinor_data(psi, bits);
}

/// The beginning of a file of spinor fields, as QIO writes it for USQCD's programs.
inline bytes usqcd_file(const extents& l, const bytes& type) {
  return lime_record("scidac-private-file-xml", private_file_xml(l), true, false) +
         lime_record("scidac-file-xml",
                     "<usqcdPropFile><version>1.0</version><type>" + type + "</type><info/></usqcdPropFile>", false,
                     true);
}
inline bytes usqcd_info(int spin, int colour) {
  return "<usqcdPropInfo><version>1.0</version><spin>" + std::to_string(spin) + "</spin><color>" +
         std::to_string(colour) + "</color><info/></usqcdPropInfo>";
}
/// One field of such a file; `user`: the program's text on it.
inline bytes usqcd_spinor(const spinor_configuration& psi, int bits, const bytes& user) {
  return lime_record("scidac-private-record-xml", private_record_xml("DiracFermion", bits, 1), true, false) +
         lime_record("scidac-record-xml", user, false, false) + spinor_data(psi, bits);
}

/// A folder of this process, removed at the end.
class folder {
 public:
  folder() {
    std::string name = (std::filesystem::temp_directory_path() / "plaquette-io-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }
  /// Names of the files in it, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      all.push_back(entry.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::filesystem::path path_;
};

inline bytes contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void put(const std::string& path, const bytes& b) {
  std::ofstream(path, std::ios::binary).write(b.data(), static_cast<std::streamsize>(b.size()));
}

inline std::span<const std::byte> view(const bytes& b) { return std::as_bytes(std::span(b)); }

/// True if all links of the box are the same bits.
inline bool same_links(const gauge_configuration& a, const gauge_configuration& b) {
  const auto& geometry = a.geometry();
  for (std::int64_t s = 0; s < geometry.local_volume(); ++s)
    if (!(a.at_site(s) == b.at_site(s))) return false;
  return true;
}
/// Returns the largest difference of a real or imaginary part.
inline double largest_difference(const gauge_configuration& a, const gauge_configuration& b) {
  double worst = 0.0;
  for (std::int64_t s = 0; s < a.geometry().local_volume(); ++s)
    for (std::size_t mu = 0; mu < 4; ++mu)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
          const complex<double> d = a.at_site(s)[mu](i, j) - b.at_site(s)[mu](i, j);
          for (const double part : {d.re, d.im}) {
            const double size = part < 0 ? -part : part;
            if (!(size <= worst)) worst = size;
          }
        }
  return worst;
}

}  // namespace plaquette::made
