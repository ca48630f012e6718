// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The one door to a device: all that programs and callers see of the CPU library or of the CUDA library.
/// `open_library` (library/open_library.hpp) returns one.
///
///     const auto on = open_library(device_kind::gpu, geometry, communicator::world());
///     auto links = on->make_links({link_start::kind::random}, seed);
///     links->combined_sweep({.beta = 6.0}, {}, seed, 0);
///     auto solver = on->make_propagator_solver(std::make_shared<const gauge_configuration>(links->take()), settings);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/comms/rank_options.hpp"
#include "common/comms/timed_transfer.hpp"
#include "common/dg/dg_solver.hpp"
#include "common/krylov/precision.hpp"
#include "common/lattice/extents.hpp"
#include "common/lattice/gauge_action.hpp"
#include "common/lattice/geometry.hpp"
#include "common/lattice/site_field.hpp"
#include "common/lattice/stout_smearing.hpp"
#include "common/multigrid/multigrid_parameters.hpp"
#include "common/solvers/contractions.hpp"
#include "common/solvers/link_field.hpp"
#include "common/solvers/multigrid_solver.hpp"
#include "common/solvers/overlap_solver.hpp"
#include "common/solvers/propagator_solver.hpp"
#include "common/solvers/timed_operator.hpp"
#include "common/solvers/vector_operator.hpp"
#include "common/solvers/vectors.hpp"
#include "common/stop_point.hpp"

namespace plaquette {

class molecular_dynamics;  // common/hmc/molecular_dynamics.hpp
struct hybrid_action;      // common/hmc/hybrid_action.hpp

enum class device_kind { cpu, gpu };

// ---- Settings of a library

/// How the fastest kernels are found, on a GPU.
struct kernel_tuning {
  std::string mode = "on";  ///< off, on, force
  std::string file{};       ///< where choices are kept; empty: the user's own
  std::string version{};    ///< of the program: choices of another are not used
};

struct library_options {
  int threads = 0;                        ///< of the CPU library; 0: OpenMP's own default
  rank_options ranks{};                   ///< how GPUs of several ranks work together
  bool is_misplaced = false;              ///< each rank has a GPU half the host away from its usual one
  std::optional<kernel_tuning> tuning{};  ///< none: default launches
};

/// Links that a library makes.
struct link_start {
  enum class kind { unit, random, weak };
  kind from = kind::unit;
  double noise = 0.0;  ///< weak: see weak_field_configuration
};

/// How a solver of nodal DG works.
struct dg_settings {
  /// Of a GPU: which kernels do a stage. automatic: fused if there are such kernels (three dimensions), else classic.
  enum class kernel_choice { automatic, products, gather, classic, fused };

  precision numbers = precision::double_;  ///< or single
  int columns = 1;                         ///< states
  kernel_choice kernel = kernel_choice::automatic;
  bool time_parts = false;    ///< of a CPU: measures volume, surface and update, which costs a little
  bool waits_asleep = false;  ///< of a CPU: ranks that wait for messages leave the core to others
  bool overlap = true;        ///< of a CPU: messages travel while other elements are worked on
  stop_check stop{};          ///< of a CPU: asked during the set-up, on this rank
};

// ---- Facts about a library's device

/// Where a rank runs, on a GPU.
struct rank_on_gpu {
  std::string host;
  int device = 0;  ///< the number of its GPU among all that it sees
  std::string gpu, pci_bus_id;
  std::string cores, cores_near_gpu;   ///< "0-15,32-47"
  std::map<int, std::string> links{};  ///< the connections of its GPU to the GPUs of other ranks of its host
};

struct device_facts {
  device_kind kind = device_kind::cpu;
  std::string name{};        ///< of a GPU: "NVIDIA H200"
  std::string cuda{};        ///< versions of driver interface and runtime: "13.0 (runtime 13.0)"
  std::string pci_bus_id{};  ///< "0000:1b:00.0"
  int multiprocessors = 0;
  double memory_bytes = 0.0;
  double cache_bytes = 0.0;            ///< of the last level; 0 if unknown
  int ranks_sharing = 1;               ///< that have this very GPU
  std::vector<rank_on_gpu> ranks{};    ///< empty on CPUs
  std::vector<std::string> remarks{};  ///< warnings about the device, a line each
};

/// A choice between kernels that was used.
struct tuned_kernel {
  std::string kernel, choice;
  int candidates = 1;
  double gain = 1.0;
  std::string origin;  ///< untuned, file, measured
};
struct tuning_summary {
  std::string mode = "off", file{};
  double seconds = 0.0;
  std::vector<tuned_kernel> kernels{};
};

/// Seconds of one of many launches of an empty kernel: in a row, as nodes of a graph, and one that is waited for.
struct launch_seconds {
  double in_queue = 0.0, in_graph = 0.0, waited_for = 0.0;
};

// ---- Links

/// Returns whether a sweep on a CPU takes so long that it can be stopped. It then holds the links as they were, too.
inline bool keeps_links_of_sweep(const lattice_geometry& geometry) {
  return geometry.local_volume() >= sites_between_stops;
}

// ---- A library

/// A lattice on a device. All members are collective unless they say otherwise, except the members that return facts,
/// bytes and seconds. The objects that it makes may outlive it.
class library {
 public:
  using links_pointer = std::shared_ptr<const gauge_configuration>;

  virtual ~library() = default;
  library(const library&) = delete;
  library& operator=(const library&) = delete;

  const device_facts& facts() const { return facts_; }
  bool is_gpu() const { return facts_.kind == device_kind::gpu; }
  const lattice_geometry& geometry() const { return geometry_; }
  const communicator& comm() const { return comm_; }

  // Links, which operators and solvers of this very library take.

  /// \param links  with ghosts filled
  std::unique_ptr<link_field> import_links(gauge_configuration links) const {
    return marked(imported_links(std::move(links)));
  }
  std::unique_ptr<link_field> make_links(const link_start& start, std::uint64_t seed) const {
    return marked(new_links(start, seed));
  }
  /// Makes links on a lattice that this rank has by itself: objects of this library do not take them. Not collective.
  std::unique_ptr<link_field> make_own_links(const link_start& start, std::uint64_t seed,
                                             const extents& lattice) const {
    auto made = new_own_links(start, seed, lattice);
    made->set_mark(std::make_shared<const lattice_geometry>(lattice));
    return made;
  }

  // Vectors, which operators and solvers of this very library take.

  /// Returns vectors with undefined numbers. Throws input_error for a shape that is none.
  vectors make_vectors(const vectors_shape& shape) const { return {mark_, shape, new_vectors(shape)}; }
  /// Returns vectors with the numbers behind a handle of a solver, such as its solutions; Dirac spinors of vectors of
  /// one chirality. Throws input_error for a handle of another library or of another lattice.
  vectors copy_of(const vectors_handle& of) const {
    require_library_of(of, mark_, "vectors of a solver", "the new vectors");
    auto [shape, body] = copied_vectors(of);
    return {mark_, shape, std::move(body)};
  }
  /// Returns the contractions of a propagator: column 3 * (source spin) + (source colour) holds S b of that source. The
  /// vectors must not change as long as the result is used. Throws input_error unless they are 12 columns on all sites
  /// in double precision.
  std::unique_ptr<contractions> contract(const vectors& quark) const;
  /// Does the same for columns as solvers leave them, batch by batch. If they are not one batch in double precision, it
  /// copies them on the device, and returns null without room there. Throws input_error, too, where `copy_of` does.
  std::unique_ptr<contractions> contract(std::span<const handle_columns> quark) const;
  /// Returns the Wilson-clover operator on vectors. Throws input_error for settings that do not go together.
  std::unique_ptr<vector_operator> make_vector_operator(links_pointer links,
                                                        const vector_operator_settings& settings) const {
    return marked(new_vector_operator(std::move(links), settings));
  }
  /// From links that move: `vector_operator::follow` brings the operator to them. Throws input_error for links of
  /// another library, too.
  std::unique_ptr<vector_operator> make_vector_operator(link_field& links,
                                                        const vector_operator_settings& settings) const {
    return following(links, [&](links_pointer u) { return make_vector_operator(std::move(u), settings); });
  }

  // Solvers. Links of the host have their ghosts filled; a GPU copies them. A solver throws input_error for settings
  // that do not go together, and for links of another library.

  std::unique_ptr<propagator_solver> make_propagator_solver(links_pointer links,
                                                            const propagator_settings& settings) const {
    return marked(new_propagator_solver(std::move(links), settings));
  }
  /// From links that move: `follow` brings the solver to them.
  std::unique_ptr<propagator_solver> make_propagator_solver(link_field& links,
                                                            const propagator_settings& settings) const {
    return following(links, [&](links_pointer u) { return make_propagator_solver(std::move(u), settings); });
  }
  std::unique_ptr<multigrid_solver> make_multigrid_solver(links_pointer links,
                                                          const multigrid_settings& settings) const {
    return marked(new_multigrid_solver(std::move(links), settings));
  }
  /// From links that move: `follow` brings the solver to them, and `renew` the null vectors.
  std::unique_ptr<multigrid_solver> make_multigrid_solver(link_field& links, const multigrid_settings& settings) const {
    return following(links, [&](links_pointer u) { return make_multigrid_solver(std::move(u), settings); });
  }
  std::unique_ptr<overlap_solver> make_overlap_solver(links_pointer links, const overlap_settings& settings) const {
    return marked(new_overlap_solver(std::move(links), settings));
  }
  /// From links that move: `follow` brings H to them. Modes and sign functions have to be made again.
  std::unique_ptr<overlap_solver> make_overlap_solver(link_field& links, const overlap_settings& settings) const {
    return following(links, [&](links_pointer u) { return make_overlap_solver(std::move(u), settings); });
  }
  /// \param domain  of the same ranks; must outlive the solver
  virtual std::unique_ptr<dg_solver> make_dg_solver(const dg_domain& domain, const dg_settings& settings) const = 0;
  /// Returns a maker of single operators and vector operations to be timed.
  virtual std::unique_ptr<scaling::operator_maker> make_timed_operators(const scaling::timed_action& of) const = 0;
  /// Returns links that move, on a lattice of the whole run or of this rank alone. Collective in `comm`.
  virtual std::unique_ptr<molecular_dynamics> make_molecular_dynamics(const lattice_geometry& geometry,
                                                                      const communicator& comm,
                                                                      const gauge_configuration& links,
                                                                      const hybrid_action& action) const = 0;

  /// Returns the parameters of multigrid that are fast on this device. Not collective.
  multigrid_parameters default_parameters(int most_levels = 3) const {
    multigrid_parameters parameters = default_multigrid_parameters(geometry_.global(), geometry_.local(), most_levels);
    set_device_defaults(parameters, is_gpu());
    return parameters;
  }
  /// Returns the precision of a cycle's finest lattice that is fast on this device. Not collective.
  precision default_cycle_precision() const { return plaquette::default_cycle_precision(is_gpu()); }

  // Time and room.

  /// Waits for all queued work. Not collective.
  virtual void finish() const = 0;
  /// Returns the seconds of `times` calls in a row of `launch`, which queues work; waits for them. One rank uses the
  /// device's clock; several start together, and the slowest counts.
  virtual double seconds_of(int times, const std::function<void()>& launch) const = 0;
  /// Returns a function that times `launch`, which has run before, again and again: as a CUDA graph if it is
  /// `recordable`. A graph holds `stretch_length(n)` launches, and as many graphs are launched as it takes. The
  /// returned function is collective, too.
  virtual std::function<double(int times)> prepared(const std::function<void()>& launch, bool recordable) const {
    (void)recordable;
    return [this, launch](int times) { return seconds_of(times, launch); };
  }
  double sum_over_ranks(double here) const;
  double largest_over_ranks(double here) const;
  /// Returns whether `here` is true on any rank; the same answer on all.
  bool on_any_rank(bool here) const { return largest_over_ranks(here ? 1.0 : 0.0) > 0.0; }
  /// Returns the bytes of the device's memory that are free now.
  virtual double free_bytes() const = 0;
  /// Returns whether results may stay on the device: on a GPU, whether a quarter of its memory is free.
  virtual bool has_room() const = 0;
  /// Returns 10^9 bytes read and written per second by a copy between arrays that no cache holds, of all ranks'
  /// devices. A GPU measures it once, a CPU each time.
  virtual double copy_gbytes_per_s() const = 0;
  /// Returns 10^9 flops per second of fused multiply-adds in registers, in single or double precision, of all ranks'
  /// devices. A GPU measures it once, a CPU each time. 0 if it is not known.
  virtual double fma_gflops(bool /*in_double*/) const { return 0.0; }
  /// Times copies between host and GPU, and from it to the other GPUs of its host that it reaches. Not collective.
  virtual std::vector<timed_transfer> time_transfers(std::span<const std::size_t> /*sizes*/,
                                                     double /*seconds_each*/) const {
    return {};
  }
  /// Times exchanges of memory of the GPUs of ranks 0 and 1, both ways at once: once for each halo policy that the host
  /// drives, if it is there. They are "exchange staged", "exchange mpi", "exchange nccl".
  virtual std::vector<timed_transfer> time_exchanges(std::span<const std::size_t> /*sizes*/,
                                                     double /*seconds_each*/) const {
    return {};
  }
  /// Returns the seconds of a kernel's launch. Not collective.
  virtual launch_seconds time_launches() const { return {}; }
  /// Returns the seconds that this rank has spent on finding out how to launch kernels.
  virtual double tuning_seconds() const { return 0.0; }
  virtual tuning_summary tuning() const { return {}; }

 protected:
  library(device_facts facts, const lattice_geometry& geometry, communicator comm)
      : mark_(std::make_shared<const lattice_geometry>(geometry)),
        facts_(std::move(facts)),
        geometry_(geometry),
        comm_(std::move(comm)) {}

 private:
  // Make the objects that the members above return, before they are marked as this library's.

  virtual std::unique_ptr<link_field> imported_links(gauge_configuration links) const = 0;
  virtual std::unique_ptr<link_field> new_links(const link_start& start, std::uint64_t seed) const = 0;
  virtual std::unique_ptr<link_field> new_own_links(const link_start& start, std::uint64_t seed,
                                                    const extents& lattice) const = 0;
  virtual std::unique_ptr<vectors_body> new_vectors(const vectors_shape& shape) const = 0;
  virtual std::pair<vectors_shape, std::unique_ptr<vectors_body>> copied_vectors(const vectors_handle& of) const = 0;
  virtual std::unique_ptr<contractions> new_contractions(const vectors& quark) const = 0;
  /// Returns null unless the first 12 vectors can be contracted where they are.
  virtual std::unique_ptr<contractions> contractions_in_place(const vectors_handle& /*quark*/) const { return nullptr; }
  virtual std::unique_ptr<vector_operator> new_vector_operator(links_pointer links,
                                                               const vector_operator_settings& settings) const = 0;
  virtual std::unique_ptr<propagator_solver> new_propagator_solver(links_pointer links,
                                                                   const propagator_settings& settings) const = 0;
  virtual std::unique_ptr<multigrid_solver> new_multigrid_solver(links_pointer links,
                                                                 const multigrid_settings& settings) const = 0;
  virtual std::unique_ptr<overlap_solver> new_overlap_solver(links_pointer links,
                                                             const overlap_settings& settings) const = 0;

  /// Returns an object that follows links, which `make` makes of a copy. Throws input_error for links of another
  /// library.
  template <class Make>
  std::invoke_result_t<Make, links_pointer> following(link_field& links, const Make& make) const {
    require_same_library(links.mark(), mark_, "links", "the new object");
    auto made = make(std::make_shared<const gauge_configuration>(links.on_host()));
    made->follow(links);
    return made;
  }

  template <class Part>
  std::unique_ptr<Part> marked(std::unique_ptr<Part> made) const {
    made->set_mark(mark_);
    return made;
  }

  library_mark mark_;
  device_facts facts_;
  lattice_geometry geometry_;
  communicator comm_;
};

/// The functions of a library that need no lattice. There is one object for each library that this build has.
class platform {
 public:
  /// Returns how many devices this process sees.
  virtual int devices() const = 0;
  /// Opens a lattice on the device of each rank. Throws input_error if there is no device. Collective.
  virtual std::shared_ptr<library> open(const lattice_geometry& geometry, const communicator& comm,
                                        const library_options& options) const = 0;

  /// Makes a solver for ranks that have no lattice, on queues of its own. Collective.
  /// \param domain  must outlive the solver
  virtual std::unique_ptr<dg_solver> make_dg_solver(const dg_domain& domain, const dg_settings& settings) const = 0;
  /// Returns the bytes of the device's memory that such a solver takes on this rank.
  virtual double bytes_of_dg_solver(const dg_domain& domain, const dg_settings& settings) const = 0;

  // Memory of callers. On a CPU it is memory of the host.

  /// Returns the number of this rank's device. Collective.
  virtual int device_of_rank(const communicator& comm) const = 0;
  virtual std::shared_ptr<void> allocate_for_caller(int device, std::size_t bytes) const = 0;
  /// Returns the number of the device that has a caller's array, after all that is queued there. Throws input_error
  /// unless it is memory of a device, to its end.
  /// \param name  of the caller's array, for messages
  virtual int device_of_caller(const void* begin, std::size_t bytes, const char* name) const = 0;
  /// Copy from, or to, memory of a device. Throw as above.
  virtual void copy_from_caller(void* to, const void* from, std::size_t bytes, const char* name) const = 0;
  virtual void copy_to_caller(void* to, const void* from, std::size_t bytes, const char* name) const = 0;
  /// Copy numbers from one array in memory of a device to another, in the other precision. Throw as above.
  /// \param name  of the array of floats, for messages
  virtual void widen_for_caller(double* to, const float* from, std::size_t count, const char* name) const = 0;
  virtual void round_for_caller(float* to, const double* from, std::size_t count, const char* name) const = 0;
  /// Throws input_error for an address that the host cannot read.
  virtual void require_memory_of_host(const void* address, const char* name) const = 0;

 protected:
  ~platform() = default;
};

}  // namespace plaquette
