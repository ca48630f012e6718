// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Makes launchers from kernels. For the files of fused kernels and the timing program only.
#pragma once

#include <array>
#include <memory>
#include <stdexcept>
#include <vector>

#include "common/dg/element_geometry.hpp"
#include "common/dg/reference_element.hpp"
#include "gpu/device/one_kernel.hpp"
#include "gpu/dg/fused_launcher.hpp"
#include "gpu/dg/fused_shapes.hpp"
#include "gpu/dg/lane_stage.hpp"
#include "gpu/dg/mesh_on_device.hpp"

namespace plaquette::gpu::dg {

/// Returns the numbers of maxwell_in_element::record.
template <class T>
std::vector<T> maxwell_records(const std::vector<element_geometry>& geometry) {
  using vector = std::array<double, 3>;
  std::vector<T> records(geometry.size() * maxwell_in_element<T>::record);
  for (std::size_t i = 0; i < geometry.size(); ++i) {
    const element_geometry& g = geometry[i];
    T* const to = records.data() + i * maxwell_in_element<T>::record;
    const vector &gr = g.metric[0], &gs = g.metric[1], &gt = g.metric[2];
    // With its sign, so that left-handed elements are right too.
    const double jacobian = 1.0 / (gr[0] * (gs[1] * gt[2] - gs[2] * gt[1]) + gr[1] * (gs[2] * gt[0] - gs[0] * gt[2]) +
                                   gr[2] * (gs[0] * gt[1] - gs[1] * gt[0]));
    for (std::size_t a = 0; a < 3; ++a) {
      const vector &b = g.metric[(a + 1) % 3], &c = g.metric[(a + 2) % 3];
      for (std::size_t x = 0; x < 3; ++x) {
        const std::size_t y = (x + 1) % 3, z = (x + 2) % 3;
        to[4 * a + x] = static_cast<T>(jacobian * (b[y] * c[z] - b[z] * c[y]));  // e_a = J grad r_b x grad r_c
      }
    }
    to[3] = static_cast<T>(1.0 / jacobian);
  }
  return records;
}

inline constexpr int most_shared_bytes = 232448;  ///< of a block, from compute capability 9.0 on

template <class System, class Engine, int order, class shape>
class fused_launcher final : public stage_launcher<typename System::real, System::fields> {
 public:
  using T = typename System::real;
  using kernel = fused_kernel<System, Engine, order, shape>;
  static_assert(kernel::shared_bytes <= most_shared_bytes);

  fused_launcher(const reference_element& reference, const std::vector<element_geometry>& geometry, const queue& q) {
    const auto derivative = [&](int a, int n, int k) {
      return reference.derivative[static_cast<std::size_t>(a)](n, k);
    };
    const auto lift = [&](int n, int fm) { return reference.lift(n, fm); };
    matrices_ = device_array<T>(q, packed_matrices<kernel, Engine>(derivative, lift));
    if constexpr (System::fields == 6) records_ = device_array<T>(q, maxwell_records<T>(geometry));
  }
  void run(const queue& q, const stage_arguments<T, System::fields>& stage) override {
    const T* const records = System::fields == 6 ? records_.data() : stage.mesh.geometry;
    launch_fused(q, kernel{stage, records, matrices_.data()});
  }

 private:
  device_array<T> matrices_, records_;
};

/// Launches a kernel with an element a lane.
template <class System, int order, class shape>
class lane_launcher final : public stage_launcher<typename System::real, System::fields> {
 public:
  using T = typename System::real;
  using kernel = lane_kernel<System, order, shape>;

  lane_launcher(const reference_element& reference, const std::vector<element_geometry>& geometry, const queue& q) {
    for (int n = 0; n < kernel::nodes; ++n) {
      for (int k = 0; k < kernel::nodes; ++k)
        for (int a = 0; a < 3; ++a)
          matrices_.derivative[k][a][n] = static_cast<T>(reference.derivative[static_cast<std::size_t>(a)](n, k));
      for (int f = 0; f < 4; ++f)
        for (int m = 0; m < kernel::face_nodes; ++m)
          matrices_.lift[f][m][n] = static_cast<T>(reference.lift(n, f * kernel::face_nodes + m));
    }
    for (int f = 0; f < 4; ++f)
      for (int m = 0; m < kernel::face_nodes; ++m)
        if (node_of_face(order, f, m) != reference.node_of_face(f, m))
          throw std::logic_error("lane_launcher: the reference element numbers nodes of faces in another way");
    if constexpr (System::fields == 6) records_ = device_array<T>(q, maxwell_records<T>(geometry));
  }
  void run(const queue& q, const stage_arguments<T, System::fields>& stage) override {
    const T* const records = System::fields == 6 ? records_.data() : stage.mesh.geometry;
    launch_lanes(q, kernel{stage, records, matrices_});
  }

 private:
  typename kernel::matrices_type matrices_{};
  device_array<T> records_;
};

template <class System, int first, int last>
std::unique_ptr<stage_launcher<typename System::real, System::fields>> launcher_of_order(
    const reference_element& reference, const std::vector<element_geometry>& geometry, const queue& q) {
  if constexpr (first <= last) {
    // The numbers of a kernel (one_kernel.hpp): fields, bytes of a real, order, whether it is of any flux.
    constexpr int fields = System::fields, bytes = sizeof(typename System::real),
                  any_flux = System::lifted != System::sets;
    if (reference.order == first) {
      if constexpr (is_compiled<fields, bytes, first, any_flux>())
        return std::make_unique<typename fused_choice<System, first>::launcher>(reference, geometry, q);
      else
        refuse_kernel<fields, bytes, first, any_flux>();
    }
    return launcher_of_order<System, first + 1, last>(reference, geometry, q);
  }
  return nullptr;
}

}  // namespace plaquette::gpu::dg
