// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A timed operation: one operator or vector operation of a device with its fields. `library::make_timed_operators`
/// makes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/algebra/complex.hpp"
#include "common/lattice/dirac_operator.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"
#include "common/solvers/operator_case.hpp"

namespace plaquette::scaling {

/// The cost of a rank's halo since the last reset.
struct halo_cost {
  double pack = 0.0, wait = 0.0, unpack = 0.0;  ///< seconds
  std::int64_t bytes = 0;                       ///< sent
};

class timed_operator {
 public:
  virtual ~timed_operator() = default;

  /// Sets column `column` of the input; sites that the operator does not read are ignored.
  virtual void set_input(int column, const spinor_configuration& psi) = 0;
  /// Sets the other operand of a vector operation: x of x += a u, v of <u, v>.
  virtual void set_second_input(int /*column*/, const spinor_configuration& /*psi*/) {}
  /// Applies the operator, or its adjoint, to all columns; on a GPU it is queued. Collective.
  virtual void apply(bool dagger = false) = 0;

  /// Prepares a timed stretch: multiplies the inputs by phases of their own and poisons the output.
  /// \param number  of the stretch; each has other phases
  virtual void begin_stretch(int number) = 0;
  /// Makes a timed application: as apply(), on inputs that alternate from one call to the next. Collective.
  virtual void step() = 0;
  /// Copies column `column` of the input of the last step.
  virtual void get_input(int column, spinor_configuration& psi) const = 0;
  /// Copies the other operand of a vector operation, as it was when the stretch began.
  virtual void get_second_input(int /*column*/, spinor_configuration& /*psi*/) const {}
  /// Returns the factor of the x + factor u that an axpy has made since the stretch began. `is_swapped` tells <v, u>
  /// from <u, v> of a scalar product.
  virtual complex<double> factor_of_stretch() const { return {}; }
  virtual bool is_swapped() const { return false; }
  /// Returns steps since the stretch began.
  virtual int steps_of_stretch() const { return 0; }
  /// Copies column `column` of the output; sites that it does not have become zero, ghosts stay unchanged.
  virtual void get_output(int column, spinor_configuration& out) const = 0;

  /// Returns the sums of a scalar product, one a column.
  virtual std::vector<complex<double>> get_numbers() const { return {}; }

  /// Whether faces travel while the interior is computed.
  virtual void set_overlap(bool on) = 0;
  /// On a GPU, only to be timed: off, each rank's part is taken as periodic, and nothing travels.
  virtual void set_communication(bool on) = 0;
  /// Whether applications can be recorded in a CUDA graph, as they are set now.
  virtual bool recordable() const = 0;
  /// Returns how the halo gets to each neighbour; empty if unknown.
  virtual std::string halo_description() const = 0;
  /// Returns the bytes that this rank sends in an application, if they are known beforehand (GPU).
  virtual double halo_bytes() const = 0;
  virtual void reset_halo_cost() = 0;
  virtual halo_cost get_halo_cost() const = 0;
};

/// The operators of an action.
struct timed_action {
  const gauge_configuration& links;  ///< with ghosts filled; kept by reference
  fermion_action action{};
  schur_kind preconditioning = schur_kind::symmetric;
};

/// Makes operators. Operators with the same packed links share them in memory, if they are made one after the other.
class operator_maker {
 public:
  virtual ~operator_maker() = default;
  virtual std::unique_ptr<timed_operator> make(const operator_case& c) = 0;
};

}  // namespace plaquette::scaling
