// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/solvers.hpp"
namespace plaquette::gpu {
std::unique_ptr<molecular_dynamics> make_molecular_dynamics(const context&, const plaquette::gauge_configuration&,
                                                            const hybrid_action&) {
  throw input_error("hmc: expected --device cpu, found gpu");
}
}  // namespace plaquette::gpu
