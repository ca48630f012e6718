// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/fields/field.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "common/lattice/conversion_counts.hpp"
#include "cpu_ref/fields/cache_size.hpp"
#include "cpu_ref/fields/lane_numbers.hpp"

namespace plaquette::cpu {

namespace {

template <class Operation>
scalars column_by_column(const scalars& a, const scalars& b, Operation&& operation) {
  if (a.columns() != b.columns()) throw std::logic_error("scalars of different batches do not combine");
  std::vector<complex<double>> result(static_cast<std::size_t>(a.columns()));
  for (int c = 0; c < a.columns(); ++c) result[static_cast<std::size_t>(c)] = operation(a[c], b[c]);
  return scalars(std::move(result));
}

}  // namespace

scalars operator+(const scalars& a, const scalars& b) {
  return column_by_column(a, b, [](auto x, auto y) { return x + y; });
}
scalars operator-(const scalars& a, const scalars& b) {
  return column_by_column(a, b, [](auto x, auto y) { return x - y; });
}
scalars operator*(const scalars& a, const scalars& b) {
  return column_by_column(a, b, [](auto x, auto y) { return x * y; });
}
scalars operator-(const scalars& a) {
  return column_by_column(a, a, [](auto x, auto) { return -x; });
}
scalars conj(const scalars& a) {
  return column_by_column(a, a, [](auto x, auto) { return conj(x); });
}
scalars ratio(const scalars& a, const scalars& b) {
  return column_by_column(a, b, [](auto x, auto y) { return y == complex<double>{} ? complex<double>{} : x / y; });
}
scalars where_above(const scalars& a, std::span<const double> limits) {
  std::vector<complex<double>> mask(limits.size());
  for (std::size_t c = 0; c < mask.size(); ++c) mask[c].re = a.values_[c].re > limits[c] ? 1.0 : 0.0;
  return scalars(std::move(mask));
}
scalars compacted(const scalars& a, std::span<const int> keep) {
  std::vector<complex<double>> kept;
  for (const int c : keep) kept.push_back(a[c]);
  return scalars(std::move(kept));
}

template <class T>
field<T>::field(const context& ctx, const field_shape& shape)
    : context_(ctx), shape_(shape), column_stride_(shape.columns) {
  if (shape.columns < 0 || shape.spins < 1 || shape.colours < 1) throw std::invalid_argument("field: impossible shape");
  if (is_half<T> && components() > most_fixed_point_components)
    throw std::invalid_argument("field: half precision takes at most 64 complex numbers a site");
  part_stride_ = layout().blocks() * shape.columns * block_words();
  storage_ = context_.workspace().take(static_cast<std::size_t>(part_stride_ * parts()) * sizeof(word));
  begin_ = reinterpret_cast<word*>(storage_.get());
}

template <class T>
field<T> field<T>::parity(int p) const {
  if (shape_.sites != site_subset::full) throw std::logic_error("field::parity: only a full field has two parities");
  field half = *this;
  half.shape_.sites = p == 0 ? site_subset::even : site_subset::odd;
  half.begin_ = begin_ + p * part_stride_;
  return half;
}

template <class T>
scalars make_scalars(const field<T>& x, std::span<const complex<double>> numbers) {
  if (static_cast<int>(numbers.size()) != x.columns()) throw std::logic_error("make_scalars: one number a column");
  return scalars({numbers.begin(), numbers.end()});
}

template <class T>
field<T> view(const field<T>& x, int first, int count) {
  if (first < 0 || count < 0 || first + count > x.columns()) throw std::logic_error("view: columns out of range");
  field<T> part = x;
  part.begin_ = x.begin_ + first * x.block_words();
  part.shape_.columns = count;
  return part;
}

template <class T>
void compact(field<T>& x, std::span<const int> keep) {
  if (x.column_stride_ != x.columns()) throw std::logic_error("compact: not for a view of some columns");
  const std::int64_t words = x.block_words();
  const auto kept = static_cast<std::int64_t>(keep.size());
  for (int part = 0; part < x.parts(); ++part) {
    auto* const begin = x.begin_ + part * x.part_stride_;
    // Ascending, so every number moves towards the front, over numbers that have moved already.
    for (std::int64_t b = 0; b < x.layout().blocks(); ++b)
      for (std::int64_t k = 0; k < kept; ++k)
        std::memmove(begin + (b * kept + k) * words,
                     begin + (b * x.column_stride_ + keep[static_cast<std::size_t>(k)]) * words,
                     static_cast<std::size_t>(words) * sizeof(word_of<T>));
  }
  x.column_stride_ = kept;
  x.shape_.columns = static_cast<int>(kept);
}

template <class T>
void copy_columns(field<T>& x, std::span<const int> to, const field<T>& u, std::span<const int> from) {
  if (to.size() != from.size() || x.parts() != u.parts() || x.components() != u.components())
    throw std::logic_error("copy_columns: shapes differ");
  const auto bytes = static_cast<std::size_t>(x.block_words()) * sizeof(word_of<T>);
  for (int part = 0; part < x.parts(); ++part)
#pragma omp parallel for num_threads(x.get_context().threads())
    for (std::int64_t b = 0; b < x.layout().blocks(); ++b)
      for (std::size_t k = 0; k < to.size(); ++k)
        std::memcpy(x.block(part, b, to[k]), u.block(part, b, from[k]), bytes);
}

int columns_at_once(double bytes_of_a_column, int columns) {
  // The cache is shared, with other machines of the host too, and holds links in addition to vectors.
  constexpr double share = 0.25;
  const double cache = share * last_level_cache_bytes();
  const int fitting = static_cast<int>(std::min(cache / bytes_of_a_column, 1e6));
  if (fitting < 2 || fitting >= columns) return std::max(columns, 1);
  const int groups = (columns + fitting - 1) / fitting;
  return (columns + groups - 1) / groups;  // groups of equal size
}

template <class T>
int columns_at_once(const field<T>& x, int vectors) {
  return columns_at_once(static_cast<double>(vectors) * x.parts() * static_cast<double>(x.layout().blocks()) *
                             static_cast<double>(x.block_words()) * sizeof(word_of<T>),
                         x.columns());
}

namespace {

/// Visits every site of a field: (part, block, lane, local coordinate).
template <class T, class Visit>
void for_each_site(const field<T>& x, Visit&& visit) {
  const block_layout& layout = x.layout();
  for (int part = 0; part < x.parts(); ++part)
#pragma omp parallel for num_threads(x.get_context().threads())
    for (std::int64_t b = 0; b < layout.blocks(); ++b)
      for (int lane = 0; lane < layout.width(); ++lane)
        visit(part, b, lane, layout.geometry().local_coordinate(layout.site(x.parity_of_part(part), b, lane)));
}

template <class T>
void require_dirac_spinors(const field<T>& x) {
  if (x.shape().spins != spins || x.shape().colours != colours)
    throw std::logic_error("a canonical spinor field has 4 spins and 3 colours");
}

}  // namespace

template <class T>
void import_column(field<T>& x, int column, const spinor_configuration& from) {
  require_dirac_spinors(x);
  count_conversions({.from_host_fields = 1});
  for_each_site(x, [&](int part, std::int64_t b, int lane, const coordinate& at) {
    const spinor<double>& psi = from(at);
    complex<double> numbers[spins * colours];
    for (int k = 0; k < spins * colours; ++k) numbers[k] = psi(k / colours, k % colours);
    rotate_spin_basis(numbers, colours);
    write_lane<T>(x.block(part, b, column) + lane, x.layout().width(), numbers);
  });
}

template <class T>
void export_column(spinor_configuration& to, const field<T>& x, int column) {
  require_dirac_spinors(x);
  count_conversions({.to_host_fields = 1});
  if (x.parts() == 1)
    for (std::int64_t s = 0; s < to.geometry().local_volume(); ++s) to.at_site(s) = {};
  for_each_site(x, [&](int part, std::int64_t b, int lane, const coordinate& at) {
    complex<double> numbers[spins * colours];
    read_lane<T>(numbers, x.block(part, b, column) + lane, x.layout().width());
    rotate_spin_basis(numbers, colours);
    spinor<double>& psi = to(at);
    for (int k = 0; k < spins * colours; ++k) psi(k / colours, k % colours) = numbers[k];
  });
}

template <class T>
void require_columns_of_array(const field<T>& x, int columns) {
  require_dirac_spinors(x);
  if (x.shape().sites != site_subset::full || columns < 0 || columns > x.columns())
    throw std::logic_error("an array's spinors are on all sites, in columns that the field has");
}

template <class T>
void import_array(field<T>& x, const spinor_array<const double>& from) {
  require_columns_of_array(x, from.columns);
  count_conversions({.from_arrays = from.columns});
  const spin_matrix back = adjoint(from.rotation);
  const extents& local = x.layout().geometry().local();
  for (int column = 0; column < from.columns; ++column)
    for_each_site(x, [&](int part, std::int64_t b, int lane, const coordinate& at) {
      const spinor<double> psi = read_spinor(from, back, at, local, column);
      complex<double> numbers[spins * colours];
      for (int k = 0; k < spins * colours; ++k) numbers[k] = psi(k / colours, k % colours);
      rotate_spin_basis(numbers, colours);
      write_lane<T>(x.block(part, b, column) + lane, x.layout().width(), numbers);
    });
}

template <class T>
void export_array(const spinor_array<double>& to, const field<T>& x) {
  require_columns_of_array(x, to.columns);
  count_conversions({.to_arrays = to.columns});
  const extents& local = x.layout().geometry().local();
  for (int column = 0; column < to.columns; ++column)
    for_each_site(x, [&](int part, std::int64_t b, int lane, const coordinate& at) {
      complex<double> numbers[spins * colours];
      read_lane<T>(numbers, x.block(part, b, column) + lane, x.layout().width());
      rotate_spin_basis(numbers, colours);
      spinor<double> psi;
      for (int k = 0; k < spins * colours; ++k) psi(k / colours, k % colours) = numbers[k];
      write_spinor(to, psi, at, local, column);
    });
}

template <class To, class From>
void convert(field<To>& to, const field<From>& from) {
  if (!(to.shape() == from.shape())) throw std::logic_error("convert: shapes differ");
  // The blocks of one layout hold blocks of the other, or parts of them, lane by lane: lanes that lie side by side in
  // both are read together.
  const block_layout &source = from.layout(), &target = to.layout();
  const int width = target.width(), components = to.components();
  for (int part = 0; part < to.parts(); ++part)
#pragma omp parallel for num_threads(to.get_context().threads())
    for (std::int64_t b = 0; b < target.blocks(); ++b) {
      block_site there[most_lanes];
      for (int lane = 0; lane < width; ++lane)
        there[lane] = source.place(target.geometry().local_coordinate(target.site(to.parity_of_part(part), b, lane)));
      std::vector<double> numbers(static_cast<std::size_t>(2 * components * width));
      for (int c = 0; c < to.columns(); ++c) {
        for (int lane = 0, lanes = 1; lane < width; lane += lanes, lanes = 1) {
          const block_site first = there[lane];
          while (lane + lanes < width && there[lane + lanes].block == first.block &&
                 there[lane + lanes].lane == first.lane + lanes)
            ++lanes;
          read_lanes<From>(numbers.data() + lane, width, from.block(part, first.block, c) + first.lane, source.width(),
                           lanes, components);
        }
        write_block<To>(to.block(part, b, c), width, numbers.data(), components);
      }
    }
}

#define PLAQUETTE_INSTANTIATE(T)                                                                      \
  template class field<T>;                                                                            \
  template scalars make_scalars(const field<T>&, std::span<const complex<double>>);                   \
  template field<T> view(const field<T>&, int, int);                                                  \
  template void compact(field<T>&, std::span<const int>);                                             \
  template void copy_columns(field<T>&, std::span<const int>, const field<T>&, std::span<const int>); \
  template int columns_at_once(const field<T>&, int);                                                 \
  template void import_column(field<T>&, int, const spinor_configuration&);                           \
  template void export_column(spinor_configuration&, const field<T>&, int);                           \
  template void import_array(field<T>&, const spinor_array<const double>&);                           \
  template void export_array(const spinor_array<double>&, const field<T>&);                           \
  template void convert(field<T>&, const field<double>&);                                             \
  template void convert(field<T>&, const field<float>&);                                              \
  template void convert(field<T>&, const field<half>&);
PLAQUETTE_INSTANTIATE(half)
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::cpu
