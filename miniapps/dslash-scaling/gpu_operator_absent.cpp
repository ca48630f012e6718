// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The GPU's operators of a program that was built without CUDA.
#include <stdexcept>

#include "miniapps/dslash-scaling/latency_run.hpp"
#include "miniapps/dslash-scaling/timed_operator.hpp"
#include "miniapps/shared/gpu_access.hpp"

namespace plaquette::scaling {

std::unique_ptr<operator_maker> make_gpu_operator_maker(gpu_access&, const gauge_configuration&,
                                                        const scaling_options&) {
  throw std::logic_error("no GPU was opened");
}

std::vector<timed_transfer> time_gpu_transfers(gpu_access&, const std::vector<std::size_t>&, double, json_document&) {
  throw std::logic_error("no GPU was opened");
}
std::vector<timed_transfer> time_gpu_exchanges(gpu_access&, const std::vector<std::size_t>&, double,
                                               const communicator&) {
  throw std::logic_error("no GPU was opened");
}

}  // namespace plaquette::scaling
