// SPDX-License-Identifier: BSD-3-Clause
// Flips a bit of a link after the links were judged and before the solver's operators are made of them, where
// PLAQUETTE_CHEAT says which: SITE:DIRECTION:ELEMENT:BIT. The linker puts it in the place of
// cpu::make_propagator_solver.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "cpu_ref/solvers.hpp"

namespace plaquette {

#define PLAQUETTE_MAKE_SOLVER                                                                   \
  "_ZN9plaquette3cpu22make_propagator_solverERKNS0_7contextESt10shared_ptrIKNS_10site_fieldISt" \
  "5arrayINS_3su3IdEELm4EEEEERKNS_19propagator_settingsE"

std::unique_ptr<propagator_solver> honest_solver(const cpu::context&, std::shared_ptr<const gauge_configuration>,
                                                 const propagator_settings&) asm("__real_" PLAQUETTE_MAKE_SOLVER);
std::unique_ptr<propagator_solver> cheating_solver(const cpu::context&, std::shared_ptr<const gauge_configuration>,
                                                   const propagator_settings&) asm("__wrap_" PLAQUETTE_MAKE_SOLVER);

std::unique_ptr<propagator_solver> cheating_solver(const cpu::context& ctx,
                                                   std::shared_ptr<const gauge_configuration> links,
                                                   const propagator_settings& settings) {
  long site = 0;
  int mu = 0, element = 0, bit = 0;
  const char* cheat = std::getenv("PLAQUETTE_CHEAT");
  if (cheat && std::sscanf(cheat, "%ld:%d:%d:%d", &site, &mu, &element, &bit) == 4) {
    auto& link = const_cast<gauge_configuration&>(*links).at_site(site)[static_cast<std::size_t>(mu)];
    auto* numbers = reinterpret_cast<double*>(&link);
    std::uint64_t bits = 0;
    std::memcpy(&bits, numbers + element, sizeof bits);
    bits ^= std::uint64_t{1} << bit;
    std::memcpy(numbers + element, &bits, sizeof bits);
  }
  return honest_solver(ctx, std::move(links), settings);
}

}  // namespace plaquette
