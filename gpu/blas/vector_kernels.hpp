// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The kernels behind gpu/blas/blas.hpp: one body for all operations, precisions and shapes. A thread takes a site of a
/// column; it reads every number that the operation needs once and writes every result once. Included by one .cu file a
/// precision.
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/algebra/vector_operations.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/blas/held_sum.hpp"
#include "gpu/blas/site_sums.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/number_groups.hpp"
#include "gpu/fields/scalar_program.hpp"

namespace plaquette {

// What vector_operations.hpp finds by the namespace of `complex`.

/// Returns x + a u
template <class Real>
PLAQUETTE_HOST_DEVICE inline complex<Real> add_product(const complex<Real>& x, const complex<Real>& a,
                                                       const complex<Real>& u) {
  using gpu::fused;
  return {fused(-a.im, u.im, fused(a.re, u.re, x.re)), fused(a.im, u.re, fused(a.re, u.im, x.im))};
}
/// Returns a u
template <class Real>
PLAQUETTE_HOST_DEVICE inline complex<Real> fused_product(const complex<Real>& a, const complex<Real>& u) {
  return add_product({}, a, u);
}

}  // namespace plaquette

namespace plaquette::gpu {

/// The fields of a launch; unused ones are null.
template <class T>
struct vector_arguments {
  spinor_pointer<T> x, y, z;
  spinor_pointer<const T> u, v, w;
  const complex<double>* a = nullptr;  ///< [column]
  const complex<double>* b = nullptr;
  const complex<double>* c = nullptr;
  padded_sites sites;
  divisor columns;
  std::int32_t components;
};

// --- A site ----------------------------------------------------------------------------------------------------------

/// components: of a site, or 0 if only the arguments know.
template <class T, vector_operation operation, int components>
struct vector_kernel {
  using real = real_of<T>;
  static constexpr operation_traits traits = traits_of(operation);
  /// A product of two fields has no use for more than five or six blocks, whose registers hold the prefetched numbers.
  /// Of bicgstab_step three blocks hide more of the waiting than two; in half two without spills beat three with a few.
  static constexpr int resident_blocks = [] {
    if (sizeof(real) != 4) return 0;
    if (traits.uses_z) return is_half<T> ? 2 : 3;
    return operation != vector_operation::dot ? 0 : is_half<T> ? 5 : 6;
  }();

  /// Sites of a thread of a sum such that a block moves 64 KB and more for each number that it sums. The end of a block
  /// costs the same for all precisions, and is then a few per cent. An operation that gives the bits of another one
  /// takes as many.
  static constexpr int least_sites_of_a_thread = [] {
    constexpr operation_traits like =
        operation == vector_operation::bicgstab_step ? traits_of(vector_operation::axpy_norm2) : traits;
    constexpr int wanted = 64 << 10, of_site = column_bytes<T>(12) / lanes * like.passes();
    int count = 1;
    while (count < 4 && count * sum_threads * of_site < wanted * like.sums()) count *= 2;
    return count;
  }();

  vector_arguments<T> arg;

  /// As launched for an operation without sums: over lanes, columns, blocks of all parts.
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const auto warp = static_cast<std::int32_t>(index / lanes);
    const std::int32_t block = arg.columns.quotient(warp);
    double none[1];
    (*this)(block* lanes + static_cast<std::int32_t>(index % lanes), warp - block * arg.columns.value, none);
  }
  /// With sums: site and column.
  template <int Count>
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i, int column, double (&sums)[Count]) const {
    // First of all: fields are then loaded together with the coefficients, and not after these have come.
    if (!arg.sites.has(static_cast<std::int32_t>(i))) return;
    work_on(static_cast<std::int32_t>(i), column,
            {coefficient(arg.a, column), coefficient(arg.b, column), coefficient(arg.c, column)}, sums);
  }
  struct factors {
    complex<real> a, b, c;
  };
  /// With coefficients that are known already.
  template <int Count>
  PLAQUETTE_HOST_DEVICE void work_on(std::int32_t i, int column, const factors& by, double (&sums)[Count]) const {
    if (!arg.sites.has(i)) return;
    if constexpr (!is_half<T>)
      straight(i, column, by, sums);
    else if constexpr (components > 0)
      in_registers(i, column, by, sums);
    else
      twice(i, column, by, sums);
  }

 private:
  PLAQUETTE_HOST_DEVICE int all_components() const { return components > 0 ? components : arg.components; }

  PLAQUETTE_HOST_DEVICE static complex<real> coefficient(const complex<double>* numbers, int column) {
    if (numbers == nullptr) return {};
    const complex<double> number = numbers[column];
    if constexpr (std::is_same_v<real, float_pair>)
      return {pair_without_doubles(number.re), pair_without_doubles(number.im)};
    else
      return complex_cast<real>(number);
  }

  /// Where numbers are stored as they are computed: group by group.
  template <int Count>
  PLAQUETTE_HOST_DEVICE void straight(std::int32_t i, int column, const factors& by, double (&sums)[Count]) const {
    const int chunks = chunks_of<T>(all_components()), groups = groups_of(all_components());
    std::byte* const x = traits.writes_x ? arg.x.site(i, column) : nullptr;
    std::byte* const y = traits.uses_y ? arg.y.site(i, column) : nullptr;
    std::byte* const z = traits.uses_z ? arg.z.site(i, column) : nullptr;
    const std::byte* const u = traits.reads_u ? arg.u.site(i, column) : nullptr;
    const std::byte* const v = traits.reads_v ? arg.v.site(i, column) : nullptr;
    const std::byte* const w = traits.reads_w() ? arg.w.site(i, column) : nullptr;
    site_sums<T> total;
    PLAQUETTE_GPU_UNROLL
    for (int g = 0; g < groups; ++g) {
      complex<real> xs[group_size], ys[group_size], zs[group_size], us[group_size], vs[group_size], ws[group_size];
      if constexpr (traits.reads_x) unpack_group<T>(load_group<T>(x, g, chunks), 1.0F, xs);
      if constexpr (traits.uses_y) unpack_group<T>(load_group<T>(y, g, chunks), 1.0F, ys);
      if constexpr (traits.uses_z) unpack_group<T>(load_group<T>(z, g, chunks), 1.0F, zs);
      if constexpr (traits.reads_u) unpack_group<T>(load_group<T>(u, g, chunks), 1.0F, us);
      if constexpr (traits.reads_v) unpack_group<T>(load_group<T>(v, g, chunks), 1.0F, vs);
      if constexpr (traits.reads_w()) unpack_group<T>(load_group<T>(w, g, chunks), 1.0F, ws);
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < group_size; ++k) {
        operands_of_number<complex<real>> n{xs[k], ys[k], zs[k], us[k], vs[k]};
        operate<operation>(n, by.a, by.b);
        if constexpr (traits.uses_z) zs[k] = direction(n.y, by.c, n.z, by.b, n.v);
        if constexpr (traits.has_dot())
          total.add_dot(traits.reads_w() ? ws[k] : n.u, traits.dot_right == operand::x   ? n.x
                                                        : traits.dot_right == operand::y ? n.y
                                                                                         : n.v);
        if constexpr (traits.has_norm())
          total.add_norm(traits.norm_of == operand::x ? n.x : traits.norm_of == operand::y ? n.y : n.u);
        xs[k] = n.x;
        ys[k] = n.y;
      }
      if constexpr (traits.writes_x) store_group<T>(x, g, chunks, pack_group<T>(xs, 1.0F));
      if constexpr (traits.uses_y) store_group<T>(y, g, chunks, pack_group<T>(ys, 1.0F));
      if constexpr (traits.uses_z) store_group<T>(z, g, chunks, pack_group<T>(zs, 1.0F));
    }
    add(sums, total.dot_re(), total.dot_im(), total.norm());
  }

  /// Sums in the order of operation_traits.
  template <int Count>
  PLAQUETTE_HOST_DEVICE static void add(double (&sums)[Count], double re, double im, double norm) {
    if constexpr (traits.has_dot()) {
      sums[0] += re;
      sums[1] += im;
    }
    if constexpr (traits.has_norm()) sums[traits.has_dot() ? 2 : 0] += norm;
  }

  // Half: a site's scale is known when all its results are.

  /// v comes last where two fields are written, and u too where three are: x does not need them, and gives its
  /// registers back first.
  static constexpr bool in_steps = traits.uses_y, u_comes_late = traits.uses_z;

  /// The fields of a site, as read; y as stored, once it is.
  struct half_site {
    std::byte *x, *y, *z;
    const std::byte *u, *v, *w;
    float x_scale = 0.0F, y_scale = 0.0F, z_scale = 0.0F, u_scale = 0.0F, v_scale = 0.0F, w_scale = 0.0F;
    factors by;
    int chunks;

    PLAQUETTE_HOST_DEVICE half_site(const vector_arguments<T>& arg, std::int32_t i, int column, int number,
                                    const factors& numbers)
        : x(traits.writes_x ? arg.x.site(i, column) : nullptr),
          y(traits.uses_y ? arg.y.site(i, column) : nullptr),
          z(traits.uses_z ? arg.z.site(i, column) : nullptr),
          u(nullptr),
          v(nullptr),
          w(nullptr),
          by(numbers),
          chunks(chunks_of<T>(number)) {
      if constexpr (traits.reads_x) x_scale = *arg.x.scale(i, column, chunks);
      if constexpr (traits.uses_y) y_scale = *arg.y.scale(i, column, chunks);
      if constexpr (traits.uses_z) z_scale = *arg.z.scale(i, column, chunks);
      if constexpr (!u_comes_late) find_u(arg, i, column);
      if constexpr (!in_steps) find_rest(arg, i, column);
    }
    PLAQUETTE_HOST_DEVICE void find_u(const vector_arguments<T>& arg, std::int32_t i, int column) {
      if constexpr (traits.reads_u) {
        u = arg.u.site(i, column);
        u_scale = *arg.u.scale(i, column, chunks);
      }
    }
    PLAQUETTE_HOST_DEVICE void find_rest(const vector_arguments<T>& arg, std::int32_t i, int column) {
      if constexpr (u_comes_late) find_u(arg, i, column);
      if constexpr (traits.reads_v) {
        v = arg.v.site(i, column);
        v_scale = *arg.v.scale(i, column, chunks);
      }
      if constexpr (traits.reads_w()) {
        w = arg.w.site(i, column);
        w_scale = *arg.w.scale(i, column, chunks);
      }
    }
  };
  /// A group of each, as read; x and y as stored, once they are.
  struct half_group {
    number_group<half> x, y, z, u, v, w;

    PLAQUETTE_HOST_DEVICE void load(const half_site& site, int g) {
      if constexpr (traits.reads_x) x = load_group<half>(site.x, g, site.chunks);
      if constexpr (traits.uses_y) y = load_group<half>(site.y, g, site.chunks);
      if constexpr (traits.uses_z) z = load_group<half>(site.z, g, site.chunks);
      if constexpr (traits.reads_u && !u_comes_late) u = load_group<half>(site.u, g, site.chunks);
      if constexpr (!in_steps) load_rest(site, g);
    }
    PLAQUETTE_HOST_DEVICE void load_rest(const half_site& site, int g) {
      if constexpr (u_comes_late) u = load_group<half>(site.u, g, site.chunks);
      if constexpr (traits.reads_v) v = load_group<half>(site.v, g, site.chunks);
      if constexpr (traits.reads_w()) w = load_group<half>(site.w, g, site.chunks);
    }
    /// Computes the new numbers of x, y or z from the numbers that were read. (One at a time: all do not fit into
    /// registers together with it.)
    template <operand result>
    PLAQUETTE_HOST_DEVICE void compute(const half_site& site, complex<float> (&results)[group_size]) const {
      complex<float> xs[group_size], ys[group_size], zs[group_size], us[group_size], vs[group_size];
      constexpr bool is_first = in_steps && result == operand::x;
      if constexpr (traits.reads_x && result != operand::z) unpack_group<half>(x, site.x_scale, xs);
      if constexpr (traits.uses_y) unpack_group<half>(y, site.y_scale, ys);
      if constexpr (traits.uses_z) unpack_group<half>(z, site.z_scale, zs);
      if constexpr (traits.reads_u && !(u_comes_late && is_first)) unpack_group<half>(u, site.u_scale, us);
      if constexpr (traits.reads_v && !is_first) unpack_group<half>(v, site.v_scale, vs);
      PLAQUETTE_GPU_UNROLL
      for (int k = 0; k < group_size; ++k) {
        if constexpr (result == operand::z) {
          results[k] = direction(ys[k], site.by.c, zs[k], site.by.b, vs[k]);
        } else {
          operands_of_number<complex<float>> n{xs[k], ys[k], zs[k], us[k], vs[k]};
          operate<operation>(n, site.by.a, site.by.b);
          results[k] = result == operand::x ? n.x : n.y;
        }
      }
    }
    PLAQUETTE_HOST_DEVICE const chunk& stored(operand which) const {
      return (which == operand::x   ? x
              : which == operand::y ? y
              : which == operand::u ? u
              : which == operand::v ? v
                                    : w)
          .data[0];
    }
    PLAQUETTE_HOST_DEVICE void add_to(site_sums<half>& total) const {
      if constexpr (traits.has_dot()) {
        static_assert(!traits.has_norm() || traits.norm_of == traits.dot_left || traits.norm_of == traits.dot_right);
        const bytes_of_integers left(stored(traits.dot_left)), right(stored(traits.dot_right));
        total.add_dot(left, right);
        if constexpr (traits.has_norm()) total.add_norm(traits.norm_of == traits.dot_left ? left : right);
      } else if constexpr (traits.has_norm()) {
        total.add_norm(bytes_of_integers(stored(traits.norm_of)));
      }
    }
  };

  /// Scales of the results from the largest numbers, stored.
  PLAQUETTE_HOST_DEVICE site_scale store_scale(const spinor_pointer<T>& to, std::int32_t i, int column, int chunks,
                                               float largest) const {
    const site_scale s = scale_of(largest);
    *to.scale(i, column, chunks) = s.scale;
    return s;
  }
  template <int Count>
  PLAQUETTE_HOST_DEVICE static void add_scaled(double (&sums)[Count], const site_sums<half>& total,
                                               const half_site& site, float x_scale, float y_scale) {
    const auto scale_of_operand = [&](operand which) {
      return static_cast<double>(which == operand::x   ? x_scale
                                 : which == operand::y ? y_scale
                                 : which == operand::u ? site.u_scale
                                 : which == operand::v ? site.v_scale
                                                       : site.w_scale);
    };
    const double dot_scale = scale_of_operand(traits.dot_left) * scale_of_operand(traits.dot_right),
                 norm_scale = scale_of_operand(traits.norm_of) * scale_of_operand(traits.norm_of);
    add(sums, dot_scale * total.dot_re(), dot_scale * total.dot_im(), norm_scale * total.norm());
  }

  /// x, y or z of a site whose groups are in registers: computed and stored, its words to `stored`. Returns the scale.
  template <operand result, int groups>
  PLAQUETTE_HOST_DEVICE float replace(const half_group (&read)[groups], number_group<half> (&stored)[groups],
                                      const half_site& site, const spinor_pointer<T>& to, std::int32_t i,
                                      int column) const {
    complex<float> results[groups][group_size];
    float largest = 0.0F;
    PLAQUETTE_GPU_UNROLL
    for (int g = 0; g < groups; ++g) {
      read[g].template compute<result>(site, results[g]);
      largest = largest_of(largest, results[g]);
    }
    const site_scale s = store_scale(to, i, column, site.chunks, largest);
    PLAQUETTE_GPU_UNROLL
    for (int g = 0; g < groups; ++g) {
      stored[g] = pack_group<half>(results[g], s.inverse);
      store_group<half>(result == operand::x   ? site.x
                        : result == operand::y ? site.y
                                               : site.z,
                        g, site.chunks, stored[g]);
    }
    return s.scale;
  }

  template <int Count>
  PLAQUETTE_HOST_DEVICE void in_registers(std::int32_t i, int column, const factors& by, double (&sums)[Count]) const {
    constexpr int groups = groups_of(components);
    half_site site(arg, i, column, components, by);
    half_group group[groups];
    PLAQUETTE_GPU_UNROLL
    for (int g = 0; g < groups; ++g) group[g].load(site, g);
    float x_scale = 0.0F, y_scale = 0.0F;
    number_group<half> x[groups], y[groups], z[groups];
    if constexpr (traits.writes_x) x_scale = replace<operand::x>(group, x, site, arg.x, i, column);
    if constexpr (in_steps) {
      site.find_rest(arg, i, column);
      PLAQUETTE_GPU_UNROLL
      for (int g = 0; g < groups; ++g) group[g].load_rest(site, g);
      y_scale = replace<operand::y>(group, y, site, arg.y, i, column);
    }
    site_sums<half> total;
    PLAQUETTE_GPU_UNROLL
    for (int g = 0; g < groups; ++g) {
      if constexpr (traits.writes_x) group[g].x = x[g];
      if constexpr (traits.uses_y) group[g].y = y[g];
      group[g].add_to(total);
    }
    add_scaled(sums, total, site, x_scale, y_scale);
    if constexpr (traits.uses_z) {
      site.y_scale = y_scale;
      replace<operand::z>(group, z, site, arg.z, i, column);
    }
  }

  /// For sites that do not fit into registers: once for the scales, once for the numbers.
  template <int Count>
  PLAQUETTE_HOST_DEVICE void twice(std::int32_t i, int column, const factors& by, double (&sums)[Count]) const {
    const int groups = groups_of(arg.components);
    half_site site(arg, i, column, arg.components, by);
    if constexpr (in_steps) site.find_rest(arg, i, column);
    half_group group;
    complex<float> x[group_size], y[group_size];
    site_scale x_scale{}, y_scale{};
    if constexpr (traits.writes_x) {
      float x_largest = 0.0F, y_largest = 0.0F;
      for (int g = 0; g < groups; ++g) {
        group.load(site, g);
        group.template compute<operand::x>(site, x);
        x_largest = largest_of(x_largest, x);
        if constexpr (in_steps) {
          group.load_rest(site, g);
          group.template compute<operand::y>(site, y);
          y_largest = largest_of(y_largest, y);
        }
      }
      x_scale = store_scale(arg.x, i, column, site.chunks, x_largest);
      if constexpr (traits.uses_y) y_scale = store_scale(arg.y, i, column, site.chunks, y_largest);
    }
    site_sums<half> total;
    for (int g = 0; g < groups; ++g) {
      group.load(site, g);
      if constexpr (in_steps) group.load_rest(site, g);
      if constexpr (traits.writes_x) group.template compute<operand::x>(site, x);
      if constexpr (traits.uses_y) group.template compute<operand::y>(site, y);
      if constexpr (traits.writes_x) {
        group.x = pack_group<half>(x, x_scale.inverse);
        store_group<half>(site.x, g, site.chunks, group.x);
      }
      if constexpr (traits.uses_y) {
        group.y = pack_group<half>(y, y_scale.inverse);
        store_group<half>(site.y, g, site.chunks, group.y);
      }
      group.add_to(total);
    }
    add_scaled(sums, total, site, x_scale.scale, y_scale.scale);
    if constexpr (traits.uses_z) {
      site.y_scale = y_scale.scale;
      replace_z(site, i, column);
    }
  }
  /// When y is stored.
  PLAQUETTE_HOST_DEVICE void replace_z(const half_site& site, std::int32_t i, int column) const {
    const int groups = groups_of(arg.components);
    half_group group;
    complex<float> z[group_size];
    const auto compute = [&](int g) {
      group.load(site, g);
      group.load_rest(site, g);
      group.template compute<operand::z>(site, z);
    };
    float largest = 0.0F;
    for (int g = 0; g < groups; ++g) {
      compute(g);
      largest = largest_of(largest, z);
    }
    const site_scale s = store_scale(arg.z, i, column, site.chunks, largest);
    for (int g = 0; g < groups; ++g) {
      compute(g);
      store_group<half>(site.z, g, site.chunks, pack_group<half>(z, s.inverse));
    }
  }
};

/// The same where coefficients are expressions without a value yet. Every block computes them, and the first one of a
/// column leaves the numbers for kernels to come.
template <class T, vector_operation operation, int components>
struct programmed_vector_kernel {
  using real = real_of<T>;
  using straight_kernel = vector_kernel<T, operation, components>;
  static constexpr int least_sites_of_a_thread = straight_kernel::least_sites_of_a_thread;
  static constexpr int resident_blocks = straight_kernel::resident_blocks;
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
  PLAQUETTE_HOST_DEVICE static complex<real> coefficient(const complex<double>* evaluated, int program, int column,
                                                         const complex<double>* numbers) {
    return program >= 0           ? complex_cast<real>(numbers[program])
           : evaluated != nullptr ? complex_cast<real>(evaluated[column])
                                  : complex<real>{};
  }
};

// --- Launches --------------------------------------------------------------------------------------------------------

/// The fields of a call.
template <class T>
struct vector_operands {
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

/// Returns the memory that they are in.
template <class T>
std::vector<std::shared_ptr<const void>> memory_of(const vector_operands<T>& with) {
  std::vector<std::shared_ptr<const void>> memory;
  const auto add = [&memory](const auto* numbers) {
    if (numbers != nullptr) memory.push_back(numbers->storage());
  };
  add(with.x), add(with.y), add(with.z), add(with.u), add(with.v), add(with.w);
  add(with.a), add(with.b), add(with.c);
  return memory;
}

template <class T>
const field<T>& model_of(const vector_operands<T>& with) {
  return with.u != nullptr ? *with.u : *with.x;
}

template <class T>
void require_one_shape(const vector_operands<T>& with) {
  const field<T>& model = model_of(with);
  const auto require_shape = [&](const field<T>* f) {
    if (f != nullptr && !(f->shape() == model.shape())) throw std::logic_error("blas: fields of different shapes");
  };
  const auto require_columns = [&](const scalars* s) {
    if (s != nullptr && s->columns() != model.columns()) throw std::logic_error("blas: scalars of another batch");
  };
  require_shape(with.x), require_shape(with.y), require_shape(with.z), require_shape(with.v), require_shape(with.w);
  require_columns(with.a), require_columns(with.b), require_columns(with.c);
}

/// Computes scalars that have no value yet, by a launch.
template <class T>
vector_arguments<T> arguments_of(const vector_operands<T>& with) {
  const field<T>& model = model_of(with);
  vector_arguments<T> arg{{},
                          {},
                          {},
                          {},
                          {},
                          {},
                          nullptr,
                          nullptr,
                          nullptr,
                          padded_sites(model.order()),
                          divisor(model.columns()),
                          model.components()};
  if (with.x != nullptr) arg.x = with.x->sites(0);
  if (with.y != nullptr) arg.y = with.y->sites(0);
  if (with.z != nullptr) arg.z = with.z->sites(0);
  if (with.u != nullptr) arg.u = with.u->sites(0);
  if (with.v != nullptr) arg.v = with.v->sites(0);
  if (with.w != nullptr) arg.w = with.w->sites(0);
  if (with.a != nullptr) arg.a = with.a->on_device();
  if (with.b != nullptr) arg.b = with.b->on_device();
  if (with.c != nullptr) arg.c = with.c->on_device();
  return arg;
}

/// Whether solvers need the sums no earlier than the sums of the next kernel with sums: then they travel over ranks
/// together.
constexpr bool sums_may_wait(vector_operation operation) {
  return operation == vector_operation::axpy_norm2 || operation == vector_operation::axpy_dot_norm2 ||
         operation == vector_operation::bicgstab_step;
}

/// Whether a kernel of the operation adds its sums over ranks itself, if there are any.
template <vector_operation operation, class T>
bool sums_over_ranks(const field<T>& model) {
  return !sums_may_wait(operation) && model.get_context().kernels_sum_over_ranks(model.columns());
}

template <vector_operation operation, class T, class Body>
void launch(const vector_operands<T>& with, const Body& body, const column_sums* sums) {
  constexpr int count = traits_of(operation).sums();
  const field<T>& model = model_of(with);
  const std::int64_t sites = std::int64_t{lanes} * model.all_blocks();
  const context& ctx = model.get_context();
  if constexpr (count > 0) {
    hold_back_sum<count>(ctx, sites, model.columns(), body, *sums, sums_over_ranks<operation>(model), memory_of(with));
  } else if constexpr (computes_numbers<Body>)
    for_each_site(ctx.queue(), sites, model.columns(), body);
  else
    for_each_index(ctx.queue(), sites * model.columns(), body);
}

/// Where all blocks run at once, each may compute the coefficients, in a microsecond or two, which saves a launch.
/// (Where they come in waves, the launch is cheaper.)
template <class T>
bool takes_programs(const field<T>& model) {
  constexpr std::int64_t most_threads = std::int64_t{1} << 16;
  return model.components() == 12 && std::int64_t{lanes} * model.all_blocks() * model.columns() <= most_threads;
}

template <vector_operation operation, class T>
void run_programmed(const vector_operands<T>& with, const column_sums* sums) {
  const auto programs = take_programs({with.a, with.b, with.c});
  const vector_arguments<T> arg = arguments_of(with);
  if (programs.empty()) return launch<operation>(with, vector_kernel<T, operation, 12>{arg}, sums);
  programmed_vector_kernel<T, operation, 12> body{{arg}, {}, static_cast<std::int32_t>(programs.size()), -1, -1, -1};
  for (std::int32_t p = 0; p < body.count; ++p) {
    body.programs[p] = programs[static_cast<std::size_t>(p)];
    if (body.programs[p].result == arg.a) body.of_a = p;
    if (body.programs[p].result == arg.b) body.of_b = p;
    if (body.programs[p].result == arg.c) body.of_c = p;
  }
  launch<operation>(with, body, sums);
  model_of(with).get_context().queue().launch_held_back();  // programs write to memory that may be given back any time
}

/// Queues the operation; [column][operation_traits::sums()] to `sums`, of all ranks where `sums_over_ranks`.
template <vector_operation operation, class T>
void run(const vector_operands<T>& with, const column_sums* sums = nullptr) {
  const field<T>& model = model_of(with);
  if (model.columns() == 0) return;
  require_one_shape(with);
  if constexpr (traits_of(operation).has_coefficients())
    if (takes_programs(model)) return run_programmed<operation>(with, sums);
  evaluate({with.a, with.b, with.c});
  const vector_arguments<T> arg = arguments_of(with);
  switch (model.components()) {
    case 12:
      return launch<operation>(with, vector_kernel<T, operation, 12>{arg}, sums);
    case 6:
      return launch<operation>(with, vector_kernel<T, operation, 6>{arg}, sums);
    default:
      return launch<operation>(with, vector_kernel<T, operation, 0>{arg}, sums);
  }
}

template <vector_operation operation, class T>
column_sums run_and_sum(const vector_operands<T>& with) {
  const field<T>& model = model_of(with);
  column_sums sums(model.get_context(), model.columns(), traits_of(operation).sums());
  run<operation>(with, &sums);
  return sums;
}

// --- blas.hpp --------------------------------------------------------------------------------------------------------

template <class T>
void scale(field<T>& x, const scalars& a) {
  run<vector_operation::scale, T>({.x = &x, .a = &a});
}
template <class T>
void axpy(field<T>& x, const scalars& a, const field<T>& u) {
  run<vector_operation::axpy, T>({.x = &x, .u = &u, .a = &a});
}
template <class T>
void xpay(field<T>& x, const field<T>& u, const scalars& a) {
  run<vector_operation::xpay, T>({.x = &x, .u = &u, .a = &a});
}
template <class T>
scalars dot(const field<T>& u, const field<T>& v) {
  return run_and_sum<vector_operation::dot, T>({.u = &u, .v = &v}).complex_sum(0);
}
template <class T>
scalars norm2(const field<T>& u) {
  return run_and_sum<vector_operation::norm2, T>({.u = &u}).real_sum(0);
}
template <class T>
scalars axpy_norm2(field<T>& x, const scalars& a, const field<T>& u) {
  return run_and_sum<vector_operation::axpy_norm2, T>({.x = &x, .u = &u, .a = &a}).real_sum(0);
}
template <class T>
void axpy_pair(field<T>& x, const scalars& a, const field<T>& u, const scalars& b, const field<T>& v) {
  run<vector_operation::axpy_pair, T>({.x = &x, .u = &u, .v = &v, .a = &a, .b = &b});
}
template <class T>
scalars subtract_norm2(field<T>& x, const field<T>& u, const field<T>& v) {
  return run_and_sum<vector_operation::subtract_norm2, T>({.x = &x, .u = &u, .v = &v}).real_sum(0);
}
template <class T>
scalars cg_update(field<T>& x, field<T>& y, const scalars& a, const field<T>& u, const field<T>& v) {
  return run_and_sum<vector_operation::cg_update, T>({.x = &x, .y = &y, .u = &u, .v = &v, .a = &a}).real_sum(0);
}
template <class T>
void bicgstab_direction(field<T>& x, const field<T>& u, const scalars& a, const scalars& b, const field<T>& v) {
  run<vector_operation::bicgstab_direction, T>({.x = &x, .u = &u, .v = &v, .a = &a, .b = &b});
}
template <class T>
scalars bicgstab_step(field<T>& x, field<T>& y, field<T>& z, const scalars& a, const scalars& b, const scalars& c,
                      const field<T>& u, const field<T>& v) {
  return run_and_sum<vector_operation::bicgstab_step, T>(
             {.x = &x, .y = &y, .z = &z, .u = &u, .v = &v, .a = &a, .b = &b, .c = &c})
      .real_sum(0);
}
template <class T>
std::pair<scalars, scalars> dot_norm2(const field<T>& u, const field<T>& v) {
  return dot_and_norm(run_and_sum<vector_operation::dot_norm2, T>({.u = &u, .v = &v}));
}
template <class T>
std::pair<scalars, scalars> axpy_dot_norm2(field<T>& x, const scalars& a, const field<T>& u, const field<T>& w) {
  return dot_and_norm(run_and_sum<vector_operation::axpy_dot_norm2, T>({.x = &x, .u = &u, .w = &w, .a = &a}));
}

#define PLAQUETTE_INSTANTIATE_BLAS(T)                                                                             \
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

}  // namespace plaquette::gpu
