// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The tables that the CPU kernels of nodal DG read: matrices in panels, constants of elements in lanes, traces behind
/// faces.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/dg/dg_solver.hpp"
#include "cpu_ref/dg/dg_kernels.hpp"
#include "cpu_ref/memory/aligned_buffer.hpp"

namespace plaquette::cpu {

/// How a kernel's fields are made of the problem's: kernel field i is sign[i] times field from[i].
struct dg_field_map {
  dg_system system;
  int fields;
  std::array<int, most_fields> from;
  std::array<double, most_fields> sign;
};
dg_field_map field_map_of(wave_equations equations, int dimension);

/// A face behind which the incident wave is. Component c of its trace is the sum over kernel fields f of weights[c][f]
/// times field f.
struct incident_face {
  std::int32_t element;
  int face;
  std::int32_t slot;
  std::array<std::array<double, most_fields>, 4> weights;
};

template <class T>
class dg_plan {
 public:
  dg_plan(const dg_domain& domain, const dg_kernel_table<T>& kernels, const stop_check& stop);

  /// All that does not change from stage to stage.
  dg_stage_arguments<T> arguments() const;

  dg_field_map map;
  bool central;   ///< two fluxes a face node are lifted
  int block = 0;  ///< elements of one
  std::int64_t blocks = 0, interior_blocks = 0;
  int components, slot_words;  ///< of a trace: numbers a node, numbers
  int element_words;           ///< of the traces of an element
  std::int64_t halo_slot = 0, slots = 0;
  std::vector<incident_face> incident;
  std::vector<T> source_weights;  ///< [source][node]
  std::vector<dg_kernel_source<T>> sources;

  /// Returns the numbers of one state.
  std::int64_t state_words() const { return blocks * block * map.fields * nodes_; }
  /// Returns the numbers of all traces of one state; a vector is read from where the last one begins.
  std::int64_t trace_words() const { return ((slots + faces_ - 1) / faces_ + 1) * element_words; }
  /// Returns where a slot begins.
  std::int64_t slot_at(std::int64_t slot) const { return slot / faces_ * element_words + slot % faces_ * slot_words; }
  /// Place of a node's number in a state.
  std::int64_t at(std::int32_t element, int field, int node) const {
    return ((element / block * map.fields + field) * nodes_ + node) * block + element % block;
  }

 private:
  panel_matrix<T> packed(const std::vector<dense_matrix>& segments, int panel_rows);
  void make_matrices(const dg_domain& domain, int panel_rows);
  void make_slots(const dg_domain& domain, paced_stop& pace);
  void make_constants(const dg_domain& domain, paced_stop& pace);
  void make_sources(const dg_domain& domain);

  int nodes_, face_nodes_, faces_;
  panel_matrix<T> divergence_, gradient_;
  std::array<panel_matrix<T>, 3> curl_;
  std::array<panel_matrix<T>, most_faces> lift_;
  std::vector<aligned_buffer<T>> matrices_;
  std::vector<std::int32_t> face_node_, matching_, slots_;
  std::vector<std::uint8_t> reversed_;
  aligned_buffer<T> constants_;
};

extern template class dg_plan<float>;
extern template class dg_plan<double>;

}  // namespace plaquette::cpu
