// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vector operations on coarse fields: one body for all of them. An index is a pair of numbers of a site; a thread
/// reads every number that the operation needs once and writes every result once.
#include <stdexcept>
#include <vector>

#include "gpu/blas/vector_kernels.hpp"
#include "gpu/coarse/coarse_field.hpp"

namespace plaquette::gpu {

namespace {

/// The fields of a launch; unused ones are null.
template <class T>
struct coarse_arguments {
  coarse_pointer<complex<T>> x, y, z;
  coarse_pointer<const complex<T>> u, v, w;
  const complex<double>* a = nullptr;  ///< [column]
  const complex<double>* b = nullptr;
  const complex<double>* c = nullptr;
  divisor pairs, columns;
};

template <class T, vector_operation operation>
struct coarse_vector_kernel {
  static constexpr operation_traits traits = traits_of(operation);
  static constexpr int least_sites_of_a_thread = 4;
  static_assert(least_sites_of_a_thread > 0);  // used: launches without sums do not need it
  coarse_arguments<T> arg;

  struct factors {
    complex<T> a, b, c;
  };

  /// Without sums: columns of a site follow each other.
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto i = static_cast<std::int32_t>(index);
    const std::int32_t rest = arg.pairs.quotient(i), site = arg.columns.quotient(rest);
    double none[1];
    work_on(site * arg.pairs.value + (i - rest * arg.pairs.value), rest - site * arg.columns.value, none);
  }
  template <int Count>
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i, int column, double (&sums)[Count]) const {
    work_on(static_cast<std::int32_t>(i), column, sums);
  }
  template <int Count>
  PLAQUETTE_HOST_DEVICE void work_on(std::int32_t i, int column, double (&sums)[Count]) const {
    work_on(i, column, {coefficient(arg.a, column), coefficient(arg.b, column), coefficient(arg.c, column)}, sums);
  }
  template <int Count>
  PLAQUETTE_HOST_DEVICE void work_on(std::int32_t i, int column, const factors& by, double (&sums)[Count]) const {
    const std::int32_t site = arg.pairs.quotient(i), first = 2 * (i - site * arg.pairs.value);
    number_pair<T> xs{}, ys{}, zs{}, us{}, vs{}, ws{};
    if constexpr (traits.reads_x) xs = load(arg.x, site, column, first);
    if constexpr (traits.uses_y) ys = load(arg.y, site, column, first);
    if constexpr (traits.uses_z) zs = load(arg.z, site, column, first);
    if constexpr (traits.reads_u) us = load(arg.u, site, column, first);
    if constexpr (traits.reads_v) vs = load(arg.v, site, column, first);
    if constexpr (traits.reads_w()) ws = load(arg.w, site, column, first);
    site_sums<T> total;
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < 2; ++k) {
      operands_of_number<complex<T>> n{xs.z[k], ys.z[k], zs.z[k], us.z[k], vs.z[k]};
      operate<operation>(n, by.a, by.b);
      if constexpr (traits.uses_z) zs.z[k] = direction(n.y, by.c, n.z, by.b, n.v);
      if constexpr (traits.has_dot())
        total.add_dot(traits.reads_w() ? ws.z[k] : n.u, traits.dot_right == operand::x   ? n.x
                                                        : traits.dot_right == operand::y ? n.y
                                                                                         : n.v);
      if constexpr (traits.has_norm())
        total.add_norm(traits.norm_of == operand::x ? n.x : traits.norm_of == operand::y ? n.y : n.u);
      xs.z[k] = n.x;
      ys.z[k] = n.y;
    }
    if constexpr (traits.writes_x) store(arg.x, site, column, first, xs);
    if constexpr (traits.uses_y) store(arg.y, site, column, first, ys);
    if constexpr (traits.uses_z) store(arg.z, site, column, first, zs);
    if constexpr (traits.has_dot()) {
      sums[0] += total.dot_re();
      sums[1] += total.dot_im();
    }
    if constexpr (traits.has_norm()) sums[traits.has_dot() ? 2 : 0] += total.norm();
  }

 private:
  template <class Number>
  PLAQUETTE_HOST_DEVICE static number_pair<T> load(const coarse_pointer<Number>& x, std::int32_t site, int column,
                                                   int first) {
    return *reinterpret_cast<const number_pair<T>*>(x.at(site, column) + first);
  }
  PLAQUETTE_HOST_DEVICE static void store(const coarse_pointer<complex<T>>& x, std::int32_t site, int column, int first,
                                          const number_pair<T>& numbers) {
    *reinterpret_cast<number_pair<T>*>(x.at(site, column) + first) = numbers;
  }
  PLAQUETTE_HOST_DEVICE static complex<T> coefficient(const complex<double>* numbers, int column) {
    return numbers == nullptr ? complex<T>{} : complex_cast<T>(numbers[column]);
  }
};

/// The same where coefficients are expressions without a value yet. Every block computes them, and the first one of a
/// column leaves the numbers for kernels to come.
template <class T, vector_operation operation>
struct programmed_coarse_kernel {
  using straight_kernel = coarse_vector_kernel<T, operation>;
  static constexpr int least_sites_of_a_thread = straight_kernel::least_sites_of_a_thread;
  static_assert(least_sites_of_a_thread > 0);  // used, as above
  static constexpr int most_numbers = few_programs;

  straight_kernel kernel;
  scalar_program programs[few_programs];
  std::int32_t count, of_a, of_b, of_c;  ///< number of programs; the coefficients', or -1

  PLAQUETTE_HOST_DEVICE int number_count() const { return count; }
  PLAQUETTE_HOST_DEVICE complex<double> number(int p, int column, bool first) const {
    if (!first && p != of_a && p != of_b && p != of_c) return {};
    const complex<double> value = programs[p](column);
    if (first) programs[p].result[column] = value;
    return value;
  }
  template <int Count>
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i, int column, const complex<double>* numbers,
                                        double (&sums)[Count]) const {
    kernel.work_on(static_cast<std::int32_t>(i), column,
                   {coefficient(kernel.arg.a, of_a, column, numbers), coefficient(kernel.arg.b, of_b, column, numbers),
                    coefficient(kernel.arg.c, of_c, column, numbers)},
                   sums);
  }

 private:
  PLAQUETTE_HOST_DEVICE static complex<T> coefficient(const complex<double>* evaluated, int program, int column,
                                                      const complex<double>* numbers) {
    return program >= 0           ? complex_cast<T>(numbers[program])
           : evaluated != nullptr ? complex_cast<T>(evaluated[column])
                                  : complex<T>{};
  }
};

/// The fields of a call.
template <class T>
struct coarse_operands {
  coarse_field<T>* x = nullptr;
  coarse_field<T>* y = nullptr;
  coarse_field<T>* z = nullptr;
  const coarse_field<T>* u = nullptr;
  const coarse_field<T>* v = nullptr;
  const coarse_field<T>* w = nullptr;
  const scalars* a = nullptr;
  const scalars* b = nullptr;
  const scalars* c = nullptr;

  const coarse_field<T>& model() const { return u != nullptr ? *u : *x; }
  std::vector<std::shared_ptr<const void>> memory() const {
    std::vector<std::shared_ptr<const void>> held;
    for (const coarse_field<T>* f : {static_cast<const coarse_field<T>*>(x), static_cast<const coarse_field<T>*>(y),
                                     static_cast<const coarse_field<T>*>(z), u, v, w})
      if (f != nullptr) held.push_back(f->storage());
    for (const scalars* s : {a, b, c})
      if (s != nullptr) held.push_back(s->storage());
    return held;
  }
  void require_one_shape() const {
    for (const coarse_field<T>* f : {static_cast<const coarse_field<T>*>(x), static_cast<const coarse_field<T>*>(y),
                                     static_cast<const coarse_field<T>*>(z), u, v, w})
      if (f != nullptr && !(f->shape() == model().shape() && f->geometry() == model().geometry()))
        throw std::logic_error("coarse blas: fields of different shapes");
    for (const scalars* s : {a, b, c})
      if (s != nullptr && s->columns() != model().columns())
        throw std::logic_error("coarse blas: scalars of another batch");
  }
};

/// Computes scalars that have no value yet, by a launch.
template <class T>
coarse_arguments<T> arguments_of(const coarse_operands<T>& with) {
  coarse_arguments<T> arg{};
  arg.pairs = divisor(with.model().components() / 2);
  arg.columns = divisor(with.model().columns());
  if (with.x != nullptr) arg.x = with.x->numbers();
  if (with.y != nullptr) arg.y = with.y->numbers();
  if (with.z != nullptr) arg.z = with.z->numbers();
  if (with.u != nullptr) arg.u = with.u->numbers();
  if (with.v != nullptr) arg.v = with.v->numbers();
  if (with.w != nullptr) arg.w = with.w->numbers();
  if (with.a != nullptr) arg.a = with.a->on_device();
  if (with.b != nullptr) arg.b = with.b->on_device();
  if (with.c != nullptr) arg.c = with.c->on_device();
  return arg;
}

template <vector_operation operation, class T, class Body>
void launch(const coarse_operands<T>& with, const Body& body, const column_sums* sums) {
  constexpr int count = traits_of(operation).sums();
  const coarse_field<T>& model = with.model();
  const std::int64_t pairs = model.sites() * (model.components() / 2);
  const execution& on = model.get_execution();
  if constexpr (count > 0)
    hold_back_sum<count>(on, pairs, model.columns(), body, *sums,
                         !sums_may_wait(operation) && on.kernels_sum_over_ranks(model.columns()), with.memory());
  else if constexpr (computes_numbers<Body>)
    for_each_site(on.queue(), pairs, model.columns(), body);
  else
    for_each_index(on.queue(), pairs * model.columns(), body);
}

template <vector_operation operation, class T>
void run_programmed(const coarse_operands<T>& with, const column_sums* sums) {
  const auto programs = take_programs({with.a, with.b, with.c});
  const coarse_arguments<T> arg = arguments_of(with);
  if (programs.empty()) return launch<operation>(with, coarse_vector_kernel<T, operation>{arg}, sums);
  programmed_coarse_kernel<T, operation> body{{arg}, {}, static_cast<std::int32_t>(programs.size()), -1, -1, -1};
  for (std::int32_t p = 0; p < body.count; ++p) {
    body.programs[p] = programs[static_cast<std::size_t>(p)];
    if (body.programs[p].result == arg.a) body.of_a = p;
    if (body.programs[p].result == arg.b) body.of_b = p;
    if (body.programs[p].result == arg.c) body.of_c = p;
  }
  launch<operation>(with, body, sums);
  with.model().get_execution().queue().launch_held_back();  // programs write to memory that may be given back any time
}

template <vector_operation operation, class T>
void run(const coarse_operands<T>& with, const column_sums* sums = nullptr) {
  const coarse_field<T>& model = with.model();
  if (model.columns() == 0 || model.sites() == 0) {
    // Sums over nothing are zero.
    if (sums != nullptr && model.columns() > 0)
      fill_bytes(model.get_execution().queue(), sums->on_device(), 0,
                 static_cast<std::size_t>(model.columns() * traits_of(operation).sums()) * sizeof(double));
    return;
  }
  with.require_one_shape();
  // Where all blocks run at once, each may compute the coefficients, which saves a launch.
  constexpr std::int64_t most_threads = std::int64_t{1} << 16;
  if constexpr (traits_of(operation).has_coefficients())
    if (model.sites() * (model.components() / 2) * model.columns() <= most_threads)
      return run_programmed<operation>(with, sums);
  evaluate({with.a, with.b, with.c});
  launch<operation>(with, coarse_vector_kernel<T, operation>{arguments_of(with)}, sums);
}

template <vector_operation operation, class T>
column_sums run_and_sum(const coarse_operands<T>& with) {
  column_sums sums(with.model().get_execution(), with.model().columns(), traits_of(operation).sums());
  run<operation>(with, &sums);
  return sums;
}

template <class T>
struct zero_numbers {
  coarse_pointer<complex<T>> x;
  divisor pairs, columns;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto i = static_cast<std::int32_t>(index);
    const std::int32_t rest = pairs.quotient(i), site = columns.quotient(rest);
    reinterpret_cast<number_pair<T>*>(x.at(site, rest - site * columns.value))[i - rest * pairs.value] = {};
  }
};
template <class T>
struct copy_numbers {
  coarse_pointer<complex<T>> x;
  coarse_pointer<const complex<T>> u;
  divisor pairs, columns;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto i = static_cast<std::int32_t>(index);
    const std::int32_t rest = pairs.quotient(i), site = columns.quotient(rest), column = rest - site * columns.value;
    reinterpret_cast<number_pair<T>*>(x.at(site, column))[i - rest * pairs.value] =
        reinterpret_cast<const number_pair<T>*>(u.at(site, column))[i - rest * pairs.value];
  }
};

template <class T>
std::int64_t all_pairs(const coarse_field<T>& x) {
  return x.sites() * (x.components() / 2) * x.columns();
}

}  // namespace

template <class T>
void zero(coarse_field<T>& x) {
  if (x.columns() == 0) return;
  for_each_index(x.get_execution().queue(), all_pairs(x),
                 zero_numbers<T>{x.numbers(), divisor(x.components() / 2), divisor(x.columns())});
}
template <class T>
void copy(coarse_field<T>& x, const coarse_field<T>& u) {
  if (!(x.shape() == u.shape())) throw std::logic_error("coarse blas: fields of different shapes");
  if (x.columns() == 0) return;
  for_each_index(x.get_execution().queue(), all_pairs(x),
                 copy_numbers<T>{x.numbers(), u.numbers(), divisor(x.components() / 2), divisor(x.columns())});
}
template <class T>
void scale(coarse_field<T>& x, const scalars& a) {
  run<vector_operation::scale, T>({.x = &x, .a = &a});
}
template <class T>
void axpy(coarse_field<T>& x, const scalars& a, const coarse_field<T>& u) {
  run<vector_operation::axpy, T>({.x = &x, .u = &u, .a = &a});
}
template <class T>
void xpay(coarse_field<T>& x, const coarse_field<T>& u, const scalars& a) {
  run<vector_operation::xpay, T>({.x = &x, .u = &u, .a = &a});
}
template <class T>
scalars dot(const coarse_field<T>& u, const coarse_field<T>& v) {
  return run_and_sum<vector_operation::dot, T>({.u = &u, .v = &v}).complex_sum(0);
}
template <class T>
scalars norm2(const coarse_field<T>& u) {
  return run_and_sum<vector_operation::norm2, T>({.u = &u}).real_sum(0);
}
template <class T>
scalars axpy_norm2(coarse_field<T>& x, const scalars& a, const coarse_field<T>& u) {
  return run_and_sum<vector_operation::axpy_norm2, T>({.x = &x, .u = &u, .a = &a}).real_sum(0);
}
template <class T>
void axpy_pair(coarse_field<T>& x, const scalars& a, const coarse_field<T>& u, const scalars& b,
               const coarse_field<T>& v) {
  run<vector_operation::axpy_pair, T>({.x = &x, .u = &u, .v = &v, .a = &a, .b = &b});
}
template <class T>
scalars subtract_norm2(coarse_field<T>& x, const coarse_field<T>& u, const coarse_field<T>& v) {
  return run_and_sum<vector_operation::subtract_norm2, T>({.x = &x, .u = &u, .v = &v}).real_sum(0);
}
template <class T>
scalars cg_update(coarse_field<T>& x, coarse_field<T>& y, const scalars& a, const coarse_field<T>& u,
                  const coarse_field<T>& v) {
  return run_and_sum<vector_operation::cg_update, T>({.x = &x, .y = &y, .u = &u, .v = &v, .a = &a}).real_sum(0);
}
template <class T>
scalars bicgstab_step(coarse_field<T>& x, coarse_field<T>& y, coarse_field<T>& z, const scalars& a, const scalars& b,
                      const scalars& c, const coarse_field<T>& u, const coarse_field<T>& v) {
  return run_and_sum<vector_operation::bicgstab_step, T>(
             {.x = &x, .y = &y, .z = &z, .u = &u, .v = &v, .a = &a, .b = &b, .c = &c})
      .real_sum(0);
}
template <class T>
std::pair<scalars, scalars> dot_norm2(const coarse_field<T>& u, const coarse_field<T>& v) {
  return dot_and_norm(run_and_sum<vector_operation::dot_norm2, T>({.u = &u, .v = &v}));
}
template <class T>
std::pair<scalars, scalars> axpy_dot_norm2(coarse_field<T>& x, const scalars& a, const coarse_field<T>& u,
                                           const coarse_field<T>& w) {
  return dot_and_norm(run_and_sum<vector_operation::axpy_dot_norm2, T>({.x = &x, .u = &u, .w = &w, .a = &a}));
}

#define PLAQUETTE_INSTANTIATE(T)                                                                                       \
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

}  // namespace plaquette::gpu
