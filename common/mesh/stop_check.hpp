// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A way to end what takes long on large meshes before it is done.
#pragma once

#include <cstdint>
#include <functional>

namespace plaquette {

/// Is called at least once in a few thousand elements, and throws where the work is to end. Empty: is not called.
using stop_check = std::function<void()>;

/// Calls a stop_check at some of its calls only, for loops of short steps.
class paced_stop {
 public:
  /// \param check  must live as long
  explicit paced_stop(const stop_check& check) : check_(check ? &check : nullptr) {}
  void operator()() {
    constexpr std::uint32_t stride = 4096;
    if (check_ != nullptr && ++steps_ % stride == 0) (*check_)();
  }

 private:
  const stop_check* check_;
  std::uint32_t steps_ = 0;
};

}  // namespace plaquette
