// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-cpu/10_library.cpp: like 9_halo, but by the library's hopping term: cpu_ref/dirac/hopping_term.hpp,
// whose kernel is cpu_ref/simd/hopping_kernel.hpp. It prefetches, orders blocks for the caches, and works on any
// process grid.
#include "cpu_ref/dirac/hopping_term.hpp"
#include "ladder/dirac-cpu/problem.hpp"

namespace ladder::dirac {
namespace {

using plaquette::half, plaquette::site_subset;

class library : public dirac_rung {
 public:
  library(size s, std::uint64_t seed)
      : dirac_rung(s, seed),
        context_(plaquette::lattice_geometry(p.extent), comm_, 1),
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

  void run() override {
    for (int parity : {0, 1}) {
      plaquette::cpu::field<half> to = out_.parity(parity);
      term_.apply(to, in_.parity(1 - parity));
    }
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
  plaquette::cpu::context context_;
  plaquette::cpu::hopping_term<half> term_;
  plaquette::cpu::field<half> in_, out_;
};

const add<library> here("dirac-cpu", 10, "the library", 4e-4, "like 9, by cpu_ref/dirac/hopping_term.hpp");

}  // namespace
}  // namespace ladder::dirac
