// SPDX-License-Identifier: BSD-3-Clause
#include "common/solvers/timed_operator_of.hpp"
#include "gpu/solvers.hpp"
#include "gpu/solvers/backend.hpp"

namespace plaquette::gpu {

std::unique_ptr<scaling::operator_maker> make_timed_operators(const context& ctx, const scaling::timed_action& of) {
  return std::make_unique<scaling::operator_maker_of<solver_backend>>([ctx] { return ctx; }, of);
}

}  // namespace plaquette::gpu
