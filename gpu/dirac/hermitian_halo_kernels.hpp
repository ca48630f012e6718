// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Hermitian Wilson operator on several ranks, instantiated a precision a file. For .cu files only.
///
/// A few blocks pack both parities of all faces into the neighbours' memory. The next kernel is the kernel of one rank.
/// It starts next to them and begins far from the cuts; threads at a cut wait for their messages, which by then are
/// here or almost.
#pragma once

#include <algorithm>

#include "gpu/dirac/hermitian_kernels.hpp"

namespace plaquette::gpu {

#ifdef __CUDACC__

inline constexpr int face_threads = 512, most_blocks_of_face = 16;

struct face_blocks {
  unsigned first[hop_directions + 1];  ///< blocks of each direction's message follow each other
};

template <class T>
__global__ void __launch_bounds__(face_threads)
    pack_lattice_faces(const __grid_constant__ hermitian_arguments<T> arg, const __grid_constant__ hermitian_halo halo,
                       const __grid_constant__ face_blocks blocks) {
  wait_for_previous_kernel();
  trigger_dependent_launch();  // behind the wait: the next kernel's input is there when it starts
  const std::uint32_t application = load_counter(halo.zones.completed) + 1;
  int direction = 0;
  while (blockIdx.x >= blocks.first[direction + 1]) ++direction;
  const lattice_face_packing<T> faces{arg, halo};
  const unsigned of_direction = blocks.first[direction + 1] - blocks.first[direction];
  const auto sites = static_cast<unsigned>(faces.pieces(direction) * lanes);
  for (unsigned i = (blockIdx.x - blocks.first[direction]) * face_threads + threadIdx.x; i < sites;
       i += of_direction * face_threads)
    faces.pack(direction, static_cast<std::int32_t>(i / lanes), static_cast<std::int32_t>(i % lanes),
               static_cast<int>(application & 1U));
  announce_message(halo.zones, direction, of_direction, application, threadIdx.x);
  if (threadIdx.x == 0) count_reader(halo.zones, gridDim.x, application);
}

template <class T>
void queue_lattice_packing(const queue& q, const hermitian_arguments<T>& arg, const hermitian_halo& halo) {
  face_blocks blocks{};
  for (int d = 0; d < hop_directions; ++d)
    blocks.first[d + 1] =
        blocks.first[d] + static_cast<unsigned>(std::min(
                              (lattice_face_packing<T>{arg, halo}.pieces(d) * lanes + face_threads - 1) / face_threads,
                              most_blocks_of_face));
  launch_kernel(q, dim3(blocks.first[hop_directions]), dim3(face_threads), 0, true, pack_lattice_faces<T>, arg, halo,
                blocks);
}

#else

template <class T>
void queue_lattice_packing(const queue& q, const hermitian_arguments<T>& arg, const hermitian_halo& halo) {
  const ghost_zones& zones = halo.zones;
  *zones.current = *zones.completed + 1;
  for (int d = 0; d < hop_directions; ++d) {
    if (!zones.is_cut(d)) continue;
    for_each_index(q, std::int64_t{lanes} * lattice_face_packing<T>{arg, halo}.pieces(d),
                   pack_lattice_face<T>{arg, halo, d});
    if (zones.announced[d] != nullptr) set_flag(zones.announced[d], *zones.current);
  }
  *zones.completed = *zones.current;
}

#endif

template <class T>
void launch_hermitian_of_rank(const queue& q, const hermitian_work<T>& work, const hermitian_halo& halo,
                              reconstruct stored, const hermitian_launch& how) {
  queue_lattice_packing(q, work.arg, halo);
#ifdef __CUDACC__
  if (launched_on_lattice(q, work, stored, how, halo)) return;
#endif
  static_cast<void>(how);
  for_each_index(q, hop_directions, wait_for_messages_of_kernels{halo.zones}, 32);
  const std::int64_t count = 2 * std::int64_t{work.arg.hops.order.sites} * work.arg.hops.columns;
  const auto run = [&]<reconstruct kept>() {
    for_each_index(q, count, gather_hermitian_of_rank<T, kept>{work.arg, work.phases, halo}, 128);
  };
  if (stored == reconstruct::none) return run.template operator()<reconstruct::none>();
  if (stored == reconstruct::twelve) return run.template operator()<reconstruct::twelve>();
  run.template operator()<reconstruct::eight>();
}

}  // namespace plaquette::gpu
