// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operators and preconditioners on fields of another type: of another precision, of another shape, of another library.
#pragma once

#include <type_traits>
#include <utility>

#include "common/algorithms/batch.hpp"

namespace plaquette {

/// How many columns the operator behind a bridge is given: those of the batch, or always all of the workspace, where
/// the others are zero. The latter is for operators that are prepared for one width, such as a recorded one.
enum class bridge_width { of_batch, whole };

/// The operator back A there on fields of type F, where A lives on fields of type G. A dagger exists where A has one,
/// and is back A^+ there. This is the dagger of the bridge where `there` and `back` keep inner products, as a
/// conversion does. The workspace, two fields of G, is made once. One caller at a time.
/// \tparam There  void (G& to, const F& from)
/// \tparam Back   void (F& to, const G& from)
template <field_batch F, field_batch G, forward_operator<G> A, class There, class Back>
class bridged_operator {
 public:
  /// \param a      is kept; an operator that must not be copied goes in as any_operator<G>
  /// \param shape  a field of G with as many columns as the widest batch
  /// \param width  of what A is applied to
  bridged_operator(A a, const G& shape, There there, Back back, bridge_width width = bridge_width::of_batch)
      : a_(std::move(a)),
        there_(std::move(there)),
        back_(std::move(back)),
        width_(width),
        in_(like(shape)),
        out_(like(shape)) {}

  void apply(F& out, const F& in) const {
    begin(in);
    end(out);
  }
  /// Does the same in two parts. The first brings `in` there, the second does the rest. In between the caller may queue
  /// work for a device, which runs while A runs elsewhere.
  void begin(const F& in) const {
    G in_there = view(in_, 0, in.columns());
    there_(in_there, in);
  }
  void end(F& out) const {
    const int columns = out.columns(), others = in_.columns() - columns;
    G in_there = view(in_, 0, columns), out_there = view(out_, 0, columns);
    if (width_ == bridge_width::whole && others > 0) {
      G rest = view(in_, columns, others);
      zero(rest);
      a_.apply(out_, in_);
    } else {
      a_.apply(out_there, in_there);
    }
    back_(out, out_there);
  }
  void apply_dagger(F& out, const F& in) const
    requires linear_operator<A, G>
  {
    G in_there = view(in_, 0, in.columns()), out_there = view(out_, 0, in.columns());
    there_(in_there, in);
    a_.apply_dagger(out_there, in_there);
    back_(out, out_there);
  }

 private:
  A a_;
  There there_;
  Back back_;
  bridge_width width_;
  mutable G in_, out_;
};

/// Returns an operator on fields of F from one on fields of G, by two functions that bring fields there and back.
template <field_batch F, field_batch G, class A, class There, class Back>
auto bridge(A a, const G& shape, There there, Back back, bridge_width width = bridge_width::of_batch) {
  return bridged_operator<F, G, A, There, Back>(std::move(a), shape, std::move(there), std::move(back), width);
}

/// Returns the same for two precisions of one backend, by conversion: double outside, single inside, for instance.
/// \param outside  a field of F with as many columns as the widest batch
template <field_batch G, field_batch F, class A>
  requires precisions_of_one_field<F, G>
auto bridge(A a, const F& outside, bridge_width width = bridge_width::of_batch) {
  return bridge<F, G>(
      std::move(a), like(outside, outside.columns(), as<G>), [](G& to, const F& from) { assign(to, from); },
      [](F& to, const G& from) { assign(to, from); }, width);
}

}  // namespace plaquette
