// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/coarse/transfer.hpp"

#include <cmath>
#include <functional>
#include <stdexcept>

#include "common/error.hpp"
#include "common/random/random_stream.hpp"
#include "cpu_ref/coarse/coarse_kernels.hpp"
#include "cpu_ref/coarse/local_columns.hpp"
#include "cpu_ref/fields/lane_numbers.hpp"

namespace plaquette::cpu {

namespace {

/// Which parities a field has.
struct parities_of_field {
  bool has[2];
};
template <class Field>
parities_of_field parities(const Field& x) {
  return {{x.shape().sites != site_subset::odd, x.shape().sites != site_subset::even}};
}

/// Calls visit(fine site, column, load, store): a site of quarks as 12 numbers in the DeGrand-Rossi basis, chirality
/// after chirality.
template <class T, class Number, class Visit>
void for_each_site_of(const field<T>& x, std::type_identity<Number>, Visit&& visit) {
  const block_layout& layout = x.layout();
  const int width = layout.width();
  for (int part = 0; part < x.parts(); ++part)
#pragma omp parallel for num_threads(x.get_execution().threads()) schedule(static)
    for (std::int64_t b = 0; b < layout.blocks(); ++b)
      for (int c = 0; c < x.columns(); ++c)
        for (int lane = 0; lane < width; ++lane) {
          const auto* from = x.block(part, b, c) + lane;
          visit(layout.site(x.parity_of_part(part), b, lane), c, const_cast<word_of<T>*>(from), width);
        }
}

template <class Number, class T>
void load_fine(complex<Number>* numbers, const word_of<T>* from, int width, std::type_identity<T>) {
  if constexpr (is_half<T>) {
    complex<double> exact[spins * colours];
    read_lane<T>(exact, from, width);
    for (int k = 0; k < spins * colours; ++k) numbers[k] = complex_cast<Number>(exact[k]);
  } else {
    for (int k = 0; k < spins * colours; ++k)
      numbers[k] = {static_cast<Number>(from[2 * k * width]), static_cast<Number>(from[(2 * k + 1) * width])};
  }
}

template <class Number, class T>
void store_fine(word_of<T>* to, const complex<Number>* numbers, int width, std::type_identity<T>) {
  if constexpr (is_half<T>) {
    complex<double> exact[spins * colours];
    for (int k = 0; k < spins * colours; ++k) exact[k] = complex_cast<double>(numbers[k]);
    write_lane<T>(to, width, exact);
  } else {
    for (int k = 0; k < spins * colours; ++k) {
      to[2 * k * width] = static_cast<T>(numbers[k].re);
      to[(2 * k + 1) * width] = static_cast<T>(numbers[k].im);
    }
  }
}

/// buffer[column][row] from a field, rows in the order of aggregates.
template <class Number, class T>
void gather(complex<Number>* buffer, const field<T>& x, const aggregates& blocks) {
  const std::int64_t rows = blocks.fine_sites() * spins * colours;
  for_each_site_of(x, std::type_identity<Number>{}, [&](std::int64_t site, int c, word_of<T>* lane, int width) {
    complex<Number> numbers[spins * colours];
    load_fine(numbers, lane, width, std::type_identity<T>{});
    rotate_spin_basis(numbers, colours);
    const std::int64_t place = blocks.place(site);
    for (int chirality = 0; chirality < chiralities; ++chirality)
      std::copy_n(numbers + chirality * 6, 6, buffer + c * rows + blocks.row_begin(place, chirality, 6));
  });
}

template <class Number, class T>
void scatter(field<T>& x, const complex<Number>* buffer, const aggregates& blocks, bool add) {
  const std::int64_t rows = blocks.fine_sites() * spins * colours;
  for_each_site_of(x, std::type_identity<Number>{}, [&](std::int64_t site, int c, word_of<T>* lane, int width) {
    complex<Number> numbers[spins * colours];
    const std::int64_t place = blocks.place(site);
    for (int chirality = 0; chirality < chiralities; ++chirality)
      std::copy_n(buffer + c * rows + blocks.row_begin(place, chirality, 6), 6, numbers + chirality * 6);
    rotate_spin_basis(numbers, colours);
    if (add) {
      complex<Number> before[spins * colours];
      load_fine(before, lane, width, std::type_identity<T>{});
      for (int k = 0; k < spins * colours; ++k) numbers[k] += before[k];
    }
    store_fine(lane, numbers, width, std::type_identity<T>{});
  });
}

template <class Number, class T>
void gather(complex<Number>* buffer, const coarse_field<T>& x, const aggregates& blocks) {
  const int n = x.components(), rows_of_a_site = n / 2;
  const std::int64_t rows = blocks.fine_sites() * n;
#pragma omp parallel for num_threads(x.get_execution().threads()) schedule(static)
  for (std::int64_t s = 0; s < x.sites(); ++s) {
    const coordinate at = x.geometry().local_coordinate(x.first_site() + s);
    const std::int64_t place = blocks.place(lexicographic(at, x.geometry().local()));
    for (int c = 0; c < x.columns(); ++c)
      for (int chirality = 0; chirality < chiralities; ++chirality) {
        complex<Number>* to = buffer + c * rows + blocks.row_begin(place, chirality, rows_of_a_site);
        for (int k = 0; k < rows_of_a_site; ++k)
          to[k] = complex_cast<Number>(x.at(s, c)[chirality * rows_of_a_site + k]);
      }
  }
}

template <class Number, class T>
void scatter(coarse_field<T>& x, const complex<Number>* buffer, const aggregates& blocks, bool add) {
  const int n = x.components(), rows_of_a_site = n / 2;
  const std::int64_t rows = blocks.fine_sites() * n;
#pragma omp parallel for num_threads(x.get_execution().threads()) schedule(static)
  for (std::int64_t s = 0; s < x.sites(); ++s) {
    const coordinate at = x.geometry().local_coordinate(x.first_site() + s);
    const std::int64_t place = blocks.place(lexicographic(at, x.geometry().local()));
    for (int c = 0; c < x.columns(); ++c)
      for (int chirality = 0; chirality < chiralities; ++chirality) {
        const complex<Number>* from = buffer + c * rows + blocks.row_begin(place, chirality, rows_of_a_site);
        complex<T>* to = x.at(s, c) + chirality * rows_of_a_site;
        for (int k = 0; k < rows_of_a_site; ++k) {
          const complex<T> z = complex_cast<T>(from[k]);
          to[k] = add ? to[k] + z : z;
        }
      }
  }
}

template <class T>
int rows_of(const field<T>&) {
  return spins * colours / 2;
}
template <class T>
int rows_of(const coarse_field<T>& x) {
  return x.components() / 2;
}

}  // namespace

/// Numbers of a fine field as [column][row], in memory of the pool.
template <class T>
struct transfer<T>::numbers_by_aggregate {
  std::shared_ptr<std::byte> storage;
  complex<T>* begin;
  std::int64_t rows;

  numbers_by_aggregate(const transfer& t, int columns) : rows(t.blocks_.fine_sites() * chiralities * t.rows_) {
    storage = t.execution_.workspace().take(static_cast<std::size_t>(rows * columns) * sizeof(complex<T>));
    begin = reinterpret_cast<complex<T>*>(storage.get());
  }
};

template <class T>
transfer<T>::transfer(const execution& on, const null_space& v)
    : execution_(on),
      blocks_(v.blocks),
      coarse_(std::make_shared<const coarse_geometry>(v.blocks.coarse())),
      rows_(v.rows),
      vectors_(v.vectors) {
  const int padded = padded_row(vectors_);
  const std::int64_t rows = blocks_.fine_sites() * chiralities * rows_;
  auto packed = std::make_shared<aligned_buffer<T>>(static_cast<std::size_t>(2 * padded * rows));
#pragma omp parallel for num_threads(on.threads()) schedule(static)
  for (std::int64_t r = 0; r < rows; ++r) {
    T* to = packed->data() + 2 * padded * r;
    for (int k = 0; k < padded; ++k) {
      const complex<float> z = k < vectors_ ? v.row(r)[k] : complex<float>{};
      to[k] = z.re;
      to[padded + k] = z.im;
    }
  }
  packed_ = std::move(packed);
}

template <class T>
coarse_field<T> transfer<T>::coarse_like(int columns) const {
  return {execution_, coarse_, {chiralities, vectors_, site_subset::full, columns}};
}

template <class T>
template <class Fine>
void transfer<T>::restrict_to(coarse_field<T>& coarse, const Fine& fine) const {
  if (rows_of(fine) != rows_ || coarse.components() != 2 * vectors_ || coarse.columns() != fine.columns() ||
      coarse.shape().sites != site_subset::full)
    throw std::logic_error("restrict_to: fields of other shapes than the null vectors'");
  const auto kernel = coarse_kernels_of<T>(execution_.isa()).by_rows;
  const auto [has] = parities(fine);
  const int padded = padded_row(vectors_);
  numbers_by_aggregate numbers(*this, fine.columns());
  gather(numbers.begin, fine, blocks_);
#pragma omp parallel for num_threads(execution_.threads()) schedule(static)
  for (std::int64_t s = 0; s < coarse_->sites(); ++s)
    for (int chirality = 0; chirality < chiralities; ++chirality) {
      row_products<T> p;
      p.products = 1;
      p.length = vectors_;
      p.columns = fine.columns();
      p.conjugate = true;
      p.out = coarse.at(s, 0) + chirality * vectors_;
      p.out_stride = p.start_stride = coarse.components();
      p.x_stride[0] = numbers.rows;
      bool begun = false;
      for (int parity = 0; parity < 2; ++parity) {
        p.rows = has[parity] ? blocks_.sites_of(s, parity) * rows_ : 0;
        if (p.rows == 0 && (begun || parity == 0)) continue;
        const std::int64_t first = blocks_.block_begin(s, parity, chirality, rows_);
        p.matrix[0] = packed_->data() + 2 * padded * first;
        p.x[0] = numbers.begin + first;
        p.start = begun ? p.out : nullptr;
        kernel(p);
        begun = true;
      }
    }
}

namespace {

/// buffer = P coarse, for the parities that are wanted.
template <class T>
void prolong_numbers(complex<T>* buffer, std::int64_t stride, const coarse_field<T>& coarse, const aggregates& blocks,
                     const T* packed, int rows, int vectors, const bool (&has)[2]) {
  const auto kernel = coarse_kernels_of<T>(coarse.get_execution().isa()).by_columns;
  const int padded = padded_row(vectors);
#pragma omp parallel for num_threads(coarse.get_execution().threads()) schedule(static)
  for (std::int64_t s = 0; s < coarse.sites(); ++s)
    for (int chirality = 0; chirality < chiralities; ++chirality)
      for (int parity = 0; parity < 2; ++parity) {
        if (!has[parity]) continue;
        const std::int64_t first = blocks.block_begin(s, parity, chirality, rows);
        column_products<T> p;
        p.matrix = packed + 2 * padded * first;
        p.x = coarse.at(s, 0) + chirality * vectors;
        p.x_stride = coarse.components();
        p.rows = blocks.sites_of(s, parity) * rows;
        p.length = vectors;
        p.columns = coarse.columns();
        p.out = buffer + first;
        p.out_stride = stride;
        kernel(p);
      }
}

}  // namespace

template <class T>
template <class Fine>
void transfer<T>::prolong(Fine& fine, const coarse_field<T>& coarse) const {
  numbers_by_aggregate numbers(*this, fine.columns());
  prolong_numbers(numbers.begin, numbers.rows, coarse, blocks_, packed_->data(), rows_, vectors_, parities(fine).has);
  scatter(fine, numbers.begin, blocks_, false);
}

template <class T>
template <class Fine>
void transfer<T>::add_prolonged(Fine& fine, const coarse_field<T>& coarse) const {
  numbers_by_aggregate numbers(*this, fine.columns());
  prolong_numbers(numbers.begin, numbers.rows, coarse, blocks_, packed_->data(), rows_, vectors_, parities(fine).has);
  scatter(fine, numbers.begin, blocks_, true);
}

template <class Fine>
null_space gathered(const Fine& vectors, const aggregates& blocks) {
  const int rows = rows_of(vectors), count = vectors.columns();
  null_space result(blocks, rows, count);
  const std::int64_t all_rows = blocks.fine_sites() * chiralities * rows;
  std::vector<complex<float>> one(static_cast<std::size_t>(all_rows));
  for (int k = 0; k < count; ++k) {
    gather(one.data(), view(vectors, k, 1), blocks);
#pragma omp parallel for num_threads(vectors.get_execution().threads()) schedule(static)
    for (std::int64_t r = 0; r < all_rows; ++r) result.row(r)[k] = one[static_cast<std::size_t>(r)];
  }
  return result;
}

namespace {

/// Vectors of one aggregate and chirality, [vector][re, im][rows].
class local_basis {
 public:
  local_basis(int rows, int vectors)
      : rows_(rows), numbers_(2 * static_cast<std::size_t>(rows) * static_cast<std::size_t>(vectors)) {}
  double* re(int k) { return numbers_.data() + 2 * static_cast<std::ptrdiff_t>(k) * rows_; }
  double* im(int k) { return re(k) + rows_; }

  double norm2(int k) {
    const double *r = re(k), *i = im(k);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < rows_; ++j) sum += r[j] * r[j] + i[j] * i[j];
    return sum;
  }
  /// v_k -= v_l <v_l, v_k>
  void project_out(int k, int l) {
    double *kr = re(k), *ki = im(k);
    const double *lr = re(l), *li = im(l);
    double a = 0, b = 0;
#pragma omp simd reduction(+ : a, b)
    for (int j = 0; j < rows_; ++j) {
      a += lr[j] * kr[j] + li[j] * ki[j];
      b += lr[j] * ki[j] - li[j] * kr[j];
    }
#pragma omp simd
    for (int j = 0; j < rows_; ++j) {
      kr[j] -= a * lr[j] - b * li[j];
      ki[j] -= a * li[j] + b * lr[j];
    }
  }
  void normalise(int k, double norm) {
    for (int j = 0; j < 2 * rows_; ++j) re(k)[j] /= norm;
  }
  void randomise(int k, random_stream& random) {
    for (int j = 0; j < 2 * rows_; ++j) re(k)[j] = random.gaussians().first;
  }

 private:
  int rows_;
  std::vector<double> numbers_;
};

// A vector of which so little is left by the others is rounding of single precision.
constexpr double least_part = 1e-5;

/// The vectors of one aggregate and chirality, made orthonormal. Both ways take them from `load(row, vector)` and give
/// them to `store(row, vector, number)`.
class local_orthonormaliser {
 public:
  local_orthonormaliser(int rows, int vectors, instruction_set isa)
      : rows_(rows), vectors_(vectors), columns_(rows, vectors, isa) {}

  /// Cholesky QR, twice: V = Q R with R^+ R = V^+ V. Products of matrices; but only for vectors that each add something
  /// to those before. Returns whether they do; stores nothing if they do not.
  template <class Load, class Store>
  bool by_cholesky(const Load& load, const Store& store) {
    for (int j = 0; j < rows_; ++j)
      for (int k = 0; k < vectors_; ++k) columns_.column(k)[j] = load(j, k);
    for (int pass = 0; pass < 2; ++pass) {
      if (!make_inverse_factor()) return false;
      columns_.combine(inverse_.data(), vectors_, columns_.data());
    }
    for (int j = 0; j < rows_; ++j)
      for (int k = 0; k < vectors_; ++k) store(j, k, columns_.column(k)[j]);
    return true;
  }

  /// Gram-Schmidt, twice. A vector that adds nothing gives way to a random one, and is counted.
  template <class Load, class Store>
  void by_gram_schmidt(const Load& load, const Store& store, std::uint64_t stream,
                       std::vector<std::uint64_t>& replaced) const {
    local_basis basis(rows_, vectors_);
    for (int j = 0; j < rows_; ++j)
      for (int k = 0; k < vectors_; ++k) {
        const complex<double> z = load(j, k);
        basis.re(k)[j] = z.re;
        basis.im(k)[j] = z.im;
      }
    for (int k = 0; k < vectors_; ++k) {
      random_stream random(static_cast<std::uint64_t>(k), random_stream_id(random_purpose::test, 1), stream);
      for (bool done = false; !done;) {
        const double before = std::sqrt(basis.norm2(k));
        for (int pass = 0; pass < 2; ++pass)
          for (int l = 0; l < k; ++l) basis.project_out(k, l);
        const double after = std::sqrt(basis.norm2(k));
        done = after > least_part * before;
        if (done)
          basis.normalise(k, after);
        else {
          basis.randomise(k, random);
          ++replaced[static_cast<std::size_t>(k)];
        }
      }
    }
    for (int j = 0; j < rows_; ++j)
      for (int k = 0; k < vectors_; ++k) store(j, k, complex<double>{basis.re(k)[j], basis.im(k)[j]});
  }

 private:
  /// R^-1, [column][row], of V^+ V = R^+ R. Returns false if R has no inverse to speak of.
  bool make_inverse_factor() {
    const int n = vectors_;
    std::vector<complex<double>> gram(static_cast<std::size_t>(n * n));  // [c][k] = <v_k, v_c>
    columns_.inner_products(gram.data());
    // L L^+ = V^+ V, L lower, in place of gram: [row][column].
    std::vector<complex<double>> l(static_cast<std::size_t>(n * n));
    const auto at = [n](auto& m, int i, int j) -> auto& { return m[static_cast<std::size_t>(i * n + j)]; };
    for (int j = 0; j < n; ++j) {
      const double whole = at(gram, j, j).re;
      double left = whole;
      for (int k = 0; k < j; ++k) left -= norm2(at(l, j, k));
      if (!(left > least_part * least_part * whole)) return false;
      const double pivot = std::sqrt(left);
      at(l, j, j) = {pivot, 0.0};
      for (int i = j + 1; i < n; ++i) {
        complex<double> sum = at(gram, j, i);  // <v_i, v_j>
        for (int k = 0; k < j; ++k) sum -= at(l, i, k) * conj(at(l, j, k));
        at(l, i, j) = (1.0 / pivot) * sum;
      }
    }
    // R = L^+, upper. Column c of R^-1 by back substitution.
    inverse_.assign(static_cast<std::size_t>(n * n), {});
    for (int c = 0; c < n; ++c)
      for (int i = c; i >= 0; --i) {
        complex<double> sum{i == c ? 1.0 : 0.0, 0.0};
        for (int k = i + 1; k <= c; ++k) sum -= conj(at(l, k, i)) * at(inverse_, c, k);
        at(inverse_, c, i) = (1.0 / at(l, i, i).re) * sum;
      }
    return true;
  }

  int rows_, vectors_;
  local_columns columns_;
  std::vector<complex<double>> inverse_;  ///< [column][row]
};

}  // namespace

orthonormalisation orthonormalise(null_space& v, const execution& on) {
  const aggregates& blocks = v.blocks;
  const int rows = blocks.volume() * v.rows;
  if (v.vectors > rows)
    throw input_error("multigrid: " + std::to_string(v.vectors) + " null vectors a chirality on aggregates of " +
                      to_string(blocks.shape()) + ", which hold " + std::to_string(rows) +
                      " numbers of one: take fewer vectors or larger aggregates");
  std::vector<std::uint64_t> replaced(static_cast<std::size_t>(v.vectors));
#pragma omp parallel num_threads(on.threads())
  {
    local_orthonormaliser orthonormaliser(rows, v.vectors, on.isa());
    std::vector<std::uint64_t> replaced_here(replaced.size());
#pragma omp for schedule(dynamic)
    for (std::int64_t task = 0; task < blocks.coarse().sites() * chiralities; ++task) {
      const std::int64_t s = task / chiralities;
      const int chirality = static_cast<int>(task % chiralities);
      const rows_of_aggregate place(blocks, s, chirality, v.rows);
      const auto row = [&](int j) { return v.row(place(j)); };
      const auto load = [&](int j, int k) { return complex_cast<double>(row(j)[k]); };
      const auto store = [&](int j, int k, const complex<double>& z) { row(j)[k] = complex_cast<float>(z); };
      if (!orthonormaliser.by_cholesky(load, store))
        orthonormaliser.by_gram_schmidt(
            load, store, static_cast<std::uint64_t>(blocks.coarse().global_index(s) * chiralities + chirality),
            replaced_here);
    }
#pragma omp critical
    std::ranges::transform(replaced, replaced_here, replaced.begin(), std::plus{});
  }
  on.comm().sum(std::span(replaced));
  return {{replaced.begin(), replaced.end()}, volume(blocks.coarse().global()) * chiralities};
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
template null_space gathered(const field<float>&, const aggregates&);
template null_space gathered(const field<double>&, const aggregates&);
template null_space gathered(const coarse_field<float>&, const aggregates&);
template null_space gathered(const coarse_field<double>&, const aggregates&);

}  // namespace plaquette::cpu
