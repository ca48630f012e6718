// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gauge/heatbath.hpp"

#include "common/error.hpp"
#include "common/gauge/staples.hpp"
#include "common/gauge/subgroup_updates.hpp"
#include "common/random/random_matrix.hpp"
#include "common/random/su2_sampler.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/lattice_sites.hpp"
#include "gpu/gauge/links_with_ghosts.hpp"
#include "gpu/gauge/plaquette.hpp"

namespace plaquette::gpu {
namespace {

enum class update_kind { heatbath, overrelaxation };

/// One link of direction mu and of one parity: none of these is in another's staples.
template <update_kind kind>
struct update_link {
  ghosted_matrices<dimensions, std::byte> links;
  site_order order;
  global_order whole;  ///< of a coordinate of the box with ghosts
  int mu;
  int own_parity;
  plane_weights weight;
  double beta;
  std::uint64_t seed, first_stream;  ///< of the subgroups' three

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const box_site x = links.site(order, {own_parity, static_cast<std::int32_t>(n)});
    su3<double> u_staples = closing_staples(links, x, mu, weight);
    su3<double> u = links(x, mu);
    u_staples = u * u_staples;
    update_in_subgroups(u, u_staples, [&](const quaternion<double>& r, int subgroup) {
      if constexpr (kind == update_kind::heatbath) {
        random_stream random(seed, first_stream + static_cast<std::uint64_t>(subgroup), whole.index(x.at));
        return heatbath_element(r, beta, random);
      } else {
        return reflection(r);
      }
    });
    links.at.store(x.parity, x.index, mu, put_into_su3(u));
  }
};

/// Direction by direction and parity by parity, as on the CPU. Every rank's links of those have changed before any
/// rank's next ones do.
template <update_kind kind>
void sweep(links_with_ghosts& links, const gauge_action& action, std::uint64_t seed, std::uint64_t sweep_number) {
  constexpr std::uint64_t subgroups = std::size(su2_subgroups);
  const context& ctx = links.get_context();
  const auto sites = links.sites();
  for (int mu = 0; mu < dimensions; ++mu)
    for (int parity = 0; parity < 2; ++parity) {
      const std::uint64_t direction = sweep_number * dimensions + static_cast<std::uint64_t>(mu);
      const update_link<kind> update{
          sites,       ctx.order(), sites.box.global(ctx.geometry()),
          mu,          parity,      plane_weights(mu, [&](int a, int b) { return action.plane_weight(a, b); }),
          action.beta, seed,        random_stream_id(random_purpose::heatbath, direction * subgroups)};
      for_each_index(ctx.queue(), ctx.order().sites, update, 128);
      links.exchange(mu, parity);
    }
}

void combine(links_with_ghosts& links, const gauge_action& action, const sweep_plan& plan, std::uint64_t seed,
             std::uint64_t number) {
  for (int i = 0; i < plan.heatbath; ++i)
    sweep<update_kind::heatbath>(links, action, seed,
                                 number * static_cast<std::uint64_t>(plan.heatbath) + static_cast<std::uint64_t>(i));
  for (int i = 0; i < plan.overrelaxation; ++i) sweep<update_kind::overrelaxation>(links, action, 0, 0);
}

}  // namespace

double action_value(const gauge_configuration& links, const gauge_action& action) {
  return plaquette::action_value(measure_plaquettes(links), action, links.get_context().geometry().global_volume());
}

template <class Work>
void heatbath_updater::update(gauge_configuration& links, const gauge_action& action, Work&& work) const {
  const lattice_geometry& found = links.get_context().geometry();
  if (!(found == context_.geometry()))
    throw input_error("heat bath: made for a lattice " + to_string(context_.geometry().global()) +
                      ", given links of a lattice " + to_string(found.global()));
  require_usable(action);
  links_with_ghosts around(links);
  work(around);
  around.write_back();
}

void heatbath_updater::heatbath_sweep(gauge_configuration& links, const gauge_action& action, std::uint64_t seed,
                                      std::uint64_t sweep_number) {
  update(links, action,
         [&](links_with_ghosts& around) { sweep<update_kind::heatbath>(around, action, seed, sweep_number); });
}

void heatbath_updater::overrelaxation_sweep(gauge_configuration& links, const gauge_action& action) {
  update(links, action, [&](links_with_ghosts& around) { sweep<update_kind::overrelaxation>(around, action, 0, 0); });
}

void heatbath_updater::combined_sweep(gauge_configuration& links, const gauge_action& action, const sweep_plan& plan,
                                      std::uint64_t seed, std::uint64_t number) {
  update(links, action, [&](links_with_ghosts& around) { combine(around, action, plan, seed, number); });
}

void heatbath_sweep(gauge_configuration& links, const gauge_action& action, std::uint64_t seed,
                    std::uint64_t sweep_number) {
  heatbath_updater(links.get_context()).heatbath_sweep(links, action, seed, sweep_number);
}

void overrelaxation_sweep(gauge_configuration& links, const gauge_action& action) {
  heatbath_updater(links.get_context()).overrelaxation_sweep(links, action);
}

gauge_configuration heatbath_configuration(const context& ctx, const gauge_action& action, const sweep_plan& plan,
                                           int sweeps, std::uint64_t seed) {
  gauge_configuration links = unit_configuration(ctx);
  heatbath_updater updater(ctx);
  for (int n = 0; n < sweeps; ++n) updater.combined_sweep(links, action, plan, seed, static_cast<std::uint64_t>(n));
  return links;
}

}  // namespace plaquette::gpu
