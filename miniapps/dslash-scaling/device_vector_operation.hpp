// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A timed vector operation of any device, written once over the names that its library gives to things.
#pragma once

#include <optional>
#include <vector>

#include "common/concepts.hpp"
#include "miniapps/dslash-scaling/timed_operator.hpp"

namespace plaquette::scaling {

/// \tparam Device  as of device_operator
template <class Device, class T>
class device_vector_operation final : public timed_operator {
  using field = typename Device::template field<T>;

 public:
  device_vector_operation(const Device& device, const operator_case& c)
      : device_(device),
        case_(c),
        u_(device.ctx, {spins, colours, sites_of(c), c.rhs}),
        x_(device.ctx, {spins, colours, sites_of(c), c.kind == operator_kind::norm2 ? 1 : c.rhs}),
        a_(make_scalars(u_, std::vector<complex<double>>(static_cast<std::size_t>(c.rhs), axpy_factor))),
        minus_a_(-a_) {}

  void set_input(int column, const spinor_configuration& psi) override { import_column(u_, column, psi); }
  void set_second_input(int column, const spinor_configuration& psi) override {
    if (case_.kind != operator_kind::norm2) import_column(x_, column, psi);
    forwards_ = true;
  }
  void get_output(int column, spinor_configuration& out) const override { export_column(out, x_, column); }
  std::vector<complex<double>> get_numbers() const override { return host_values(*numbers_); }

  /// An axpy that is done again and again goes back and forth, so that its numbers stay what they are.
  void apply(bool /*dagger*/) override {
    if (case_.kind == operator_kind::dot) {
      numbers_ = dot(u_, x_);
    } else if (case_.kind == operator_kind::norm2) {
      numbers_ = norm2(u_);
    } else {
      axpy(x_, forwards_ ? a_ : minus_a_, u_);
      forwards_ = !forwards_;
    }
    // Where sums over ranks wait until somebody wants them: somebody does.
    if constexpr (requires { device_.ctx.complete_sums(); }) device_.ctx.complete_sums();
  }
  void finish() const override { device_.finish(); }

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
  using scalar_batch = decltype(norm2(std::declval<const field&>()));

  Device device_;
  operator_case case_;
  field u_, x_;
  scalar_batch a_, minus_a_;
  std::optional<scalar_batch> numbers_;
  bool forwards_ = true;
};

}  // namespace plaquette::scaling
