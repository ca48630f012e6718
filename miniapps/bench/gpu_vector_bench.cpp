// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/gpu_vector_bench.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "common/algebra/float_pair.hpp"
#include "common/algebra/largest.hpp"
#include "common/solvers/stretch_numbers.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/device/timing.hpp"
#include "gpu/fields/random_spinor.hpp"

namespace plaquette::bench {

namespace {

constexpr std::uint64_t seed = 25;
constexpr complex<double> first_factor{0.3, -0.2}, second_factor{-0.1, 0.4}, third_factor{0.2, 0.5};

/// The factors a and b of application k are multiplied by a cube root of unity: so fields stay of one size. Those of
/// three applications add up to 1/512: what is added up tells how many applications there were.
constexpr int phases_of_factors = 3;
complex<double> phase_of_application(std::int64_t k) {
  constexpr double half = 0.5, height = 0.86602540378443865;
  const complex<double> roots[phases_of_factors] = {{1.0, 0.0}, {-half, height}, {1.0 / 512.0 - half, -height}};
  return roots[k % phases_of_factors];
}

/// The fields of a vector operation, as cpu_ref/blas/blas.hpp names them.
template <class T>
struct operands {
  gpu::field<T> x, y, z, u, v;

  /// The norms of x, y, z differ.
  operands(const gpu::context& ctx, int columns)
      : x(made(ctx, columns, 0)),
        y(made(ctx, columns, 1)),
        z(made(ctx, columns, 2)),
        u(made(ctx, columns, 3)),
        v(made(ctx, columns, 4)) {
    scale(y, number(y, {1.25, 0.0}));
    scale(z, number(z, {0.75, 0.0}));
  }
  /// x, y, z, x, ...
  gpu::field<T>& in_turn(std::int64_t k) { return k % 3 == 0 ? x : k % 3 == 1 ? y : z; }

  static gpu::scalars number(const gpu::field<T>& like, const complex<double>& z) {
    return make_scalars(like, std::vector<complex<double>>(static_cast<std::size_t>(like.columns()), z));
  }

 private:
  static gpu::field<T> made(const gpu::context& ctx, int columns, std::uint64_t which) {
    gpu::field<T> x(ctx, {spins, colours, site_subset::even, columns});
    gpu::random_spinors(x, seed, 100 * which);
    return x;
  }
};

/// A vector operation with its coefficients.
template <class T>
class vector_operation {
 public:
  vector_operation(const std::string& name, const operands<T>& of)
      : name_(name), c_(operands<T>::number(of.x, third_factor)) {
    for (int k = 0; k < phases_of_factors; ++k) {
      a_.push_back(operands<T>::number(of.x, phase_of_application(k) * first_factor));
      b_.push_back(operands<T>::number(of.x, phase_of_application(k) * second_factor));
    }
  }

  /// Applies it for the k-th time; returns its sums, in their order. What only reads, or writes what it does not read,
  /// takes x, y, z in turn, or u and v: no application has the result of the one before.
  std::vector<gpu::scalars> apply(operands<T>& o, std::int64_t k) const {
    const gpu::scalars& a = a_[static_cast<std::size_t>(k % phases_of_factors)];
    const gpu::scalars& b = b_[static_cast<std::size_t>(k % phases_of_factors)];
    if (name_ == "copy") {
      copy(o.x, k % 2 == 1 ? o.v : o.u);
      return {};
    }
    if (name_ == "norm2") return {norm2(o.in_turn(k))};
    if (name_ == "dot") return {dot(o.in_turn(k), o.u)};
    if (name_ == "axpy") {
      axpy(o.x, a, o.u);
      return {};
    }
    if (name_ == "xpay") {
      xpay(o.x, o.u, a);
      return {};
    }
    if (name_ == "axpy_norm2") return {axpy_norm2(o.x, a, o.u)};
    if (name_ == "cg_update") return {cg_update(o.x, o.y, a, o.u, o.v)};
    if (name_ == "direction") {
      bicgstab_direction(o.x, o.u, a, b, o.v);
      return {};
    }
    if (name_ == "bicgstab") {
      return {bicgstab_step(o.x, o.y, o.z, a, b, c_, o.u, o.v)};
    }
    throw std::logic_error("no vector operation is called " + name_);
  }

 private:
  std::string name_;
  std::vector<gpu::scalars> a_, b_;
  gpu::scalars c_;
};

using numbers = std::vector<complex<double>>;

/// One column of the operands on the host.
struct host_operands {
  numbers x, y, z, u, v;
};

template <class T>
host_operands on_host(const operands<T>& o, int column) {
  return {column_numbers(o.x, column), column_numbers(o.y, column), column_numbers(o.z, column),
          column_numbers(o.u, column), column_numbers(o.v, column)};
}

/// In long double: what it rounds is not seen against what double does.
complex<double> product(const numbers& u, const numbers& v) {
  long double re = 0.0L, im = 0.0L;
  for (std::size_t i = 0; i < u.size(); ++i) {
    const complex<double> z = conj(u[i]) * v[i];
    re += z.re;
    im += z.im;
  }
  return {static_cast<double>(re), static_cast<double>(im)};
}

/// The definitions: application k to the numbers 0, `step`, 2 `step`, ... of each field.
void apply_on_host(const std::string& name, host_operands& o, std::int64_t k, std::size_t step = 1) {
  const complex<double> a = phase_of_application(k) * first_factor, b = phase_of_application(k) * second_factor;
  const complex<double> c = third_factor;
  for (std::size_t i = 0; i < o.x.size(); i += step) {
    const complex<double> x = o.x[i], y = o.y[i], z = o.z[i], u = o.u[i], v = o.v[i];
    if (name == "copy") o.x[i] = k % 2 == 1 ? v : u;
    if (name == "axpy" || name == "axpy_norm2") o.x[i] = x + a * u;
    if (name == "xpay") o.x[i] = u + a * x;
    if (name == "cg_update") {
      o.x[i] = x + a * u;
      o.y[i] = y - a * v;
    }
    if (name == "direction") o.x[i] = u + a * (x - b * v);
    if (name == "bicgstab") {
      o.x[i] = x + a * z + b * y;
      o.y[i] = y - b * u;
      o.z[i] = o.y[i] + c * (z - b * v);
    }
  }
}

/// The sums of application k, of the fields as it left them.
numbers sums_on_host(const std::string& name, const host_operands& o, std::int64_t k) {
  const numbers& in_turn = k % 3 == 0 ? o.x : k % 3 == 1 ? o.y : o.z;
  if (name == "norm2") return {product(in_turn, in_turn)};
  if (name == "axpy_norm2") return {product(o.x, o.x)};
  if (name == "dot") return {product(in_turn, o.u)};
  if (name == "cg_update" || name == "bicgstab") return {product(o.y, o.y)};
  return {};
}

/// Of the numbers 0, `step`, 2 `step`, ...
double relative_distance(const numbers& found, const numbers& expected, std::size_t step) {
  double wrong = 0.0, size = 0.0;
  for (std::size_t i = 0; i < found.size(); i += step) {
    wrong += norm2(found[i] - expected[i]);
    size += norm2(expected[i]);
  }
  return std::sqrt(wrong / size);
}

/// The largest distance of fields and sums from what the definitions make of them. A sum is compared with the product
/// of its vectors' norms, all near that of y, since it may nearly vanish itself.
/// \param expected  of the column, at every `step`-th number
double distance(const std::string& name, const host_operands& found, const host_operands& expected,
                const std::vector<gpu::scalars>& sums, int column, std::int64_t k, std::size_t step) {
  double largest = 0.0;
  const auto see = [&](double value) { keep_largest(largest, value); };
  see(relative_distance(found.x, expected.x, step));
  see(relative_distance(found.y, expected.y, step));
  see(relative_distance(found.z, expected.z, step));
  const numbers expected_sums = sums_on_host(name, found, k);
  const double scale = product(found.y, found.y).re;
  for (std::size_t i = 0; i < sums.size(); ++i)
    see(std::sqrt(norm2(host_values(sums[i])[static_cast<std::size_t>(column)] - expected_sums[i])) / scale);
  return largest;
}

template <class T>
double distance_from_definition(const std::string& name, const std::shared_ptr<gpu::tuner>& tuner) {
  const gpu::context ctx(lattice_geometry({8, 6, 4, 8}), communicator(), 0, tuner);
  constexpr int columns = 3;
  operands<T> o(ctx, columns);
  std::vector<host_operands> expected;
  for (int c = 0; c < columns; ++c) expected.push_back(on_host(o, c));
  const auto sums = vector_operation<T>(name, o).apply(o, 0);
  double largest = 0.0;
  for (int c = 0; c < columns; ++c) {
    host_operands& host = expected[static_cast<std::size_t>(c)];
    apply_on_host(name, host, 0);
    const double here = distance(name, on_host(o, c), host, sums, c, 0, 1);
    keep_largest(largest, here);
  }
  return largest;
}

/// A few roundings of a number, each half an epsilon; 16 bits leave 1.2e-5 of a site's largest number, which is some
/// three times the others.
template <class T>
double tolerance() {
  if constexpr (std::is_same_v<T, float_pair>)
    return 0x1p-44;
  else
    return gpu::is_half<T> ? 1e-4 : 4.0 * std::numeric_limits<gpu::real_of<T>>::epsilon();
}

template <class T>
std::vector<timed_samples> time_in(const gpu::context& ctx, const gpu_row& row, const gpu_timing& timing,
                                   verification& checks) {
  const std::shared_ptr<gpu::tuner> same(&ctx.tuner(), [](gpu::tuner*) {});
  checks.add(row.name, distance_from_definition<T>(row.operation, same), tolerance<T>());
  operands<T> o(ctx, row.rhs);
  const vector_operation<T> operation(row.operation, o);
  const int judged = row.rhs - 1;
  host_operands expected = on_host(o, judged);
  std::int64_t applications = 0;
  std::vector<gpu::scalars> sums;
  const auto twice = [&] {
    for (int i = 0; i < 2; ++i) sums = operation.apply(o, applications++);
  };
  twice();
  // Nothing of the last output, where it does not matter for the next.
  if (row.operation == "copy") scale(o.x, operands<T>::number(o.x, scaling::not_a_number));
  auto samples = time_on_gpu({gpu::by_device_clock(ctx.queue(), twice, 2)}, timing.how, timing.protocols);
  // All applications are done again on the host, at some two thousand numbers. Roundings add up like a random walk;
  // half of a walk may go one way where a factor is small.
  const std::size_t step = std::max<std::size_t>(1, expected.x.size() / 1999);
  for (std::int64_t k = 0; k < applications; ++k) apply_on_host(row.operation, expected, k, step);
  const double roundings = 2.0 * std::sqrt(static_cast<double>(applications));
  checks.add(row.name + ", last timed output",
             distance(row.operation, on_host(o, judged), expected, sums, judged, applications - 1, step),
             roundings * tolerance<T>());
  return samples;
}

}  // namespace

std::vector<timed_samples> time_vector_operation(const gpu::context& ctx, const gpu_row& row, const gpu_timing& timing,
                                                 verification& checks) {
  if (row.precision == "pairs") return time_in<float_pair>(ctx, row, timing, checks);
  if (row.precision == "double") return time_in<double>(ctx, row, timing, checks);
  if (row.precision == "half") return time_in<half>(ctx, row, timing, checks);
  return time_in<float>(ctx, row, timing, checks);
}

}  // namespace plaquette::bench
