// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A backend that answers as late as the contract of common/concepts.hpp allows.
///
/// Nothing is computed when it is called. Each operation becomes a task that knows which storage it reads and writes;
/// tasks run in a random order that honours these dependences. Some of them run at any later call, the last of them
/// when the host reads a number that depends on them. New storage holds NaN, and so do the columns that a compaction
/// frees. Every read of the host is recorded with the number of operations queued by then. Fields are dense vectors, a
/// few numbers a column, in double or rounded to float or half. Sums run in one order, column by column, so that a
/// column's bits do not depend on its neighbours.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/algebra/fixed_point.hpp"
#include "common/concepts.hpp"

namespace plaquette::mock {

using number = complex<double>;
inline constexpr double poison = std::numeric_limits<double>::quiet_NaN();

/// Misuse of the contract by an algorithm: wrong shapes, one field twice where two are meant.
struct contract_violation : std::logic_error {
  using std::logic_error::logic_error;
};
inline void demand(bool kept, const char* what) {
  if (!kept) throw contract_violation(what);
}

/// The tasks that touched a piece of storage last.
struct dependences {
  std::int64_t writer = -1;
  std::vector<std::int64_t> readers;  ///< since that write
};

/// The queue, the clock and the witness.
class machine {
 public:
  struct read_event {
    long applications;  ///< of operators, queued before this read
    long tasks;         ///< queued before this read
  };

  explicit machine(std::uint64_t seed = 1, bool lazy = true) : random_(seed), lazy_(lazy) {}
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  /// Queues a task that reads and writes the given storage.
  void submit(const std::vector<dependences*>& reads, const std::vector<dependences*>& writes,
              std::function<void()> run) {
    const std::int64_t id = next_++;
    task& t = waiting_[id];
    t.run = std::move(run);
    const auto after = [&](std::int64_t before) {
      const auto found = waiting_.find(before);
      if (before == id || found == waiting_.end()) return;
      found->second.held_up.push_back(id);
      ++t.waits_for;
    };
    for (dependences* d : reads) {
      after(d->writer);
      d->readers.push_back(id);
    }
    for (dependences* d : writes) {
      after(d->writer);
      for (const auto reader : d->readers) after(reader);
      d->writer = id;
      d->readers.clear();
    }
    if (t.waits_for == 0) ready_.push_back(id);
    if (!lazy_) return finish(id);
    // now and then a device is quick
    while (!ready_.empty() && random_() % 3 == 0) run_any();
  }

  /// Runs tasks, these and others as they come, until `id` is done.
  void finish(std::int64_t id) {
    while (waiting_.count(id) != 0) run_any();
  }

  /// Waits for the tasks and reads: one event, however many numbers are read together.
  void read(const std::vector<std::int64_t>& tasks) {
    reads_.push_back({applications_, next_});
    for (const auto id : tasks) finish(id);
  }

  void note_application() { ++applications_; }
  long applications() const { return applications_; }
  const std::vector<read_event>& reads() const { return reads_; }
  std::size_t waiting() const { return waiting_.size(); }
  /// Fields that were made.
  void note_allocation() { ++allocations_; }
  long allocations() const { return allocations_; }
  void forget() { reads_.clear(), applications_ = 0, allocations_ = 0; }

 private:
  struct task {
    std::function<void()> run;
    int waits_for = 0;                  ///< tasks before it that have not run
    std::vector<std::int64_t> held_up;  ///< tasks that wait for it
  };

  void run_any() {
    std::swap(ready_[random_() % ready_.size()], ready_.back());
    const auto chosen = waiting_.find(ready_.back());
    ready_.pop_back();
    const task done = std::move(chosen->second);
    waiting_.erase(chosen);
    done.run();
    for (const auto id : done.held_up)
      if (--waiting_.at(id).waits_for == 0) ready_.push_back(id);
  }

  std::mt19937_64 random_;
  bool lazy_;
  std::int64_t next_ = 0;
  std::unordered_map<std::int64_t, task> waiting_;
  std::vector<std::int64_t> ready_;
  long applications_ = 0, allocations_ = 0;
  std::vector<read_event> reads_;
};

/// One number a column.
class scalars {
 public:
  struct cell {
    std::vector<number> values;
    dependences uses;
  };

  scalars(machine& m, int columns) : machine_(&m), columns_(columns), cell_(std::make_shared<cell>()) {
    cell_->values.assign(static_cast<std::size_t>(columns), {poison, poison});
  }
  int columns() const { return columns_; }
  machine& device() const { return *machine_; }
  const std::shared_ptr<cell>& data() const { return cell_; }

  /// Returns the handle of f(values of a, values of b) column by column, computed later.
  template <class Function>
  friend scalars combined(const scalars& a, const scalars& b, Function f) {
    demand(a.columns() == b.columns(), "scalars of different numbers of columns");
    scalars out(a.device(), a.columns());
    a.device().submit({&a.cell_->uses, &b.cell_->uses}, {&out.cell_->uses},
                      [x = a.cell_, y = b.cell_, z = out.cell_, f] {
                        for (std::size_t n = 0; n < z->values.size(); ++n) z->values[n] = f(x->values[n], y->values[n]);
                      });
    return out;
  }

  friend scalars operator+(const scalars& a, const scalars& b) {
    return combined(a, b, [](number x, number y) { return x + y; });
  }
  friend scalars operator-(const scalars& a, const scalars& b) {
    return combined(a, b, [](number x, number y) { return x - y; });
  }
  friend scalars operator*(const scalars& a, const scalars& b) {
    return combined(a, b, [](number x, number y) { return x * y; });
  }
  friend scalars operator-(const scalars& a) {
    return combined(a, a, [](number x, number) { return -x; });
  }
  friend scalars conj(const scalars& a) {
    return combined(a, a, [](number x, number) { return plaquette::conj(x); });
  }
  friend scalars ratio(const scalars& a, const scalars& b) {
    return combined(a, b, [](number x, number y) { return y == number{} ? number{} : x / y; });
  }
  friend scalars where_above(const scalars& a, std::span<const double> limits) {
    demand(std::ssize(limits) == a.columns(), "where_above: as many limits as columns");
    scalars out(a.device(), a.columns());
    a.device().submit({&a.cell_->uses}, {&out.cell_->uses},
                      [x = a.cell_, z = out.cell_, l = std::vector<double>(limits.begin(), limits.end())] {
                        for (std::size_t n = 0; n < l.size(); ++n)
                          z->values[n] = {x->values[n].re > l[n] ? 1.0 : 0.0, 0.0};
                      });
    return out;
  }
  friend scalars compacted(const scalars& a, std::span<const int> keep) {
    for (std::size_t k = 0; k < keep.size(); ++k)
      demand(keep[k] >= 0 && keep[k] < a.columns(), "compacted: existing columns");
    scalars out(a.device(), static_cast<int>(keep.size()));
    a.device().submit({&a.cell_->uses}, {&out.cell_->uses},
                      [x = a.cell_, z = out.cell_, list = std::vector<int>(keep.begin(), keep.end())] {
                        for (std::size_t k = 0; k < list.size(); ++k)
                          z->values[k] = x->values[static_cast<std::size_t>(list[k])];
                      });
    return out;
  }
  friend std::vector<number> host_values(const scalars& a) {
    a.device().read({a.cell_->uses.writer});
    return a.cell_->values;
  }
  friend std::vector<std::vector<number>> host_values(std::span<const scalars> list) {
    demand(!list.empty(), "host_values of nothing");
    std::vector<std::int64_t> tasks;
    for (const scalars& a : list) tasks.push_back(a.cell_->uses.writer);
    list.front().device().read(tasks);
    std::vector<std::vector<number>> all;
    for (const scalars& a : list) all.push_back(a.cell_->values);
    return all;
  }

 private:
  machine* machine_;
  int columns_;
  std::shared_ptr<cell> cell_;
};

/// Returns a number as it is stored in precision T: double, float, or half (15 bits and sign of each part, relative to
/// the larger of the two).
template <class T>
number rounded(const number& z) {
  if constexpr (std::is_same_v<T, double>) {
    return z;
  } else if constexpr (std::is_same_v<T, float>) {
    return {static_cast<double>(static_cast<float>(z.re)), static_cast<double>(static_cast<float>(z.im))};
  } else {
    const double scale = std::max(std::abs(z.re), std::abs(z.im)), steps = fixed_point_one;
    if (scale == 0.0) return z;
    return {std::nearbyint(z.re / scale * steps) / steps * scale, std::nearbyint(z.im / scale * steps) / steps * scale};
  }
}

/// Dense vectors of one length, a batch of columns, rounded to T whenever they are written.
template <class T>
class basic_field {
  using field = basic_field;  // as they are called below

 public:
  using value_type = T;
  using scalars = mock::scalars;
  struct storage {
    std::vector<number> numbers;
    dependences uses;
  };

  /// \param length  numbers a column
  basic_field(machine& m, int length, int columns, site_subset sites = site_subset::full)
      : machine_(&m), length_(length), columns_(columns), sites_(sites), storage_(std::make_shared<storage>()) {
    machine_->note_allocation();
    storage_->numbers.assign(static_cast<std::size_t>(length) * static_cast<std::size_t>(columns), {poison, poison});
  }

  field_shape shape() const { return {1, length_, sites_, columns_}; }
  int columns() const { return columns_; }
  int length() const { return length_; }
  machine& device() const { return *machine_; }
  bool same_storage(const field& other) const { return storage_ == other.storage_; }

  /// Sets all numbers, now in the queue's order: column after column.
  void set(std::vector<number> numbers) {
    demand(numbers.size() == size(), "set: as many numbers as the field has");
    submit({this}, {}, {}, {}, [s = storage_, o = offset(), v = std::move(numbers)] {
      std::transform(v.begin(), v.end(), s->numbers.begin() + static_cast<std::ptrdiff_t>(o), rounded<T>);
    });
  }
  /// Makes one number f of it, now in the queue's order.
  template <class Function>
  void alter(int column, int index, Function f) {
    demand(column < columns_ && index < length_, "alter: a number that the field has");
    submit({this}, {}, {}, {},
           [s = storage_, f,
            at = offset() + static_cast<std::size_t>(column) * static_cast<std::size_t>(length_) +
                 static_cast<std::size_t>(index)] { s->numbers[at] = f(s->numbers[at]); });
  }
  /// Returns all numbers, column after column. Not a read of an algorithm: it is not recorded.
  std::vector<number> get() const {
    machine_->finish(storage_->uses.writer);
    const auto begin = storage_->numbers.begin() + static_cast<std::ptrdiff_t>(offset());
    return {begin, begin + static_cast<std::ptrdiff_t>(size())};
  }

  friend field like(const field& u) { return {u.device(), u.length_, u.columns_, u.sites_}; }
  friend field like(const field& u, int columns) { return {u.device(), u.length_, columns, u.sites_}; }
  template <class U>
  friend basic_field<U> like(const field& u, int columns, std::type_identity<basic_field<U>>) {
    return {u.device(), u.length_, columns, u.sites_};
  }
  template <class U>
  friend void convert(field& x, const basic_field<U>& u) {
    demand(x.shape() == u.shape(), "convert: fields of one shape");
    x.device().submit({&u.data()->uses}, {&x.storage_->uses},
                      [s = x.storage_, o = x.offset(), su = u.data(), ou = u.offset(), n = x.size()] {
                        for (std::size_t i = 0; i < n; ++i) s->numbers[o + i] = rounded<T>(su->numbers[ou + i]);
                      });
  }
  friend scalars make_scalars(const field& u, std::span<const number> numbers) {
    demand(std::ssize(numbers) == u.columns(), "make_scalars: one number a column");
    scalars out(u.device(), u.columns());
    u.device().submit({}, {&out.data()->uses},
                      [z = out.data(), v = std::vector<number>(numbers.begin(), numbers.end())] { z->values = v; });
    return out;
  }
  friend field view(const field& u, int first, int columns) {
    demand(first >= 0 && columns >= 0 && first + columns <= u.columns_, "view: a range of the columns");
    field v = u;
    v.first_ += first;
    v.columns_ = columns;
    return v;
  }
  friend void compact(field& x, std::span<const int> list) {
    for (std::size_t k = 0; k < list.size(); ++k)
      demand(list[k] >= 0 && list[k] < x.columns_ && (k == 0 || list[k] > list[k - 1]), "compact: ascending columns");
    submit({&x}, {}, {}, {},
           [s = x.storage_, o = x.offset(), n = static_cast<std::size_t>(x.length_),
            before = static_cast<std::size_t>(x.columns_), keep = std::vector<int>(list.begin(), list.end())] {
             for (std::size_t k = 0; k < keep.size(); ++k)
               for (std::size_t i = 0; i < n; ++i)
                 s->numbers[o + k * n + i] = s->numbers[o + static_cast<std::size_t>(keep[k]) * n + i];
             for (std::size_t i = keep.size() * n; i < before * n; ++i) s->numbers[o + i] = {poison, poison};
           });
    x.columns_ = static_cast<int>(list.size());
  }
  friend void copy_columns(field& x, std::span<const int> to, const field& u, std::span<const int> from) {
    demand(to.size() == from.size(), "copy_columns: as many columns as places");
    demand(x.length_ == u.length_ && x.sites_ == u.sites_, "copy_columns: columns of one shape");
    demand(!x.same_storage(u), "copy_columns: two fields");
    for (std::size_t k = 0; k < to.size(); ++k)
      demand(to[k] >= 0 && to[k] < x.columns_ && from[k] >= 0 && from[k] < u.columns_,
             "copy_columns: existing columns");
    submit({&x}, {&u}, {}, {},
           [s = x.storage_, o = x.offset(), su = u.storage_, ou = u.offset(), n = static_cast<std::size_t>(x.length_),
            t = std::vector<int>(to.begin(), to.end()), f = std::vector<int>(from.begin(), from.end())] {
             for (std::size_t k = 0; k < t.size(); ++k)
               for (std::size_t i = 0; i < n; ++i)
                 s->numbers[o + static_cast<std::size_t>(t[k]) * n + i] =
                     su->numbers[ou + static_cast<std::size_t>(f[k]) * n + i];
           });
  }

  friend void zero(field& x) {
    update(x, {}, {}, [](number&, const number*, const number*) {}, true);
  }
  friend void copy(field& x, const field& u) {
    update(x, {&u}, {}, [](number& xi, const number* f, const number*) { xi = f[0]; });
  }
  friend void scale(field& x, const scalars& a) {
    update(x, {}, {&a}, [](number& xi, const number*, const number* c) { xi = c[0] * xi; });
  }
  friend void axpy(field& x, const scalars& a, const field& u) {
    update(x, {&u}, {&a}, [](number& xi, const number* f, const number* c) { xi += c[0] * f[0]; });
  }
  friend void xpay(field& x, const field& u, const scalars& a) {
    update(x, {&u}, {&a}, [](number& xi, const number* f, const number* c) { xi = f[0] + c[0] * xi; });
  }
  friend scalars dot(const field& u, const field& v) {
    demand(u.shape() == v.shape(), "dot: fields of one shape");
    scalars out(u.device(), u.columns());
    submit({}, {&u, &v}, {&out}, {},
           [su = u.storage_, ou = u.offset(), sv = v.storage_, ov = v.offset(), z = out.data(),
            n = static_cast<std::size_t>(u.length_)] {
             for (std::size_t k = 0; k < z->values.size(); ++k) {
               number sum;
               for (std::size_t i = 0; i < n; ++i)
                 sum += plaquette::conj(su->numbers[ou + k * n + i]) * sv->numbers[ov + k * n + i];
               z->values[k] = sum;
             }
           });
    return out;
  }
  friend scalars norm2(const field& u) {
    scalars out(u.device(), u.columns());
    submit({}, {&u}, {&out}, {},
           [s = u.storage_, o = u.offset(), z = out.data(), n = static_cast<std::size_t>(u.length_)] {
             for (std::size_t k = 0; k < z->values.size(); ++k) {
               double sum = 0.0;
               for (std::size_t i = 0; i < n; ++i) sum += plaquette::norm2(s->numbers[o + k * n + i]);
               z->values[k] = {sum, 0.0};
             }
           });
    return out;
  }

  // The fused forms are what their names say, one after the other.
  friend scalars axpy_norm2(field& x, const scalars& a, const field& u) {
    axpy(x, a, u);
    return norm2(x);
  }
  friend void axpy_pair(field& x, const scalars& a, const field& u, const scalars& b, const field& v) {
    update(x, {&u, &v}, {&a, &b},
           [](number& xi, const number* f, const number* c) { xi += c[0] * f[0] + c[1] * f[1]; });
  }
  friend scalars subtract_norm2(field& x, const field& u, const field& v) {
    update(x, {&u, &v}, {}, [](number& xi, const number* f, const number*) { xi = f[0] - f[1]; });
    return norm2(x);
  }
  friend scalars cg_update(field& x, field& y, const scalars& a, const field& u, const field& v) {
    demand(!x.same_storage(y) && !x.same_storage(v) && !y.same_storage(u), "cg_update: different fields");
    axpy(x, a, u);
    axpy(y, -a, v);
    return norm2(y);
  }
  friend std::pair<scalars, scalars> dot_norm2(const field& u, const field& v) { return {dot(u, v), norm2(u)}; }
  friend std::pair<scalars, scalars> axpy_dot_norm2(field& x, const scalars& a, const field& u, const field& w) {
    demand(!x.same_storage(w), "axpy_dot_norm2: different fields");
    axpy(x, a, u);
    return {dot(w, x), norm2(x)};
  }
  friend scalars bicgstab_step(field& x, field& y, field& z, const scalars& a, const scalars& b, const scalars& c,
                               const field& u, const field& v) {
    axpy_pair(x, a, z, b, y);
    const scalars yy = axpy_norm2(y, -b, u);
    update(z, {&y, &v}, {&c, &b},
           [](number& zi, const number* f, const number* s) { zi = f[0] + s[0] * (zi - s[1] * f[1]); });
    return yy;
  }

  std::size_t offset() const { return static_cast<std::size_t>(first_) * static_cast<std::size_t>(length_); }
  std::size_t size() const { return static_cast<std::size_t>(columns_) * static_cast<std::size_t>(length_); }
  const std::shared_ptr<storage>& data() const { return storage_; }

  /// Queues a task with the dependences of fields and handles.
  static void submit(std::vector<const field*> written, std::vector<const field*> read,
                     std::vector<const scalars*> scalars_written, std::vector<const scalars*> scalars_read,
                     std::function<void()> run) {
    machine& m = !written.empty() ? written.front()->device() : read.front()->device();
    std::vector<dependences*> reads, writes;
    for (const field* f : read) reads.push_back(&f->storage_->uses);
    for (const scalars* s : scalars_read) reads.push_back(&s->data()->uses);
    for (const field* f : written) writes.push_back(&f->storage_->uses);
    for (const scalars* s : scalars_written) writes.push_back(&s->data()->uses);
    m.submit(std::move(reads), std::move(writes), std::move(run));
  }

 private:
  /// Computes x_i = f(x_i, the numbers of the fields at i, the scalars of the column), later.
  template <class Function>
  static void update(field& x, const std::vector<const field*>& fields, const std::vector<const scalars*>& coefficients,
                     Function f, bool erase = false) {
    struct source {
      std::shared_ptr<storage> data;
      std::size_t offset;
    };
    std::vector<source> sources;
    for (const field* u : fields) {
      demand(u->shape() == x.shape(), "an update: fields of one shape");
      demand(!u->same_storage(x), "an update: different fields");
      sources.push_back({u->storage_, u->offset()});
    }
    std::vector<std::shared_ptr<scalars::cell>> cells;
    for (const scalars* a : coefficients) {
      demand(a->columns() == x.columns(), "an update: one scalar a column");
      cells.push_back(a->data());
    }
    submit({&x}, fields, {}, coefficients,
           [s = x.storage_, o = x.offset(), sources, cells, n = static_cast<std::size_t>(x.length_),
            columns = static_cast<std::size_t>(x.columns_), f, erase] {
             for (std::size_t k = 0; k < columns; ++k) {
               number c[2], values[2];
               for (std::size_t j = 0; j < cells.size(); ++j) c[j] = cells[j]->values[k];
               for (std::size_t i = 0; i < n; ++i) {
                 for (std::size_t j = 0; j < sources.size(); ++j)
                   values[j] = sources[j].data->numbers[sources[j].offset + k * n + i];
                 number& xi = s->numbers[o + k * n + i];
                 if (erase) xi = {};
                 f(xi, values, c);
                 xi = rounded<T>(xi);
               }
             }
           });
  }

  machine* machine_;
  int length_, columns_, first_ = 0;
  site_subset sites_;
  std::shared_ptr<storage> storage_;
};

using field = basic_field<double>;

/// A dense matrix, the same for every column.
class dense_operator {
 public:
  /// \param entries  rows x columns numbers, row after row
  dense_operator(int rows, int columns, std::vector<number> entries)
      : rows_(rows), columns_(columns), entries_(std::make_shared<const std::vector<number>>(std::move(entries))) {
    demand(std::ssize(*entries_) == static_cast<std::ptrdiff_t>(rows) * columns, "a matrix of rows x columns numbers");
  }
  int rows() const { return rows_; }
  int columns() const { return columns_; }

  template <class T>
  void apply(basic_field<T>& out, const basic_field<T>& in) const {
    multiply(out, in, rows_, columns_,
             [e = entries_, n = static_cast<std::size_t>(columns_)](std::size_t i, std::size_t j) {
               return (*e)[i * n + j];
             });
  }
  template <class T>
  void apply_dagger(basic_field<T>& out, const basic_field<T>& in) const {
    multiply(out, in, columns_, rows_,
             [e = entries_, n = static_cast<std::size_t>(columns_)](std::size_t i, std::size_t j) {
               return plaquette::conj((*e)[j * n + i]);
             });
  }

 private:
  template <class T, class Entry>
  static void multiply(basic_field<T>& out, const basic_field<T>& in, int rows, int columns, Entry entry) {
    demand(out.length() == rows && in.length() == columns, "a field as long as the matrix");
    demand(out.columns() == in.columns(), "as many columns out as in");
    demand(!out.same_storage(in), "an operator: different fields");
    out.device().note_application();
    basic_field<T>::submit({&out}, {&in}, {}, {},
                           [so = out.data(), oo = out.offset(), si = in.data(), oi = in.offset(), entry,
                            r = static_cast<std::size_t>(rows), c = static_cast<std::size_t>(columns),
                            batch = static_cast<std::size_t>(in.columns())] {
                             for (std::size_t k = 0; k < batch; ++k)
                               for (std::size_t i = 0; i < r; ++i) {
                                 number sum;
                                 for (std::size_t j = 0; j < c; ++j) sum += entry(i, j) * si->numbers[oi + k * c + j];
                                 so->numbers[oo + k * r + i] = rounded<T>(sum);
                               }
                           });
  }

  int rows_, columns_;
  std::shared_ptr<const std::vector<number>> entries_;
};

/// Another operator whose output turns to NaN in one column from some application on.
template <class A>
class failing_operator {
 public:
  failing_operator(A a, long good_applications, int column)
      : a_(std::move(a)), left_(good_applications), column_(column) {}
  template <class T>
  void apply(basic_field<T>& out, const basic_field<T>& in) const {
    a_.apply(out, in);
    spoil(out);
  }
  template <class T>
  void apply_dagger(basic_field<T>& out, const basic_field<T>& in) const {
    a_.apply_dagger(out, in);
    spoil(out);
  }

 private:
  template <class T>
  void spoil(basic_field<T>& out) const {
    if (left_-- > 0 || column_ >= out.columns()) return;
    auto column = view(out, column_, 1);
    column.set(std::vector<number>(column.size(), {poison, poison}));
  }
  A a_;
  mutable long left_;
  int column_;
};

/// Where a bit flips: in the input of an operator, or in its result.
enum class flip_in { input, result };

/// Another operator that once alters a number, in the first column: a bit flip in the machine.
template <class A>
class flipping_operator {
 public:
  /// \param good_applications  before the one that goes wrong
  /// \param error              is added to the first number
  flipping_operator(A a, long good_applications, double error, flip_in where = flip_in::result)
      : a_(std::move(a)), left_(good_applications), error_(error), where_(where) {}
  template <class T>
  void apply(basic_field<T>& out, const basic_field<T>& in) const {
    flip(const_cast<basic_field<T>&>(in), flip_in::input);
    a_.apply(out, in);
    flip(out, flip_in::result);
  }
  template <class T>
  void apply_dagger(basic_field<T>& out, const basic_field<T>& in) const {
    flip(const_cast<basic_field<T>&>(in), flip_in::input);
    a_.apply_dagger(out, in);
    flip(out, flip_in::result);
  }

 private:
  template <class T>
  void flip(basic_field<T>& field, flip_in where) const {
    if (where == where_ && left_-- == 0)
      field.alter(0, 0, [e = error_](const number& z) { return number{z.re + e, z.im}; });
  }
  A a_;
  mutable long left_;
  double error_;
  flip_in where_;
};

static_assert(column_scalars<scalars>);
static_assert(field_batch<field> && field_batch<basic_field<float>> && field_batch<basic_field<half>>);
static_assert(precisions_of_one_field<field, basic_field<float>> && precisions_of_one_field<field, basic_field<half>>);
static_assert(linear_operator<dense_operator, field>);

}  // namespace plaquette::mock
