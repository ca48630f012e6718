// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The timed operator of any device, written once over the names of a backend.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algebra/fixed_point.hpp"
#include "common/concepts.hpp"
#include "common/solvers/alternating_inputs.hpp"
#include "common/solvers/backend.hpp"
#include "common/solvers/stretch_numbers.hpp"
#include "common/solvers/timed_operator.hpp"
#include "common/solvers/timed_vector_operation_of.hpp"

namespace plaquette::scaling {

inline site_subset input_sites(const operator_case& c) {
  return c.layout == site_layout::full ? site_subset::full : site_subset::even;
}
inline site_subset output_sites(const operator_case& c) {
  if (c.layout == site_layout::full) return site_subset::full;
  return c.kind == operator_kind::hopping ? site_subset::odd : site_subset::even;
}

template <backend Backend, class T>
class timed_operator_of final : public timed_operator {
  using field = typename Backend::template field<T>;
  using full_operator = typename Backend::template wilson_clover<T>;

 public:
  timed_operator_of(const typename Backend::context& ctx, std::shared_ptr<full_operator> m, const operator_case& c,
                    schur_kind preconditioning)
      : case_(c),
        m_(std::move(m)),
        schur_(m_, preconditioning),
        in_(field(ctx, {spins, colours, input_sites(c), c.rhs})),
        out_(ctx, {spins, colours, output_sites(c), c.rhs}) {}

  void set_input(int column, const spinor_configuration& psi) override { import_column(in_.first(), column, psi); }
  void get_output(int column, spinor_configuration& out) const override { export_column(out, out_, column); }

  void apply(bool dagger) override { apply_to(in_.first(), dagger); }

  void begin_stretch(int number) override {
    in_.refresh(number);
    poison();
  }
  void step() override { apply_to(in_.next(), false); }
  void get_input(int column, spinor_configuration& psi) const override { export_column(psi, in_.last(), column); }

  void set_overlap(bool on) override {
    if constexpr (requires { m_->hopping().set_overlap(on); }) m_->hopping().set_overlap(on);
  }
  void set_communication(bool on) override {
    if constexpr (requires { m_->hopping().set_communication(on); }) m_->hopping().set_communication(on);
  }
  bool recordable() const override {
    if constexpr (requires { m_->hopping().recordable(); }) return m_->hopping().recordable();
    return false;
  }
  std::string halo_description() const override {
    if constexpr (requires { m_->hopping().halo_description(); }) return m_->hopping().halo_description();
    return {};
  }
  double halo_bytes() const override {
    if constexpr (requires { m_->hopping().halo_bytes(1); }) {
      const int hops = case_.kind == operator_kind::hopping && case_.layout == site_layout::even_odd ? 1 : 2;
      return hops * static_cast<double>(m_->hopping().halo_bytes(case_.rhs));
    }
    return 0.0;
  }
  void reset_halo_cost() override {
    if constexpr (requires { m_->hopping().reset_halo_times(); }) m_->hopping().reset_halo_times();
  }
  halo_cost get_halo_cost() const override {
    if constexpr (requires { m_->hopping().halo_seconds(); }) {
      const auto& times = m_->hopping().halo_seconds();
      return {times.pack, times.wait, times.unpack, times.bytes};
    }
    return {};
  }

 private:
  void apply_to(const field& in, bool dagger) {
    switch (case_.kind) {
      case operator_kind::hopping:
        apply_hopping(in, dagger);
        break;
      case operator_kind::wilson:
      case operator_kind::clover:
        dagger ? m_->apply_dagger(out_, in) : m_->apply(out_, in);
        break;
      case operator_kind::wilson_schur:
      case operator_kind::clover_schur:
        dagger ? schur_.apply_dagger(out_, in) : schur_.apply(out_, in);
        break;
      case operator_kind::axpy:
      case operator_kind::dot:
      case operator_kind::norm2:
        throw std::logic_error("a vector operation is no operator");
    }
  }

  /// Fills with NaN everywhere; with zero if numbers have 16 bits, which know no NaN.
  void poison() {
    if constexpr (std::is_same_v<T, half>)
      zero(out_);
    else
      scale(out_, make_scalars(out_, std::vector<complex<double>>(static_cast<std::size_t>(case_.rhs), not_a_number)));
  }

  void apply_hopping(const field& in, bool dagger) {
    if (case_.layout == site_layout::even_odd) {
      m_->hopping().apply(out_, in, dagger);
      return;
    }
    for (int p = 0; p < 2; ++p) {
      field to = out_.parity(p);
      m_->hopping().apply(to, in.parity(1 - p), dagger);
    }
  }

  operator_case case_;
  std::shared_ptr<full_operator> m_;
  typename Backend::template schur_wilson_clover<T> schur_;
  alternating_inputs<field> in_;
  field out_;
};

template <backend Backend>
class operator_maker_of final : public operator_maker {
  using context = typename Backend::context;
  template <class T>
  using full_operator = typename Backend::template wilson_clover<T>;

 public:
  /// \param new_context  returns where the fields of operators live that share links
  operator_maker_of(std::function<context()> new_context, timed_action of)
      : new_context_(std::move(new_context)), context_(new_context_()), of_(std::move(of)) {}

  std::unique_ptr<timed_operator> make(const operator_case& c) override {
    switch (c.precision) {
      case number_precision::double_precision:
      case number_precision::pairs_precision:  // which no option names
        return make_in<double>(c);
      case number_precision::single_precision:
        return make_in<float>(c);
      case number_precision::half_precision:
        return make_in<half>(c);
    }
    return nullptr;
  }

 private:
  template <class T>
  std::unique_ptr<timed_operator> make_in(const operator_case& c) {
    if (c.is_vector()) return std::make_unique<timed_vector_operation_of<Backend, T>>(context_, c);
    if (!held_ || held_for_.precision != c.precision || held_for_.links != c.links ||
        held_for_.has_clover() != c.has_clover()) {
      held_.reset();  // before the next one is made, so that both are never there at once
      context_ = new_context_();
      held_ = make_full<T>(c);
      held_for_ = c;
    }
    return std::make_unique<timed_operator_of<Backend, T>>(context_, std::static_pointer_cast<full_operator<T>>(held_),
                                                           c, of_.preconditioning);
  }

  template <class T>
  std::shared_ptr<full_operator<T>> make_full(const operator_case& c) const {
    fermion_action action = of_.action;
    if (!c.has_clover()) action.clover_spatial = action.clover_temporal = 0.0;
    return std::make_shared<full_operator<T>>(context_, of_.links, action, c.links);
  }

  std::function<context()> new_context_;
  context context_;
  timed_action of_;
  std::shared_ptr<void> held_;  ///< the wilson_clover of `held_for_`, in any precision
  operator_case held_for_;
};

}  // namespace plaquette::scaling
