// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Makes plaquette-make-configuration cheat, as PLAQUETTE_CHEAT says. With "no-over-relaxation" it leaves
/// over-relaxation out. With "half-a-bath" it leaves out the heat bath of every second sweep. With "few-sweeps" it
/// makes the first three sweeps alone. With "slow-clock" time goes half as fast. The linker takes these functions
/// instead of the libraries'.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cpu_ref/gauge/heatbath.hpp"

namespace plaquette {

namespace {

bool cheats(std::string_view how) {
  const char* chosen = std::getenv("PLAQUETTE_CHEAT");
  return chosen != nullptr && how == chosen;
}

}  // namespace

#define PLAQUETTE_SWEEP                                                                                     \
  "_ZN9plaquette3cpu16heatbath_updater14combined_sweepERNS_10site_fieldISt5arrayINS_3su3IdEELm4EEEERKNS_12" \
  "gauge_actionERKNS_10sweep_planEmm"
void honest_sweep(cpu::heatbath_updater*, gauge_configuration&, const gauge_action&, const sweep_plan&, std::uint64_t,
                  std::uint64_t) asm("__real_" PLAQUETTE_SWEEP);
void cheating_sweep(cpu::heatbath_updater*, gauge_configuration&, const gauge_action&, const sweep_plan&, std::uint64_t,
                    std::uint64_t) asm("__wrap_" PLAQUETTE_SWEEP);
void cheating_sweep(cpu::heatbath_updater* updater, gauge_configuration& links, const gauge_action& action,
                    const sweep_plan& plan, std::uint64_t seed, std::uint64_t number) {
  sweep_plan made = plan;
  if (cheats("no-over-relaxation")) made.overrelaxation = 0;
  if (cheats("half-a-bath") && number % 2 == 1) made.heatbath = 0;
  if (cheats("few-sweeps") && number >= 3) return;
  honest_sweep(updater, links, action, made, seed, number);
}

#define PLAQUETTE_NOW "_ZN9plaquette11seconds_nowEv"
double honest_now() asm("__real_" PLAQUETTE_NOW);
double slow_now() asm("__wrap_" PLAQUETTE_NOW);
double slow_now() { return (cheats("slow-clock") ? 0.5 : 1.0) * honest_now(); }

}  // namespace plaquette
