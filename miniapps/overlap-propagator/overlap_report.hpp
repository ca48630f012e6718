// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The results of the stages of an overlap calculation, as plain numbers, and their tables and JSON.
#pragma once

#include <string>
#include <vector>

#include "common/app/bit_sum.hpp"
#include "common/app/report.hpp"
#include "common/app/verification.hpp"
#include "common/approximation/minimax.hpp"
#include "common/approximation/zolotarev.hpp"
#include "common/solvers/overlap_solver.hpp"
#include "miniapps/overlap-propagator/overlap_options.hpp"

namespace plaquette {

/// A stage's time and applications of H, one a column.
struct stage_record {
  std::string name;
  double seconds = 0.0;
  double as_double = 0.0, as_single = 0.0, half = 0.0, sign_applications = 0.0;
  double predicted_seconds = 0.0;
  bool restored = false;  ///< read from a checkpoint
};

/// The stage that judges modes of D, which is no part of the calculation.
inline constexpr const char* judgement_of_modes = "modes of D, judged";

struct sign_record {
  std::string method;
  std::string precision;  ///< as used
  double lowest = 0.0, highest = 0.0, delta = 0.0;
  int degree = 0, poles = 0;
  int batch = 0;  ///< columns at once in Clenshaw's recurrence
  std::vector<double> coefficients, shifts, weights;
  double seconds_double = 0.0, seconds_mixed = 0.0;  ///< a vector
  int columns_double = 0;                            ///< in double precision
  int columns = 0;                                   ///< vectors at once; 0: not applied
  double square_error = 0.0, error = 0.0, error_double = 0.0, ginsparg_wilson = 0.0, normality = 0.0;
};

/// Modes of D as a report has them.
struct overlap_record {
  const overlap_modes& modes;
  bool open = false;  ///< all that were found are zero modes, so that there may be more
  bool has_open_index() const { return open || modes.plus.eigenvalues.size() + modes.minus.eigenvalues.size() == 0; }
};

struct mass_record {
  overlap_mass_report solve;
  overlap_judgement judged{};
  double judging_delta = 0.0;   ///< accuracy of the sign function that judged it
  double mass_of_others = 0.0;  ///< m' = m / (2 rho)
  bool is_solved = false;       ///< it converged, and is judged to be within the tolerance
  std::vector<double> pion{}, rho{};
  bit_sum bits{};  ///< of the solution, as it was judged
};

/// Returns the parameters of a sign function, before it is applied.
/// \param delta  error that it is held to
sign_record describe(const sign_operator& sign, double delta);

json_document to_json(const kernel_modes& r);
json_document to_json(const sign_record& r);
json_document to_json(const overlap_record& r);
json_document to_json(const mass_record& r);
json_document to_json(const std::vector<stage_record>& stages);
json_document to_json(const preconditioned_work& work);

void print(const kernel_modes& r);
/// \param whole  coefficients, or shifts and weights, too
void print(const sign_record& r, bool whole);
/// The approximation, a number or a pole a line.
std::vector<std::string> table_of(const sign_record& r);
void print(const overlap_record& r);
void print(const std::vector<mass_record>& masses);
void print(const preconditioned_work& work);
/// Prints the table of stages, next to the paper's hours for 24^3 x 64.
/// \param is_paper  whether the lattice is the paper's, whose hours then stand next to the seconds
void print(const std::vector<stage_record>& stages, bool is_paper);

}  // namespace plaquette
