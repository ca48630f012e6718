// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/overlap-propagator/overlap_program.hpp"

namespace plaquette {

exit_status overlap_on_gpu(app_run&, const overlap_options&, const gauge_input&) { throw gpu_is_absent(); }

}  // namespace plaquette
