// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where ranks and threads run and where their memory lies: reported, and chosen where an option says so. Through
/// hwloc, which may be absent; then nothing is bound and little is known.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace plaquette {

class communicator;

/// Of a rank with a GPU, bad also means a GPU half the host away.
enum class placement_policy {
  none,  ///< as the program was started
  good,  ///< each rank within one NUMA node (or some), its threads spread over the cores there, memory where touched
  bad    ///< memory on another NUMA node; where there is one node only: all threads of the host on one core
};
/// Parses "none", "good", "bad"; throws input_error, naming `what`, for anything else.
placement_policy parse_placement_policy(const std::string& word, const std::string& what);
std::string name(placement_policy policy);

/// A core and the logical CPUs that it has, by the numbers of the operating system.
struct core_place {
  int core = -1, numa_node = -1, package = -1;
  std::vector<int> cpus;
};

/// Where a thread runs and where its memory comes from; -1: not known, or wherever it is first touched.
struct thread_place {
  int cpu = -1, core = -1, numa_node = -1, package = -1;
  int memory_node = -1;
  bool operator==(const thread_place&) const = default;
};

/// Returns which place the threads of one of a host's ranks get. Pure arithmetic on what the host has.
/// Ranks are dealt to NUMA nodes in order (nodes to ranks, where there are more nodes), and split the cores there.
/// Threads are spread evenly over a rank's cores, second CPUs of a core last. Bad: the same CPUs, but memory of the
/// node half the number of nodes away; with one node, the first core for all.
/// \param cores  ordered by NUMA node; not empty
/// \param rank   of the ranks on this host, 0 .. ranks - 1
std::vector<thread_place> plan_placement(const std::vector<core_place>& cores, placement_policy policy, int ranks,
                                         int rank, int threads);

struct rank_place {
  std::string host;
  bool bound = false;  ///< each thread to one core
  std::vector<thread_place> threads;
};

struct placement_record {
  placement_policy policy = placement_policy::none;
  std::string hwloc;  ///< version of its interface, or "none"
  std::string note;   ///< a line, where something is not as requested; empty elsewhere
  int packages = 0, numa_nodes = 0, cores = 0, cpus = 0;  ///< of rank 0's host, as far as this run may use them
  std::vector<rank_place> ranks;                          ///< empty without hwloc
};

/// Binds the threads of OpenMP parallel regions with `threads` threads, and their memory, as the policy says;
/// reports what came of it. The CPUs that the launcher gave to all ranks of a host together are shared out again. To be
/// called before fields are made. Collective.
placement_record place_threads(placement_policy policy, int threads, const communicator& world);

nlohmann::ordered_json to_json(const placement_record& record);
/// Returns lines for a person: a rank a line where there are few, else a summary.
std::string describe(const placement_record& record);

}  // namespace plaquette
