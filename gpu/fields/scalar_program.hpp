// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Expressions of scalars as kernels compute them. A separate launch does it (scalars.cu). On small lattices a launch
/// costs more than all the arithmetic: there every block of the kernel that needs the numbers does it (gpu/blas). Both
/// give the bits that the CPU gives: nothing is fused. For .cu files only.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/device/unroll.hpp"
#include "gpu/fields/scalars.hpp"

namespace plaquette::gpu {

enum class scalar_operation : std::uint8_t {
  leaf,
  add,
  subtract,
  multiply,
  negate,
  conjugate,
  divide,
  above,
  above_limits
};

/// A complex number a column: real and imaginary part at begin[stride * column + re] and [... + im]; no im: 0. With an
/// index, the number of column index[column].
struct scalar_leaf {
  const double* begin = nullptr;
  const std::int32_t* index = nullptr;
  std::int32_t stride = 2, re = 0, im = 1;

  PLAQUETTE_HOST_DEVICE complex<double> operator()(std::int64_t column) const {
    const double* const at = begin + stride * (index != nullptr ? index[column] : column);
    return {at[re], im < 0 ? 0.0 : at[im]};
  }
};

/// Returns x y and x + y, each rounded.
PLAQUETTE_HOST_DEVICE inline double rounded_product(double x, double y) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(x, y);
#else
  return x * y;
#endif
}
PLAQUETTE_HOST_DEVICE inline double rounded_sum(double x, double y) {
#ifdef __CUDA_ARCH__
  return __dadd_rn(x, y);
#else
  return x + y;
#endif
}
/// Returns the formulas of common/algebra/complex.hpp.
PLAQUETTE_HOST_DEVICE inline complex<double> rounded_product(const complex<double>& a, const complex<double>& b) {
  return {rounded_sum(rounded_product(a.re, b.re), -rounded_product(a.im, b.im)),
          rounded_sum(rounded_product(a.re, b.im), rounded_product(a.im, b.re))};
}
PLAQUETTE_HOST_DEVICE inline complex<double> rounded_ratio(const complex<double>& a, const complex<double>& b) {
  if (b == complex<double>{}) return {};
  const double scale = 1.0 / rounded_sum(rounded_product(b.re, b.re), rounded_product(b.im, b.im));
  return {rounded_product(rounded_sum(rounded_product(a.re, b.re), rounded_product(a.im, b.im)), scale),
          rounded_product(rounded_sum(rounded_product(a.im, b.re), -rounded_product(a.re, b.im)), scale)};
}

/// An expression as a machine with a stack works it out: leaves are pushed, operations take one or two numbers. Limits
/// travel with it, if they are few.
struct scalar_program {
  static constexpr int longest = 24, most_leaves = 12, most_limits = 32;

  struct instruction {
    scalar_operation operation;
    std::uint8_t operand;  ///< of `leaf` the pushed leaf; of `above_limits` the limits; of `above` the first one
  };
  instruction code[longest];
  scalar_leaf leaves[most_leaves];
  double limits[most_limits];
  int length = 0, leaf_count = 0, limit_count = 0, columns = 0;
  complex<double>* result = nullptr;  ///< of the device, where somebody is to put the numbers

  /// By a thread that has nothing else to do: the first leaves are loaded before one of them is needed.
  PLAQUETTE_HOST_DEVICE complex<double> operator()(std::int64_t column) const {
    constexpr int first = 6;
    complex<double> numbers[first];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < first; ++k) numbers[k] = leaves[k < leaf_count ? k : 0](column);
    return evaluate(column, [&](int k) { return k < first ? numbers[k] : leaves[k](column); });
  }

 private:
  /// \param leaf  number k of the leaves
  template <class Leaf>
  PLAQUETTE_HOST_DEVICE complex<double> evaluate(std::int64_t column, const Leaf& leaf) const {
    complex<double> stack[most_leaves];  // every push is a leaf
    int top = -1;
    for (int i = 0; i < length; ++i) {
      const instruction step = code[i];
      switch (step.operation) {
        case scalar_operation::leaf:
          stack[++top] = leaf(step.operand);
          break;
        case scalar_operation::add:
          stack[top - 1] = stack[top - 1] + stack[top];
          --top;
          break;
        case scalar_operation::subtract:
          stack[top - 1] = stack[top - 1] - stack[top];
          --top;
          break;
        case scalar_operation::multiply:
          stack[top - 1] = rounded_product(stack[top - 1], stack[top]);
          --top;
          break;
        case scalar_operation::negate:
          stack[top] = -stack[top];
          break;
        case scalar_operation::conjugate:
          stack[top] = conj(stack[top]);
          break;
        case scalar_operation::divide:
          stack[top - 1] = rounded_ratio(stack[top - 1], stack[top]);
          --top;
          break;
        case scalar_operation::above:
          stack[top] = {stack[top].re > limits[step.operand + column] ? 1.0 : 0.0, 0.0};
          break;
        case scalar_operation::above_limits:
          stack[top] = {stack[top].re > leaf(step.operand).re ? 1.0 : 0.0, 0.0};
          break;
      }
    }
    return stack[0];
  }
};

/// As many programs as travel with a launch.
inline constexpr int few_programs = 3;

/// Programs that a kernel computes at its end (`queue::hold_back`), one a task.
struct closing_programs {
  scalar_program programs[few_programs];
  std::int32_t count = 0;
  PLAQUETTE_HOST_DEVICE void operator()(int task, int column) const {
    programs[task].result[column] = programs[task](column);
  }
};

/// Returns the programs of some coefficients that have no value yet, and then of coefficients that others hold of their
/// expressions: at most few_programs. From here on they count as computed: the caller queues a kernel next, before
/// anything else, that puts each program's numbers into its `result`.
std::vector<scalar_program> take_programs(const coefficients& numbers);
static_assert(std::tuple_size_v<coefficients> <= few_programs);

/// Queues that kernel, if there is nothing to fuse it to. Few programs that need a sum whose kernel is held back become
/// that kernel's end.
void run_programs(const execution& on, const std::vector<scalar_program>& programs);

}  // namespace plaquette::gpu
