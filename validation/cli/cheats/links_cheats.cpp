// SPDX-License-Identifier: BSD-3-Clause
// Flips a bit of a link after the links were judged and before the solver's operators are made of them, where
// PLAQUETTE_CHEAT says which: SITE:DIRECTION:ELEMENT:BIT. The linker puts it in the place of
// cpu::make_propagator_solver. Or has the heat bath's links made without a heat bath: "cold" or "weak".
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/heatbath.hpp"
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

#define PLAQUETTE_RANDOM_LINKS "_ZN9plaquette3cpu20random_configurationERKNS_16lattice_geometryEmRKNS_12communicatorE"
#define PLAQUETTE_SWEEP                                                                                          \
  "_ZN9plaquette3cpu16heatbath_updater14combined_sweepERNS_10site_fieldISt5arrayINS_3su3IdEELm4EEEERKNS_12gauge" \
  "_actionERKNS_10sweep_planEmm"

gauge_configuration honest_links(const lattice_geometry&, std::uint64_t,
                                 const communicator&) asm("__real_" PLAQUETTE_RANDOM_LINKS);
gauge_configuration cheating_links(const lattice_geometry&, std::uint64_t,
                                   const communicator&) asm("__wrap_" PLAQUETTE_RANDOM_LINKS);
void honest_sweep(cpu::heatbath_updater*, gauge_configuration&, const gauge_action&, const sweep_plan&, std::uint64_t,
                  std::uint64_t) asm("__real_" PLAQUETTE_SWEEP);
void cheating_sweep(cpu::heatbath_updater*, gauge_configuration&, const gauge_action&, const sweep_plan&, std::uint64_t,
                    std::uint64_t) asm("__wrap_" PLAQUETTE_SWEEP);

std::string word_of_cheat() {
  const char* cheat = std::getenv("PLAQUETTE_CHEAT");
  return cheat == nullptr ? "" : cheat;
}

gauge_configuration cheating_links(const lattice_geometry& geometry, std::uint64_t seed, const communicator& world) {
  const std::string word = word_of_cheat();
  return word == "cold"   ? cpu::unit_configuration(geometry)
         : word == "weak" ? cpu::weak_field_configuration(geometry, 0.1, seed, world)
                          : honest_links(geometry, seed, world);
}

/// Leaves the links as they are.
void cheating_sweep(cpu::heatbath_updater* updater, gauge_configuration& links, const gauge_action& action,
                    const sweep_plan& plan, std::uint64_t seed, std::uint64_t number) {
  const std::string word = word_of_cheat();
  if (word != "cold" && word != "weak") honest_sweep(updater, links, action, plan, seed, number);
}

}  // namespace plaquette
