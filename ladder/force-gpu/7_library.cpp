// SPDX-License-Identifier: BSD-3-Clause
// ladder/force-gpu/7_library.cpp: like 6_nine_numbers, but by the library: gpu/dirac/fermion_force.hpp. Threads of a
// block work on neighbours, so that one finds in the cache what another has read, and any process grid is possible.
#include "gpu/dirac/fermion_force.hpp"

#include "ladder/force-gpu/problem.hpp"

namespace ladder::force_gpu {
namespace {

class library : public force_rung {
 public:
  library(size s, std::uint64_t seed)
      : force_rung(extents_of(s), seed),
        context_(plaquette::lattice_geometry(p.extent), comm_),
        x_(context_, {4, 3, plaquette::site_subset::full, 1}),
        y_(like(x_)),
        links_(import_links(context_, host_links())),
        momenta_(context_),
        leaves_(context_) {
    import_spinor(x_, &force_rung::x);
    import_spinor(y_, &force_rung::y);
  }

  double bytes() const override { return p.sites * (576.0 + 2 * 384.0 + 3 * 864.0 + 3 * 576.0); }
  void run() override {
    clear(leaves_);
    plaquette::gpu::fill_bytes(context_.queue(), momenta_.sites().begin, 0,
                               static_cast<std::size_t>(2 * momenta_.parity_bytes()));
    add_hopping_force(momenta_, links_, action(), x_, y_, 1.0);
    add_leaves(leaves_, action(), x_, y_, 1.0);
    add_clover_force(momenta_, links_, leaves_, 1.0);
    context_.execution().queue().synchronize();
  }

  std::vector<double> result() const override {
    const plaquette::gauge_configuration from = export_links(momenta_);
    std::vector<double> to;
    for (int site = 0; site < p.sites; ++site)
      for (int k = 0; k < 36; ++k) {
        const auto& z = from.at_site(site)[k / 9](k / 3 % 3, k % 3);
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
  plaquette::gauge_configuration host_links() const {
    plaquette::gauge_configuration u(context_.geometry());
    for (int site = 0; site < p.sites; ++site)
      for (int k = 0; k < 36; ++k) {
        const complex& z = link(site, k / 9).at[k / 3 % 3][k % 3];
        u.at_site(site)[k / 9](k / 3 % 3, k % 3) = {z.re, z.im};
      }
    return u;
  }
  using spinor_of_site = const spinor& (force_rung::*)(int) const;
  void import_spinor(plaquette::gpu::field<double>& to, spinor_of_site from) const {
    plaquette::spinor_configuration psi(context_.geometry());
    for (int site = 0; site < p.sites; ++site)
      for (int k = 0; k < 12; ++k) {
        const complex& z = (this->*from)(site).spin[k / 3][k % 3];
        psi.at_site(site)(k / 3, k % 3) = {z.re, z.im};
      }
    import_column(to, 0, psi);
  }

  plaquette::communicator comm_;
  plaquette::gpu::context context_;
  plaquette::gpu::field<double> x_, y_;
  plaquette::gpu::gauge_configuration links_;
  plaquette::gpu::gauge_momenta momenta_;
  plaquette::gpu::leaf_field leaves_;
};

const add<library> rung_7("force-gpu", 7, "the library", 4e-15, "like 6, by gpu/dirac/fermion_force.hpp");

}  // namespace
}  // namespace ladder::force_gpu
