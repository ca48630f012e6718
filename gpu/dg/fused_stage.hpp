// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Variant 3: a whole stage in one kernel. Warps take groups of elements one after the other. They bring the nodes of
/// the group to shared memory in the coordinates of the element and form the flux of its faces there. Then they
/// multiply by LIFT and D with the elements as columns, and update. The state q is read from one array and written to
/// another, so that neighbours see the old state.
///
/// The steps of a group are functions of a thread's or a lane's number; the host build runs them as loops.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/device/launch.hpp"
#include "gpu/dg/dg_arrays.hpp"
#include "gpu/dg/fused_engines.hpp"
#include "gpu/dg/fused_systems.hpp"

namespace plaquette::gpu::dg {

/// How a fused kernel is cut. (A type: nvcc 13.0 makes no kernels whose template arguments are values of classes.)
template <int elements_, int warps_, int groups_, int blocks_, bool shared_matrices_, int face_batch_ = 1,
          int node_batch_ = 4, int update_batch_ = 4, bool prefetches_ = false>
struct fused_shape {
  static constexpr int elements = elements_;                 ///< of a group
  static constexpr int warps = warps_;                       ///< of a group
  static constexpr int groups = groups_;                     ///< of a block
  static constexpr int blocks = blocks_;                     ///< of a multiprocessor
  static constexpr bool shared_matrices = shared_matrices_;  ///< whether a block keeps them in shared memory
  // Loads that a thread has under way: face nodes, times four; nodes; nodes of the update.
  static constexpr int face_batch = face_batch_, node_batch = node_batch_, update_batch = update_batch_;
  static constexpr bool prefetches = prefetches_;  ///< the matrices of a step during the step before
};

/// Reads values of memory that this kernel does not write.
template <class T, int fields>
PLAQUETTE_DG_DEVICE node_values<T, fields> read_values(const node_values<T, fields>* at) {
  node_values<T, fields> v;
  read_numbers<fields, false>(v.f, at->f);
  return v;
}
/// Of the register, which no other thread reads: it is not to stay in caches.
template <class T, int fields>
PLAQUETTE_DG_DEVICE node_values<T, fields> read_streamed(const node_values<T, fields>* at) {
  node_values<T, fields> v;
#ifdef __CUDACC__
  if constexpr (sizeof(v) % 16 == 0) {
    PLAQUETTE_DG_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(v)) / 16; ++i) {
      const uint4 u = __ldcs(reinterpret_cast<const uint4*>(at) + i);
      __builtin_memcpy(v.f + i * 16 / static_cast<int>(sizeof(T)), &u, 16);
    }
  } else {
    PLAQUETTE_DG_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(v)) / 8; ++i) {
      const uint2 u = __ldcs(reinterpret_cast<const uint2*>(at) + i);
      __builtin_memcpy(v.f + i * 8 / static_cast<int>(sizeof(T)), &u, 8);
    }
  }
#else
  v = *at;
#endif
  return v;
}
template <class T, int fields>
PLAQUETTE_DG_DEVICE void write_streamed(node_values<T, fields>* at, const node_values<T, fields>& v) {
#ifdef __CUDACC__
  if constexpr (sizeof(v) % 16 == 0) {
    PLAQUETTE_DG_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(v)) / 16; ++i) {
      uint4 u;
      __builtin_memcpy(&u, v.f + i * 16 / static_cast<int>(sizeof(T)), 16);
      __stcs(reinterpret_cast<uint4*>(at) + i, u);
    }
  } else {
    PLAQUETTE_DG_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(v)) / 8; ++i) {
      uint2 u;
      __builtin_memcpy(&u, v.f + i * 8 / static_cast<int>(sizeof(T)), 8);
      __stcs(reinterpret_cast<uint2*>(at) + i, u);
    }
  }
#else
  *at = v;
#endif
}

/// Returns strides between elements in shared memory that keep the lanes of a warp on different banks: with four rows
/// of a product side by side, and with one.
template <class Engine>
constexpr int spread(int nodes) {
  const int filled = rounded_up(nodes, Engine::depth);
  return Engine::depth == 1 ? filled | 1 : filled + (12 - filled % 8) % 8;
}

template <class System, class Engine, int order, class shape>
struct fused_kernel {
  using T = typename System::real;
  static constexpr int fields = System::fields;
  using values = node_values<T, fields>;
  static constexpr int nodes = (order + 1) * (order + 2) * (order + 3) / 6, face_nodes = (order + 1) * (order + 2) / 2;
  static constexpr int elements = shape::elements, threads = 32 * shape::warps;
  static constexpr int row_tiles = (nodes + Engine::rows - 1) / Engine::rows;
  static constexpr int column_tiles = elements / Engine::columns;
  static_assert(elements % Engine::columns == 0);
  static_assert(!shape::prefetches || !Engine::left_side_by_side);
  static constexpr int volume_steps = (nodes + Engine::depth - 1) / Engine::depth;
  static constexpr int lift_steps = (face_nodes + Engine::depth - 1) / Engine::depth;

  // A row tile of the matrices: lift_steps fragments of four (LIFT of each face), volume_steps of three (Dr, Ds, Dt).
  static constexpr int word = 16 / static_cast<int>(sizeof(T));
  template <int count>
  static constexpr int fragment =
      Engine::left_side_by_side ? Engine::left_lanes * rounded_up(count * Engine::left_numbers, word)
                                : Engine::left_lanes * count * Engine::left_numbers;
  static constexpr int tile_numbers = lift_steps * fragment<4> + volume_steps * fragment<3>;
  static constexpr int matrix_numbers = row_tiles * tile_numbers;

  // Shared memory of a group, in numbers.
  static constexpr int node_stride = spread<Engine>(nodes);
  static constexpr int face_stride = spread<Engine>(face_nodes);
  static constexpr int planes = fields / System::plane_width;
  static constexpr int face_width = word, face_planes = System::lifted / face_width;
  static constexpr int node_numbers = fields * elements * node_stride;
  static constexpr int face_numbers = System::lifted * elements * face_stride;
  static constexpr int record_numbers = System::record * elements, derived_numbers = System::derived * elements;
  static constexpr int group_bytes =
      (node_numbers + face_numbers + 2 * record_numbers + derived_numbers) * static_cast<int>(sizeof(T)) +
      2 * elements * 16;
  static constexpr int table_bytes = rounded_up(static_cast<int>(link_codes) * face_nodes, 16);
  static constexpr int matrix_bytes = shape::shared_matrices ? matrix_numbers * static_cast<int>(sizeof(T)) : 0;
  static constexpr int shared_bytes = table_bytes + matrix_bytes + shape::groups * group_bytes;

  stage_arguments<T, fields> stage;
  const T* records;   ///< [element][System::record]
  const T* matrices;  ///< packed

  struct group_memory {
    T *node, *face, *derived, *records;  ///< records twice: of this group and the next
    std::uint32_t* links;                ///< twice
    PLAQUETTE_DG_DEVICE T* record(int buffer) const { return records + buffer * record_numbers; }
    PLAQUETTE_DG_DEVICE std::uint32_t* link(int buffer) const { return links + buffer * 4 * elements; }
  };
  PLAQUETTE_DG_DEVICE static group_memory group_memory_at(std::byte* at) {
    T* const t = reinterpret_cast<T*>(at);
    T* const record = t + node_numbers + face_numbers + derived_numbers;
    auto* const link = reinterpret_cast<std::uint32_t*>(record + 2 * record_numbers);
    return {t, t + node_numbers, t + node_numbers + face_numbers, record, link};
  }

  PLAQUETTE_HOST_DEVICE std::int64_t groups_of_column() const {
    return (stage.end - stage.begin + elements - 1) / elements;
  }
  PLAQUETTE_HOST_DEVICE std::int64_t group_count() const { return groups_of_column() * stage.columns; }

  struct group_place {
    std::int32_t first;  ///< element
    std::int64_t column;
  };
  PLAQUETTE_DG_DEVICE group_place place_of(std::int64_t group) const {
    const std::int64_t of_column = stage.columns == 1 ? group : group / stage.columns;
    return {static_cast<std::int32_t>(stage.begin + of_column * elements), group - of_column * stage.columns};
  }
  /// Returns element e of a group; behind the last one stands the last one.
  PLAQUETTE_DG_DEVICE std::int32_t element_of(const group_place& place, int e) const {
    return min_of(place.first + e, stage.end - 1);
  }
  PLAQUETTE_DG_DEVICE static std::int32_t min_of(std::int32_t a, std::int32_t b) { return a < b ? a : b; }

  /// Starts to bring records and links of a group.
  PLAQUETTE_DG_DEVICE void fetch_records(const group_place& place, int thread, T* record, std::uint32_t* link) const {
    constexpr int words = System::record * static_cast<int>(sizeof(T)) / 16;
    for (int i = thread; i < elements * (words + 1); i += threads) {
      const int e = i / (words + 1), w = i - e * (words + 1);
      const std::int64_t element = element_of(place, e);
      if (w < words)
        copy_word(reinterpret_cast<std::byte*>(record + e * System::record) + 16 * w,
                  reinterpret_cast<const std::byte*>(records + element * System::record) + 16 * w);
      else
        copy_word(reinterpret_cast<std::byte*>(link + 4 * e),
                  reinterpret_cast<const std::byte*>(stage.mesh.links + 4 * element));
    }
  }
  PLAQUETTE_DG_DEVICE static void copy_word(std::byte* to, const std::byte* from) {
#ifdef __CUDACC__
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
#else
    std::copy_n(from, 16, to);
#endif
  }

  /// Loads nodes of the group, in coordinates of their elements, to shared memory.
  PLAQUETTE_DG_DEVICE void load_nodes(const group_place& place, int thread, const group_memory& memory, const T* record,
                                      const std::uint32_t* link) const {
    if (thread < 4 * elements) derive(place, thread, memory, record, link);
    if constexpr (4 * elements > threads)
      for (int i = thread + threads; i < 4 * elements; i += threads) derive(place, i, memory, record, link);
    const values* const q = stage.in + place.column * stage.column_stride;
    if constexpr (nodes >= 48)
      load_by_element(place, thread, memory, record, q);
    else
      load_by_node(place, thread, memory, record, q);
  }
  /// An element a warp: its record is read once.
  PLAQUETTE_DG_DEVICE void load_by_element(const group_place& place, int thread, const group_memory& memory,
                                           const T* record, const values* q) const {
    constexpr int rounds = (nodes + 31) / 32, batch = shape::node_batch;
    for (int e = thread / 32; e < elements; e += shape::warps) {
      const values* const from = q + element_of(place, e) * nodes;
      PLAQUETTE_DG_UNROLL
      for (int r0 = 0; r0 < rounds; r0 += batch) {
        values v[batch];
        PLAQUETTE_DG_UNROLL
        for (int b = 0; b < batch; ++b)
          if (r0 + b < rounds) v[b] = read_values(from + min_of((r0 + b) * 32 + thread % 32, nodes - 1));
        PLAQUETTE_DG_UNROLL
        for (int b = 0; b < batch; ++b)
          if (r0 + b < rounds) put_node(memory, record, e, min_of((r0 + b) * 32 + thread % 32, nodes - 1), v[b]);
      }
    }
  }
  PLAQUETTE_DG_DEVICE void load_by_node(const group_place& place, int thread, const group_memory& memory,
                                        const T* record, const values* q) const {
    constexpr int batch = shape::node_batch, count = elements * nodes;
    for (int i0 = thread; i0 < count; i0 += batch * threads) {
      values v[batch];
      PLAQUETTE_DG_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int i = min_of(i0 + b * threads, count - 1), e = i / nodes;  // beyond the last: the last again
        v[b] = read_values(q + (element_of(place, e) * nodes + (i - e * nodes)));
      }
      PLAQUETTE_DG_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int i = min_of(i0 + b * threads, count - 1), e = i / nodes;
        put_node(memory, record, e, i - e * nodes, v[b]);
      }
    }
  }
  PLAQUETTE_DG_DEVICE static void put_node(const group_memory& memory, const T* record, int e, int n, const values& v) {
    T t[fields];
    System::to_element(record + e * System::record, v, t);
    PLAQUETTE_DG_UNROLL
    for (int p = 0; p < planes; ++p)
      write_numbers<System::plane_width>(memory.node + ((p * elements + e) * node_stride + n) * System::plane_width,
                                         t + p * System::plane_width);
  }
  PLAQUETTE_DG_DEVICE void derive(const group_place& place, int i, const group_memory& memory, const T* record,
                                  const std::uint32_t* link) const {
    const int e = i / 4, face = i - e * 4;
    const T* const medium =
        stage.mesh.media == nullptr ? nullptr : stage.mesh.media + std::int64_t{element_of(place, e)} * media_numbers;
    const T upwinding = (link[i] & ((1U << link_code_bits) - 1)) == open_code ? T(1) : stage.mesh.upwinding;
    System::derive(record + e * System::record, medium, upwinding, face, memory.derived + e * System::derived);
  }

  /// Forms fluxes of the group's faces in shared memory. A thread takes node m of all four faces.
  PLAQUETTE_DG_DEVICE void form_fluxes(const group_place& place, int thread, const group_memory& memory,
                                       const T* record, const std::uint32_t* link, const std::uint8_t* partner) const {
    const values* const q = stage.in + place.column * stage.column_stride;
    constexpr int batch = shape::face_batch, count = elements * face_nodes;
    const std::int32_t ghost_shift = stage.mesh.elements * (nodes - face_nodes);
    for (int i0 = thread; i0 < count; i0 += batch * threads) {
      values there[batch][4];
      unsigned mirrors = 0;
      PLAQUETTE_DG_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int i = min_of(i0 + b * threads, count - 1), e = i / face_nodes, m = i - e * face_nodes;
        std::uint32_t l[4];
        read_numbers<4, true>(l, link + 4 * e);
        PLAQUETTE_DG_UNROLL
        for (int f = 0; f < 4; ++f) {
          const decoded_link d = decode(l[f], ghost_shift, nodes, face_nodes);
          there[b][f] = read_values(q + d.place + partner[d.code * face_nodes + m]);
          if (d.is_mirror) mirrors |= 1U << (4 * b + f);
        }
      }
      PLAQUETTE_DG_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int i = min_of(i0 + b * threads, count - 1), e = i / face_nodes, m = i - e * face_nodes;
        T h[System::lifted];
        PLAQUETTE_DG_UNROLL
        for (int f = 0; f < 4; ++f) {
          T here[fields];
          read_node(memory, e, partner[(static_cast<int>(mirror_code) + f) * face_nodes + m], here);
          System::flux(record + e * System::record, memory.derived + e * System::derived, f,
                       (mirrors >> (4 * b + f) & 1U) != 0, there[b][f], here, h + f * System::of_face);
        }
        PLAQUETTE_DG_UNROLL
        for (int p = 0; p < face_planes; ++p)
          write_numbers<face_width>(memory.face + ((p * elements + e) * face_stride + m) * face_width,
                                    h + p * face_width);
      }
    }
  }
  PLAQUETTE_DG_DEVICE static void read_node(const group_memory& memory, int e, int n, T (&t)[fields]) {
    PLAQUETTE_DG_UNROLL
    for (int p = 0; p < planes; ++p)
      read_numbers<System::plane_width, true>(
          t + p * System::plane_width, memory.node + ((p * elements + e) * node_stride + n) * System::plane_width);
  }

  /// Makes products and update of the tiles that belong to a warp of the group.
  PLAQUETTE_DG_DEVICE void multiply_and_update(const group_place& place, int warp, const group_memory& memory,
                                               const T* record, const T* matrix) const {
    for (int tile = warp; tile < row_tiles * column_tiles; tile += shape::warps) {
      const int row_tile = tile % row_tiles, column = tile / row_tiles * Engine::columns;
      per_lane<typename Engine::sum> z[System::sets];
      multiply(matrix + row_tile * tile_numbers, memory, record, column, z);
      for_lanes([&](int l) { update(place, l, row_tile * Engine::rows, column, memory, record, z); });
    }
  }

 private:
  static constexpr bool from_shared = shape::shared_matrices;
  static constexpr int volume_unroll = sizeof(T) == 8 || fields == 6 ? 1 : 2;

  template <int count>
  PLAQUETTE_DG_DEVICE static void read_left(per_lane<typename Engine::left> (&a)[count], const T* at) {
    constexpr int each = Engine::left_numbers;
    for_lanes([&](int l) {
      if constexpr (Engine::left_side_by_side) {
        constexpr int padded = rounded_up(count * each, word);
        T x[padded];
        read_numbers<padded, from_shared>(x, at + l % Engine::left_lanes * padded);
        PLAQUETTE_DG_UNROLL
        for (int i = 0; i < count * each; ++i) Engine::set(a[i / each][l], i % each, x[i]);
      } else {
        PLAQUETTE_DG_UNROLL
        for (int j = 0; j < count; ++j) {
          T x[each];
          read_numbers<each, from_shared>(x, at + (j * 32 + l) * each);
          PLAQUETTE_DG_UNROLL
          for (int i = 0; i < each; ++i) Engine::set(a[j][l], i, x[i]);
        }
      }
    });
  }
  /// Does the same in two parts: numbers from memory, for engines whose lanes have their own; then operands.
  template <int count, class Numbers>
  PLAQUETTE_DG_DEVICE static void fetch_left(Numbers& next, const T* at) {
    constexpr int each = Engine::left_numbers;
    for_lanes([&](int l) {
      PLAQUETTE_DG_UNROLL
      for (int j = 0; j < count; ++j) read_numbers<each, from_shared>(next[l].x + j * each, at + (j * 32 + l) * each);
    });
  }
  template <int count, class Numbers>
  PLAQUETTE_DG_DEVICE static void take_left(per_lane<typename Engine::left> (&a)[count], const Numbers& next) {
    constexpr int each = Engine::left_numbers;
    for_lanes([&](int l) {
      PLAQUETTE_DG_UNROLL
      for (int i = 0; i < count * each; ++i) Engine::set(a[i / each][l], i % each, next[l].x[i]);
    });
  }
  template <int count, int width>
  PLAQUETTE_DG_DEVICE static void read_right(per_lane<typename Engine::right> (&b)[count], const T* at, int stride,
                                             int column, int k) {
    for_lanes([&](int l) {
      PLAQUETTE_DG_UNROLL
      for (int i = 0; i < Engine::right_numbers; ++i) {
        const int e = column + Engine::right_column(l, i), depth = k + Engine::right_depth(l, i);
        T x[count];
        PLAQUETTE_DG_UNROLL
        for (int p = 0; p < count / width; ++p)
          read_numbers<width, true>(x + p * width, at + ((p * elements + e) * stride + depth) * width);
        PLAQUETTE_DG_UNROLL
        for (int j = 0; j < count; ++j) Engine::set(b[j][l], i, x[j], true);
      }
    });
  }

  PLAQUETTE_DG_DEVICE static void multiply(const T* matrix, const group_memory& memory, const T* record, int column,
                                           per_lane<typename Engine::sum> (&z)[System::sets]) {
    for_lanes([&](int l) {
      PLAQUETTE_DG_UNROLL
      for (int s = 0; s < System::sets; ++s) {
        PLAQUETTE_DG_UNROLL
        for (int i = 0; i < Engine::sums; ++i) z[s][l].x[i] = T(0);
      }
    });
    per_lane<numbers<T, 4 * Engine::left_numbers>> next;
    if constexpr (shape::prefetches) fetch_left<4>(next, matrix);
#pragma unroll 1
    for (int step = 0; step < lift_steps; ++step) {
      per_lane<typename Engine::left> a[4];
      per_lane<typename Engine::right> b[System::lifted];
      const T* const after = matrix + fragment<4>;
      if constexpr (shape::prefetches) {
        take_left(a, next);
        // Behind the last step of LIFT come the steps of D, whose fragments are shorter: the rest of a fetch is not
        // used.
        fetch_left<4>(next, after);
      } else {
        read_left(a, matrix);
      }
      read_right<System::lifted, face_width>(b, memory.face, face_stride, column, step * Engine::depth);
      System::template lift<Engine>(z, a, b);
      matrix = after;
    }
    for_lanes([&](int l) {
      PLAQUETTE_DG_UNROLL
      for (int i = 0; i < Engine::sums; ++i) {
        const int e = column + Engine::column(l, i);
        T sums[System::sets];
        PLAQUETTE_DG_UNROLL
        for (int s = 0; s < System::sets; ++s) sums[s] = z[s][l].x[i];
        System::merge(record + e * System::record, memory.derived + e * System::derived, sums);
        PLAQUETTE_DG_UNROLL
        for (int s = 0; s < System::sets; ++s) z[s][l].x[i] = sums[s];
      }
    });
#pragma unroll(volume_unroll)
    for (int step = 0; step < volume_steps; ++step) {
      per_lane<typename Engine::left> d[3];
      per_lane<typename Engine::right> t[fields];
      if constexpr (shape::prefetches) {
        take_left(d, next);
        if (step + 1 < volume_steps) matrix += fragment<3>;
        fetch_left<3>(next, matrix);
      } else {
        read_left(d, matrix);
        matrix += fragment<3>;
      }
      read_right<fields, System::plane_width>(t, memory.node, node_stride, column, step * Engine::depth);
      System::template volume<Engine>(z, d, t);
    }
  }

  PLAQUETTE_DG_DEVICE void update(const group_place& place, int lane, int row, int column, const group_memory& memory,
                                  const T* record, const per_lane<typename Engine::sum> (&z)[System::sets]) const {
    constexpr int batch = Engine::sums % shape::update_batch == 0 ? shape::update_batch : Engine::sums % 2 == 0 ? 2 : 1;
    const values* const in = stage.in + place.column * stage.column_stride;
    values* const out = stage.out + place.column * stage.column_stride;
    values* const residual = stage.residual + place.column * stage.residual_stride();
    PLAQUETTE_DG_UNROLL
    for (int i0 = 0; i0 < Engine::sums; i0 += batch) {
      values k[batch], q[batch];
      PLAQUETTE_DG_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int n = min_of(row + Engine::row(lane, Engine::by_column(i0 + b)), nodes - 1),
                  e = column + Engine::column(lane, Engine::by_column(i0 + b));
        const std::int32_t at = element_of(place, e) * nodes + n;
        k[b] = read_streamed(residual + at);
        q[b] = read_values(in + at);
      }
      PLAQUETTE_DG_UNROLL
      for (int b = 0; b < batch; ++b) {
        const int n = row + Engine::row(lane, Engine::by_column(i0 + b)),
                  e = column + Engine::column(lane, Engine::by_column(i0 + b));
        T sums[System::sets], rhs[fields];
        PLAQUETTE_DG_UNROLL
        for (int s = 0; s < System::sets; ++s) sums[s] = z[s][lane].x[Engine::by_column(i0 + b)];
        System::finish(record + e * System::record, memory.derived + e * System::derived, sums, rhs);
        PLAQUETTE_DG_UNROLL
        for (int f = 0; f < fields; ++f) {
          k[b].f[f] = stage.a * k[b].f[f] + stage.dt * rhs[f];
          q[b].f[f] += stage.b * k[b].f[f];
        }
        if (n >= nodes || place.first + e >= stage.end) continue;
        const std::int32_t at = (place.first + e) * nodes + n;
        write_streamed(residual + at, k[b]);
        out[at] = q[b];
      }
#ifdef __CUDACC__
      asm volatile("" ::: "memory");  // the next batch's loads are not for now: their registers are not there
#endif
    }
  }
};

#ifdef __CUDACC__

/// A barrier of the warps of a group.
template <int warps, int groups>
__device__ __forceinline__ void wait_for_group(int group) {
  if constexpr (warps == 1)
    __syncwarp();
  else if constexpr (groups == 1)
    __syncthreads();
  else
    asm volatile("bar.sync %0, %1;" ::"r"(group + 1), "n"(32 * warps) : "memory");
}

/// Brings a stretch of memory to the second-level cache, where it begins on 16 bytes.
__device__ __forceinline__ void prefetch_to_cache(const void* from, std::int64_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(from) % 16 != 0) return;
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(static_cast<unsigned>(bytes)) : "memory");
}

template <class System, class Engine, int order, class shape>
__global__ void __launch_bounds__(32 * shape::warps * shape::groups, shape::blocks)
    fused_stage_kernel(const __grid_constant__ fused_kernel<System, Engine, order, shape> body) {
  using kernel = fused_kernel<System, Engine, order, shape>;
  using T = typename kernel::T;
  extern __shared__ __align__(16) std::byte shared[];
  auto* const partner = reinterpret_cast<std::uint8_t*>(shared);
  auto* const matrices = reinterpret_cast<T*>(shared + kernel::table_bytes);
  const int block_threads = kernel::threads * shape::groups, in_block = static_cast<int>(threadIdx.x);
  const int group_of_block = in_block / kernel::threads, thread = in_block - group_of_block * kernel::threads;
  const auto memory = kernel::group_memory_at(shared + kernel::table_bytes + kernel::matrix_bytes +
                                              group_of_block * kernel::group_bytes);
  for (int i = in_block; i < static_cast<int>(link_codes) * kernel::face_nodes; i += block_threads)
    partner[i] = body.stage.mesh.partner[i];
  if constexpr (shape::shared_matrices)
    for (int i = in_block; i < kernel::matrix_bytes / 16; i += block_threads)
      reinterpret_cast<uint4*>(matrices)[i] = __ldg(reinterpret_cast<const uint4*>(body.matrices) + i);
  // Padding, which fills up nodes and face nodes to whole steps, is multiplied by 0, and must be a number.
  for (int i = thread; i < kernel::node_numbers + kernel::face_numbers; i += kernel::threads) memory.node[i] = T(0);

  const std::int64_t groups = body.group_count(), stride = std::int64_t{gridDim.x} * shape::groups;
  std::int64_t group = std::int64_t{blockIdx.x} * shape::groups + group_of_block;
  if (group < groups) body.fetch_records(body.place_of(group), thread, memory.record(0), memory.link(0));
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  const T* const matrix = shape::shared_matrices ? matrices : body.matrices;
  for (int buffer = 0; group < groups; group += stride, buffer ^= 1) {
    const auto place = body.place_of(group);
    const std::int64_t next = group + stride;
    const auto next_place = body.place_of(next < groups ? next : group);
    if (thread == 0 && next < groups && next_place.first + kernel::elements <= body.stage.end) {
      constexpr std::int64_t bytes = std::int64_t{sizeof(typename kernel::values)} * kernel::elements * kernel::nodes;
      const std::int64_t first = std::int64_t{next_place.first} * kernel::nodes;
      prefetch_to_cache(body.stage.in + next_place.column * body.stage.column_stride + first, bytes);
      prefetch_to_cache(body.stage.residual + next_place.column * body.stage.residual_stride() + first, bytes);
    }
    body.load_nodes(place, thread, memory, memory.record(buffer), memory.link(buffer));
    if (next < groups) body.fetch_records(next_place, thread, memory.record(buffer ^ 1), memory.link(buffer ^ 1));
    wait_for_group<shape::warps, shape::groups>(group_of_block);
    body.form_fluxes(place, thread, memory, memory.record(buffer), memory.link(buffer), partner);
    wait_for_group<shape::warps, shape::groups>(group_of_block);
    body.multiply_and_update(place, thread / 32, memory, memory.record(buffer), matrix);
    asm volatile("cp.async.wait_all;" ::: "memory");
    wait_for_group<shape::warps, shape::groups>(group_of_block);
  }
}

template <class System, class Engine, int order, class shape>
void launch_fused(const queue& q, const fused_kernel<System, Engine, order, shape>& body) {
  using kernel = fused_kernel<System, Engine, order, shape>;
  auto* const entry = fused_stage_kernel<System, Engine, order, shape>;
  static const bool is_prepared = [&] {
    check(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, kernel::shared_bytes));
    return true;
  }();
  static_cast<void>(is_prepared);
  static const int multiprocessors = describe_device(q.device()).multiprocessors;
  const std::int64_t wanted = (body.group_count() + shape::groups - 1) / shape::groups;
  const std::int64_t blocks = std::min<std::int64_t>(wanted, std::int64_t{multiprocessors} * shape::blocks);
  if (blocks <= 0) return;
  entry<<<static_cast<unsigned>(blocks), 32 * shape::warps * shape::groups, kernel::shared_bytes, stream_of(q)>>>(body);
  check(cudaGetLastError());
}

#else

template <class System, class Engine, int order, class shape>
void launch_fused(const queue&, const fused_kernel<System, Engine, order, shape>& body) {
  using kernel = fused_kernel<System, Engine, order, shape>;
  using T = typename kernel::T;
#pragma omp parallel
  {
    std::vector<memory_word<16>> shared(static_cast<std::size_t>(kernel::group_bytes) / 16 + 1);
    const auto memory = kernel::group_memory_at(reinterpret_cast<std::byte*>(shared.data()));
    std::fill_n(memory.node, kernel::node_numbers + kernel::face_numbers, T(0));
#pragma omp for schedule(static)
    for (std::int64_t group = 0; group < body.group_count(); ++group) {
      const auto place = body.place_of(group);
      for (int t = 0; t < kernel::threads; ++t) body.fetch_records(place, t, memory.record(0), memory.link(0));
      for (int t = 0; t < kernel::threads; ++t) body.load_nodes(place, t, memory, memory.record(0), memory.link(0));
      for (int t = 0; t < kernel::threads; ++t)
        body.form_fluxes(place, t, memory, memory.record(0), memory.link(0), body.stage.mesh.partner);
      for (int w = 0; w < shape::warps; ++w)
        body.multiply_and_update(place, w, memory, memory.record(0), body.matrices);
    }
  }
}

#endif

/// Returns the matrices of the reference element as the kernel reads them.
template <class Kernel, class Engine>
std::vector<typename Kernel::T> packed_matrices(const auto& derivative, const auto& lift) {
  using T = typename Kernel::T;
  std::vector<T> packed(static_cast<std::size_t>(Kernel::matrix_numbers));
  const auto fill = [&](auto count_constant, T* at, int row, int k, const auto& value) {
    constexpr int count = decltype(count_constant)::value, each = Engine::left_numbers;
    for (int j = 0; j < count; ++j)
      for (int l = 0; l < Engine::left_lanes; ++l)
        for (int i = 0; i < each; ++i) {
          const int place = Engine::left_side_by_side ? l * rounded_up(count * each, Kernel::word) + j * each + i
                                                      : (j * Engine::left_lanes + l) * each + i;
          at[place] = static_cast<T>(value(j, row + Engine::left_row(l, i), k + Engine::left_depth(l, i)));
        }
  };
  for (int tile = 0; tile < Kernel::row_tiles; ++tile) {
    T* at = packed.data() + tile * Kernel::tile_numbers;
    for (int step = 0; step < Kernel::lift_steps; ++step, at += Kernel::template fragment<4>)
      fill(std::integral_constant<int, 4>{}, at, tile * Engine::rows, step * Engine::depth, [&](int f, int n, int m) {
        return n < Kernel::nodes && m < Kernel::face_nodes ? lift(n, f * Kernel::face_nodes + m) : 0.0;
      });
    for (int step = 0; step < Kernel::volume_steps; ++step, at += Kernel::template fragment<3>)
      fill(std::integral_constant<int, 3>{}, at, tile * Engine::rows, step * Engine::depth,
           [&](int a, int n, int k) { return n < Kernel::nodes && k < Kernel::nodes ? derivative(a, n, k) : 0.0; });
  }
  return packed;
}

}  // namespace plaquette::gpu::dg
