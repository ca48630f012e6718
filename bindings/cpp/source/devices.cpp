// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/cpp/source/devices.hpp"

#include <atomic>

#include "library/open_library.hpp"

namespace plaquette::api {
inline namespace v1 {

namespace {

std::atomic<bool> uses_gpu = false;  ///< while it is false, no call has to start CUDA

/// Returns the CUDA library, which this process uses from here on. Throws as require_gpu().
const platform& gpu_in_use() {
  require_gpu();
  uses_gpu = true;
  note_threads();
  return *find_platform(device_kind::gpu);
}

const platform& gpu_in_use(const communicator& ranks) {
  on_all_ranks_or_none(ranks, require_gpu);
  return gpu_in_use();
}

}  // namespace

bool has_gpu() {
  const platform* const found = find_platform(device_kind::gpu);
  return found != nullptr && guarded([&] { return found->devices() > 0; });
}

void require_gpu() {
  constexpr auto not_available = static_cast<exit_status>(code::not_available);
  const platform* const found = find_platform(device_kind::gpu);
  if (found == nullptr)
    throw plaquette::error(
        not_available,
        "device gpu: this library was built without CUDA (PLAQUETTE_CUDA=ON builds it); device cpu is there");
  if (found->devices() == 0)
    throw plaquette::error(not_available, "device gpu: no GPU was found, or no driver for it; device cpu is there");
}

std::shared_ptr<const library> open_device(const lattice& on, device which) {
  lattice::state& here = *on.get();
  if (which == device::cpu) {
    const std::lock_guard one_opens(here.cpu_mutex);
    if (!here.cpu) here.cpu = open_library(device_kind::cpu, here.geometry, here.comm, {.threads = here.threads});
    return here.cpu;
  }
  const platform& gpu = gpu_in_use(here.comm);
  if (!here.gpu) here.gpu = gpu.open(here.geometry, here.comm, {});
  return here.gpu;
}

std::unique_ptr<dg_solver> make_wave_solver(const dg_domain& domain, device which, bool in_single, int columns) {
  dg_settings settings;
  settings.numbers = in_single ? plaquette::precision::single : plaquette::precision::double_;
  settings.columns = columns;
  const platform& there = which == device::cpu ? *find_platform(device_kind::cpu) : gpu_in_use(domain.comm);
  return there.make_dg_solver(domain, settings);
}

std::shared_ptr<void> memory_of_gpu(const lattice& on, std::size_t bytes, int& device) {
  const communicator& comm = on.get()->comm;
  const platform& gpu = gpu_in_use(comm);
  device = gpu.device_of_rank(comm);
  std::shared_ptr<void> made;
  on_all_ranks_or_none(comm, [&] { made = gpu.allocate_for_caller(device, bytes); });
  return made;
}

bool is_on_gpu_of(const lattice& on, const void* begin, std::size_t bytes, const char* name) {
  const platform& gpu = gpu_in_use();
  return gpu.device_of_caller(begin, bytes, name) == gpu.device_of_rank(on.get()->comm);
}
void copy_from_gpu(void* to, const void* from, std::size_t bytes, const char* name) {
  gpu_in_use().copy_from_caller(to, from, bytes, name);
}
void copy_to_gpu(void* to, const void* from, std::size_t bytes, const char* name) {
  gpu_in_use().copy_to_caller(to, from, bytes, name);
}
void widen_on_gpu(double* to, const float* from, std::size_t count, const char* name) {
  gpu_in_use().widen_for_caller(to, from, count, name);
}
void round_on_gpu(float* to, const double* from, std::size_t count, const char* name) {
  gpu_in_use().round_for_caller(to, from, count, name);
}
void require_address_of_host(const void* address, const char* name) {
  if (uses_gpu) find_platform(device_kind::gpu)->require_memory_of_host(address, name);
}

device_turn turn_on(const lattice& on, device which) {
  return which == device::gpu ? device_turn(on.get()->gpu_mutex) : device_turn();
}

}  // namespace v1
}  // namespace plaquette::api
