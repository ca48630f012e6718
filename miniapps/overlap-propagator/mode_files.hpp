// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Vectors of a stage in a file: columns of spinors or of one chirality, and a document that says what they are.
#pragma once

#include <functional>
#include <string>

#include "common/app/report.hpp"
#include "common/comms/communicator.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette {

/// Puts vector `number` into `to`, in the DeGrand-Rossi basis.
using vector_source = std::function<void(int number, spinor_configuration& to)>;
/// The inverse.
using vector_sink = std::function<void(int number, const spinor_configuration& from)>;

/// Writes `count` vectors (data set /vectors, [count][T][Z][Y][X][4][3]) and the state, complete or not at all;
/// replaces a file that is there. Throws output_error. Collective.
void write_vectors(const std::string& path, int count, const vector_source& source, const json_document& state,
                   const lattice_geometry& geometry, const communicator& world);

/// The state of such a file. Throws input_error, naming the file, where it is none, or where it belongs to another
/// problem than `problem`, which its state holds as "problem". Collective.
json_document read_state(const std::string& path, const json_document& problem, const communicator& world);

/// Reads its vectors, as many as `count`. Collective.
void read_vectors(const std::string& path, int count, const vector_sink& sink, const lattice_geometry& geometry,
                  const communicator& world);

}  // namespace plaquette
