// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/provenance.hpp"

#include <fmt/core.h>
#include <omp.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <CLI/Version.hpp>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "common/app/memory.hpp"
#include "common/comms/communicator.hpp"
#include "plaquette_revision.hpp"

namespace plaquette {

namespace {

/// The value of the first line "key ... : value" of /proc/cpuinfo.
std::string cpuinfo(std::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key))
      if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "unknown";
}

std::string vector_extensions() {
  std::istringstream flags(cpuinfo("flags"));
  std::string found;
  for (std::string flag; flags >> flag;)
    for (const std::string_view wanted :
         {"sse4_2", "avx", "avx2", "fma", "avx512f", "avx512vl", "avx512_bf16", "amx_tile"})
      if (flag == wanted) found += (found.empty() ? "" : " ") + flag;
  return found.empty() ? "unknown" : found;
}

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : omp_get_num_procs();
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

}  // namespace

build_record build_information() {
  return {PLAQUETTE_VERSION, PLAQUETTE_COMPILER, PLAQUETTE_COMPILER_FLAGS, revision::commit, revision::dirty};
}

int ranks_on_this_host(const communicator& world) {
  std::vector<std::uint64_t> names(static_cast<std::size_t>(world.size()));
  const std::uint64_t mine = std::hash<std::string>{}(host_name());
  names[static_cast<std::size_t>(world.rank())] = mine;
  world.sum(std::span(names));
  return static_cast<int>(std::count(names.begin(), names.end(), mine));
}

machine_record machine_information(const communicator& world) {
  utsname system{};
  uname(&system);
  machine_record machine;
  machine.host = host_name();
  machine.cpu = cpuinfo("model name");
  machine.logical_cpus = usable_cpus();
  machine.instruction_sets = vector_extensions();
  machine.memory_bytes = total_memory();
  machine.system = std::string(system.sysname) + ' ' + system.release;
  machine.libraries = {
      {"mpi", mpi_library()},
      {"openmp", std::to_string(_OPENMP)},
      {"cli11", CLI11_VERSION},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"nlohmann-json",
       fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)}};
  machine.ranks = world.size();
  machine.ranks_on_host = ranks_on_this_host(world);
  machine.threads = omp_get_max_threads();
  return machine;
}

}  // namespace plaquette
