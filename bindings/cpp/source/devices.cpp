// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/cpp/source/devices.hpp"

#include <atomic>

#include "cpu_ref/context.hpp"
#include "cpu_ref/dg/production.hpp"
#include "cpu_ref/solvers.hpp"
#ifdef PLAQUETTE_API_WITH_GPU
#include "gpu/comms/rank_map.hpp"
#include "gpu/context.hpp"
#include "gpu/device/caller_memory.hpp"
#include "gpu/device/runtime.hpp"
#include "gpu/dg/dg_solver.hpp"
#include "gpu/solvers.hpp"
#endif

namespace plaquette::api {
inline namespace v1 {

namespace {

class on_cpu final : public device_context {
 public:
  explicit on_cpu(cpu::context ctx) : context_(std::move(ctx)) {}
  std::unique_ptr<plaquette::propagator_solver> make(const links_pointer& links,
                                                     const propagator_settings& settings) const override {
    return cpu::make_propagator_solver(context_, links, settings);
  }
  std::unique_ptr<plaquette::multigrid_solver> make(const links_pointer& links,
                                                    const multigrid_settings& settings) const override {
    return cpu::make_multigrid_solver(context_, links, settings);
  }
  std::unique_ptr<plaquette::overlap_solver> make(const links_pointer& links,
                                                  const overlap_settings& settings) const override {
    return cpu::make_overlap_solver(context_, links, settings);
  }

  bool has_room() const override { return true; }

 private:
  cpu::context context_;
};

#ifdef PLAQUETTE_API_WITH_GPU
class on_gpu final : public device_context {
 public:
  explicit on_gpu(gpu::context ctx) : context_(std::move(ctx)) {}
  std::unique_ptr<plaquette::propagator_solver> make(const links_pointer& links,
                                                     const propagator_settings& settings) const override {
    return gpu::make_propagator_solver(context_, links, settings);
  }
  std::unique_ptr<plaquette::multigrid_solver> make(const links_pointer& links,
                                                    const multigrid_settings& settings) const override {
    return gpu::make_multigrid_solver(context_, links, settings);
  }
  std::unique_ptr<plaquette::overlap_solver> make(const links_pointer& links,
                                                  const overlap_settings& settings) const override {
    return gpu::make_overlap_solver(context_, links, settings);
  }

  bool has_room() const override {
    const gpu::device_memory memory = gpu::memory_of_device(context_.queue().device());
    const gpu::memory_pool& pool = context_.workspace();
    return memory.available + pool.reserved() - pool.in_use() >= memory.total / 4;
  }

 private:
  gpu::context context_;
};
#endif

}  // namespace

bool has_gpu() {
#ifdef PLAQUETTE_API_WITH_GPU
  return guarded([] { return gpu::device_count() > 0; });
#else
  return false;
#endif
}

void require_gpu() {
  constexpr auto not_available = static_cast<exit_status>(code::not_available);
#ifdef PLAQUETTE_API_WITH_GPU
  if (gpu::device_count() == 0)
    throw plaquette::error(not_available, "device gpu: no GPU was found, or no driver for it; device cpu is there");
#else
  throw plaquette::error(
      not_available,
      "device gpu: this library was built without CUDA (PLAQUETTE_CUDA=ON builds it); device cpu is there");
#endif
}

#ifdef PLAQUETTE_API_WITH_GPU
namespace {

std::atomic<bool> uses_gpu = false;  ///< where it is false, no call has to start CUDA

void note_gpu() {
  uses_gpu = true;
  note_threads();
}

}  // namespace
#endif

std::shared_ptr<const device_context> open_device(const lattice& on, device which) {
  lattice::state& here = *on.get();
  if (which == device::cpu) return std::make_shared<const on_cpu>(cpu::context(here.geometry, here.comm, here.threads));
  on_all_ranks_or_none(here.comm, require_gpu);
#ifdef PLAQUETTE_API_WITH_GPU
  note_gpu();
  if (!here.gpu) {
    const gpu::rank_map map(here.comm);
    here.gpu = std::make_shared<on_gpu>(gpu::context(here.geometry, here.comm, map.device_for(here.comm.rank())));
  }
  return here.gpu;
#else
  return nullptr;
#endif
}

std::unique_ptr<dg_solver> make_wave_solver(const dg_domain& domain, device which, bool in_single, int columns) {
  if (which == device::cpu) {
    cpu::dg_options options;
    options.precision = in_single ? "single" : "double";
    options.columns = columns;
    return cpu::make_dg_solver(domain, options);
  }
  on_all_ranks_or_none(domain.comm, require_gpu);
#ifdef PLAQUETTE_API_WITH_GPU
  note_gpu();
  const gpu::rank_map map(domain.comm);
  return gpu::make_dg_solver(domain, in_single ? plaquette::precision::single : plaquette::precision::double_, columns,
                             gpu::queue(map.device_for(domain.comm.rank())));
#else
  return nullptr;
#endif
}

std::shared_ptr<void> memory_of_gpu(const lattice& on, std::size_t bytes, int& device) {
  const communicator& comm = on.get()->comm;
  on_all_ranks_or_none(comm, require_gpu);
#ifdef PLAQUETTE_API_WITH_GPU
  note_gpu();
  device = gpu::rank_map(comm).device_for(comm.rank());
  std::shared_ptr<void> made;
  on_all_ranks_or_none(comm, [&] { made = gpu::allocate_for_caller(device, bytes); });
  return made;
#else
  (void)bytes, (void)device;
  return nullptr;
#endif
}

#ifdef PLAQUETTE_API_WITH_GPU
bool is_on_gpu_of(const lattice& on, const void* begin, std::size_t bytes, const char* name) {
  note_gpu();
  return gpu::device_of_caller(begin, bytes, name) == gpu::rank_map(on.get()->comm).device_for(on.get()->comm.rank());
}
void copy_from_gpu(void* to, const void* from, std::size_t bytes, const char* name) {
  note_gpu();
  gpu::copy_from_caller(to, from, bytes, name);
}
void copy_to_gpu(void* to, const void* from, std::size_t bytes, const char* name) {
  note_gpu();
  gpu::copy_to_caller(to, from, bytes, name);
}
void require_address_of_host(const void* address, const char* name) {
  if (uses_gpu) gpu::require_memory_of_host(address, name);
}
#else
bool is_on_gpu_of(const lattice& /*on*/, const void* /*begin*/, std::size_t /*bytes*/, const char* /*name*/) {
  require_gpu();
  return false;
}
void copy_from_gpu(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/, const char* /*name*/) { require_gpu(); }
void copy_to_gpu(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/, const char* /*name*/) { require_gpu(); }
void require_address_of_host(const void* /*address*/, const char* /*name*/) {}
#endif

std::unique_lock<std::mutex> turn_on(const lattice& on, device which) {
  return which == device::gpu ? std::unique_lock(on.get()->gpu_mutex) : std::unique_lock<std::mutex>();
}

}  // namespace v1
}  // namespace plaquette::api
