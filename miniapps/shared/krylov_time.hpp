// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long an iteration of a Krylov solver on even sites takes on machines that need not be here, for --dryrun.
#pragma once

#include <optional>

#include "common/algebra/reconstruct.hpp"
#include "common/krylov/precision.hpp"
#include "common/lattice/geometry.hpp"
#include "miniapps/shared/machine_model.hpp"

namespace plaquette {

/// The work of an iteration for a column: applications of the even-odd operator; further vectors that it reads or
/// writes; sums over all sites; kernels.
struct iteration_parts {
  int applications;
  double vectors, sums, kernels;
};
/// Of BiCGstab, measured on an H200: 15 to 17 vectors in all precisions.
inline constexpr iteration_parts parts_of_bicgstab{2, 16, 4, 8};

/// Numbers and links of an operator.
struct stored_as {
  precision numbers = precision::double_;
  reconstruct links = reconstruct::none;
};

/// Seconds of the parts of a solve with the even-odd Wilson or clover operator, for a batch of columns.
class krylov_clock {
 public:
  /// \param machine  must outlive this
  krylov_clock(const machine_figures& machine, const lattice_geometry& geometry, bool has_clover, bool overlap,
               int columns);

  kernel_time application(const stored_as& as) const;
  /// Returns the seconds in which this number of vectors of each column is read or written.
  double of_vectors(double vectors, precision numbers) const;
  /// Returns the seconds of an iteration, with its share of reliable updates.
  /// \param updated  as which updates have operator and solution; none: there are no updates
  double iteration(const iteration_parts& parts, const stored_as& as, const std::optional<stored_as>& updated) const;

 private:
  const machine_figures& machine_;
  divided_lattice lattice_;
  int ranks_, columns_;
  bool has_clover_, overlap_;
  double even_sites_;  ///< of a rank
};

}  // namespace plaquette
