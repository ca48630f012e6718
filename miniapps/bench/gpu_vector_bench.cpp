// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/gpu_vector_bench.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "gpu/blas/blas.hpp"
#include "gpu/fields/random_spinor.hpp"

namespace plaquette::bench {

namespace {

constexpr std::uint64_t seed = 25;
constexpr complex<double> first_factor{0.3, -0.2}, second_factor{-0.1, 0.4}, third_factor{0.2, 0.5};

/// The fields of a vector operation, as cpu_ref/blas/blas.hpp names them.
template <class T>
struct operands {
  gpu::field<T> x, y, z, u, v;

  operands(const gpu::context& ctx, int columns)
      : x(made(ctx, columns, 0)),
        y(made(ctx, columns, 1)),
        z(made(ctx, columns, 2)),
        u(made(ctx, columns, 3)),
        v(made(ctx, columns, 4)) {}

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
      : name_(name),
        a_(number(of.x, first_factor)),
        b_(number(of.x, second_factor)),
        c_(number(of.x, third_factor)),
        minus_a_(-a_),
        minus_b_(-b_) {}

  /// Its sums, in their order.
  std::vector<gpu::scalars> apply(operands<T>& o, bool forwards = true) const {
    const gpu::scalars& a = forwards ? a_ : minus_a_;
    const gpu::scalars& b = forwards ? b_ : minus_b_;
    if (name_ == "copy") {
      copy(o.x, o.u);
      return {};
    }
    if (name_ == "norm2") return {norm2(o.x)};
    if (name_ == "dot") return {dot(o.x, o.u)};
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
  static gpu::scalars number(const gpu::field<T>& x, const complex<double>& z) {
    return make_scalars(x, std::vector<complex<double>>(static_cast<std::size_t>(x.columns()), z));
  }
  std::string name_;
  gpu::scalars a_, b_, c_, minus_a_, minus_b_;
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

/// In long double: what it rounds is not seen beside what double does.
complex<double> product(const numbers& u, const numbers& v) {
  long double re = 0.0L, im = 0.0L;
  for (std::size_t i = 0; i < u.size(); ++i) {
    const complex<double> z = conj(u[i]) * v[i];
    re += z.re;
    im += z.im;
  }
  return {static_cast<double>(re), static_cast<double>(im)};
}

/// The definitions.
numbers apply_on_host(const std::string& name, host_operands& o) {
  const complex<double> a = first_factor, b = second_factor, c = third_factor;
  for (std::size_t i = 0; i < o.x.size(); ++i) {
    const complex<double> x = o.x[i], y = o.y[i], z = o.z[i], u = o.u[i], v = o.v[i];
    if (name == "copy") o.x[i] = u;
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
  if (name == "norm2" || name == "axpy_norm2") return {product(o.x, o.x)};
  if (name == "dot") return {product(o.x, o.u)};
  if (name == "cg_update" || name == "bicgstab") return {product(o.y, o.y)};
  return {};
}

double relative_distance(const numbers& found, const numbers& expected) {
  double wrong = 0.0, size = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    wrong += norm2(found[i] - expected[i]);
    size += norm2(expected[i]);
  }
  return std::sqrt(wrong / size);
}

/// The largest distance of fields and sums. A sum is compared with the product of its vectors' norms, all near that of
/// y, since it may nearly vanish itself.
template <class T>
double distance_from_definition(const std::string& name, const std::shared_ptr<gpu::tuner>& tuner) {
  const gpu::context ctx(lattice_geometry({8, 6, 4, 8}), communicator(), 0, tuner);
  constexpr int columns = 3;
  operands<T> o(ctx, columns);
  std::vector<host_operands> expected;
  for (int c = 0; c < columns; ++c) expected.push_back(on_host(o, c));
  const auto sums = vector_operation<T>(name, o).apply(o);
  double largest = 0.0;
  const auto see = [&](double value) {
    if (!(value <= largest)) largest = value;
  };
  for (int c = 0; c < columns; ++c) {
    host_operands& host = expected[static_cast<std::size_t>(c)];
    const numbers expected_sums = apply_on_host(name, host);
    const host_operands found = on_host(o, c);
    see(relative_distance(found.x, host.x));
    see(relative_distance(found.y, host.y));
    see(relative_distance(found.z, host.z));
    const double scale = product(host.y, host.y).re;
    for (std::size_t k = 0; k < sums.size(); ++k)
      see(std::sqrt(norm2(host_values(sums[k])[static_cast<std::size_t>(c)] - expected_sums[k])) / scale);
  }
  return largest;
}

/// A few roundings of a number, each half an epsilon; 16 bits leave 1.2e-5 of a site's largest number, which is some
/// three times the others.
template <class T>
double tolerance() {
  return gpu::is_half<T> ? 1e-4 : 4.0 * std::numeric_limits<gpu::real_of<T>>::epsilon();
}

template <class T>
std::vector<gpu_samples> time_in(const gpu::context& ctx, const gpu_row& row, const gpu_timing& timing,
                                 verification& checks) {
  const std::shared_ptr<gpu::tuner> same(&ctx.tuner(), [](gpu::tuner*) {});
  checks.add(row.name, distance_from_definition<T>(row.operation, same), tolerance<T>());
  operands<T> o(ctx, row.rhs);
  const vector_operation<T> operation(row.operation, o);
  const auto there_and_back = [&] {
    operation.apply(o, true);
    operation.apply(o, false);
  };
  there_and_back();
  return time_on_gpu(ctx.queue(), timing, 2, there_and_back);
}

}  // namespace

std::vector<gpu_samples> time_vector_operation(const gpu::context& ctx, const gpu_row& row, const gpu_timing& timing,
                                               verification& checks) {
  if (row.precision == "double") return time_in<double>(ctx, row, timing, checks);
  if (row.precision == "half") return time_in<half>(ctx, row, timing, checks);
  return time_in<float>(ctx, row, timing, checks);
}

}  // namespace plaquette::bench
