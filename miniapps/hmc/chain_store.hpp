// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The state of a chain between two trajectories, in a file: an ILDG configuration, links in double precision with
/// their checksum. One more record, "plaquette-chain", has the parameters of the chain and the history of its
/// trajectories. Each trajectory has a sum over all of the chain before it, and the record a sum of the links. Random
/// numbers depend on (seed, purpose, trajectory, site) alone, so that no generator has a state to keep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/hmc/molecular_dynamics.hpp"
#include "miniapps/hmc/chain_measurement.hpp"
#include "miniapps/hmc/hmc_options.hpp"

namespace plaquette {

/// The figures of one trajectory, as the history keeps them.
struct trajectory_record {
  double dh = 0.0;
  bool accepted = false;
  double plaquette = 0.0;  ///< of the links after the accept step
  double seconds = 0.0;
  std::vector<force_size> forces{};  ///< by term
  std::vector<long> iterations{};    ///< of all solves, by factor
  std::vector<double> parts{};       ///< seconds of the solves of each factor, on rank 0
  hierarchy_work hierarchy{};        ///< of multigrid
  std::optional<chain_measurement> measured{};
};

/// The state of a chain in addition to its links.
struct chain_state {
  double start_plaquette = 0.0;
  std::uint64_t links_sum = 0;  ///< of the links after the last trajectory that was stored
  std::vector<trajectory_record> history{};
  std::vector<std::string> unfinished_files{};  ///< that the stopped run wrote, and its continuation replaces

  int trajectories_done() const { return static_cast<int>(history.size()); }
};

/// Returns a sum over the bits of all links, modulo 2^64: the same on any process grid. Collective.
std::uint64_t sum_of_links(const gauge_configuration& links, const communicator& comm);

/// Returns the CRC-32 of each trajectory's number, dH, plaquette and accept step, behind all those before it.
std::vector<std::uint32_t> sums_of_history(const chain_state& state);

/// Replaces the file as a whole. Throws output_error. Collective.
void write_chain(const std::string& path, const gauge_configuration& links, const chain_state& state,
                 const json_document& parameters, const communicator& world);

/// Returns the parameters that a chain was begun with. Throws input_error, naming the file, if it is none. Not
/// collective.
json_document parameters_in_chain(const std::string& path);

/// Returns how far a chain came. Throws input_error, naming the file, if it is none, or has other parameters than these
/// options, or more trajectories, or a history whose sums say that it was changed. Not collective.
chain_state read_chain(const std::string& path, const hmc_options& options);

}  // namespace plaquette
