// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/device/caller_memory.hpp"

#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>

#include "common/error.hpp"
#include "gpu/device/check.hpp"
#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

namespace {

[[noreturn]] void refuse(const char* name, const std::string& found) {
  throw input_error(std::string(name) + ": expected an address in memory of a GPU, as the layout says, found " + found);
}

[[noreturn]] void refuse_device(const char* name) {
  throw input_error(std::string(name) +
                    ": expected an address in memory of the host, as the layout says, found one of a GPU");
}

[[noreturn]] void refuse_length(const char* name, std::size_t bytes) {
  throw input_error(std::string(name) + ": expected " + std::to_string(bytes) +
                    " bytes of memory of a GPU at this address, found fewer");
}

}  // namespace

#ifdef PLAQUETTE_CUDA_RUNTIME

namespace {

/// Makes the device current at its end that was at its beginning.
class device_kept {
 public:
  device_kept() { check(cudaGetDevice(&before_)); }
  ~device_kept() { (void)cudaSetDevice(before_); }
  device_kept(const device_kept&) = delete;
  device_kept& operator=(const device_kept&) = delete;

 private:
  int before_ = 0;
};

/// Makes the device current that memory is of; the one before at the end.
class device_of_memory {
 public:
  device_of_memory(const void* memory, const char* name) {
    cudaPointerAttributes known{};
    const cudaError_t status = cudaPointerGetAttributes(&known, memory);
    if (status != cudaSuccess) (void)cudaGetLastError();  // it is answered for
    if (status != cudaSuccess || (known.type != cudaMemoryTypeDevice && known.type != cudaMemoryTypeManaged))
      refuse(name, known.type == cudaMemoryTypeHost ? "page-locked memory of the host" : "memory of the host");
    number_ = known.device;
    check(cudaSetDevice(number_));
    check(cudaDeviceSynchronize());
  }

  int number() const { return number_; }

  void copy(void* to, const void* from, std::size_t bytes, const char* name) const {
    const cudaError_t status = cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
    if (status == cudaErrorInvalidValue) {
      (void)cudaGetLastError();
      refuse_length(name, bytes);
    }
    check(status);
    check(cudaDeviceSynchronize());  // a copy from pageable memory may return before it is done
  }

 private:
  device_kept kept_{};
  int number_ = 0;
};

}  // namespace

std::shared_ptr<std::byte> allocate_for_caller(int device, std::size_t bytes) {
  const device_kept kept;
  return allocate_on_device(device, bytes);
}
void require_memory_of_host(const void* address, const char* name) {
  cudaPointerAttributes known{};
  if (cudaPointerGetAttributes(&known, address) != cudaSuccess)
    (void)cudaGetLastError();
  else if (known.type == cudaMemoryTypeDevice)
    refuse_device(name);
}
int device_of_caller(const void* begin, std::size_t bytes, const char* name) {
  const device_of_memory memory(begin, name);
  cudaPointerAttributes last{};
  if (bytes > 0 && (cudaPointerGetAttributes(&last, static_cast<const std::byte*>(begin) + bytes - 1) != cudaSuccess ||
                    last.device != memory.number() || last.type == cudaMemoryTypeUnregistered)) {
    (void)cudaGetLastError();
    refuse_length(name, bytes);
  }
  return memory.number();
}
void copy_from_caller(void* to, const void* from, std::size_t bytes, const char* name) {
  device_of_memory(from, name).copy(to, from, bytes, name);
}
void copy_to_caller(void* to, const void* from, std::size_t bytes, const char* name) {
  device_of_memory(to, name).copy(to, from, bytes, name);
}

#else

namespace {

/// Pieces that callers have, by where they begin.
struct callers_memory {
  std::mutex mutex{};
  std::map<std::uintptr_t, std::size_t> pieces{};
};
callers_memory& memory_of_callers() {
  static callers_memory memory;
  return memory;
}

/// Returns how many bytes of a caller's memory of the device there are at an address: 0 in other memory.
std::size_t bytes_of_callers(const void* address) {
  callers_memory& memory = memory_of_callers();
  const std::lock_guard lock(memory.mutex);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto after = memory.pieces.upper_bound(at);
  if (after == memory.pieces.begin()) return 0;
  const auto [begin, size] = *std::prev(after);
  return at < begin + size ? begin + size - at : 0;
}

void require_memory_of_callers(const void* address, std::size_t bytes, const char* name) {
  const std::size_t there = bytes_of_callers(address);
  if (there == 0) refuse(name, "memory of the host");
  if (bytes > there) refuse_length(name, bytes);
}

}  // namespace

std::shared_ptr<std::byte> allocate_for_caller(int device, std::size_t bytes) {
  std::shared_ptr<std::byte> made = allocate_on_device(device, bytes);
  callers_memory& memory = memory_of_callers();
  const std::lock_guard lock(memory.mutex);
  memory.pieces[reinterpret_cast<std::uintptr_t>(made.get())] = bytes;
  return {made.get(), [made](std::byte* begin) {
            callers_memory& all = memory_of_callers();
            const std::lock_guard held(all.mutex);
            all.pieces.erase(reinterpret_cast<std::uintptr_t>(begin));
          }};
}
void require_memory_of_host(const void* address, const char* name) {
  if (bytes_of_callers(address) > 0) refuse_device(name);
}
int device_of_caller(const void* begin, std::size_t bytes, const char* name) {
  require_memory_of_callers(begin, bytes, name);
  return 0;
}
void copy_from_caller(void* to, const void* from, std::size_t bytes, const char* name) {
  require_memory_of_callers(from, bytes, name);
  std::memcpy(to, from, bytes);
}
void copy_to_caller(void* to, const void* from, std::size_t bytes, const char* name) {
  require_memory_of_callers(to, bytes, name);
  std::memcpy(to, from, bytes);
}

#endif

}  // namespace plaquette::gpu
