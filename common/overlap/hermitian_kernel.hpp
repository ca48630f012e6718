// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// H, the kernel of the overlap operator, in the precisions that a sign function takes; counted.
#pragma once

#include <memory>
#include <utility>

#include "common/algebra/fixed_point.hpp"
#include "common/algorithms/batch.hpp"
#include "common/overlap/sign_options.hpp"

namespace plaquette {

/// H in double (wide), single (narrow) and, where it is given, half precision, and how often they were applied.
/// \tparam B  names of a library: field<T>, hermitian_wilson<T>
template <class B>
class hermitian_kernel {
 public:
  using wide_field = typename B::template field<double>;
  using narrow_field = typename B::template field<float>;
  using wide_operator = typename B::template hermitian_wilson<double>;
  using narrow_operator = typename B::template hermitian_wilson<float>;
  using half_field = typename B::template field<plaquette::half>;
  using half_operator = typename B::template hermitian_wilson<plaquette::half>;

  hermitian_kernel(std::shared_ptr<const wide_operator> wide, std::shared_ptr<const narrow_operator> narrow,
                   std::shared_ptr<const half_operator> half = nullptr)
      : wide_(std::move(wide)), narrow_(std::move(narrow)), half_(std::move(half)) {}

  /// One precision of H as the algorithms take it.
  template <class F, class H>
  class counted {
   public:
    counted(const H& h, double& count) : h_(&h), count_(&count) {}
    void apply(F& out, const F& in) const {
      *count_ += in.columns();
      h_->apply(out, in);
    }
    void apply_dagger(F& out, const F& in) const { apply(out, in); }
    /// out = (a H + d) in + b u + c w
    void apply(F& out, double a, const F& in, double d, double b, const F* u, double c, const F* w) const {
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

  counted<wide_field, wide_operator> wide() const { return {*wide_, count_->wide}; }
  counted<narrow_field, narrow_operator> narrow() const { return {*narrow_, count_->narrow}; }
  bool has_half() const { return half_ != nullptr; }
  counted<half_field, half_operator> half() const { return {*half_, count_->half}; }
  kernel_count& count() const { return *count_; }

 private:
  std::shared_ptr<const wide_operator> wide_;
  std::shared_ptr<const narrow_operator> narrow_;
  std::shared_ptr<const half_operator> half_;
  std::shared_ptr<kernel_count> count_ = std::make_shared<kernel_count>();
};

}  // namespace plaquette
