// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What stages of a run return is kept in files, so that a later run goes on from them. A file holds a document of
/// numbers and vectors of the lattice, each with a checksum; it is written as a whole or not at all.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/app/report.hpp"
#include "common/app/run_control.hpp"
#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"
#include "common/solvers/search_memory.hpp"
#include "common/solvers/solver_vectors.hpp"
#include "common/stopwatch.hpp"

namespace plaquette {

class hdf5_input;

/// The calculation that a file belongs to.
struct kept_problem {
  json_document parameters;  ///< those that determine the value; the same in every key
  double plaquette = 0.0;    ///< of the configuration, to 1e-12
};

/// A value as a file keeps it.
struct kept_value {
  json_document state;
  int vectors = 0;
  vector_source source = nullptr;  ///< of these
};

/// Numbers of a file, each within bounds. Every member throws input_error, naming the file and the key, where a value
/// is missing, of another type or out of bounds.
class kept_numbers {
 public:
  kept_numbers(const std::string& path, const json_document& state);

  int integer(const char* key, int least, int most) const;
  double real(const char* key, double least, double most) const;
  bool flag(const char* key) const;
  /// Returns from `fewest` to `most` numbers of size `bound` at most.
  std::vector<double> reals(const char* key, int fewest, int most,
                            double bound = std::numeric_limits<double>::max()) const;
  kept_numbers part(const char* key) const;
  /// Returns a list of `count` parts.
  std::vector<kept_numbers> parts(const char* key, int count) const;
  /// Returns the path, for messages.
  const std::string& path() const { return path_; }
  const json_document& document() const { return state_; }

 protected:
  std::string path_;
  json_document state_;
};

/// A file that was opened: its numbers, and its vectors.
class kept_content : public kept_numbers {
 public:
  kept_content(std::shared_ptr<const hdf5_input> file, const std::string& path, const json_document& state,
               const lattice_geometry& geometry, const communicator& world);
  /// Returns what reads its vectors. Throws input_error, naming the file, where it has not as many as `count`, and when
  /// a vector has not the sum that the state has of it. Collective.
  vector_source vectors(int count) const;

 private:
  void read_vector(int number, spinor_configuration& to) const;

  std::shared_ptr<const hdf5_input> file_;
  const lattice_geometry* geometry_;
  const communicator* world_;
};

/// Returns the document of a kept file. Throws input_error, naming the file, where it has none. Not collective.
json_document state_of_kept_file(const std::string& path);

/// One file for a value of a calculation; with an empty path it keeps nothing.
class kept_file {
 public:
  /// \param geometry, world  must outlive it
  kept_file(std::string path, kept_problem problem, const lattice_geometry& geometry, const communicator& world);

  const std::string& path() const { return path_; }
  const kept_problem& problem() const { return problem_; }
  const lattice_geometry& geometry() const { return *geometry_; }
  const communicator& world() const { return *world_; }
  /// Returns whether a file is there.
  bool exists() const;
  /// Replaces the file. Throws output_error. Collective.
  void write(const kept_value& value) const;
  /// Throws input_error, naming the file, where it is none, or belongs to another calculation. Collective.
  kept_content read() const;
  /// Removes the file, if there is one.
  void remove() const;

 private:
  std::string path_;
  kept_problem problem_;
  const lattice_geometry* geometry_;
  const communicator* world_;
};

/// How values of a type are written to files and made of them again.
template <class Value>
struct value_format {
  std::function<kept_value(const Value&)> to_file;
  std::function<Value(const kept_content&)> of_file;
};

/// A value, and whether it comes from a file.
template <class Value>
struct resumed {
  Value value;
  bool restored = false;
};

/// Returns what the file keeps of an earlier run, or else what `compute` returns. The caller keeps that with
/// `file.write` once it is worth it. What was restored has to be judged like what was computed. Collective.
template <class Value, class Compute>
resumed<Value> restored_or(const kept_file& file, const value_format<Value>& format, const Compute& compute) {
  if (file.exists()) return {format.of_file(file.read()), true};
  return {compute(), false};
}

/// Keeps a search under way in a file, not more often than every half minute, and when the run is about to stop.
template <class State>
class throttled_checkpoint final : public search_memory<State> {
 public:
  using snapshot = search_snapshot<State>;

  /// All must outlive it.
  throttled_checkpoint(const kept_file& file, const value_format<snapshot>& format, run_control& control,
                       const communicator& world)
      : file_(file), format_(format), control_(control), world_(world) {}

  std::optional<snapshot> last() override {
    if (!file_.exists()) return std::nullopt;
    resumed_ = true;
    return format_.of_file(file_.read());
  }
  void keep(const std::function<snapshot()>& make) override {
    if (file_.path().empty()) return;
    double since = seconds_now() - last_;
    world_.maximum({&since, 1});
    if (since < 30.0 && !control_.should_stop()) return;
    file_.write(format_.to_file(make()));
    last_ = seconds_now();
  }
  /// Returns whether the search went on from a file.
  bool has_resumed() const { return resumed_; }

 private:
  const kept_file& file_;
  const value_format<snapshot>& format_;
  run_control& control_;
  const communicator& world_;
  double last_ = seconds_now();
  bool resumed_ = false;
};

}  // namespace plaquette
