// SPDX-License-Identifier: BSD-3-Clause
// Makes the files that fuzzing starts from: fuzz_make_corpus FOLDER. The corpus of meshes is kept in corpus/.
#include <cstdio>
#include <filesystem>
#include <string>

#include "common/io/gauge_file.hpp"
#include "common/lattice/source_description.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "validation/io/made_files.hpp"
#include "validation/support/test_fields.hpp"

int main(int argc, char** argv) {
  using namespace plaquette;
  if (argc != 2) {
    std::fprintf(stderr, "expected one argument, a folder, found %d\n", argc - 1);
    return 2;
  }
  const std::string gauge = std::string(argv[1]) + "/gauge_reader/", spinor = std::string(argv[1]) + "/spinor_reader/";
  std::filesystem::create_directories(gauge);
  std::filesystem::create_directories(spinor);

  const extents lattice{2, 2, 2, 2};
  const communicator alone;
  const auto u = validation::random_links(lattice, 2026);
  const double plaquette = cpu::average_plaquette(u, alone);
  const auto without = [](made::bytes b, const std::string& what) { return b.erase(b.find(what), what.size()); };

  made::put(gauge + "nersc-3x2-32-big", made::nersc(u, {32, true, true, "", "PLAQUETTE = 0.5\n"}));
  made::put(gauge + "nersc-3x2-32-plain", made::nersc(u, {32, false, true, "IEEE32"}));
  made::put(gauge + "nersc-3x3-32-little", made::nersc(u, {32, false, false}));
  const auto nersc = made::nersc(u, {32, true, true});
  made::put(gauge + "nersc-without-checksum",
            without(nersc, nersc.substr(nersc.find("CHECKSUM"), std::string("CHECKSUM = 00000000\n").size())));
  made::put(gauge + "nersc-3x3-64-big", made::nersc(u, {64, true, false}));
  made::put(gauge + "milc-big", made::milc(u, true));
  made::put(gauge + "milc-little", made::milc(u, false));
  made::put(gauge + "scidac-32", made::scidac(u, 32));
  made::put(gauge + "ildg-32", made::ildg(u, 32, "plaquette = 0.5\n"));
  made::put(gauge + "ildg-without-checksum",
            made::lime_record("ildg-format", made::ildg_format(lattice, 32), true, false) +
                made::lime_record("ildg-binary-data", made::all_links(u, 32, true), false, true));
  write_ildg(gauge + "ildg-64", u, alone,
             {.existing = existing_file::replace, .plaquette = plaquette, .date = "Sat Nov 21 00:00:00 2026"});
  made::put(gauge + "openqcd", made::openqcd(u, plaquette));
  auto open = u;
  for (std::int64_t s = 0; s < volume(lattice); ++s)
    if (u.geometry().local_coordinate(s)[3] == lattice[3] - 1) open.at_site(s)[3] = {};
  exchange_ghosts(open, alone);
  made::put(gauge + "openqcd-open-boundary", made::openqcd(open, cpu::average_plaquette(open, alone)));
  made::put(gauge + "ddalphaamg", made::ddalphaamg(u, plaquette));
  made::put(gauge + "nothing", "");

  const auto psi = validation::random_spinor(lattice, 2026);
  made::put(spinor + "etmc-64", made::etmc_spinor(psi, 64));
  made::put(spinor + "etmc-32", made::etmc_spinor(psi, 32));
  const auto data = made::all_spinors(psi, 32);
  made::put(
      spinor + "scidac-32",
      made::lime_record("scidac-private-file-xml", made::private_file_xml(lattice), true, true) +
          made::lime_record("scidac-private-record-xml", made::private_record_xml("DiracFermion", 32, 1), true, false) +
          made::lime_record("scidac-binary-data", data, false, true));
  const auto etmc = [&](int flavours) {
    return made::lime_record("etmc-propagator-format", made::etmc_format(lattice, 32, flavours), true, true);
  };
  const made::bytes field = made::spinor_data(psi, 32);
  made::put(spinor + "etmc-of-two-flavours", etmc(2) + field + field);
  made::bytes columns = etmc(1), pairs = made::usqcd_file(lattice, "USQCD_DiracFermion_Source_Sink_Pairs"),
              named = made::usqcd_file(lattice, "USQCD_DiracFermion_ScalarSource_TwelveSink");
  for (int n = 0; n < spin_colours; ++n) {
    columns += field;
    pairs += made::usqcd_spinor(psi, 32, "<usqcdSourceInfo/>") +
             made::usqcd_spinor(psi, 32, made::usqcd_info(n / colours, n % colours));
    named += made::usqcd_spinor(psi, 32, made::usqcd_info(n % spins, n / spins));
  }
  made::put(spinor + "etmc-of-one-format-record", columns);
  made::put(spinor + "pairs-of-usqcd", pairs);
  made::put(spinor + "columns-of-usqcd", named);
  made::put(spinor + "nothing", "");
  return 0;
}
