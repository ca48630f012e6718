// SPDX-License-Identifier: BSD-3-Clause
#include "common/solvers/timed_operator_of.hpp"
#include "cpu_ref/solvers.hpp"
#include "cpu_ref/solvers/backend.hpp"

namespace plaquette::cpu {

std::unique_ptr<scaling::operator_maker> make_timed_operators(const context& ctx, const scaling::timed_action& of) {
  // Memory that is given back to a pool and taken again for other fields lies where other threads have touched it.
  const auto another = [ctx] { return context(ctx.geometry(), ctx.comm(), ctx.threads(), ctx.isa()); };
  return std::make_unique<scaling::operator_maker_of<solver_backend>>(another, of);
}

}  // namespace plaquette::cpu
