// SPDX-License-Identifier: BSD-3-Clause
// ladder/dg-cpu/5_library.cpp: like 4_traces, but by the library (cpu_ref/dg/production.hpp). Fields become covariant
// components first, which saves products; two numbers a node are handed on, transposed in registers; it prefetches, and
// works for any order, medium and number of ranks.
#include "cpu_ref/dg/production.hpp"
#include "ladder/dg-cpu/problem.hpp"

namespace ladder::dg {
namespace {

class library : public rung {
 public:
  library(size s, std::uint64_t seed)
      : p_(s, seed), solver_(plaquette::cpu::make_dg_solver(p_.domain, {.threads = 1})) {}

  void run() override {
    solver_->set_state(p_.state, 0);
    solver_->advance(steps, p_.dt);
  }
  std::vector<double> result() const override {
    std::vector<double> numbers(p_.state.size());
    solver_->get_state(numbers);
    return numbers;
  }

 private:
  problem p_;
  std::unique_ptr<plaquette::dg_solver> solver_;
};

const add<library> rung_5("dg-cpu", 5, "the library", 6e-15, "like 4, by cpu_ref/dg/production.hpp");

}  // namespace
}  // namespace ladder::dg
