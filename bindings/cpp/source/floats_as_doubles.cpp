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
  std::optional<array_on_host<float>> to{};  ///< none of an array that is read
  std::vector<double> doubles{};
};

namespace {

template <class Float>
array_on_host<Float> on_host(std::span<Float> given, memory where, int columns, const lattice& on, const char* name) {
  on_all_ranks_or_none(on.get()->comm, [&] { require_credible_length(name, given.size(), sizeof(float)); });
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

floats_as_doubles::floats_as_doubles(std::span<const float> given, memory where, int columns, const lattice& on,
                                     const char* name)
    : state_(guarded(on, [&] {
        auto made = std::make_unique<state>(on);
        made->doubles = doubles_of(on_host(given, where, columns, on, name).get());
        return made;
      })) {}

floats_as_doubles::floats_as_doubles(std::span<float> given, memory where, int columns, const lattice& on,
                                     const char* name)
    : state_(guarded(on, [&] {
        auto made = std::make_unique<state>(on);
        made->to.emplace(on_host(given, where, columns, on, name));
        made->doubles = doubles_of(made->to->get());
        return made;
      })) {}

floats_as_doubles::~floats_as_doubles() = default;

std::span<double> floats_as_doubles::get() { return state_->doubles; }

void floats_as_doubles::put() {
  guarded(state_->on, [&] {
    const std::span<float> floats = state_->to.value().get();
    const auto size = std::ssize(floats);
#pragma omp parallel for simd schedule(static)
    for (std::ptrdiff_t i = 0; i < size; ++i)
      floats[static_cast<std::size_t>(i)] = static_cast<float>(state_->doubles[static_cast<std::size_t>(i)]);
    state_->to->put();
  });
}

}  // namespace v1
}  // namespace plaquette::api
