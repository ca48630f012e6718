// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/context.hpp"

#include <algorithm>

#include "common/error.hpp"

namespace plaquette::cpu {

namespace {

/// The table with the most lanes that the local lattice allows.
template <class T>
const kernel_table<T>* choose_table(const kernel_set& set, const lattice_geometry& geometry) {
  for (const kernel_table<T>& table : tables_of<T>(set))
    if (table.width > 0 && block_layout::possible_width(geometry, table.width) == table.width) return &table;
  throw input_error("no " +
                    std::string(is_half<T>       ? "half"
                                : sizeof(T) == 4 ? "single"
                                                 : "double") +
                    "-precision kernels of the chosen instruction set fit lattice " + to_string(geometry.local()));
}

template <class Lane>
aligned_buffer<Lane> permutations_of(const block_layout& layout) {
  const auto& table = layout.permutation_table();
  aligned_buffer<Lane> result(table.size());
  std::ranges::copy(table, result.data());
  return result;
}

}  // namespace

context::context(const lattice_geometry& geometry, const cpu::execution& on) {
  if (volume(geometry.grid()) != on.comm().size())
    throw input_error("process grid " + to_string(geometry.grid()) + " does not match " +
                      std::to_string(on.comm().size()) + " ranks");
  auto s = std::make_shared<state>(state{on, geometry, nullptr, nullptr, nullptr, nullptr, nullptr, {}, {}});
  s->single_kernels = choose_table<float>(kernels_of(on.isa()), geometry);
  s->double_kernels = choose_table<double>(kernels_of(on.isa()), geometry);
  s->half_kernels = choose_table<half>(kernels_of(on.isa()), geometry);
  s->single_layout = std::make_shared<block_layout>(geometry, s->single_kernels->width);
  s->double_layout = s->double_kernels->width == s->single_kernels->width
                         ? s->single_layout
                         : std::make_shared<block_layout>(geometry, s->double_kernels->width);
  s->single_permutations = permutations_of<std::int32_t>(*s->single_layout);
  s->double_permutations = permutations_of<std::int64_t>(*s->double_layout);
  state_ = std::move(s);
}

}  // namespace plaquette::cpu
