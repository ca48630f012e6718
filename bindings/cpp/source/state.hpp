// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The members of the objects of plaquette/plaquette.hpp.
#pragma once

#include <omp.h>

#include <array>
#include <atomic>
#include <complex>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/cpp/source/process.hpp"
#include "bindings/cpp/source/stop.hpp"
#include "common/algebra/gamma.hpp"
#include "common/comms/communicator.hpp"
#include "common/error.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/geometry.hpp"
#include "common/lattice/site_field.hpp"
#include "common/lattice/source_description.hpp"
#include "common/lattice/spinor_array.hpp"
#include "common/random/noise.hpp"
#include "common/solvers/contractions.hpp"
#include "cpu_ref/fields/exact_sums.hpp"
#include "plaquette/plaquette.hpp"

namespace plaquette {
class library;     // common/solvers/library.hpp
class link_field;  // common/solvers/link_field.hpp
}  // namespace plaquette

namespace plaquette::api {
inline namespace v1 {

/// Runs `work`; whatever it throws becomes the one exception of the interface, but for a caller's own.
template <class Work>
auto guarded(Work&& work) {
  require_unforked();
  try {
    return work();
  } catch (const callers_exception& e) {
    std::rethrow_exception(e.thrown);
  } catch (const error&) {
    throw;
  } catch (const plaquette::error& e) {
    throw error(static_cast<code>(static_cast<int>(e.status())), e.what());
  } catch (const std::bad_alloc&) {
    throw error(code::out_of_memory, "not enough memory");
  } catch (const std::length_error&) {  // a container needed more than can be addressed
    throw error(code::out_of_memory, "not enough memory: a size is beyond what can be addressed");
  } catch (const std::invalid_argument& e) {
    throw error(code::unusable_input, e.what());
  } catch (const std::exception& e) {
    throw error(code::internal_error, std::string("internal error: ") + e.what());
  }
}

/// Throws error(unusable_input) on a lattice with reproducible sums, for functions that have none.
void require_any_sums(const lattice& on, const char* what);

/// Keeps calls of other threads off a device for as long as it lives. In a turn there may be another one: the last
/// handle of an object of a device may go in any call.
using device_turn = std::unique_lock<std::recursive_mutex>;

/// Lets one call at a time work on an object. A function of the caller that uses the object of the call that asks it
/// would wait for ever: lock() throws error(unusable_input) then.
class busy_object {
 public:
  void lock() {
    if (user_ == std::this_thread::get_id())
      throw error(
          code::unusable_input,
          "a stop function or progress function: expected that it does not use the object of the call that asks it");
    mutex_.lock();
    user_ = std::this_thread::get_id();
  }
  void unlock() {
    user_ = std::thread::id();
    mutex_.unlock();
  }

 private:
  std::mutex mutex_{};
  std::atomic<std::thread::id> user_{};
};

struct lattice::state {
  communicator comm;
  lattice_geometry geometry;
  int threads;
  bool reproducible;
  device_turn::mutex_type gpu_mutex{};  ///< of the queue of the GPU, and of the pointer below
  std::shared_ptr<const library> gpu{};
  device_turn::mutex_type cpu_mutex{};  ///< of vectors on the CPU, and of the pointer below
  std::shared_ptr<const library> cpu{};
};

/// Sets the number of threads of this thread's parallel regions, as long as it lives; 0: as it was.
class threads_of_call {
 public:
  explicit threads_of_call(int threads) : before_(omp_get_max_threads()) {
    if (threads > 0) omp_set_num_threads(threads);
    if (omp_get_max_threads() > 1) note_threads();
  }
  ~threads_of_call() { omp_set_num_threads(before_); }
  threads_of_call(const threads_of_call&) = delete;
  threads_of_call& operator=(const threads_of_call&) = delete;

 private:
  int before_;
};

/// Runs `work` as a call that the caller's stop function may end: results so far are then dropped. Collective.
template <class Work>
auto stoppable(const communicator& ranks, Work&& work) {
  const stops_of_call stops(ranks);
  try {
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      stops_of_call::leave();
    } else {
      auto made = work();
      stops_of_call::leave();
      return made;
    }
  } catch (...) {
    stops_of_call::leave();  // a search that was stopped has not found all
    throw;
  }
}

/// Does what guarded() does, with the threads and the sums that a lattice wants, and until the stop function ends it.
template <class Work>
auto guarded(const lattice& on, Work&& work) {
  return guarded([&] {
    const threads_of_call threads(on.get()->threads);
    const cpu::exact_sums exact(on.get()->reproducible);
    return stoppable(on.get()->comm, work);
  });
}

/// Throws error(unusable_input) unless both are on lattices with the same extents and grid.
void require_same_lattice(const lattice& a, const lattice& b, const char* what);

/// Links of a caller: on the host, on the GPU if they moved or were made there, or on both.
struct gauge_field::state {
  state(const lattice& on_, std::shared_ptr<const gauge_configuration> links, std::string remark_on_them = {});
  /// Takes links of the GPU. The caller has locked the device.
  state(const lattice& on_, std::unique_ptr<link_field> links);
  ~state();
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  /// Returns them on the host, ghosts filled. If they are on the GPU alone, the first call copies them. Collective.
  std::shared_ptr<const gauge_configuration> on_host();
  /// Returns them on the GPU, if they are there; else null. The caller has locked the device.
  link_field* on_gpu() const { return gpu_.get(); }

  void move(std::shared_ptr<const gauge_configuration> to, std::string remark_on_them);
  /// Takes links of the GPU. The caller has locked the device.
  void move(std::unique_ptr<link_field> to);
  /// Takes the same links on the GPU, too. The caller has locked the device.
  void keep_on_gpu(std::unique_ptr<link_field> same);
  /// Leaves the GPU; the host has them from here on. Collective.
  void leave_gpu();

  lattice on;
  std::string remark;
  std::int64_t moves = 0;

 private:
  std::mutex busy_{};  ///< of the pointer below
  std::shared_ptr<const gauge_configuration> host_;
  std::unique_ptr<link_field> gpu_{};
};

/// Links that an object was made of, as they were then.
class used_links {
 public:
  /// Has them on the host, too. Collective.
  /// \param user  "this solver"
  used_links(const gauge_field& links, const char* user) : used_links(links, user, links.get()->on_host()) {}

  const gauge_field& handle() const { return handle_; }
  const lattice& on() const { return handle_.on(); }
  /// Returns them on the host, for a judge and for objects that the host makes. If they are on the GPU alone, the first
  /// call copies them. Collective.
  std::shared_ptr<const gauge_configuration> pointer() const {
    if (links_) return links_;
    require_current();
    return handle_.get()->on_host();
  }
  /// Does the same; good until the links move.
  const gauge_configuration& operator*() const { return *pointer(); }
  /// Throws error(unusable_input) if the links have moved since.
  void require_current() const {
    if (handle_.get()->moves != moves_)
      throw error(code::unusable_input, std::string(user_) + " follows move " + std::to_string(moves_) +
                                            " of its links, which have made " + std::to_string(handle_.get()->moves) +
                                            ": call follow(links) first, or make another one of them");
  }
  /// Takes these links as they are now, by what `follow` does with them on the device of a library. Links that moved on
  /// its GPU stay there; others are copied. The caller has locked the device.
  void follow(const gauge_field& links, const library& there, const std::function<void(const link_field&)>& follow);

 private:
  used_links(const gauge_field& links, const char* user, std::shared_ptr<const gauge_configuration> on_host)
      : handle_(links), user_(user), links_(std::move(on_host)), moves_(links.get()->moves) {}

  gauge_field handle_;
  const char* user_;
  std::shared_ptr<const gauge_configuration> links_;  ///< none if they are on the GPU alone
  std::int64_t moves_;
};

/// Returns links where they moved: on the GPU of this library, which is of the lattice `on`; else null. Another lattice
/// has a queue of its own, even with the same extents. The caller has locked the device.
const link_field* links_on_gpu(const gauge_field& links, const library& there, const lattice& on);

/// Columns of a propagator where a solver left them. The host gets its own when it first needs them.
class solution_columns {
 public:
  /// Of one library.
  using batch = handle_columns;

  explicit solution_columns(std::vector<spinor_configuration> columns)
      : count_(static_cast<int>(columns.size())), on_host_(std::move(columns)) {}
  /// \param where  the vectors are
  solution_columns(const lattice& on, device where, std::vector<batch> batches);
  ~solution_columns();
  solution_columns(const solution_columns&) = delete;
  solution_columns& operator=(const solution_columns&) = delete;

  int count() const { return count_; }
  /// Returns canonical fields. Safe with several threads.
  const std::vector<spinor_configuration>& on_host() const;
  /// Returns them with ghosts that a judge may fill. For the one who made this object, before others have it.
  std::span<spinor_configuration> with_ghosts();
  /// Copies the columns to an array of the host, or of their GPU.
  void write(const spinor_array<double>& to) const;
  /// Returns whether an array of the GPU of the lattice can be written.
  bool are_on_gpu() const;
  /// Returns the contractions of a propagator on the GPU that has the columns. Returns null if none has, without room
  /// there to put batches together, and for reproducible sums, which are the host's. The caller has locked the device.
  /// Collective.
  std::unique_ptr<contractions> contracted_on_gpu() const;
  /// Leaves the device; the host has them from here on.
  void leave_device();

 private:
  int count_;
  std::optional<lattice> on_{};
  device where_ = device::cpu;
  std::vector<batch> batches_{};
  mutable std::mutex busy_{};
  mutable std::optional<std::vector<spinor_configuration>> on_host_{};
};

struct propagator::state {
  state(const lattice& on_, const api::source& from_, solve_report report_,
        std::shared_ptr<const solution_columns> solved_)
      : on(on_), from(from_), report(std::move(report_)), solved(std::move(solved_)) {}
  state(const lattice& on_, const api::source& from_, solve_report report_, std::vector<spinor_configuration> columns)
      : state(on_, from_, std::move(report_), std::make_shared<const solution_columns>(std::move(columns))) {}

  lattice on;
  api::source from;
  solve_report report;
  std::shared_ptr<const solution_columns> solved;
  bool source_is_known = true;

  /// Returns it with these words on its source.
  std::shared_ptr<const state> of_source(bool is_known) && {
    source_is_known = is_known;
    return std::make_shared<const state>(std::move(*this));
  }

  const std::vector<spinor_configuration>& columns() const { return solved->on_host(); }
};

/// Returns the ranks of a communicator of MPI; without one, this process alone. Throws error(unusable_input) for one
/// between two groups. Collective.
communicator ranks_of(const std::optional<int>& fortran_communicator);

inline plaquette::complex<double> inner(const std::complex<double>& z) { return {z.real(), z.imag()}; }
/// Returns the action in the library's words. Throws error(unusable_input) for numbers that make no sense.
fermion_action inner(const action& quarks);

/// Throws error(unusable_input) for a name of a file that is empty, or that its user would find cut at a zero.
void require_name(const std::string& file);
/// Throws error(unusable_input) for a number of right-hand sides that makes no sense.
void require_columns(int columns, const char* what = "solver");
/// Throws error(unusable_input) for a tolerance or a limit that makes no sense.
void require_rule(const rule& wanted);

/// Returns gamma_x^a gamma_y^b gamma_z^c gamma_t^d for a + 2 b + 4 c + 8 d. Throws error(unusable_input) for others.
spin_matrix gamma_of(meson number);
/// Throws error(unusable_input) for momenta that no lattice needs.
void require_momentum(const std::array<int, 3>& momentum, const char* of);
/// Returns right-hand side `column` of a source. Throws error(unusable_input) if it does not fit on the lattice.
spinor_configuration make_source(const source& from, int column, const gauge_configuration& links,
                                 const communicator& comm);
/// Returns the same without the links of a solver: a Gaussian has its own.
spinor_configuration make_source(const source& from, int column, const lattice& on);

/// Throws error(unusable_input), on all ranks, if a layout leaves the array, if two numbers share a place, and, for
/// arrays that are read, if a number is not finite.
void require_spinors(std::span<const double> numbers, bool is_read, int columns, const spinor_layout& layout,
                     const lattice& on, const char* name);
void take_spinor(spinor_configuration& x, std::span<const double> numbers, int column, const spinor_layout& layout);
void put_spinor(std::span<double> numbers, const spinor_configuration& x, int column, const spinor_layout& layout);
void put_spinor(const spinor_array<double>& array, const spinor_configuration& x, int column);
/// Returns the library's description of an array that require_spinors has seen. The layout must live as long.
spinor_array<double> described(double* numbers, int columns, const spinor_layout& layout);
spinor_array<const double> described(const double* numbers, int columns, const spinor_layout& layout);
/// Returns the library's words for a source that a solver makes where its fields live; none for noise, and for a
/// Gaussian of links of its own.
std::optional<source_description> library_source(const source& from);
/// Returns its words for a Gaussian, which vectors make with links, and for noise.
std::optional<source_description> library_smearing(const source& from);
std::optional<noise_description> library_noise(const source& from);
/// Throws error(unusable_input) if a source does not fit on a lattice.
void require_source(const source& from, const extents& lattice);

}  // namespace v1
}  // namespace plaquette::api
