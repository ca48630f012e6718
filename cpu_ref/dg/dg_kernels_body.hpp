// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernels of nodal DG, compiled once an instruction set inside the namespace that PLAQUETTE_INSTRUCTION_SET names.
/// A stage takes a block of elements through volume, faces and Runge-Kutta update while it is in the cache.
#pragma once

#include <utility>

#include "cpu_ref/dg/dg_kernels.hpp"
#include "cpu_ref/simd/simd.hpp"

namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET {

inline std::uint64_t ticks_now() {
#ifdef __x86_64__
  return __builtin_ia32_rdtsc();
#else
  return 0;
#endif
}

/// Rows of a block: V vectors of W lanes.
template <class T, int W, int V>
struct lanes_of_block {
  static constexpr int size = W * V;
  using vector = simd<T, W>;
};

// ---- matrix products ----

/// y[r] = sum over segments s and k of a[s][k][r] x[s][k], r = 0 .. R - 1; rows of x and y are blocks.
template <class T, int W, int V, int R>
__attribute__((noinline)) void multiply_panel(const T* a, int segments, int depth, const T* const* x, T* y) {
  using vector = simd<T, W>;
  constexpr int B = W * V;
  vector sum[R][V];
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) sum[r][v] = vector::broadcast(0);
  for (int s = 0; s < segments; ++s) {
    const T* row = x[s];
    for (int k = 0; k < depth; ++k, row += B, a += R) {
      vector in[V];
      for (int v = 0; v < V; ++v) in[v] = vector::load(row + v * W);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const vector factor = vector::broadcast(a[r]);
        for (int v = 0; v < V; ++v) sum[r][v] = sum[r][v] + factor * in[v];
      }
    }
  }
  for (int r = 0; r < R; ++r)
    for (int v = 0; v < V; ++v) sum[r][v].store(y + r * B + v * W);
}

template <class T, int W, int V, int R>
PLAQUETTE_INLINE void multiply_panel_of(int rows, const T* a, int segments, int depth, const T* const* x, T* y) {
  if (rows == R) {
    multiply_panel<T, W, V, R>(a, segments, depth, x, y);
  } else if constexpr (R > 1) {
    multiply_panel_of<T, W, V, R - 1>(rows, a, segments, depth, x, y);
  }
}

/// y = A x. The first rows % panels panels have one row more than the others.
template <class T, int W, int V, int R>
PLAQUETTE_INLINE void multiply(const panel_matrix<T>& m, const T* const* x, T* y) {
  const T* a = m.values;
  for (int p = 0; p < m.panels; ++p) {
    const int rows = m.rows / m.panels + (p < m.rows % m.panels ? 1 : 0);
    multiply_panel_of<T, W, V, R>(rows, a, m.segments, m.depth, x, y);
    a += static_cast<std::int64_t>(rows) * m.segments * m.depth;
    y += static_cast<std::int64_t>(rows) * W * V;
  }
}

// ---- traces: from lanes to one element after the other, and back ----

template <int H, class V, int W, int... K>
PLAQUETTE_INLINE void swap_halves(V& a, V& b, std::integer_sequence<int, K...>) {
  const auto low = __builtin_shufflevector(a.v, b.v, ((K & H) != 0 ? W + K - H : K)...);
  const auto high = __builtin_shufflevector(a.v, b.v, ((K & H) != 0 ? W + K : K + H)...);
  a.v = low;
  b.v = high;
}

/// Transposes W vectors of W lanes: log2 W rounds that exchange off-diagonal blocks of size H.
template <class T, int W, int H = W / 2>
PLAQUETTE_INLINE void transpose(simd<T, W> (&rows)[W]) {
#pragma GCC unroll 16
  for (int i = 0; i < W; ++i)
    if ((i & H) == 0) swap_halves<H, simd<T, W>, W>(rows[i], rows[i + H], std::make_integer_sequence<int, W>{});
  if constexpr (H > 1) transpose<T, W, H / 2>(rows);
}

template <class T, int W>
struct unaligned {
  typedef T vector __attribute__((vector_size(W * sizeof(T)), aligned(sizeof(T)), may_alias));
};
template <class T, int W>
PLAQUETTE_INLINE simd<T, W> load_unaligned(const T* p) {
  return {*reinterpret_cast<const typename unaligned<T, W>::vector*>(p)};
}
template <class T, int W>
PLAQUETTE_INLINE void store_unaligned(T* p, const simd<T, W>& x) {
  *reinterpret_cast<typename unaligned<T, W>::vector*>(p) = x.v;
}

/// Traces of a block's q, for its neighbours: new_traces[element * faces + face][field][m].
template <class T, int W, int V>
void write_block_traces(const dg_stage_arguments<T>& s, std::int64_t block, const T* q) {
  using vector = simd<T, W>;
  constexpr int B = W * V;
  const int words = s.fields * s.face_nodes;
  for (int face = 0; face < s.faces; ++face) {
    const std::int32_t* nodes = s.face_node + face * s.face_nodes;
    int field = 0, m = 0;
    for (int first = 0; first < words; first += W) {
      const T* from[W];
      for (int i = 0; i < W; ++i) {
        from[i] = q + static_cast<std::int64_t>(field * s.nodes + nodes[m]) * B;
        if (first + i + 1 < words && ++m == s.face_nodes) m = 0, ++field;  // what is beyond the end repeats the last
      }
      for (int v = 0; v < V; ++v) {
        vector rows[W];
        for (int i = 0; i < W; ++i) rows[i] = vector::load(from[i] + v * W);
        transpose<T, W>(rows);
        T* to = s.new_traces + ((block * B + v * W) * s.faces + face) * s.trace_words + first;
        for (int lane = 0; lane < W; ++lane)
          store_unaligned<T, W>(to + static_cast<std::int64_t>(lane) * s.faces * s.trace_words, rows[lane]);
      }
    }
  }
}

template <class T, int W, int V>
void write_traces(const dg_stage_arguments<T>& s, std::int64_t first, std::int64_t last) {
  const std::int64_t block_words = static_cast<std::int64_t>(s.fields) * s.nodes * W * V;
  for (std::int64_t block = first; block < last; ++block)
    write_block_traces<T, W, V>(s, block, s.q + block * block_words);
}

/// What lies behind a face of a block: out[field][m][B]. `spare` holds copies of traces whose nodes come in another
/// order.
template <class T, int W, int V>
void read_block_traces(const dg_stage_arguments<T>& s, std::int64_t block, int face, T* out, T* spare) {
  using vector = simd<T, W>;
  constexpr int B = W * V;
  const std::int64_t place = (block * s.faces + face) * B;
  const T* from[B];
  for (int lane = 0; lane < B; ++lane) {
    from[lane] = s.traces + static_cast<std::int64_t>(s.slots[place + lane]) * s.trace_words;
    if (s.turned == nullptr || s.turned[place + lane] == 0) continue;
    const std::int32_t* there = s.matching + s.turned[place + lane] * s.face_nodes;
    for (int f = 0; f < s.fields; ++f)
      for (int m = 0; m < s.face_nodes; ++m) spare[f * s.face_nodes + m] = from[lane][f * s.face_nodes + there[m]];
    from[lane] = spare;
    spare += s.trace_words;
  }
  for (int first = 0; first < s.trace_words; first += W)
    for (int v = 0; v < V; ++v) {
      vector rows[W];
      for (int lane = 0; lane < W; ++lane) rows[lane] = load_unaligned<T, W>(from[v * W + lane] + first);
      transpose<T, W>(rows);
      for (int i = 0; i < W; ++i) rows[i].store(out + static_cast<std::int64_t>(first + i) * B + v * W);
    }
}

// ---- update ----

/// The Runge-Kutta step of one vector of numbers; `index` from the block's beginning.
template <class T, int W>
PLAQUETTE_INLINE void update(const dg_stage_arguments<T>& s, T* q, T* residual, const simd<T, W>& rhs) {
  using vector = simd<T, W>;
  if (!s.update) {
    rhs.store(residual);
    return;
  }
  vector k = vector::broadcast(s.dt) * rhs;
  if (s.a != 0) k = k + vector::broadcast(s.a) * vector::load(residual);
  k.store(residual);
  (vector::load(q) + vector::broadcast(s.b) * k).store(q);
}

/// Adds sources to a block whose stage is done.
template <class T>
void add_sources(const dg_stage_arguments<T>& s, std::int64_t block, int B, T* q, T* residual) {
  for (int i = 0; i < s.source_count; ++i) {
    const dg_kernel_source<T>& source = s.sources[i];
    if (source.block != block) continue;
    for (int n = 0; n < s.nodes; ++n) {
      const std::int64_t at = static_cast<std::int64_t>(source.field * s.nodes + n) * B + source.lane;
      const T k = (s.update ? s.dt : T{1}) * source.amplitude * source.weights[n];
      residual[at] += k;
      if (s.update) q[at] += s.b * k;
    }
  }
}

// ---- acoustics, and TM ----

/// p_t = -K div u, rho u_t = -grad p in D dimensions. S: fluxes a face node that are lifted; 1 where all are upwind
/// (u's flux is then -Z n times p's), else 2.
template <class T, int W, int V, int R, int D, int S>
void acoustics_stage(const dg_stage_arguments<T>& s, std::int64_t first, std::int64_t last, T* scratch) {
  using vector = simd<T, W>;
  using c = dg_constants;
  constexpr int B = W * V, faces = D + 1, fields = D + 1;
  const std::int64_t rows = static_cast<std::int64_t>(s.nodes) * B,
                     face_rows = static_cast<std::int64_t>(s.face_nodes) * B;
  T* along = scratch;                   // contravariant velocity, [a][node]
  T* divergence = along + D * rows;     // [node]
  T* slope = divergence + rows;         // of p along a, [a][node]
  T* lifted = slope + D * rows;         // [face][S][node]
  T* flux = lifted + faces * S * rows;  // [S][m]
  T* behind = flux + S * face_rows;     // [field][m], rounded up
  T* spare = behind + (fields * face_rows + W * B);
  for (std::int64_t block = first; block < last; ++block) {
    const std::uint64_t start = s.ticks != nullptr ? ticks_now() : 0;
    const T* constants = s.constants + block * c::words(dg_system::acoustics_3d, faces) * B;
    const auto constant = [constants](int i, int v) { return vector::load(constants + i * B + v * W); };
    T* q = s.q + block * fields * rows;
    T* residual = s.residual + block * fields * rows;

    // Inside.
    for (int v = 0; v < V; ++v) {
      vector metric[D][D];
      for (int a = 0; a < D; ++a)
        for (int i = 0; i < D; ++i) metric[a][i] = constant(3 * a + i, v);
      for (std::int64_t at = v * W; at < rows; at += B)
        for (int a = 0; a < D; ++a) {
          vector sum = metric[a][0] * vector::load(q + rows + at);
          for (int i = 1; i < D; ++i) sum = sum + metric[a][i] * vector::load(q + (i + 1) * rows + at);
          sum.store(along + a * rows + at);
        }
    }
    const T* segments[3] = {along, along + rows, along + 2 * rows};
    multiply<T, W, V, R>(s.divergence, segments, divergence);
    const T* pressure[1] = {q};
    multiply<T, W, V, R>(s.gradient, pressure, slope);
    const std::uint64_t after_volume = s.ticks != nullptr ? ticks_now() : 0;

    // Faces.
    for (int face = 0; face < faces; ++face) {
      read_block_traces<T, W, V>(s, block, face, behind, spare);
      const std::int32_t* nodes = s.face_node + face * s.face_nodes;
      const int k = c::acoustics_faces + face * c::acoustics_face;
      for (int v = 0; v < V; ++v) {
        const vector of_dp = constant(k, v), of_dn = constant(k + 1, v);
        const vector rigid = constant(k + 4, v), soft = constant(k + 5, v);
        vector normal[D];
        for (int i = 0; i < D; ++i) normal[i] = constant(k + 6 + i, v);
        for (int m = 0; m < s.face_nodes; ++m) {
          const T* inside = q + static_cast<std::int64_t>(nodes[m]) * B + v * W;
          const T* outside = behind + m * B + v * W;
          const vector p = vector::load(inside);
          vector here = normal[0] * vector::load(inside + rows), there = normal[0] * vector::load(outside + face_rows);
          for (int i = 1; i < D; ++i) {
            here = here + normal[i] * vector::load(inside + (i + 1) * rows);
            there = there + normal[i] * vector::load(outside + (i + 1) * face_rows);
          }
          const vector dp = vector::load(outside) - p + soft * p;
          const vector dn = there - here + rigid * here;
          (of_dp * dp - of_dn * dn).store(flux + m * B + v * W);
          if constexpr (S == 2)
            (constant(k + 2, v) * dn - constant(k + 3, v) * dp).store(flux + face_rows + m * B + v * W);
        }
      }
      for (int i = 0; i < S; ++i) {
        const T* of_face[1] = {flux + i * face_rows};
        multiply<T, W, V, R>(s.lift[face], of_face, lifted + (face * S + i) * rows);
      }
    }
    const std::uint64_t after_surface = s.ticks != nullptr ? ticks_now() : 0;

    // Together, and the step.
    for (int v = 0; v < V; ++v) {
      vector metric[D][D], normal[faces][D];
      const vector scale = constant(9, v), slope_scale = constant(10, v);
      for (int a = 0; a < D; ++a)
        for (int i = 0; i < D; ++i) metric[a][i] = slope_scale * constant(3 * a + i, v);
      for (int face = 0; face < faces; ++face)
        for (int i = 0; i < D; ++i)
          normal[face][i] = constant(c::acoustics_faces + face * c::acoustics_face + 9 + i, v);
      for (std::int64_t at = v * W; at < rows; at += B) {
        vector p = scale * vector::load(divergence + at), u[D];
        for (int i = 0; i < D; ++i) {
          u[i] = metric[0][i] * vector::load(slope + at);
          for (int a = 1; a < D; ++a) u[i] = u[i] + metric[a][i] * vector::load(slope + a * rows + at);
        }
        for (int face = 0; face < faces; ++face) {
          const vector of_p = vector::load(lifted + face * S * rows + at);
          const vector of_u = S == 1 ? of_p : vector::load(lifted + (face * S + 1) * rows + at);
          p = p + of_p;
          for (int i = 0; i < D; ++i) u[i] = u[i] + normal[face][i] * of_u;
        }
        update<T, W>(s, q + at, residual + at, p);
        for (int i = 0; i < D; ++i) update<T, W>(s, q + (i + 1) * rows + at, residual + (i + 1) * rows + at, u[i]);
      }
    }
    if (s.source_count > 0) add_sources(s, block, B, q, residual);
    if (s.update) write_block_traces<T, W, V>(s, block, q);
    if (s.ticks != nullptr) {
      s.ticks->volume += after_volume - start;
      s.ticks->surface += after_surface - after_volume;
      s.ticks->update += ticks_now() - after_surface;
    }
  }
}

// ---- Maxwell ----

/// mu H_t = -curl E, eps E_t = curl H. S: fluxes a face node, each two tangential components: 1 where all are upwind
/// (H's flux is then Z times E's, turned by a right angle), else 2.
template <class T, int W, int V, int R, int S>
void maxwell_stage(const dg_stage_arguments<T>& s, std::int64_t first, std::int64_t last, T* scratch) {
  using vector = simd<T, W>;
  using c = dg_constants;
  constexpr int B = W * V, faces = 4, fields = 6;
  const std::int64_t rows = static_cast<std::int64_t>(s.nodes) * B,
                     face_rows = static_cast<std::int64_t>(s.face_nodes) * B;
  T* along = scratch;                       // covariant components, [H, E][a][node]
  T* curl = along + 6 * rows;               // contravariant, [of H, of E][a][node]
  T* lifted = curl + 6 * rows;              // [face][2 S][node]
  T* flux = lifted + faces * 2 * S * rows;  // [2 S][m]
  T* behind = flux + 2 * S * face_rows;     // [field][m], rounded up
  T* spare = behind + (fields * face_rows + W * B);
  for (std::int64_t block = first; block < last; ++block) {
    const std::uint64_t start = s.ticks != nullptr ? ticks_now() : 0;
    const T* constants = s.constants + block * c::words(dg_system::maxwell, faces) * B;
    const auto constant = [constants](int i, int v) { return vector::load(constants + i * B + v * W); };
    T* q = s.q + block * fields * rows;
    T* residual = s.residual + block * fields * rows;

    // Inside: (curl E)^a = D_b E_c - D_c E_b.
    for (int v = 0; v < V; ++v) {
      vector basis[3][3];
      for (int a = 0; a < 3; ++a)
        for (int i = 0; i < 3; ++i) basis[a][i] = constant(3 * a + i, v);
      for (int kind = 0; kind < 2; ++kind)
        for (std::int64_t at = v * W; at < rows; at += B) {
          vector f[3];
          for (int i = 0; i < 3; ++i) f[i] = vector::load(q + (3 * kind + i) * rows + at);
          for (int a = 0; a < 3; ++a)
            (basis[a][0] * f[0] + basis[a][1] * f[1] + basis[a][2] * f[2]).store(along + (3 * kind + a) * rows + at);
        }
    }
    for (int kind = 0; kind < 2; ++kind)
      for (int a = 0; a < 3; ++a) {
        const T* segments[2] = {along + (3 * kind + (a + 2) % 3) * rows, along + (3 * kind + (a + 1) % 3) * rows};
        multiply<T, W, V, R>(s.curl[a], segments, curl + (3 * kind + a) * rows);
      }
    const std::uint64_t after_volume = s.ticks != nullptr ? ticks_now() : 0;

    // Faces: tangential components of both jumps.
    for (int face = 0; face < faces; ++face) {
      read_block_traces<T, W, V>(s, block, face, behind, spare);
      const std::int32_t* nodes = s.face_node + face * s.face_nodes;
      const int k = c::maxwell_faces + face * c::maxwell_face;
      for (int v = 0; v < V; ++v) {
        vector tangent[2][3];
        for (int j = 0; j < 2; ++j)
          for (int i = 0; i < 3; ++i) tangent[j][i] = constant(k + 3 * j + i, v);
        const vector of_de = constant(k + 6, v), of_dh = constant(k + 7, v), conducting = constant(k + 10, v);
        for (int m = 0; m < s.face_nodes; ++m) {
          const T* inside = q + static_cast<std::int64_t>(nodes[m]) * B + v * W;
          const T* outside = behind + m * B + v * W;
          vector dh[2], de[2];
          vector h[3], e[3], jump_h[3], jump_e[3];
          for (int i = 0; i < 3; ++i) {
            h[i] = vector::load(inside + i * rows);
            e[i] = vector::load(inside + (i + 3) * rows);
            jump_h[i] = vector::load(outside + i * face_rows) - h[i];
            jump_e[i] = vector::load(outside + (i + 3) * face_rows) - e[i] + conducting * e[i];
          }
          for (int j = 0; j < 2; ++j) {
            dh[j] = tangent[j][0] * jump_h[0] + tangent[j][1] * jump_h[1] + tangent[j][2] * jump_h[2];
            de[j] = tangent[j][0] * jump_e[0] + tangent[j][1] * jump_e[1] + tangent[j][2] * jump_e[2];
          }
          T* to = flux + m * B + v * W;
          (of_de * de[0] - of_dh * dh[1]).store(to);
          (of_de * de[1] + of_dh * dh[0]).store(to + face_rows);
          if constexpr (S == 2) {
            (constant(k + 8, v) * dh[0] + constant(k + 9, v) * de[1]).store(to + 2 * face_rows);
            (constant(k + 8, v) * dh[1] - constant(k + 9, v) * de[0]).store(to + 3 * face_rows);
          }
        }
      }
      for (int i = 0; i < 2 * S; ++i) {
        const T* of_face[1] = {flux + i * face_rows};
        multiply<T, W, V, R>(s.lift[face], of_face, lifted + (face * 2 * S + i) * rows);
      }
    }
    const std::uint64_t after_surface = s.ticks != nullptr ? ticks_now() : 0;

    // Together, and the step. Half of the fields at a time: there are not registers for more.
    for (int kind = 0; kind < 2; ++kind)  // 0: H, from curl E; 1: E, from curl H
      for (int v = 0; v < V; ++v) {
        vector basis[3][3];
        for (int a = 0; a < 3; ++a)
          for (int i = 0; i < 3; ++i) basis[a][i] = constant(9 + 9 * kind + 3 * a + i, v);
        for (std::int64_t at = v * W; at < rows; at += B) {
          vector f[3];
          const T* from = curl + (kind == 0 ? 3 : 0) * rows + at;
          for (int i = 0; i < 3; ++i)
            f[i] = basis[0][i] * vector::load(from) + basis[1][i] * vector::load(from + rows) +
                   basis[2][i] * vector::load(from + 2 * rows);
          for (int face = 0; face < faces; ++face) {
            const T* g = lifted + (face * 2 * S + (S == 2 && kind == 0 ? 2 : 0)) * rows + at;
            const vector g0 = vector::load(g), g1 = vector::load(g + rows);
            const int k = c::maxwell_faces + face * c::maxwell_face + 11 + 6 * kind;
            for (int i = 0; i < 3; ++i) f[i] = f[i] + constant(k + i, v) * g0 + constant(k + 3 + i, v) * g1;
          }
          for (int i = 0; i < 3; ++i) {
            const std::int64_t place = (3 * kind + i) * rows + at;
            update<T, W>(s, q + place, residual + place, f[i]);
          }
        }
      }
    if (s.source_count > 0) add_sources(s, block, B, q, residual);
    if (s.update) write_block_traces<T, W, V>(s, block, q);
    if (s.ticks != nullptr) {
      s.ticks->volume += after_volume - start;
      s.ticks->surface += after_surface - after_volume;
      s.ticks->update += ticks_now() - after_surface;
    }
  }
}

template <class T, int W, int V, int R>
void fill_dg_table(dg_kernel_table<T>& table) {
  table.width = W;
  table.vectors = V;
  table.panel_rows = R;
  table.stage[0][0] = acoustics_stage<T, W, V, R, 2, 1>;
  table.stage[0][1] = acoustics_stage<T, W, V, R, 2, 2>;
  table.stage[1][0] = acoustics_stage<T, W, V, R, 3, 1>;
  table.stage[1][1] = acoustics_stage<T, W, V, R, 3, 2>;
  table.stage[2][0] = maxwell_stage<T, W, V, R, 1>;
  table.stage[2][1] = maxwell_stage<T, W, V, R, 2>;
  table.write_traces = write_traces<T, W, V>;
}

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
