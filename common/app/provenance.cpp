// SPDX-License-Identifier: BSD-3-Clause
#include "common/app/provenance.hpp"

#include <fmt/core.h>
#include <omp.h>
#include <sched.h>
#include <sys/utsname.h>

#include <CLI/Version.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string_view>

#include "common/app/memory.hpp"
#include "common/comms/communicator.hpp"
#include "common/comms/host_name.hpp"
#include "common/io/checksum.hpp"
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

}  // namespace

build_record build_information() {
  return {PLAQUETTE_VERSION, PLAQUETTE_COMPILER, PLAQUETTE_COMPILER_FLAGS, revision::commit, revision::dirty};
}

namespace {

/// Returns the CRC-32 of this program's file, "unknown" where that cannot be read.
std::string sum_of_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::array<char, 65536> piece;
  std::uint32_t crc = 0;
  bool is_read = false;
  while (file.read(piece.data(), piece.size()), file.gcount() > 0) {
    crc = crc32(std::as_bytes(std::span(piece.data(), static_cast<std::size_t>(file.gcount()))), crc);
    is_read = true;
  }
  return is_read ? hexadecimal(crc) : "unknown";
}

bool bears_on_speed(std::string_view name) {
  constexpr std::array<std::string_view, 11> beginnings{"OMP_", "GOMP_",     "KMP_",   "CUDA_",  "NCCL_",     "UCX_",
                                                        "FI_",  "OMPI_MCA_", "I_MPI_", "MPICH_", "PLAQUETTE_"};
  constexpr std::array<std::string_view, 5> names{"SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS",
                                                  "SLURM_CPU_BIND", "SLURM_GPUS_ON_NODE"};
  // What mpirun tells its processes: names of hosts, sockets and folders, no settings.
  constexpr std::array<std::string_view, 5> of_launcher{"OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix",
                                                        "OMPI_MCA_initial_wdir", "OMPI_MCA_shmem_RUNTIME"};
  if (std::ranges::any_of(of_launcher, [name](std::string_view b) { return name.starts_with(b); })) return false;
  return std::ranges::any_of(beginnings, [name](std::string_view b) { return name.starts_with(b); }) ||
         std::ranges::find(names, name) != names.end();
}

std::string date_in_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace

run_record run_information(const communicator& world) {
  run_record run;
  run.date = date_in_utc();
  std::array<double, 1> hosts{1.0 / ranks_on_this_host(world)};
  world.sum(std::span(hosts));
  run.hosts = static_cast<int>(std::lround(hosts[0]));
  if (world.rank() == 0) run.program_crc32 = sum_of_program();
  if (getloadavg(&run.load, 1) != 1) run.load = 0.0;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && bears_on_speed(text.substr(0, equals)))
      run.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::ranges::sort(run.environment);
  return run;
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
