// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/fields/scalars.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "gpu/comms/side_stream.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/scalar_program.hpp"

namespace plaquette::gpu {

namespace {

/// Columns of one program that a block takes: programs that differ would take turns in a warp.
constexpr int evaluation_threads = 32;

/// \param rows  of evaluation_threads columns, the same number for all programs
template <class Programs>
PLAQUETTE_HOST_DEVICE inline void run_one(const Programs& programs, std::int32_t rows, std::int64_t index) {
  const auto p = static_cast<int>(index / (rows * evaluation_threads));
  const std::int64_t column = index - std::int64_t{p} * rows * evaluation_threads;
  if (column < programs[p].columns) programs[p].result[column] = programs[p](column);
}
/// As many programs as travel with a launch. More are several launches: programs in memory of the device would need
/// room there. The pool could give them the numbers that they read, which have no owner any more.
struct evaluations {
  static constexpr bool goes_forwards = true;  ///< it has no rotation of fields
  static constexpr std::size_t most_programs = 5;
  scalar_program programs[most_programs];
  std::int32_t rows;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const { run_one(programs, rows, index); }
};
static_assert(sizeof(evaluations) < 4000, "parameters of a kernel: 4 KB");

/// Copies the numbers of leaves with the same number of columns each, one after the other, into memory of the host.
struct leaf_reading {
  static constexpr bool goes_forwards = true;
  static constexpr std::size_t most_leaves = 120;  ///< as travel with a launch
  scalar_leaf leaves[most_leaves];
  complex<double>* result;
  std::int32_t columns;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    result[index] = leaves[index / columns](index % columns);
  }
};

std::shared_ptr<std::byte> upload(const execution& on, const void* from, std::size_t bytes) {
  auto memory = on.workspace().take(bytes);
  if (bytes > 0) copy_to_device(on.queue(), memory.get(), from, bytes);
  return memory;
}

}  // namespace

void run_programs(const execution& on, const std::vector<scalar_program>& programs) {
  int columns = 0;
  for (const scalar_program& p : programs) columns = std::max(columns, p.columns);
  const std::int32_t rows = (columns + evaluation_threads - 1) / evaluation_threads;
  if (programs.size() <= few_programs) {
    closing_programs closing{{}, static_cast<std::int32_t>(programs.size())};
    std::ranges::copy(programs, closing.programs);
    const bool are_of_one_batch = std::ranges::all_of(programs, [&](const auto& p) { return p.columns == columns; });
    if (are_of_one_batch && on.queue().launch_closing(columns, closing)) return;
  }
  for (std::size_t first = 0; first < programs.size(); first += evaluations::most_programs) {
    const std::size_t count = std::min(evaluations::most_programs, programs.size() - first);
    evaluations some{{}, rows};
    std::copy_n(programs.begin() + static_cast<std::ptrdiff_t>(first), count, some.programs);
    for_each_index(on.queue(), static_cast<std::int64_t>(count) * rows * evaluation_threads, some, evaluation_threads);
  }
}

/// An operation on other nodes, or a leaf. A computed value becomes a leaf, so that it is computed once.
struct scalars::node {
  execution on;
  int columns;
  scalar_operation operation = scalar_operation::leaf;
  std::shared_ptr<node> a = {}, b = {};
  scalar_leaf leaf = {};                                     ///< of a leaf its numbers, of `above_limits` the limits
  std::shared_ptr<std::byte> memory = {}, more_memory = {};  ///< the number that `leaf` points to
  std::vector<double> limits = {};                           ///< of `above`
  int instructions = 1, leaves = 1;                          ///< of the program that works it out

  bool is_leaf() const { return operation == scalar_operation::leaf; }
  bool is_settled() const {
    return is_leaf() && leaf.index == nullptr && leaf.stride == 2 && leaf.re == 0 && leaf.im == 1;
  }

  void append_to(scalar_program& program) const {
    if (a) a->append_to(program);
    if (b) b->append_to(program);
    std::uint8_t operand = 0;
    if (operation == scalar_operation::above) {
      operand = static_cast<std::uint8_t>(program.limit_count);
      for (const double limit : limits) program.limits[program.limit_count++] = limit;
    } else if (is_leaf() || operation == scalar_operation::above_limits) {
      operand = static_cast<std::uint8_t>(program.leaf_count);
      program.leaves[program.leaf_count++] = leaf;
    }
    program.code[program.length++] = {operation, operand};
  }
  scalar_program program(complex<double>* result) const {
    on.complete_sums();
    scalar_program made;
    append_to(made);
    made.columns = columns;
    made.result = result;
    return made;
  }

  using list = std::vector<std::shared_ptr<node>>;

  static void add(list& found, const std::shared_ptr<node>& n) {
    if (!n->is_settled() && found.size() < few_programs && std::ranges::find(found, n) == found.end())
      found.push_back(n);
  }
  /// Those below `top` that the caller holds in addition to the expression: they will be needed too.
  static void add_held(list& found, const std::shared_ptr<node>& top) {
    for (const std::shared_ptr<node>* below : {&top->a, &top->b}) {
      if (!*below || (*below)->is_leaf()) continue;
      if (below->use_count() > 1) add(found, *below);
      add_held(found, *below);
    }
  }
  /// They become leaves, whose numbers the programs put side by side.
  static std::vector<scalar_program> take(const list& nodes) {
    std::vector<scalar_program> programs;
    std::vector<std::shared_ptr<std::byte>> room;
    for (const auto& n : nodes) {
      room.push_back(n->on.workspace().take(static_cast<std::size_t>(n->columns) * sizeof(complex<double>)));
      programs.push_back(n->program(reinterpret_cast<complex<double>*>(room.back().get())));
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i]->become_leaf(std::move(room[i]));
    return programs;
  }
  static void settle(const std::shared_ptr<node>& top) {
    list nodes;
    add(nodes, top);
    add_held(nodes, top);
    if (!nodes.empty()) run_programs(top->on, take(nodes));
  }
  void become_leaf(std::shared_ptr<std::byte> numbers) {
    operation = scalar_operation::leaf;
    leaf = {reinterpret_cast<const double*>(numbers.get())};
    memory = std::move(numbers);
    a = b = nullptr;
    more_memory = nullptr;
    limits.clear();
    instructions = leaves = 1;
  }

  int limit_numbers() const {
    return static_cast<int>(limits.size()) + (a ? a->limit_numbers() : 0) + (b ? b->limit_numbers() : 0);
  }
  /// True if a program has room for it.
  bool fits() const {
    return instructions <= scalar_program::longest && leaves <= scalar_program::most_leaves &&
           limit_numbers() <= scalar_program::most_limits;
  }
  void count() {
    instructions = a->instructions + (b ? b->instructions : 0) + 1;
    leaves = a->leaves + (b ? b->leaves : 0) + (operation == scalar_operation::above_limits ? 1 : 0);
  }

  /// An operation on a and maybe b, which are computed first where the whole is too long.
  static std::shared_ptr<node> made_of(scalar_operation operation, const scalars& a, const scalars* b = nullptr) {
    if (b != nullptr && b->columns() != a.columns())
      throw std::logic_error("scalars of different batches do not combine");
    auto made = std::make_shared<node>(
        node{a.get_execution(), a.columns(), operation, a.node_, b != nullptr ? b->node_ : nullptr});
    made->make_fit();
    return made;
  }
  void make_fit() {
    count();
    if (fits()) return;
    settle(a);
    if (b) settle(b);
    count();
  }
  static std::shared_ptr<node> made_above(const scalars& a, std::span<const double> numbers) {
    if (static_cast<int>(numbers.size()) != a.columns()) throw std::logic_error("where_above: one limit a column");
    const bool are_few = numbers.size() <= scalar_program::most_limits;
    auto made = made_of(are_few ? scalar_operation::above : scalar_operation::above_limits, a);
    if (are_few) {
      made->limits.assign(numbers.begin(), numbers.end());
      made->make_fit();
    } else {
      made->memory = upload(a.get_execution(), numbers.data(), numbers.size_bytes());
      made->leaf = {reinterpret_cast<const double*>(made->memory.get()), nullptr, 1, 0, -1};
    }
    return made;
  }

  static std::shared_ptr<node> compacted_from(const scalars& from, std::span<const int> keep) {
    node& source = *from.node_;
    if (!source.is_leaf() || source.leaf.index != nullptr) settle(from.node_);
    auto made = std::make_shared<node>(source);
    made->columns = static_cast<int>(keep.size());
    made->more_memory = upload(source.on, keep.data(), keep.size_bytes());
    made->leaf.index = reinterpret_cast<const std::int32_t*>(made->more_memory.get());
    return made;
  }
};

scalars::scalars(const execution& on, std::span<const complex<double>> numbers)
    : node_(std::make_shared<node>(node{on, static_cast<int>(numbers.size())})) {
  node_->memory = upload(on, numbers.data(), numbers.size_bytes());
  node_->leaf = {reinterpret_cast<const double*>(node_->memory.get())};
}

const execution& scalars::get_execution() const { return node_->on; }
int scalars::columns() const { return node_->columns; }
const complex<double>* scalars::on_device() const {
  node_->on.complete_sums();
  node::settle(node_);
  return reinterpret_cast<const complex<double>*>(node_->leaf.begin);
}
std::shared_ptr<const void> scalars::storage() const { return node_->memory; }
std::vector<scalar_program> take_programs(const coefficients& numbers) {
  scalars::node::list nodes;
  // All of them before their operands: when this returns, nothing of any is left to do.
  for (const scalars* s : numbers)
    if (s != nullptr) scalars::node::add(nodes, s->node_);
  for (const scalars* s : numbers)
    if (s != nullptr) scalars::node::add_held(nodes, s->node_);
  return scalars::node::take(nodes);
}
void evaluate(const coefficients& numbers) {
  const auto programs = take_programs(numbers);
  if (programs.empty()) return;
  const auto any = std::ranges::find_if(numbers, [](const scalars* s) { return s != nullptr; });
  run_programs((*any)->get_execution(), programs);
}

scalars operator+(const scalars& a, const scalars& b) {
  return scalars(scalars::node::made_of(scalar_operation::add, a, &b));
}
scalars operator-(const scalars& a, const scalars& b) {
  return scalars(scalars::node::made_of(scalar_operation::subtract, a, &b));
}
scalars operator*(const scalars& a, const scalars& b) {
  return scalars(scalars::node::made_of(scalar_operation::multiply, a, &b));
}
scalars operator-(const scalars& a) { return scalars(scalars::node::made_of(scalar_operation::negate, a)); }
scalars conj(const scalars& a) { return scalars(scalars::node::made_of(scalar_operation::conjugate, a)); }
scalars ratio(const scalars& a, const scalars& b) {
  return scalars(scalars::node::made_of(scalar_operation::divide, a, &b));
}
scalars where_above(const scalars& a, std::span<const double> limits) {
  return scalars(scalars::node::made_above(a, limits));
}
scalars compacted(const scalars& a, std::span<const int> keep) {
  return scalars(scalars::node::compacted_from(a, keep));
}

std::function<std::vector<std::vector<complex<double>>>()> values_on_their_way(std::span<const scalars> list) {
  std::vector<std::size_t> columns;
  for (const scalars& s : list) columns.push_back(static_cast<std::size_t>(s.columns()));
  const std::size_t count = std::accumulate(columns.begin(), columns.end(), std::size_t{0});
  if (count == 0) return [n = list.size()] { return std::vector<std::vector<complex<double>>>(n); };

  const execution& on = list.front().get_execution();
  scalars::node::list expressions;
  for (const scalars& s : list)
    if (!s.node_->is_leaf() && std::ranges::find(expressions, s.node_) == expressions.end())
      expressions.push_back(s.node_);
  if (!expressions.empty()) run_programs(on, scalars::node::take(expressions));
  on.complete_sums();

  const auto pinned = on.queue().take_pinned(count * sizeof(complex<double>));
  auto* next = reinterpret_cast<complex<double>*>(pinned.get());
  for (std::size_t first = 0; first < list.size();) {
    leaf_reading reading{{}, next, list[first].columns()};
    std::size_t end = first;
    while (end < list.size() && end - first < leaf_reading::most_leaves && columns[end] == columns[first])
      reading.leaves[end - first] = list[end].node_->leaf, ++end;
    const std::size_t numbers = (end - first) * columns[first];
    for_each_index(on.queue(), static_cast<std::int64_t>(numbers), reading);
    next += numbers;
    first = end;
  }
  const auto arrived = std::make_shared<stream_mark>(on.queue().device(), on.ranks().wait);
  arrived->mark_on(on.queue().native());
  return [columns, pinned, arrived] {
    arrived->wait();
    std::vector<std::vector<complex<double>>> values;
    const auto* from = reinterpret_cast<const complex<double>*>(pinned.get());
    for (const std::size_t n : columns) values.emplace_back(from, from + n), from += n;
    return values;
  };
}

std::vector<std::vector<complex<double>>> host_values(std::span<const scalars> list) {
  return values_on_their_way(list)();
}

std::vector<complex<double>> host_values(const scalars& a) { return host_values(std::span(&a, 1)).front(); }

column_sums::column_sums(const execution& on, int columns, int count)
    : execution_(on),
      columns_(columns),
      count_(count),
      memory_(
          on.workspace().take(static_cast<std::size_t>(columns) * static_cast<std::size_t>(count) * sizeof(double))),
      begin_(reinterpret_cast<double*>(memory_.get())) {}

scalars column_sums::real_sum(int k) const { return part(k, -1); }
scalars column_sums::complex_sum(int k) const { return part(k, k + 1); }

scalars column_sums::part(int re, int im) const {
  auto made = std::make_shared<scalars::node>(scalars::node{execution_, columns_});
  made->leaf = {begin_, nullptr, count_, re, im};
  made->memory = memory_;
  return scalars(std::move(made));
}

}  // namespace plaquette::gpu
