// SPDX-License-Identifier: BSD-3-Clause
#include "common/solvers/vectors.hpp"

#include <cmath>

#include "common/error.hpp"
#include "common/solvers/solver_arguments.hpp"

namespace plaquette {

namespace {

std::string sites_of(site_subset sites) {
  return sites == site_subset::full ? "all" : sites == site_subset::even ? "even" : "odd";
}

void require_count(std::size_t numbers, int columns, const std::string& name) {
  if (numbers != 1 && numbers != static_cast<std::size_t>(columns))
    throw input_error(name + ": expected one number, or one for each of " + std::to_string(columns) +
                      " columns, found " + std::to_string(numbers));
}

bool is_finite(const complex<double>& number) { return std::isfinite(number.re) && std::isfinite(number.im); }

void require_component(const source_component& component) {
  if (component.spin < 0 || component.spin >= spins || component.colour < 0 || component.colour >= colours)
    throw input_error("a source of vectors: expected spins 0 to 3 and colours 0 to 2, found " +
                      std::to_string(component.spin) + " and " + std::to_string(component.colour));
}

}  // namespace

std::string to_string(const vectors_shape& shape) {
  return std::to_string(shape.columns) + (shape.columns == 1 ? " column on " : " columns on ") + sites_of(shape.sites) +
         " sites in " + name(shape.numbers) + " precision";
}

std::vector<complex<double>> numbers_of_columns::of_columns(int columns) const {
  require_count(numbers_.size(), columns, "factors of vectors");
  for (const complex<double>& number : numbers_)
    if (!is_finite(number))
      throw input_error("factors of vectors: expected finite numbers, found " + std::to_string(number.re) + " + i " +
                        std::to_string(number.im));
  return numbers_.size() == 1 ? std::vector(static_cast<std::size_t>(columns), numbers_[0]) : numbers_;
}

std::vector<double> one_a_column(const std::vector<double>& numbers, int columns, const std::string& name) {
  const auto n = static_cast<std::size_t>(columns);
  if (numbers.empty()) return std::vector(n, 0.0);
  require_count(numbers.size(), columns, name);
  for (const double number : numbers)
    if (!std::isfinite(number)) throw input_error(name + ": expected finite numbers, found " + std::to_string(number));
  return numbers.size() == 1 ? std::vector(n, numbers[0]) : numbers;
}

const vectors_body& vectors::body() const {
  if (body_ == nullptr) throw input_error("vectors: these were moved from; assign new ones to them first");
  return *body_;
}
vectors_body& vectors::body() { return const_cast<vectors_body&>(std::as_const(*this).body()); }

void vectors::require_column(int first, int count, const char* what) const {
  require_columns(first, count, shape_.columns, what);
}

void vectors::require_partner(const vectors& u, const char* what) const {
  require_same_library(u.mark_, mark_, "vectors", "the vectors that they meet");
  if (!(u.shape_ == shape_))
    throw input_error(std::string(what) + ": expected vectors of one shape, found " + to_string(shape_) + " and " +
                      to_string(u.shape_));
}

void vectors::set(int column, const spinor_configuration& from) {
  require_column(column, 1, "vectors");
  require_same_lattice(from.geometry(), geometry(), "a spinor field", "vectors on ");
  body().set(column, from);
}
void vectors::get(int column, spinor_configuration& to) const {
  require_column(column, 1, "vectors");
  require_same_lattice(to.geometry(), geometry(), "a spinor field", "vectors on ");
  body().get(column, to);
}
void vectors::read(int first, const spinor_array<const double>& from) {
  require_column(first, from.columns, "vectors from an array");
  if (from.columns > 0) body().read(first, from);
}
void vectors::write(int first, const spinor_array<double>& to) const {
  require_column(first, to.columns, "vectors to an array");
  if (to.columns > 0) body().write(first, to);
}
void vectors::fill_random(std::uint64_t seed, std::uint64_t first_index) { body().fill_random(seed, first_index); }
void vectors::make_source(int column, const source_description& source, source_component component) {
  require_column(column, 1, "a source");
  require_source_on(source, geometry().global());
  if (source.kind == source_kind::gaussian)
    throw input_error("a source of vectors: expected a point or a wall, found a Gaussian, which needs links");
  require_component(component);
  body().make_source(column, source, component);
}
void vectors::make_source(int column, const source_description& source, source_component component,
                          const link_field& links) {
  require_column(column, 1, "a source");
  require_source_on(source, geometry().global());
  require_component(component);
  require_same_library(links.mark(), mark_, "links", "these vectors");
  body().make_source(column, source, component, links);
}
void vectors::make_noise(int column, const noise_description& noise, source_component component) {
  require_column(column, 1, "noise");
  if (noise.time < 0 || noise.time >= geometry().global()[3])
    throw input_error("noise: expected a time from 0 to " + std::to_string(geometry().global()[3] - 1) + ", found " +
                      std::to_string(noise.time));
  require_component(component);
  body().make_noise(column, noise, component);
}

void vectors::zero() { body().clear(); }
void vectors::copy(const vectors& u) {
  vectors_shape rounded = u.shape_;
  rounded.numbers = shape_.numbers;
  require_same_library(u.mark_, mark_, "vectors", "the vectors that they meet");
  if (!(rounded == shape_))
    throw input_error("copy: expected as many columns on the same sites, found " + to_string(shape_) + " and " +
                      to_string(u.shape_));
  if (&u != this) body().take(u.body());
}
void vectors::copy_columns(int to, const vectors& u, int from, int count) {
  vectors_shape as_many = u.shape_;
  as_many.columns = shape_.columns;
  require_same_library(u.mark_, mark_, "vectors", "the vectors that they meet");
  if (!(as_many == shape_))
    throw input_error("copy of columns: expected the same sites and precision, found " + to_string(shape_) + " and " +
                      to_string(u.shape_));
  require_column(to, count, "copy of columns");
  u.require_column(from, count, "copy of columns");
  if (&u == this && std::abs(to - from) < count)
    throw input_error("copy of columns: columns from " + std::to_string(from) + " and from " + std::to_string(to) +
                      " overlap: expected others");
  body().take_columns(to, u.body(), from, count);
}
void vectors::scale(const numbers_of_columns& a) { body().multiply(a.of_columns(shape_.columns)); }
void vectors::add(const numbers_of_columns& a, const vectors& u) {
  require_partner(u, "a linear combination");
  auto numbers = a.of_columns(shape_.columns);
  if (&u != this) return body().add_multiple(numbers, u.body());
  for (complex<double>& number : numbers) number.re += 1.0;
  body().multiply(numbers);
}
void vectors::rotate_by_gamma_5() { body().rotate_by_gamma_5(); }
std::vector<complex<double>> vectors::dot(const vectors& u) const {
  require_partner(u, "inner products");
  return body().products(u.body());
}
std::vector<double> vectors::norm2() const { return body().squares(); }

vectors_handle vectors::freeze() && {
  if (shape_.sites != site_subset::full)
    throw input_error("vectors that solvers share: expected all sites, found " + to_string(shape_));
  vectors_handle handle = body().freeze(mark_);
  body_.reset();
  return handle;
}

}  // namespace plaquette
