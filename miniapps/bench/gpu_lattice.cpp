// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/gpu_lattice.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/app/draw.hpp"
#include "common/error.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "gpu/gauge/heatbath.hpp"
#include "gpu/gauge/plaquette.hpp"

namespace plaquette::bench {

namespace {

constexpr std::uint64_t seed = 23;

gpu::gauge_configuration made(const gpu::context& ctx, const gauge_choice& choice) {
  switch (choice.from) {
    case gauge_choice::origin::unit:
      return gpu::unit_configuration(ctx);
    case gauge_choice::origin::random:
      return gpu::random_configuration(ctx, seed);
    case gauge_choice::origin::weak:
      return gpu::weak_field_configuration(ctx, choice.noise, seed);
    case gauge_choice::origin::heat_bath:
      return gpu::heatbath_configuration(ctx, {choice.beta}, {}, choice.sweeps, seed);
    default:
      throw input_error("--gauge: the bench makes its links itself, found the file " + choice.path);
  }
}

}  // namespace

gpu_lattice::gpu_lattice(const extents& lattice, const gauge_choice& choice, std::shared_ptr<gpu::tuner> tuner)
    : context_(lattice_geometry(lattice), communicator(), 0, std::move(tuner)),
      links_(made(context_, choice)),
      plaquette_(gpu::measure_plaquettes(links_).average) {}

const plaquette::gauge_configuration& gpu_lattice::links_on_host() {
  if (!host_links_) host_links_ = gpu::export_links(links_);
  return *host_links_;
}

/// A prime stride: all faces are met, and about a thousand sites. The first one is drawn, when the output is there.
template <class Visit>
void gpu_lattice::at_sampled_sites(int parity, Visit&& visit) const {
  const lattice_geometry& geometry = context_.geometry();
  const std::int64_t stride = std::max<std::int64_t>(1, geometry.local_volume() / 1999);
  const std::uint64_t first = drawn_number(communicator()) % static_cast<std::uint64_t>(stride);
  for (auto s = static_cast<std::int64_t>(first); s < geometry.local_volume(); s += stride) {
    const coordinate x = geometry.local_coordinate(s);
    if ((x[0] + x[1] + x[2] + x[3]) % 2 == parity) visit(x);
  }
}

double gpu_lattice::distance_from_textbook(const spinor_configuration& found, spinor_configuration& psi,
                                           const fermion_action& action, int parity) {
  exchange_ghosts(psi, context_.comm());
  const auto& links = links_on_host();
  double wrong = 0.0, size = 0.0;
  at_sampled_sites(parity, [&](const coordinate& x) {
    const auto expected = cpu::textbook::at_site(x, psi, links, action);
    wrong += norm2(found(x) - expected);
    size += norm2(expected);
  });
  return std::sqrt(wrong / size);
}

double gpu_lattice::remainder_of_textbook(spinor_configuration& psi, const fermion_action& action, int parity) {
  exchange_ghosts(psi, context_.comm());
  const auto& links = links_on_host();
  double remainder = 0.0, size = 0.0;
  at_sampled_sites(parity, [&](const coordinate& x) {
    remainder += norm2(cpu::textbook::at_site(x, psi, links, action));
    size += norm2(psi(x));
  });
  return std::sqrt(remainder / size);
}

}  // namespace plaquette::bench
