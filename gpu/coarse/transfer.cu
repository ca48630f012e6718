// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/transfer.hpp"

#include <stdexcept>

#include "gpu/coarse/fast_transfer.hpp"
#include "gpu/coarse/fine_sites.hpp"
#include "gpu/coarse/largest_number.hpp"
#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

namespace {

template <class T>
int rows_of(const field<T>&) {
  return fine_rows;
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

/// A number of the null vectors in 16 bits.
struct pack_vectors {
  std::uint32_t* to;
  const complex<float>* from;
  float scale;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const complex<float> z = scale * from[index];
    to[index] = half_bits(z.re) | (static_cast<std::uint32_t>(half_bits(z.im)) << 16);
  }
};

/// conj(a) b added to a sum.
template <class T>
PLAQUETTE_HOST_DEVICE inline void add_conjugated(complex<T>& sum, const complex<float>& a, const complex<T>& b) {
  sum.re += static_cast<T>(a.re) * b.re + static_cast<T>(a.im) * b.im;
  sum.im += static_cast<T>(a.re) * b.im - static_cast<T>(a.im) * b.re;
}

/// The numbers of a chirality of a site of quarks.
template <class T>
PLAQUETTE_HOST_DEVICE inline void load_rows(const fine_spinors<T>& fine, std::int32_t site, int column, int chirality,
                                            complex<float> (&numbers)[fine_rows]) {
  complex<float> both[2 * fine_rows];
  fine.load(site, column, both);
  PLAQUETTE_GPU_UNROLL
  for (int r = 0; r < fine_rows; ++r) numbers[r] = chirality == 0 ? both[r] : both[r + fine_rows];
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
      const std::int64_t row = v.blocks.block_begin(s, parity, chirality, v.rows),
                         first = s * v.blocks.volume + v.blocks.first(s, parity);
      for (std::int32_t j = 0; j < v.blocks.count(s, parity); ++j)
        add_site(sum, row + std::int64_t{j} * v.rows, k, v.blocks.site[first + j], column, chirality);
    }
    coarse.at(s, column)[number] = sum;
  }

 private:
  /// Adds the contribution of a site to the product with vector k; its rows begin at `row`.
  PLAQUETTE_HOST_DEVICE void add_site(complex<T>& sum, std::int64_t row, int k, std::int32_t site, int column,
                                      int chirality) const {
    if constexpr (requires { Fine::rows(); }) {
      complex<float> numbers[fine_rows];
      load_rows(fine, site, column, chirality, numbers);
      PLAQUETTE_GPU_UNROLL
      for (int r = 0; r < fine_rows; ++r) add_conjugated(sum, v.number(row + r, k), complex_cast<T>(numbers[r]));
    } else {
      for (std::int32_t r = 0; r < v.rows; ++r)
        add_conjugated(sum, v.number(row + r, k), complex_cast<T>(fine.number(site, column, chirality, r)));
    }
  }
};

/// A sum over the vectors of a row.
template <class T>
PLAQUETTE_HOST_DEVICE inline complex<T> row_times(const vector_pointers& v, std::int64_t row, const complex<T>* x) {
  complex<T> sum{};
  for (std::int32_t k = 0; k < v.vectors; ++k) {
    const complex<T> z = complex_cast<T>(v.number(row, k));
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
struct prolong_to_fine {
  fine_spinors<Q> fine;
  coarse_pointer<const complex<T>> coarse;
  vector_pointers v;
  std::int64_t places;
  bool add;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t column = index / places, place = index - column * places;
    if (!has_place(fine, v.blocks, place)) return;
    complex<float> numbers[2 * fine_rows];
    for (int chirality = 0; chirality < chiralities; ++chirality) {
      const std::int64_t row = v.blocks.row_begin(place, chirality, v.rows);
      const complex<T>* x = coarse.at(place / v.blocks.volume, static_cast<int>(column)) + chirality * v.vectors;
      for (int r = 0; r < fine_rows; ++r)
        numbers[chirality * fine_rows + r] = complex_cast<float>(row_times(v, row + r, x));
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
    const complex<T>* x = coarse.at(place / v.blocks.volume, column) + chirality * v.vectors;
    complex<T>& to = fine.number(v.blocks.site[place], column, chirality, r);
    const complex<T> z = row_times(v, v.blocks.row_begin(place, chirality, v.rows) + r, x);
    to = add ? to + z : z;
  }
};

/// Numbers of all sites into the order of aggregates.
template <class Fine>
struct gather_vectors {
  complex<float>* to;
  Fine fine;
  aggregate_pointers blocks;
  std::int32_t rows, vectors;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t place = index / vectors;
    const auto k = static_cast<std::int32_t>(index - place * vectors);
    const std::int32_t site = blocks.site[place];
    for (int chirality = 0; chirality < chiralities; ++chirality) {
      complex<float>* row = to + blocks.row_begin(place, chirality, rows) * vectors + k;
      if constexpr (requires { Fine::rows(); }) {
        complex<float> numbers[fine_rows];
        load_rows(fine, site, k, chirality, numbers);
        for (int r = 0; r < fine_rows; ++r, row += vectors) *row = numbers[r];
      } else {
        for (std::int32_t r = 0; r < rows; ++r, row += vectors)
          *row = complex_cast<float>(fine.number(site, k, chirality, r));
      }
    }
  }
};

template <class T>
auto sites_of(const field<T>& x) {
  return fine_spinors_of(x);
}
template <class T>
auto sites_of(const coarse_field<T>& x) {
  return coarse_sites_of(x);
}

/// By the fastest kernel; false if none serves.
template <class T, class Fine>
bool restrict_fast([[maybe_unused]] const queue& q, [[maybe_unused]] const Fine& fine,
                   [[maybe_unused]] const vector_pointers& v, [[maybe_unused]] coarse_field<T>& coarse) {
#ifdef __CUDACC__
  if constexpr (std::is_same_v<T, float>)
    return v.storage == coarse_storage::single ? queue_restriction<coarse_storage::single>(
                                                     q, fine, v, coarse.sites(), coarse.numbers(), coarse.columns())
                                               : queue_restriction<coarse_storage::half>(
                                                     q, fine, v, coarse.sites(), coarse.numbers(), coarse.columns());
#endif
  return false;
}
template <class T, class Fine>
bool prolong_fast([[maybe_unused]] const queue& q, [[maybe_unused]] const Fine& fine,
                  [[maybe_unused]] const vector_pointers& v, [[maybe_unused]] const coarse_field<T>& coarse,
                  [[maybe_unused]] bool add) {
#ifdef __CUDACC__
  if constexpr (std::is_same_v<T, float>)
    return v.storage == coarse_storage::single
               ? queue_prolongation<coarse_storage::single>(q, fine, v, coarse.sites(), coarse.numbers(),
                                                            coarse.columns(), add)
               : queue_prolongation<coarse_storage::half>(q, fine, v, coarse.sites(), coarse.numbers(),
                                                          coarse.columns(), add);
#endif
  return false;
}

template <class T, class Q>
void prolong_by_gathering(const field<Q>& fine, const coarse_field<T>& coarse, const vector_pointers& v, bool add) {
  const std::int64_t places = coarse.sites() * v.blocks.volume;
  for_each_index(coarse.get_execution().queue(), places * fine.columns(),
                 prolong_to_fine<T, Q>{fine_spinors_of(fine), coarse.numbers(), v, places, add}, 128);
}
template <class T>
void prolong_by_gathering(const coarse_field<T>& fine, const coarse_field<T>& coarse, const vector_pointers& v,
                          bool add) {
  for_each_index(coarse.get_execution().queue(), coarse.sites() * v.blocks.volume * fine.columns() * fine.components(),
                 prolong_number<T>{coarse_sites_of(fine), coarse.numbers(), v, fine.columns(), add});
}

}  // namespace

template <class T>
transfer<T>::transfer(const execution& on, const null_space& v, coarse_storage storage)
    : execution_(on),
      tables_(v.shared_tables()),
      rows_(v.rows()),
      vectors_(v.vectors()),
      storage_(storage),
      begin_(v.storage()) {
  const std::int64_t numbers = v.all_rows() * v.vectors();
  scale_ = scale_of_16_bits(largest_number(on, v.begin(), 1, numbers, numbers));
  if (storage == coarse_storage::half) {
    const auto memory = on.workspace().take(static_cast<std::size_t>(numbers) * sizeof(std::uint32_t));
    for_each_index(on.queue(), numbers,
                   pack_vectors{reinterpret_cast<std::uint32_t*>(memory.get()), v.begin(), scale_});
    begin_ = memory;
  }
  on.queue().synchronize();
}

template <class T>
vector_pointers transfer<T>::pointers() const {
  const coarse_geometry& coarse = tables_->blocks().coarse();
  const bool halves = coarse.sites_of(0) == coarse.sites_of(1);
  return {tables_->pointers(),
          static_cast<const std::byte*>(begin_.get()),
          rows_,
          vectors_,
          storage_,
          scale_,
          1.0F / scale_,
          halves ? static_cast<std::int32_t>(coarse.even_sites()) : 0};
}

template <class T>
coarse_field<T> transfer<T>::coarse_like(int columns) const {
  return {execution_, coarse(), {chiralities, vectors(), site_subset::full, columns}};
}

template <class T>
template <class Fine>
void transfer<T>::require_shapes(const Fine& fine, const coarse_field<T>& coarse) const {
  if (rows_of(fine) != rows_ || is_coarse(fine) != tables_->fine_is_coarse() || coarse.components() != 2 * vectors() ||
      coarse.columns() != fine.columns() || coarse.shape().sites != site_subset::full)
    throw std::logic_error("transfer: fields of other shapes than the null vectors'");
}

template <class T>
template <class Fine>
void transfer<T>::restrict_to(coarse_field<T>& coarse, const Fine& fine) const {
  require_shapes(fine, coarse);
  const auto sites = sites_of(fine);
  const vector_pointers v = pointers();
  if (kernel_ == product_kernel::fastest && restrict_fast(execution_.queue(), sites, v, coarse)) return;
  for_each_index(
      execution_.queue(), coarse.sites() * coarse.columns() * coarse.components(),
      restrict_number<T, std::remove_const_t<decltype(sites)>>{coarse.numbers(), sites, v, coarse.columns()});
}

template <class T>
template <class Fine>
void transfer<T>::prolong_to(Fine& fine, const coarse_field<T>& coarse, bool add) const {
  require_shapes(fine, coarse);
  const vector_pointers v = pointers();
  if (kernel_ == product_kernel::fastest && prolong_fast(execution_.queue(), sites_of(fine), v, coarse, add)) return;
  prolong_by_gathering(fine, coarse, v, add);
}

template <class T>
template <class Fine>
void transfer<T>::prolong(Fine& fine, const coarse_field<T>& coarse) const {
  prolong_to(fine, coarse, false);
}

template <class T>
template <class Fine>
void transfer<T>::add_prolonged(Fine& fine, const coarse_field<T>& coarse) const {
  prolong_to(fine, coarse, true);
}

template <class Fine>
null_space gathered(const Fine& vectors, const std::shared_ptr<const aggregate_tables>& tables) {
  if (is_coarse(vectors) != tables->fine_is_coarse() || vectors.shape().sites != site_subset::full)
    throw std::logic_error("gathered: vectors of all sites of the finer lattice");
  null_space result(vectors.get_execution(), tables, rows_of(vectors), vectors.columns());
  const auto sites = sites_of(vectors);
  for_each_index(vectors.get_execution().queue(), tables->blocks().fine_sites() * vectors.columns(),
                 gather_vectors<std::remove_const_t<decltype(sites)>>{result.begin(), sites, tables->pointers(),
                                                                      result.rows(), result.vectors()});
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
