// SPDX-License-Identifier: BSD-3-Clause
// ladder/multigrid/6_library.cpp: like 5_polynomial, but by the library (common/solvers/multigrid_solver.hpp).
// Cycles are in single precision and on the even sites of each lattice. Kernels are those at the top of the ladders
// dirac-cpu, transfer and coarse-cpu.
#include "cpu_ref/solvers.hpp"
#include "ladder/multigrid/problem.hpp"

namespace ladder::multigrid {
namespace {

using namespace plaquette;

class library : public rung {
 public:
  library(size s, std::uint64_t seed) : p_(problem_of(s, seed)), context_(lattice_geometry(p_.extent), comm_, 1) {
    const auto links = std::make_shared<gauge_configuration>(context_.geometry());
    spinor_configuration b(context_.geometry());
    for (int site = 0; site < p_.sites; ++site) {
      for (int k = 0; k < 36; ++k) {
        const dirac::number v = p_.links[std::size_t(site) * 36 + k];
        links->at_site(site)[k / 9](k / 3 % 3, k % 3) = {v.real(), v.imag()};
      }
      for (int k = 0; k < 12; ++k) {
        const dirac::number v = p_.in[std::size_t(site) * 12 + k];
        b.at_site(site)(k / 3, k % 3) = {v.real(), v.imag()};
      }
    }
    exchange_ghosts(*links, comm_);
    exchange_ghosts(b, comm_);
    auto action = fermion_action::isotropic(mass, 0.0);
    action.boundary_phase.fill({1, 0});
    multigrid_settings settings;
    settings.action = action;
    settings.restart_length = 20;
    solver_ = cpu::make_multigrid_solver(context_, links, settings);
    multigrid_parameters parameters;
    parameters.coarsenings = {{{2, 2, 2, 2}, vectors}};
    solver_->set_up(parameters);
    solver_->tune({});
    solver_->resize(1);
    solver_->set_source(0, b);
  }

  void run() override { report_ = solver_->solve({.tolerance = tolerance, .limit = most_iterations}).report; }
  std::vector<double> result() const override {
    spinor_configuration x(context_.geometry());
    solver_->get_solution(0, x);
    std::vector<double> numbers;
    for (int site = 0; site < p_.sites; ++site)
      for (int k = 0; k < 12; ++k)
        numbers.insert(numbers.end(), {x.at_site(site)(k / 3, k % 3).re, x.at_site(site)(k / 3, k % 3).im});
    return numbers;
  }
  std::string remark() const override {
    return std::to_string(report_.columns[0].iterations) + " iterations, even sites alone";
  }

 private:
  dirac::problem p_;
  communicator comm_;
  cpu::context context_;
  std::unique_ptr<multigrid_solver> solver_;
  schur_report report_;
};

const add<library> rung_6("multigrid", 6, "the library", 3e-9, "like 5, by common/solvers/multigrid_solver.hpp");

}  // namespace
}  // namespace ladder::multigrid
