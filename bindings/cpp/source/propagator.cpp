// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>

#include "bindings/cpp/source/devices.hpp"
#include "bindings/cpp/source/state.hpp"
#include "common/algebra/gamma.hpp"
#include "common/algebra/largest.hpp"
#include "common/io/spinor_file.hpp"
#include "common/number_text.hpp"
#include "cpu_ref/gauge/gaussian_smearing.hpp"
#include "cpu_ref/solvers/contractions.hpp"

namespace plaquette::api {
inline namespace v1 {

namespace {

bool is_stopped(const std::vector<column_result>& columns) {
  return std::ranges::any_of(columns, [](const column_result& c) { return c.status == stops_of_call::status; });
}

}  // namespace

verdict solve_report::verdict() const {
  api::verdict result;
  result.judged = !columns.empty();
  bool all_passed = !columns.empty();
  std::string failed;
  for (const column_result& c : columns) {
    result.judged = result.judged && !(c.status == "not judged") && c.tolerance > 0.0;
    keep_largest(result.worst, c.reference);
    result.tolerance = std::max(result.tolerance, c.tolerance);
    all_passed = all_passed && c.passed;
    if (!c.passed && failed.empty()) failed = c.status;
  }
  result.passed = result.judged && all_passed;
  char numbers[96];
  std::snprintf(numbers, sizeof numbers, "largest residual %.2e, tolerance %.2e", result.worst, result.tolerance);
  result.text = !result.judged && is_stopped(columns) ? "not judged: the caller's function has ended the call before"
                : !result.judged ? "not judged: no residual was recomputed by the reference operator"
                : result.passed  ? std::string("passed: ") + numbers
                                 : std::string("failed: ") + numbers + " (solver: " + failed + ")";
  return result;
}

code solve_report::outcome() const {
  if (verdict().passed) return code::success;
  if (is_stopped(columns)) return code::interrupted;
  const bool stopped = std::ranges::any_of(columns, [](const column_result& c) { return c.status != "converged"; });
  return stopped ? code::no_convergence : code::not_verified;
}

solution_columns::solution_columns(const lattice& on, device where, std::vector<batch> batches)
    : count_(0), on_(on), where_(where), batches_(std::move(batches)) {
  for (const batch& b : batches_) count_ += b.used;
}

solution_columns::~solution_columns() { leave_device(); }

void solution_columns::leave_device() {
  if (batches_.empty()) return;
  const auto turn = turn_on(*on_, where_);
  batches_.clear();
}

bool solution_columns::are_on_gpu() const { return !batches_.empty() && where_ == device::gpu; }

const std::vector<spinor_configuration>& solution_columns::on_host() const {
  const std::lock_guard one_at_a_time(busy_);
  if (on_host_) return *on_host_;
  std::vector<spinor_configuration> columns(static_cast<std::size_t>(count_),
                                            spinor_configuration(on_->get()->geometry));
  const auto turn = turn_on(*on_, where_);
  std::size_t column = 0;
  for (const batch& b : batches_)
    for (int n = 0; n < b.used; ++n) b.vectors->get(n, columns[column++]);
  return on_host_.emplace(std::move(columns));
}

std::span<spinor_configuration> solution_columns::with_ghosts() {
  on_host();
  return *on_host_;
}

void solution_columns::write(const spinor_array<double>& to) const {
  if (!batches_.empty()) {
    const auto turn = turn_on(*on_, where_);
    int column = 0;
    for (const batch& b : batches_) {
      b.vectors->write(0, to.part(column, b.used));
      column += b.used;
    }
    return;
  }
  const std::vector<spinor_configuration>& columns = on_host();
  for (int n = 0; n < count_; ++n) put_spinor(to, columns[static_cast<std::size_t>(n)], n);
}

std::unique_ptr<contractions> solution_columns::contracted_on_gpu() const {
  if (!are_on_gpu() || count_ != spin_colours || cpu::exact_sums::are_on()) return nullptr;
  return open_device(*on_, device::gpu)->contract(batches_);
}

const solve_report& propagator::report() const { return state_->report; }
const api::source& propagator::from() const { return state_->from; }
const lattice& propagator::on() const { return state_->on; }

namespace {

/// Returns work(contractions of the columns): on the GPU that has them, or else on the host.
template <class Work>
auto contracted(const propagator::state& quark, Work&& work) {
  if (quark.solved->are_on_gpu()) {
    const auto turn = turn_on(quark.on, device::gpu);
    if (const auto there = quark.solved->contracted_on_gpu()) return work(*there);
  }
  return work(*cpu::make_contractions(quark.columns(), quark.on.get()->comm));
}

}  // namespace

std::vector<double> propagator::pion() const {
  return guarded(state_->on,
                 [&] { return contracted(*state_, [](const contractions& quark) { return quark.pion(); }); });
}
std::vector<double> propagator::rho() const {
  return guarded(state_->on,
                 [&] { return contracted(*state_, [](const contractions& quark) { return quark.rho(); }); });
}

spin_matrix gamma_of(meson number) {
  const int bits = static_cast<int>(number);
  if (bits < 0 || bits > 15)
    throw error(code::unusable_input, "correlator: expected a meson from 0 to 15, found " + std::to_string(bits));
  spin_matrix product = spin_matrix::identity();
  for (int mu = 0; mu < dimensions; ++mu)
    if ((bits >> mu & 1) != 0) product = product * gamma_matrix(mu);
  return product;
}

namespace {

std::vector<std::complex<double>> of_standard(const std::vector<plaquette::complex<double>>& values) {
  std::vector<std::complex<double>> result;
  for (const auto& value : values) result.emplace_back(value.re, value.im);
  return result;
}

}  // namespace

std::vector<std::complex<double>> propagator::correlator(meson number, const std::array<int, 3>& momentum,
                                                         int direction) const {
  return guarded(state_->on, [&] {
    require_momentum(momentum, "correlator");
    const spin_matrix gamma = gamma_of(number);
    return of_standard(
        contracted(*state_, [&](const contractions& quark) { return quark.meson(gamma, momentum, direction); }));
  });
}

std::vector<std::complex<double>> propagator::nucleon(int parity, const std::array<int, 3>& momentum) const {
  return guarded(state_->on, [&] {
    require_momentum(momentum, "nucleon");
    return of_standard(
        contracted(*state_, [&](const contractions& quark) { return quark.nucleon(quark, parity, momentum); }));
  });
}

namespace {

/// Returns the coordinate of the source in one direction. Walls and noise have only a time.
int place_of(const source& from, int direction) {
  const bool has_site = from.kind == source_kind::point || from.kind == source_kind::gaussian;
  return has_site || direction == 3 ? from.position[static_cast<std::size_t>(direction)] : 0;
}

template <class Number>
std::vector<Number> from_source_of(const propagator::state& quark, std::vector<Number> numbers, int direction) {
  if (direction < 0 || direction > 3)
    throw error(code::unusable_input,
                "correlator: expected a direction from 0 to 3, found " + std::to_string(direction));
  const int length = quark.on.extents()[static_cast<std::size_t>(direction)];
  if (std::ssize(numbers) != length)
    throw error(code::unusable_input,
                "correlator: expected " + std::to_string(length) + " numbers, found " + std::to_string(numbers.size()));
  if (!quark.source_is_known)
    throw error(
        code::unusable_input,
        "correlator: expected a propagator whose source is known, found one of a file or of vectors that were not "
        "solved for a source");
  std::ranges::rotate(numbers, numbers.begin() + place_of(quark.from, direction));
  return numbers;
}

}  // namespace

std::vector<double> propagator::from_source(std::vector<double> correlator, int direction) const {
  return guarded([&] { return from_source_of(*state_, std::move(correlator), direction); });
}
std::vector<std::complex<double>> propagator::from_source(std::vector<std::complex<double>> correlator,
                                                          int direction) const {
  return guarded([&] { return from_source_of(*state_, std::move(correlator), direction); });
}

propagator propagator::smeared_sink(const gauge_field& links, double radius, int steps) const {
  return guarded(state_->on, [&] {
    require_same_lattice(state_->on, links.on(), "smeared sink");
    if (!(radius >= 0.0 && std::isfinite(radius)) || steps < 1)
      throw error(code::unusable_input,
                  "smeared sink: expected a radius that is not negative and one or more steps, found " +
                      number_text(radius) + " and " + std::to_string(steps));
    std::vector<spinor_configuration> smeared;
    for (const spinor_configuration& column : state_->columns())
      smeared.push_back(cpu::gaussian_smeared(column, *links.get()->on_host(), radius, steps, state_->on.get()->comm));
    return propagator(
        state(state_->on, state_->from, state_->report, std::move(smeared)).of_source(state_->source_is_known));
  });
}

void propagator::write(const std::string& file, propagator_style style, bool replace) const {
  guarded(state_->on, [&] {
    require_name(file);
    const communicator& comm = state_->on.get()->comm;
    std::array<double, 1> size{0.0};  // of all numbers: not finite where one of them is not, or is beyond 1e150
    for (const spinor_configuration& column : state_->columns())
      for (std::int64_t site = 0; site < column.geometry().local_volume(); ++site)
        size[0] += norm2(column.at_site(site));
    comm.sum(std::span(size));
    if (!std::isfinite(size[0]))
      throw error(code::unusable_input, "propagator: expected finite numbers for " + file + ", found others");
    propagator_write_options options;
    options.style =
        style == propagator_style::etmc ? plaquette::propagator_style::etmc : plaquette::propagator_style::scidac;
    options.existing = replace ? existing_file::replace : existing_file::keep;
    options.information = "Plaquette " PLAQUETTE_VERSION ": " + report().verdict().text;
    write_lime_propagator(file, state_->columns(), options, comm);
  });
}

propagator propagator::read(const lattice& on, const std::string& file) {
  return guarded(on, [&] {
    require_name(file);
    return propagator(
        state(on, api::source{}, solve_report{}, read_lime_propagator(file, on.get()->geometry, on.get()->comm))
            .of_source(false));
  });
}

void propagator::copy_to(std::span<double> numbers, const spinor_layout& layout) const {
  guarded(state_->on, [&] {
    const solution_columns& solved = *state_->solved;
    const int columns = solved.count();
    array_on_host<double> to(numbers, layout.memory, state_->on, spinor_reals * columns, "array for a propagator",
                             solved.are_on_gpu() ? device::gpu : device::cpu);
    require_spinors(to.get(), false, columns, layout, state_->on, "array for a propagator");
    solved.write(to.spinors(columns, layout));
    to.put();
  });
}

}  // namespace v1
}  // namespace plaquette::api
