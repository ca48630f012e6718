// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The GPU of a rank, where --device gpu requests one: what it is, what it can do, what is spent on it. A program that
/// was built without CUDA has the same functions; they say so.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/app/options.hpp"
#include "common/app/placement.hpp"
#include "common/app/report.hpp"
#include "common/comms/communicator.hpp"
#include "common/error.hpp"
#include "common/hmc/molecular_dynamics.hpp"
#include "common/solvers/multigrid_solver.hpp"
#include "common/solvers/overlap_solver.hpp"
#include "common/solvers/propagator_solver.hpp"
#include "miniapps/shared/gpu_monitor.hpp"

namespace plaquette {

namespace gpu {
class context;
}

/// A GPU and what drives it.
struct gpu_facts {
  std::string name;        ///< "NVIDIA H200"
  std::string driver;      ///< version; "unknown" where NVML does not tell
  std::string cuda;        ///< versions of driver interface and runtime: "13.0 (runtime 13.0)"
  std::string pci_bus_id;  ///< "0000:1b:00.0"
  int multiprocessors = 0;
  double memory_bytes = 0.0;
  double cache_bytes = 0.0;            ///< of level 2; 0 where unknown
  int ranks_sharing = 1;               ///< that have this very GPU
  json_document map = nullptr;         ///< of ranks to GPUs, cores and links, as the report has it
  std::vector<std::string> remarks{};  ///< what is not as it should be, a line each
};

/// A GPU in use.
class gpu_access {
 public:
  virtual ~gpu_access() = default;
  gpu_access(const gpu_access&) = delete;
  gpu_access& operator=(const gpu_access&) = delete;

  const gpu_facts& facts() const { return facts_; }
  gpu_monitor& monitor() { return *monitor_; }
  /// Before cool and before sustained figures.
  double idle_seconds() const { return idle_seconds_; }
  double running_seconds() const { return running_seconds_; }

  /// Where fields live.
  virtual const gpu::context& context() const = 0;
  /// Returns a solver of gpu/solvers.hpp on it, as do those below. Collective.
  virtual std::unique_ptr<propagator_solver> make_propagator_solver(std::shared_ptr<const gauge_configuration> links,
                                                                    const propagator_settings& settings) const = 0;
  virtual std::unique_ptr<multigrid_solver> make_multigrid_solver(std::shared_ptr<const gauge_configuration> links,
                                                                  const multigrid_settings& settings) const = 0;
  virtual std::unique_ptr<overlap_solver> make_overlap_solver(std::shared_ptr<const gauge_configuration> links,
                                                              const overlap_settings& settings) const = 0;
  /// Returns links that move, on a lattice of the whole run or of this rank alone. Collective in `comm`.
  virtual std::unique_ptr<molecular_dynamics> make_molecular_dynamics(const lattice_geometry& geometry,
                                                                      const communicator& comm,
                                                                      const gauge_configuration& links,
                                                                      const hybrid_action& action) const = 0;
  /// Waits for all that was queued.
  virtual void finish() const = 0;
  /// Returns the seconds of `times` calls in a row of `launch`, which queues work; waits for them. Of one rank by the
  /// device's clock; of several those of the slowest, which start together. Collective.
  virtual double seconds_of(int times, const std::function<void()>& launch) const = 0;
  /// Returns a way to time work again and again that has run before: as a CUDA graph, where it is `recordable`. A graph
  /// holds `stretch_length(n)` launches (device_timing.hpp), and as many graphs are launched as it takes. Collective,
  /// as is what is returned.
  virtual std::function<double(int times)> prepared(const std::function<void()>& launch, bool recordable) const {
    (void)recordable;
    return [this, launch](int times) { return seconds_of(times, launch); };
  }
  /// Collective.
  virtual double sum_over_ranks(double here) const { return here; }
  /// Whether it is so on any rank; the same answer on all. Collective.
  virtual bool on_any_rank(bool here) const { return here; }
  /// Returns the bytes of its memory that are free now.
  virtual double free_bytes() const = 0;
  /// Returns 10^9 bytes read and written per second by a copy between arrays that its cache does not hold, of all
  /// ranks' GPUs together; measured once. Collective.
  virtual double copy_gbytes_per_s() const = 0;
  /// Returns 10^9 flops per second of fused multiply-adds in registers, in single or double precision, of all ranks'
  /// GPUs together; measured once. 0 where it is not known. Collective.
  virtual double fma_gflops(bool /*in_double*/) const { return 0.0; }
  /// Returns the seconds that finding out how to launch kernels has taken until now, on this rank.
  virtual double tuning_seconds() const { return 0.0; }
  /// Returns the tuner's mode, its choices, the seconds it took.
  virtual json_document tuning() const = 0;

 protected:
  gpu_access(gpu_facts facts, std::unique_ptr<gpu_monitor> monitor, const shared_options& options)
      : facts_(std::move(facts)),
        monitor_(std::move(monitor)),
        idle_seconds_(options.idle_seconds),
        running_seconds_(options.running_seconds) {}

 private:
  gpu_facts facts_;
  std::unique_ptr<gpu_monitor> monitor_;
  double idle_seconds_, running_seconds_;
};

/// The seconds of tuning that a work_clock takes out: of a GPU, or none.
struct tuned_device {
  const gpu_access* gpu;  ///< null on the CPU
  double tuning_seconds() const { return gpu ? gpu->tuning_seconds() : 0.0; }
};

/// True where the program was built with the CUDA library.
bool has_gpu_library();
/// Returns what a program that was built without it says.
inline input_error gpu_is_absent() {
  return input_error(
      "--device gpu: this program was built without CUDA (PLAQUETTE_PRESET=cuda ./plaquette builds with it, where nvcc "
      "is found)");
}

/// Returns none with --device cpu. Else throws input_error, with one line, where the program was built without CUDA,
/// and where there is no GPU. Collective.
/// \param placement  bad: each rank takes a GPU half the host away from its usual one
std::unique_ptr<gpu_access> open_gpu(const shared_options& options, const lattice_geometry& geometry,
                                     const communicator& world, placement_policy placement = placement_policy::none);

/// Notes the GPU's part of the report's machine.
void note_gpu(machine_record& machine, const gpu_access& gpu);
/// Returns for a person a line on the GPU, one a rank where there are several, and one for all that is not as it should
/// be.
std::string describe(gpu_access& gpu);

/// Throws memory_error, saying what was needed and what there was, unless `bytes` bytes are free on the GPU.
void require_gpu_memory(const gpu_access& gpu, double bytes, const std::string& what);

}  // namespace plaquette
