// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-gpu/9_library.cpp: like 8_tiles, but by the library's hopping term (gpu/dirac/hopping_term.hpp).
// A tuner finds the shape of tiles. Numbers of a site are loaded 16 bytes at a time, and the result has 16 bits too.
// gpu/dirac/NOTES.md says what each of these gains.
#include "gpu/dirac/hopping_term.hpp"

#include "ladder/dirac-gpu/problem.hpp"

namespace ladder::dirac_gpu {
namespace {

using plaquette::half, plaquette::site_subset;

class library : public gpu_rung {
 public:
  library(size s, std::uint64_t seed)
      : gpu_rung(s, seed),
        context_(plaquette::lattice_geometry(p.extent), comm_),
        term_(context_, links(), periodic(), plaquette::reconstruct::twelve),
        in_(context_, {4, 3, site_subset::full, p.columns}),
        out_(context_, {4, 3, site_subset::full, p.columns}) {
    for (int column = 0; column < p.columns; ++column) {
      plaquette::spinor_configuration psi(context_.geometry());
      for (int x = 0; x < p.sites; ++x)
        for (int k = 0; k < 12; ++k) {
          const number v = p.in[(std::size_t(column) * p.sites + x) * 12 + k];
          psi.at_site(x)(k / 3, k % 3) = {v.real(), v.imag()};
        }
      import_column(in_, column, psi);
    }
  }

  double bytes() const override {  // 24 numbers of a site's links; a spinor's 12 and its scale, in and out
    return p.sites * (24.0 * 4 + columns * 2 * (12.0 * 4 + 4));
  }
  void run() override {
    for (int parity : {0, 1}) {
      auto to = out_.parity(parity);
      term_.apply(to, in_.parity(1 - parity));
    }
    context_.execution().queue().synchronize();
  }

  std::vector<double> result() const override {
    std::vector<double> numbers;
    for (int column = 0; column < p.columns; ++column) {
      plaquette::spinor_configuration psi(context_.geometry());
      export_column(psi, out_, column);
      for (int x = 0; x < p.sites; ++x)
        for (int k = 0; k < 12; ++k)
          numbers.insert(numbers.end(), {psi.at_site(x)(k / 3, k % 3).re, psi.at_site(x)(k / 3, k % 3).im});
    }
    return numbers;
  }

 private:
  static plaquette::fermion_action periodic() {
    plaquette::fermion_action action;
    action.boundary_phase.fill({1, 0});
    return action;
  }
  plaquette::gauge_configuration links() const {
    plaquette::gauge_configuration u(context_.geometry());
    for (int x = 0; x < p.sites; ++x)
      for (int k = 0; k < 36; ++k) {
        const number v = p.links[std::size_t(x) * 36 + k];
        u.at_site(x)[k / 9](k / 3 % 3, k % 3) = {v.real(), v.imag()};
      }
    exchange_ghosts(u, comm_);
    return u;
  }

  plaquette::communicator comm_;
  plaquette::gpu::context context_;
  plaquette::gpu::hopping_term<half> term_;
  plaquette::gpu::field<half> in_, out_;
};

const add<library> rung_9("dirac-gpu", 9, "the library", 6e-4, "like 8, by gpu/dirac/hopping_term.hpp");

}  // namespace
}  // namespace ladder::dirac_gpu
