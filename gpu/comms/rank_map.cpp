// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/comms/rank_map.hpp"

#include <sched.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "common/comms/host_name.hpp"
#include "gpu/device/check.hpp"
#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

namespace {

/// Returns the first line of a file of the system; empty if there is none.
std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// "0-2,5"
std::string text_of_cores(const std::vector<int>& cores) {
  std::string text;
  for (std::size_t i = 0; i < cores.size();) {
    std::size_t end = i;
    while (end + 1 < cores.size() && cores[end + 1] == cores[end] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(cores[i]);
    if (end > i) text += '-' + std::to_string(cores[end]);
    i = end + 1;
  }
  return text;
}

/// The numbers of such a text, up to where it makes no sense.
std::set<int> cores_of_text(const std::string& text) {
  std::set<int> cores;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    int first = 0, last = 0;
    auto [after, status] = std::from_chars(at, end, first);
    if (status != std::errc()) break;
    last = first;
    if (after != end && *after == '-') {
      const auto range = std::from_chars(after + 1, end, last);
      if (range.ec != std::errc()) break;
      after = range.ptr;
    }
    for (int core = first; core <= last; ++core) cores.insert(core);
    if (after == end || *after != ',') break;
    at = after + 1;
  }
  return cores;
}

std::vector<int> cores_of_this_process() {
  constexpr int most = 8192;
  std::vector<int> cores;
  cpu_set_t* const set = CPU_ALLOC(most);
  if (set == nullptr) return cores;
  const std::size_t bytes = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(bytes, set);
  if (sched_getaffinity(0, bytes, set) == 0)
    for (int core = 0; core < most; ++core)
      if (CPU_ISSET_S(static_cast<unsigned>(core), bytes, set)) cores.push_back(core);
  CPU_FREE(set);
  return cores;
}

std::string cores_near(std::string pci_bus_id) {
  std::ranges::transform(pci_bus_id, pci_bus_id.begin(), [](unsigned char c) { return std::tolower(c); });
  return first_line("/sys/bus/pci/devices/" + pci_bus_id + "/local_cpulist");
}

/// A place as it travels; texts that do not fit are cut.
struct place_record {
  char host[256], boot[64], gpu[96], pci_bus_id[32], cores[1024], cores_near_gpu[1024];
  int devices, device, core_count;
};

template <std::size_t Size>
void put(char (&to)[Size], const std::string& text) {
  text.copy(to, Size - 1);
}

template <class T>
std::vector<T> gathered(const communicator& comm, std::span<const T> mine) {
  std::vector<T> all(mine.size() * static_cast<std::size_t>(comm.size()));
  comm.gather(std::as_bytes(mine), std::as_writable_bytes(std::span(all)));
  return all;
}

place_record record_without_device() {
  place_record record = {};
  const auto cores = cores_of_this_process();
  put(record.host, host_name());
  put(record.boot, first_line("/proc/sys/kernel/random/boot_id"));
  put(record.cores, text_of_cores(cores));
  record.core_count = static_cast<int>(cores.size());
  record.devices = device_count();
  return record;
}

/// Hosts may have one name, but not one boot.
bool are_on_one_host(const place_record& a, const place_record& b) {
  return std::strcmp(a.host, b.host) == 0 && std::strcmp(a.boot, b.boot) == 0;
}

void add_device(place_record& record, int device) {
  const auto found = describe_device(device);
  record.device = device;
  put(record.gpu, found.name);
  put(record.pci_bus_id, found.pci_bus_id);
  put(record.cores_near_gpu, cores_near(found.pci_bus_id));
}

/// Between the GPUs of two ranks of one host.
#ifdef PLAQUETTE_CUDA_RUNTIME
gpu_link link_inside_host(const place_record& mine, const place_record& other) {
  if (std::strcmp(mine.pci_bus_id, other.pci_bus_id) == 0) return gpu_link::same_gpu;
  int its_number = 0;
  if (cudaDeviceGetByPCIBusId(&its_number, other.pci_bus_id) != cudaSuccess) {
    (void)cudaGetLastError();
    return gpu_link::unknown;
  }
  int can_access = 0, has_atomics = 0;
  check(cudaDeviceCanAccessPeer(&can_access, mine.device, its_number));
  if (can_access == 0) return gpu_link::no_peer_access;
  check(cudaDeviceGetP2PAttribute(&has_atomics, cudaDevP2PAttrNativeAtomicSupported, mine.device, its_number));
  return has_atomics != 0 ? gpu_link::nvlink : gpu_link::pcie;  // PCIe carries none between GPUs
}
#else
gpu_link link_inside_host(const place_record& /*mine*/, const place_record& /*other*/) { return gpu_link::host_memory; }
#endif

gpu_link link_between(const place_record& mine, const place_record& other) {
  return are_on_one_host(mine, other) ? link_inside_host(mine, other) : gpu_link::other_host;
}

std::string rank_list(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    text += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  return text;
}

}  // namespace

std::string_view name_of(gpu_link link) {
  switch (link) {
    case gpu_link::same_gpu:
      return "same GPU";
    case gpu_link::host_memory:
      return "memory of the host";
    case gpu_link::nvlink:
      return "NVLink";
    case gpu_link::pcie:
      return "PCIe";
    case gpu_link::unknown:
      return "unknown";
    case gpu_link::no_peer_access:
      return "no peer access";
    case gpu_link::other_host:
      return "other host";
  }
  return "";
}

rank_map::rank_map(const communicator& comm, int device) {
  place_record mine = record_without_device();
  const auto hosts = gathered(comm, std::span<const place_record>(&mine, 1));
  int number = 0;
  for (int rank = 0; rank < comm.rank(); ++rank)
    if (are_on_one_host(hosts[static_cast<std::size_t>(rank)], mine)) ++number;
  add_device(mine, device == by_number_on_host ? number % std::max(mine.devices, 1) : device);

  const auto records = gathered(comm, std::span<const place_record>(&mine, 1));
  std::vector<gpu_link> row;
  for (const place_record& other : records) row.push_back(link_between(mine, other));
  row[static_cast<std::size_t>(comm.rank())] = gpu_link::same_gpu;
  const auto links = gathered(comm, std::span<const gpu_link>(row));

  const auto ranks = static_cast<std::size_t>(comm.size());
  links_.assign(ranks, std::vector<gpu_link>(ranks));
  for (std::size_t a = 0; a < ranks; ++a) {
    rank_place place;
    place.host = records[a].host;
    place.ranks_on_host = 0;
    for (std::size_t b = 0; b < ranks; ++b) {
      links_[a][b] = std::max(links[a * ranks + b], links[b * ranks + a]);  // the link that both can use
      if (!are_on_one_host(records[a], records[b])) continue;
      ++place.ranks_on_host;
      if (b < a) ++place.number_on_host;
    }
    place.devices_on_host = records[a].devices;
    place.device = records[a].device;
    place.gpu = records[a].gpu;
    place.pci_bus_id = records[a].pci_bus_id;
    place.cores = records[a].cores;
    place.core_count = records[a].core_count;
    place.cores_near_gpu = records[a].cores_near_gpu;
    places_.push_back(std::move(place));
  }
}

rank_map::rank_map(std::vector<rank_place> places, std::vector<std::vector<gpu_link>> links)
    : places_(std::move(places)), links_(std::move(links)) {}

bool rank_map::reaches(int a, int b) const {
  const gpu_link between = link(a, b);
  return between != gpu_link::no_peer_access && between != gpu_link::other_host;
}

bool rank_map::shares_a_device() const {
  for (int a = 0; a < size(); ++a)
    for (int b = a + 1; b < size(); ++b)
      if (link(a, b) == gpu_link::same_gpu) return true;
  return false;
}

std::vector<std::string> rank_map::remarks() const {
  std::vector<std::string> lines;
  const auto add_all = [&](std::vector<std::string> more) {
    lines.insert(lines.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  add_all(remarks_on_shared_gpus());
  add_all(remarks_on_missing_access());
  add_all(remarks_on_far_cores());
  add_all(remarks_on_few_cores());
  return lines;
}

std::vector<std::string> rank_map::remarks_on_shared_gpus() const {
  std::vector<std::string> lines;
  for (int a = 0; a < size(); ++a) {
    std::vector<int> sharing{a};
    for (int b = 0; b < size(); ++b)
      if (b != a && link(a, b) == gpu_link::same_gpu) sharing.push_back(b);
    if (sharing.size() == 1 || *std::ranges::min_element(sharing) != a) continue;
    const rank_place& p = place(a);
    lines.push_back("ranks " + rank_list(sharing) + " share GPU " + std::to_string(p.device) + " of " + p.host +
                    (p.devices_on_host < p.ranks_on_host
                         ? ": " + std::to_string(p.ranks_on_host) + " ranks there see " +
                               std::to_string(p.devices_on_host) + (p.devices_on_host == 1 ? " GPU" : " GPUs")
                         : ", where a GPU is left without a rank"));
  }
  return lines;
}

std::vector<std::string> rank_map::remarks_on_missing_access() const {
  std::vector<std::pair<int, int>> apart;
  for (int a = 0; a < size(); ++a)
    for (int b = a + 1; b < size(); ++b)
      if (link(a, b) == gpu_link::no_peer_access) apart.emplace_back(a, b);
  if (apart.empty()) return {};
  return {"no peer access between the GPUs of ranks " + rank_list({apart[0].first, apart[0].second}) +
          (apart.size() == 1
               ? std::string()
               : " and of " + std::to_string(apart.size() - 1) + " more pair" + (apart.size() == 2 ? "" : "s")) +
          ": their messages go through the host"};
}

std::vector<std::string> rank_map::remarks_on_far_cores() const {
  std::vector<std::string> lines;
  for (int rank = 0; rank < size(); ++rank) {
    const rank_place& p = place(rank);
    const auto near = cores_of_text(p.cores_near_gpu), own = cores_of_text(p.cores);
    if (near.empty() || own.empty() || std::ranges::any_of(own, [&](int core) { return near.contains(core); }))
      continue;
    lines.push_back("rank " + std::to_string(rank) + " is bound to cores " + p.cores + " of " + p.host +
                    ", far from its GPU, which is next to cores " + p.cores_near_gpu);
  }
  return lines;
}

std::vector<std::string> rank_map::remarks_on_few_cores() const {
  std::map<std::string, std::pair<int, std::set<int>>> hosts;  // ranks and cores
  for (const rank_place& p : places_) {
    auto& [ranks, cores] = hosts[p.host];
    ++ranks;
    cores.merge(cores_of_text(p.cores));
  }
  std::vector<std::string> lines;
  for (const auto& [host, has] : hosts)
    if (!has.second.empty() && has.first > static_cast<int>(has.second.size()))
      lines.push_back(std::to_string(has.first) + " ranks on " + std::to_string(has.second.size()) +
                      (has.second.size() == 1 ? " core of " : " cores of ") + host +
                      ": ranks that wait by spinning keep others from running");
  return lines;
}

}  // namespace plaquette::gpu
