// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Operators and preconditioners on fields of another type: of another precision, of another shape, of another library.
#pragma once

#include <type_traits>
#include <utility>

#include "common/krylov/batch.hpp"

namespace plaquette {

/// How many columns the operator behind a bridge is given: the columns of the batch, or always all columns of the
/// workspace. The columns that the batch lacks are zero there. The whole workspace is for operators that are prepared
/// for one width, such as a recorded one.
enum class bridge_width { of_batch, whole };

/// The operator back A there on fields of type Field, where A lives on fields of type InnerField. A dagger exists if A
/// has one, and is back A^+ there. This is the dagger of the bridge if `there` and `back` keep inner products, as a
/// conversion does. The workspace, two fields of InnerField, is made once. One caller at a time.
/// \tparam There  void (InnerField& to, const Field& from)
/// \tparam Back   void (Field& to, const InnerField& from)
template <field_batch Field, field_batch InnerField, forward_operator<InnerField> A, class There, class Back>
class bridged_operator {
 public:
  /// \param a      is kept; an operator that must not be copied goes in as any_operator<InnerField>
  /// \param shape  a field of InnerField with as many columns as the widest batch
  /// \param width  of the fields that A is applied to
  bridged_operator(A a, const InnerField& shape, There there, Back back, bridge_width width = bridge_width::of_batch)
      : a_(std::move(a)),
        there_(std::move(there)),
        back_(std::move(back)),
        width_(width),
        in_(like(shape)),
        out_(like(shape)) {}

  void apply(Field& out, const Field& in) const {
    begin(in);
    end(out);
  }
  /// Does the same in two parts. The first brings `in` there, the second does the rest. In between the caller may queue
  /// work for a device, which runs while A runs elsewhere.
  void begin(const Field& in) const {
    InnerField in_there = view(in_, 0, in.columns());
    there_(in_there, in);
  }
  void end(Field& out) const {
    const int columns = out.columns(), others = in_.columns() - columns;
    InnerField in_there = view(in_, 0, columns), out_there = view(out_, 0, columns);
    if (width_ == bridge_width::whole && others > 0) {
      InnerField rest = view(in_, columns, others);
      zero(rest);
      a_.apply(out_, in_);
    } else {
      a_.apply(out_there, in_there);
    }
    back_(out, out_there);
  }
  void apply_dagger(Field& out, const Field& in) const
    requires linear_operator<A, InnerField>
  {
    InnerField in_there = view(in_, 0, in.columns()), out_there = view(out_, 0, in.columns());
    there_(in_there, in);
    a_.apply_dagger(out_there, in_there);
    back_(out, out_there);
  }

 private:
  A a_;
  There there_;
  Back back_;
  bridge_width width_;
  mutable InnerField in_, out_;
};

/// Returns an operator on fields of Field from one on fields of InnerField, by two functions that bring fields there
/// and back.
template <field_batch Field, field_batch InnerField, class A, class There, class Back>
auto bridge(A a, const InnerField& shape, There there, Back back, bridge_width width = bridge_width::of_batch) {
  return bridged_operator<Field, InnerField, A, There, Back>(std::move(a), shape, std::move(there), std::move(back),
                                                             width);
}

/// Returns the same for two precisions of one backend, by conversion: double outside, single inside, for instance.
/// \param outside  a field of Field with as many columns as the widest batch
template <field_batch InnerField, field_batch Field, class A>
  requires precisions_of_one_field<Field, InnerField>
auto bridge(A a, const Field& outside, bridge_width width = bridge_width::of_batch) {
  return bridge<Field, InnerField>(
      std::move(a), like(outside, outside.columns(), as<InnerField>),
      [](InnerField& to, const Field& from) { assign(to, from); },
      [](Field& to, const InnerField& from) { assign(to, from); }, width);
}

}  // namespace plaquette
