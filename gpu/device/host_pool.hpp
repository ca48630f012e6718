// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fields in memory of the host, if a device has no room for them.
#pragma once

#include <memory>

#include "gpu/device/memory_pool.hpp"

namespace plaquette::gpu {

/// Returns a pool of page-locked memory of the host, which kernels of any device reach over its link. While
/// `redirected_memory` has it, fields are made there; all functions take them. The cache keeps little of them: H should
/// not read its neighbours there.
std::shared_ptr<memory_pool> make_host_pool();

}  // namespace plaquette::gpu
