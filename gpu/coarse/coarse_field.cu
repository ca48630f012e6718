// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/coarse_field.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "common/random/random_stream.hpp"
#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

namespace {

constexpr int listed_columns = 128;
struct column_list {
  std::int32_t column[listed_columns];
};
column_list list_of(std::span<const int> columns) {
  column_list list{};
  std::ranges::copy(columns, list.column);
  return list;
}

/// Column from[k] becomes column to[k]; an index is a number of a listed column of a site.
template <class T>
struct column_copy {
  coarse_pointer<complex<T>> to;
  coarse_pointer<const complex<T>> from;
  std::int32_t columns;
  column_list to_column, from_column;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t rest = index / to.n, site = rest / columns;
    const auto k = static_cast<int>(index - rest * to.n), c = static_cast<int>(rest - site * columns);
    to.at(site, to_column.column[c])[k] = from.at(site, from_column.column[c])[k];
  }
};

/// Moves columns to the front of each site; an index is a number of a site, and takes it through all columns. They are
/// ascending, so each moves to a place that is free already.
template <class T>
struct column_compaction {
  coarse_pointer<complex<T>> x;
  std::int32_t first, count;
  column_list keep;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t site = index / x.n;
    const auto k = static_cast<int>(index - site * x.n);
    for (std::int32_t c = 0; c < count; ++c) x.at(site, first + c)[k] = x.at(site, keep.column[c])[k];
  }
};

template <class To, class From>
struct conversion {
  coarse_pointer<complex<To>> to;
  coarse_pointer<const complex<From>> from;
  std::int32_t columns;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t rest = index / to.n, site = rest / columns;
    const auto k = static_cast<int>(index - rest * to.n), c = static_cast<int>(rest - site * columns);
    to.at(site, c)[k] = complex_cast<To>(from.at(site, c)[k]);
  }
};

template <class T>
struct random_numbers {
  coarse_pointer<complex<T>> x;
  const std::int64_t* global_indices;
  std::int64_t first_site;
  std::int32_t columns;
  std::uint64_t seed, first_index;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t site = index / columns;
    const auto c = static_cast<int>(index - site * columns);
    random_stream random(seed, random_stream_id(random_purpose::spinor, first_index + static_cast<std::uint64_t>(c)),
                         static_cast<std::uint64_t>(global_indices[first_site + site]));
    for (int k = 0; k < x.n; ++k) {
      const auto [re, im] = random.gaussians();
      x.at(site, c)[k] = {static_cast<T>(re), static_cast<T>(im)};
    }
  }
};

}  // namespace

template <class T>
coarse_field<T>::coarse_field(const execution& on, std::shared_ptr<const coarse_lattice> lattice,
                              const field_shape& shape)
    : execution_(on), lattice_(std::move(lattice)), shape_(shape), column_stride_(shape.columns) {
  if (shape.columns < 0 || shape.spins != 2 || shape.colours < 1)
    throw std::invalid_argument("coarse_field: impossible shape");
  storage_ =
      execution_.workspace().take(static_cast<std::size_t>(sites() * columns() * components()) * sizeof(*begin_));
  begin_ = reinterpret_cast<complex<T>*>(storage_.get());
}

template <class T>
coarse_field<T> coarse_field<T>::parity(int p) const {
  if (shape_.sites != site_subset::full) throw std::logic_error("coarse_field::parity: only a full field has two");
  coarse_field half = *this;
  half.shape_.sites = p == 0 ? site_subset::even : site_subset::odd;
  half.begin_ = begin_ + geometry().first_of(p) * column_stride_ * components();
  return half;
}

template <class T>
scalars make_scalars(const coarse_field<T>& x, std::span<const complex<double>> numbers) {
  if (static_cast<int>(numbers.size()) != x.columns()) throw std::logic_error("make_scalars: one number a column");
  return scalars(x.get_execution(), numbers);
}

template <class T>
coarse_field<T> view(const coarse_field<T>& x, int first, int count) {
  if (first < 0 || count < 0 || first + count > x.columns()) throw std::logic_error("view: columns out of range");
  coarse_field<T> part = x;
  part.begin_ = x.begin_ + first * x.components();
  part.shape_.columns = count;
  return part;
}

template <class T>
void compact(coarse_field<T>& x, std::span<const int> keep) {
  for (std::size_t first = 0; first < keep.size(); first += listed_columns) {
    const auto some = keep.subspan(first, std::min<std::size_t>(listed_columns, keep.size() - first));
    for_each_index(x.get_execution().queue(), x.sites() * x.components(),
                   column_compaction<T>{x.numbers(), static_cast<std::int32_t>(first),
                                        static_cast<std::int32_t>(some.size()), list_of(some)});
  }
  x.shape_.columns = static_cast<int>(keep.size());
}

template <class T>
void copy_columns(coarse_field<T>& x, std::span<const int> to, const coarse_field<T>& u, std::span<const int> from) {
  if (to.size() != from.size() || x.sites() != u.sites() || x.components() != u.components())
    throw std::logic_error("copy_columns: shapes differ");
  for (std::size_t first = 0; first < to.size(); first += listed_columns) {
    const std::size_t count = std::min<std::size_t>(listed_columns, to.size() - first);
    for_each_index(x.get_execution().queue(), x.sites() * x.components() * static_cast<std::int64_t>(count),
                   column_copy<T>{x.numbers(), u.numbers(), static_cast<std::int32_t>(count),
                                  list_of(to.subspan(first, count)), list_of(from.subspan(first, count))});
  }
}

template <class To, class From>
void convert(coarse_field<To>& to, const coarse_field<From>& from) {
  if (!(to.shape() == from.shape())) throw std::logic_error("convert: shapes differ");
  for_each_index(to.get_execution().queue(), to.sites() * to.components() * to.columns(),
                 conversion<To, From>{to.numbers(), from.numbers(), to.columns()});
}

template <class T>
void import_column(coarse_field<T>& x, int column, std::span<const complex<double>> numbers) {
  if (std::ssize(numbers) != x.sites() * x.components()) throw std::logic_error("import_column: sizes differ");
  std::vector<complex<T>> rounded;
  for (const auto& z : numbers) rounded.push_back(complex_cast<T>(z));
  const std::size_t bytes = static_cast<std::size_t>(x.components()) * sizeof(complex<T>);
  copy_rows_to_device(x.get_execution().queue(), {static_cast<std::size_t>(x.sites()), bytes},
                      x.numbers().at(0, column), static_cast<std::size_t>(x.numbers().site_stride) * sizeof(complex<T>),
                      rounded.data(), bytes);
  x.get_execution().queue().synchronize();
}

template <class T>
void export_column(std::span<complex<double>> numbers, const coarse_field<T>& x, int column) {
  if (std::ssize(numbers) != x.sites() * x.components()) throw std::logic_error("export_column: sizes differ");
  std::vector<complex<T>> read(numbers.size());
  const std::size_t bytes = static_cast<std::size_t>(x.components()) * sizeof(complex<T>);
  copy_rows_to_host(x.get_execution().queue(), {static_cast<std::size_t>(x.sites()), bytes}, read.data(), bytes,
                    x.numbers().at(0, column), static_cast<std::size_t>(x.numbers().site_stride) * sizeof(complex<T>));
  x.get_execution().queue().synchronize();
  for (std::size_t k = 0; k < read.size(); ++k) numbers[k] = complex_cast<double>(read[k]);
}

template <class T>
void fill_random(coarse_field<T>& x, std::uint64_t seed, std::uint64_t first_index) {
  for_each_index(
      x.get_execution().queue(), x.sites() * x.columns(),
      random_numbers<T>{x.numbers(), x.lattice().global_indices(), x.first_site(), x.columns(), seed, first_index});
}

#define PLAQUETTE_INSTANTIATE(T)                                                                                    \
  template class coarse_field<T>;                                                                                   \
  template scalars make_scalars(const coarse_field<T>&, std::span<const complex<double>>);                          \
  template coarse_field<T> view(const coarse_field<T>&, int, int);                                                  \
  template void compact(coarse_field<T>&, std::span<const int>);                                                    \
  template void copy_columns(coarse_field<T>&, std::span<const int>, const coarse_field<T>&, std::span<const int>); \
  template void convert(coarse_field<T>&, const coarse_field<double>&);                                             \
  template void convert(coarse_field<T>&, const coarse_field<float>&);                                              \
  template void import_column(coarse_field<T>&, int, std::span<const complex<double>>);                             \
  template void export_column(std::span<complex<double>>, const coarse_field<T>&, int);                             \
  template void fill_random(coarse_field<T>&, std::uint64_t, std::uint64_t);
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::gpu
