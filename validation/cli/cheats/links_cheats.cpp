// SPDX-License-Identifier: BSD-3-Clause
// Flips a bit of a link after the links were judged and before the solver's operators are made of them, where
// PLAQUETTE_CHEAT says which: SITE:DIRECTION:ELEMENT:BIT. The linker puts it in the place of make_cpu_engine.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "miniapps/mixed-precision-solver/solve_engine.hpp"

namespace plaquette {

#define PLAQUETTE_ENGINE_SYMBOL                                                                                  \
  "_ZN9plaquette15make_cpu_engineERKNS_3cpu7contextERKNS_10site_fieldISt5arrayINS_3su3IdEELm4EEEERKNS_14solver_" \
  "optionsEPSA_"

std::unique_ptr<solve_engine> honest_engine(
    const cpu::context& ctx, const gauge_configuration& links, const solver_options& options,
    const gauge_configuration* source_links) asm("__real_" PLAQUETTE_ENGINE_SYMBOL);
std::unique_ptr<solve_engine> cheating_engine(
    const cpu::context& ctx, const gauge_configuration& links, const solver_options& options,
    const gauge_configuration* source_links) asm("__wrap_" PLAQUETTE_ENGINE_SYMBOL);

std::unique_ptr<solve_engine> cheating_engine(const cpu::context& ctx, const gauge_configuration& links,
                                              const solver_options& options, const gauge_configuration* source_links) {
  long site = 0;
  int mu = 0, element = 0, bit = 0;
  const char* cheat = std::getenv("PLAQUETTE_CHEAT");
  if (cheat && std::sscanf(cheat, "%ld:%d:%d:%d", &site, &mu, &element, &bit) == 4) {
    auto& link = const_cast<gauge_configuration&>(links).at_site(site)[static_cast<std::size_t>(mu)];
    auto* numbers = reinterpret_cast<double*>(&link);
    std::uint64_t bits = 0;
    std::memcpy(&bits, numbers + element, sizeof bits);
    bits ^= std::uint64_t{1} << bit;
    std::memcpy(numbers + element, &bits, sizeof bits);
  }
  return honest_engine(ctx, links, options, source_links);
}

}  // namespace plaquette
