// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// One kernel of the hopping term, compiled alone. `./plaquette kernel` sets these macros:
///   PLAQUETTE_LAB_REAL     double, float or half.
///   PLAQUETTE_LAB_LINKS    none, twelve or eight.
///   PLAQUETTE_LAB_VARIANT  tiles, tiles_once, tiles_once_20, tiles_once_24, batch, batch_common or batch_whole.
///   PLAQUETTE_LAB_CLOVER   true or false: with the site-diagonal block in the kernel.
/// The object file is linked before the library and replaces the library's file of this precision. Variant 1 (gather)
/// is always compiled too: the other variant is verified against it.
#include <stdexcept>

#include "gpu/dirac/hopping_kernels.hpp"
#include "gpu/lab/hopping_kernel.hpp"

namespace plaquette::gpu {

namespace lab {
namespace {

using real = PLAQUETTE_LAB_REAL;
constexpr reconstruct links = reconstruct::PLAQUETTE_LAB_LINKS;
constexpr bool clover = PLAQUETTE_LAB_CLOVER;
enum class variant { tiles, tiles_once, tiles_once_20, tiles_once_24, batch, batch_common, batch_whole };
constexpr variant chosen = variant::PLAQUETTE_LAB_VARIANT;

[[noreturn]] void refuse() { throw std::logic_error("this kernel was not compiled into the lab program"); }

template <variant wanted>
auto kernel() {
  using detail::made_kernel;
  if constexpr (wanted == variant::tiles)
    return made_kernel<real, hop_tiles<real, links, false, clover, false>>();
  else if constexpr (wanted == variant::tiles_once)
    return made_kernel<real, hop_tiles<real, links, false, clover, true>>();
  else if constexpr (wanted == variant::tiles_once_20)
    return made_kernel<real, hop_tiles<real, links, false, clover, true, 20>>();
  else if constexpr (wanted == variant::tiles_once_24)
    return made_kernel<real, hop_tiles<real, links, false, clover, true, 24>>();
  else if constexpr (wanted == variant::batch)
    return made_kernel<real, hop_batch<real, links, false, clover, batch_links::own>>();
  else if constexpr (wanted == variant::batch_common)
    return made_kernel<real, hop_batch<real, links, false, clover, batch_links::common>>();
  else
    return made_kernel<real, hop_batch<real, links, false, clover, batch_links::whole>>();
}

}  // namespace

bool has_kernel(const hopping_launch& how, bool with_clover) {
  if (how.variant == hopping_variant::gather) return true;
  if (with_clover != clover) return false;
  const bool batch = how.variant == hopping_variant::batch;
  switch (chosen) {
    case variant::tiles:
      return !batch && !how.links_once;
    case variant::tiles_once:
      return !batch && how.links_once && how.warps == 16;
    case variant::tiles_once_20:
      return !batch && how.links_once && how.warps == 20;
    case variant::tiles_once_24:
      return !batch && how.links_once && how.warps == 24;
    case variant::batch:
      return batch && !how.whole_links && how.groups == 1;
    case variant::batch_common:
      return batch && !how.whole_links && how.groups > 1;
    case variant::batch_whole:
      return batch && how.whole_links;
  }
  return false;
}

}  // namespace lab

namespace detail {
template <>
tile_kernel<lab::real> kernel_for<lab::real, lab::links, false, lab::clover>(const hopping_launch&) {
  return lab::kernel<lab::chosen>();
}
template <>
tile_kernel<lab::real> kernel_for<lab::real, lab::links, false, !lab::clover>(const hopping_launch&) {
  lab::refuse();
}
template <>
tile_kernel<lab::real> kernel_for<lab::real, lab::links, true, lab::clover>(const hopping_launch&) {
  lab::refuse();
}
template <>
tile_kernel<lab::real> kernel_for<lab::real, lab::links, true, !lab::clover>(const hopping_launch&) {
  lab::refuse();
}
}  // namespace detail

// The library's object of this precision defines three functions: all of them stand here, so that it is not linked.
template <>
void launch_hopping<lab::real, lab::links == reconstruct::none ? reconstruct::twelve : reconstruct::none>(
    const queue&, const hopping_work<lab::real>&, const hopping_launch&) {
  lab::refuse();
}
template <>
void launch_hopping<lab::real, lab::links == reconstruct::eight ? reconstruct::twelve : reconstruct::eight>(
    const queue&, const hopping_work<lab::real>&, const hopping_launch&) {
  lab::refuse();
}
template void launch_hopping<lab::real, lab::links>(const queue&, const hopping_work<lab::real>&,
                                                    const hopping_launch&);

}  // namespace plaquette::gpu
