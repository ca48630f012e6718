// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Fields of a library behind `vectors`, written once over the names of a backend.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/algebra/fixed_point.hpp"
#include "common/error.hpp"
#include "common/krylov/batch.hpp"
#include "common/solvers/backend.hpp"
#include "common/solvers/solver_vectors_of.hpp"
#include "common/solvers/vectors.hpp"

namespace plaquette {

/// Calls work(std::type_identity<T>) with the type of numbers of a precision. Throws input_error if vectors are not
/// kept in it.
template <class Work>
auto with_numbers(precision p, Work&& work) {
  switch (p) {
    case precision::double_:
      return work(std::type_identity<double>{});
    case precision::single:
      return work(std::type_identity<float>{});
    case precision::half:
      return work(std::type_identity<half>{});
    case precision::pairs:
      break;
  }
  throw input_error("vectors: expected the precision double, single or half, found " + std::string(name(p)));
}

/// A backend whose fields can be filled with random numbers and sources. B names in addition
///
/// - `random_spinor(field, column, seed, index, ctx)`, for a column of any precision.
/// - `unsmeared_source(field, column, source, component, ctx)`, of a point or a wall.
/// - `source_of_links(field, column, source, component, links, ctx)`, of any kind, for fields of all sites.
/// - `noise_source(field, column, noise, component, ctx)`.
template <class Backend>
concept vectors_backend =
    backend<Backend> && requires(const typename Backend::context& ctx, typename Backend::template field<half>& x) {
      Backend::random_spinor(x, 0, std::uint64_t{1}, std::uint64_t{1}, ctx);
      Backend::unsmeared_source(x, 0, source_description{}, source_component{}, ctx);
      Backend::noise_source(x, 0, noise_description{}, source_component{}, ctx);
    };

/// The field behind vectors, whichever backend made them.
template <field_batch Field>
class vectors_in : public vectors_body {
 public:
  explicit vectors_in(Field numbers) : field_(std::move(numbers)) {}

  Field& numbers() { return field_; }
  const Field& numbers() const { return field_; }

 protected:
  Field field_;
};

template <vectors_backend Backend>
std::unique_ptr<vectors_body> make_vectors_body(const typename Backend::context& ctx, const vectors_shape& shape);

/// See vectors.hpp.
template <vectors_backend Backend, class T>
class vectors_of final : public vectors_in<typename Backend::template field<T>> {
  template <class U>
  using body_in = vectors_in<typename Backend::template field<U>>;
  using body_in<T>::field_;
  using context = typename Backend::context;

 public:
  using field = typename Backend::template field<T>;
  using body_in<T>::body_in;

  spin_basis basis() const override { return field_.basis(); }
  std::unique_ptr<vectors_body> like(const vectors_shape& shape) const override {
    return make_vectors_body<Backend>(field_.get_context(), shape);
  }
  void set(int column, const spinor_configuration& from) override { import_column(field_, column, from); }
  void get(int column, spinor_configuration& to) const override { export_column(to, field_, column); }

  void read(int first, const spinor_array<const double>& from) override {
    field target = view(field_, first, from.columns);
    if (is_full()) return import_array(target, from);
    field full = full_like(from.columns);
    import_array(full, from);
    copy(target, full.parity(parity()));
  }
  void write(int first, const spinor_array<double>& to) const override {
    const field source = view(field_, first, to.columns);
    if (is_full()) return export_array(to, source);
    field full = full_like(to.columns);
    zero(full);
    field part = full.parity(parity());
    copy(part, source);
    export_array(to, full);
  }
  void fill_random(std::uint64_t seed, std::uint64_t first_index) override {
    for (int n = 0; n < field_.columns(); ++n)
      Backend::random_spinor(field_, n, seed, first_index + static_cast<std::uint64_t>(n), field_.get_context());
  }

  void make_source(int column, const source_description& source, source_component component) override {
    Backend::unsmeared_source(field_, column, source, component, field_.get_context());
  }

  void make_source(int column, const source_description& source, source_component component,
                   const link_field& links) override {
    using gauge = typename Backend::template wilson_clover<double>::links_type;
    const context& ctx = field_.get_context();
    const gauge& u = links_behind<gauge>(links, ctx.geometry(), "vectors");
    if (is_full()) return Backend::source_of_links(field_, column, source, component, u, ctx);
    field full = full_like(1), target = view(field_, column, 1);
    Backend::source_of_links(full, 0, source, component, u, ctx);
    copy(target, full.parity(parity()));
  }
  void make_noise(int column, const noise_description& noise, source_component component) override {
    Backend::noise_source(field_, column, noise, component, field_.get_context());
  }

  void clear() override { zero(field_); }
  void take(const vectors_body& u) override {
    if (const auto* in_double = dynamic_cast<const body_in<double>*>(&u)) return assign(field_, in_double->numbers());
    if (const auto* in_single = dynamic_cast<const body_in<float>*>(&u)) return assign(field_, in_single->numbers());
    assign(field_, dynamic_cast<const body_in<half>&>(u).numbers());
  }
  void take_columns(int to, const vectors_body& u, int from, int count) override {
    std::vector<int> here(static_cast<std::size_t>(count)), there(here.size());
    std::iota(here.begin(), here.end(), to);
    std::iota(there.begin(), there.end(), from);
    if (count > 0) copy_columns(field_, std::span<const int>(here), same(u), std::span<const int>(there));
  }
  void multiply(const std::vector<complex<double>>& a) override { scale(field_, handles(a)); }
  void add_multiple(const std::vector<complex<double>>& a, const vectors_body& u) override {
    axpy(field_, handles(a), same(u));
  }
  void rotate_by_gamma_5() override { gamma5(field_, field_); }
  std::vector<complex<double>> products(const vectors_body& u) const override {
    return host_values(dot(field_, same(u)));
  }
  std::vector<double> squares() const override {
    std::vector<double> all;
    for (const complex<double>& square : host_values(norm2(field_))) all.push_back(square.re);
    return all;
  }
  vectors_handle freeze(library_mark mark) override { return handle_of(field_, 0, std::move(mark)); }

 private:
  bool is_full() const { return field_.shape().sites == site_subset::full; }
  int parity() const { return field_.shape().sites == site_subset::odd ? 1 : 0; }
  field full_like(int columns) const { return field(field_.get_context(), field_shape{.columns = columns}); }
  static const field& same(const vectors_body& u) { return dynamic_cast<const body_in<T>&>(u).numbers(); }
  auto handles(const std::vector<complex<double>>& numbers) const {
    return make_scalars(field_, std::span<const complex<double>>(numbers));
  }
};

/// Returns vectors with undefined numbers. Throws input_error for a shape that is none.
template <vectors_backend Backend>
std::unique_ptr<vectors_body> make_vectors_body(const typename Backend::context& ctx, const vectors_shape& shape) {
  if (shape.columns < 1)
    throw input_error("vectors: expected at least 1 column, found " + std::to_string(shape.columns));
  return with_numbers(shape.numbers, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<vectors_body> {
    using field = typename Backend::template field<T>;
    return std::make_unique<vectors_of<Backend, T>>(
        field(ctx, field_shape{.sites = shape.sites, .columns = shape.columns}));
  });
}

/// Returns vectors with the numbers behind a handle. Vectors of one chirality become Dirac spinors. Throws input_error
/// if a solver of another library made them, or on another lattice.
template <vectors_backend Backend>
std::pair<vectors_shape, std::unique_ptr<vectors_body>> copy_of_handle(const typename Backend::context& ctx,
                                                                       const vectors_handle& of) {
  std::pair<vectors_shape, std::unique_ptr<vectors_body>> made;
  const auto try_numbers = [&]<class T>(std::type_identity<T>) {
    using field = typename Backend::template field<T>;
    const auto* known = dynamic_cast<const solver_vectors_of<field>*>(of.get());
    if (known == nullptr) return;
    const field& from = known->fields();
    require_same_lattice(from.get_context().geometry(), ctx.geometry(), "vectors of a solver", "a library on ");
    made.first = {from.columns(), from.shape().sites, precision_of<field>};
    field to(ctx, field_shape{.sites = from.shape().sites, .columns = from.columns()});
    if (known->chirality() == 0)
      copy(to, from);
    else
      put_chirality(to, from, known->chirality());
    made.second = std::make_unique<vectors_of<Backend, T>>(std::move(to));
  };
  try_numbers(std::type_identity<double>{});
  try_numbers(std::type_identity<float>{});
  try_numbers(std::type_identity<half>{});
  if (made.second == nullptr)
    throw input_error("vectors: expected a handle of a solver of this library, found " +
                      std::string(of ? "one of another library or precision" : "none"));
  return made;
}

/// Returns the field behind vectors. Throws input_error if they are not kept in its precision, or if another kind of
/// library made them.
template <field_batch Field>
const Field& field_of(const vectors& v) {
  const auto* known = dynamic_cast<const vectors_in<Field>*>(&v.body());
  if (known == nullptr)
    throw input_error(std::string("vectors: expected ") + name(precision_of<Field>) + " precision, found " +
                      to_string(v.shape()));
  return known->numbers();
}
template <field_batch Field>
Field& field_of(vectors& v) {
  return const_cast<Field&>(field_of<Field>(std::as_const(v)));
}

}  // namespace plaquette
