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

/// The equations that the kernels know. TM is acoustics in two dimensions: p = Ez, u = -Hy, v = Hx, with walls where p
/// = 0.
enum class dg_system { acoustics_2d, acoustics_3d, maxwell, count };

/// A matrix in panels of rows, each stored column by column, so that a panel's coefficients are read in a row. It is
/// multiplied with `segments` arrays of `depth` rows one after the other.
template <class T>
struct panel_matrix {
  int rows = 0, panels = 0, depth = 0, segments = 1;
  const T* values = nullptr;
};

/// Constants of a block of elements, each a row of lanes. Z and Z' are the impedances of an element and of its
/// neighbour, n its outward normal, t_0 and t_1 = n x t_0 tangents of a face.
struct dg_constants {
  /// Acoustics: metric [a][i] (9), scales of divergence and gradient (2), Z (1), factor of u's flux (1). Then per face:
  /// n (3), factors of dp and dn in p's flux (2), mirror (1), where central factors of dn and dp in u's flux (2).
  static constexpr int acoustics_faces = 13, acoustics_face = 8;
  /// Maxwell: covariant basis [a][i] (9), scales of curl E and curl H (2), Z (1), factor of H's flux (1). Then per
  /// face: t_0 and t_1 (6), factors of dE and dH in E's flux (2), turn (3), where central factors of dH and dE in H's
  /// flux (2) and the mirror of H (1).
  static constexpr int maxwell_faces = 13, maxwell_face = 14;
  static constexpr int words(dg_system system, int faces) {
    return system == dg_system::maxwell ? maxwell_faces + faces * maxwell_face
                                        : acoustics_faces + faces * acoustics_face;
  }
};

/// Returns the numbers a node of a face in a trace, which an element writes for its neighbour: the neighbour needs them
/// for the flux and no more. With n, t_0, t_1 and Z of the element that writes:
///   acoustics, upwind    p + Z n.u
///              central   p, n.u
///   Maxwell,   upwind    t_0.E + Z t_1.H, t_1.E - Z t_0.H
///              central   t_0.E, t_1.E, t_0.H, t_1.H
/// The upwind ones are the waves that leave the element. Its own lie behind a wall, times the mirror: +1, or -1 where
/// p = 0. The neighbour reads tangential components in its own frame: (a w_0 + b w_1, b w_0 + c w_1), the turn.
constexpr int dg_trace_components(dg_system system, bool central) {
  return (system == dg_system::maxwell ? 2 : 1) * (central ? 2 : 1);
}

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
  const std::uint8_t* reversed = nullptr;   ///< [block][face][B]: orientation, if not null
  /// Numbers of the slots of an element's faces: faces * face_nodes * components, at least a vector. Slot i begins at
  /// i / faces * element_words + i % faces * face_nodes * components.
  int element_words = 0;
  const T* traces = nullptr;  ///< [slot][m][component], m in the face's own order
  T* new_traces = nullptr;    ///< of the elements here: slot = element * faces + face
  T* q = nullptr;             ///< [block][field][node][B]
  T* residual = nullptr;      ///< the Runge-Kutta register, or where the right-hand side goes
  T a = 0, b = 0, dt = 1;     ///< residual = a residual + dt rhs; q += b residual
  bool update = true;         ///< else the residual becomes the right-hand side, and q and traces stay
  const dg_kernel_source<T>* sources = nullptr;
  int source_count = 0;
  dg_ticks* ticks = nullptr;  ///< if not null, time is measured
};

template <class T>
struct dg_kernel_table {
  int width = 0, vectors = 0, panel_rows = 0;
  int block() const { return width * vectors; }
  /// stage[system][central](arguments, first block, one past the last, scratch): central if not all faces are upwind.
  void (*stage[static_cast<int>(dg_system::count)][2])(const dg_stage_arguments<T>&, std::int64_t first,
                                                       std::int64_t last, T* scratch) = {};
  /// write_traces[system][central](arguments, block, scratch): new_traces = traces of q.
  void (*write_traces[static_cast<int>(dg_system::count)][2])(const dg_stage_arguments<T>&, std::int64_t block,
                                                              T* scratch) = {};
};

/// Returns the numbers of scratch that a thread needs.
constexpr std::int64_t dg_scratch_words(int nodes, int face_nodes, int block) {
  return std::int64_t{block} * (28 * nodes + 18 * face_nodes + 128);
}

struct dg_kernel_set {
  dg_kernel_table<float> single_precision;
  dg_kernel_table<double> double_precision;
};

/// Returns the tables of an instruction set; width 0 if this processor does not run it.
const dg_kernel_set& dg_kernels_of(instruction_set isa);

}  // namespace plaquette::cpu
