// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Variant 4, for low orders: a warp takes 32 elements, one a lane, and keeps all sums of an element in registers. The
/// matrices are constants of the launch, operands of the multiply-adds themselves. So shared memory, whose throughput
/// limits variant 3 at low orders, only brings nodes from the order of memory to lanes, and results back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/device/launch.hpp"
#include "gpu/dg/dg_arrays.hpp"
#include "gpu/dg/fused_engines.hpp"
#include "gpu/dg/fused_stage.hpp"
#include "gpu/dg/fused_systems.hpp"

namespace plaquette::gpu::dg {

template <int warps_, int blocks_>
struct lane_shape {
  static constexpr int warps = warps_, blocks = blocks_;  ///< of a block; of a multiprocessor
};

/// Returns node m of a face (reference_element::face_node), known when compiling.
constexpr int node_of_face(int order, int face, int m) {
  int c = 0, b = m;
  while (b > order - c) b -= order - c + 1, ++c;
  const int weights[3] = {order - b - c, b, c};
  int at[3] = {0, 0, 0};  // lattice indices i, j, k: weights of corners 1, 2, 3
  for (int corner = 0, n = 0; corner < 4; ++corner)
    if (corner != face) {
      if (corner > 0) at[corner - 1] = weights[n];
      ++n;
    }
  int node = 0;
  for (int k = 0; k < at[2]; ++k) node += (order - k + 1) * (order - k + 2) / 2;
  for (int j = 0; j < at[1]; ++j) node += order - at[2] - j + 1;
  return node + at[0];
}

template <class System, int order, class shape>
struct lane_kernel {
  using T = typename System::real;
  static constexpr int fields = System::fields;
  using values = node_values<T, fields>;
  static constexpr int nodes = (order + 1) * (order + 2) * (order + 3) / 6, face_nodes = (order + 1) * (order + 2) / 2;
  static constexpr int elements = 32;
  using engine = fma_engine<T, 1, nodes, 1>;

  // In shared memory an element's nodes are units of the size of one access. Their number is odd, so that lanes that
  // read the same node of their elements are on different banks.
  static constexpr int unit = static_cast<int>(alignof(values)), units = static_cast<int>(sizeof(values)) / unit;
  static constexpr int node_stride = (nodes * units | 1) * unit, trace_stride = (4 * face_nodes * units | 1) * unit;
  static constexpr int warp_bytes = rounded_up(elements * (node_stride + trace_stride), 16) + elements * 16;
  static constexpr int table_bytes = rounded_up(static_cast<int>(link_codes) * face_nodes, 16);
  static constexpr int shared_bytes = table_bytes + shape::warps * warp_bytes;

  /// Matrices of the reference element.
  struct matrices_type {
    T derivative[nodes][3][nodes];  ///< [column k][Dr, Ds, Dt][row n]
    T lift[4][face_nodes][nodes];
  };

  stage_arguments<T, fields> stage;
  const T* records;  ///< [element][System::record]
  matrices_type matrices;

  struct warp_memory {
    std::byte *node, *trace;
    std::uint32_t* links;
  };
  PLAQUETTE_DG_DEVICE static warp_memory warp_memory_at(std::byte* at) {
    return {at, at + elements * node_stride,
            reinterpret_cast<std::uint32_t*>(at + rounded_up(elements * (node_stride + trace_stride), 16))};
  }

  PLAQUETTE_HOST_DEVICE std::int64_t groups_of_column() const {
    return (stage.end - stage.begin + elements - 1) / elements;
  }
  PLAQUETTE_HOST_DEVICE std::int64_t group_count() const { return groups_of_column() * stage.columns; }
  struct group_place {
    std::int32_t first;
    std::int64_t column;
  };
  PLAQUETTE_DG_DEVICE group_place place_of(std::int64_t group) const {
    const std::int64_t of_column = stage.columns == 1 ? group : group / stage.columns;
    return {static_cast<std::int32_t>(stage.begin + of_column * elements), group - of_column * stage.columns};
  }
  PLAQUETTE_DG_DEVICE std::int32_t element_of(const group_place& place, int e) const {
    const std::int32_t element = place.first + e;
    return element < stage.end ? element : stage.end - 1;
  }

  /// Starts to bring the nodes of the elements and those behind their faces to shared memory.
  PLAQUETTE_DG_DEVICE void fetch(const group_place& place, int lane, const warp_memory& memory,
                                 const std::uint8_t* partner) const {
    const values* const q = stage.in + place.column * stage.column_stride;
    const std::int32_t ghost_shift = stage.mesh.elements * (nodes - face_nodes);
    PLAQUETTE_DG_UNROLL
    for (int i0 = 0; i0 < face_nodes; ++i0) {
      const int i = i0 * 32 + lane, e = i / face_nodes, m = i - e * face_nodes;
      std::uint32_t l[4];
      read_numbers<4, true>(l, memory.links + 4 * e);
      PLAQUETTE_DG_UNROLL
      for (int f = 0; f < 4; ++f) {
        const decoded_link d = decode(l[f], ghost_shift, nodes, face_nodes);
        fetch_node(memory.trace + e * trace_stride + (f * face_nodes + m) * static_cast<int>(sizeof(values)),
                   q + (d.place + partner[d.code * face_nodes + m]));
      }
    }
    PLAQUETTE_DG_UNROLL
    for (int i0 = 0; i0 < nodes; ++i0) {
      const int i = i0 * 32 + lane, e = i / nodes, n = i - e * nodes;
      fetch_node(memory.node + e * node_stride + n * static_cast<int>(sizeof(values)),
                 q + (element_of(place, e) * nodes + n));
    }
  }
  PLAQUETTE_DG_DEVICE static void fetch_node(std::byte* to, const values* from) {
#ifdef __CUDACC__
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    PLAQUETTE_DG_UNROLL
    for (int u = 0; u < units; ++u)
      asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address + u * unit),
                   "l"(reinterpret_cast<const std::byte*>(from) + u * unit), "n"(unit)
                   : "memory");
#else
    std::copy_n(reinterpret_cast<const std::byte*>(from), sizeof(values), to);
#endif
  }
  PLAQUETTE_DG_DEVICE static values node_at(const std::byte* at) {
    values v;
    read_numbers<fields, true>(v.f, reinterpret_cast<const T*>(at));
    return v;
  }

  /// Forms the right-hand side of one element a lane; it takes the place of the traces.
  PLAQUETTE_DG_DEVICE void form_rhs(const group_place& place, const warp_memory& memory) const {
    per_lane<numbers<T, System::record>> record;
    per_lane<numbers<T, System::derived>> derived;
    per_lane<typename engine::sum> z[System::sets];
    for_lanes([&](int l) {
      const std::int64_t element = element_of(place, l);
      read_numbers<System::record, false>(record[l].x, records + element * System::record);
      const T* const medium = stage.mesh.media == nullptr ? nullptr : stage.mesh.media + element * media_numbers;
      PLAQUETTE_DG_UNROLL
      for (int f = 0; f < 4; ++f) System::derive(record[l].x, medium, T(1), f, derived[l].x);
      PLAQUETTE_DG_UNROLL
      for (int s = 0; s < System::sets; ++s) {
        PLAQUETTE_DG_UNROLL
        for (int n = 0; n < nodes; ++n) z[s][l].x[n] = T(0);
      }
    });
    add_faces(memory, record, derived, z);
    for_lanes([&](int l) {
      PLAQUETTE_DG_UNROLL
      for (int n = 0; n < nodes; ++n) {
        T sums[System::sets];
        PLAQUETTE_DG_UNROLL
        for (int s = 0; s < System::sets; ++s) sums[s] = z[s][l].x[n];
        System::merge(record[l].x, derived[l].x, sums);
        PLAQUETTE_DG_UNROLL
        for (int s = 0; s < System::sets; ++s) z[s][l].x[n] = sums[s];
      }
    });
    add_volume(memory, record, z);
    for_lanes([&](int l) {
      PLAQUETTE_DG_UNROLL
      for (int n = 0; n < nodes; ++n) {
        T sums[System::sets];
        values rhs;
        PLAQUETTE_DG_UNROLL
        for (int s = 0; s < System::sets; ++s) sums[s] = z[s][l].x[n];
        System::finish(record[l].x, derived[l].x, sums, rhs.f);
        write_numbers<fields>(
            reinterpret_cast<T*>(memory.trace + l * trace_stride + n * static_cast<int>(sizeof(values))), rhs.f);
      }
    });
  }

  /// Computes residual = a residual + dt rhs; out = in + b residual; lanes side by side in memory.
  PLAQUETTE_DG_DEVICE void update(const group_place& place, int lane, const warp_memory& memory) const {
    constexpr int batch = nodes % 5 == 0 ? 5 : 4;
    values* const out = stage.out + place.column * stage.column_stride;
    values* const residual = stage.residual + place.column * stage.residual_stride();
    PLAQUETTE_DG_UNROLL
    for (int i0 = 0; i0 < nodes; i0 += batch) {
      values k[batch];
      PLAQUETTE_DG_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int i = (i0 + b) * 32 + lane, e = i / nodes, n = i - e * nodes;
        k[b] = read_streamed(residual + (element_of(place, e) * nodes + n));
      }
      PLAQUETTE_DG_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int i = (i0 + b) * 32 + lane, e = i / nodes, n = i - e * nodes;
        const values rhs = node_at(memory.trace + e * trace_stride + n * static_cast<int>(sizeof(values)));
        values q = node_at(memory.node + e * node_stride + n * static_cast<int>(sizeof(values)));
        PLAQUETTE_DG_UNROLL
        for (int f = 0; f < fields; ++f) {
          k[b].f[f] = stage.a * k[b].f[f] + stage.dt * rhs.f[f];
          q.f[f] += stage.b * k[b].f[f];
        }
        if (place.first + e >= stage.end) continue;
        const std::int32_t at = (place.first + e) * nodes + n;
        write_streamed(residual + at, k[b]);
        out[at] = q;
      }
    }
  }

 private:
  template <class Records, class Derived, class Sums>
  PLAQUETTE_DG_DEVICE void add_faces(const warp_memory& memory, const Records& record, const Derived& derived,
                                     Sums& z) const {
    per_lane<unsigned> mirrors;
    for_lanes([&](int l) {
      std::uint32_t link[4];
      read_numbers<4, true>(link, memory.links + 4 * l);
      mirrors[l] = 0;
      PLAQUETTE_DG_UNROLL
      for (int f = 0; f < 4; ++f)
        if ((link[f] & ((1U << link_code_bits) - 1)) >= mirror_code) mirrors[l] |= 1U << f;
    });
    PLAQUETTE_DG_UNROLL
    for (int m = 0; m < face_nodes; ++m) {
      per_lane<typename engine::left> a[4];
      per_lane<typename engine::right> h[System::sets];
      for_lanes([&](int l) {
        PLAQUETTE_DG_UNROLL
        for (int f = 0; f < 4; ++f) {
          const values there =
              node_at(memory.trace + l * trace_stride + (f * face_nodes + m) * static_cast<int>(sizeof(values)));
          const values own =
              node_at(memory.node + l * node_stride + node_of_face(order, f, m) * static_cast<int>(sizeof(values)));
          T here[fields], flux[System::of_face];
          System::to_element(record[l].x, own, here);
          System::flux(record[l].x, derived[l].x, f, (mirrors[l] >> f & 1U) != 0, there, here, flux);
          PLAQUETTE_DG_UNROLL
          for (int i = 0; i < System::of_face; ++i) engine::set(h[f * System::of_face + i][l], 0, flux[i], true);
          PLAQUETTE_DG_UNROLL
          for (int n = 0; n < nodes; ++n) engine::set(a[f][l], n, matrices.lift[f][m][n]);
        }
      });
      System::template lift<engine>(z, a, h);
    }
  }
  template <class Records, class Sums>
  PLAQUETTE_DG_DEVICE void add_volume(const warp_memory& memory, const Records& record, Sums& z) const {
    PLAQUETTE_DG_UNROLL
    for (int k = 0; k < nodes; ++k) {
      per_lane<typename engine::left> d[3];
      per_lane<typename engine::right> t[fields];
      for_lanes([&](int l) {
        T own[fields];
        System::to_element(record[l].x, node_at(memory.node + l * node_stride + k * static_cast<int>(sizeof(values))),
                           own);
        PLAQUETTE_DG_UNROLL
        for (int f = 0; f < fields; ++f) engine::set(t[f][l], 0, own[f], true);
        PLAQUETTE_DG_UNROLL
        for (int a = 0; a < 3; ++a) {
          PLAQUETTE_DG_UNROLL
          for (int n = 0; n < nodes; ++n) engine::set(d[a][l], n, matrices.derivative[k][a][n]);
        }
      });
      System::template volume<engine>(z, d, t);
    }
  }
};

#ifdef __CUDACC__

template <class System, int order, class shape>
__global__ void __launch_bounds__(32 * shape::warps, shape::blocks)
    lane_stage_kernel(const __grid_constant__ lane_kernel<System, order, shape> body) {
  using kernel = lane_kernel<System, order, shape>;
  extern __shared__ __align__(16) std::byte shared[];
  auto* const partner = reinterpret_cast<std::uint8_t*>(shared);
  for (int i = static_cast<int>(threadIdx.x); i < static_cast<int>(link_codes) * kernel::face_nodes;
       i += 32 * shape::warps)
    partner[i] = body.stage.mesh.partner[i];
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x / 32), lane = first_lane();
  const auto memory = kernel::warp_memory_at(shared + kernel::table_bytes + warp * kernel::warp_bytes);
  const std::int64_t groups = body.group_count(), stride = std::int64_t{gridDim.x} * shape::warps;
  std::int64_t group = std::int64_t{blockIdx.x} * shape::warps + warp;
  if (group >= groups) return;
  const auto* const links = reinterpret_cast<const uint4*>(body.stage.mesh.links);
  uint4 link = __ldg(links + body.element_of(body.place_of(group), lane));
  for (; group < groups; group += stride) {
    const auto place = body.place_of(group);
    reinterpret_cast<uint4*>(memory.links)[lane] = link;
    __syncwarp();
    body.fetch(place, lane, memory, partner);
    const std::int64_t next = group + stride;
    if (next < groups) {
      const auto next_place = body.place_of(next);
      link = __ldg(links + body.element_of(next_place, lane));
      if (lane == 0 && next_place.first + kernel::elements <= body.stage.end) {
        constexpr std::int64_t bytes = std::int64_t{sizeof(typename kernel::values)} * kernel::elements * kernel::nodes;
        const std::int64_t first = std::int64_t{next_place.first} * kernel::nodes;
        prefetch_to_cache(body.stage.in + next_place.column * body.stage.column_stride + first, bytes);
        prefetch_to_cache(body.stage.residual + next_place.column * body.stage.residual_stride() + first, bytes);
        prefetch_to_cache(body.records + std::int64_t{next_place.first} * System::record,
                          std::int64_t{sizeof(typename kernel::T)} * System::record * kernel::elements);
      }
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
    body.form_rhs(place, memory);
    __syncwarp();
    body.update(place, lane, memory);
    __syncwarp();
  }
}

template <class System, int order, class shape>
void launch_lanes(const queue& q, const lane_kernel<System, order, shape>& body) {
  using kernel = lane_kernel<System, order, shape>;
  auto* const entry = lane_stage_kernel<System, order, shape>;
  static const bool is_prepared = [&] {
    check(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, kernel::shared_bytes));
    return true;
  }();
  static_cast<void>(is_prepared);
  static const int multiprocessors = describe_device(q.device()).multiprocessors;
  const std::int64_t wanted = (body.group_count() + shape::warps - 1) / shape::warps;
  const std::int64_t blocks = std::min<std::int64_t>(wanted, std::int64_t{multiprocessors} * shape::blocks);
  if (blocks <= 0) return;
  entry<<<static_cast<unsigned>(blocks), 32 * shape::warps, kernel::shared_bytes, stream_of(q)>>>(body);
  check(cudaGetLastError());
}

#else

template <class System, int order, class shape>
void launch_lanes(const queue&, const lane_kernel<System, order, shape>& body) {
  using kernel = lane_kernel<System, order, shape>;
#pragma omp parallel
  {
    std::vector<memory_word<16>> shared(static_cast<std::size_t>(kernel::warp_bytes) / 16 + 1);
    const auto memory = kernel::warp_memory_at(reinterpret_cast<std::byte*>(shared.data()));
#pragma omp for schedule(static)
    for (std::int64_t group = 0; group < body.group_count(); ++group) {
      const auto place = body.place_of(group);
      for (int l = 0; l < 32; ++l)
        std::copy_n(body.stage.mesh.links + std::int64_t{body.element_of(place, l)} * 4, 4, memory.links + 4 * l);
      for (int l = 0; l < 32; ++l) body.fetch(place, l, memory, body.stage.mesh.partner);
      body.form_rhs(place, memory);
      for (int l = 0; l < 32; ++l) body.update(place, l, memory);
    }
  }
}

#endif

}  // namespace plaquette::gpu::dg
