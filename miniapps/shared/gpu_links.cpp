// SPDX-License-Identifier: BSD-3-Clause
#include <optional>
#include <utility>

#include "gpu/gauge/gauge_fields.hpp"
#include "gpu/gauge/heatbath.hpp"
#include "gpu/gauge/plaquette.hpp"
#include "gpu/gauge/stout.hpp"
#include "miniapps/shared/device_links.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette {

namespace {

class gpu_links final : public device_links {
 public:
  gpu_links(gpu::context ctx, gpu::gauge_configuration links)
      : context_(std::move(ctx)), links_(std::move(links)), updater_(context_) {}

  void combined_sweep(const gauge_action& action, const sweep_plan& plan, std::uint64_t seed,
                      std::uint64_t number) override {
    host_.reset();
    updater_.combined_sweep(links_, action, plan, seed, number);
    context_.queue().synchronize();
  }
  void smear(const stout_smearing& smearing) override {
    host_.reset();
    links_ = gpu::stout_smeared(links_, smearing);
    context_.queue().synchronize();
  }
  plaquettes measure() override { return gpu::measure_plaquettes(links_); }
  const gauge_configuration& on_host() override {
    if (!host_) host_ = gpu::export_links(links_);
    return *host_;
  }
  gauge_configuration take() override {
    on_host();
    return *std::exchange(host_, std::nullopt);
  }

 private:
  gpu::context context_;
  gpu::gauge_configuration links_;
  gpu::heatbath_updater updater_;
  std::optional<gauge_configuration> host_;  ///< none where a sweep has made it old
};

gpu::gauge_configuration made(const gauge_choice& choice, std::uint64_t seed, const gpu::context& ctx) {
  switch (choice.from) {
    case gauge_choice::origin::random:
    case gauge_choice::origin::heat_bath:
      return gpu::random_configuration(ctx, seed);
    case gauge_choice::origin::weak:
      return gpu::weak_field_configuration(ctx, choice.noise, seed);
    default:
      return gpu::unit_configuration(ctx);
  }
}

}  // namespace

std::unique_ptr<device_links> links_on_gpu(gpu_access& gpu, const gauge_configuration& links) {
  return std::make_unique<gpu_links>(gpu.context(), gpu::import_links(gpu.context(), links));
}

std::unique_ptr<device_links> make_links_on_gpu(gpu_access& gpu, const gauge_choice& choice, std::uint64_t seed) {
  return std::make_unique<gpu_links>(gpu.context(), made(choice, seed, gpu.context()));
}

std::unique_ptr<device_links> make_own_links_on_gpu(gpu_access& gpu, const gauge_choice& choice, std::uint64_t seed,
                                                    const extents& lattice) {
  const gpu::context own(lattice_geometry(lattice), communicator(), gpu.context().queue().device());
  return std::make_unique<gpu_links>(own, made(choice, seed, own));
}

}  // namespace plaquette
