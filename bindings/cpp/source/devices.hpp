// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The devices of callers: the functions that open their libraries, and their arrays on a GPU.
#pragma once

#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "bindings/cpp/source/state.hpp"
#include "common/io/collective_error.hpp"
#include "common/solvers/library.hpp"

namespace plaquette::api {
inline namespace v1 {

/// Opens the library of a device for a lattice, once each. Throws, on all ranks and as require_gpu() does, if one has
/// no such device. Collective.
std::shared_ptr<const library> open_device(const lattice& on, device which);

/// Returns a solver of nodal DG for a domain, which must outlive it. Throws as above. Collective.
std::unique_ptr<dg_solver> make_wave_solver(const dg_domain& domain, device which, bool in_single, int columns);

/// Returns memory of the GPU of this rank. Throws as above. Collective.
/// \param device  becomes its number
std::shared_ptr<void> memory_of_gpu(const lattice& on, std::size_t bytes, int& device);
/// Copies from, or to, memory of a GPU that is a caller's. Throws input_error if it is not.
/// \param name  of the caller's array, for messages
void copy_from_gpu(void* to, const void* from, std::size_t bytes, const char* name);
void copy_to_gpu(void* to, const void* from, std::size_t bytes, const char* name);
/// Copies numbers from one array on the GPU of this rank to another, in the other precision. Throws as above.
void widen_on_gpu(double* to, const float* from, std::size_t count, const char* name);
void round_on_gpu(float* to, const double* from, std::size_t count, const char* name);
/// Returns whether memory of a GPU that is a caller's is of the GPU that this rank of a lattice uses, after all that is
/// queued there. Throws input_error if it is not memory of a GPU, or ends before.
bool is_on_gpu_of(const lattice& on, const void* begin, std::size_t bytes, const char* name);
/// Throws an exception that guarded() turns into error(not_available) if there is no GPU.
void require_gpu();
/// Throws input_error for an address on a GPU, once this library uses a GPU.
void require_address_of_host(const void* address, const char* name);

/// A caller's array where the host reads and writes it: itself, or a copy of an array on a GPU.
template <class Real>
class array_on_host {
 public:
  /// Throws error(unusable_input), on all ranks, if the array is not in the memory that `where` names. It does so if
  /// it is much longer than its numbers, since it is copied whole. Collective.
  /// \param of_a_site  numbers that it holds
  /// \param user       where the numbers are used: an array of its GPU is not copied
  array_on_host(std::span<Real> given, memory where, const lattice& on, int of_a_site, const char* name,
                device user = device::cpu)
      : given_(given), name_(name), is_copy_(where == memory::device) {
    on_all_ranks_or_none(on.get()->comm, [&] {
      if (!is_copy_) return require_address_of_host(given_.data(), name_);
      require_gpu();
      is_in_place_ = user == device::gpu && is_on_gpu_of(on, given_.data(), given_.size_bytes(), name_);
      if (is_in_place_) return void(is_copy_ = false);
      constexpr std::size_t most = 64;
      const std::int64_t numbers = of_a_site * on.local_volume();
      if (given_.size() / most > static_cast<std::size_t>(numbers))
        throw input_error(std::string(name_) + ": expected an array on a GPU of up to 64 times the " +
                          std::to_string(numbers) + " numbers that it holds, found " + std::to_string(given_.size()));
      copy_to_host();
    });
  }
  /// Returns whether the array stays on the GPU that uses it. Its numbers cannot be read here.
  bool is_in_place() const { return is_in_place_; }
  /// Returns the array as a library reads or writes it.
  spinor_array<Real> spinors(int columns, const spinor_layout& layout) {
    spinor_array<Real> array = described(get().data(), columns, layout);
    array.is_on_device = is_in_place_;
    return array;
  }
  /// Copies an array that stays on its GPU, to be read.
  void copy_to_host() {
    copy_.resize(given_.size());
    copy_from_gpu(copy_.data(), given_.data(), given_.size_bytes(), name_);
    is_copy_ = true;
    is_in_place_ = false;
  }
  std::span<Real> get() { return is_copy_ ? std::span<Real>(copy_) : given_; }
  /// Writes changed numbers to the caller's array.
  void put() const {
    if (is_copy_) copy_to_gpu(given_.data(), copy_.data(), given_.size_bytes(), name_);
  }

 private:
  std::span<Real> given_;
  const char* name_;
  bool is_copy_, is_in_place_ = false;
  std::vector<std::remove_const_t<Real>> copy_{};
};

/// Locks a device for as long as the result lives: calls of several threads on one GPU run one after another.
device_turn turn_on(const lattice& on, device which);

}  // namespace v1
}  // namespace plaquette::api
