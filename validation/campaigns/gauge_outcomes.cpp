// SPDX-License-Identifier: BSD-3-Clause
// Reads gauge files and propagators in LIME as programs do and says what came of each, for gauge_files.py.
//   campaign_gauge_files make FOLDER   writes a sound file of each format.
//   campaign_gauge_files read          reads commands, a line each: "base PATH", then "try PATH".
// "base" keeps the links that tries are compared with. A try is answered by one line. It begins with "refused" and has
// the message, or with "other" and has the message of another exception. Or it begins with "read" and has the largest
// difference of an element (inf on another lattice), the bits of a number, and each remark. Tabs separate them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/algebra/largest.hpp"
#include "common/error.hpp"
#include "common/io/gauge_file.hpp"
#include "common/io/spinor_file.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "validation/io/made_files.hpp"
#include "validation/support/test_fields.hpp"

namespace {

using namespace plaquette;

const communicator alone;
const extents lattice{4, 2, 6, 4};

/// Propagators of each kind of file.
void make_propagators(const std::string& folder) {
  const auto put = [&](const std::string& name, const made::bytes& b) { made::put(folder + "/propagator_" + name, b); };
  const extents small{2, 2, 2, 2};
  std::vector<spinor_configuration> columns;
  for (unsigned n = 0; n < spin_colours; ++n) columns.push_back(validation::random_spinor(small, 40 + n));
  const auto other = validation::random_spinor(small, 99);
  made::bytes etmc, one_format = made::lime_record("etmc-propagator-format", made::etmc_format(small, 32), true, true),
                    pairs = made::usqcd_file(small, "USQCD_DiracFermion_Source_Sink_Pairs"),
                    named = made::usqcd_file(small, "USQCD_DiracFermion_ScalarSource_TwelveSink");
  for (int n = 0; n < spin_colours; ++n) {
    const auto& column = columns[static_cast<std::size_t>(n)];
    etmc += made::etmc_spinor(column, 64);
    one_format += made::spinor_data(column, 32);
    pairs += made::usqcd_spinor(other, 64, "<usqcdSourceInfo><version>1.0</version></usqcdSourceInfo>") +
             made::usqcd_spinor(column, 64, made::usqcd_info(n / colours, n % colours));
    named += made::usqcd_spinor(columns[static_cast<std::size_t>(colours * (n % spins) + n / spins)], 64,
                                made::usqcd_info(n % spins, n / spins));
  }
  put("etmc", etmc);
  put("one_format", one_format);
  put("pairs", pairs);
  put("named", named);
  write_lime_propagator(folder + "/propagator_written", columns, {.existing = existing_file::replace}, alone);
}

void make(const std::string& folder) {
  std::filesystem::create_directories(folder);
  const auto u = validation::weak_links(lattice, 0.3, 2026);
  const double plaquette = cpu::average_plaquette(u, alone);
  char claim[80];
  std::snprintf(claim, sizeof claim, "PLAQUETTE = %.10f\n", plaquette);
  const auto put = [&](const std::string& name, const made::bytes& b) { made::put(folder + "/" + name, b); };
  put("nersc_two_row_32", made::nersc(u, {32, true, true, "", claim}));
  put("nersc_64", made::nersc(u, {64, false, false, "", claim}));
  put("nersc_of_milc", made::nersc_of_milc(u, true));
  put("ildg_64", made::ildg(u, 64, "plaquette = " + std::to_string(plaquette) + "\n"));
  put("ildg_32", made::ildg(u, 32));
  put("ildg_bare", made::ildg_without_format(u, 64));
  put("scidac_32", made::scidac(u, 32));
  put("scidac_of_quda", made::scidac_of_quda(made::with_antiperiodic_links(u), 64));
  put("scidac_of_2004", made::scidac_of_2004(u, 64));
  put("milc_v4", made::milc_v4(u, true));
  put("milc_v5", made::milc(u, false));
  put("openqcd", made::openqcd(u, plaquette));
  put("ddalphaamg", made::ddalphaamg(u, plaquette));
  gauge_write_options how;
  how.existing = existing_file::replace;
  how.plaquette = plaquette;
  write_nersc(folder + "/written_nersc", u, alone, how);
  write_ildg(folder + "/written_ildg", u, alone, how);
  make_propagators(folder);
}

/// A field that was read, as numbers in the order of the sites.
struct read_field {
  extents lattice{};
  std::vector<complex<double>> numbers{};
  int bits = 64;
  std::vector<std::string> remarks{};
};

read_field read_propagator(const std::string& path) {
  const auto its_own = lime_propagator_lattice(file_source(path));
  if (!its_own) throw input_error(path + ": expected a propagator, found none");
  read_field field{*its_own};
  const auto columns = read_lime_propagator(path, lattice_geometry(*its_own), alone, {}, &field.remarks);
  for (const auto& column : columns)
    for (std::int64_t site = 0; site < column.geometry().local_volume(); ++site)
      for (int spin = 0; spin < spins; ++spin)
        for (int colour = 0; colour < colours; ++colour) field.numbers.push_back(column.at_site(site)(spin, colour));
  return field;
}

/// As a program reads it: with the lattice of the file, but for files that name none.
loaded_gauge read(const std::string& path) {
  const bool is_bare = path.find("bare") != std::string::npos;
  const extents its_own = read_gauge_header(path, is_bare ? std::optional(lattice) : std::nullopt).lattice;
  loaded_gauge loaded = read_gauge(path, lattice_geometry(its_own), alone);
  const double off = std::abs(loaded.header.plaquette - cpu::average_plaquette(loaded.links, alone));
  if (off > std::max(loaded.header.plaquette_tolerance, loaded.header.single_sum_tolerance))
    throw input_error(path + ": expected the plaquette of its header, found one that is off by " + std::to_string(off));
  if (off > loaded.header.plaquette_tolerance) loaded.header.remarks.push_back("the plaquette is off");
  return loaded;
}

read_field read_any(const std::string& path) {
  if (path.find("propagator") != std::string::npos) return read_propagator(path);
  const loaded_gauge loaded = read(path);
  read_field field{loaded.header.lattice, {}, loaded.header.precision_bits, loaded.header.remarks};
  for (std::int64_t site = 0; site < loaded.links.geometry().local_volume(); ++site)
    for (const auto& link : loaded.links.at_site(site))
      for (int i = 0; i < colours; ++i)
        for (int j = 0; j < colours; ++j) field.numbers.push_back(link(i, j));
  return field;
}

/// The largest difference of a number; inf on another lattice.
double difference(const read_field& a, const read_field& b) {
  if (a.lattice != b.lattice) return std::numeric_limits<double>::infinity();
  double worst = 0.0;
  for (std::size_t i = 0; i < a.numbers.size(); ++i) keep_largest(worst, std::sqrt(norm2(a.numbers[i] - b.numbers[i])));
  return worst;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\t') c = ' ';
  return text;
}

void answer(const std::string& path, const std::optional<read_field>& base) {
  try {
    const read_field field = read_any(path);
    const double off = base ? difference(field, *base) : std::numeric_limits<double>::infinity();
    std::string remarks;
    for (const std::string& remark : field.remarks) remarks += one_line(remark) + "\t";
    std::printf("read\t%.17g\t%d\t%s\n", off, field.bits, remarks.c_str());
  } catch (const input_error& e) {
    std::printf("refused\t%s\n", e.what());  // unchanged: it should have one line
  } catch (const std::exception& e) {
    std::printf("other\t%s\n", one_line(e.what()).c_str());
  }
  std::printf("done\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "make" && argc == 3) {
    make(argv[2]);
    return 0;
  }
  if (verb != "read") return 2;
  std::optional<read_field> base;
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t gap = line.find(' ');
    const std::string path = line.substr(gap + 1);
    if (line.substr(0, gap) == "base") base.emplace(read_any(path));
    answer(path, base);
  }
  return 0;
}
