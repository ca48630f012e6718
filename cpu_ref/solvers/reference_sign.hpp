// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// sign(H) by another way, for checks: no modes, no polynomial, H from the suite's Wilson operator.
#pragma once

#include <functional>

#include "common/comms/communicator.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/site_field.hpp"
#include "common/solvers/overlap_solver.hpp"

namespace plaquette::cpu {

/// sign(H) psi, H = gamma_5 D_w, by Zolotarev's function of an error of 1e-12 and multi-shift CG in double on the CPU.
/// Meant for small lattices. Collective.
/// \param lowest, highest  of |H|, all of its spectrum
spinor_configuration sign_by_rational_function(const spinor_configuration& psi, const gauge_configuration& links,
                                               const fermion_action& action, double lowest, double highest,
                                               const communicator& world,
                                               const std::function<bool()>& interrupted = nullptr);

/// Returns sign(H) psi to an error of `delta`, for a psi without part along modes of |H| below `lowest`. It is a
/// polynomial of H^2, by the three-term recurrence of Chebyshev polynomials. H comes from the suite's Wilson operator
/// in double on the CPU. It takes as many applications of H as one sign function, on any lattice. Collective.
spinor_configuration sign_by_chebyshev_series(const spinor_configuration& psi, const gauge_configuration& links,
                                              const fermion_action& action, double lowest, double highest, double delta,
                                              const communicator& world,
                                              const std::function<bool()>& interrupted = nullptr);

/// Returns |a - b| for a random vector, a = sign(H) outside the modes of H by `solver` to `delta`, b by
/// sign_by_chebyshev_series to `finer` on these links. Meaningless if `interrupted` has said so. Collective.
double sign_off_from_reference(plaquette::overlap_solver& solver, const sign_handle& sign,
                               const gauge_configuration& links, const fermion_action& action, double lowest,
                               double highest, double delta, double finer, const communicator& world,
                               const std::function<bool()>& interrupted = nullptr);

/// Returns |a - b|. Collective.
double distance(const spinor_configuration& a, const spinor_configuration& b, const communicator& world);

}  // namespace plaquette::cpu
