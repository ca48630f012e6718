// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/cpp/source/floats_as_doubles.hpp"

#include <optional>
#include <vector>

#include "bindings/cpp/source/devices.hpp"
#include "bindings/cpp/source/state.hpp"
#include "common/io/array_places.hpp"

namespace plaquette::api {
inline namespace v1 {

struct floats_as_doubles::state {
  lattice on;
  spinor_layout layout;
  const char* name;
  std::span<float> floats{};                 ///< on a GPU, of an array that is written
  std::optional<array_on_host<float>> to{};  ///< an array to be written that is not on the GPU of each rank
  std::vector<double> on_host{};
  std::shared_ptr<void> on_gpu{};
  std::size_t size = 0;

  double* doubles_on_gpu() const { return static_cast<double*>(on_gpu.get()); }

  /// Takes an array on the GPU of each rank. Returns whether it is one. Collective.
  bool take_on_gpu(std::span<const float> numbers) {
    if (layout.memory != memory::device) return false;
    const communicator& comm = on.get()->comm;
    on_all_ranks_or_none(comm, require_gpu);
    std::uint64_t elsewhere = 0;
    on_all_ranks_or_none(comm,
                         [&] { elsewhere = is_on_gpu_of(on, numbers.data(), numbers.size_bytes(), name) ? 0 : 1; });
    comm.sum({&elsewhere, 1});
    if (elsewhere > 0) return false;
    int device = 0;
    size = numbers.size();
    on_gpu = memory_of_gpu(on, size * sizeof(double), device);
    widen_on_gpu(doubles_on_gpu(), numbers.data(), size, name);
    return true;
  }
};

namespace {

template <class Float>
array_on_host<Float> on_host(std::span<Float> given, memory where, int columns, const lattice& on, const char* name) {
  return {given, where, on, spinor_reals * columns, name};
}

std::vector<double> doubles_of(std::span<const float> floats) {
  std::vector<double> doubles(floats.size());
  const auto size = std::ssize(floats);
#pragma omp parallel for simd schedule(static)
  for (std::ptrdiff_t i = 0; i < size; ++i)
    doubles[static_cast<std::size_t>(i)] = static_cast<double>(floats[static_cast<std::size_t>(i)]);
  return doubles;
}

}  // namespace

floats_as_doubles::floats_as_doubles(std::span<const float> numbers, const spinor_layout& given, int columns,
                                     const lattice& on, const char* name)
    : state_(guarded(on, [&] {
        auto made = std::make_unique<state>(on, given, name);
        on_all_ranks_or_none(on.get()->comm, [&] { require_credible_length(name, numbers.size(), sizeof(float)); });
        if (!made->take_on_gpu(numbers))
          made->on_host = doubles_of(plaquette::api::on_host(numbers, given.memory, columns, on, name).get());
        return made;
      })) {}

floats_as_doubles::floats_as_doubles(std::span<float> numbers, const spinor_layout& given, int columns,
                                     const lattice& on, const char* name)
    : state_(guarded(on, [&] {
        auto made = std::make_unique<state>(on, given, name);
        on_all_ranks_or_none(on.get()->comm, [&] { require_credible_length(name, numbers.size(), sizeof(float)); });
        if (made->take_on_gpu(numbers)) {
          made->floats = numbers;
          return made;
        }
        made->to.emplace(plaquette::api::on_host(numbers, given.memory, columns, on, name));
        made->on_host = doubles_of(made->to->get());
        return made;
      })) {}

floats_as_doubles::~floats_as_doubles() = default;

std::span<double> floats_as_doubles::get() {
  return state_->on_gpu ? std::span(state_->doubles_on_gpu(), state_->size) : std::span(state_->on_host);
}

spinor_layout floats_as_doubles::layout() const {
  spinor_layout here = state_->layout;
  if (!state_->on_gpu) here.memory = memory::host;
  return here;
}

void floats_as_doubles::put() {
  guarded(state_->on, [&] {
    if (state_->on_gpu)
      return round_on_gpu(state_->floats.data(), state_->doubles_on_gpu(), state_->size, state_->name);
    const std::span<float> floats = state_->to.value().get();
    const auto size = std::ssize(floats);
#pragma omp parallel for simd schedule(static)
    for (std::ptrdiff_t i = 0; i < size; ++i)
      floats[static_cast<std::size_t>(i)] = static_cast<float>(state_->on_host[static_cast<std::size_t>(i)]);
    state_->to->put();
  });
}

}  // namespace v1
}  // namespace plaquette::api
