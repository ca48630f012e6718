// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Which ranks share a host, which GPU and cores each has, and the links between their GPUs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/comms/communicator.hpp"

namespace plaquette::gpu {

/// Where a rank runs.
struct rank_place {
  std::string host;
  int number_on_host = 0;  ///< among the ranks of that host
  int ranks_on_host = 1;
  int devices_on_host = 1;  ///< that the rank sees
  int device = 0;           ///< the number of its GPU among the ones that it sees
  std::string gpu;          ///< its name
  std::string pci_bus_id;   ///< "0000:1B:00.0"; "none" in the host build
  std::string cores;        ///< those it may run on: "0-15,32-47"
  int core_count = 0;
  std::string cores_near_gpu;  ///< cores of the GPU's socket, if the system tells; else empty
};

/// The link between the GPUs of two ranks, the closest first.
enum class gpu_link {
  same_gpu,
  host_memory,  ///< two ranks of the host build
  nvlink,
  pcie,
  unknown,  ///< on one host, but one rank does not see the other's GPU
  no_peer_access,
  other_host
};
/// Returns "same GPU", "NVLink" and so on.
std::string_view name_of(gpu_link link);

/// The places of all ranks; the same on every rank.
class rank_map {
 public:
  /// Collective. A rank's GPU is its number on its host modulo the GPUs it sees, or the one it names.
  explicit rank_map(const communicator& comm, int device = by_number_on_host);
  static constexpr int by_number_on_host = -1;
  /// A map of places that are given; links[a][b] lies between the GPUs of a and b.
  rank_map(std::vector<rank_place> places, std::vector<std::vector<gpu_link>> links);

  int size() const { return static_cast<int>(places_.size()); }
  const rank_place& place(int rank) const { return places_.at(static_cast<std::size_t>(rank)); }
  int device_for(int rank) const { return place(rank).device; }
  gpu_link link(int a, int b) const { return links_.at(static_cast<std::size_t>(a)).at(static_cast<std::size_t>(b)); }
  /// Whether they run on one host and their GPUs can reach each other's memory, as far as one can tell without trying.
  bool reaches(int a, int b) const;
  /// Whether any two ranks have one GPU. (In the host build every rank counts as having its own.)
  bool shares_a_device() const;

  /// Returns advice on the placement for a user, a line each, the most important first; empty if all is well.
  std::vector<std::string> remarks() const;

 private:
  std::vector<std::string> remarks_on_shared_gpus() const;
  std::vector<std::string> remarks_on_missing_access() const;
  std::vector<std::string> remarks_on_far_cores() const;
  std::vector<std::string> remarks_on_few_cores() const;

  std::vector<rank_place> places_;
  std::vector<std::vector<gpu_link>> links_;
};

}  // namespace plaquette::gpu
