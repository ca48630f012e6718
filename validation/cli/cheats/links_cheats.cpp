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

#include "cpu_ref/solvers.hpp"
#include "miniapps/shared/device_links.hpp"

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

#define PLAQUETTE_MAKE_LINKS \
  "_ZN9plaquette17make_links_on_cpuERKNS_12gauge_choiceEmRKNS_16lattice_geometryERKNS_12communicatorE"

std::unique_ptr<device_links> honest_links(const gauge_choice&, std::uint64_t, const lattice_geometry&,
                                           const communicator&) asm("__real_" PLAQUETTE_MAKE_LINKS);
std::unique_ptr<device_links> cheating_links(const gauge_choice&, std::uint64_t, const lattice_geometry&,
                                             const communicator&) asm("__wrap_" PLAQUETTE_MAKE_LINKS);

/// Links that no sweep changes.
struct frozen_links final : device_links {
  explicit frozen_links(std::unique_ptr<device_links> links) : links_(std::move(links)) {}
  void combined_sweep(const gauge_action&, const sweep_plan&, std::uint64_t, std::uint64_t) override {}
  void smear(const stout_smearing& smearing) override { links_->smear(smearing); }
  plaquettes measure() override { return links_->measure(); }
  const gauge_configuration& on_host() override { return links_->on_host(); }
  gauge_configuration take() override { return links_->take(); }
  std::unique_ptr<device_links> links_;
};

std::unique_ptr<device_links> cheating_links(const gauge_choice& choice, std::uint64_t seed,
                                             const lattice_geometry& geometry, const communicator& world) {
  const char* cheat = std::getenv("PLAQUETTE_CHEAT");
  const std::string word = cheat == nullptr ? "" : cheat;
  if (word != "cold" && word != "weak") return honest_links(choice, seed, geometry, world);
  gauge_choice other;
  other.from = word == "cold" ? gauge_choice::origin::unit : gauge_choice::origin::weak;
  other.noise = 0.1;
  return std::make_unique<frozen_links>(honest_links(other, seed, geometry, world));
}

}  // namespace plaquette
