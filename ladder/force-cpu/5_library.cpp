// SPDX-License-Identifier: BSD-3-Clause
// ladder/force-cpu/5_library.cpp: like 3_shared_products, but by the library: cpu_ref/dirac/fermion_force.hpp. It takes
// any process grid. It is compiled for any processor, and reads a link by the coordinate of its site.
#include "cpu_ref/dirac/fermion_force.hpp"
#include "ladder/force-cpu/problem.hpp"

namespace ladder::force {
namespace {

class library : public force_rung {
 public:
  library(size s, std::uint64_t seed)
      : force_rung(s, seed),
        context_(plaquette::lattice_geometry(p.extent), comm_, 1),
        x_(context_, {4, 3, plaquette::site_subset::full, 1}),
        y_(like(x_)),
        links_(context_.geometry()),
        momenta_(context_.geometry()),
        leaves_(context_.geometry()) {
    import_spinor(x_, &force_rung::x);
    import_spinor(y_, &force_rung::y);
    for (int site = 0; site < p.sites; ++site)
      for (int k = 0; k < 36; ++k) {
        const complex& z = link(site, k / 9).at[k / 3 % 3][k % 3];
        links_.at_site(site)[k / 9](k / 3 % 3, k % 3) = {z.re, z.im};
      }
    exchange_ghosts(links_, comm_);
  }

  void run() override {
    clear(leaves_);
    for (int site = 0; site < p.sites; ++site) momenta_.at_site(site) = {};
    add_hopping_force(momenta_, links_, action(), x_, y_, 1.0);
    add_leaves(leaves_, action(), x_, y_, 1.0);
    add_clover_force(momenta_, links_, leaves_, 1.0, comm_);
  }

  std::vector<double> result() const override {
    std::vector<double> to;
    for (int site = 0; site < p.sites; ++site)
      for (int k = 0; k < 36; ++k) {
        const auto& z = momenta_.at_site(site)[k / 9](k / 3 % 3, k % 3);
        to.insert(to.end(), {z.re, z.im});
      }
    return to;
  }

 private:
  static plaquette::fermion_action action() {
    plaquette::fermion_action action = plaquette::fermion_action::isotropic(0.0, c_sw);
    action.boundary_phase.fill({1, 0});
    return action;
  }
  using spinor_of_site = const spinor& (force_rung::*)(int) const;
  void import_spinor(plaquette::cpu::field<double>& to, spinor_of_site from) const {
    plaquette::spinor_configuration psi(context_.geometry());
    for (int site = 0; site < p.sites; ++site)
      for (int k = 0; k < 12; ++k) {
        const complex& z = (this->*from)(site).spin[k / 3][k % 3];
        psi.at_site(site)(k / 3, k % 3) = {z.re, z.im};
      }
    import_column(to, 0, psi);
  }

  plaquette::communicator comm_;
  plaquette::cpu::context context_;
  plaquette::cpu::field<double> x_, y_;
  plaquette::gauge_configuration links_;
  plaquette::cpu::gauge_momenta momenta_;
  plaquette::cpu::leaf_field leaves_;
};

const add<library> rung_5("force-cpu", 5, "the library", 4e-15, "like 3, by cpu_ref/dirac/fermion_force.hpp");

}  // namespace
}  // namespace ladder::force
