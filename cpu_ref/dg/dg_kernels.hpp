// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The inner loops of nodal DG on the CPU as tables of function pointers. `dg_kernels_body.hpp` is compiled once an
/// instruction set and fills them. Elements lie side by side in the lanes: a block holds `vectors * width` of them, and
/// a matrix of the reference element times a block is a product with contiguous columns.
#pragma once

#include <cstdint>

#include "common/mesh/simplex_mesh.hpp"
#include "cpu_ref/simd/kernels.hpp"

namespace plaquette::cpu {

/// What the kernels know. TM is acoustics in two dimensions: p = Ez, u = -Hy, v = Hx, with walls where p = 0.
enum class dg_system { acoustics_2d, acoustics_3d, maxwell, count };

/// A matrix in panels of rows, each stored column by column, so that a panel's coefficients are read in a row. It is
/// multiplied with `segments` arrays of `depth` rows one after the other.
template <class T>
struct panel_matrix {
  int rows = 0, panels = 0, depth = 0, segments = 1;
  const T* values = nullptr;
};

/// Constants of a block of elements, each a row of lanes.
struct dg_constants {
  /// Acoustics: metric [a][i] (9), divergence and gradient scales (2), then per face: of dp, of dn in p's flux (2), of
  /// dn, of dp in u's flux (2), wall: -2 where rigid (1), where soft (1), normal (3), scaled normal (3).
  static constexpr int acoustics_faces = 11, acoustics_face = 12;
  /// Maxwell: covariant basis [a][i] (9), the same with scale and sign for H and for E (18), then per face: tangents
  /// (6), of dE, of dH in E's flux (2), of dH, of dE in H's flux (2), -2 where conducting (1), tangents scaled for H
  /// (6) and for E (6).
  static constexpr int maxwell_faces = 27, maxwell_face = 23;
  static constexpr int words(dg_system system, int faces) {
    return system == dg_system::maxwell ? maxwell_faces + faces * maxwell_face
                                        : acoustics_faces + faces * acoustics_face;
  }
};

/// An amplitude that is added to one field of one element.
template <class T>
struct dg_kernel_source {
  std::int64_t block = 0;
  int lane = 0, field = 0;
  const T* weights = nullptr;  ///< [node]
  T amplitude = 0;
};

/// Time stamps' differences, of the processor's counter.
struct dg_ticks {
  std::uint64_t volume = 0, surface = 0, update = 0;
};

/// One stage for one column. B: elements of a block.
template <class T>
struct dg_stage_arguments {
  int nodes = 0, face_nodes = 0, fields = 0, faces = 0;
  panel_matrix<T> divergence, gradient;  ///< acoustics: [Dr Ds Dt], and the same below each other
  panel_matrix<T> curl[3];               ///< Maxwell: [D_b, -D_c] of component a
  panel_matrix<T> lift[most_faces];
  const std::int32_t* face_node = nullptr;  ///< [face][m]
  const std::int32_t* matching = nullptr;   ///< [orientation][m]
  const T* constants = nullptr;             ///< [block][dg_constants][B]
  const std::int32_t* slots = nullptr;      ///< [block][face][B]: trace behind the face
  const std::uint8_t* turned = nullptr;     ///< [block][face][B]: orientation, if not null
  int trace_words = 0;                      ///< numbers of a slot: fields * face_nodes, rounded up to whole vectors
  const T* traces = nullptr;                ///< [slot][trace_words]: [field][m] of the face's own order
  T* new_traces = nullptr;                  ///< of the elements here: slot = element * faces + face
  T* q = nullptr;                           ///< [block][field][node][B]
  T* residual = nullptr;                    ///< the Runge-Kutta register, or where the right-hand side goes
  T a = 0, b = 0, dt = 1;                   ///< residual = a residual + dt rhs; q += b residual
  bool update = true;                       ///< else the residual becomes the right-hand side, and q and traces stay
  const dg_kernel_source<T>* sources = nullptr;
  int source_count = 0;
  dg_ticks* ticks = nullptr;  ///< where not null, time is measured
};

template <class T>
struct dg_kernel_table {
  int width = 0, vectors = 0, panel_rows = 0;
  int block() const { return width * vectors; }
  /// stage[system][central](arguments, first block, one past the last, scratch): central where not all faces are
  /// upwind.
  void (*stage[static_cast<int>(dg_system::count)][2])(const dg_stage_arguments<T>&, std::int64_t first,
                                                       std::int64_t last, T* scratch) = {};
  /// new_traces = traces of q.
  void (*write_traces)(const dg_stage_arguments<T>&, std::int64_t first, std::int64_t last) = nullptr;
};

/// Numbers of scratch that a thread needs.
constexpr std::int64_t dg_scratch_words(int nodes, int face_nodes, int block) {
  return std::int64_t{block} * (28 * nodes + 18 * face_nodes + 128);
}

struct dg_kernel_set {
  dg_kernel_table<float> single_precision;
  dg_kernel_table<double> double_precision;
};

/// The tables of an instruction set; width 0 where this processor does not run it.
const dg_kernel_set& dg_kernels_of(instruction_set isa);

}  // namespace plaquette::cpu
