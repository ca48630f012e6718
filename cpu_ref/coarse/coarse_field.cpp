// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/coarse/coarse_field.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "common/random/random_stream.hpp"

namespace plaquette::cpu {

namespace {

/// Sites whose sums are added together first. Fixed, so that sums do not depend on the number of threads.
constexpr std::int64_t sites_of_a_range = 8;
/// Numbers below which one thread is quicker than several.
constexpr std::int64_t worth_a_thread = 1 << 14;

template <class T>
void require_same_shape(const coarse_field<T>& a, const coarse_field<T>& b) {
  if (!(a.shape() == b.shape()) || !(a.geometry() == b.geometry()))
    throw std::logic_error("coarse blas: fields of different shapes");
}

/// Calls body(site, column, n) for all sites and columns, over threads.
template <class T, class Body>
void for_each_column_of_a_site(const coarse_field<T>& model, Body&& body) {
  const std::int64_t sites = model.sites();
  const int columns = model.columns();
  const bool threads = sites * columns * model.components() > worth_a_thread;
#pragma omp parallel for num_threads(model.get_execution().threads()) schedule(static) if (threads)
  for (std::int64_t s = 0; s < sites; ++s)
    for (int c = 0; c < columns; ++c) body(s, c);
}

using three_sums = std::array<double, 3>;

/// The same with sums: body adds to the three it is given. Returns [column] totals over all ranks.
template <class T, class Body>
std::vector<three_sums> summed(const coarse_field<T>& model, Body&& body) {
  const std::int64_t sites = model.sites(), ranges = (sites + sites_of_a_range - 1) / sites_of_a_range;
  const int columns = model.columns();
  const bool threads = sites * columns * model.components() > worth_a_thread;
  std::vector<three_sums> partial(static_cast<std::size_t>(ranges * columns));
#pragma omp parallel for num_threads(model.get_execution().threads()) schedule(static) if (threads)
  for (std::int64_t r = 0; r < ranges; ++r)
    for (int c = 0; c < columns; ++c) {
      three_sums sums{};
      for (std::int64_t s = r * sites_of_a_range; s < std::min(sites, (r + 1) * sites_of_a_range); ++s)
        body(s, c, sums);
      partial[static_cast<std::size_t>(r * columns + c)] = sums;
    }
  std::vector<three_sums> total(static_cast<std::size_t>(columns));
  for (std::size_t i = 0; i < partial.size(); ++i)
    for (int k = 0; k < 3; ++k) total[i % total.size()][k] += partial[i][k];
  if (!total.empty()) model.get_execution().comm().sum(std::span(total.front().data(), 3 * total.size()));
  return total;
}

scalars pick(const std::vector<three_sums>& sums, int re, int im) {
  std::vector<complex<double>> values;
  for (const auto& s : sums) values.push_back({s[re], im < 0 ? 0.0 : s[im]});
  return scalars(std::move(values));
}

/// Coefficients in the fields' precision.
template <class T>
std::vector<complex<T>> rounded(const scalars& a, int columns) {
  if (a.columns() != columns) throw std::logic_error("coarse blas: scalars of another batch");
  std::vector<complex<T>> result;
  for (int c = 0; c < columns; ++c) result.push_back(complex_cast<T>(a[c]));
  return result;
}

/// Adds <a, b> (re, im) and, if requested, |b|^2 or |a|^2 to the sums. Partial sums of eight numbers at a time are
/// independent, so that they become vectors.
template <class T>
void add_dot(double& re, double& im, const complex<T>* a, const complex<T>* b, int n) {
  double sr = 0, si = 0;
#pragma omp simd reduction(+ : sr, si)
  for (int k = 0; k < n; ++k) {
    const double ar = a[k].re, ai = a[k].im, br = b[k].re, bi = b[k].im;
    sr += ar * br + ai * bi;
    si += ar * bi - ai * br;
  }
  re += sr;
  im += si;
}
template <class T>
void add_norm2(double& sum, const complex<T>* a, int n) {
  double s = 0;
#pragma omp simd reduction(+ : s)
  for (int k = 0; k < n; ++k) {
    const double ar = a[k].re, ai = a[k].im;
    s += ar * ar + ai * ai;
  }
  sum += s;
}
template <class T>
void add_multiple(complex<T>* x, const complex<T>& a, const complex<T>* u, int n) {
#pragma omp simd
  for (int k = 0; k < n; ++k) {
    x[k].re += a.re * u[k].re - a.im * u[k].im;
    x[k].im += a.re * u[k].im + a.im * u[k].re;
  }
}

}  // namespace

template <class T>
coarse_field<T>::coarse_field(const execution& on, std::shared_ptr<const coarse_geometry> geometry,
                              const field_shape& shape)
    : execution_(on), geometry_(std::move(geometry)), shape_(shape), column_stride_(shape.columns) {
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
  half.begin_ = begin_ + geometry_->first_of(p) * column_stride_ * components();
  return half;
}

template <class T>
scalars make_scalars(const coarse_field<T>& x, std::span<const complex<double>> numbers) {
  if (static_cast<int>(numbers.size()) != x.columns()) throw std::logic_error("make_scalars: one number a column");
  return scalars({numbers.begin(), numbers.end()});
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
  if (x.column_stride_ != x.columns()) throw std::logic_error("compact: not for a view of some columns");
  const auto kept = static_cast<std::int64_t>(keep.size());
  const std::size_t bytes = static_cast<std::size_t>(x.components()) * sizeof(complex<T>);
  for (std::int64_t s = 0; s < x.sites(); ++s)
    for (std::int64_t k = 0; k < kept; ++k)
      std::memmove(static_cast<void*>(x.begin_ + (s * kept + k) * x.components()),
                   x.at(s, keep[static_cast<std::size_t>(k)]), bytes);
  x.column_stride_ = kept;
  x.shape_.columns = static_cast<int>(kept);
}

template <class T>
void copy_columns(coarse_field<T>& x, std::span<const int> to, const coarse_field<T>& u, std::span<const int> from) {
  if (to.size() != from.size() || x.sites() != u.sites() || x.components() != u.components())
    throw std::logic_error("copy_columns: shapes differ");
  for (std::int64_t s = 0; s < x.sites(); ++s)
    for (std::size_t k = 0; k < to.size(); ++k) std::copy_n(u.at(s, from[k]), x.components(), x.at(s, to[k]));
}

template <class To, class From>
void convert(coarse_field<To>& to, const coarse_field<From>& from) {
  if (!(to.shape() == from.shape())) throw std::logic_error("convert: shapes differ");
  for_each_column_of_a_site(to, [&](std::int64_t s, int c) {
    for (int k = 0; k < to.components(); ++k) to.at(s, c)[k] = complex_cast<To>(from.at(s, c)[k]);
  });
}

template <class T>
void import_column(coarse_field<T>& x, int column, std::span<const complex<double>> numbers) {
  if (std::ssize(numbers) != x.sites() * x.components()) throw std::logic_error("import_column: sizes differ");
  for (std::int64_t s = 0; s < x.sites(); ++s)
    for (int k = 0; k < x.components(); ++k)
      x.at(s, column)[k] = complex_cast<T>(numbers[static_cast<std::size_t>(s * x.components() + k)]);
}

template <class T>
void export_column(std::span<complex<double>> numbers, const coarse_field<T>& x, int column) {
  if (std::ssize(numbers) != x.sites() * x.components()) throw std::logic_error("export_column: sizes differ");
  for (std::int64_t s = 0; s < x.sites(); ++s)
    for (int k = 0; k < x.components(); ++k)
      numbers[static_cast<std::size_t>(s * x.components() + k)] = complex_cast<double>(x.at(s, column)[k]);
}

template <class T>
void fill_random(coarse_field<T>& x, std::uint64_t seed, std::uint64_t first_index) {
  for_each_column_of_a_site(x, [&](std::int64_t s, int c) {
    random_stream random(seed, random_stream_id(random_purpose::spinor, first_index + static_cast<std::uint64_t>(c)),
                         static_cast<std::uint64_t>(x.geometry().global_index(x.first_site() + s)));
    for (int k = 0; k < x.components(); ++k) {
      const auto [re, im] = random.gaussians();
      x.at(s, c)[k] = {static_cast<T>(re), static_cast<T>(im)};
    }
  });
}

template <class T>
void zero(coarse_field<T>& x) {
  for_each_column_of_a_site(x, [&](std::int64_t s, int c) { std::fill_n(x.at(s, c), x.components(), complex<T>{}); });
}

template <class T>
void copy(coarse_field<T>& x, const coarse_field<T>& u) {
  require_same_shape(x, u);
  for_each_column_of_a_site(x, [&](std::int64_t s, int c) { std::copy_n(u.at(s, c), x.components(), x.at(s, c)); });
}

template <class T>
void scale(coarse_field<T>& x, const scalars& a) {
  const auto ar = rounded<T>(a, x.columns());
  for_each_column_of_a_site(x, [&](std::int64_t s, int c) {
    complex<T>* p = x.at(s, c);
    for (int k = 0; k < x.components(); ++k) p[k] = ar[static_cast<std::size_t>(c)] * p[k];
  });
}

template <class T>
void axpy(coarse_field<T>& x, const scalars& a, const coarse_field<T>& u) {
  require_same_shape(x, u);
  const auto ar = rounded<T>(a, x.columns());
  for_each_column_of_a_site(x, [&](std::int64_t s, int c) {
    add_multiple(x.at(s, c), ar[static_cast<std::size_t>(c)], u.at(s, c), x.components());
  });
}

template <class T>
void xpay(coarse_field<T>& x, const coarse_field<T>& u, const scalars& a) {
  require_same_shape(x, u);
  const auto ar = rounded<T>(a, x.columns());
  for_each_column_of_a_site(x, [&](std::int64_t s, int c) {
    complex<T>* p = x.at(s, c);
    const complex<T>*q = u.at(s, c), f = ar[static_cast<std::size_t>(c)];
    for (int k = 0; k < x.components(); ++k) p[k] = q[k] + f * p[k];
  });
}

template <class T>
scalars dot(const coarse_field<T>& u, const coarse_field<T>& v) {
  require_same_shape(u, v);
  return pick(summed(u, [&](std::int64_t s, int c,
                            three_sums& sums) { add_dot(sums[0], sums[1], u.at(s, c), v.at(s, c), u.components()); }),
              0, 1);
}

template <class T>
scalars norm2(const coarse_field<T>& u) {
  return pick(
      summed(u, [&](std::int64_t s, int c, three_sums& sums) { add_norm2(sums[0], u.at(s, c), u.components()); }), 0,
      -1);
}

template <class T>
scalars axpy_norm2(coarse_field<T>& x, const scalars& a, const coarse_field<T>& u) {
  require_same_shape(x, u);
  const auto ar = rounded<T>(a, x.columns());
  return pick(summed(x,
                     [&](std::int64_t s, int c, three_sums& sums) {
                       add_multiple(x.at(s, c), ar[static_cast<std::size_t>(c)], u.at(s, c), x.components());
                       add_norm2(sums[0], x.at(s, c), x.components());
                     }),
              0, -1);
}

template <class T>
void axpy_pair(coarse_field<T>& x, const scalars& a, const coarse_field<T>& u, const scalars& b,
               const coarse_field<T>& v) {
  require_same_shape(x, u);
  require_same_shape(x, v);
  const auto ar = rounded<T>(a, x.columns()), br = rounded<T>(b, x.columns());
  for_each_column_of_a_site(x, [&](std::int64_t s, int c) {
    add_multiple(x.at(s, c), ar[static_cast<std::size_t>(c)], u.at(s, c), x.components());
    add_multiple(x.at(s, c), br[static_cast<std::size_t>(c)], v.at(s, c), x.components());
  });
}

template <class T>
scalars subtract_norm2(coarse_field<T>& x, const coarse_field<T>& u, const coarse_field<T>& v) {
  require_same_shape(x, u);
  require_same_shape(x, v);
  return pick(summed(x,
                     [&](std::int64_t s, int c, three_sums& sums) {
                       complex<T>* p = x.at(s, c);
                       const complex<T>*q = u.at(s, c), *r = v.at(s, c);
                       for (int k = 0; k < x.components(); ++k) p[k] = q[k] - r[k];
                       add_norm2(sums[0], p, x.components());
                     }),
              0, -1);
}

template <class T>
scalars cg_update(coarse_field<T>& x, coarse_field<T>& y, const scalars& a, const coarse_field<T>& u,
                  const coarse_field<T>& v) {
  require_same_shape(x, u);
  require_same_shape(y, v);
  const auto ar = rounded<T>(a, x.columns());
  return pick(summed(x,
                     [&](std::int64_t s, int c, three_sums& sums) {
                       const complex<T> f = ar[static_cast<std::size_t>(c)];
                       add_multiple(x.at(s, c), f, u.at(s, c), x.components());
                       add_multiple(y.at(s, c), -f, v.at(s, c), x.components());
                       add_norm2(sums[0], y.at(s, c), x.components());
                     }),
              0, -1);
}

template <class T>
scalars bicgstab_step(coarse_field<T>& x, coarse_field<T>& y, coarse_field<T>& z, const scalars& a, const scalars& b,
                      const scalars& c, const coarse_field<T>& u, const coarse_field<T>& v) {
  for (const coarse_field<T>* f : {&y, &z}) require_same_shape(x, *f);
  for (const coarse_field<T>* f : {&u, &v}) require_same_shape(x, *f);
  const auto ar = rounded<T>(a, x.columns()), br = rounded<T>(b, x.columns()), cr = rounded<T>(c, x.columns());
  return pick(summed(x,
                     [&](std::int64_t s, int n, three_sums& sums) {
                       const auto i = static_cast<std::size_t>(n);
                       complex<T>*xp = x.at(s, n), *yp = y.at(s, n), *zp = z.at(s, n);
                       const complex<T>*up = u.at(s, n), *vp = v.at(s, n);
                       for (int k = 0; k < x.components(); ++k) {
                         xp[k] += ar[i] * zp[k];
                         xp[k] += br[i] * yp[k];
                         yp[k] = yp[k] - br[i] * up[k];
                         zp[k] = yp[k] + cr[i] * (zp[k] - br[i] * vp[k]);
                       }
                       add_norm2(sums[0], yp, x.components());
                     }),
              0, -1);
}

template <class T>
std::pair<scalars, scalars> dot_norm2(const coarse_field<T>& u, const coarse_field<T>& v) {
  require_same_shape(u, v);
  const auto sums = summed(u, [&](std::int64_t s, int c, three_sums& t) {
    add_dot(t[0], t[1], u.at(s, c), v.at(s, c), u.components());
    add_norm2(t[2], u.at(s, c), u.components());
  });
  return {pick(sums, 0, 1), pick(sums, 2, -1)};
}

template <class T>
std::pair<scalars, scalars> axpy_dot_norm2(coarse_field<T>& x, const scalars& a, const coarse_field<T>& u,
                                           const coarse_field<T>& w) {
  require_same_shape(x, u);
  require_same_shape(x, w);
  const auto ar = rounded<T>(a, x.columns());
  const auto sums = summed(x, [&](std::int64_t s, int c, three_sums& t) {
    add_multiple(x.at(s, c), ar[static_cast<std::size_t>(c)], u.at(s, c), x.components());
    add_dot(t[0], t[1], w.at(s, c), x.at(s, c), x.components());
    add_norm2(t[2], x.at(s, c), x.components());
  });
  return {pick(sums, 0, 1), pick(sums, 2, -1)};
}

#define PLAQUETTE_INSTANTIATE(T)                                                                                       \
  template class coarse_field<T>;                                                                                      \
  template scalars make_scalars(const coarse_field<T>&, std::span<const complex<double>>);                             \
  template coarse_field<T> view(const coarse_field<T>&, int, int);                                                     \
  template void compact(coarse_field<T>&, std::span<const int>);                                                       \
  template void copy_columns(coarse_field<T>&, std::span<const int>, const coarse_field<T>&, std::span<const int>);    \
  template void convert(coarse_field<T>&, const coarse_field<double>&);                                                \
  template void convert(coarse_field<T>&, const coarse_field<float>&);                                                 \
  template void import_column(coarse_field<T>&, int, std::span<const complex<double>>);                                \
  template void export_column(std::span<complex<double>>, const coarse_field<T>&, int);                                \
  template void fill_random(coarse_field<T>&, std::uint64_t, std::uint64_t);                                           \
  template void zero(coarse_field<T>&);                                                                                \
  template void copy(coarse_field<T>&, const coarse_field<T>&);                                                        \
  template void scale(coarse_field<T>&, const scalars&);                                                               \
  template void axpy(coarse_field<T>&, const scalars&, const coarse_field<T>&);                                        \
  template void xpay(coarse_field<T>&, const coarse_field<T>&, const scalars&);                                        \
  template scalars dot(const coarse_field<T>&, const coarse_field<T>&);                                                \
  template scalars norm2(const coarse_field<T>&);                                                                      \
  template scalars axpy_norm2(coarse_field<T>&, const scalars&, const coarse_field<T>&);                               \
  template void axpy_pair(coarse_field<T>&, const scalars&, const coarse_field<T>&, const scalars&,                    \
                          const coarse_field<T>&);                                                                     \
  template scalars subtract_norm2(coarse_field<T>&, const coarse_field<T>&, const coarse_field<T>&);                   \
  template scalars cg_update(coarse_field<T>&, coarse_field<T>&, const scalars&, const coarse_field<T>&,               \
                             const coarse_field<T>&);                                                                  \
  template scalars bicgstab_step(coarse_field<T>&, coarse_field<T>&, coarse_field<T>&, const scalars&, const scalars&, \
                                 const scalars&, const coarse_field<T>&, const coarse_field<T>&);                      \
  template std::pair<scalars, scalars> dot_norm2(const coarse_field<T>&, const coarse_field<T>&);                      \
  template std::pair<scalars, scalars> axpy_dot_norm2(coarse_field<T>&, const scalars&, const coarse_field<T>&,        \
                                                      const coarse_field<T>&);
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::cpu
