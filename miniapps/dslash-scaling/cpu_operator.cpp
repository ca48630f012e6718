// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "common/algebra/fixed_point.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"
#include "cpu_ref/fields/field.hpp"
#include "miniapps/dslash-scaling/timed_operator.hpp"

namespace plaquette::scaling {

namespace {

site_subset input_sites(const operator_case& c) {
  return c.layout == site_layout::full ? site_subset::full : site_subset::even;
}
site_subset output_sites(const operator_case& c) {
  if (c.layout == site_layout::full) return site_subset::full;
  return c.kind == operator_kind::hopping ? site_subset::odd : site_subset::even;
}

template <class T>
class cpu_operator final : public timed_operator {
 public:
  cpu_operator(const cpu::context& ctx, std::shared_ptr<cpu::wilson_clover<T>> m, const operator_case& c,
               cpu::schur_kind preconditioning)
      : case_(c),
        m_(std::move(m)),
        schur_(m_, preconditioning),
        in_(ctx, {spins, colours, input_sites(c), c.rhs}),
        out_(ctx, {spins, colours, output_sites(c), c.rhs}) {}

  void set_input(int column, const spinor_configuration& psi) override { import_column(in_, column, psi); }
  void get_output(int column, spinor_configuration& out) const override { export_column(out, out_, column); }

  void apply(bool dagger) override {
    switch (case_.kind) {
      case operator_kind::hopping:
        apply_hopping(dagger);
        break;
      case operator_kind::wilson:
      case operator_kind::clover:
        dagger ? m_->apply_dagger(out_, in_) : m_->apply(out_, in_);
        break;
      case operator_kind::wilson_schur:
      case operator_kind::clover_schur:
        dagger ? schur_.apply_dagger(out_, in_) : schur_.apply(out_, in_);
        break;
    }
  }

  void set_overlap(bool on) override { m_->set_overlap(on); }
  void reset_halo_cost() override { m_->hopping().reset_halo_times(); }
  halo_cost get_halo_cost() const override {
    const cpu::halo_times& times = m_->hopping().halo_seconds();
    return {times.pack, times.wait, times.unpack, times.bytes};
  }

 private:
  void apply_hopping(bool dagger) {
    if (case_.layout == site_layout::even_odd) {
      m_->hopping().apply(out_, in_, dagger);
      return;
    }
    for (int p = 0; p < 2; ++p) {
      cpu::field<T> to = out_.parity(p);
      m_->hopping().apply(to, in_.parity(1 - p), dagger);
    }
  }

  operator_case case_;
  std::shared_ptr<cpu::wilson_clover<T>> m_;
  cpu::schur_wilson_clover<T> schur_;
  cpu::field<T> in_, out_;
};

class cpu_operator_maker final : public operator_maker {
 public:
  cpu_operator_maker(const cpu::context& ctx, const gauge_configuration& links, const scaling_options& options)
      : context_(ctx), links_(links), options_(options) {}

  std::unique_ptr<timed_operator> make(const operator_case& c) override {
    switch (c.precision) {
      case number_precision::double_precision:
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
    if (!held_ || held_for_.precision != c.precision || held_for_.links != c.links ||
        held_for_.has_clover() != c.has_clover()) {
      held_.reset();  // before the next one is made, so that both are never there at once
      // A workspace of its own: the memory of other fields lies where other threads have touched it.
      context_ = cpu::context(context_.geometry(), context_.comm(), context_.threads(), context_.isa());
      held_ = make_full<T>(c);
      held_for_ = c;
    }
    return std::make_unique<cpu_operator<T>>(context_, std::static_pointer_cast<cpu::wilson_clover<T>>(held_), c,
                                             options_.preconditioning);
  }

  template <class T>
  std::shared_ptr<cpu::wilson_clover<T>> make_full(const operator_case& c) const {
    fermion_action action = options_.shared.action;
    if (!c.has_clover()) action.clover_spatial = action.clover_temporal = 0.0;
    return std::make_shared<cpu::wilson_clover<T>>(context_, links_, action, c.links);
  }

  cpu::context context_;
  const gauge_configuration& links_;
  const scaling_options& options_;
  std::shared_ptr<void> held_;  ///< the wilson_clover of `held_for_`, whatever its precision
  operator_case held_for_;
};

}  // namespace

std::unique_ptr<operator_maker> make_cpu_operator_maker(const cpu::context& ctx, const gauge_configuration& links,
                                                        const scaling_options& options) {
  return std::make_unique<cpu_operator_maker>(ctx, links, options);
}

}  // namespace plaquette::scaling
