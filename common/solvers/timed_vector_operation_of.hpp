// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A timed vector operation of any device, written once over the names of a backend.
#pragma once

#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "common/concepts.hpp"
#include "common/solvers/backend.hpp"
#include "common/solvers/stretch_numbers.hpp"
#include "common/solvers/timed_operator.hpp"

namespace plaquette::scaling {

template <backend Backend, class T>
class timed_vector_operation_of final : public timed_operator {
  using context = typename Backend::context;
  using field = typename Backend::template field<T>;

 public:
  timed_vector_operation_of(const context& ctx, const operator_case& c)
      : context_(ctx),
        case_(c),
        u_(ctx, {spins, colours, sites_of(c), c.rhs}),
        x_(ctx, {spins, colours, sites_of(c), c.kind == operator_kind::norm2 ? 1 : c.rhs}),
        kept_x_(like(x_)) {
    for (int state = 0; state < states; ++state)
      a_.push_back(make_scalars(u_, std::vector<complex<double>>(static_cast<std::size_t>(c.rhs), factor_of(state))));
  }

  void set_input(int column, const spinor_configuration& psi) override { import_column(u_, column, psi); }
  void set_second_input(int column, const spinor_configuration& psi) override {
    if (case_.kind != operator_kind::norm2) import_column(x_, column, psi);
    copy(kept_x_, x_);
    state_ = 0;
  }
  void get_output(int column, spinor_configuration& out) const override { export_column(out, x_, column); }
  std::vector<complex<double>> get_numbers() const override { return host_values(*numbers_); }

  void apply(bool /*dagger*/) override {
    state_ = 0;
    step();
  }

  void begin_stretch(int number) override {
    scale(u_, phases(u_, number));
    scale(kept_x_, phases(kept_x_, 2 * number + 1));
    copy(x_, kept_x_);
    numbers_.reset();
    state_ = steps_ = 0;
  }
  /// Repeated axpys go through three states, so that x returns to its first numbers; a scalar product alternates
  /// between <u, v> and <v, u>.
  void step() override {
    const int state = state_;
    ++steps_;
    state_ = (state_ + 1) % (case_.kind == operator_kind::axpy ? states : 2);
    if (case_.kind == operator_kind::dot) {
      numbers_ = state == 0 ? dot(u_, x_) : dot(x_, u_);
    } else if (case_.kind == operator_kind::norm2) {
      numbers_ = norm2(u_);
    } else {
      axpy(x_, a_[static_cast<std::size_t>(state)], u_);
    }
    // Some libraries delay sums over ranks until they are needed: they are needed now.
    if constexpr (requires { context_.complete_sums(); }) context_.complete_sums();
  }
  void get_input(int column, spinor_configuration& psi) const override { export_column(psi, u_, column); }
  void get_second_input(int column, spinor_configuration& psi) const override { export_column(psi, kept_x_, column); }
  complex<double> factor_of_stretch() const override {
    complex<double> sum{};
    for (int state = 0; state < state_; ++state) sum += factor_of(state);
    return sum;  // all three are nothing
  }
  bool is_swapped() const override { return state_ == 0; }
  int steps_of_stretch() const override { return steps_; }

  void set_overlap(bool) override {}
  void set_communication(bool) override {}
  bool recordable() const override { return false; }
  std::string halo_description() const override { return {}; }
  double halo_bytes() const override { return 0.0; }
  void reset_halo_cost() override {}
  halo_cost get_halo_cost() const override { return {}; }

 private:
  static site_subset sites_of(const operator_case& c) {
    return c.layout == site_layout::full ? site_subset::full : site_subset::even;
  }
  /// The factors of an axpy's three states: a times the third roots of unity, whose sum is zero.
  static constexpr int states = 3;
  static complex<double> factor_of(int state) {
    const double angle = 2.0 * std::numbers::pi / states * state;
    return axpy_factor * complex<double>{std::cos(angle), std::sin(angle)};
  }
  using scalar_batch = decltype(norm2(std::declval<const field&>()));

  context context_;
  operator_case case_;
  field u_, x_, kept_x_;
  std::vector<scalar_batch> a_;  ///< of the states
  std::optional<scalar_batch> numbers_;
  int state_ = 0;  ///< of the next step
  int steps_ = 0;  ///< of the stretch
};

}  // namespace plaquette::scaling
