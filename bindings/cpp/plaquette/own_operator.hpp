// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An operator of the caller's own under the solvers and the multigrid of the library, on the CPU. The library only
/// applies it to vectors, and makes null vectors and coarse operators by that.
///
///     plq::own_solver solver(lattice, [&](auto out, auto in) { my_operator(out, in); });
///     const plq::propagator quark = solver.solve(plq::source{});
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "plaquette/plaquette.hpp"

namespace plaquette::api {
inline namespace v1 {

/// Computes out = M in, both [site][spin][colour] of this rank's box, x fastest. The basis of spins is the caller's;
/// with DeGrand-Rossi's the coarse lattices keep chirality. All ranks call it at once, one thread at a time; if it
/// throws, it does so on all of them, and its exception leaves the call as it is.
using own_operator = std::function<void(std::span<std::complex<double>> out, std::span<const std::complex<double>> in)>;

/// How it is solved.
struct own_options {
  int levels = 2;          ///< of multigrid, at most; 1: none, flexible GCR by itself
  int null_vectors = 0;    ///< of each chirality; 0: chosen for the lattice
  int columns = 12;        ///< right-hand sides that are solved at once
  int directions = 16;     ///< of GCR, before it starts again
  std::uint64_t seed = 1;  ///< of the null vectors
};

/// Solves M x = b by flexible GCR in double precision, around a cycle in single precision. Calls are collective.
class own_solver {
 public:
  /// Makes null vectors and coarse operators. Throws error(unusable_input) if M is not linear on random vectors, or
  /// gives numbers that are not finite. With multigrid it does so too if M joins aggregates that share no face.
  /// (Hops to nearest sites never do.)
  own_solver(const lattice& on, own_operator m, const own_options& options = {});

  /// Solves for right-hand sides in memory of the host, as solver::solve does. The reference residual is recomputed by
  /// the caller's M, in double.
  solve_report solve(std::span<double> x, std::span<const double> b, int columns, const spinor_layout& layout,
                     const api::rule& rule = {});
  /// Solves for a propagator. A Gaussian source needs smearing_links.
  propagator solve(const source& from, const api::rule& rule = {});
  const lattice& on() const;     ///< the lattice of the links
  int levels() const;            ///< that were made, the finest included
  double setup_seconds() const;  ///< of making it

  struct state;

 private:
  std::shared_ptr<state> state_;
};

}  // namespace v1
}  // namespace plaquette::api
