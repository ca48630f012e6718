// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/blas/blas.hpp"

#include <cstring>
#include <stdexcept>
#include <vector>

#include "cpu_ref/fields/exact_sums.hpp"

namespace plaquette::cpu {

namespace {

/// Blocks whose sums are added together first. Fixed, so that sums do not depend on the number of threads.
constexpr std::int64_t blocks_of_a_range = 16;

template <class T>
struct operands {
  field<T>* x = nullptr;
  field<T>* y = nullptr;
  field<T>* z = nullptr;
  const field<T>* u = nullptr;
  const field<T>* v = nullptr;
  const field<T>* w = nullptr;
  const scalars* a = nullptr;
  const scalars* b = nullptr;
  const scalars* c = nullptr;
};

/// Coefficients in the fields' precision, [column][re, im].
template <class T>
std::vector<real_of<T>> rounded(const scalars* numbers, int columns) {
  std::vector<real_of<T>> result;
  if (numbers == nullptr) return result;
  if (numbers->columns() != columns) throw std::logic_error("blas: scalars of another batch");
  for (int c = 0; c < columns; ++c) {
    result.push_back(static_cast<real_of<T>>((*numbers)[c].re));
    result.push_back(static_cast<real_of<T>>((*numbers)[c].im));
  }
  return result;
}

/// Returns what `run` does where sums are exact, of the fields as the operation has left them.
template <class T>
std::vector<double> exact_totals(vector_operation operation, const operands<T>& with) {
  using enum vector_operation;
  const bool of_u = operation == dot || operation == norm2 || operation == dot_norm2;
  const bool of_y = operation == cg_update || operation == bicgstab_step;
  const field<T>& squared = of_u ? *with.u : of_y ? *with.y : *with.x;
  std::vector<double> total(static_cast<std::size_t>(squared.columns() * most_sums));
  const auto put = [&](const std::vector<complex<double>>& products, std::size_t place, bool is_complex) {
    for (std::size_t c = 0; c < products.size(); ++c) {
      total[c * most_sums + place] = products[c].re;
      if (is_complex) total[c * most_sums + place + 1] = products[c].im;
    }
  };
  const bool has_dot = operation == dot || operation == dot_norm2 || operation == axpy_dot_norm2;
  if (has_dot)
    put(operation == axpy_dot_norm2 ? exact_products(*with.w, *with.x) : exact_products(*with.u, *with.v), 0, true);
  if (operation != dot) put(exact_products(squared, squared), has_dot ? 2 : 0, false);
  return total;
}

/// Runs one operation over all blocks. Returns [column][most_sums], summed over ranks, where `sums` is true.
template <class T>
std::vector<double> run(vector_operation operation, const operands<T>& with, bool sums) {
  const field<T>& model = with.u != nullptr ? *with.u : *with.x;
  for (const field<T>* f : {static_cast<const field<T>*>(with.x), static_cast<const field<T>*>(with.y),
                            static_cast<const field<T>*>(with.z), with.v, with.w})
    if (f != nullptr && !(f->shape() == model.shape())) throw std::logic_error("blas: fields of different shapes");

  const context& ctx = model.get_context();
  const int columns = model.columns();
  const std::vector<real_of<T>> a = rounded<T>(with.a, columns), b = rounded<T>(with.b, columns),
                                c = rounded<T>(with.c, columns);
  const std::int64_t blocks = model.layout().blocks();
  const std::int64_t ranges = (blocks + blocks_of_a_range - 1) / blocks_of_a_range;
  const std::size_t sums_of_a_range = sums ? static_cast<std::size_t>(columns * most_sums) : 0;
  std::vector<double> partial(sums_of_a_range * static_cast<std::size_t>(ranges * model.parts()));
  const auto kernel = ctx.kernels<T>().operate[static_cast<int>(operation)];

#pragma omp parallel for num_threads(ctx.threads()) schedule(static)
  for (std::int64_t i = 0; i < ranges * model.parts(); ++i) {
    const int part = static_cast<int>(i / ranges);
    const std::int64_t first = i % ranges * blocks_of_a_range;
    operation_arguments<T> arg;
    if (with.x != nullptr) arg.x = with.x->blocks(part);
    if (with.y != nullptr) arg.y = with.y->blocks(part);
    if (with.z != nullptr) arg.z = with.z->blocks(part);
    const auto read = [part](const field<T>* f) {
      return f != nullptr ? f->blocks(part) : field_pointer<const word_of<T>>{};
    };
    arg.u = read(with.u);
    arg.v = read(with.v);
    arg.w = read(with.w);
    arg.columns = columns;
    arg.components = model.components();
    arg.a = a.empty() ? nullptr : a.data();
    arg.b = b.empty() ? nullptr : b.data();
    arg.c = c.empty() ? nullptr : c.data();
    arg.sums = partial.data() + static_cast<std::size_t>(i) * sums_of_a_range;
    kernel(arg, first, std::min(blocks_of_a_range, blocks - first));
  }

  if (sums && exact_sums::are_on()) return exact_totals(operation, with);
  std::vector<double> total(sums_of_a_range);
  for (std::size_t i = 0; i < partial.size(); ++i) total[i % sums_of_a_range] += partial[i];
  if (sums) ctx.comm().sum(std::span(total));
  return total;
}

/// A complex number a column from sums `re` and `im` (im < 0: a real one).
scalars pick(const std::vector<double>& sums, int re, int im) {
  std::vector<complex<double>> values(sums.size() / most_sums);
  for (std::size_t c = 0; c < values.size(); ++c) {
    values[c].re = sums[c * most_sums + static_cast<std::size_t>(re)];
    values[c].im = im < 0 ? 0.0 : sums[c * most_sums + static_cast<std::size_t>(im)];
  }
  return scalars(std::move(values));
}

}  // namespace

template <class T>
void zero(field<T>& x) {
  const auto bytes = static_cast<std::size_t>(x.block_words() * x.columns()) * sizeof(word_of<T>);
  for (int part = 0; part < x.parts(); ++part)
#pragma omp parallel for num_threads(x.get_context().threads())
    for (std::int64_t b = 0; b < x.layout().blocks(); ++b) std::memset(x.block(part, b, 0), 0, bytes);
}

template <class T>
void copy(field<T>& x, const field<T>& u) {
  if (!(x.shape() == u.shape())) throw std::logic_error("blas: fields of different shapes");
  const auto bytes = static_cast<std::size_t>(x.block_words() * x.columns()) * sizeof(word_of<T>);
  for (int part = 0; part < x.parts(); ++part)
#pragma omp parallel for num_threads(x.get_context().threads())
    for (std::int64_t b = 0; b < x.layout().blocks(); ++b) std::memcpy(x.block(part, b, 0), u.block(part, b, 0), bytes);
}

template <class T>
void scale(field<T>& x, const scalars& a) {
  run<T>(vector_operation::scale, {.x = &x, .a = &a}, false);
}
template <class T>
void axpy(field<T>& x, const scalars& a, const field<T>& u) {
  run<T>(vector_operation::axpy, {.x = &x, .u = &u, .a = &a}, false);
}
template <class T>
void xpay(field<T>& x, const field<T>& u, const scalars& a) {
  run<T>(vector_operation::xpay, {.x = &x, .u = &u, .a = &a}, false);
}
template <class T>
scalars dot(const field<T>& u, const field<T>& v) {
  return pick(run<T>(vector_operation::dot, {.u = &u, .v = &v}, true), 0, 1);
}
template <class T>
scalars norm2(const field<T>& u) {
  return pick(run<T>(vector_operation::norm2, {.u = &u}, true), 0, -1);
}
template <class T>
scalars axpy_norm2(field<T>& x, const scalars& a, const field<T>& u) {
  return pick(run<T>(vector_operation::axpy_norm2, {.x = &x, .u = &u, .a = &a}, true), 0, -1);
}
template <class T>
void axpy_pair(field<T>& x, const scalars& a, const field<T>& u, const scalars& b, const field<T>& v) {
  run<T>(vector_operation::axpy_pair, {.x = &x, .u = &u, .v = &v, .a = &a, .b = &b}, false);
}
template <class T>
scalars subtract_norm2(field<T>& x, const field<T>& u, const field<T>& v) {
  return pick(run<T>(vector_operation::subtract_norm2, {.x = &x, .u = &u, .v = &v}, true), 0, -1);
}
template <class T>
scalars cg_update(field<T>& x, field<T>& y, const scalars& a, const field<T>& u, const field<T>& v) {
  return pick(run<T>(vector_operation::cg_update, {.x = &x, .y = &y, .u = &u, .v = &v, .a = &a}, true), 0, -1);
}
template <class T>
void bicgstab_direction(field<T>& x, const field<T>& u, const scalars& a, const scalars& b, const field<T>& v) {
  run<T>(vector_operation::bicgstab_direction, {.x = &x, .u = &u, .v = &v, .a = &a, .b = &b}, false);
}
template <class T>
scalars bicgstab_step(field<T>& x, field<T>& y, field<T>& z, const scalars& a, const scalars& b, const scalars& c,
                      const field<T>& u, const field<T>& v) {
  return pick(run<T>(vector_operation::bicgstab_step,
                     {.x = &x, .y = &y, .z = &z, .u = &u, .v = &v, .a = &a, .b = &b, .c = &c}, true),
              0, -1);
}
template <class T>
std::pair<scalars, scalars> dot_norm2(const field<T>& u, const field<T>& v) {
  const auto sums = run<T>(vector_operation::dot_norm2, {.u = &u, .v = &v}, true);
  return {pick(sums, 0, 1), pick(sums, 2, -1)};
}
template <class T>
std::pair<scalars, scalars> axpy_dot_norm2(field<T>& x, const scalars& a, const field<T>& u, const field<T>& w) {
  const auto sums = run<T>(vector_operation::axpy_dot_norm2, {.x = &x, .u = &u, .w = &w, .a = &a}, true);
  return {pick(sums, 0, 1), pick(sums, 2, -1)};
}

#define PLAQUETTE_INSTANTIATE(T)                                                                                  \
  template void zero(field<T>&);                                                                                  \
  template void copy(field<T>&, const field<T>&);                                                                 \
  template void scale(field<T>&, const scalars&);                                                                 \
  template void axpy(field<T>&, const scalars&, const field<T>&);                                                 \
  template void xpay(field<T>&, const field<T>&, const scalars&);                                                 \
  template scalars dot(const field<T>&, const field<T>&);                                                         \
  template scalars norm2(const field<T>&);                                                                        \
  template scalars axpy_norm2(field<T>&, const scalars&, const field<T>&);                                        \
  template void axpy_pair(field<T>&, const scalars&, const field<T>&, const scalars&, const field<T>&);           \
  template scalars subtract_norm2(field<T>&, const field<T>&, const field<T>&);                                   \
  template scalars cg_update(field<T>&, field<T>&, const scalars&, const field<T>&, const field<T>&);             \
  template void bicgstab_direction(field<T>&, const field<T>&, const scalars&, const scalars&, const field<T>&);  \
  template scalars bicgstab_step(field<T>&, field<T>&, field<T>&, const scalars&, const scalars&, const scalars&, \
                                 const field<T>&, const field<T>&);                                               \
  template std::pair<scalars, scalars> dot_norm2(const field<T>&, const field<T>&);                               \
  template std::pair<scalars, scalars> axpy_dot_norm2(field<T>&, const scalars&, const field<T>&, const field<T>&);
PLAQUETTE_INSTANTIATE(half)
PLAQUETTE_INSTANTIATE(float)
PLAQUETTE_INSTANTIATE(double)
#undef PLAQUETTE_INSTANTIATE

}  // namespace plaquette::cpu
