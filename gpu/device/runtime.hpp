// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The device as the rest of the library sees it: its description, a queue of work, copies, clocks. No CUDA header is
/// needed to include this. In the host build (gpu/host) memory of the device is memory of the host, and work is done
/// when queued.
///
/// Errors of CUDA are std::runtime_error with the place of the call; missing memory is memory_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace plaquette::gpu {

struct closing_programs;  // gpu/fields/scalar_program.hpp

/// Returns the number of devices that can be used: 0 if there is no driver. The host build has 1.
int device_count();
/// True in the host build, where kernels are loops of the host.
bool kernels_run_on_host();

struct device_description {
  std::string name;            ///< "NVIDIA H200"
  int compute_capability = 0;  ///< 90 for 9.0
  int multiprocessors = 0;
  std::size_t memory_bytes = 0;        ///< of the whole device
  std::size_t cache_bytes = 0;         ///< level 2
  double memory_bytes_per_second = 0;  ///< by the memory's clock and width; 0 if unknown
  std::string driver_version;          ///< the highest CUDA version of the driver, "13.0"
  std::string runtime_version;         ///< the CUDA version built with
  std::string pci_bus_id;              ///< its name in other libraries: "0000:1b:00.0"
};
/// Throws input_error if there is no such device.
device_description describe_device(int device);

struct device_memory {
  std::size_t available = 0, total = 0;  ///< bytes
};
device_memory memory_of_device(int device);

/// Returns memory of the device for one owner, 256-byte aligned, undefined contents. Freeing it waits for the device:
/// take field memory from a memory_pool. Throws memory_error saying how much was needed and available.
std::shared_ptr<std::byte> allocate_on_device(int device, std::size_t bytes);
/// Allocates page-locked memory of the host: copies from and to it are the fastest, and run together with other work.
std::shared_ptr<std::byte> allocate_pinned(std::size_t bytes);

/// A queue of work for one device: later work starts when earlier work has ended. Copies of the object are the same
/// queue. Not for several threads at a time.
class queue {
 public:
  /// Throws input_error if there is no such device.
  explicit queue(int device = 0);

  int device() const;
  /// Waits until all that is queued is done; throws its errors.
  void synchronize() const;
  /// Whether its device can start a kernel while the one before still runs (compute capability 9.0).
  bool starts_kernels_early() const;
  /// True in every other call. A kernel that goes through its blocks backwards, after one that went forwards, begins
  /// with the data touched last, and finds a good part of it in the cache.
  bool next_is_reversed() const;
  /// Returns the cudaStream_t; nullptr in the host build. A kernel that was held back is launched first.
  void* native() const;

  /// Holds a kernel back until something else is queued or waited for. The use of its numbers is known by then, and
  /// they may be computed at its end. In the host build it is launched at once.
  /// \param columns  of the kernel
  /// \param launch   launches it, with these at its end if they are not null. Keeps alive the memory that the kernel
  ///                 reads and writes, and no copy of the queue.
  using held_launch = std::function<void(const queue&, const closing_programs*)>;
  void hold_back(int columns, held_launch launch) const;
  void launch_held_back() const;
  /// Launches the kernel that is held back with these at its end; false if there is none of this number of columns.
  bool launch_closing(int columns, const closing_programs& programs) const;

  /// Returns memory of the device for one kernel and the kernels fused to it: the next one that is queued may use it
  /// again. Grows.
  std::byte* scratch(std::size_t bytes) const;
  /// Returns `count` counters, zero; a kernel that uses them leaves them zero. See `sum_over`.
  unsigned* counters(std::size_t count) const;
  /// Returns page-locked memory of the host for numbers under way; the next call that stages may use it again.
  std::byte* staging(std::size_t bytes) const;
  /// Returns the same for its present owner, and then for kernels queued later. Kernels can write there.
  std::shared_ptr<std::byte> take_pinned(std::size_t bytes) const;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

/// Copies are queued. `from` on the host may be used again when the call returns.
void copy_to_device(const queue& q, void* to, const void* from, std::size_t bytes);
/// Waits for the copy, and so for all that was queued before.
void copy_to_host(const queue& q, void* to, const void* from, std::size_t bytes);
void copy_on_device(const queue& q, void* to, const void* from, std::size_t bytes);
/// Sets every byte to `value`.
void fill_bytes(const queue& q, void* to, int value, std::size_t bytes);

/// Rows of equal size, each `stride` bytes behind the one before.
struct byte_rows {
  std::size_t rows, bytes;
};
/// Only queued, both.
void copy_rows_to_device(const queue& q, byte_rows rows, void* to, std::size_t to_stride, const void* from,
                         std::size_t from_stride);
void copy_rows_to_host(const queue& q, byte_rows rows, void* to, std::size_t to_stride, const void* from,
                       std::size_t from_stride);

/// Measures the time that queued work takes on the device.
class device_timer {
 public:
  explicit device_timer(const queue& q);
  void start();
  void stop();
  /// Returns the seconds between start and stop; waits for stop.
  double seconds() const;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace plaquette::gpu
