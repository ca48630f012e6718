// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dg/production.hpp"
#include "miniapps/nodal-dg/dg_engine.hpp"

namespace plaquette::nodal_dg {

namespace {

cpu::dg_options library_options(const nodal_dg_options& options, bool parts) {
  cpu::dg_options library;
  library.precision = options.shared.precision;
  library.columns = options.states;
  library.waits_asleep = options.shared.wait == "block";
  library.overlap = options.shared.overlap;
  library.time_parts = parts;
  return library;
}

}  // namespace

std::unique_ptr<dg_solver> make_cpu_solver(const dg_domain& domain, const nodal_dg_options& options, bool parts,
                                           const stop_check& stop) {
  cpu::dg_options library = library_options(options, parts);
  library.stop = stop;
  return cpu::make_dg_solver(domain, library);
}

double cpu_bytes(const dg_domain& domain, const nodal_dg_options& options) {
  return cpu::dg_memory_needed(domain, library_options(options, false));
}

}  // namespace plaquette::nodal_dg
