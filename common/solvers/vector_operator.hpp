// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The Wilson-clover operator on vectors of a library. `library::make_vector_operator` makes it.
#pragma once

#include <vector>

#include "common/algebra/reconstruct.hpp"
#include "common/krylov/precision.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/solvers/library_part.hpp"
#include "common/solvers/link_field.hpp"
#include "common/solvers/vectors.hpp"

namespace plaquette {

struct vector_operator_settings {
  fermion_action action{};
  precision numbers = precision::double_;  ///< of the vectors: double, single, half
  reconstruct links = reconstruct::none;   ///< real numbers of a link that are kept
  bool overlap = true;                     ///< of communication and computation, on several ranks
};

/// The operation that is applied. A is M on vectors of all sites, and Mhat = A_ee - 1/4 D_eo A_oo^-1 D_oe on vectors of
/// even sites.
///
///     y = G (A + shift + i mu gamma_5) x       y = G (A^+ + shift - i mu gamma_5) x  with `dagger`
///
/// G is gamma_5 or 1. On all sites `shift` adds to the mass of M.
struct operator_form {
  bool dagger = false;
  bool gamma_5 = false;
  double shift = 0.0;
  std::vector<double> mu{};  ///< one for all columns, or one a column; empty: 0
};

/// One caller at a time.
class vector_operator : public library_part {
 public:
  virtual ~vector_operator() = default;

  virtual const vector_operator_settings& settings() const = 0;
  /// Takes the links as they are now, in the memory of the earlier links. Collective. Throws input_error for links of
  /// another library or lattice; it then stays as it was. Throws input_error, too, for links whose A is singular: then
  /// `apply` does so until a follow succeeds.
  void follow(const link_field& links);
  /// Applies it to all columns. Collective. Throws input_error if the links that it follows have moved, if mu is
  /// neither one number nor one a column, or if mu or the shift is not finite. The two vectors are different ones of
  /// one shape, on all or on even sites. They are of this operator's library and precision; others are refused by the
  /// same error.
  /// \param y  is not read
  void apply(vectors& y, const vectors& x, const operator_form& form = {}) const;

 protected:
  /// Notes that a follow starts to change this operator.
  void begin_to_follow() { followed_.begin(); }

 private:
  virtual void follow_checked(const link_field& links) = 0;
  virtual void apply_checked(vectors& y, const vectors& x, const operator_form& form) const = 0;

  followed_links followed_;
};

}  // namespace plaquette
