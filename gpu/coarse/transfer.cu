// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/transfer.hpp"

#include <stdexcept>

#include "gpu/coarse/fast_transfer.hpp"
#include "gpu/coarse/fine_sites.hpp"
#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

namespace {

template <class T>
int rows_of(const field<T>&) {
  return quark_rows;
}
template <class T>
int rows_of(const coarse_field<T>& x) {
  return x.components() / 2;
}
template <class T>
bool is_coarse(const field<T>&) {
  return false;
}
template <class T>
bool is_coarse(const coarse_field<T>&) {
  return true;
}

vector_pointers pointers_of(const null_space& v) { return {v.tables().pointers(), v.begin(), v.rows(), v.vectors()}; }

/// conj(a) b added to a sum.
template <class T>
PLAQUETTE_HOST_DEVICE inline void add_conjugated(complex<T>& sum, const complex<float>& a, const complex<T>& b) {
  sum.re += static_cast<T>(a.re) * b.re + static_cast<T>(a.im) * b.im;
  sum.im += static_cast<T>(a.re) * b.im - static_cast<T>(a.im) * b.re;
}

/// The numbers of a chirality of a site of quarks.
template <class T>
PLAQUETTE_HOST_DEVICE inline void load_rows(const quark_sites<T>& fine, std::int32_t site, int column, int chirality,
                                            complex<float> (&numbers)[quark_rows]) {
  complex<float> both[2 * quark_rows];
  fine.load(site, column, both);
  PLAQUETTE_GPU_UNROLL
  for (int r = 0; r < quark_rows; ++r) numbers[r] = chirality == 0 ? both[r] : both[r + quark_rows];
}

/// One number of a coarse site and column: the sum over the rows of its chirality.
template <class T, class Fine>
struct restrict_number {
  coarse_pointer<complex<T>> coarse;
  Fine fine;
  vector_pointers v;
  std::int32_t columns;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t rest = index / coarse.n, s = rest / columns;
    const auto number = static_cast<std::int32_t>(index - rest * coarse.n);
    const auto column = static_cast<std::int32_t>(rest - s * columns);
    const int chirality = number / v.vectors, k = number - chirality * v.vectors;
    complex<T> sum{};
    for (int parity = 0; parity < 2; ++parity) {
      if (!fine.has[parity]) continue;
      const complex<float>* row = v.row(v.blocks.block_begin(s, parity, chirality, v.rows)) + k;
      const std::int64_t first = s * v.blocks.volume + v.blocks.first(s, parity);
      for (std::int32_t j = 0; j < v.blocks.count(s, parity); ++j)
        row = add_site(sum, row, v.blocks.site[first + j], column, chirality);
    }
    coarse.at(s, column)[number] = sum;
  }

 private:
  /// Returns where the next site's rows begin.
  PLAQUETTE_HOST_DEVICE const complex<float>* add_site(complex<T>& sum, const complex<float>* row, std::int32_t site,
                                                       int column, int chirality) const {
    if constexpr (requires { Fine::rows(); }) {
      complex<float> numbers[quark_rows];
      load_rows(fine, site, column, chirality, numbers);
      PLAQUETTE_GPU_UNROLL
      for (int r = 0; r < quark_rows; ++r, row += v.vectors) add_conjugated(sum, *row, complex_cast<T>(numbers[r]));
    } else {
      for (std::int32_t r = 0; r < v.rows; ++r, row += v.vectors)
        add_conjugated(sum, *row, complex_cast<T>(fine.number(site, column, chirality, r)));
    }
    return row;
  }
};

/// A sum over the vectors of a row.
template <class T>
PLAQUETTE_HOST_DEVICE inline complex<T> row_times(const complex<float>* row, const complex<T>* x, std::int32_t count) {
  complex<T> sum{};
  for (std::int32_t k = 0; k < count; ++k) {
    const complex<T> z = complex_cast<T>(row[k]);
    sum.re += z.re * x[k].re - z.im * x[k].im;
    sum.im += z.re * x[k].im + z.im * x[k].re;
  }
  return sum;
}

/// Whether a place is one of a site that the field has.
template <class Fine>
PLAQUETTE_HOST_DEVICE inline bool has_place(const Fine& fine, const aggregate_pointers& blocks, std::int64_t place) {
  const std::int64_t s = place / blocks.volume;
  return fine.has[place - s * blocks.volume >= blocks.even[s] ? 1 : 0];
}

/// A fine site of quarks and a column.
template <class T, class Q>
struct prolong_quark {
  quark_sites<Q> fine;
  coarse_pointer<const complex<T>> coarse;
  vector_pointers v;
  std::int64_t places;
  bool add;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t column = index / places, place = index - column * places;
    if (!has_place(fine, v.blocks, place)) return;
    complex<float> numbers[2 * quark_rows];
    for (int chirality = 0; chirality < chiralities; ++chirality) {
      const complex<float>* row = v.row(v.blocks.row_begin(place, chirality, v.rows));
      const complex<T>* x = coarse.at(place / v.blocks.volume, static_cast<int>(column)) + chirality * v.vectors;
      for (int r = 0; r < quark_rows; ++r, row += v.vectors)
        numbers[chirality * quark_rows + r] = complex_cast<float>(row_times(row, x, v.vectors));
    }
    fine.store(v.blocks.site[place], static_cast<int>(column), numbers, add);
  }
};

/// A row of a site of a finer coarse lattice, and a column.
template <class T>
struct prolong_number {
  coarse_sites<T> fine;
  coarse_pointer<const complex<T>> coarse;
  vector_pointers v;
  std::int32_t columns;
  bool add;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int32_t n = fine.x.n;
    const std::int64_t rest = index / n, place = rest / columns;
    const auto number = static_cast<std::int32_t>(index - rest * n);
    const auto column = static_cast<std::int32_t>(rest - place * columns);
    if (!has_place(fine, v.blocks, place)) return;
    const int chirality = number / v.rows, r = number - chirality * v.rows;
    const complex<float>* row = v.row(v.blocks.row_begin(place, chirality, v.rows) + r);
    const complex<T>* x = coarse.at(place / v.blocks.volume, column) + chirality * v.vectors;
    complex<T>& to = fine.number(v.blocks.site[place], column, chirality, r);
    const complex<T> z = row_times(row, x, v.vectors);
    to = add ? to + z : z;
  }
};

/// Numbers of all sites into the order of aggregates.
template <class Fine>
struct gather_vectors {
  complex<float>* to;
  Fine fine;
  vector_pointers v;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t place = index / v.vectors;
    const auto k = static_cast<std::int32_t>(index - place * v.vectors);
    const std::int32_t site = v.blocks.site[place];
    for (int chirality = 0; chirality < chiralities; ++chirality) {
      complex<float>* row = to + v.blocks.row_begin(place, chirality, v.rows) * v.vectors + k;
      if constexpr (requires { Fine::rows(); }) {
        complex<float> numbers[quark_rows];
        load_rows(fine, site, k, chirality, numbers);
        for (int r = 0; r < quark_rows; ++r, row += v.vectors) *row = numbers[r];
      } else {
        for (std::int32_t r = 0; r < v.rows; ++r, row += v.vectors)
          *row = complex_cast<float>(fine.number(site, k, chirality, r));
      }
    }
  }
};

template <class T>
auto sites_of(const field<T>& x) {
  return quark_sites_of(x);
}
template <class T>
auto sites_of(const coarse_field<T>& x) {
  return coarse_sites_of(x);
}

template <class T, class Q>
void queue_prolongation(field<Q>& fine, const coarse_field<T>& coarse, const null_space& v, bool add,
                        [[maybe_unused]] bool fast) {
  const std::int64_t places = v.blocks().fine_sites();
#ifdef __CUDACC__
  if constexpr (std::is_same_v<T, float>)
    if (fast && fast_transfer_serves(pointers_of(v)))
      return queue_prolongation(coarse.get_execution().queue(), quark_sites_of(fine), pointers_of(v), coarse.sites(),
                                coarse.numbers(), coarse.columns(), add);
#endif
  for_each_index(coarse.get_execution().queue(), places * fine.columns(),
                 prolong_quark<T, Q>{quark_sites_of(fine), coarse.numbers(), pointers_of(v), places, add}, 128);
}
template <class T>
void queue_prolongation(coarse_field<T>& fine, const coarse_field<T>& coarse, const null_space& v, bool add,
                        [[maybe_unused]] bool fast) {
#ifdef __CUDACC__
  if constexpr (std::is_same_v<T, float>)
    if (fast && fast_transfer_serves(pointers_of(v)))
      return queue_prolongation(coarse.get_execution().queue(), coarse_sites_of(fine), pointers_of(v), coarse.sites(),
                                coarse.numbers(), coarse.columns(), add);
#endif
  for_each_index(coarse.get_execution().queue(), v.blocks().fine_sites() * fine.columns() * fine.components(),
                 prolong_number<T>{coarse_sites_of(fine), coarse.numbers(), pointers_of(v), fine.columns(), add});
}

}  // namespace

template <class T>
coarse_field<T> transfer<T>::coarse_like(int columns) const {
  return {execution_, coarse(), {chiralities, vectors(), site_subset::full, columns}};
}

template <class T>
template <class Fine>
void transfer<T>::require_shapes(const Fine& fine, const coarse_field<T>& coarse) const {
  if (rows_of(fine) != vectors_.rows() || is_coarse(fine) != vectors_.tables().fine_is_coarse() ||
      coarse.components() != 2 * vectors() || coarse.columns() != fine.columns() ||
      coarse.shape().sites != site_subset::full)
    throw std::logic_error("transfer: fields of other shapes than the null vectors'");
}

template <class T>
template <class Fine>
void transfer<T>::restrict_to(coarse_field<T>& coarse, const Fine& fine) const {
  require_shapes(fine, coarse);
  const auto sites = sites_of(fine);
#ifdef __CUDACC__
  if constexpr (std::is_same_v<T, float>)
    if (kernel_ == product_kernel::fastest && fast_transfer_serves(pointers_of(vectors_)))
      return queue_restriction(execution_.queue(), sites, pointers_of(vectors_), coarse.sites(), coarse.numbers(),
                               coarse.columns());
#endif
  for_each_index(execution_.queue(), coarse.sites() * coarse.columns() * coarse.components(),
                 restrict_number<T, std::remove_const_t<decltype(sites)>>{coarse.numbers(), sites,
                                                                          pointers_of(vectors_), coarse.columns()});
}

template <class T>
template <class Fine>
void transfer<T>::prolong(Fine& fine, const coarse_field<T>& coarse) const {
  require_shapes(fine, coarse);
  queue_prolongation(fine, coarse, vectors_, false, kernel_ == product_kernel::fastest);
}

template <class T>
template <class Fine>
void transfer<T>::add_prolonged(Fine& fine, const coarse_field<T>& coarse) const {
  require_shapes(fine, coarse);
  queue_prolongation(fine, coarse, vectors_, true, kernel_ == product_kernel::fastest);
}

template <class Fine>
null_space gathered(const Fine& vectors, const std::shared_ptr<const aggregate_tables>& tables) {
  if (is_coarse(vectors) != tables->fine_is_coarse() || vectors.shape().sites != site_subset::full)
    throw std::logic_error("gathered: vectors of all sites of the finer lattice");
  null_space result(vectors.get_execution(), tables, rows_of(vectors), vectors.columns());
  const auto sites = sites_of(vectors);
  for_each_index(vectors.get_execution().queue(), tables->blocks().fine_sites() * vectors.columns(),
                 gather_vectors<std::remove_const_t<decltype(sites)>>{result.begin(), sites, pointers_of(result)});
  return result;
}

#define PLAQUETTE_INSTANTIATE_FINE(T, Fine)                                    \
  template void transfer<T>::restrict_to(coarse_field<T>&, const Fine&) const; \
  template void transfer<T>::prolong(Fine&, const coarse_field<T>&) const;     \
  template void transfer<T>::add_prolonged(Fine&, const coarse_field<T>&) const;
template class transfer<float>;
template class transfer<double>;
PLAQUETTE_INSTANTIATE_FINE(float, field<half>)
PLAQUETTE_INSTANTIATE_FINE(float, field<float>)
PLAQUETTE_INSTANTIATE_FINE(float, field<double>)
PLAQUETTE_INSTANTIATE_FINE(float, coarse_field<float>)
PLAQUETTE_INSTANTIATE_FINE(double, field<float>)
PLAQUETTE_INSTANTIATE_FINE(double, field<double>)
PLAQUETTE_INSTANTIATE_FINE(double, coarse_field<double>)
#undef PLAQUETTE_INSTANTIATE_FINE
template null_space gathered(const field<float>&, const std::shared_ptr<const aggregate_tables>&);
template null_space gathered(const field<double>&, const std::shared_ptr<const aggregate_tables>&);
template null_space gathered(const coarse_field<float>&, const std::shared_ptr<const aggregate_tables>&);
template null_space gathered(const coarse_field<double>&, const std::shared_ptr<const aggregate_tables>&);

}  // namespace plaquette::gpu
