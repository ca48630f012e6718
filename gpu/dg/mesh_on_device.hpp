// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A domain in the form that kernels read, made on the host and copied to the device.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/dg/dg_solver.hpp"
#include "gpu/device/runtime.hpp"
#include "gpu/dg/dg_arrays.hpp"

namespace plaquette::gpu::dg {

/// An array on the device.
template <class T>
class device_array {
 public:
  device_array() = default;
  device_array(const queue& q, std::size_t count)
      : memory_(allocate_on_device(q.device(), count * sizeof(T))), count_(count) {}
  device_array(const queue& q, const std::vector<T>& values) : device_array(q, values.size()) {
    if (!values.empty()) copy_to_device(q, memory_.get(), values.data(), values.size() * sizeof(T));
  }
  T* data() const { return reinterpret_cast<T*>(memory_.get()); }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  std::shared_ptr<std::byte> memory_;
  std::size_t count_ = 0;
};

/// Ghost faces: first faces of other ranks, then one through which waves leave (its nodes stay 0), then faces through
/// which the incident wave comes.
struct ghost_faces {
  std::int32_t halo = 0;       ///< of other ranks
  std::int32_t absorbing = 0;  ///< 0 or 1
  /// Through which the incident wave comes: where its nodes lie, [face][m].
  std::vector<std::array<double, 3>> incident_nodes;
  std::int32_t incident = 0;

  std::int32_t count() const { return halo + absorbing + incident; }
  std::int32_t first_incident() const { return halo + absorbing; }
};

/// Links of a domain as numbers (dg_arrays.hpp), [element][4], and the ghost faces that they name.
/// Throws input_error if there are more elements than a link can name.
std::vector<std::uint32_t> encode_links(const dg_domain& domain, ghost_faces& ghosts);
/// Returns [link_codes][Nfp].
std::vector<std::uint8_t> partner_table(const reference_element& reference);

/// All that mesh_arrays points to.
template <class T>
class mesh_on_device {
 public:
  mesh_on_device(const queue& q, const dg_domain& domain);
  const mesh_arrays<T>& arrays() const { return arrays_; }
  const ghost_faces& ghosts() const { return ghosts_; }

 private:
  ghost_faces ghosts_;
  device_array<T> geometry_, media_, derivative_, lift_;
  device_array<std::uint32_t> links_;
  device_array<std::uint8_t> partner_;
  mesh_arrays<T> arrays_{};
};

}  // namespace plaquette::gpu::dg
