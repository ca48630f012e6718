// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which kernels of a file are compiled: all of them in the library, one for `./plaquette kernel`, which names it by
/// the macro PLAQUETTE_ONE_KERNEL, a list of integers. Each file says next to its launches which integers these are.
#pragma once

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>

namespace plaquette::gpu {

template <int... choice>
constexpr bool is_compiled() {
#ifdef PLAQUETTE_ONE_KERNEL
  constexpr int wanted[] = {PLAQUETTE_ONE_KERNEL}, here[] = {choice...};
  return std::equal(std::begin(wanted), std::end(wanted), std::begin(here), std::end(here));
#else
  return true;
#endif
}

/// Throws std::logic_error with the numbers of the kernel that a shape needs and that was not compiled.
template <int... choice>
[[noreturn]] void refuse_kernel() {
  std::string numbers;
  ((numbers += " " + std::to_string(choice)), ...);
  throw std::logic_error("this shape needs the kernel" + numbers +
                         ", which was not compiled: choose another --variant");
}

}  // namespace plaquette::gpu
