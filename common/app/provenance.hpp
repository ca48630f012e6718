// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What was run, made by which compiler from which revision, on which machine.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace plaquette {

class communicator;

/// How the program was built. The revision is read from the repository at every build, not at configure time.
struct build_record {
  std::string version;   ///< of the project
  std::string compiler;  ///< name and version
  std::string flags;     ///< of the compiler, with the build type's
  std::string revision;  ///< commit, or "unknown" outside a repository
  bool dirty = false;    ///< files differed from the revision
};
build_record build_information();

/// The machine that rank 0 runs on.
struct machine_record {
  std::string host;
  std::string cpu;               ///< the processor's model
  int logical_cpus = 0;          ///< that this process may use
  std::string instruction_sets;  ///< the vector extensions that matter here
  double memory_bytes = 0;       ///< of the host
  std::string system;            ///< kernel name and release
  std::string gpu = "none";
  std::string driver = "none";
  std::vector<std::pair<std::string, std::string>> libraries;  ///< name and version
  int ranks = 1;
  int ranks_on_host = 1;  ///< that share this host's memory and cores
  int threads = 1;        ///< a rank
  /// Which rank works with which GPU, on which cores, over which links; null on the CPU.
  nlohmann::ordered_json gpus = nullptr;
};
/// Collective.
machine_record machine_information(const communicator& world);

/// When, where and by which program a report was made.
struct run_record {
  std::string date;           ///< of its start, in UTC: "2026-01-31T12:00:00Z"
  int hosts = 1;              ///< that its ranks are on
  std::string program_crc32;  ///< of the program's file
  double load = 0.0;          ///< processes that ran or waited on rank 0's host in the minute before
  /// Variables that bear on speed: of OpenMP, CUDA, MPI, the batch system and this suite.
  std::vector<std::pair<std::string, std::string>> environment{};
};
/// Returns what is known of this run. Collective.
run_record run_information(const communicator& world);

}  // namespace plaquette
