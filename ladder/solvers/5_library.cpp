// SPDX-License-Identifier: BSD-3-Clause
// ladder/solvers/5_library.cpp: like 4_batch, but by the library (common/solvers/propagator_solver.hpp): BiCGstab with
// reliable updates on the even sites alone, in double and single precision, with the kernels of dirac-cpu's last rung.
#include "cpu_ref/solvers.hpp"
#include "ladder/solvers/problem.hpp"

namespace ladder::solvers {
namespace {

using namespace plaquette;

class rung_5 : public solver_rung {
 public:
  rung_5(size s, std::uint64_t seed) : solver_rung(s, seed), context_(lattice_geometry(p.extent), comm_, 1) {
    const auto links = std::make_shared<gauge_configuration>(context_.geometry());
    for (int site = 0; site < p.sites; ++site)
      for (int k = 0; k < 36; ++k) {
        const dirac::number v = p.links[std::size_t(site) * 36 + k];
        links->at_site(site)[k / 9](k / 3 % 3, k % 3) = {v.real(), v.imag()};
      }
    exchange_ghosts(*links, comm_);
    auto action = fermion_action::isotropic(-1.3, 0.0);
    action.boundary_phase.fill({1, 0});
    auto settings = settings_of(action, precision::double_, precision::single);
    settings.columns = p.columns;
    settings.solver = solver_kind::bicgstab;
    solver_ = cpu::make_propagator_solver(context_, links, settings);
    for (int column = 0; column < p.columns; ++column) {
      spinor_configuration from(context_.geometry());
      for (int site = 0; site < p.sites; ++site)
        for (int k = 0; k < 12; ++k) {
          const dirac::number v = b[column][std::size_t(site) * 12 + k];
          from.at_site(site)(k / 3, k % 3) = {v.real(), v.imag()};
        }
      exchange_ghosts(from, comm_);
      solver_->set_source(column, from);
    }
  }

  void run() override { report_ = solver_->solve({.tolerance = tolerance}); }

  std::vector<double> result() const override {
    std::vector<double> numbers;
    for (int column = 0; column < p.columns; ++column) {
      spinor_configuration to(context_.geometry());
      solver_->get_solution(column, to);
      for (int site = 0; site < p.sites; ++site)
        for (int k = 0; k < 12; ++k)
          numbers.insert(numbers.end(), {to.at_site(site)(k / 3, k % 3).re, to.at_site(site)(k / 3, k % 3).im});
    }
    return numbers;
  }
  std::string remark() const override { return "even sites alone, double and single"; }

 private:
  communicator comm_;
  cpu::context context_;
  std::unique_ptr<propagator_solver> solver_;
  propagator_report report_;
};

const add<rung_5> here("solvers", 5, "the library", 3e-9, "like 4, by common/solvers/propagator_solver.hpp");

}  // namespace
}  // namespace ladder::solvers
