// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/fields/field.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

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
  part_stride_ = layout().blocks() * shape.columns * 2 * components() * layout().width();
  storage_ = context_.workspace().take(static_cast<std::size_t>(part_stride_ * parts()) * sizeof(T));
  begin_ = reinterpret_cast<T*>(storage_.get());
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
  part.begin_ = x.begin_ + static_cast<std::int64_t>(first) * 2 * x.components() * x.layout().width();
  part.shape_.columns = count;
  return part;
}

template <class T>
void compact(field<T>& x, std::span<const int> keep) {
  if (x.column_stride_ != x.columns()) throw std::logic_error("compact: not for a view of some columns");
  const std::int64_t reals = 2 * x.components() * x.layout().width();
  const auto kept = static_cast<std::int64_t>(keep.size());
  for (int part = 0; part < x.parts(); ++part) {
    T* const begin = x.begin_ + part * x.part_stride_;
    // Ascending, so every number moves towards the front, over numbers that have moved already.
    for (std::int64_t b = 0; b < x.layout().blocks(); ++b)
      for (std::int64_t k = 0; k < kept; ++k)
        std::memmove(begin + (b * kept + k) * reals,
                     begin + (b * x.column_stride_ + keep[static_cast<std::size_t>(k)]) * reals,
                     static_cast<std::size_t>(reals) * sizeof(T));
  }
  x.column_stride_ = kept;
  x.shape_.columns = static_cast<int>(kept);
}

template <class T>
void copy_columns(field<T>& x, std::span<const int> to, const field<T>& u, std::span<const int> from) {
  if (to.size() != from.size() || x.parts() != u.parts() || x.components() != u.components())
    throw std::logic_error("copy_columns: shapes differ");
  const auto bytes = static_cast<std::size_t>(2 * x.components() * x.layout().width()) * sizeof(T);
  for (int part = 0; part < x.parts(); ++part)
#pragma omp parallel for num_threads(x.get_context().threads())
    for (std::int64_t b = 0; b < x.layout().blocks(); ++b)
      for (std::size_t k = 0; k < to.size(); ++k)
        std::memcpy(x.block(part, b, to[k]), u.block(part, b, from[k]), bytes);
}

template <class T>
int columns_at_once(const field<T>& x, int vectors) {
  // The cache is shared, with other machines of the host too, and holds links beside vectors.
  constexpr double share = 0.25, unknown = 32e6;
  const long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const double cache = share * (size > 0 ? static_cast<double>(size) : unknown);
  const double column = static_cast<double>(vectors) * x.parts() * static_cast<double>(x.layout().blocks()) * 2.0 *
                        x.components() * x.layout().width() * sizeof(T);
  const int fitting = static_cast<int>(std::min(cache / column, 1e6));
  if (fitting < 2 || fitting >= x.columns()) return std::max(x.columns(), 1);
  const int groups = (x.columns() + fitting - 1) / fitting;
  return (x.columns() + groups - 1) / groups;  // groups of equal size
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
  const int width = x.layout().width();
  for_each_site(x, [&](int part, std::int64_t b, int lane, const coordinate& at) {
    const spinor<double>& psi = from(at);
    T* const to = x.block(part, b, column) + lane;
    for (int k = 0; k < spins * colours; ++k) {
      to[2 * k * width] = static_cast<T>(psi(k / colours, k % colours).re);
      to[(2 * k + 1) * width] = static_cast<T>(psi(k / colours, k % colours).im);
    }
  });
}

template <class T>
void export_column(spinor_configuration& to, const field<T>& x, int column) {
  require_dirac_spinors(x);
  const int width = x.layout().width();
  if (x.parts() == 1)
    for (std::int64_t s = 0; s < to.geometry().local_volume(); ++s) to.at_site(s) = {};
  for_each_site(x, [&](int part, std::int64_t b, int lane, const coordinate& at) {
    spinor<double>& psi = to(at);
    const T* const from = x.block(part, b, column) + lane;
    for (int k = 0; k < spins * colours; ++k)
      psi(k / colours, k % colours) = {static_cast<double>(from[2 * k * width]),
                                       static_cast<double>(from[(2 * k + 1) * width])};
  });
}

template <class To, class From>
void convert(field<To>& to, const field<From>& from) {
  if (!(to.shape() == from.shape())) throw std::logic_error("convert: shapes differ");
  const block_layout& source = from.layout();
  const int from_width = source.width(), to_width = to.layout().width();
  for_each_site(to, [&](int part, std::int64_t b, int lane, const coordinate& at) {
    const block_site there = source.place(at);
    for (int c = 0; c < to.columns(); ++c) {
      const From* const read = from.block(part, there.block, c) + there.lane;
      To* const write = to.block(part, b, c) + lane;
      for (int k = 0; k < 2 * to.components(); ++k) write[k * to_width] = static_cast<To>(read[k * from_width]);
    }
  });
}

#define PLAQUETTE_INSTANTIATE(T)                                                                      \
  template class field<T>;                                                                            \
  template scalars make_scalars(const field<T>&, std::span<const complex<double>>);                   \
  template field<T> view(const field<T>&, int, int);                                                  \
  template void compact(field<T>&, std::span<const int>);                                             \
  template void copy_columns(field<T>&, std::span<const int>, const field<T>&, std::span<const int>); \
  template int columns_at_once(const field<T>&, int);                                                 \
  template void import_column(field<T>&, int, const spinor_configuration&);                           \
  template void export_column(spinor_configuration&, const field<T>&, int);
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE
template void convert(field<float>&, const field<double>&);
template void convert(field<double>&, const field<float>&);
template void convert(field<double>&, const field<double>&);
template void convert(field<float>&, const field<float>&);

}  // namespace plaquette::cpu
