// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Inverses of the diagonals of many sites at once, by Gauss and Jordan with the largest pivot of each column. A step
/// takes all sites from one copy of their matrices to the other, so that every kernel is a pure gather.
#include <algorithm>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "gpu/coarse/coarse_operator.hpp"
#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

namespace {

/// Matrices [site][row][column] in double.
using wide = complex<double>;

struct load_diagonal {
  wide* to;
  const complex<float>* from;
  std::int64_t size, stride;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t site = index / size;
    to[index] = complex_cast<double>(from[site * stride + (index - site * size)]);
  }
};

/// The row, from k on, with the largest number in column k. Marks the matrix if that is zero or not a number.
struct find_pivot {
  const wide* a;
  std::int32_t* pivots;  ///< [step][site]
  std::int32_t* singular;
  std::int64_t sites;
  std::int32_t n, k;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t site) const {
    const wide* const m = a + site * n * n;
    double largest = 0.0;
    std::int32_t best = k;
    bool usable = true;
    for (std::int32_t i = k; i < n; ++i) {
      const double size = norm2(m[i * n + k]);
      usable = usable && size < 1e300;  // false for NaN
      if (size > largest) {
        largest = size;
        best = i;
      }
    }
    pivots[k * sites + site] = best;
    if (!usable || largest == 0.0) singular[site] = 1;
  }
};

/// Step k: rows k and the pivot's change places; then column k is eliminated, and the inverse grows in its place.
struct eliminate {
  const wide* a;
  wide* b;
  const std::int32_t* pivots;
  std::int64_t sites;
  std::int32_t n, k;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t size = std::int64_t{n} * n, site = index / size, rest = index - site * size;
    const auto i = static_cast<std::int32_t>(rest / n), j = static_cast<std::int32_t>(rest - std::int64_t{i} * n);
    const wide* const m = a + site * size;
    const std::int32_t pivot = pivots[k * sites + site], from = i == k ? pivot : i == pivot ? k : i;
    const wide one{1.0, 0.0};
    const wide inverse = one / m[pivot * n + k];
    const wide of_pivot = (j == k ? one : m[pivot * n + j]) * inverse;
    b[index] = i == k ? of_pivot : (j == k ? wide{} : m[from * n + j]) - m[from * n + k] * of_pivot;
  }
};

/// Undoes the exchanges of rows, as exchanges of columns in the opposite order.
struct store_inverse {
  const wide* a;
  complex<float>* to;
  const std::int32_t* pivots;
  std::int64_t sites;
  std::int32_t n;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t size = std::int64_t{n} * n, site = index / size, rest = index - site * size;
    const auto i = static_cast<std::int32_t>(rest / n);
    auto j = static_cast<std::int32_t>(rest - std::int64_t{i} * n);
    for (std::int32_t k = 0; k < n; ++k) {
      const std::int32_t pivot = pivots[k * sites + site];
      j = j == k ? pivot : j == pivot ? k : j;
    }
    to[index] = complex_cast<float>(a[site * size + i * n + j]);
  }
};

/// One number of X^-1 Y_d.
struct multiply_link {
  complex<float>* to;
  const complex<float>* inverse;
  const complex<float>* matrices;
  std::int32_t n;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t size = std::int64_t{n} * n, link = index / size, site = link / hop_directions;
    const std::int64_t rest = index - link * size, i = rest / n, j = rest - i * n;
    const complex<float>* const x = inverse + site * size + i * n;
    const complex<float>* const y =
        matrices + (site * coarse_matrices_of_a_site + 1 + (link - site * hop_directions)) * size + j;
    complex<float> sum{};
    for (std::int32_t k = 0; k < n; ++k) sum += x[k] * y[std::int64_t{k} * n];
    to[index] = sum;
  }
};

std::shared_ptr<complex<float>> matrices_on_device(const execution& on, std::int64_t numbers) {
  auto memory = on.workspace().take(static_cast<std::size_t>(numbers) * sizeof(complex<float>));
  return {memory, reinterpret_cast<complex<float>*>(memory.get())};
}

}  // namespace

std::shared_ptr<const complex<float>> inverse_diagonals(const coarse_matrices& m) {
  const execution& on = m.get_execution();
  const queue& q = on.queue();
  const std::int32_t n = m.n();
  const std::int64_t all = m.lattice().geometry().sites(), size = std::int64_t{n} * n;
  auto inverse = matrices_on_device(on, all * size);
  constexpr std::int64_t most_bytes = std::int64_t{1} << 28;
  const std::int64_t at_once =
      std::clamp<std::int64_t>(most_bytes / (size * static_cast<std::int64_t>(sizeof(wide))), 1, all);
  const auto memory = [&](std::int64_t bytes) { return on.workspace().take(static_cast<std::size_t>(bytes)); };
  const std::int64_t bytes = at_once * size * static_cast<std::int64_t>(sizeof(wide));
  auto first = memory(bytes), second = memory(bytes);
  const auto pivots = memory(at_once * n * 4), singular = memory(at_once * 4);
  bool usable = true;
  for (std::int64_t begin = 0; begin < all; begin += at_once) {
    const std::int64_t sites = std::min(at_once, all - begin);
    auto* a = reinterpret_cast<wide*>(first.get());
    auto* b = reinterpret_cast<wide*>(second.get());
    auto* const rows = reinterpret_cast<std::int32_t*>(pivots.get());
    auto* const marks = reinterpret_cast<std::int32_t*>(singular.get());
    fill_bytes(q, marks, 0, static_cast<std::size_t>(sites) * 4);
    const std::int64_t stride = coarse_matrices_of_a_site * size;
    for_each_index(q, sites * size, load_diagonal{a, m.begin() + begin * stride, size, stride});
    for (std::int32_t k = 0; k < n; ++k) {
      for_each_index(q, sites, find_pivot{a, rows, marks, sites, n, k}, 64);
      for_each_index(q, sites * size, eliminate{a, b, rows, sites, n, k});
      std::swap(a, b);
    }
    for_each_index(q, sites * size, store_inverse{a, inverse.get() + begin * size, rows, sites, n});
    std::vector<std::int32_t> found(static_cast<std::size_t>(sites));
    copy_to_host(q, found.data(), marks, found.size() * 4);
    usable = usable && std::ranges::all_of(found, [](std::int32_t mark) { return mark == 0; });
  }
  double wrong = usable ? 0.0 : 1.0;
  on.comm().sum({&wrong, 1});
  if (wrong > 0.0)
    throw input_error(
        "multigrid: the coarse operator's diagonal has no inverse at some site; use other null vectors "
        "(another seed, more setup iterations) or another aggregate shape");
  return inverse;
}

std::shared_ptr<const complex<float>> preconditioned_links(const coarse_matrices& m, const complex<float>* inverse) {
  const execution& on = m.get_execution();
  const std::int64_t count = m.lattice().geometry().sites() * hop_directions * m.n() * m.n();
  auto links = matrices_on_device(on, count);
  for_each_index(on.queue(), count, multiply_link{links.get(), inverse, m.begin(), m.n()});
  return links;
}

}  // namespace plaquette::gpu
