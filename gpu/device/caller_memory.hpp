// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Memory of the device that belongs to a caller: the kind of its pointers, and copies that wait for the caller's work.
/// In the host build, memory of the device is memory from allocate_for_caller.
#pragma once

#include <cstddef>
#include <memory>

namespace plaquette::gpu {

/// Returns memory of a device as allocate_on_device does.
std::shared_ptr<std::byte> allocate_for_caller(int device, std::size_t bytes);

/// Throws input_error for an address in memory of a device that the host cannot read.
void require_memory_of_host(const void* address, const char* name);

/// Returns the number of the device whose memory a caller's is, after all that is queued there. Throws as below.
int device_of_caller(const void* begin, std::size_t bytes, const char* name);

/// Copies from, or to, a caller's memory after all that is queued on its device. Throws input_error if it is not memory
/// of a device, or ends before.
/// \param name  of the caller's array, for messages
void copy_from_caller(void* to, const void* from, std::size_t bytes, const char* name);
void copy_to_caller(void* to, const void* from, std::size_t bytes, const char* name);

/// Copy numbers from one array in memory of a device to another of the same device, in the other precision, after all
/// that is queued there. Throw as above for the array of floats. They wait for the copy.
void widen_for_caller(double* to, const float* from, std::size_t count, const char* name);
void round_for_caller(float* to, const double* from, std::size_t count, const char* name);

}  // namespace plaquette::gpu
