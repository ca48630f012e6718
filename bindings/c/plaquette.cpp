// SPDX-License-Identifier: BSD-3-Clause
#include "plaquette/plaquette.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bindings/cpp/source/floats_as_doubles.hpp"
#include "bindings/cpp/source/process.hpp"
#include "common/number_text.hpp"
#include "plaquette/plaquette.hpp"
#include "plaquette/waves.hpp"

namespace api = plaquette::api;

namespace {

// ---- Errors

/// What went wrong last in this thread. A fixed buffer: to say that memory is short takes none.
thread_local char last_message[1024] = "";

void remember(const char* text) {
  std::strncpy(last_message, text, sizeof last_message - 1);
  last_message[sizeof last_message - 1] = '\0';
}

int fail(int code, const char* text) {
  remember(text);
  return code;
}

[[noreturn]] void refuse(const std::string& text) { throw api::error(api::code::unusable_input, text); }

/// Runs a call; its exceptions become codes.
template <class Call>
int answer(Call&& call) noexcept {
  try {
    api::require_unforked();
    return static_cast<int>(call());
  } catch (const api::error& e) {
    return fail(static_cast<int>(e.which()), e.what());
  } catch (const std::bad_alloc&) {
    return fail(PLAQUETTE_OUT_OF_MEMORY, "not enough memory");
  } catch (const std::exception& e) {
    return fail(PLAQUETTE_INTERNAL_ERROR, e.what());
  } catch (...) {
    return fail(PLAQUETTE_INTERNAL_ERROR, "an exception of unknown type");
  }
}

template <class T>
T& there(T* pointer, const char* name) {
  if (pointer == nullptr) refuse(std::string(name) + ": expected an address, found null");
  return *pointer;
}

/// Returns the caller's options, or the defaults. A structure of another size belongs to another version.
template <class T>
T options_of(const T* given, const T& defaults, const char* name) {
  if (given == nullptr) return defaults;
  if (given->size != sizeof(T))
    refuse(std::string(name) + ": expected a structure of " + std::to_string(sizeof(T)) + " bytes, found size = " +
           std::to_string(given->size) + "; begin with its defaults, and compile with the header of this library");
  return *given;
}

// ---- Handles

/// Returns a key that no object had before. Keys of all kinds differ, so that a handle of another kind is refused too.
std::uint64_t next_key() {
  static std::atomic<std::uint64_t> last{0x706c710000000000};
  return ++last;
}

/// Objects behind keys. A key is never used twice, so that a freed handle stays refused. It is the only state that
/// calls share; no number depends on it.
template <class Object>
class object_table {
 public:
  std::uint64_t add(Object object) {
    auto made = std::make_shared<Object>(std::move(object));
    const std::lock_guard lock(mutex_);
    const std::uint64_t key = next_key();
    objects_.emplace(key, std::move(made));
    return key;
  }
  std::shared_ptr<Object> find(std::uint64_t key) const {
    const std::lock_guard lock(mutex_);
    const auto at = objects_.find(key);
    return at == objects_.end() ? nullptr : at->second;
  }
  /// Returns the object that was there: it ends outside the lock.
  std::shared_ptr<Object> take(std::uint64_t key) {
    const std::lock_guard lock(mutex_);
    const auto at = objects_.find(key);
    if (at == objects_.end()) return nullptr;
    std::shared_ptr<Object> object = std::move(at->second);
    objects_.erase(at);
    return object;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Object>> objects_;
};

template <class Handle>
struct kind;
template <>
struct kind<plaquette_lattice> {
  using object = api::lattice;
  static constexpr const char* name = "lattice";
};
template <>
struct kind<plaquette_gauge> {
  using object = api::gauge_field;
  static constexpr const char* name = "gauge field";
};
template <>
struct kind<plaquette_solver> {
  using object = api::solver;
  static constexpr const char* name = "solver";
};
template <>
struct kind<plaquette_operator> {
  using object = api::dirac_operator;
  static constexpr const char* name = "operator";
};
template <>
struct kind<plaquette_overlap> {
  using object = api::overlap_solver;
  static constexpr const char* name = "overlap solver";
};
template <>
struct kind<plaquette_propagator> {
  using object = api::propagator;
  static constexpr const char* name = "propagator";
};
template <>
struct kind<plaquette_vectors> {
  using object = api::vectors;
  static constexpr const char* name = "vectors";
};
template <>
struct kind<plaquette_waves> {
  using object = api::wave_solver;
  static constexpr const char* name = "solver of waves";
};
template <>
struct kind<plaquette_device_memory> {
  using object = api::device_memory;
  static constexpr const char* name = "memory of a device";
};

template <class Handle>
auto& table_of() {
  // Never destroyed: objects that a caller forgot would end after MPI and the device have.
  static auto* const table = new object_table<typename kind<Handle>::object>;
  return *table;
}

template <class Handle>
std::shared_ptr<typename kind<Handle>::object> object_of(Handle handle) {
  if (auto found = table_of<Handle>().find(handle.key)) return found;
  throw api::error(api::code::invalid_handle,
                   std::string("no such ") + kind<Handle>::name +
                       (handle.key == 0 ? ": the handle is zero" : ": the handle was freed, or is of another kind"));
}

template <class Handle>
Handle handle_of(typename kind<Handle>::object object) {
  return Handle{table_of<Handle>().add(std::move(object))};
}

template <class Handle>
int free_handle(Handle* handle) {
  if (handle != nullptr && api::is_forked()) {  // the object is the parent's: it ends there
    handle->key = 0;
    return PLAQUETTE_SUCCESS;
  }
  return answer([&] {
    Handle& given = there(handle, "handle");
    if (given.key == 0) return api::code::success;
    if (!table_of<Handle>().take(given.key)) object_of(given);
    given.key = 0;
    return api::code::success;
  });
}

// ---- What C has otherwise

std::complex<double> number(const double (&pair)[2]) { return {pair[0], pair[1]}; }

std::array<std::complex<double>, 4> numbers(const double (&pairs)[4][2]) {
  return {number(pairs[0]), number(pairs[1]), number(pairs[2]), number(pairs[3])};
}

template <class T, std::size_t N>
std::array<T, N> list(const T (&values)[N]) {
  std::array<T, N> result;
  std::copy_n(values, N, result.begin());
  return result;
}

template <class Enumeration>
Enumeration choice(int value, int count, const char* name) {
  if (value < 0 || value >= count)
    refuse(std::string(name) + ": expected a number from 0 to " + std::to_string(count - 1) + ", found " +
           std::to_string(value));
  return static_cast<Enumeration>(value);
}

api::device device_of(int value) { return choice<api::device>(value, 2, "device"); }

api::memory memory_of(int flag) {
  if ((flag & ~PLAQUETTE_ON_DEVICE & ~PLAQUETTE_SINGLE) != 0)
    refuse("memory of an array: expected 0, PLAQUETTE_ON_DEVICE, PLAQUETTE_SINGLE or the sum of both, found " +
           std::to_string(flag));
  return (flag & PLAQUETTE_ON_DEVICE) == 0 ? api::memory::host : api::memory::device;
}

std::span<const std::int64_t> places_of(const std::int64_t* places, const api::lattice& lattice) {
  if (places == nullptr) return {};
  return {places, static_cast<std::size_t>(lattice.local_volume())};
}

api::action action_of(const plaquette_action* given) {
  const plaquette_action a = options_of(given, plaquette_action PLAQUETTE_ACTION_DEFAULTS, "action");
  api::action result;
  result.mass = a.mass;
  result.csw = a.csw;
  if (a.anisotropy != 1.0) result.csw_temporal = a.csw_temporal;
  result.anisotropy = a.anisotropy;
  result.nu = a.nu;
  result.boundary_phase = numbers(a.boundary_phase);
  return result;
}

api::spinor_layout layout_of(const plaquette_spinor_layout* given, const api::lattice& lattice) {
  if (given == nullptr) return api::spinor_layout::dense(lattice.local());
  const plaquette_spinor_layout l = options_of(given, plaquette_spinor_layout{}, "spinor layout");
  api::spinor_layout result;
  result.first = l.first;
  result.site = list(l.site);
  result.spin = l.spin, result.colour = l.colour, result.imaginary = l.imaginary, result.column = l.column;
  result.places = places_of(l.places, lattice);
  result.basis = choice<api::gamma_basis>(l.basis, 5, "gamma basis");
  result.memory = memory_of(l.memory);
  return result;
}

api::link_layout layout_of(const plaquette_link_layout& l, const api::lattice& lattice) {
  api::link_layout result;
  result.first = l.first;
  result.site = list(l.site), result.direction = list(l.direction);
  result.row = l.row, result.column = l.column, result.imaginary = l.imaginary;
  result.places = places_of(l.places, lattice);
  result.boundary_phase = numbers(l.boundary_phase);
  result.staggered_phases = choice<int>(l.staggered, 2, "staggered") == 1;
  result.memory = memory_of(l.number & PLAQUETTE_ON_DEVICE);
  return result;
}

/// Returns whether an array has floats. Of a layout that layout_of has seen.
bool is_single(const plaquette_spinor_layout* layout) {
  return layout != nullptr && (layout->memory & PLAQUETTE_SINGLE) != 0;
}

void require_double(const plaquette_spinor_layout* layout, const char* name) {
  if (is_single(layout)) refuse(std::string(name) + ": expected an array of doubles, found one of floats");
}

/// Returns an array of floats, which C gives by the address of doubles.
std::span<float> floats_at(double* address, std::size_t length) { return {reinterpret_cast<float*>(address), length}; }
std::span<const float> floats_at(const double* address, std::size_t length) {
  return {reinterpret_cast<const float*>(address), length};
}

/// Writes columns to a caller's array of doubles or floats.
/// \param write  (array of doubles, its layout)
template <class Write>
void write_columns(double* numbers, std::size_t length, const plaquette_spinor_layout* layout, int columns,
                   const api::lattice& on, const char* name, Write&& write) {
  const api::spinor_layout where = layout_of(layout, on);
  if (!is_single(layout)) return write(std::span(numbers, length), where);
  api::floats_as_doubles to(floats_at(numbers, length), where, columns, on, name);
  write(to.get(), to.layout());
  to.put();
}

/// Writes columns that are made of those of another array of the same layout.
/// \param make  (array to write, array to read, layout)
template <class Make>
void make_columns(double* to, const double* from, std::size_t length, const plaquette_spinor_layout* layout,
                  int columns, const api::lattice& on, const char* name, Make&& make) {
  const api::spinor_layout where = layout_of(layout, on);
  if (!is_single(layout)) return make(std::span(to, length), std::span(from, length), where);
  api::floats_as_doubles in(floats_at(from, length), where, columns, on, name);
  api::floats_as_doubles out(floats_at(to, length), where, columns, on, name);
  make(out.get(), in.get(), out.layout());
  out.put();
}

api::given_modes modes_of(const plaquette_modes* given, const api::lattice& lattice) {
  const plaquette_modes m = options_of(given, plaquette_modes PLAQUETTE_MODES_DEFAULTS, "modes");
  if (m.count < 0) refuse("modes: expected a count of 0 or more, found " + std::to_string(m.count));
  if (m.count == 0) return {};
  require_double(m.layout, "modes");
  there(m.values, "eigenvalues");
  there(m.vectors, "vectors");
  return {std::span(m.values, static_cast<std::size_t>(m.count)), std::span(m.vectors, m.length),
          layout_of(m.layout, lattice)};
}

api::rule rule_of(const plaquette_rule* given) {
  const plaquette_rule r = options_of(given, plaquette_rule PLAQUETTE_RULE_DEFAULTS, "rule");
  return {r.tolerance, r.iteration_limit, r.judge != 0};
}

api::source source_of(const plaquette_source* given) {
  const plaquette_source s = options_of(given, plaquette_source PLAQUETTE_SOURCE_DEFAULTS, "source");
  api::source result;
  result.kind = choice<api::source_kind>(s.kind, 5, "kind of source");
  result.position = list(s.position);
  result.momentum = list(s.momentum);
  result.radius = s.radius;
  result.steps = s.steps;
  result.seed = s.seed;
  return result;
}

void put_results(plaquette_result* results, const api::solve_report& report) {
  if (results == nullptr) return;
  for (std::size_t n = 0; n < report.columns.size(); ++n) {
    const api::column_result& c = report.columns[n];
    results[n] = {c.iterated, c.device, c.reference, c.tolerance, c.iterations, c.passed ? 1 : 0};
  }
}

/// Returns the code of a solve; a failed one leaves its sentence.
api::code outcome_of(const api::solve_report& report) {
  const api::code code = report.outcome();
  if (code != api::code::success) remember(report.verdict().text.c_str());
  return code;
}

/// Returns the code of data made of a result: if its solve was stopped, the result has not converged.
api::code outcome_of_result(const api::solve_report& report) {
  const api::code code = outcome_of(report);
  return code == api::code::interrupted ? api::code::no_convergence : code;
}

/// Copies a correlator to where require_room has found its size. Returns the code of the propagator that it is made of.
api::code put_correlator(const std::vector<double>& values, double* correlator, const api::propagator& from) {
  std::ranges::copy(values, correlator);
  return outcome_of_result(from.report());
}

/// Refuses a room of the wrong size before any work.
void require_room(const double* correlator, std::size_t length, const api::propagator& from, std::size_t per_time,
                  std::size_t direction = 3) {
  there(correlator, "correlator");
  const std::size_t needed = per_time * static_cast<std::size_t>(from.on().extents()[direction]);
  if (length != needed)
    refuse("correlator: expected room for " + std::to_string(needed) + " numbers, found " + std::to_string(length));
}

/// Does the same with pairs of real and imaginary parts.
api::code put_correlator(const std::vector<std::complex<double>>& values, double* correlator,
                         const api::propagator& from) {
  for (const auto& value : values) {
    *correlator++ = value.real();
    *correlator++ = value.imag();
  }
  return outcome_of_result(from.report());
}

std::array<int, 3> momentum_of(const int* given) {
  std::array<int, 3> p{};
  if (given != nullptr) std::copy_n(given, 3, p.begin());
  return p;
}

/// Puts a propagator where the caller wants it.
api::code put_propagator(plaquette_propagator* to, const api::propagator& quark, plaquette_result* results) {
  put_results(results, quark.report());
  *to = handle_of<plaquette_propagator>(quark);
  return outcome_of(quark.report());
}

/// Makes a solver of waves on what `shape` returns: a box, a mesh or a file.
template <class Shape>
int create_waves(plaquette_waves* waves, const plaquette_wave_options* options, Shape&& shape) {
  return answer([&] {
    there(waves, "waves").key = 0;
    const auto o = options_of(options, plaquette_wave_options PLAQUETTE_WAVE_DEFAULTS, "wave options");
    api::wave_options how;
    how.equations = choice<api::waves>(o.equations, 2, "equations");
    how.order = o.order, how.columns = o.columns;
    how.device = device_of(o.device);
    how.precision = choice<api::precision>(o.precision, 2, "precision");
    how.upwinding = o.upwinding;
    how.absorbing = o.absorbing != 0;
    if (o.has_mpi != 0) how.fortran_communicator = o.communicator;
    *waves = handle_of<plaquette_waves>(api::wave_solver(shape(), how));
    return api::code::success;
  });
}

/// Returns the count of numbers of a given array. Throws if a size in bytes would overflow.
std::size_t count_of(std::size_t of, std::size_t each, const char* name) {
  if (of > (std::size_t{1} << 40))
    refuse(std::string(name) + ": expected fewer than 2^40, found " + std::to_string(of));
  return of * each;
}

/// Returns where numbers go. Throws if their count is another one.
template <class Number>
Number* room_for(Number* to, std::size_t length, std::size_t needed, const char* name) {
  there(to, name);
  if (length != needed)
    refuse(std::string(name) + ": expected room for " + std::to_string(needed) + " numbers, found " +
           std::to_string(length));
  return to;
}

/// Refuses a count that is neither 1 nor the number of columns, before anything is read.
void require_one_or_each(int count, const api::vectors& of, const char* name) {
  if (const int columns = of.options().columns; count != 1 && count != columns)
    refuse(std::string(name) + ": expected one number, or one for each of " + std::to_string(columns) +
           " columns, found " + std::to_string(count));
}

/// Returns numbers that columns are multiplied by.
std::vector<std::complex<double>> factors_of(const double* pairs, int count, const api::vectors& of) {
  there(pairs, "factors");
  require_one_or_each(count, of, "factors");
  std::vector<std::complex<double>> result;
  for (int n = 0; n < count; ++n) result.emplace_back(pairs[2 * n], pairs[2 * n + 1]);
  return result;
}

std::vector<double> mu_of(const double* mu, int count, const api::vectors& of) {
  if (count == 0) return {};
  require_one_or_each(count, of, "mu");
  return {&there(mu, "mu"), mu + count};
}

/// Refuses room for another number of doubles than `each` a column.
void require_columns_of(const double* to, std::size_t length, const api::vectors& of, std::size_t each,
                        const char* name) {
  there(to, name);
  const std::size_t needed = each * static_cast<std::size_t>(of.options().columns);
  if (length != needed)
    refuse(std::string(name) + ": expected room for " + std::to_string(needed) + " numbers, found " +
           std::to_string(length));
}

int create_lattice(plaquette_lattice* lattice, const int* extents, const plaquette_lattice_options* options,
                   bool reproducible) {
  return answer([&] {
    there(lattice, "lattice").key = 0;
    there(extents, "extents");
    const auto o = options_of(options, plaquette_lattice_options PLAQUETTE_LATTICE_DEFAULTS, "lattice options");
    api::lattice_options how;
    how.grid = list(o.grid);
    how.threads = o.threads;
    how.reproducible = reproducible;
    if (o.has_mpi != 0) how.fortran_communicator = o.communicator;
    *lattice = handle_of<plaquette_lattice>(api::lattice({extents[0], extents[1], extents[2], extents[3]}, how));
    return api::code::success;
  });
}

}  // namespace

extern "C" {

const char* plaquette_error_text(int code) { return api::text_of(static_cast<api::code>(code)); }
const char* plaquette_last_message(void) { return last_message; }
const char* plaquette_version(void) { return api::version(); }
int plaquette_abi(void) { return PLAQUETTE_ABI; }
int plaquette_has_gpu(void) {
  int found = 0;
  answer([&] {
    found = api::has_gpu() ? 1 : 0;
    return api::code::success;
  });
  return found;
}

int plaquette_stop_function(int (*goes_on)(void* data), void* data) {
  return answer([&] {
    if (goes_on == nullptr)
      api::stop_function(nullptr);
    else
      api::stop_function([goes_on, data] { return goes_on(data) != 0; });
    return api::code::success;
  });
}

int plaquette_progress_function(int (*stops)(const plaquette_progress* progress, void* data), void* data) {
  return answer([&] {
    if (stops == nullptr)
      api::progress_function(nullptr);
    else
      api::progress_function([stops, data](const api::progress& p) {
        const plaquette_progress reached{
            sizeof(plaquette_progress), p.what, p.step, p.limit, p.residual, p.tolerance, p.seconds};
        return stops(&reached, data) != 0;
      });
    return api::code::success;
  });
}

int plaquette_lattice_free(plaquette_lattice* handle) { return free_handle(handle); }
int plaquette_gauge_free(plaquette_gauge* handle) { return free_handle(handle); }
int plaquette_solver_free(plaquette_solver* handle) { return free_handle(handle); }
int plaquette_operator_free(plaquette_operator* handle) { return free_handle(handle); }
int plaquette_overlap_free(plaquette_overlap* handle) { return free_handle(handle); }
int plaquette_propagator_free(plaquette_propagator* handle) { return free_handle(handle); }
int plaquette_device_memory_free(plaquette_device_memory* handle) { return free_handle(handle); }
int plaquette_vectors_free(plaquette_vectors* handle) { return free_handle(handle); }
int plaquette_waves_free(plaquette_waves* handle) { return free_handle(handle); }

int plaquette_device_memory_create(plaquette_device_memory* memory, plaquette_lattice lattice, size_t bytes,
                                   void** address, int* device) {
  return answer([&] {
    there(memory, "memory").key = 0;
    there(address, "address") = nullptr;
    const api::device_memory made(*object_of(lattice), bytes);
    *address = made.address();
    if (device != nullptr) *device = made.device();
    *memory = handle_of<plaquette_device_memory>(made);
    return api::code::success;
  });
}

int plaquette_device_memory_write(plaquette_device_memory memory, const void* from, size_t bytes) {
  return answer([&] {
    const auto to = object_of(memory);
    if (from == nullptr) refuse("memory to copy: expected an address, found null");
    to->write(std::span(static_cast<const std::byte*>(from), bytes));
    return api::code::success;
  });
}

int plaquette_device_memory_read(plaquette_device_memory memory, void* to, size_t bytes) {
  return answer([&] {
    const auto from = object_of(memory);
    if (to == nullptr) refuse("memory to copy: expected an address, found null");
    from->read(std::span(static_cast<std::byte*>(to), bytes));
    return api::code::success;
  });
}

int plaquette_lattice_create(plaquette_lattice* lattice, const int extents[4],
                             const plaquette_lattice_options* options) {
  return create_lattice(lattice, extents, options, false);
}

int plaquette_lattice_create_reproducible(plaquette_lattice* lattice, const int extents[4],
                                          const plaquette_lattice_options* options) {
  return create_lattice(lattice, extents, options, true);
}

int plaquette_lattice_box(plaquette_lattice lattice, int local[4], int origin[4]) {
  return answer([&] {
    const auto on = object_of(lattice);
    if (local != nullptr) std::ranges::copy(on->local(), local);
    if (origin != nullptr) std::ranges::copy(on->origin(), origin);
    return api::code::success;
  });
}

int plaquette_link_layout_dense(plaquette_link_layout* layout, const int local[4], int site_order) {
  return answer([&] {
    there(layout, "layout");
    there(local, "extents");
    const auto dense = api::link_layout::dense({local[0], local[1], local[2], local[3]},
                                               choice<api::site_order>(site_order, 2, "order of sites"));
    *layout = {};
    layout->size = sizeof *layout;
    std::ranges::copy(dense.site, layout->site);
    std::ranges::copy(dense.direction, layout->direction);
    layout->row = dense.row, layout->column = dense.column, layout->imaginary = dense.imaginary;
    for (auto& phase : layout->boundary_phase) phase[0] = 1.0;
    return api::code::success;
  });
}

int plaquette_spinor_layout_dense(plaquette_spinor_layout* layout, const int local[4], int site_order) {
  return answer([&] {
    there(layout, "layout");
    there(local, "extents");
    const auto dense = api::spinor_layout::dense({local[0], local[1], local[2], local[3]},
                                                 choice<api::site_order>(site_order, 2, "order of sites"));
    *layout = {};
    layout->size = sizeof *layout;
    std::ranges::copy(dense.site, layout->site);
    layout->spin = dense.spin, layout->colour = dense.colour, layout->imaginary = dense.imaginary;
    layout->column = dense.column;
    return api::code::success;
  });
}

int plaquette_gauge_create(plaquette_gauge* gauge, plaquette_lattice lattice, const void* numbers, size_t length,
                           const plaquette_link_layout* layout) {
  return answer([&] {
    there(gauge, "gauge").key = 0;
    const auto on = object_of(lattice);
    if (numbers == nullptr) refuse("array of links: expected an address, found null");
    const auto l = options_of(&there(layout, "link layout"), plaquette_link_layout{}, "link layout");
    const api::link_layout where = layout_of(l, *on);
    if (choice<int>(l.number & ~PLAQUETTE_ON_DEVICE, 2, "type of numbers") == PLAQUETTE_SINGLE)
      *gauge = handle_of<plaquette_gauge>(
          api::gauge_field(*on, std::span(static_cast<const float*>(numbers), length), where));
    else
      *gauge = handle_of<plaquette_gauge>(
          api::gauge_field(*on, std::span(static_cast<const double*>(numbers), length), where));
    return api::code::success;
  });
}

int plaquette_gauge_assign(plaquette_gauge gauge, const void* numbers, size_t length,
                           const plaquette_link_layout* layout) {
  return answer([&] {
    const auto links = object_of(gauge);
    if (numbers == nullptr) refuse("array of links: expected an address, found null");
    const auto l = options_of(&there(layout, "link layout"), plaquette_link_layout{}, "link layout");
    const api::link_layout where = layout_of(l, links->on());
    if (choice<int>(l.number & ~PLAQUETTE_ON_DEVICE, 2, "type of numbers") == PLAQUETTE_SINGLE)
      links->assign(std::span(static_cast<const float*>(numbers), length), where);
    else
      links->assign(std::span(static_cast<const double*>(numbers), length), where);
    return api::code::success;
  });
}

int plaquette_gauge_heatbath(plaquette_gauge gauge, const plaquette_heatbath* how) {
  return answer([&] {
    const auto links = object_of(gauge);
    const auto h = options_of(how, plaquette_heatbath PLAQUETTE_HEATBATH_DEFAULTS, "heat bath");
    links->heatbath({.beta = h.beta,
                     .anisotropy = h.anisotropy,
                     .heatbaths = h.heatbaths,
                     .overrelaxations = h.overrelaxations,
                     .sweeps = h.sweeps,
                     .seed = h.seed,
                     .first = h.first,
                     .device = device_of(h.device)});
    return api::code::success;
  });
}

int plaquette_gauge_to_device(plaquette_gauge gauge, int device) {
  return answer([&] {
    object_of(gauge)->to_device(device_of(device));
    return api::code::success;
  });
}

int plaquette_gauge_moves(plaquette_gauge gauge, int64_t* moves) {
  return answer([&] {
    there(moves, "moves") = object_of(gauge)->moves();
    return api::code::success;
  });
}

int plaquette_solver_follow(plaquette_solver solver, plaquette_gauge gauge) {
  return answer([&] {
    object_of(solver)->follow(*object_of(gauge));
    return api::code::success;
  });
}

int plaquette_solver_renew(plaquette_solver solver, int iterations) {
  return answer([&] {
    object_of(solver)->renew(iterations);
    return api::code::success;
  });
}

int plaquette_operator_follow(plaquette_operator m, plaquette_gauge gauge) {
  return answer([&] {
    object_of(m)->follow(*object_of(gauge));
    return api::code::success;
  });
}

int plaquette_overlap_follow(plaquette_overlap overlap, plaquette_gauge gauge) {
  return answer([&] {
    object_of(overlap)->follow(*object_of(gauge));
    return api::code::success;
  });
}

int plaquette_gauge_copy(plaquette_gauge gauge, void* numbers, size_t length, const plaquette_link_layout* layout) {
  return answer([&] {
    const auto links = object_of(gauge);
    if (numbers == nullptr) refuse("array for links: expected an address, found null");
    const auto l = options_of(&there(layout, "link layout"), plaquette_link_layout{}, "link layout");
    const api::link_layout where = layout_of(l, links->on());
    if (choice<int>(l.number & ~PLAQUETTE_ON_DEVICE, 2, "type of numbers") == PLAQUETTE_SINGLE)
      links->copy_to(std::span(static_cast<float*>(numbers), length), where);
    else
      links->copy_to(std::span(static_cast<double*>(numbers), length), where);
    return api::code::success;
  });
}

int plaquette_gauge_read(plaquette_gauge* gauge, plaquette_lattice lattice, const char* file) {
  return answer([&] {
    there(gauge, "gauge").key = 0;
    there(file, "file");
    *gauge = handle_of<plaquette_gauge>(api::gauge_field::read(*object_of(lattice), file));
    return api::code::success;
  });
}

int plaquette_gauge_file_extents(const char* file, int extents[4]) {
  return answer([&] {
    there(file, "file");
    there(extents, "extents");
    std::ranges::copy(api::gauge_field::extents_in(file), extents);
    return api::code::success;
  });
}

int plaquette_gauge_write(plaquette_gauge gauge, const char* file, int replace) {
  return answer([&] {
    there(file, "file");
    object_of(gauge)->write(file, replace != 0);
    return api::code::success;
  });
}

int plaquette_gauge_remark(plaquette_gauge gauge, char* text, size_t length) {
  return answer([&] {
    const auto links = object_of(gauge);
    there(text, "text");
    if (length == 0) refuse("text: expected room for at least one character, found none");
    text[links->remark().copy(text, length - 1)] = '\0';
    return api::code::success;
  });
}

int plaquette_gauge_plaquette(plaquette_gauge gauge, double* average) {
  return answer([&] {
    there(average, "average") = object_of(gauge)->plaquette();
    return api::code::success;
  });
}

int plaquette_mass_of_kappa(double kappa, double anisotropy, double nu, double* mass) {
  return answer([&] {
    there(mass, "mass");
    if (!(std::isfinite(kappa) && kappa != 0.0))
      refuse("kappa: expected a finite number other than 0, found " + plaquette::number_text(kappa));
    if (!(std::isfinite(anisotropy) && anisotropy > 0.0 && std::isfinite(nu)))
      refuse("kappa: expected an anisotropy above 0 and a finite nu, found " + plaquette::number_text(anisotropy) +
             " and " + plaquette::number_text(nu));
    *mass = api::action::mass_of_kappa(kappa, anisotropy, nu);
    return api::code::success;
  });
}

int plaquette_krylov_create(plaquette_solver* solver, plaquette_gauge gauge, const plaquette_action* action,
                            const plaquette_krylov_options* options) {
  return answer([&] {
    there(solver, "solver").key = 0;
    const auto links = object_of(gauge);
    const auto o = options_of(options, plaquette_krylov_options PLAQUETTE_KRYLOV_DEFAULTS, "Krylov options");
    api::krylov_options how;
    how.device = device_of(o.device);
    how.outer = choice<api::precision>(o.outer, 3, "outer precision");
    how.inner = choice<api::precision>(o.inner, 3, "inner precision");
    how.columns = o.columns;
    *solver = handle_of<plaquette_solver>(api::make_krylov_solver(*links, action_of(action), how));
    return api::code::success;
  });
}

int plaquette_multigrid_create(plaquette_solver* solver, plaquette_gauge gauge, const plaquette_action* action,
                               const plaquette_multigrid_options* options) {
  return answer([&] {
    there(solver, "solver").key = 0;
    const auto links = object_of(gauge);
    const auto o = options_of(options, plaquette_multigrid_options PLAQUETTE_MULTIGRID_DEFAULTS, "multigrid options");
    api::multigrid_options how;
    how.device = device_of(o.device);
    how.levels = o.levels;
    how.null_vectors = o.null_vectors;
    if (o.tune != 0) how.tune = o.tune > 0;
    if (o.half_cycle != 0) how.half_cycle = o.half_cycle > 0;
    how.columns = o.columns;
    how.seed = o.seed;
    *solver = handle_of<plaquette_solver>(api::make_multigrid_solver(*links, action_of(action), how));
    return api::code::success;
  });
}

int plaquette_solver_setup_seconds(plaquette_solver solver, double* seconds) {
  return answer([&] {
    there(seconds, "seconds") = object_of(solver)->setup_seconds();
    return api::code::success;
  });
}

int plaquette_solve(plaquette_solver solver, double* x, const double* b, size_t length, int columns,
                    const plaquette_spinor_layout* layout, const plaquette_rule* rule, plaquette_result* results) {
  return answer([&] {
    const auto by = object_of(solver);
    there(x, "solutions");
    there(b, "right-hand sides");
    api::solve_report report;
    make_columns(x, b, length, layout, std::clamp(columns, 1, 1024), by->links().on(), "right-hand sides",
                 [&](std::span<double> to, std::span<const double> from, const api::spinor_layout& where) {
                   report = by->solve(to, from, columns, where, rule_of(rule));
                 });
    put_results(results, report);
    return outcome_of(report);
  });
}

int plaquette_propagator_solve(plaquette_propagator* propagator, plaquette_solver solver,
                               const plaquette_source* source, const plaquette_rule* rule, plaquette_result* results) {
  return answer([&] {
    there(propagator, "propagator").key = 0;
    const auto by = object_of(solver);
    return put_propagator(propagator, by->solve(source_of(source), rule_of(rule)), results);
  });
}

int plaquette_propagator_results(plaquette_propagator propagator, plaquette_result results[12]) {
  return answer([&] {
    const auto quark = object_of(propagator);
    std::fill_n(&there(results, "results"), 12, plaquette_result{});  // a propagator from a file has these
    put_results(results, quark->report());
    return outcome_of_result(quark->report());
  });
}

int plaquette_pion(plaquette_propagator propagator, double* correlator, size_t length) {
  return answer([&] {
    const auto quark = object_of(propagator);
    require_room(correlator, length, *quark, 1);
    return put_correlator(quark->pion(), correlator, *quark);
  });
}

int plaquette_rho(plaquette_propagator propagator, double* correlator, size_t length) {
  return answer([&] {
    const auto quark = object_of(propagator);
    require_room(correlator, length, *quark, 1);
    return put_correlator(quark->rho(), correlator, *quark);
  });
}

int plaquette_meson(plaquette_propagator propagator, int meson, const int momentum[3], double* correlator,
                    size_t length) {
  return plaquette_meson_along(propagator, meson, 3, momentum, correlator, length);
}

int plaquette_meson_along(plaquette_propagator propagator, int meson, int direction, const int momentum[3],
                          double* correlator, size_t length) {
  return answer([&] {
    const auto quark = object_of(propagator);
    require_room(correlator, length, *quark, 2, static_cast<std::size_t>(choice<int>(direction, 4, "direction")));
    return put_correlator(quark->correlator(choice<api::meson>(meson, 16, "meson"), momentum_of(momentum), direction),
                          correlator, *quark);
  });
}

int plaquette_nucleon(plaquette_propagator propagator, int parity, const int momentum[3], double* correlator,
                      size_t length) {
  return answer([&] {
    const auto quark = object_of(propagator);
    require_room(correlator, length, *quark, 2);
    return put_correlator(quark->nucleon(parity, momentum_of(momentum)), correlator, *quark);
  });
}

int plaquette_from_source(plaquette_propagator propagator, int direction, double* correlator, size_t length) {
  return answer([&] {
    const auto quark = object_of(propagator);
    there(correlator, "correlator");
    const auto extent = static_cast<std::size_t>(quark->on().extents()[choice<std::size_t>(direction, 4, "direction")]);
    if (length != extent && length != 2 * extent)
      refuse("correlator: expected " + std::to_string(extent) + " numbers or pairs, found " + std::to_string(length) +
             " doubles");
    if (length == extent) {
      std::ranges::copy(quark->from_source(std::vector<double>(correlator, correlator + length), direction),
                        correlator);
      return api::code::success;
    }
    std::vector<std::complex<double>> pairs;
    for (std::size_t t = 0; t < extent; ++t) pairs.emplace_back(correlator[2 * t], correlator[2 * t + 1]);
    for (const std::complex<double>& number : quark->from_source(std::move(pairs), direction)) {
      *correlator++ = number.real();
      *correlator++ = number.imag();
    }
    return api::code::success;
  });
}

int plaquette_propagator_solve_smeared(plaquette_propagator* propagator, plaquette_solver solver,
                                       const plaquette_source* source, plaquette_gauge smearing_links,
                                       const plaquette_rule* rule, plaquette_result* results) {
  return answer([&] {
    there(propagator, "propagator").key = 0;
    const auto by = object_of(solver);
    api::source from = source_of(source);
    from.smearing_links = *object_of(smearing_links);
    return put_propagator(propagator, by->solve(from, rule_of(rule)), results);
  });
}

int plaquette_propagator_sequential(plaquette_propagator* propagator, plaquette_solver solver,
                                    plaquette_propagator through, int meson, int time, const int momentum[3],
                                    const plaquette_rule* rule, plaquette_result* results) {
  return answer([&] {
    const auto first = object_of(through);  // before its handle is overwritten, if it is the same
    there(propagator, "propagator").key = 0;
    const auto by = object_of(solver);
    return put_propagator(
        propagator,
        by->sequential(*first, choice<api::meson>(meson, 16, "meson"), time, momentum_of(momentum), rule_of(rule)),
        results);
  });
}

int plaquette_propagator_judge(plaquette_propagator* judged, plaquette_solver solver, plaquette_propagator propagator,
                               const plaquette_source* source, const plaquette_rule* rule, plaquette_result* results) {
  return answer([&] {
    const auto quark = object_of(propagator);
    there(judged, "propagator").key = 0;
    const auto by = object_of(solver);
    return put_propagator(judged, by->judged(*quark, source_of(source), rule_of(rule)), results);
  });
}

int plaquette_propagator_judge_smeared(plaquette_propagator* judged, plaquette_solver solver,
                                       plaquette_propagator propagator, const plaquette_source* source,
                                       plaquette_gauge smearing_links, const plaquette_rule* rule,
                                       plaquette_result* results) {
  return answer([&] {
    const auto quark = object_of(propagator);
    there(judged, "propagator").key = 0;
    const auto by = object_of(solver);
    api::source from = source_of(source);
    from.smearing_links = *object_of(smearing_links);
    return put_propagator(judged, by->judged(*quark, from, rule_of(rule)), results);
  });
}

int plaquette_propagator_smear(plaquette_propagator* smeared, plaquette_propagator propagator, plaquette_gauge links,
                               double radius, int steps) {
  return answer([&] {
    const auto quark = object_of(propagator);
    there(smeared, "propagator").key = 0;
    const api::propagator made = quark->smeared_sink(*object_of(links), radius, steps);
    put_propagator(smeared, made, nullptr);
    return outcome_of_result(made.report());
  });
}

int plaquette_propagator_write(plaquette_propagator propagator, const char* file, int style, int replace) {
  return answer([&] {
    there(file, "file");
    object_of(propagator)->write(file, choice<api::propagator_style>(style, 2, "style of file"), replace != 0);
    return api::code::success;
  });
}

int plaquette_propagator_read(plaquette_propagator* propagator, plaquette_lattice lattice, const char* file) {
  return answer([&] {
    there(propagator, "propagator").key = 0;
    there(file, "file");
    *propagator = handle_of<plaquette_propagator>(api::propagator::read(*object_of(lattice), file));
    return api::code::success;
  });
}

int plaquette_gauge_smear(plaquette_gauge* smeared, plaquette_gauge gauge, const plaquette_smearing* smearing) {
  return answer([&] {
    const auto links = object_of(gauge);
    there(smeared, "gauge").key = 0;
    const auto o = options_of(smearing, plaquette_smearing PLAQUETTE_SMEARING_DEFAULTS, "smearing");
    *smeared = handle_of<plaquette_gauge>(links->smeared({choice<api::smearing_kind>(o.kind, 3, "kind of smearing"),
                                                          o.steps,
                                                          o.weight,
                                                          o.spatial != 0,
                                                          {o.alpha[0], o.alpha[1], o.alpha[2]}}));
    return api::code::success;
  });
}

int plaquette_gauge_flow(plaquette_gauge* flowed, plaquette_gauge gauge, double time, double step, double* history,
                         size_t length, size_t* points, double* t0) {
  return answer([&] {
    const auto links = object_of(gauge);
    if (flowed != nullptr) flowed->key = 0;
    there(points, "points") = api::flow_points(time, step);
    if (3 * *points != length)
      refuse("flow: expected room for " + std::to_string(3 * *points) + " numbers, found " + std::to_string(length));
    there(history, "history");
    const api::flow_result flow = links->flow(time, step);
    for (const api::flow_point& point : flow.history) {
      *history++ = point.time;
      *history++ = point.energy_density;
      *history++ = point.charge;
    }
    if (t0 != nullptr) *t0 = flow.t0.value_or(std::numeric_limits<double>::quiet_NaN());
    if (flowed != nullptr) *flowed = handle_of<plaquette_gauge>(flow.links);
    return api::code::success;
  });
}

int plaquette_gauge_fix(plaquette_gauge* fixed, plaquette_gauge gauge, int condition, double tolerance, int sweep_limit,
                        double quality[2]) {
  return plaquette_gauge_fix_by(fixed, gauge, condition, tolerance, sweep_limit, quality, nullptr, 0);
}

int plaquette_gauge_fix_by(plaquette_gauge* fixed, plaquette_gauge gauge, int condition, double tolerance,
                           int sweep_limit, double quality[2], double* g, size_t length) {
  return answer([&] {
    const auto links = object_of(gauge);
    there(fixed, "gauge").key = 0;
    const auto needed = 18 * static_cast<std::size_t>(links->on().local_volume());
    if (g != nullptr && length != needed)
      refuse("gauge transformation: expected room for " + std::to_string(needed) + " numbers, found " +
             std::to_string(length));
    const api::fixed_gauge found =
        links->fixed(choice<api::gauge_condition>(condition, 2, "gauge"), tolerance, sweep_limit);
    if (quality != nullptr) quality[0] = found.functional, quality[1] = found.theta;
    if (g != nullptr)
      for (const std::complex<double>& element : found.g) {
        *g++ = element.real();
        *g++ = element.imag();
      }
    *fixed = handle_of<plaquette_gauge>(found.links);
    if (found.converged) return api::code::success;
    remember("gauge fixing: the sweeps ended before theta met its tolerance");
    return api::code::no_convergence;
  });
}

int plaquette_propagator_copy(plaquette_propagator propagator, double* numbers, size_t length,
                              const plaquette_spinor_layout* layout) {
  return answer([&] {
    const auto quark = object_of(propagator);
    there(numbers, "numbers");
    write_columns(numbers, length, layout, 12, quark->on(), "array for a propagator",
                  [&](std::span<double> to, const api::spinor_layout& where) { quark->copy_to(to, where); });
    return outcome_of_result(quark->report());
  });
}

int plaquette_operator_create(plaquette_operator* m, plaquette_gauge gauge, const plaquette_action* action,
                              int device) {
  return answer([&] {
    there(m, "operator").key = 0;
    *m = handle_of<plaquette_operator>(api::dirac_operator(*object_of(gauge), action_of(action), device_of(device)));
    return api::code::success;
  });
}

int plaquette_operator_apply(plaquette_operator m, double* out, const double* in, size_t length,
                             const plaquette_spinor_layout* layout, int dagger) {
  return answer([&] {
    const auto a = object_of(m);
    there(out, "output");
    there(in, "input");
    make_columns(out, in, length, layout, 1, a->on(), "operator's input",
                 [&](std::span<double> to, std::span<const double> from, const api::spinor_layout& where) {
                   a->apply(to, from, where, dagger != 0);
                 });
    return api::code::success;
  });
}

int plaquette_vectors_create(plaquette_vectors* vectors, plaquette_lattice lattice,
                             const plaquette_vectors_options* options) {
  return answer([&] {
    there(vectors, "vectors").key = 0;
    const auto o = options_of(options, plaquette_vectors_options PLAQUETTE_VECTORS_DEFAULTS, "vectors options");
    api::vectors_options how;
    how.device = device_of(o.device);
    how.columns = o.columns;
    how.sites = choice<api::site_set>(o.sites, 3, "sites of vectors");
    how.precision = choice<api::precision>(o.precision, 3, "precision of vectors");
    *vectors = handle_of<plaquette_vectors>(api::vectors(*object_of(lattice), how));
    return api::code::success;
  });
}

int plaquette_vectors_zero(plaquette_vectors vectors) {
  return answer([&] {
    object_of(vectors)->zero();
    return api::code::success;
  });
}

int plaquette_vectors_fill(plaquette_vectors vectors, const plaquette_source* source, plaquette_gauge smearing_links,
                           int first) {
  return answer([&] {
    const auto to = object_of(vectors);
    api::source from = source_of(source);
    if (smearing_links.key != 0) from.smearing_links = *object_of(smearing_links);
    to->fill(from, first);
    return api::code::success;
  });
}

int plaquette_vectors_fill_random(plaquette_vectors vectors, uint64_t seed, uint64_t first) {
  return answer([&] {
    object_of(vectors)->fill_random(seed, first);
    return api::code::success;
  });
}

int plaquette_vectors_read(plaquette_vectors vectors, const double* numbers, size_t length,
                           const plaquette_spinor_layout* layout) {
  return answer([&] {
    const auto to = object_of(vectors);
    there(numbers, "array of vectors");
    const api::spinor_layout where = layout_of(layout, to->on());
    if (is_single(layout)) {
      api::floats_as_doubles from(floats_at(numbers, length), where, to->options().columns, to->on(),
                                  "array of vectors");
      to->read(from.get(), from.layout());
    } else {
      to->read(std::span(numbers, length), where);
    }
    return api::code::success;
  });
}

int plaquette_vectors_write(plaquette_vectors vectors, double* numbers, size_t length,
                            const plaquette_spinor_layout* layout) {
  return answer([&] {
    const auto from = object_of(vectors);
    there(numbers, "array for vectors");
    write_columns(numbers, length, layout, from->options().columns, from->on(), "array for vectors",
                  [&](std::span<double> to, const api::spinor_layout& where) { from->write(to, where); });
    return api::code::success;
  });
}

int plaquette_vectors_copy(plaquette_vectors to, plaquette_vectors from) {
  return answer([&] {
    object_of(to)->copy(*object_of(from));
    return api::code::success;
  });
}

int plaquette_vectors_copy_columns(plaquette_vectors to, int to_first, plaquette_vectors from, int from_first,
                                   int count) {
  return answer([&] {
    object_of(to)->copy_columns(to_first, *object_of(from), from_first, count);
    return api::code::success;
  });
}

int plaquette_vectors_scale(plaquette_vectors vectors, const double* factors, int count) {
  return answer([&] {
    const auto by = object_of(vectors);
    by->scale(factors_of(factors, count, *by));
    return api::code::success;
  });
}

int plaquette_vectors_add(plaquette_vectors vectors, const double* factors, int count, plaquette_vectors u) {
  return answer([&] {
    const auto by = object_of(vectors);
    by->add(factors_of(factors, count, *by), *object_of(u));
    return api::code::success;
  });
}

int plaquette_vectors_rotate_by_gamma_5(plaquette_vectors vectors) {
  return answer([&] {
    object_of(vectors)->rotate_by_gamma_5();
    return api::code::success;
  });
}

int plaquette_vectors_dot(plaquette_vectors v, plaquette_vectors u, double* products, size_t length) {
  return answer([&] {
    const auto left = object_of(v);
    require_columns_of(products, length, *left, 2, "inner products");
    for (const std::complex<double>& product : left->dot(*object_of(u))) {
      *products++ = product.real();
      *products++ = product.imag();
    }
    return api::code::success;
  });
}

int plaquette_vectors_norm2(plaquette_vectors vectors, double* squares, size_t length) {
  return answer([&] {
    const auto of = object_of(vectors);
    require_columns_of(squares, length, *of, 1, "squares of norms");
    std::ranges::copy(of->norm2(), squares);
    return api::code::success;
  });
}

int plaquette_solve_vectors(plaquette_solver solver, plaquette_vectors x, plaquette_vectors b,
                            const plaquette_rule* rule, const plaquette_vector_system* system,
                            plaquette_result* results) {
  return answer([&] {
    const auto by = object_of(solver);
    const auto to = object_of(x);
    const auto s = options_of(system, plaquette_vector_system PLAQUETTE_VECTOR_SYSTEM_DEFAULTS, "system of vectors");
    const api::solve_report report =
        by->solve_vectors(*to, *object_of(b), rule_of(rule),
                          {.dagger = s.dagger != 0, .squared = s.squared != 0, .mu = mu_of(s.mu, s.mu_count, *to)});
    put_results(results, report);
    return outcome_of(report);
  });
}

int plaquette_operator_apply_vectors(plaquette_operator m, plaquette_vectors y, plaquette_vectors x,
                                     const plaquette_operator_form* form) {
  return answer([&] {
    const auto by = object_of(m);
    const auto to = object_of(y);
    const auto f = options_of(form, plaquette_operator_form PLAQUETTE_OPERATOR_FORM_DEFAULTS, "form of the operator");
    by->apply_vectors(
        *to, *object_of(x),
        {.dagger = f.dagger != 0, .gamma_5 = f.gamma_5 != 0, .shift = f.shift, .mu = mu_of(f.mu, f.mu_count, *to)});
    return api::code::success;
  });
}

int plaquette_propagator_of_vectors(plaquette_propagator* propagator, plaquette_vectors vectors) {
  return answer([&] {
    there(propagator, "propagator").key = 0;
    *propagator = handle_of<plaquette_propagator>(api::propagator::of(*object_of(vectors)));
    return api::code::success;
  });
}

int plaquette_overlap_create(plaquette_overlap* overlap, plaquette_gauge gauge,
                             const plaquette_overlap_options* options) {
  return plaquette_overlap_create_with_modes(overlap, gauge, options, nullptr, nullptr, nullptr);
}

int plaquette_overlap_create_with_modes(plaquette_overlap* overlap, plaquette_gauge gauge,
                                        const plaquette_overlap_options* options, const plaquette_modes* of_h,
                                        const plaquette_modes* of_d_plus, const plaquette_modes* of_d_minus) {
  return answer([&] {
    there(overlap, "overlap").key = 0;
    const auto links = object_of(gauge);
    const auto o = options_of(options, plaquette_overlap_options PLAQUETTE_OVERLAP_DEFAULTS, "overlap options");
    api::overlap_options how;
    how.device = device_of(o.device);
    how.rho = o.rho;
    how.kernel_modes = o.kernel_modes;
    how.modes = o.modes;
    how.mode_tolerance = o.mode_tolerance;
    how.boundary_phase = numbers(o.boundary_phase);
    how.seed = o.seed;
    *overlap = handle_of<plaquette_overlap>(api::make_overlap_solver(
        *links, how,
        {modes_of(of_h, links->on()), modes_of(of_d_plus, links->on()), modes_of(of_d_minus, links->on())}));
    return api::code::success;
  });
}

int plaquette_overlap_mode_count(plaquette_overlap overlap, int kind, int* count) {
  return answer([&] {
    there(count, "count") = object_of(overlap)->mode_count(choice<api::mode_kind>(kind, 3, "kind of modes"));
    return api::code::success;
  });
}

int plaquette_overlap_mode_values(plaquette_overlap overlap, int kind, double* values, double* residuals,
                                  size_t length) {
  return answer([&] {
    const auto of = choice<api::mode_kind>(kind, 3, "kind of modes");
    const auto solver = object_of(overlap);
    const auto needed = static_cast<std::size_t>(solver->mode_count(of));
    if (length != needed)
      refuse("modes: expected room for " + std::to_string(needed) + " numbers, found " + std::to_string(length));
    if (needed == 0) return api::code::success;
    there(values, "eigenvalues");
    const api::mode_list list = solver->modes(of);
    std::ranges::copy(list.values, values);
    if (residuals != nullptr) std::ranges::copy(list.residuals, residuals);
    if (list.verdict.passed) return api::code::success;
    remember(("modes: " + list.verdict.text).c_str());
    return api::code::not_verified;
  });
}

int plaquette_overlap_mode_vectors(plaquette_overlap overlap, int kind, double* vectors, size_t length,
                                   const plaquette_spinor_layout* layout) {
  return answer([&] {
    const auto of = choice<api::mode_kind>(kind, 3, "kind of modes");
    const auto solver = object_of(overlap);
    if (solver->mode_count(of) > 0) there(vectors, "vectors");
    const api::spinor_layout where = layout_of(layout, solver->on());
    require_double(layout, "vectors of modes");
    solver->copy_modes(of, std::span(vectors, length), where);
    return api::code::success;
  });
}

int plaquette_overlap_index(plaquette_overlap overlap, int* index) {
  return answer([&] {
    there(index, "index") = object_of(overlap)->index();
    return api::code::success;
  });
}

int plaquette_overlap_solve(plaquette_propagator* propagators, plaquette_overlap overlap,
                            const plaquette_source* source, const double* masses, int count,
                            const plaquette_rule* rule) {
  return answer([&] {
    const auto by = object_of(overlap);
    there(propagators, "propagators");
    there(masses, "masses");
    constexpr int most = 1024;
    if (count < 1 || count > most) refuse("overlap: expected 1 to 1024 masses, found " + std::to_string(count));
    for (int i = 0; i < count; ++i) propagators[i].key = 0;
    const auto quarks = by->solve(source_of(source), std::span(masses, static_cast<std::size_t>(count)), rule_of(rule));
    api::code worst = api::code::success;
    for (std::size_t i = 0; i < quarks.size(); ++i) {
      propagators[i] = handle_of<plaquette_propagator>(quarks[i]);
      if (const api::code code = outcome_of(quarks[i].report()); worst == api::code::success) worst = code;
    }
    return worst;
  });
}

int plaquette_waves_create(plaquette_waves* waves, const plaquette_wave_box* box,
                           const plaquette_wave_options* options) {
  return create_waves(waves, options, [&] {
    const auto b = options_of(box, plaquette_wave_box PLAQUETTE_WAVE_BOX_DEFAULTS, "box");
    api::wave_box shape;
    shape.cells = list(b.cells), shape.low = list(b.low), shape.high = list(b.high);
    for (std::size_t i = 0; i < 3; ++i) shape.periodic[i] = b.periodic[i] != 0;
    return shape;
  });
}

int plaquette_waves_create_on_mesh(plaquette_waves* waves, const plaquette_wave_mesh* mesh,
                                   const plaquette_wave_options* options) {
  return create_waves(waves, options, [&] {
    const auto m = options_of(&there(mesh, "mesh"), plaquette_wave_mesh{}, "mesh");
    there(m.vertices, "vertices");
    there(m.elements, "elements");
    const std::span vertices(m.vertices, count_of(m.vertex_count, 3, "vertices"));
    const std::span elements(m.elements, count_of(m.element_count, 4, "elements"));
    if (m.media == nullptr) return api::wave_mesh(vertices, elements);
    return api::wave_mesh(vertices, elements, std::span(m.media, 2 * m.element_count));
  });
}

int plaquette_waves_create_from_file(plaquette_waves* waves, const char* file, const plaquette_wave_options* options) {
  return create_waves(waves, options, [&] { return std::string(&there(file, "file")); });
}

int plaquette_waves_extents(plaquette_waves waves, int64_t extents[4]) {
  return answer([&] {
    const auto solver = object_of(waves);
    there(extents, "extents");
    std::ranges::copy(
        std::array<std::int64_t, 4>{solver->columns(), solver->fields(), solver->elements(), solver->nodes()}, extents);
    return api::code::success;
  });
}

int plaquette_waves_elements(plaquette_waves waves, int32_t* numbers, size_t length) {
  return answer([&] {
    const auto solver = object_of(waves);
    std::ranges::copy(solver->numbers(),
                      room_for(numbers, length, static_cast<std::size_t>(solver->elements()), "elements"));
    return api::code::success;
  });
}

int plaquette_waves_positions(plaquette_waves waves, double* positions, size_t length) {
  return answer([&] {
    const auto solver = object_of(waves);
    room_for(positions, length, 3 * static_cast<std::size_t>(solver->elements() * solver->nodes()), "positions");
    for (const auto& position : solver->positions()) positions = std::ranges::copy(position, positions).out;
    return api::code::success;
  });
}

int plaquette_waves_set_state(plaquette_waves waves, const double* state, size_t length, double time) {
  return answer([&] {
    const auto solver = object_of(waves);
    there(state, "state");
    solver->set_state(std::span(state, length), time);
    return api::code::success;
  });
}

int plaquette_waves_get_state(plaquette_waves waves, double* state, size_t length) {
  return answer([&] {
    const auto solver = object_of(waves);
    there(state, "state");
    solver->get_state(std::span(state, length));
    return api::code::success;
  });
}

int plaquette_waves_time(plaquette_waves waves, double* time) {
  return answer([&] {
    const auto solver = object_of(waves);
    there(time, "time") = solver->time();
    return api::code::success;
  });
}

int plaquette_waves_energies(plaquette_waves waves, double* energies, size_t length) {
  return answer([&] {
    const auto solver = object_of(waves);
    room_for(energies, length, static_cast<std::size_t>(solver->columns()), "energies");
    std::ranges::copy(solver->energies(), energies);
    return api::code::success;
  });
}

int plaquette_waves_stable_step(plaquette_waves waves, double* dt) {
  return answer([&] {
    const auto solver = object_of(waves);
    there(dt, "step") = solver->stable_step();
    return api::code::success;
  });
}

int plaquette_waves_advance(plaquette_waves waves, int64_t steps, double dt, int judge, double verdict[2]) {
  return answer([&] {
    const api::verdict found = object_of(waves)->advance(steps, dt, judge != 0);
    if (verdict != nullptr) verdict[0] = found.worst, verdict[1] = found.tolerance;
    if (found.passed) return api::code::success;
    remember(("waves: " + found.text).c_str());
    return api::code::not_verified;
  });
}

}  // extern "C"
