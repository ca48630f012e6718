// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Wilson-clover operators that the physics tests are run on, each behind the same small interface. A new operator
/// is held to all of them by one more entry in `operators_under_test`.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"
#include "cpu_ref/dirac/clover_textbook.hpp"
#include "validation/support/backend.hpp"

namespace plaquette::validation {

/// out = M in, or M^+ in.
using dirac_operator = std::function<void(spinor_configuration& out, const spinor_configuration& in, bool dagger)>;

struct operator_under_test {
  std::string name;
  /// Bound on |out - M in| / |in| for an action whose |M| is about 8, as a multiple of the unit roundoff of the
  /// precision that the operator computes in: `rounding` = multiple * roundoff.
  double rounding;
  /// \param links  with ghosts filled
  std::function<dirac_operator(const gauge_configuration& links, const fermion_action& action)> make;
  /// True if a Krylov solver in double reaches 1e-12 with this operator.
  bool double_precision() const { return rounding < 1e-12; }
};

inline void PrintTo(const operator_under_test& op, std::ostream* out) { *out << op.name; }

/// One component of M in is a sum of 8 x 6 + 12 products, along a chain of at most about 60 roundings. So its error is
/// at most 60 epsilon times the sum of absolute values (at most 4 x 8 |in|). Of random sign, such errors leave about
/// the square root: 3 to 6 epsilon |in| are seen against the dense matrix, whose own rounding is in that figure.
inline constexpr double rounding_multiple = 20.0;

inline operator_under_test textbook_operator() {
  return {"textbook", rounding_multiple * std::numeric_limits<double>::epsilon(),
          [](const gauge_configuration& links, const fermion_action& action) -> dirac_operator {
            const auto held = std::make_shared<const gauge_configuration>(links);
            return [held, action](spinor_configuration& out, const spinor_configuration& in, bool dagger) {
              spinor_configuration with_ghosts = in;
              cpu::textbook::apply(out, with_ghosts, *held, action, communicator(), dagger);
            };
          }};
}

/// Takes the place of epsilon. In half precision, the step of the numbers of a site, of which the largest is
/// 32767. Rounded to half a step, 24 normal deviates, whose largest is about half of their norm, are off by about 0.7
/// steps' worth of 1/32767. So are the links, and the hops and |M| make 8 of each; the result is rounded once more.
template <class T>
inline constexpr double roundoff_of = std::numeric_limits<T>::epsilon();
template <>
inline constexpr double roundoff_of<half> = 1.0 / 32767.0;

/// Returns the production operator of the library under test, one column at a time.
template <class T>
operator_under_test production_operator(const std::string& name) {
  return {name, rounding_multiple * roundoff_of<T>,
          [](const gauge_configuration& links, const fermion_action& action) -> dirac_operator {
            const backend::context ctx(links.geometry(), communicator());
            const auto m = std::make_shared<const backend::wilson_clover<T>>(ctx, links, action);
            return [ctx, m](spinor_configuration& out, const spinor_configuration& in, bool dagger) {
              const field_shape one_column{spins, colours, site_subset::full, 1};
              backend::field<T> packed_in(ctx, one_column), packed_out(ctx, one_column);
              import_column(packed_in, 0, in);
              if (dagger)
                m->apply_dagger(packed_out, packed_in);
              else
                m->apply(packed_out, packed_in);
              export_column(out, packed_out, 0);
            };
          }};
}

inline std::vector<operator_under_test> operators_under_test() {
  const std::string name = backend::operators_name;
  std::vector<operator_under_test> list{production_operator<double>(name + "_double"),
                                        production_operator<float>(name + "_single"),
                                        production_operator<half>(name + "_half")};
  if (backend::has_textbook) list.insert(list.begin(), textbook_operator());
  return list;
}

/// Returns the operators that a solver in double can work with.
inline std::vector<operator_under_test> double_precision_operators() {
  std::vector<operator_under_test> list;
  for (const operator_under_test& op : operators_under_test())
    if (op.double_precision()) list.push_back(op);
  return list;
}

}  // namespace plaquette::validation
