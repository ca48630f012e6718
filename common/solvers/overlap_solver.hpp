// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The contract of a library that computes with the overlap operator D = 1 + gamma_5 sign(H), H = gamma_5 D_w(-rho).
/// Each stage is a function of values: modes of H -> sign function -> modes of D -> solutions of D(m) x = b.
/// (Neuberger, hep-lat/9707022; Alexandru, Pelissier, Gamari, Lee 2011). cpu_ref/solvers.hpp and gpu/solvers.hpp make
/// one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/algebra/reconstruct.hpp"
#include "common/approximation/minimax.hpp"
#include "common/approximation/zolotarev.hpp"
#include "common/eigen/mode_search.hpp"
#include "common/krylov/precision.hpp"
#include "common/lattice/fermion_action.hpp"
#include "common/lattice/source_description.hpp"
#include "common/overlap/overlap_mode_search.hpp"
#include "common/overlap/overlap_mode_set.hpp"
#include "common/overlap/overlap_solve_rule.hpp"
#include "common/overlap/sign_options.hpp"
#include "common/solvers/library_part.hpp"
#include "common/solvers/link_field.hpp"
#include "common/solvers/search_memory.hpp"
#include "common/solvers/solver_vectors.hpp"

namespace plaquette {

struct overlap_settings {
  double rho = 1.4;  ///< between 0 and 2
  /// Of the fermions, as fermion_action has it; antiperiodic in time.
  std::array<complex<double>, dimensions> boundary_phase = fermion_action{}.boundary_phase;
  reconstruct links = reconstruct::none;  ///< stored numbers of a link of H
  bool half_precision = false;            ///< H in half precision too, for sign_precision::half
  std::uint64_t seed = 0;                 ///< of random vectors
  /// Bases of searches lie in memory of the host, even if the fields of a solver do not.
  bool kernel_basis_on_host = false, overlap_basis_on_host = false;
  /// Is asked within long loops, or null. If it returns true, they end early, and their results are of no use. The same
  /// on all ranks.
  std::function<bool()> interrupted = nullptr;
};

/// Returns the action of H.
fermion_action kernel_action(const overlap_settings& settings);

/// The lowest modes of H: orthonormal eigenvectors, |values| ascending, and how they were found.
struct kernel_modes : mode_search_course {
  vectors_handle vectors{};
  std::vector<double> values{}, residuals{};  ///< lambda, |H v - lambda v|
  int sought = 0;
  bool complete = true;              ///< as many were found as were sought
  double lowest_of_rest = 0.0;       ///< the least |H| orthogonal to them; 0 if not sought
  double probing = 0.0;              ///< share of the filter's work on random vectors, for modes that may be missing
  double basis_bytes_on_host = 0.0;  ///< of the search, on this rank
  int follows = 0;                   ///< that the solver had made when they were found
};

/// H applied to vectors.
struct kernel_application {
  vectors_handle in, out;  ///< in: rounded to the precision of H
};

/// sign(H) as a solver computes it: exact on the modes of H that it has, a polynomial or a rational function on the
/// rest.
class sign_operator {
 public:
  virtual ~sign_operator() = default;
  virtual const sign_options& options() const = 0;
  double lowest() const { return options().lowest; }
  double highest() const { return options().highest; }
  /// Returns the polynomial for an accuracy of `delta`.
  virtual const minimax_polynomial& polynomial(double delta) const = 0;
  virtual zolotarev_function rational(double delta) const = 0;
  /// Returns whether vectors along modes of D are taken in single precision at an accuracy.
  virtual bool is_single_near_modes(double delta) const = 0;
  /// Returns sign(H) x to an error of about delta |x|. Collective.
  /// \param seconds  becomes the time that it took, of this rank, or null
  virtual vectors_handle apply(const vectors_handle& x, double delta, sign_precision precision,
                               double* seconds = nullptr) const = 0;
  vectors_handle apply(const vectors_handle& x, double delta) const { return apply(x, delta, options().precision); }
};
using sign_handle = std::shared_ptr<const sign_operator>;

/// The vectors that a calibration compares with: a column for each unit vector of x.
struct sign_samples {
  vectors_handle x;
  vectors_handle exact;      ///< sign(H) x, far more accurate than delta
  vectors_handle as_double;  ///< sign(H) x in double precision, to delta
};

/// x without its part along the modes of H, and sign(H) of it: sign(H) x minus the modes' exact share.
struct sign_of_rest {
  vectors_handle x, image;
};

/// The deviations of D from its identities in exact arithmetic, on unit vectors.
struct overlap_algebra {
  double ginsparg_wilson = 0.0;  ///< |gamma_5 D + D gamma_5 - D gamma_5 D|
  double normality = 0.0;        ///< |D^+ D - D D^+|
};

/// The lowest modes of D^+ D in both chiralities.
struct overlap_modes : overlap_mode_set<vectors_handle> {
  double basis_bytes_on_host = 0.0;  ///< of the search, on this rank
  int follows = 0;                   ///< that the solver had made when they were found
};

/// Where a search for modes of D stands.
struct overlap_search_state {
  restart_state restart;
  int chirality = +1;
};

/// x[i] = D(m_i)^-1 b, a column for each column of b.
struct overlap_solutions {
  overlap_solve_report report;
  std::vector<vectors_handle> x;
};

/// Measures of a solution of D(m) x = b, computed with the accurate sign function.
struct overlap_judgement {
  double residual = 0.0;        ///< |b - D(m) x| / |b|, worst column
  double condensate = 0.0;      ///< Re sum_c <b_c, S b_c>, S = (1 - D/2) D(m)^-1
  double sum_of_squares = 0.0;  ///< sum_c |S b_c|^2
  double gmor = 0.0;            ///< |condensate / (m sum_of_squares) - 1|; 0 for m = 0
  double gmor_tolerance = 0.0;  ///< allowed, from the residual and the sign function's error
};

/// The links that a solver follows. Its sign functions know them, too.
class links_of_overlap {
 public:
  /// Notes that H starts to change to new links.
  void begin() {
    ++follows_;
    followed_.begin();
  }
  void note(const link_field& links) { followed_.note(links); }
  /// Returns how many follows the solver has made.
  int follows() const { return follows_; }
  /// Throws input_error if the links have moved since the last follow, or if that has failed halfway.
  void require_current() const { followed_.require_current("this overlap solver"); }
  /// Throws input_error, too, if something was made for links of another follow.
  /// \param what     "modes of H"
  /// \param follows  that the solver had made then
  void require_current(const std::string& what, int follows) const;

 private:
  followed_links followed_{};
  int follows_ = 0;
};

/// Members that take handles expect vectors that a solver of the same library made, on the same lattice; they throw
/// input_error for others. All members are collective. Members that apply H, or take what was made of it, throw
/// input_error if the links that the solver follows have moved since.
class overlap_solver : public library_part {
 public:
  virtual ~overlap_solver() = default;

  /// Takes the links as they are now, in the memory of the earlier links, so that tuned work stays valid. Modes and
  /// sign functions belong to the links that they were made for: from then on members throw input_error for earlier
  /// ones, and so do sign functions themselves. Make them again. Vectors stay. Collective. Throws input_error for links
  /// of another library or lattice, and if this solver cannot follow; it then stays as it was. Throws input_error, too,
  /// for links that its storage cannot hold: then each use does so until a follow succeeds.
  void follow(const link_field& links);
  /// Returns how many follows it has made; not collective.
  int follows() const { return followed_->follows(); }

  // --- vectors

  /// Returns the next random unit vectors of the seed.
  virtual vectors_handle random_vectors(int count) = 0;
  /// Returns the sources of the twelve columns of a propagator.
  virtual vectors_handle sources(const source_description& source) = 0;
  /// \param chirality  +1 or -1: of each vector that part is kept; 0: all
  virtual vectors_handle import_vectors(int count, int chirality, const vector_source& source) = 0;
  /// Returns vectors first ... first + count - 1; shares storage.
  virtual vectors_handle columns(const vectors_handle& x, int first, int count) const = 0;
  /// Returns the largest |a_n - b_n|; NaN if one of them is NaN.
  virtual double distance(const vectors_handle& a, const vectors_handle& b) const = 0;
  /// Returns the largest element of |V^+ V - 1|.
  virtual double distance_from_orthonormal(const vectors_handle& v) const = 0;

  // --- H

  /// Returns the counts of applications since the last reset.
  virtual const kernel_count& count() const = 0;
  virtual void reset_count() = 0;
  virtual kernel_application apply_kernel(const vectors_handle& x, precision number) const = 0;
  /// Returns the seconds of an application of H to one of several vectors that it takes at once; of this rank.
  virtual double seconds_of_kernel(const vectors_handle& x, precision number) const = 0;
  /// Returns the lowest modes of H. Empty if none converged.
  /// \param search  `highest` is computed if it is 0
  /// \param wanted  search.modes, or less: the first of the others tells where the rest begins
  virtual kernel_modes lowest_kernel_modes(const mode_search& search, int wanted,
                                           search_memory<mode_search_state>* memory = nullptr) = 0;
  kernel_modes lowest_kernel_modes(const mode_search& search) { return lowest_kernel_modes(search, search.modes); }
  /// Returns |H v - lambda v| of each mode, computed here.
  virtual std::vector<double> residuals(const kernel_modes& modes) const = 0;

  // --- sign function

  /// Returns sign(H). If the range in the options is 0, it comes from the modes, or from the search's bound on the
  /// rest.
  virtual sign_handle sign(const kernel_modes& modes, const sign_options& options = {}) const = 0;
  /// Returns how many columns at once take the least time each: 1, 2, 4 or 12.
  virtual int fastest_batch(const sign_handle& sign) = 0;
  /// Returns the same sign function with as much work in low precision as keeps the error on the samples below delta.
  virtual sign_handle calibrated(const sign_handle& sign, const sign_samples& samples, double delta) const = 0;
  virtual sign_of_rest apply_to_rest(const sign_handle& sign, const vectors_handle& x, double delta) const = 0;
  /// \param image  sign(H) x to delta, or null
  virtual overlap_algebra algebra(const sign_handle& sign, const vectors_handle& x, double delta,
                                  const vectors_handle& image) const = 0;
  overlap_algebra algebra(const sign_handle& sign, const vectors_handle& x, double delta) const {
    return algebra(sign, x, delta, nullptr);
  }

  // --- modes of D

  /// Returns the lowest modes of D^+ D in both chiralities.
  virtual overlap_modes lowest_overlap_modes(const sign_handle& sign, const overlap_mode_search& search,
                                             search_memory<overlap_search_state>* memory = nullptr) = 0;
  /// Returns |D^+ D v - e v| of each mode, computed here with a sign function of an accuracy.
  virtual std::vector<double> residuals(const sign_handle& sign, int chirality,
                                        const chiral_modes<vectors_handle>& modes, double delta) const = 0;
  /// Probes D^+ D orthogonal to known vectors by random vectors, until it is known whether it has an e below `bound`.
  /// \param zero_modes_alone  e = 0 is sought alone: for the second chirality, when the known vectors are partners of
  ///                          all pairs of the first
  virtual complement_probe probe_complement(const sign_handle& sign, int chirality, const vectors_handle& known,
                                            double bound, bool zero_modes_alone) = 0;
  complement_probe probe_complement(const sign_handle& sign, int chirality, const vectors_handle& known, double bound) {
    return probe_complement(sign, chirality, known, bound, false);
  }

  // --- solutions

  /// \param modes   the preconditioned scheme gives their memory back once the lowest are directions, if nothing else
  ///                holds them
  /// \param b       columns of definite chirality each, as sources() makes them; of any length
  /// \param masses  ascending, positive; 0 if D has no zero modes
  virtual overlap_solutions solve(const sign_handle& sign, overlap_modes modes, const vectors_handle& b,
                                  const std::vector<double>& masses, const overlap_solve_rule& rule) = 0;
  /// Returns the accuracy of a sign function that moves |b - D(m) x| / |b| by a small share of its tolerance.
  virtual double judging_delta(const vectors_handle& b, const vectors_handle& x, double mass,
                               double tolerance) const = 0;
  /// Returns the largest |s - sign(H) x| / |x|, where s is the sign(H) x of `judge`, to delta. It is compared with
  /// double precision of a tenth of delta.
  virtual double judging_error(const sign_handle& sign, const vectors_handle& x, double delta) const = 0;
  /// \param delta       accuracy of the sign function, whose roundings are held at it for vectors along modes of D too
  /// \param is_coarse   the sign function was fixed by hand, and its square is not 1 to delta
  virtual overlap_judgement judge(const sign_handle& sign, const vectors_handle& b, const vectors_handle& x,
                                  double mass, double delta, bool is_coarse = false) const = 0;

 protected:
  const links_of_overlap& followed() const { return *followed_; }
  std::shared_ptr<const links_of_overlap> shared_followed() const { return followed_; }
  /// Notes that a follow starts to change this solver. Before that a follow may throw and leave the solver as it was.
  void begin_to_follow() { followed_->begin(); }

 private:
  virtual void follow_checked(const link_field& links);

  std::shared_ptr<links_of_overlap> followed_ = std::make_shared<links_of_overlap>();
};

/// Makes columns of S = (1 - D/2) D(m)^-1 b of columns of x = D(m)^-1 b: (x - b / (2 rho)) / (1 - m / (2 rho)).
void subtract_contact_term(std::vector<spinor_configuration>& x, const vectors_handle& b, double mass, double rho);
/// Does the same for one column, with the same bits.
void subtract_contact_term(spinor_configuration& x, const spinor_configuration& b, double mass, double rho);

/// Returns the propagator that belongs to sources b and solutions x at one mass, a column each.
std::vector<spinor_configuration> overlap_propagator(const lattice_geometry& geometry, const vectors_handle& x,
                                                     const vectors_handle& b, double mass, double rho);

}  // namespace plaquette
