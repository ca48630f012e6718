// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Links, momenta and pseudofermions on a device, as a trajectory and its judge see them:
/// `cpu::make_molecular_dynamics` (cpu_ref/solvers.hpp) and `gpu::make_molecular_dynamics` (gpu/solvers.hpp) make one.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "common/gauge/momenta.hpp"
#include "common/hmc/hybrid_action.hpp"
#include "common/lattice/gauge_action.hpp"
#include "common/lattice/site_field.hpp"

namespace plaquette {

/// H(end) - H(start), term by term. No digits are lost if H is large: each is summed as differences of sites.
struct energy_change {
  double kinetic = 0.0;
  std::vector<double> terms{};  ///< in the order of term_names

  double total() const { return std::accumulate(terms.begin(), terms.end(), kinetic); }
};

/// Returns the index of the random spinor that a pseudofermion is made of.
inline std::uint64_t noise_index(std::uint64_t trajectory, int factor, int pair) {
  return (trajectory << 12) | static_cast<std::uint64_t>(factor) << 6 | static_cast<std::uint64_t>(pair);
}

/// The work of a factor's solves.
struct solve_count {
  long solves = 0, iterations = 0, applications = 0;  ///< applications of Mhat to a column
  int repeated = 0;                                   ///< solves that another solver made again
  double seconds = 0.0;                               ///< without the hierarchy of multigrid
};

/// The work of the solves of one trajectory.
struct factor_work {
  solve_count forces, actions;  ///< heat baths are among the actions
};

/// The work of multigrid in one trajectory.
struct hierarchy_work {
  int renewals = 0;                                   ///< inverse iterations of the null vectors on the way
  double seconds = 0.0;                               ///< of the set-up and the renewals
  std::int64_t iterations = 0, fresh_iterations = 0;  ///< of forces: as they were, and if the hierarchy stayed fresh

  /// Returns iterations as a multiple of the iterations with a fresh hierarchy; 0 without any.
  double ageing() const {
    return fresh_iterations > 0 ? static_cast<double>(iterations) / static_cast<double>(fresh_iterations) : 0.0;
  }
};

/// Which vectors of a factor are meant. All are Dirac spinors on all sites.
enum class factor_vectors {
  pseudofermion,  ///< phi; zero on odd sites
  start,          ///< x with x_e = X of hybrid_action.hpp and (M x)_o = 0, on the links of the start
  end,            ///< the same on the links of the end
  force_x,        ///< x of the last force, the same too; phi + X in place of X if masses are shifted
  force_y,        ///< y of the last force: W_k^+ y_e = phi + X, of the last factor X, and (M^+ y)_o = 0
  heavier_x,      ///< if masses are shifted, of all factors but the last: -phi on even sites, (M x)_o = 0, M of W_(k+1)
  heavier_y       ///< y_e as of force_y, (M^+ y)_o = 0 with this M
};

/// Links and momenta as they were at one moment of a trajectory. They stay on the device.
class md_state {
 public:
  virtual ~md_state() = default;
};

/// Which matrices of the links are meant.
enum class md_matrices {
  links,
  momenta,
  force  ///< of the last call of force() or make_force()
};

/// The state of a hybrid Monte Carlo on a device. All members are collective, except the const ones that return
/// numbers. One caller at a time. Random numbers depend on (seed, purpose, trajectory, global site) alone.
class molecular_dynamics {
 public:
  virtual ~molecular_dynamics() = default;

  virtual const hybrid_action& action() const = 0;

  /// Takes links from the host, whose ghosts do not matter.
  virtual void set_links(const gauge_configuration& links) = 0;
  /// Returns the links, the links at the start of the trajectory, and the momenta A = i a_k T_k, ghosts filled.
  virtual gauge_configuration links() const = 0;
  virtual gauge_configuration links_of_start() const = 0;
  virtual gauge_configuration momenta() const = 0;

  /// Begins a trajectory: keeps the links, draws momenta and pseudofermions. Throws error of no convergence if a system
  /// is not solved.
  virtual void refresh(std::uint64_t trajectory) = 0;
  /// Begins a trajectory with momenta of the host, whose ghosts do not matter: keeps the links. Pseudofermions are zero
  /// until they are set.
  virtual void set_momenta(const gauge_configuration& momenta) = 0;
  /// Takes one pseudofermion phi of a trajectory that set_momenta began, before links move, and solves for its vector
  /// `start`. Its odd sites do not matter. Throws as refresh does.
  virtual void set_pseudofermion(int factor, int pair, const spinor_configuration& phi) = 0;
  /// Moves links: U becomes exp(step A) U.
  virtual void drift(double step) = 0;
  /// Adds step dA/dt of these terms to the momenta.
  virtual void kick(std::span<const int> terms, double step) = 0;
  /// Does the same with the force at exp(displacement F) U, F the force of these terms at U.
  virtual void displaced_kick(std::span<const int> terms, double step, double displacement) = 0;
  /// Returns H now less H at the start.
  virtual energy_change change_of_energy() = 0;
  /// Puts the links of the start back.
  virtual void restore() = 0;
  /// Puts every link back into SU(3), which rounding has led it out of.
  virtual void reunitarise() = 0;
  /// Makes the momenta their negatives.
  virtual void reverse() = 0;
  /// Makes the momenta zero.
  virtual void halt() = 0;

  /// Keeps links and momenta as they are now, in the memory of an earlier state if there is one.
  virtual void keep(std::unique_ptr<md_state>& in) const = 0;
  /// Puts links and momenta back that were kept. Pseudofermions and the start of the trajectory stay.
  virtual void put_back(const md_state& kept) = 0;
  /// Copies the matrices of sites of this rank to the host, and no others.
  /// \param at  local coordinates
  /// \param to  four matrices for each of them
  virtual void get(md_matrices which, std::span<const coordinate> at, std::span<site_links> to) const = 0;

  /// Makes dA/dt of one term, which stays on the device, its solves to `tolerance` (0: as in a trajectory).
  virtual void make_force(int term, double tolerance) = 0;
  /// Returns the same as momenta on the host.
  virtual gauge_configuration force(int term, double tolerance) = 0;
  /// Copies vectors of a factor to the host; `force_x` and `force_y` are of the last force of that factor.
  virtual void get(int factor, factor_vectors which, int pair, spinor_configuration& to) const = 0;
  /// Makes the vectors `end` of all factors, on the links as they are. Throws as refresh does.
  virtual void solve_for_actions() = 0;

  /// Returns the sizes of forces, by term, that were noted in this trajectory: at the first kick of each term.
  virtual std::vector<force_size> sizes_of_forces() const = 0;
  /// Returns the work of each factor's solves since the last refresh.
  virtual std::vector<factor_work> work() const = 0;
  /// Returns the work of multigrid since the last refresh; zeros if no factor is solved by it.
  virtual hierarchy_work work_of_hierarchy() const = 0;
  virtual plaquettes measure_plaquettes() = 0;
  /// Returns the largest |U U^+ - 1| and |det U - 1| of any link.
  virtual double distance_from_su3() = 0;
  /// Waits for all that was queued.
  virtual void finish() = 0;
};

}  // namespace plaquette
