// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/fields/scalars.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

namespace {

enum class scalar_operation : std::uint8_t { leaf, add, subtract, multiply, negate, conjugate, divide, above };

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

constexpr int longest_program = 24, most_leaves = 12, deepest_stack = 12;

/// An expression as a machine with a stack works it out: leaves are pushed, operations take one or two numbers.
struct scalar_program {
  struct instruction {
    scalar_operation operation;
    std::uint8_t leaf;  ///< of `leaf` what is pushed, of `above` the limits
  };
  instruction code[longest_program];
  scalar_leaf leaves[most_leaves];
  int length = 0, leaf_count = 0;

  PLAQUETTE_HOST_DEVICE complex<double> operator()(std::int64_t column) const {
    complex<double> stack[deepest_stack];
    int top = -1;
    for (int i = 0; i < length; ++i) {
      const instruction step = code[i];
      switch (step.operation) {
        case scalar_operation::leaf:
          stack[++top] = leaves[step.leaf](column);
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
          stack[top - 1] = stack[top - 1] * stack[top];
          --top;
          break;
        case scalar_operation::negate:
          stack[top] = -stack[top];
          break;
        case scalar_operation::conjugate:
          stack[top] = conj(stack[top]);
          break;
        case scalar_operation::divide:
          stack[top - 1] = stack[top] == complex<double>{} ? complex<double>{} : stack[top - 1] / stack[top];
          --top;
          break;
        case scalar_operation::above:
          stack[top] = {stack[top].re > leaves[step.leaf](column).re ? 1.0 : 0.0, 0.0};
          break;
      }
    }
    return stack[0];
  }
};

struct evaluation {
  scalar_program program;
  complex<double>* result;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t column) const { result[column] = program(column); }
};

std::shared_ptr<std::byte> upload(const context& ctx, const void* from, std::size_t bytes) {
  auto memory = ctx.workspace().take(bytes);
  if (bytes > 0) copy_to_device(ctx.queue(), memory.get(), from, bytes);
  return memory;
}

}  // namespace

/// An operation on other nodes, or a leaf. What is worked out becomes a leaf, so that it is worked out once.
struct scalars::node {
  context ctx;
  int columns;
  scalar_operation operation = scalar_operation::leaf;
  std::shared_ptr<node> a = {}, b = {};
  scalar_leaf leaf = {};                                     ///< of a leaf its numbers, of `above` the limits
  std::shared_ptr<std::byte> memory = {}, more_memory = {};  ///< what `leaf` points to
  int instructions = 1, leaves = 1, stack = 1;               ///< of the program that works it out

  bool is_leaf() const { return operation == scalar_operation::leaf; }
  bool is_contiguous() const {
    return is_leaf() && leaf.index == nullptr && leaf.stride == 2 && leaf.re == 0 && leaf.im == 1;
  }

  void append_to(scalar_program& program) const {
    if (a) a->append_to(program);
    if (b) b->append_to(program);
    std::uint8_t number = 0;
    if (is_leaf() || operation == scalar_operation::above) {
      number = static_cast<std::uint8_t>(program.leaf_count++);
      program.leaves[number] = leaf;
    }
    program.code[program.length++] = {operation, number};
  }

  /// Queues the evaluation into `result`, of the device.
  void evaluate(complex<double>* result) const {
    evaluation body{{}, result};
    append_to(body.program);
    for_each_index(ctx.queue(), columns, body, 32);
  }

  /// Becomes a leaf whose numbers lie side by side.
  void settle() {
    if (is_contiguous()) return;
    auto room = ctx.workspace().take(static_cast<std::size_t>(columns) * sizeof(complex<double>));
    evaluate(reinterpret_cast<complex<double>*>(room.get()));
    operation = scalar_operation::leaf;
    a = b = nullptr;
    leaf = {reinterpret_cast<const double*>(room.get())};
    memory = std::move(room);
    more_memory = nullptr;
    instructions = leaves = stack = 1;
  }

  /// True where a program has room for it.
  bool fits() const { return instructions <= longest_program && leaves <= most_leaves && stack <= deepest_stack; }
  void count() {
    instructions = a->instructions + (b ? b->instructions : 0) + 1;
    leaves = a->leaves + (b ? b->leaves : 0) + (operation == scalar_operation::above ? 1 : 0);
    stack = std::max(a->stack, b ? b->stack + 1 : 0);
  }

  /// Of a and maybe b, which are worked out first where the whole is too long.
  static scalars made_of(scalar_operation operation, const scalars& a, const scalars* b, const scalar_leaf& limits = {},
                         std::shared_ptr<std::byte> memory = nullptr) {
    if (b != nullptr && b->columns() != a.columns())
      throw std::logic_error("scalars of different batches do not combine");
    auto made = std::make_shared<node>(node{a.get_context(), a.columns(), operation, a.node_,
                                            b != nullptr ? b->node_ : nullptr, limits, std::move(memory), nullptr});
    made->count();
    if (!made->fits()) {
      made->a->settle();
      if (made->b) made->b->settle();
      made->count();
    }
    return scalars(std::move(made));
  }

  static scalars compacted_from(const scalars& from, std::span<const int> keep) {
    node& source = *from.node_;
    if (!source.is_leaf() || source.leaf.index != nullptr) source.settle();
    auto made = std::make_shared<node>(source);
    made->columns = static_cast<int>(keep.size());
    made->more_memory = upload(source.ctx, keep.data(), keep.size_bytes());
    made->leaf.index = reinterpret_cast<const std::int32_t*>(made->more_memory.get());
    return scalars(std::move(made));
  }
};

scalars::scalars(const context& ctx, std::span<const plaquette::complex<double>> numbers)
    : node_(std::make_shared<node>(node{ctx, static_cast<int>(numbers.size())})) {
  node_->memory = upload(ctx, numbers.data(), numbers.size_bytes());
  node_->leaf = {reinterpret_cast<const double*>(node_->memory.get())};
}

const context& scalars::get_context() const { return node_->ctx; }
int scalars::columns() const { return node_->columns; }
const complex<double>* scalars::on_device() const {
  node_->settle();
  return reinterpret_cast<const plaquette::complex<double>*>(node_->leaf.begin);
}

scalars operator+(const scalars& a, const scalars& b) { return scalars::node::made_of(scalar_operation::add, a, &b); }
scalars operator-(const scalars& a, const scalars& b) {
  return scalars::node::made_of(scalar_operation::subtract, a, &b);
}
scalars operator*(const scalars& a, const scalars& b) {
  return scalars::node::made_of(scalar_operation::multiply, a, &b);
}
scalars operator-(const scalars& a) { return scalars::node::made_of(scalar_operation::negate, a, nullptr); }
scalars conj(const scalars& a) { return scalars::node::made_of(scalar_operation::conjugate, a, nullptr); }
scalars ratio(const scalars& a, const scalars& b) { return scalars::node::made_of(scalar_operation::divide, a, &b); }

scalars where_above(const scalars& a, std::span<const double> limits) {
  if (static_cast<int>(limits.size()) != a.columns()) throw std::logic_error("where_above: one limit a column");
  auto memory = upload(a.get_context(), limits.data(), limits.size_bytes());
  const scalar_leaf leaf{reinterpret_cast<const double*>(memory.get()), nullptr, 1, 0, -1};
  return scalars::node::made_of(scalar_operation::above, a, nullptr, leaf, std::move(memory));
}

scalars compacted(const scalars& a, std::span<const int> keep) { return scalars::node::compacted_from(a, keep); }

std::vector<std::vector<complex<double>>> host_values(std::span<const scalars> list) {
  std::size_t count = 0;
  for (const scalars& s : list) count += static_cast<std::size_t>(s.columns());
  std::vector<std::vector<complex<double>>> values(list.size());
  if (count == 0) return values;

  const context& ctx = list.front().get_context();
  const auto room = ctx.workspace().take(count * sizeof(complex<double>));
  auto* next = reinterpret_cast<complex<double>*>(room.get());
  for (const scalars& s : list) {
    s.node_->evaluate(next);
    next += s.columns();
  }
  std::byte* const staged = ctx.queue().staging(count * sizeof(complex<double>));
  copy_to_host(ctx.queue(), staged, room.get(), count * sizeof(complex<double>));

  const std::byte* from = staged;
  for (std::size_t i = 0; i < list.size(); ++i) {
    values[i].resize(static_cast<std::size_t>(list[i].columns()));
    const std::size_t bytes = values[i].size() * sizeof(complex<double>);
    if (bytes > 0) std::memcpy(values[i].data(), from, bytes);
    from += bytes;
  }
  return values;
}

std::vector<complex<double>> host_values(const scalars& a) { return host_values(std::span(&a, 1)).front(); }

column_sums::column_sums(const context& ctx, int columns, int count)
    : context_(ctx),
      columns_(columns),
      count_(count),
      memory_(
          ctx.workspace().take(static_cast<std::size_t>(columns) * static_cast<std::size_t>(count) * sizeof(double))),
      begin_(reinterpret_cast<double*>(memory_.get())) {}

scalars column_sums::real_sum(int k) const { return part(k, -1); }
scalars column_sums::complex_sum(int k) const { return part(k, k + 1); }

scalars column_sums::part(int re, int im) const {
  auto made = std::make_shared<scalars::node>(scalars::node{context_, columns_});
  made->leaf = {begin_, nullptr, count_, re, im};
  made->memory = memory_;
  return scalars(std::move(made));
}

}  // namespace plaquette::gpu
