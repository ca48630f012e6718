// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What the stages of an overlap calculation found, as plain numbers, and how it is told: tables and JSON.
#pragma once

#include <string>
#include <vector>

#include "common/algorithms/minimax.hpp"
#include "common/algorithms/zolotarev.hpp"
#include "common/app/bit_sum.hpp"
#include "common/app/report.hpp"
#include "common/app/verification.hpp"
#include "common/overlap/overlap_mode_set.hpp"
#include "common/overlap/overlap_solve_rule.hpp"
#include "miniapps/overlap-propagator/overlap_options.hpp"

namespace plaquette {

/// A stage's time and applications of H, one a column.
struct stage_record {
  std::string name;
  double seconds = 0.0;
  double wide = 0.0, narrow = 0.0, half = 0.0, sign_applications = 0.0;
  double predicted_seconds = 0.0;
  bool restored = false;  ///< read from a checkpoint
};

/// Modes of H as a report has them.
struct kernel_record {
  std::vector<double> values, residuals;
  double highest = 0.0, window = 0.0, lowest_of_rest = 0.0;
  int degree = 0, block = 0, keep = 0, most = 0, cycles = 0, widened = 0, sought = 0;
  bool complete = true;
  int raised = 0;
  double probing = 0.0;  ///< share of the filter that random vectors took at the end
};

struct sign_record {
  std::string method;
  std::string precision;  ///< as used
  double lowest = 0.0, highest = 0.0, delta = 0.0;
  int degree = 0, poles = 0;
  int batch = 0;  ///< columns at once in Clenshaw's recurrence
  std::vector<double> coefficients, shifts, weights;
  double seconds_wide = 0.0, seconds_mixed = 0.0;  ///< a vector
  int columns = 0;                                 ///< vectors at once; 0: not applied
  double square_error = 0.0, error = 0.0, error_wide = 0.0, ginsparg_wilson = 0.0, normality = 0.0;
};

struct overlap_record {
  std::vector<double> plus, minus, plus_residuals, minus_residuals;  ///< e of D^+ D
  std::vector<complex<double>> eigenvalues;
  int zero_plus = 0, zero_minus = 0, cycles = 0, restarts = 0, searched = 0;
  bool open = false;  ///< all that were found are zero modes, so that there may be more
  bool is_open() const { return open || eigenvalues.empty(); }
};

struct mass_record {
  overlap_mass_report solve;
  double residual = 0.0;  ///< |b - D(m) x| / |b|, worst column, full sign function in double
  double gmor = 0.0, gmor_tolerance = 0.0;
  double sum_of_squares = 0.0;  ///< sum_c |S b_c|^2
  double mass_of_others = 0.0;  ///< m' = m / (2 rho)
  double condensate = 0.0;      ///< Re sum_c <b_c, S b_c>
  std::vector<double> pion{}, rho{};
  bit_sum bits{};  ///< of the solution, as it was judged
};

json_document to_json(const kernel_record& r);
json_document to_json(const sign_record& r);
json_document to_json(const overlap_record& r);
json_document to_json(const mass_record& r);
json_document to_json(const std::vector<stage_record>& stages);

void print(const kernel_record& r);
/// \param whole  coefficients, or shifts and weights, too
void print(const sign_record& r, bool whole);
/// The approximation, a number or a pole a line.
std::vector<std::string> table_of(const sign_record& r);
void print(const overlap_record& r);
void print(const std::vector<mass_record>& masses);
/// The table of stages, beside what the paper has for 24^3 x 64.
void print(const std::vector<stage_record>& stages);

}  // namespace plaquette
