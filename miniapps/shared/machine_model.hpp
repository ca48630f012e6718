// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long a kernel takes on a machine of which only the figures are known, for --dryrun. The figures come from
/// machines.json, or from a report of `plaquette bench`.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "common/app/options.hpp"
#include "common/app/report.hpp"
#include "common/lattice/geometry.hpp"

namespace plaquette {

/// The speeds of a machine, as far as the time of a run depends on them; bytes, flops and seconds. A rank has a GPU, or
/// the cores of the machine that was measured.
struct machine_figures {
  std::string name, from;
  bool is_gpu = false;
  double copy = 0.0;                          ///< bytes a second, read and written
  double fma_single = 0.0, fma_double = 0.0;  ///< flops a second
  double memory = 0.0;                        ///< bytes of a rank
  int ranks_a_host = 1;
  double link = 0.0, link_latency = 0.0;           ///< between ranks of a host: bytes a second, seconds
  double network = 0.0, network_latency = 0.0;     ///< of a rank, between hosts
  double kernel = 0.0;                             ///< seconds of a kernel that has next to nothing to do
  double cut = 0.0;                                ///< seconds that sites at the cuts start late within a kernel
  json_document shares = json_document::object();  ///< {"hopping double 18": {"1": share of `copy`, "12": ...}}
  json_document dg = json_document::object();      ///< {"acoustics": {order: share of the FMA peak}, "bytes": share}

  /// Returns the share of the copy bandwidth that a kernel reaches for a number of columns. Between known numbers it is
  /// linear in the logarithm.
  double share_of(const std::string& kernel, int columns = 1) const;
  /// Returns the share of the FMA peak that a stage of nodal-dg reaches with an order, in the fewest products.
  double dg_share(const std::string& equations, int order) const;
};

/// Returns the machine that --device names for a dry run: a card, a report, or "cpu"; none for "gpu". Throws
/// input_error if neither is known.
std::optional<machine_figures> planned_machine(const shared_options& options);

/// The part of a lattice that a rank has. Extents are real numbers, since a coarse lattice may be cut thinner than is
/// possible.
struct divided_lattice {
  std::array<double, dimensions> local{};
  extents grid{};
  double sites() const { return local[0] * local[1] * local[2] * local[3]; }
  /// Returns the share of sites that need no other rank.
  double inner() const;
};
divided_lattice divided(const extents& lattice, const extents& grid);

/// The work of a kernel on a rank, and the bytes that it exchanges.
struct kernel_work {
  double bytes = 0.0;        ///< through memory at least
  double share = 1.0;        ///< of the copy bandwidth
  int hops = 1;              ///< exchanges
  double sent_a_site = 0.0;  ///< bytes for a site of a face, of all columns, a hop; of half the sites if even-odd
  double read_a_site = 0.0;  ///< the same, to pack them
  double least = 0.0;        ///< seconds, however small the lattice is; 0: of `hops` kernels
  bool overlap = true;       ///< the interior goes on while messages travel
};

/// The time of a kernel and its messages.
struct kernel_time {
  double seconds = 0.0, alone = 0.0;   ///< with messages and without
  double inside = 0.0, outside = 0.0;  ///< bytes that a rank sends to ranks of its host, and to others
  int messages = 0;                    ///< of a rank
  kernel_time& operator+=(const kernel_time& other);
  kernel_time operator*(double times) const;
};
kernel_time time_of(const machine_figures& machine, const divided_lattice& lattice, const kernel_work& work);

/// Returns seconds of a sum over all ranks.
double seconds_of_sum(const machine_figures& machine, int ranks);

/// Returns "H200: copy 4290 GB/s a rank, ...", and "12 MiB of a rank in 8 messages, 3 MiB of it to other hosts".
std::string text_of(const machine_figures& machine);
std::string text_of_messages(const kernel_time& time);

}  // namespace plaquette
