// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/placement.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <span>

#include "common/app/parse.hpp"
#include "common/comms/communicator.hpp"
#include "common/comms/host_name.hpp"
#include "common/error.hpp"

#ifdef PLAQUETTE_WITH_HWLOC
#include <hwloc.h>
#endif

namespace plaquette {

placement_policy parse_placement_policy(const std::string& word, const std::string& what) {
  for (const auto policy : {placement_policy::none, placement_policy::good, placement_policy::bad})
    if (word == name(policy)) return policy;
  throw input_error(fmt::format("{}: expected one of none, good, bad, found '{}'", what, printable(word)));
}

std::string name(placement_policy policy) {
  switch (policy) {
    case placement_policy::none:
      return "none";
    case placement_policy::good:
      return "good";
    case placement_policy::bad:
      return "bad";
  }
  return {};
}

namespace {

using core_list = std::vector<core_place>;

/// The cores of each NUMA node, in order.
std::vector<core_list> by_node(const core_list& cores) {
  std::vector<core_list> nodes;
  for (const core_place& core : cores) {
    if (nodes.empty() || nodes.back().back().numa_node != core.numa_node) nodes.emplace_back();
    nodes.back().push_back(core);
  }
  return nodes;
}

/// Part `part` of `parts` equal ones of a list; where there are more parts than entries, one entry each, shared.
core_list share_of(const core_list& cores, int part, int parts) {
  const int count = static_cast<int>(cores.size());
  if (parts > count) return {cores[static_cast<std::size_t>(part % count)]};
  return {cores.begin() + static_cast<std::ptrdiff_t>(count) * part / parts,
          cores.begin() + static_cast<std::ptrdiff_t>(count) * (part + 1) / parts};
}

core_list cores_of_rank(const std::vector<core_list>& nodes, int ranks, int rank) {
  const int count = static_cast<int>(nodes.size());
  core_list cores;
  if (ranks <= count) {  // whole nodes
    for (int node = count * rank / ranks; node < count * (rank + 1) / ranks; ++node)
      cores.insert(cores.end(), nodes[static_cast<std::size_t>(node)].begin(),
                   nodes[static_cast<std::size_t>(node)].end());
    return cores;
  }
  const auto node_of = [&](int r) { return static_cast<int>(static_cast<std::int64_t>(r) * count / ranks); };
  int before = 0, together = 0;
  for (int other = 0; other < ranks; ++other)
    if (node_of(other) == node_of(rank)) {
      ++together;
      if (other < rank) ++before;
    }
  return share_of(nodes[static_cast<std::size_t>(node_of(rank))], before, together);
}

}  // namespace

std::vector<thread_place> plan_placement(const core_list& cores, placement_policy policy, int ranks, int rank,
                                         int threads) {
  const auto nodes = by_node(cores);
  const bool pile = policy == placement_policy::bad && nodes.size() == 1;
  const core_list mine = pile ? core_list{cores.front()} : cores_of_rank(nodes, ranks, rank);
  const int count = static_cast<int>(mine.size());
  std::vector<thread_place> places;
  for (int t = 0; t < threads; ++t) {
    const bool fits = threads <= count;
    const core_place& core = mine[static_cast<std::size_t>(fits ? t * count / threads : t % count)];
    const std::size_t sibling = fits || pile ? 0 : static_cast<std::size_t>(t / count) % core.cpus.size();
    thread_place place{core.cpus[sibling], core.core, core.numa_node, core.package, -1};
    if (policy == placement_policy::bad && nodes.size() > 1) {
      std::size_t own = 0;
      while (nodes[own].front().numa_node != core.numa_node) ++own;
      place.memory_node = nodes[(own + nodes.size() / 2) % nodes.size()].front().numa_node;
    }
    places.push_back(place);
  }
  return places;
}

namespace {

constexpr std::size_t host_name_words = 8;

/// The names of all ranks' hosts, up to 64 characters each. Collective.
std::vector<std::string> hosts_of(const communicator& world) {
  std::vector<std::uint64_t> words(host_name_words * static_cast<std::size_t>(world.size()));
  char own[host_name_words * sizeof(std::uint64_t)] = {};
  const std::string name = host_name();
  std::memcpy(own, name.data(), std::min(name.size(), sizeof own - 1));
  std::memcpy(words.data() + host_name_words * static_cast<std::size_t>(world.rank()), own, sizeof own);
  world.sum(std::span(words));
  std::vector<std::string> names;
  for (int rank = 0; rank < world.size(); ++rank) {
    char text[sizeof own];
    std::memcpy(text, words.data() + host_name_words * static_cast<std::size_t>(rank), sizeof text);
    text[sizeof text - 1] = '\0';
    names.emplace_back(text);
  }
  return names;
}

#ifdef PLAQUETTE_WITH_HWLOC

class topology {
 public:
  topology() {
    if (hwloc_topology_init(&handle_) != 0 || hwloc_topology_load(handle_) != 0)
      throw error(exit_status::internal_error, "hwloc cannot read this machine's topology");
  }
  ~topology() { hwloc_topology_destroy(handle_); }
  topology(const topology&) = delete;
  topology& operator=(const topology&) = delete;

  hwloc_topology_t get() const { return handle_; }
  /// False for one that was made up, as tests do (HWLOC_SYNTHETIC): nothing can be bound there.
  bool is_this_machine() const { return hwloc_topology_is_thissystem(handle_) != 0; }

  /// Cores that have one of these CPUs, with those CPUs alone, ordered by NUMA node.
  core_list cores(hwloc_const_bitmap_t allowed) const {
    core_list found;
    for (hwloc_obj_t pu = nullptr; (pu = hwloc_get_next_obj_by_type(handle_, HWLOC_OBJ_PU, pu)) != nullptr;) {
      const auto cpu = pu->os_index;
      if (!hwloc_bitmap_isset(allowed, cpu)) continue;
      core_place place = place_of(static_cast<int>(cpu));
      const auto same = std::ranges::find_if(
          found, [&](const core_place& c) { return c.core == place.core && c.package == place.package; });
      if (same != found.end())
        same->cpus.push_back(static_cast<int>(cpu));
      else
        found.push_back(std::move(place));
    }
    std::ranges::stable_sort(found, {}, &core_place::numa_node);
    return found;
  }

  /// Core, NUMA node and package of a CPU. Cores are counted as hwloc does, over the whole host.
  core_place place_of(int cpu) const {
    core_place place;
    place.cpus = {cpu};
    hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(handle_, static_cast<unsigned>(cpu));
    if (pu == nullptr) return place;
    const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(handle_, HWLOC_OBJ_CORE, pu);
    place.core = static_cast<int>(core != nullptr ? core->logical_index : pu->logical_index);
    const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(handle_, HWLOC_OBJ_PACKAGE, pu);
    place.package = package != nullptr ? static_cast<int>(package->logical_index) : 0;
    for (hwloc_obj_t node = nullptr;
         (node = hwloc_get_next_obj_by_type(handle_, HWLOC_OBJ_NUMANODE, node)) != nullptr && place.numa_node < 0;)
      if (hwloc_bitmap_isset(node->cpuset, static_cast<unsigned>(cpu)))
        place.numa_node = static_cast<int>(node->os_index);
    return place;
  }

 private:
  hwloc_topology_t handle_ = nullptr;
};

struct free_bitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, free_bitmap>;
bitmap new_bitmap() { return bitmap(hwloc_bitmap_alloc()); }

/// The CPUs that the ranks of this host were started on, all together. Collective over the host.
bitmap cpus_of_host(const topology& machine, const communicator& host) {
  bitmap own = new_bitmap();
  if (hwloc_get_cpubind(machine.get(), own.get(), HWLOC_CPUBIND_PROCESS) != 0)
    hwloc_bitmap_copy(own.get(), hwloc_topology_get_allowed_cpuset(machine.get()));
  hwloc_bitmap_and(own.get(), own.get(), hwloc_topology_get_allowed_cpuset(machine.get()));
  const int last = hwloc_bitmap_last(hwloc_topology_get_complete_cpuset(machine.get()));
  std::vector<std::uint64_t> count(static_cast<std::size_t>(std::max(last, 0)) + 1);
  for (std::size_t cpu = 0; cpu < count.size(); ++cpu)
    count[cpu] = hwloc_bitmap_isset(own.get(), static_cast<unsigned>(cpu)) ? 1 : 0;
  host.sum(std::span(count));
  for (std::size_t cpu = 0; cpu < count.size(); ++cpu)
    if (count[cpu] > 0) hwloc_bitmap_set(own.get(), static_cast<unsigned>(cpu));
  return own;
}

/// Binds the calling thread and its memory; 0 or an error number.
int bind_this_thread(const topology& machine, const thread_place& place) {
  const bitmap cpu = new_bitmap();
  hwloc_bitmap_set(cpu.get(), static_cast<unsigned>(place.cpu));
  if (hwloc_set_cpubind(machine.get(), cpu.get(), HWLOC_CPUBIND_THREAD) != 0) return errno;
  if (place.memory_node < 0) return 0;
  const bitmap node = new_bitmap();
  hwloc_bitmap_set(node.get(), static_cast<unsigned>(place.memory_node));
  const bool bound = hwloc_set_membind(machine.get(), node.get(), HWLOC_MEMBIND_BIND,
                                       HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET) == 0;
  return bound ? 0 : errno;
}

/// Where the calling thread runs now; `bound` where it may run on one core only.
thread_place place_of_this_thread(const topology& machine, bool& bound) {
  const bitmap where = new_bitmap(), may = new_bitmap();
  thread_place place;
  if (hwloc_get_last_cpu_location(machine.get(), where.get(), HWLOC_CPUBIND_THREAD) == 0)
    place.cpu = hwloc_bitmap_first(where.get());
  const core_place core = machine.place_of(place.cpu);
  place.core = core.core;
  place.numa_node = core.numa_node;
  place.package = core.package;
  bound =
      hwloc_get_cpubind(machine.get(), may.get(), HWLOC_CPUBIND_THREAD) == 0 && machine.cores(may.get()).size() == 1;
  return place;
}

/// Binds all threads and notes where they are; returns an error number of one that could not be bound, or 0.
int bind_and_report(const topology& machine, const std::vector<thread_place>& plan, rank_place& found) {
  const int threads = static_cast<int>(found.threads.size());
  int failure = 0, loose = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1) reduction(max : failure) reduction(+ : loose)
  for (int t = 0; t < threads; ++t) {
    const auto i = static_cast<std::size_t>(t);
    if (!plan.empty()) failure = std::max(failure, bind_this_thread(machine, plan[i]));
    bool bound = false;
    found.threads[i] = place_of_this_thread(machine, bound);
    if (!plan.empty()) found.threads[i].memory_node = plan[i].memory_node;
    loose += bound ? 0 : 1;
  }
  found.bound = loose == 0;
  return failure;
}

/// The places of all ranks, on every rank. Collective.
std::vector<rank_place> gather(const rank_place& own, const std::vector<std::string>& hosts,
                               const communicator& world) {
  constexpr std::size_t numbers = 5;
  std::array<double, 1> most{static_cast<double>(own.threads.size())};
  world.maximum(std::span(most));
  const std::size_t stride = 2 + numbers * static_cast<std::size_t>(most[0]);
  std::vector<std::uint64_t> all(stride * static_cast<std::size_t>(world.size()));
  std::uint64_t* to = all.data() + stride * static_cast<std::size_t>(world.rank());
  *to++ = own.threads.size();
  *to++ = own.bound ? 1 : 0;
  for (const thread_place& t : own.threads)
    for (const int number : {t.cpu, t.core, t.numa_node, t.package, t.memory_node})
      *to++ = static_cast<std::uint64_t>(std::int64_t{number} + 1);
  world.sum(std::span(all));
  std::vector<rank_place> ranks;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const std::uint64_t* from = all.data() + stride * rank;
    const auto number = [](std::uint64_t stored) { return static_cast<int>(stored) - 1; };
    rank_place place{hosts[rank], from[1] == 1, std::vector<thread_place>(from[0])};
    from += 2;
    for (thread_place& t : place.threads) {
      t = {number(from[0]), number(from[1]), number(from[2]), number(from[3]), number(from[4])};
      from += numbers;
    }
    ranks.push_back(std::move(place));
  }
  return ranks;
}

std::string explain_bad_placement(const core_list& cores) {
  std::set<int> nodes;
  for (const core_place& core : cores) nodes.insert(core.numa_node);
  if (nodes.size() > 1) return "";
  if (cores.size() > 1) return "the host has one NUMA node, so all threads share its first core instead";
  return "the host has one core, so nothing is worse than it was";
}

placement_record place_with_hwloc(placement_policy policy, int threads, const communicator& world,
                                  const std::vector<std::string>& hosts) {
  const topology machine;
  const std::string& own_host = hosts[static_cast<std::size_t>(world.rank())];
  const communicator host = world.split(static_cast<int>(std::ranges::find(hosts, own_host) - hosts.begin()));
  const core_list cores = machine.cores(cpus_of_host(machine, host).get());
  if (cores.empty()) throw error(exit_status::internal_error, "hwloc finds no core that this program may use");

  placement_record record;
  record.policy = policy;
  const unsigned version = hwloc_get_api_version();
  record.hwloc = fmt::format("API {}.{}", version >> 16, version >> 8 & 0xff);
  std::set<int> packages, nodes;
  for (const core_place& core : cores) {
    packages.insert(core.package);
    nodes.insert(core.numa_node);
    record.cpus += static_cast<int>(core.cpus.size());
  }
  record.packages = static_cast<int>(packages.size());
  record.numa_nodes = static_cast<int>(nodes.size());
  record.cores = static_cast<int>(cores.size());
  if (policy == placement_policy::bad) record.note = explain_bad_placement(cores);

  std::vector<thread_place> plan;
  if (policy != placement_policy::none) plan = plan_placement(cores, policy, host.size(), host.rank(), threads);
  rank_place own{own_host, false, std::vector<thread_place>(static_cast<std::size_t>(threads))};
  int failure = 0;
  if (machine.is_this_machine()) {
    failure = bind_and_report(machine, plan, own);
  } else {
    if (!plan.empty()) own.threads = plan;
    record.note = "the topology is made up: planned, nothing bound";
  }
  std::array<double, 1> worst{static_cast<double>(failure)};
  world.maximum(std::span(worst));
  if (worst[0] > 0.0)
    record.note =
        fmt::format("a thread or its memory could not be bound: {}", std::strerror(static_cast<int>(worst[0])));
  record.ranks = gather(own, hosts, world);
  return record;
}

#endif

/// "0-3,8"
std::string ranges(std::vector<int> numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last > i) text += '-' + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

std::vector<int> numbers_of(const rank_place& rank, int thread_place::* member) {
  std::vector<int> numbers;
  for (const thread_place& t : rank.threads) numbers.push_back(t.*member);
  return numbers;
}

}  // namespace

placement_record place_threads(placement_policy policy, int threads, const communicator& world) {
  const std::vector<std::string> hosts = hosts_of(world);
#ifdef PLAQUETTE_WITH_HWLOC
  return place_with_hwloc(policy, threads, world, hosts);
#else
  (void)threads;
  placement_record record;
  record.policy = policy;
  record.hwloc = "none";
  record.note = "built without hwloc: threads run where they were started";
  record.ranks.reserve(hosts.size());
  for (const std::string& host : hosts) record.ranks.push_back({host, false, {}});
  return record;
#endif
}

nlohmann::ordered_json to_json(const placement_record& record) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < record.ranks.size(); ++i) {
    const rank_place& rank = record.ranks[i];
    ranks.push_back({{"rank", i},
                     {"host", rank.host},
                     {"bound", rank.bound},
                     {"cpus", numbers_of(rank, &thread_place::cpu)},
                     {"cores", numbers_of(rank, &thread_place::core)},
                     {"numa_nodes", numbers_of(rank, &thread_place::numa_node)},
                     {"packages", numbers_of(rank, &thread_place::package)},
                     {"memory_nodes", numbers_of(rank, &thread_place::memory_node)}});
  }
  return {{"policy", name(record.policy)},
          {"hwloc", record.hwloc},
          {"note", record.note},
          {"host",
           {{"packages", record.packages},
            {"numa_nodes", record.numa_nodes},
            {"cores", record.cores},
            {"cpus", record.cpus}}},
          {"ranks", ranks}};
}

std::string describe(const placement_record& record) {
  constexpr std::size_t most_lines = 8;
  std::string text = fmt::format("placement  {}", name(record.policy));
  if (record.cores > 0)
    text += fmt::format("; the host offers {} package{}, {} NUMA node{}, {} core{}", record.packages,
                        record.packages == 1 ? "" : "s", record.numa_nodes, record.numa_nodes == 1 ? "" : "s",
                        record.cores, record.cores == 1 ? "" : "s");
  if (!record.note.empty()) text += "; " + record.note;
  text += '\n';
  if (record.cores == 0) return text;
  for (std::size_t i = 0; i < std::min(record.ranks.size(), most_lines); ++i) {
    const rank_place& rank = record.ranks[i];
    text += fmt::format("           rank {} on {}: {} core{} {}, NUMA node{} {}", i, rank.host,
                        rank.bound ? "bound to" : "free, seen on", rank.threads.size() == 1 ? "" : "s",
                        ranges(numbers_of(rank, &thread_place::core)), record.numa_nodes == 1 ? "" : "s",
                        ranges(numbers_of(rank, &thread_place::numa_node)));
    const auto memory = numbers_of(rank, &thread_place::memory_node);
    if (memory.front() >= 0) text += ", memory of node " + ranges(memory);
    text += '\n';
  }
  if (record.ranks.size() > most_lines)
    text += fmt::format("           and {} ranks more (all in the report)\n", record.ranks.size() - most_lines);
  return text;
}

}  // namespace plaquette
