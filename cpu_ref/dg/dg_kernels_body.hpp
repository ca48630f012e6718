// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernels of nodal DG, compiled once an instruction set inside the namespace that PLAQUETTE_INSTRUCTION_SET names.
/// A stage takes a block of elements through volume, faces and Runge-Kutta update while it is in the cache.
#pragma once

#include <algorithm>
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
  vector sum[R][V];  // in registers only if all loops over it are unrolled
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
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
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 16
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

/// Computes y = A x. The first rows % panels panels have one row more than the others.
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

// ---- memory ----

/// Prefetches numbers, part after part, so that they are in the second-level cache when they are needed. A block reads
/// and writes too many rows at once for the processor to guess.
template <class T>
class prefetch_stream {
 public:
  prefetch_stream(const T* first, std::int64_t count) : next_(first), end_(first + count), count_(count) {}
  /// Prefetches the next of `parts` parts.
  void prefetch_part(int parts) {
    constexpr std::int64_t line = 64 / sizeof(T);
    const T* const end = std::min(next_ + count_ / parts + line, end_);
    for (; next_ < end; next_ += line) __builtin_prefetch(next_, 1, 2);
  }

 private:
  const T *next_, *end_;
  std::int64_t count_;
};

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

/// Hands traces on: words[face][m][component] of one vector of elements, the first of which is `element`.
template <class T, int W>
void store_traces(const dg_stage_arguments<T>& s, std::int64_t element, const T* words) {
  using vector = simd<T, W>;
  T* const to = s.new_traces + element * s.element_words;
  for (int piece = 0; piece < s.element_words; piece += W) {
    const int first = std::min(piece, s.element_words - W);  // the last ones overlap
    vector rows[W];
    for (int i = 0; i < W; ++i) rows[i] = vector::load(words + (first + i) * W);
    transpose<T, W>(rows);
    for (int lane = 0; lane < W; ++lane)
      store_unaligned<T, W>(to + static_cast<std::int64_t>(lane) * s.element_words + first, rows[lane]);
  }
}

/// Reads the traces behind a face of a block: out[m][component][B], C components. `spare` holds copies of traces whose
/// nodes come in another order.
template <class T, int W, int V, int C, int Faces>
void read_block_traces(const dg_stage_arguments<T>& s, std::int64_t block, int face, T* out, T* spare) {
  using vector = simd<T, W>;
  constexpr int B = W * V;
  const int words = s.face_nodes * C;
  const std::int64_t place = (block * Faces + face) * B;
  const T* from[B];
  for (int lane = 0; lane < B; ++lane) {
    const auto slot = static_cast<std::uint32_t>(s.slots[place + lane]);
    from[lane] = s.traces + static_cast<std::int64_t>(slot / Faces) * s.element_words + slot % Faces * words;
    if (s.reversed == nullptr || s.reversed[place + lane] == 0) continue;
    const std::int32_t* there = s.matching + s.reversed[place + lane] * s.face_nodes;
    for (int m = 0; m < s.face_nodes; ++m)
      for (int i = 0; i < C; ++i) spare[m * C + i] = from[lane][there[m] * C + i];
    from[lane] = spare;
    spare += words;
  }
  for (int first = 0; first < words; first += W)
    for (int v = 0; v < V; ++v) {
      vector rows[W];
      for (int lane = 0; lane < W; ++lane) rows[lane] = load_unaligned<T, W>(from[v * W + lane] + first);
      transpose<T, W>(rows);
      for (int i = 0; i < W; ++i) rows[i].store(out + static_cast<std::int64_t>(first + i) * B + v * W);
    }
}

// ---- update ----

/// Makes the Runge-Kutta step of one vector of numbers; `index` from the block's beginning.
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

/// Traces of a block's q, for its neighbours. D dimensions; S: 1 if all fluxes are upwind, else 2.
template <class T, int W, int V, int D, int S>
void write_acoustics_traces(const dg_stage_arguments<T>& s, std::int64_t block, T* words) {
  using vector = simd<T, W>;
  using c = dg_constants;
  constexpr int B = W * V, faces = D + 1;
  const std::int64_t rows = static_cast<std::int64_t>(s.nodes) * B;
  const T* q = s.q + block * (D + 1) * rows;
  const T* constants = s.constants + block * c::words(dg_system::acoustics_3d, faces) * B;
  const auto constant = [constants](int i, int v) { return vector::load(constants + i * B + v * W); };
  for (int v = 0; v < V; ++v) {
    const vector z = constant(11, v);
    T* to = words;
    for (int face = 0; face < faces; ++face) {
      const std::int32_t* nodes = s.face_node + face * s.face_nodes;
      vector normal[D];
      for (int i = 0; i < D; ++i) normal[i] = constant(c::acoustics_faces + face * c::acoustics_face + i, v);
      for (int m = 0; m < s.face_nodes; ++m, to += S * W) {
        const T* from = q + static_cast<std::int64_t>(nodes[m]) * B + v * W;
        const vector p = vector::load(from);
        vector n_u = normal[0] * vector::load(from + rows);
        for (int i = 1; i < D; ++i) n_u = n_u + normal[i] * vector::load(from + (i + 1) * rows);
        if constexpr (S == 1) {
          (p + z * n_u).store(to);
        } else {
          p.store(to);
          n_u.store(to + W);
        }
      }
    }
    store_traces<T, W>(s, block * B + v * W, words);
  }
}

/// Computes p_t = -K div u, rho u_t = -grad p in D dimensions. S: fluxes a face node that are lifted; 1 if all are
/// upwind (u's flux is then -n / Z times p's), else 2. Upwind, with dp = p' - p, dn = n.(u' - u) and w the trace
/// behind:
///   p's flux  f (dp - Z' dn) = f (mirror w - p + Z' n.u),  f = Fscale K / (Z + Z').
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
  T* behind = flux + S * face_rows;     // [m][S], rounded up
  T* spare = behind + (S * face_rows + W * B);
  for (std::int64_t block = first; block < last; ++block) {
    const std::uint64_t start = s.ticks != nullptr ? ticks_now() : 0;
    const T* constants = s.constants + block * c::words(dg_system::acoustics_3d, faces) * B;
    const auto constant = [constants](int i, int v) { return vector::load(constants + i * B + v * W); };
    T* q = s.q + block * fields * rows;
    T* residual = s.residual + block * fields * rows;
    prefetch_stream<T> q_next(q + fields * rows, fields * rows), residual_here(residual, fields * rows),
        traces_here(s.new_traces + block * B * s.element_words, B * s.element_words);

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
    residual_here.prefetch_part(2);
    traces_here.prefetch_part(2);
    multiply<T, W, V, R>(s.divergence, segments, divergence);
    const T* pressure[1] = {q};
    residual_here.prefetch_part(2);
    traces_here.prefetch_part(2);
    multiply<T, W, V, R>(s.gradient, pressure, slope);
    const std::uint64_t after_volume = s.ticks != nullptr ? ticks_now() : 0;

    // Faces.
    for (int face = 0; face < faces; ++face) {
      read_block_traces<T, W, V, S, faces>(s, block, face, behind, spare);
      const std::int32_t* nodes = s.face_node + face * s.face_nodes;
      const int k = c::acoustics_faces + face * c::acoustics_face;
      for (int v = 0; v < V; ++v) {
        const vector of_dp = constant(k + 3, v), of_dn = constant(k + 4, v), mirror = constant(k + 5, v);
        vector normal[D];
        for (int i = 0; i < D; ++i) normal[i] = constant(k + i, v);
        for (int m = 0; m < s.face_nodes; ++m) {
          const T* inside = q + static_cast<std::int64_t>(nodes[m]) * B + v * W;
          const T* outside = behind + m * S * B + v * W;
          const vector p = vector::load(inside);
          vector n_u = normal[0] * vector::load(inside + rows);
          for (int i = 1; i < D; ++i) n_u = n_u + normal[i] * vector::load(inside + (i + 1) * rows);
          if constexpr (S == 1) {  // `mirror` has f in it
            (mirror * vector::load(outside) - of_dp * p + of_dn * n_u).store(flux + m * B + v * W);
          } else {
            const vector dp = mirror * vector::load(outside) - p, dn = -(mirror * vector::load(outside + B)) - n_u;
            (of_dp * dp - of_dn * dn).store(flux + m * B + v * W);
            (constant(k + 6, v) * dn - constant(k + 7, v) * dp).store(flux + face_rows + m * B + v * W);
          }
        }
      }
      q_next.prefetch_part(faces);
      for (int i = 0; i < S; ++i) {
        const T* of_face[1] = {flux + i * face_rows};
        multiply<T, W, V, R>(s.lift[face], of_face, lifted + (face * S + i) * rows);
      }
    }
    const std::uint64_t after_surface = s.ticks != nullptr ? ticks_now() : 0;

    // Together, and the step.
    for (int v = 0; v < V; ++v) {
      vector metric[D][D], normal[faces][D];
      const vector scale = constant(9, v), slope_scale = constant(10, v), of_flux = constant(12, v);
      for (int a = 0; a < D; ++a)
        for (int i = 0; i < D; ++i) metric[a][i] = slope_scale * constant(3 * a + i, v);
      for (int face = 0; face < faces; ++face)
        for (int i = 0; i < D; ++i)
          normal[face][i] = of_flux * constant(c::acoustics_faces + face * c::acoustics_face + i, v);
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
    if (s.update) write_acoustics_traces<T, W, V, D, S>(s, block, scratch);
    if (s.ticks != nullptr) {
      s.ticks->volume += after_volume - start;
      s.ticks->surface += after_surface - after_volume;
      s.ticks->update += ticks_now() - after_surface;
    }
  }
}

// ---- Maxwell ----

/// Components of a block's fields along both tangents, at one place.
template <class V>
struct tangential {
  V e[2], h[2];
};
template <class T, class V>
PLAQUETTE_INLINE tangential<V> tangential_part(const V (&tangent)[2][3], const T* q, std::int64_t rows) {
  V h[3], e[3];
  for (int i = 0; i < 3; ++i) {
    h[i] = V::load(q + i * rows);
    e[i] = V::load(q + (i + 3) * rows);
  }
  tangential<V> result;
  for (int j = 0; j < 2; ++j) {
    result.e[j] = tangent[j][0] * e[0] + tangent[j][1] * e[1] + tangent[j][2] * e[2];
    result.h[j] = tangent[j][0] * h[0] + tangent[j][1] * h[1] + tangent[j][2] * h[2];
  }
  return result;
}

/// Traces of a block's q, for its neighbours. S: 1 if all fluxes are upwind, else 2.
template <class T, int W, int V, int S>
void write_maxwell_traces(const dg_stage_arguments<T>& s, std::int64_t block, T* words) {
  using vector = simd<T, W>;
  using c = dg_constants;
  constexpr int B = W * V, faces = 4;
  const std::int64_t rows = static_cast<std::int64_t>(s.nodes) * B;
  const T* q = s.q + block * 6 * rows;
  const T* constants = s.constants + block * c::words(dg_system::maxwell, faces) * B;
  const auto constant = [constants](int i, int v) { return vector::load(constants + i * B + v * W); };
  for (int v = 0; v < V; ++v) {
    const vector z = constant(11, v);
    T* to = words;
    for (int face = 0; face < faces; ++face) {
      const std::int32_t* nodes = s.face_node + face * s.face_nodes;
      vector tangent[2][3];
      for (int j = 0; j < 2; ++j)
        for (int i = 0; i < 3; ++i) tangent[j][i] = constant(c::maxwell_faces + face * c::maxwell_face + 3 * j + i, v);
      for (int m = 0; m < s.face_nodes; ++m, to += 2 * S * W) {
        const auto here = tangential_part(tangent, q + static_cast<std::int64_t>(nodes[m]) * B + v * W, rows);
        if constexpr (S == 1) {
          (here.e[0] + z * here.h[1]).store(to);
          (here.e[1] - z * here.h[0]).store(to + W);
        } else {
          for (int j = 0; j < 2; ++j) {
            here.e[j].store(to + j * W);
            here.h[j].store(to + (2 + j) * W);
          }
        }
      }
    }
    store_traces<T, W>(s, block * B + v * W, words);
  }
}

/// Computes mu H_t = -curl E, eps E_t = curl H. S: fluxes a face node, each two tangential components: 1 if all are
/// upwind (H's flux is then E's over Z, turned by a right angle), else 2. Upwind, with dE = E' - E, dH = H' - H and w
/// the trace behind, turned into this element's frame:
///   E's flux  f (dE_0 - Z' dH_1, dE_1 + Z' dH_0) = f (w_0 - E_0 + Z' H_1, w_1 - E_1 - Z' H_0),
///   f = Fscale / (eps (Z + Z')).
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
  T* behind = flux + 2 * S * face_rows;     // [m][2 S], rounded up
  T* spare = behind + (2 * S * face_rows + W * B);
  for (std::int64_t block = first; block < last; ++block) {
    const std::uint64_t start = s.ticks != nullptr ? ticks_now() : 0;
    const T* constants = s.constants + block * c::words(dg_system::maxwell, faces) * B;
    const auto constant = [constants](int i, int v) { return vector::load(constants + i * B + v * W); };
    T* q = s.q + block * fields * rows;
    T* residual = s.residual + block * fields * rows;
    prefetch_stream<T> q_next(q + fields * rows, fields * rows), residual_here(residual, fields * rows),
        traces_here(s.new_traces + block * B * s.element_words, B * s.element_words);

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
        residual_here.prefetch_part(6);
        traces_here.prefetch_part(6);
        multiply<T, W, V, R>(s.curl[a], segments, curl + (3 * kind + a) * rows);
      }
    const std::uint64_t after_volume = s.ticks != nullptr ? ticks_now() : 0;

    // Faces: tangential components of both jumps.
    for (int face = 0; face < faces; ++face) {
      read_block_traces<T, W, V, 2 * S, faces>(s, block, face, behind, spare);
      const std::int32_t* nodes = s.face_node + face * s.face_nodes;
      const int k = c::maxwell_faces + face * c::maxwell_face;
      for (int v = 0; v < V; ++v) {
        vector tangent[2][3];
        for (int j = 0; j < 2; ++j)
          for (int i = 0; i < 3; ++i) tangent[j][i] = constant(k + 3 * j + i, v);
        const vector of_de = constant(k + 6, v), of_dh = constant(k + 7, v);
        const vector rotation[3] = {constant(k + 8, v), constant(k + 9, v), constant(k + 10, v)};
        for (int m = 0; m < s.face_nodes; ++m) {
          const auto here = tangential_part(tangent, q + static_cast<std::int64_t>(nodes[m]) * B + v * W, rows);
          const T* outside = behind + m * 2 * S * B + v * W;
          vector there[2 * S];
          for (int i = 0; i < 2 * S; i += 2) {
            const vector first = vector::load(outside + i * B), second = vector::load(outside + (i + 1) * B);
            there[i] = rotation[0] * first + rotation[1] * second;
            there[i + 1] = rotation[1] * first + rotation[2] * second;
          }
          T* to = flux + m * B + v * W;
          if constexpr (S == 1) {  // `rotation` has f in it
            (there[0] - of_de * here.e[0] + of_dh * here.h[1]).store(to);
            (there[1] - of_de * here.e[1] - of_dh * here.h[0]).store(to + face_rows);
          } else {
            const vector mirror = constant(k + 13, v), of_dh_h = constant(k + 11, v), of_de_h = constant(k + 12, v);
            const vector de[2] = {there[0] - here.e[0], there[1] - here.e[1]};
            const vector dh[2] = {mirror * there[2] - here.h[0], mirror * there[3] - here.h[1]};
            (of_de * de[0] - of_dh * dh[1]).store(to);
            (of_de * de[1] + of_dh * dh[0]).store(to + face_rows);
            (of_dh_h * dh[0] + of_de_h * de[1]).store(to + 2 * face_rows);
            (of_dh_h * dh[1] - of_de_h * de[0]).store(to + 3 * face_rows);
          }
        }
      }
      q_next.prefetch_part(faces);
      for (int i = 0; i < 2 * S; ++i) {
        const T* of_face[1] = {flux + i * face_rows};
        multiply<T, W, V, R>(s.lift[face], of_face, lifted + (face * 2 * S + i) * rows);
      }
    }
    const std::uint64_t after_surface = s.ticks != nullptr ? ticks_now() : 0;

    // Together, and the step. Half of the fields at a time: there are not registers for more.
    for (int kind = 0; kind < 2; ++kind)  // 0: H, from curl E; 1: E, from curl H
      for (int v = 0; v < V; ++v) {
        const vector scale = constant(9 + kind, v), of_flux = constant(12, v);
        // If upwind, H's flux is (second, -first) of E's.
        const bool reversed = S == 1 && kind == 0;
        vector basis[3][3], tangent[faces][2][3];
        for (int a = 0; a < 3; ++a)
          for (int i = 0; i < 3; ++i) basis[a][i] = scale * constant(3 * a + i, v);
        for (int face = 0; face < faces; ++face)
          for (int i = 0; i < 3; ++i) {
            const int k = c::maxwell_faces + face * c::maxwell_face + i;
            tangent[face][0][i] = reversed ? -(of_flux * constant(k + 3, v)) : constant(k, v);
            tangent[face][1][i] = reversed ? of_flux * constant(k, v) : constant(k + 3, v);
          }
        for (std::int64_t at = v * W; at < rows; at += B) {
          vector f[3];
          const T* from = curl + (kind == 0 ? 3 : 0) * rows + at;
          for (int i = 0; i < 3; ++i)
            f[i] = basis[0][i] * vector::load(from) + basis[1][i] * vector::load(from + rows) +
                   basis[2][i] * vector::load(from + 2 * rows);
          for (int face = 0; face < faces; ++face) {
            const T* g = lifted + (face * 2 * S + (S == 2 && kind == 0 ? 2 : 0)) * rows + at;
            const vector g0 = vector::load(g), g1 = vector::load(g + rows);
            for (int i = 0; i < 3; ++i) f[i] = f[i] + tangent[face][0][i] * g0 + tangent[face][1][i] * g1;
          }
          for (int i = 0; i < 3; ++i) {
            const std::int64_t place = (3 * kind + i) * rows + at;
            update<T, W>(s, q + place, residual + place, f[i]);
          }
        }
      }
    if (s.source_count > 0) add_sources(s, block, B, q, residual);
    if (s.update) write_maxwell_traces<T, W, V, S>(s, block, scratch);
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
  table.write_traces[0][0] = write_acoustics_traces<T, W, V, 2, 1>;
  table.write_traces[0][1] = write_acoustics_traces<T, W, V, 2, 2>;
  table.write_traces[1][0] = write_acoustics_traces<T, W, V, 3, 1>;
  table.write_traces[1][1] = write_acoustics_traces<T, W, V, 3, 2>;
  table.write_traces[2][0] = write_maxwell_traces<T, W, V, 1>;
  table.write_traces[2][1] = write_maxwell_traces<T, W, V, 2>;
}

}  // namespace plaquette::cpu::PLAQUETTE_INSTRUCTION_SET
