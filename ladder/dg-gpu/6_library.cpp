// SPDX-License-Identifier: BSD-3-Clause
// ladder/dg-gpu/6_library.cpp: like 5_single, but by the library (gpu/dg/dg_solver.hpp). Threads compute several nodes
// each from registers, and the lift needs one scalar a node of a face. It knows all orders, media and ranks. The state
// comes from the host in each run, which is timed too.
#include "gpu/dg/dg_solver.hpp"

#include "gpu/context.hpp"
#include "ladder/dg-gpu/problem.hpp"

namespace ladder::dg_gpu {
namespace {

class library : public rung {
 public:
  library(size s, std::uint64_t seed)
      : p_(s, seed),
        context_(plaquette::lattice_geometry({2, 2, 2, 2}), comm_),
        solver_(
            plaquette::gpu::make_dg_solver(p_.domain, plaquette::precision::single, 1, context_.execution().queue())) {}
  void run() override {
    solver_->set_state(p_.state, 0);
    solver_->advance(dg::steps, p_.dt);
    context_.execution().queue().synchronize();
  }
  std::vector<double> result() const override {
    std::vector<double> numbers(p_.state.size());
    solver_->get_state(numbers);
    return numbers;
  }

 private:
  dg::problem p_;
  plaquette::communicator comm_;
  plaquette::gpu::context context_;
  std::unique_ptr<plaquette::dg_solver> solver_;
};

const add<library> rung_6("dg-gpu", 6, "the library", 3e-6, "like 5, by gpu/dg/dg_solver.hpp");

}  // namespace
}  // namespace ladder::dg_gpu
