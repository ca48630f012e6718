// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vectors of a stage in a file: columns of spinors or of one chirality, and a document that says what they are.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/app/report.hpp"
#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette {

/// Puts vector `number` into `to`, in the DeGrand-Rossi basis.
using vector_source = std::function<void(int number, spinor_configuration& to)>;
/// The inverse.
using vector_sink = std::function<void(int number, const spinor_configuration& from)>;

/// Writes `count` vectors (data set /vectors, [count][T][Z][Y][X][4][3]) and the state, with a sum of each vector as
/// "sums", complete or not at all; replaces a file that is there. Throws output_error. Collective.
void write_vectors(const std::string& path, int count, const vector_source& source, json_document state,
                   const lattice_geometry& geometry, const communicator& world);

/// The state of such a file. Throws input_error, naming the file, where it is none, or where it belongs to another
/// problem than `problem`, which its state holds as "problem". Collective.
json_document read_state(const std::string& path, const json_document& problem, const communicator& world);

/// Reads its vectors, as many as `count`. Throws input_error, naming the file, where one has not the sum that the state
/// has of it. Collective.
void read_vectors(const std::string& path, int count, const json_document& state, const vector_sink& sink,
                  const lattice_geometry& geometry, const communicator& world);

/// Numbers of a state, each within bounds. Every member throws input_error, naming the file and the key, where a value
/// is missing, of another type or out of bounds.
class stored_state {
 public:
  stored_state(const std::string& path, const json_document& state);

  int integer(const char* key, int least, int most) const;
  double real(const char* key, double least, double most) const;
  bool flag(const char* key) const;
  /// From `fewest` to `most` numbers of size `bound` at most.
  std::vector<double> reals(const char* key, int fewest, int most,
                            double bound = std::numeric_limits<double>::max()) const;
  stored_state part(const char* key) const;
  /// A list of `count` parts.
  std::vector<stored_state> parts(const char* key, int count) const;

 private:
  std::string path_;
  json_document state_;
};

}  // namespace plaquette
