// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vectors on the device of a library. They change in place and have one owner: they are moved, never shared.
/// `library::make_vectors` makes them.
///
///     vectors b = on->make_vectors({.columns = 12});
///     b.fill_random(seed);
///     auto [x, report] = solver->solve(b, rule);      // the solutions stay on the device
///     m->apply(b, x);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/algebra/complex.hpp"
#include "common/algebra/spin_basis.hpp"
#include "common/concepts.hpp"
#include "common/krylov/precision.hpp"
#include "common/lattice/site_field.hpp"
#include "common/lattice/source_description.hpp"
#include "common/lattice/spinor_array.hpp"
#include "common/random/noise.hpp"
#include "common/solvers/library_part.hpp"
#include "common/solvers/link_field.hpp"
#include "common/solvers/solver_vectors.hpp"

namespace plaquette {

/// Dirac spinors: 4 spins and 3 colours a site and column.
struct vectors_shape {
  int columns = 1;
  site_subset sites = site_subset::full;
  precision numbers = precision::double_;  ///< that they are kept in: double, single, half

  bool operator==(const vectors_shape&) const = default;
};

/// "12 columns on even sites in single precision"
std::string to_string(const vectors_shape& shape);

/// Numbers that columns are multiplied by: one for all, or one a column.
class numbers_of_columns {
 public:
  numbers_of_columns(double for_all) : numbers_{{for_all, 0.0}} {}
  numbers_of_columns(complex<double> for_all) : numbers_{for_all} {}
  numbers_of_columns(std::vector<complex<double>> one_a_column) : numbers_(std::move(one_a_column)) {}

  /// Returns as many numbers as there are columns. Throws input_error if there is neither one nor one a column, or if
  /// one is not finite.
  std::vector<complex<double>> of_columns(int columns) const;

 private:
  std::vector<complex<double>> numbers_;
};

/// Returns as many numbers as there are columns, 0 if none are given. Throws input_error if there is neither one nor
/// one a column, or if one is not finite.
/// \param name  of the numbers, for messages: "mu"
std::vector<double> one_a_column(const std::vector<double>& numbers, int columns, const std::string& name);

/// The work of a library for `vectors`, with checked arguments. See vectors_of.hpp.
class vectors_body {
 public:
  virtual ~vectors_body() = default;
  virtual spin_basis basis() const = 0;
  virtual std::unique_ptr<vectors_body> like(const vectors_shape& shape) const = 0;
  virtual void set(int column, const spinor_configuration& from) = 0;
  virtual void get(int column, spinor_configuration& to) const = 0;
  virtual void read(int first, const spinor_array<const double>& from) = 0;
  virtual void write(int first, const spinor_array<double>& to) const = 0;
  virtual void fill_random(std::uint64_t seed, std::uint64_t first_index) = 0;
  virtual void make_source(int column, const source_description& source, source_component component) = 0;
  virtual void make_source(int column, const source_description& source, source_component component,
                           const link_field& links) = 0;
  virtual void make_noise(int column, const noise_description& noise, source_component component) = 0;
  virtual void clear() = 0;
  virtual void take(const vectors_body& u) = 0;
  virtual void take_columns(int to, const vectors_body& u, int from, int count) = 0;
  virtual void multiply(const std::vector<complex<double>>& a) = 0;
  virtual void add_multiple(const std::vector<complex<double>>& a, const vectors_body& u) = 0;
  virtual void rotate_by_gamma_5() = 0;
  virtual std::vector<complex<double>> products(const vectors_body& u) const = 0;
  virtual std::vector<double> squares() const = 0;
  virtual vectors_handle freeze(library_mark mark) = 0;
};

/// A batch of vectors. All members are collective except `shape` and the accessors after it. Two vectors that meet are
/// of one library; else, and for shapes that do not fit, members throw input_error. Vectors that were moved from can
/// only be assigned to. One caller at a time.
class vectors {
 public:
  /// Made by `library::make_vectors`.
  vectors(library_mark mark, const vectors_shape& shape, std::unique_ptr<vectors_body> body)
      : mark_(std::move(mark)), shape_(shape), body_(std::move(body)) {}

  const vectors_shape& shape() const { return shape_; }
  int columns() const { return shape_.columns; }
  const lattice_geometry& geometry() const { return *mark_; }
  const library_mark& mark() const { return mark_; }
  /// Returns the spin basis in which they are kept. Callers see the DeGrand-Rossi basis, or the basis of their arrays.
  spin_basis basis() const { return body().basis(); }
  const vectors_body& body() const;
  vectors_body& body();

  /// Returns other vectors of the same library, with undefined numbers.
  vectors like() const { return like(shape_); }
  vectors like(const vectors_shape& shape) const { return {mark_, shape, body().like(shape)}; }

  // In and out, in the DeGrand-Rossi basis. Sites that these vectors do not have are ignored, and become zero.

  void set(int column, const spinor_configuration& from);
  /// Ghosts are not filled.
  void get(int column, spinor_configuration& to) const;
  /// Takes columns first, first + 1, ... from the columns of a caller's array, in one pass over their memory.
  void read(int first, const spinor_array<const double>& from);
  /// Copies columns first, first + 1, ... to the columns of a caller's array.
  void write(int first, const spinor_array<double>& to) const;
  /// Makes the 24 reals of every site normal deviates of variance 1: the same ones on any process grid and device, up
  /// to rounding. Column n is number first_index + n of the independent fields of this seed.
  void fill_random(std::uint64_t seed, std::uint64_t first_index = 0);

  /// Makes a column this spin and colour of a point or of a wall. Throws input_error for a Gaussian source, which needs
  /// links, and for a source that does not fit on the lattice.
  void make_source(int column, const source_description& source, source_component component);
  /// Does the same with any source; a Gaussian one is covariant under gauge transformations of these links. Throws
  /// input_error, too, for links of another library or lattice.
  void make_source(int column, const source_description& source, source_component component, const link_field& links);
  /// Makes a column noise in this spin and colour of a time slice, and 0 elsewhere: the same bits on any process grid
  /// and device, but for its wave and the rotation to the basis. Throws input_error for a time that is not on the
  /// lattice.
  void make_noise(int column, const noise_description& noise, source_component component);

  // Algebra.

  void zero();
  /// Copies all columns, rounded if precisions differ.
  void copy(const vectors& u);
  /// Copies columns from, from + 1, ... of u to columns to, to + 1, ...; of one precision.
  void copy_columns(int to, const vectors& u, int from, int count);
  /// Multiplies each column by a number.
  void scale(const numbers_of_columns& a);
  /// Adds a u, of one precision.
  void add(const numbers_of_columns& a, const vectors& u);
  /// Multiplies by gamma_5.
  void rotate_by_gamma_5();
  /// Returns <this, u> of each column, this one conjugated; of one precision.
  std::vector<complex<double>> dot(const vectors& u) const;
  /// Returns the square of each column's norm.
  std::vector<double> norm2() const;

  /// Returns a handle that can be shared, to numbers that do not change any more. These vectors are then empty. On all
  /// sites: solvers take such a handle.
  vectors_handle freeze() &&;

 private:
  void require_column(int first, int count, const char* what) const;
  void require_partner(const vectors& u, const char* what) const;

  library_mark mark_;
  vectors_shape shape_;
  std::unique_ptr<vectors_body> body_;
};

}  // namespace plaquette
