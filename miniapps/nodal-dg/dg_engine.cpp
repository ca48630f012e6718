// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/dg_engine.hpp"

#include "miniapps/shared/gpu_access.hpp"

namespace plaquette::nodal_dg {

namespace {

dg_settings settings_of(const nodal_dg_options& options) {
  using enum dg_settings::kernel_choice;
  dg_settings settings;
  settings.numbers = options.shared.precision == "single" ? precision::single : precision::double_;
  settings.columns = options.states;
  settings.kernel = options.kernel == "products"  ? products
                    : options.kernel == "gather"  ? gather
                    : options.kernel == "classic" ? classic
                    : options.kernel == "fused"   ? fused
                                                  : automatic;
  settings.waits_asleep = options.shared.wait == "block";
  settings.overlap = options.shared.overlap;
  return settings;
}

}  // namespace

std::unique_ptr<dg_solver> make_solver(const library& device, const dg_domain& domain, const nodal_dg_options& options,
                                       const stop_check& stop) {
  dg_settings settings = settings_of(options);
  settings.time_parts = true;
  settings.stop = stop;
  return device.make_dg_solver(domain, settings);
}

double bytes_of_solver(const dg_domain& domain, const nodal_dg_options& options) {
  const platform* const found = find_platform(device_of(options.shared));
  return found == nullptr ? 0.0 : found->bytes_of_dg_solver(domain, settings_of(options));
}

}  // namespace plaquette::nodal_dg
