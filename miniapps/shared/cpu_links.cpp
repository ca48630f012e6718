// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "common/stop_point.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/heatbath.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "cpu_ref/gauge/stout.hpp"
#include "miniapps/shared/device_links.hpp"

namespace plaquette {

namespace {

class cpu_links final : public device_links {
 public:
  cpu_links(gauge_configuration links, const communicator& world)
      : links_(std::move(links)), world_(world), updater_(links_.geometry(), world) {}

  void combined_sweep(const gauge_action& action, const sweep_plan& plan, std::uint64_t seed,
                      std::uint64_t number) override {
    if (!keeps_links_of_sweep(links_.geometry())) {
      const stop_question none(nullptr);  // a sweep ends soon
      return updater_.combined_sweep(links_, action, plan, seed, number);
    }
    gauge_configuration before = links_;
    try {
      updater_.combined_sweep(links_, action, plan, seed, number);
    } catch (...) {
      links_ = std::move(before);
      throw;
    }
  }
  void smear(const stout_smearing& smearing) override { links_ = cpu::stout_smeared(links_, smearing, world_); }
  plaquettes measure() override { return cpu::measure_plaquettes(links_, world_); }
  const gauge_configuration& on_host() override { return links_; }
  gauge_configuration take() override { return std::move(links_); }

 private:
  gauge_configuration links_;
  communicator world_;
  cpu::heatbath_updater updater_;
};

}  // namespace

std::unique_ptr<device_links> links_on_cpu(gauge_configuration links, const communicator& world) {
  return std::make_unique<cpu_links>(std::move(links), world);
}

std::unique_ptr<device_links> make_links_on_cpu(const gauge_choice& choice, std::uint64_t seed,
                                                const lattice_geometry& geometry, const communicator& world) {
  switch (choice.from) {
    case gauge_choice::origin::random:
    case gauge_choice::origin::heat_bath:
      return links_on_cpu(cpu::random_configuration(geometry, seed, world), world);
    case gauge_choice::origin::weak:
      return links_on_cpu(cpu::weak_field_configuration(geometry, choice.noise, seed, world), world);
    default:
      return links_on_cpu(cpu::unit_configuration(geometry), world);
  }
}

}  // namespace plaquette
