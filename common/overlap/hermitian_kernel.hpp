// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// H, the kernel of the overlap operator, in the precisions that a sign function takes; counted.
#pragma once

#include <memory>
#include <utility>

#include "common/algebra/fixed_point.hpp"
#include "common/krylov/batch.hpp"
#include "common/overlap/sign_options.hpp"

namespace plaquette {

/// H in double (wide), single (narrow) and, where it is given, half precision, and how often they were applied.
/// \tparam Backend  names of a library: field<T>, hermitian_wilson<T>
template <class Backend>
class hermitian_kernel {
 public:
  using double_field = typename Backend::template field<double>;
  using single_field = typename Backend::template field<float>;
  using double_operator = typename Backend::template hermitian_wilson<double>;
  using single_operator = typename Backend::template hermitian_wilson<float>;
  using half_field = typename Backend::template field<plaquette::half>;
  using half_operator = typename Backend::template hermitian_wilson<plaquette::half>;

  hermitian_kernel(std::shared_ptr<const double_operator> as_double, std::shared_ptr<const single_operator> as_single,
                   std::shared_ptr<const half_operator> half = nullptr)
      : double_(std::move(as_double)), single_(std::move(as_single)), half_(std::move(half)) {}

  /// One precision of H as the algorithms take it.
  template <class Field, class H>
  class counted {
   public:
    counted(const H& h, double& count) : h_(&h), count_(&count) {}
    void apply(Field& out, const Field& in) const {
      *count_ += in.columns();
      h_->apply(out, in);
    }
    void apply_dagger(Field& out, const Field& in) const { apply(out, in); }
    /// out = (a H + d) in + b u + c w
    void apply(Field& out, double a, const Field& in, double d, double b, const Field* u, double c,
               const Field* w) const {
      *count_ += in.columns();
      if constexpr (requires { h_->apply(out, a, in, d, b, u, c, w); }) {
        h_->apply(out, a, in, d, b, u, c, w);
      } else {
        h_->apply(out, a, in, d, &in, c, w);
        if (u != nullptr) axpy(out, uniform_scalars(out, b), *u);
      }
    }

   private:
    const H* h_;
    double* count_;
  };

  counted<double_field, double_operator> as_double() const { return {*double_, count_->as_double}; }
  counted<single_field, single_operator> as_single() const { return {*single_, count_->as_single}; }
  bool has_half() const { return half_ != nullptr; }
  counted<half_field, half_operator> half() const { return {*half_, count_->half}; }
  kernel_count& count() const { return *count_; }

 private:
  std::shared_ptr<const double_operator> double_;
  std::shared_ptr<const single_operator> single_;
  std::shared_ptr<const half_operator> half_;
  std::shared_ptr<kernel_count> count_ = std::make_shared<kernel_count>();
};

}  // namespace plaquette
