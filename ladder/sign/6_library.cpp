// SPDX-License-Identifier: BSD-3-Clause
// ladder/sign/6_library.cpp: like 5_mixed, but by the library (common/overlap/sign_function.hpp). It finds the modes by
// a search that knows H by its products alone. Its H works on registers of sites, on all columns at once.
#include "cpu_ref/solvers.hpp"
#include "ladder/sign/deflated.hpp"

namespace ladder::sign {
namespace {

using namespace plaquette;

class library : public sign_rung {
 public:
  library(size s, std::uint64_t seed) : sign_rung(s, seed), geometry_(p.extent) {
    const auto links = std::make_shared<gauge_configuration>(geometry_);
    for (int site = 0; site < p.sites; ++site)
      for (int k = 0; k < 36; ++k) {
        const dirac::number v = p.links[std::size_t(site) * 36 + k];
        links->at_site(site)[k / 9](k / 3 % 3, k % 3) = {v.real(), v.imag()};
      }
    const communicator alone;
    exchange_ghosts(*links, alone);
    overlap_settings settings{.rho = rho};
    settings.boundary_phase.fill({1, 0});
    solver_ = cpu::make_overlap_solver(cpu::context(geometry_, alone, 1), links, settings);
    sign_ = solver_->sign(solver_->lowest_kernel_modes({.modes = known}));
    x_ = solver_->import_vectors(p.columns, 0, [&](int column, spinor_configuration& to) {
      for (int site = 0; site < p.sites; ++site)
        for (int k = 0; k < 12; ++k) {
          const dirac::number v = x[column][std::size_t(site) * 12 + k];
          to.at_site(site)(k / 3, k % 3) = {v.real(), v.imag()};
        }
    });
  }

  void run() override {
    solver_->reset_count();
    y_ = sign_->apply(x_, delta);
  }

  std::vector<double> result() const override {
    std::vector<double> numbers;
    spinor_configuration from(geometry_);
    for (int column = 0; column < p.columns; ++column) {
      y_->get(column, from);
      for (int site = 0; site < p.sites; ++site)
        for (int k = 0; k < 12; ++k)
          numbers.insert(numbers.end(), {from.at_site(site)(k / 3, k % 3).re, from.at_site(site)(k / 3, k % 3).im});
    }
    return numbers;
  }
  std::string remark() const override {
    const auto products = [&](double number) { return std::to_string(int(number) / p.columns); };
    return products(solver_->count().as_double) + " products with H a column in double, " +
           products(solver_->count().as_single) + " in single";
  }

 private:
  lattice_geometry geometry_;
  std::unique_ptr<overlap_solver> solver_;
  sign_handle sign_;
  vectors_handle x_, y_;
};

const add<library> here("sign", 6, "the library", 2e-8, "like 5, by common/overlap/sign_function.hpp");

}  // namespace
}  // namespace ladder::sign
