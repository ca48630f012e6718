// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the bench times on a GPU: one row a kernel, lattice, precision and number of right-hand sides.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/app/verification.hpp"
#include "common/lattice/extents.hpp"

namespace plaquette::bench {

enum class gpu_subject {
  hopping,           ///< the even-odd hopping term, one parity: 1320 flops a site
  clover_schur,      ///< the even-odd Wilson-clover matrix: 3696 flops a site of one parity
  vector_operation,  ///< `operation` on fields out of the cache
  solve              ///< `operation`: BiCGstab on the symmetric Schur system
};

struct gpu_row {
  std::string name;  ///< "hopping.32x64.single", ".18" for reals other than 12, ".n12" for right-hand sides
  gpu_subject subject = gpu_subject::hopping;
  std::string operation;  ///< "axpy", ...; "double", "double-half", ...
  extents lattice{};
  std::string precision = "single";  ///< or "double", "half", "pairs": double by pairs of floats
  int reals = 12, rhs = 1;
};

/// What another program reaches on a row.
struct peer_figure {
  std::string program;
  double tflops;  ///< in standard flops of all right-hand sides
};
/// Returns the figure of data/bench-peers.json for a row and a device (NVIDIA H200); none where there is none. The file
/// says where each figure comes from.
std::optional<peer_figure> peer_of(const std::string& row, const std::string& device);

/// Returns all rows, by lattice.
std::vector<gpu_row> gpu_rows();

/// Returns those whose name is one of `names` or begins with one and a dot; names are separated by commas, "all" is all
/// rows. Throws input_error for a name that selects nothing.
std::vector<gpu_row> rows_named(const std::string& names);

/// Runs row after row. One that throws is reported as a check that failed, and by `say`. The rest go on where the
/// device still works. After some errors of CUDA nothing does, and the rest counts as failed. Lets input_error through.
/// \param device_works  asked after a row has thrown
void run_rows(const std::vector<gpu_row>& rows, const std::function<void(const gpu_row&)>& run,
              const std::function<bool()>& device_works, const std::function<void(const std::string&)>& say,
              verification& checks);

/// Returns the standard flops of one application a site of one parity and right-hand side; 0 for vector operations and
/// solves.
double standard_flops(const gpu_row& row);

/// Returns the fewest bytes a site of one parity and right-hand side. Links and clover blocks are shared by the
/// right-hand sides, every spinor is read or written once. In half precision each spinor has one scale of 4 bytes and
/// each clover block two. 0 for solves.
double fewest_bytes(const gpu_row& row);

/// Returns fields that a vector operation reads and writes.
int fields_moved(const std::string& operation);

/// Returns the bytes of a real number: 8 (double, pairs), 4, 2.
double bytes_of_real(const std::string& precision);

}  // namespace plaquette::bench
