// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/device/runtime.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "gpu/device/check.hpp"

namespace plaquette::gpu {

namespace {

constexpr std::size_t device_alignment = 256;

/// Page-locked memory that is free now.
using pinned_pieces = std::vector<std::pair<std::size_t, std::shared_ptr<std::byte>>>;

[[noreturn]] void throw_out_of_memory(const std::string& where, std::size_t bytes, std::size_t available) {
  throw memory_error("out of memory of the " + where + ": " + std::to_string(bytes) + " bytes are needed, " +
                     std::to_string(available) + " are available");
}

void require_device(int device) {
  const int count = device_count();
  if (device < 0 || device >= count)
    throw input_error("GPU number " + std::to_string(device) + " was requested; found " + std::to_string(count) +
                      " GPUs");
}

}  // namespace

#ifdef PLAQUETTE_CUDA_RUNTIME

namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Calls of the runtime mean the current device.
void make_current(int device) { check(cudaSetDevice(device)); }

}  // namespace

int device_count() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
    (void)cudaGetLastError();  // it is answered for
    return 0;
  }
  check(status);
  return count;
}

bool kernels_run_on_host() { return false; }

device_description describe_device(int device) {
  require_device(device);
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, device));
  int memory_clock = 0, driver = 0, runtime = 0;  // kHz
  check(cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, device));
  check(cudaDriverGetVersion(&driver));
  check(cudaRuntimeGetVersion(&runtime));
  device_description found;
  found.name = properties.name;
  found.compute_capability = 10 * properties.major + properties.minor;
  found.multiprocessors = properties.multiProcessorCount;
  found.memory_bytes = properties.totalGlobalMem;
  found.cache_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  found.memory_bytes_per_second = 2.0 * 1e3 * memory_clock * properties.memoryBusWidth / 8;  // two transfers a clock
  found.driver_version = version_text(driver);
  found.runtime_version = version_text(runtime);
  char bus_id[32] = {};
  check(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device));
  found.pci_bus_id = bus_id;
  return found;
}

device_memory memory_of_device(int device) {
  make_current(device);
  device_memory memory;
  check(cudaMemGetInfo(&memory.available, &memory.total));
  return memory;
}

std::shared_ptr<std::byte> allocate_on_device(int device, std::size_t bytes) {
  make_current(device);
  void* begin = nullptr;
  const cudaError_t status = cudaMalloc(&begin, std::max(bytes, device_alignment));
  if (status == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    throw_out_of_memory("GPU", bytes, memory_of_device(device).available);
  }
  check(status);
  // Errors of work under way show where somebody waits for it; at the end of the program there may be no driver any
  // more.
  return {static_cast<std::byte*>(begin), [](std::byte* p) { (void)cudaFree(p); }};
}

std::shared_ptr<std::byte> allocate_pinned(std::size_t bytes) {
  void* begin = nullptr;
  check(cudaMallocHost(&begin, std::max<std::size_t>(bytes, 1)));
  return {static_cast<std::byte*>(begin), [](std::byte* p) { (void)cudaFreeHost(p); }};
}

struct queue::state {
  int device;
  bool starts_kernels_early = false, backwards = true;
  cudaStream_t stream = nullptr;
  queue::held_launch held_back;
  int columns_held_back = 0;
  std::shared_ptr<std::byte> scratch, counters, staging;
  std::size_t scratch_bytes = 0, counter_bytes = 0, staging_bytes = 0;
  pinned_pieces pinned;

  explicit state(int number) : device(number) {
    make_current(device);
    int major = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    // Kernels that were compiled for less do not wait for the one before.
    starts_kernels_early = std::min(10 * major, PLAQUETTE_CUDA_HIGHEST_ARCHITECTURE) >= 90;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  ~state() { (void)cudaStreamDestroy(stream); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
};

void queue::synchronize() const { check(cudaStreamSynchronize(static_cast<cudaStream_t>(native()))); }
void* queue::native() const {
  launch_held_back();
  return state_->stream;
}
void queue::launch_held_back() const {
  if (state_->held_back) std::exchange(state_->held_back, nullptr)(*this, nullptr);
}
void queue::hold_back(int columns, held_launch launch) const {
  launch_held_back();
  state_->held_back = std::move(launch);
  state_->columns_held_back = columns;
}
bool queue::launch_closing(int columns, const closing_programs& programs) const {
  if (!state_->held_back || state_->columns_held_back != columns) return false;
  std::exchange(state_->held_back, nullptr)(*this, &programs);
  return true;
}

namespace {

cudaStream_t stream_of(const queue& q) { return static_cast<cudaStream_t>(q.native()); }

}  // namespace

void copy_to_device(const queue& q, void* to, const void* from, std::size_t bytes) {
  // From pageable memory this returns when `from` has been read.
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_of(q)));
}
void copy_to_host(const queue& q, void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_of(q)));
  q.synchronize();
}
void copy_on_device(const queue& q, void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(q)));
}
void fill_bytes(const queue& q, void* to, int value, std::size_t bytes) {
  check(cudaMemsetAsync(to, value, bytes, stream_of(q)));
}
void copy_rows_to_device(const queue& q, byte_rows rows, void* to, std::size_t to_stride, const void* from,
                         std::size_t from_stride) {
  if (rows.rows == 0 || rows.bytes == 0) return;
  check(
      cudaMemcpy2DAsync(to, to_stride, from, from_stride, rows.bytes, rows.rows, cudaMemcpyHostToDevice, stream_of(q)));
}
void copy_rows_to_host(const queue& q, byte_rows rows, void* to, std::size_t to_stride, const void* from,
                       std::size_t from_stride) {
  if (rows.rows == 0 || rows.bytes == 0) return;
  check(
      cudaMemcpy2DAsync(to, to_stride, from, from_stride, rows.bytes, rows.rows, cudaMemcpyDeviceToHost, stream_of(q)));
}

struct device_timer::state {
  queue of;
  cudaEvent_t begin = nullptr, end = nullptr;

  explicit state(const queue& q) : of(q) {
    make_current(q.device());
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
  }
  ~state() {
    (void)cudaEventDestroy(begin);
    (void)cudaEventDestroy(end);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
};

void device_timer::start() { check(cudaEventRecord(state_->begin, stream_of(state_->of))); }
void device_timer::stop() { check(cudaEventRecord(state_->end, stream_of(state_->of))); }
double device_timer::seconds() const {
  check(cudaEventSynchronize(state_->end));
  float milliseconds = 0.0F;
  check(cudaEventElapsedTime(&milliseconds, state_->begin, state_->end));
  return 1e-3 * static_cast<double>(milliseconds);
}

#else

int device_count() { return 1; }

bool kernels_run_on_host() { return true; }

device_description describe_device(int device) {
  require_device(device);
  device_description found;
  found.name = "host";
  found.driver_version = found.runtime_version = found.pci_bus_id = "none";
  return found;
}

device_memory memory_of_device(int /*device*/) { return {}; }

std::shared_ptr<std::byte> allocate_on_device(int /*device*/, std::size_t bytes) {
  const std::size_t rounded =
      std::max((bytes + device_alignment - 1) / device_alignment * device_alignment, device_alignment);
  auto* const begin = static_cast<std::byte*>(std::aligned_alloc(device_alignment, rounded));
  if (begin == nullptr) throw_out_of_memory("host", bytes, 0);
  return {begin, [](std::byte* p) { std::free(p); }};
}

std::shared_ptr<std::byte> allocate_pinned(std::size_t bytes) { return allocate_on_device(0, bytes); }

struct queue::state {
  int device;
  bool starts_kernels_early = false, backwards = true;
  std::shared_ptr<std::byte> scratch, counters, staging;
  std::size_t scratch_bytes = 0, counter_bytes = 0, staging_bytes = 0;
  pinned_pieces pinned;

  explicit state(int number) : device(number) {}
};

void queue::synchronize() const {}
void* queue::native() const { return nullptr; }
void queue::launch_held_back() const {}
void queue::hold_back(int /*columns*/, held_launch launch) const { launch(*this, nullptr); }
bool queue::launch_closing(int /*columns*/, const closing_programs& /*programs*/) const { return false; }

void copy_to_device(const queue& /*q*/, void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
void copy_to_host(const queue& /*q*/, void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
void copy_on_device(const queue& /*q*/, void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
void fill_bytes(const queue& /*q*/, void* to, int value, std::size_t bytes) { std::memset(to, value, bytes); }

namespace {

void copy_rows(byte_rows rows, void* to, std::size_t to_stride, const void* from, std::size_t from_stride) {
  for (std::size_t r = 0; r < rows.rows; ++r)
    std::memcpy(static_cast<std::byte*>(to) + r * to_stride, static_cast<const std::byte*>(from) + r * from_stride,
                rows.bytes);
}

}  // namespace

void copy_rows_to_device(const queue& /*q*/, byte_rows rows, void* to, std::size_t to_stride, const void* from,
                         std::size_t from_stride) {
  copy_rows(rows, to, to_stride, from, from_stride);
}
void copy_rows_to_host(const queue& /*q*/, byte_rows rows, void* to, std::size_t to_stride, const void* from,
                       std::size_t from_stride) {
  copy_rows(rows, to, to_stride, from, from_stride);
}

struct device_timer::state {
  std::chrono::steady_clock::time_point begin, end;
  explicit state(const queue& /*q*/) {}
};

void device_timer::start() { state_->begin = std::chrono::steady_clock::now(); }
void device_timer::stop() { state_->end = std::chrono::steady_clock::now(); }
double device_timer::seconds() const { return std::chrono::duration<double>(state_->end - state_->begin).count(); }

#endif

// --- The same in both builds -----------------------------------------------------------------------------------------

queue::queue(int device) {
  require_device(device);
  state_ = std::make_shared<state>(device);
}

int queue::device() const { return state_->device; }
bool queue::starts_kernels_early() const { return state_->starts_kernels_early; }
bool queue::next_is_reversed() const { return state_->backwards = !state_->backwards; }

std::byte* queue::scratch(std::size_t bytes) const {
  if (bytes > state_->scratch_bytes) {
    state_->scratch = allocate_on_device(device(), bytes);
    state_->scratch_bytes = bytes;
  }
  return state_->scratch.get();
}

unsigned* queue::counters(std::size_t count) const {
  const std::size_t bytes = count * sizeof(unsigned);
  if (bytes > state_->counter_bytes) {
    state_->counters = allocate_on_device(device(), bytes);
    state_->counter_bytes = bytes;
    fill_bytes(*this, state_->counters.get(), 0, bytes);
  }
  return reinterpret_cast<unsigned*>(state_->counters.get());
}

std::shared_ptr<std::byte> queue::take_pinned(std::size_t bytes) const {
  pinned_pieces& unused = state_->pinned;
  auto fitting = std::ranges::find_if(unused, [bytes](const auto& piece) { return piece.first >= bytes; });
  if (fitting == unused.end()) {
    constexpr std::size_t page = 4096;
    const std::size_t rounded = std::max(page, std::bit_ceil(bytes));
    unused.emplace_back(rounded, allocate_pinned(rounded));
    fitting = std::prev(unused.end());
  }
  auto piece = std::move(*fitting);
  unused.erase(fitting);
  std::byte* const begin = piece.second.get();
  return {begin, [owner = state_, held = std::move(piece)](std::byte*) { owner->pinned.push_back(held); }};
}

std::byte* queue::staging(std::size_t bytes) const {
  if (bytes > state_->staging_bytes) {
    synchronize();
    state_->staging = allocate_pinned(bytes);
    state_->staging_bytes = bytes;
  }
  return state_->staging.get();
}

device_timer::device_timer(const queue& q) : state_(std::make_shared<state>(q)) {}

}  // namespace plaquette::gpu
