// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/cpp/source/vectors_state.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/solvers/library.hpp"

namespace plaquette::api {
inline namespace v1 {

plaquette::precision inner(precision p) {
  switch (p) {
    case precision::double_:
      return plaquette::precision::double_;
    case precision::single:
      return plaquette::precision::single;
    case precision::half:
      return plaquette::precision::half;
  }
  throw error(code::unusable_input, "precision: expected double, single or half");
}

namespace {

site_subset inner(site_set sites) {
  switch (sites) {
    case site_set::all:
      return site_subset::full;
    case site_set::even:
      return site_subset::even;
    case site_set::odd:
      return site_subset::odd;
  }
  throw error(code::unusable_input, "sites of vectors: expected all, even or odd");
}

std::vector<plaquette::complex<double>> inner(std::span<const std::complex<double>> numbers) {
  std::vector<plaquette::complex<double>> result;
  for (const std::complex<double>& number : numbers) {
    if (!std::isfinite(number.real()) || !std::isfinite(number.imag()))
      throw error(code::unusable_input, "factors of vectors: expected finite numbers, found one that is not");
    result.push_back(v1::inner(number));
  }
  return result;
}

/// Returns one number for all, or one a column.
numbers_of_columns factors(std::span<const std::complex<double>> numbers) {
  if (numbers.size() == 1) return {inner(numbers)[0]};
  return {inner(numbers)};
}

/// Runs `work` as a call on vectors of this lattice and device.
template <class Work>
auto on_vectors(const vectors::state& of, Work&& work) {
  return guarded(of.on, [&] {
    const auto turn = turn_on_vectors(of.on, of.options.device);
    return work();
  });
}

}  // namespace

device_turn turn_on_vectors(const lattice& on, device which) {
  return device_turn(which == device::gpu ? on.get()->gpu_mutex : on.get()->cpu_mutex);
}

vectors::state::state(const lattice& on_, const vectors_options& options_) : on(on_), options(options_) {
  require_columns(options.columns, "vectors");
  if (options.device == device::gpu) require_any_sums(on, "vectors on a GPU");
  const vectors_shape shape{
      .columns = options.columns, .sites = inner(options.sites), .numbers = v1::inner(options.precision)};
  if (options.device == device::cpu) library = open_device(on, device::cpu);
  const auto turn = turn_on_vectors(on, options.device);
  if (options.device == device::gpu) library = open_device(on, device::gpu);
  numbers.emplace(library->make_vectors(shape));
}

vectors::state::~state() {
  const auto turn = turn_on_vectors(on, options.device);
  numbers.reset();
}

std::vector<spinor_configuration> fields_of(const vectors::state& from) {
  std::vector<spinor_configuration> columns(static_cast<std::size_t>(from.options.columns),
                                            spinor_configuration(from.on.get()->geometry));
  for (int n = 0; n < from.options.columns; ++n) from.numbers->get(n, columns[static_cast<std::size_t>(n)]);
  return columns;
}

vectors::vectors(const lattice& on, const vectors_options& options)
    : state_(guarded(on, [&] {
        auto made = std::make_shared<state>(on, options);
        const auto turn = turn_on_vectors(on, options.device);
        made->numbers->zero();
        return made;
      })) {}

const lattice& vectors::on() const { return state_->on; }
const vectors_options& vectors::options() const { return state_->options; }

vectors vectors::copied() const {
  return guarded(state_->on, [&] {
    auto made = std::make_shared<state>(state_->on, state_->options);
    const auto turn = turn_on_vectors(state_->on, state_->options.device);
    made->numbers->copy(*state_->numbers);
    made->report = state_->report;
    made->from = state_->from;
    made->first = state_->first;
    return vectors(std::move(made));
  });
}

void vectors::zero() {
  on_vectors(*state_, [&] { state_->change().zero(); });
}

void fill(plaquette::vectors& numbers, const source& from, int first, const lattice& on,
          const plaquette::library& library) {
  require_source(from, on.get()->geometry.global());
  if (from.smearing_links) require_same_lattice(on, from.smearing_links->on(), "source");
  const link_field* hops = nullptr;
  std::unique_ptr<link_field> copied;
  const std::optional<source_description> smeared = library_smearing(from);
  if (library.is_gpu() && smeared && from.smearing_links) {
    hops = links_on_gpu(*from.smearing_links, library, on);
    if (hops == nullptr) {
      copied = library.import_links(*from.smearing_links->get()->on_host());
      hops = copied.get();
    }
  }
  const std::optional<source_description> unsmeared = smeared ? std::nullopt : library_source(from);
  const std::optional<noise_description> noise = library_noise(from);
  for (int n = 0; n < numbers.columns(); ++n) {
    const int column = (first + n) % spin_colours;
    const source_component component = component_of_column(column);
    if (unsmeared)
      numbers.make_source(n, *unsmeared, component);
    else if (noise)
      numbers.make_noise(n, *noise, component);
    else if (hops != nullptr)
      numbers.make_source(n, *smeared, component, *hops);
    else
      numbers.set(n, make_source(from, column, on));
  }
}

void vectors::fill(const source& from, int first) {
  on_vectors(*state_, [&] {
    if (first < 0 || first >= spin_colours)
      throw error(code::unusable_input,
                  "vectors: expected a first component from 0 to 11, found " + std::to_string(first));
    v1::fill(state_->change(), from, first, state_->on, *state_->library);
    state_->from = from;
    state_->first = first;
  });
}

void vectors::fill_random(std::uint64_t seed, std::uint64_t first) {
  on_vectors(*state_, [&] { state_->change().fill_random(seed, first); });
}

void vectors::read(std::span<const double> numbers, const spinor_layout& layout) {
  on_vectors(*state_, [&] {
    const auto [where, columns, sites, precision] = state_->options;
    array_on_host<const double> from(numbers, layout.memory, state_->on, spinor_reals * columns, "array of vectors",
                                     where);
    require_spinors(from.get(), !from.is_in_place(), columns, layout, state_->on, "array of vectors");
    plaquette::vectors& to = state_->change();
    to.read(0, from.spinors(columns, layout));
    if (!from.is_in_place()) return;
    for (const double square : to.norm2()) {
      if (std::isfinite(square)) continue;
      to.zero();
      throw error(code::unusable_input, "array of vectors: expected finite numbers, found others");
    }
  });
}

void vectors::write(std::span<double> numbers, const spinor_layout& layout) const {
  on_vectors(*state_, [&] {
    const auto [where, columns, sites, precision] = state_->options;
    array_on_host<double> to(numbers, layout.memory, state_->on, spinor_reals * columns, "array for vectors", where);
    require_spinors(to.get(), false, columns, layout, state_->on, "array for vectors");
    state_->numbers->write(0, to.spinors(columns, layout));
    to.put();
  });
}

void vectors::copy(const vectors& u) {
  on_vectors(*state_, [&] { state_->change().copy(*u.get().numbers); });
}

void vectors::copy_columns(int to, const vectors& u, int from, int count) {
  on_vectors(*state_, [&] { state_->change().copy_columns(to, *u.get().numbers, from, count); });
}

void vectors::scale(std::span<const std::complex<double>> a) {
  on_vectors(*state_, [&] { state_->change().scale(factors(a)); });
}

void vectors::add(std::span<const std::complex<double>> a, const vectors& u) {
  on_vectors(*state_, [&] { state_->change().add(factors(a), *u.get().numbers); });
}

void vectors::rotate_by_gamma_5() {
  on_vectors(*state_, [&] { state_->change().rotate_by_gamma_5(); });
}

std::vector<std::complex<double>> vectors::dot(const vectors& u) const {
  return on_vectors(*state_, [&] {
    std::vector<std::complex<double>> result;
    for (const auto& product : state_->numbers->dot(*u.get().numbers)) result.emplace_back(product.re, product.im);
    return result;
  });
}

std::vector<double> vectors::norm2() const {
  return on_vectors(*state_, [&] { return state_->numbers->norm2(); });
}

propagator propagator::of(const vectors& x) {
  const vectors::state& from = x.get();
  return on_vectors(from, [&] {
    if (from.options.columns != spin_colours || from.options.sites != site_set::all)
      throw error(code::unusable_input,
                  "propagator: expected vectors of 12 columns on all sites, found " + to_string(from.numbers->shape()));
    const bool is_solved = from.report && from.from;
    const int first = is_solved ? from.first : 0;
    plaquette::vectors copy = from.numbers->like();
    copy.copy_columns(first, *from.numbers, 0, spin_colours - first);
    copy.copy_columns(0, *from.numbers, spin_colours - first, first);
    solve_report report = from.report.value_or(solve_report{});
    if (!report.columns.empty()) std::ranges::rotate(report.columns, report.columns.end() - first);
    std::vector<solution_columns::batch> columns{{std::move(copy).freeze(), spin_colours}};
    auto kept = std::make_shared<solution_columns>(from.on, from.options.device, std::move(columns));
    return propagator(
        state(from.on, is_solved ? *from.from : source{}, std::move(report), std::move(kept)).of_source(is_solved));
  });
}

}  // namespace v1
}  // namespace plaquette::api
