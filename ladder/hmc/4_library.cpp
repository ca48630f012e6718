// SPDX-License-Identifier: BSD-3-Clause
// ladder/hmc/4_library.cpp: like 3_factors, but by the library: common/hmc/trajectory.hpp, with quarks on even sites
// alone and random numbers of its own. Schemes are data there, not loops: operations_of makes a list.
#include <cstdio>

#include "common/hmc/trajectory.hpp"
#include "cpu_ref/solvers.hpp"
#include "ladder/hmc/problem.hpp"

namespace ladder::hmc {
namespace {

using namespace plaquette;

class library : public rung {
 public:
  library(size s, std::uint64_t seed) : p_(problem_of(s, seed)), context_(lattice_geometry(p_.extent), comm_, 1) {
    gauge_configuration links(context_.geometry());
    for (int x = 0; x < p_.sites; ++x)
      for (int k = 0; k < 36; ++k) {
        const number v = p_.links[std::size_t(x) * 36 + k];
        links.at_site(x)[k / 9](k / 3 % 3, k % 3) = {v.real(), v.imag()};
      }
    hybrid_action action{.gauge = loop_action{beta}};
    action.quarks = quark_pairs{.action = fermion_action::isotropic(mass_of(s), 0.0), .twisted_masses = {0, 0.5}};
    action.quarks->action.boundary_phase.fill({1, 0});
    action.seed = seed;
    action.cg_force_tolerance = 1e-10;
    state_ = cpu::make_molecular_dynamics(context_, links, action);
    const std::string levels = "leapfrog:3(light) leapfrog:4(heavy) leapfrog:4(gauge)";
    plan_ = plan_of(action, parse_integrator(levels, term_names(action), "ladder"), tau);
  }

  void run() override {
    state_->refresh(1);
    integrate(*state_, plan_);
    dh_ = state_->change_of_energy().total();
    if (way_back_ < 0) {
      state_->reverse();
      integrate(*state_, plan_);
      way_back_ = distance(state_->links(), state_->links_of_start());
    }
    state_->restore();
    state_->finish();
  }
  std::vector<double> result() const override { return {1 + dh_, 1 + 1e8 * way_back_}; }
  std::string remark() const override {
    char text[40];
    std::snprintf(text, sizeof text, "dH %.4f, even sites alone", dh_);
    return text;
  }

 private:
  double distance(const gauge_configuration& a, const gauge_configuration& b) const {
    double most = 0;
    for (int x = 0; x < p_.sites; ++x)
      for (int mu = 0; mu < 4; ++mu)
        most = std::max(most, kinetic_energy(a.at_site(x)[mu] - b.at_site(x)[mu]));  // |difference|^2
    return std::sqrt(most);
  }

  dirac::problem p_;
  communicator comm_;
  cpu::context context_;
  std::unique_ptr<molecular_dynamics> state_;
  md_plan plan_;
  double dh_ = 0, way_back_ = -1;
};

const add<library> rung_4("hmc", 4, "the library", 0.5, "like 3, by common/hmc/trajectory.hpp");

}  // namespace
}  // namespace ladder::hmc
