// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Plaquette for callers in C++: from links in memory to verified quark propagators. This header needs no other one of
/// the library. The names of plaquette::api are kept from release to release; docs/calling.md says how.
///
///     namespace plq = plaquette::api;
///     const plq::lattice lattice({16, 16, 16, 32});
///     const plq::gauge_field links(lattice, my_array, plq::link_layout::dense(lattice.local()));
///     plq::solver solver = plq::make_multigrid_solver(links, {.mass = 0.02, .csw = 1.0});
///     const plq::propagator quark = solver.solve(plq::source{});
///     if (quark.verdict().passed) use(quark.pion());
///
/// Objects are cheap to copy and share their data. Calls on several ranks are collective: every rank makes them in
/// the same order. Threads: any number may use different solvers at once; calls on one solver wait for each other.
/// (With several ranks, give each thread a lattice of its own and start MPI with MPI_THREAD_MULTIPLE.)
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "plaquette/version.h"

namespace plaquette::api {
inline namespace v1 {

// ---- Errors

/// The reason of an error. The numbers are the codes of plaquette.h, and below 70 the exit statuses of the programs.
enum class code : int {
  success = 0,
  not_verified = 1,     ///< a result did not pass its independent check
  unusable_input = 2,   ///< arguments, links or a file cannot be used
  no_convergence = 3,   ///< a solver stopped above its tolerance
  out_of_memory = 4,    ///< memory of the host or of the device
  output_failed = 5,    ///< a file could not be written
  interrupted = 6,      ///< the stop function or progress function of this thread ended the call
  not_available = 7,    ///< this library was built without it, or the machine has none
  invalid_handle = 8,   ///< C and Fortran: no object, or one that was freed
  internal_error = 70,  ///< a defect of the library
};
/// Returns a sentence for a code.
const char* text_of(code what);

/// The one exception that this interface throws.
class error : public std::runtime_error {
 public:
  /// Makes an error of a code.
  error(code which, const std::string& what) : std::runtime_error(what), code_(which) {}
  code which() const { return code_; }  ///< returns the code

 private:
  code code_;
};

/// Sets the stop function of this thread; null: none. Its calls ask it at convergence checks and between the steps of
/// other long work, fifty times a second at most. It returns false to end the call. A solve then returns the best
/// solution so far: the status of its columns is "interrupted", and so is outcome(). Waves keep the state of the last
/// step; wave_solver::advance and all other calls throw error(interrupted), and objects stay as they were. An exception
/// of the function leaves the call as it is. On a lattice of several ranks all have a stop function, or none; one that
/// stops stops all.
void stop_function(std::function<bool()> goes_on);

/// How far a call has come.
struct progress {
  const char* what =
      "work";              ///< the part of the call: "solve", "modes of H", "modes of D", "steps of waves", "work", ...
  std::int64_t step = 0;   ///< iterations of the solve, cycles of the search or steps so far; 0 also if not counted
  std::int64_t limit = 0;  ///< of steps; 0: not known
  double residual = std::numeric_limits<double>::quiet_NaN();  ///< largest of all columns or modes; NaN: not known
  double tolerance = 0.0;                                      ///< that residuals shall meet; 0: there are none
  double seconds = 0.0;                                        ///< since the call began
};

/// Sets the progress function of this thread; null: none. Its calls tell it how far they are. They do so at each
/// convergence check of a solve, cycle of a search and step of a flow or of waves. In other long work they do so about
/// ten times a second. It returns true to end the call, as the stop function does by false. On a lattice of several
/// ranks all have a progress function, or none. Each calls its own; about a tenth of a second after one has ended, all
/// end. It must not use the object whose call it is told of.
void progress_function(std::function<bool(const progress&)> stops);

/// Returns the version of the library that runs: "0.1.0".
const char* version();

// ---- Lattices and links. Directions are numbered x, y, z, t = 0, 1, 2, 3.

/// Numbers of x, y, z, t.
using coordinate = std::array<int, 4>;

/// How a lattice is divided and computed on.
struct lattice_options {
  coordinate grid{0, 0, 0, 0};                ///< ranks in each direction; zeros: the grid of smallest surface
  std::optional<int> fortran_communicator{};  ///< of the ranks (see mpi.hpp); without, this process alone
  int threads = 0;                            ///< of the CPU; 0: as many as OpenMP has
  /// Sums have the same bits on any grid and any number of ranks and threads of one kind of processor. So have
  /// solutions of Krylov solvers on the CPU, residuals and correlators. Other solvers are refused. Solves take longer.
  bool reproducible = false;
};

/// A periodic lattice, and the box of it that this rank holds. Extents of the box are even.
class lattice {
 public:
  /// Makes a lattice. Collective.
  explicit lattice(const coordinate& extents, const lattice_options& options = {});
  coordinate extents() const;         ///< of the whole lattice
  coordinate grid() const;            ///< of ranks
  coordinate local() const;           ///< extents of this rank's box
  coordinate origin() const;          ///< coordinate of its first site
  int rank() const;                   ///< of this process
  int ranks() const;                  ///< over which the lattice is divided
  std::int64_t local_volume() const;  ///< sites of the box

  struct state;
  explicit lattice(std::shared_ptr<state> s) : state_(std::move(s)) {}  ///< for the library
  const std::shared_ptr<state>& get() const { return state_; }          ///< for the library

 private:
  std::shared_ptr<state> state_;
};

/// The device of a solver.
enum class device { cpu, gpu };
/// Which coordinate runs fastest in an array.
enum class site_order { x_fastest, t_fastest };
/// The memory of an array. Arrays of the device are memory of a GPU of this process, made by cudaMalloc or
/// cudaMallocManaged. Calls wait for the work that is queued on that GPU before they read them. They pass through
/// memory of the host.
enum class memory { host, device };

/// The layout of links in an array of reals: the real part of element (i, j) of U_mu(x), x a local coordinate, at
///
///     first + sum_nu x_nu site[nu] + direction[mu] + i row + j column
///
/// and its imaginary part `imaginary` behind. Strides are counted in reals and may be negative.
struct link_layout {
  std::int64_t first = 0;                   ///< place of the first number
  std::array<std::int64_t, 4> site{};       ///< strides of x, y, z, t
  std::array<std::int64_t, 4> direction{};  ///< places of the four links
  std::int64_t row = 6;                     ///< stride in a matrix
  std::int64_t column = 2;                  ///< stride in a row
  std::int64_t imaginary = 1;               ///< from a real part to its imaginary one
  /// Sites in an order of their own: where each begins, for sites with x fastest, in place of `site`.
  std::span<const std::int64_t> places{};
  /// The factor in links that leave the lattice in direction mu; it is taken out of them. (The boundary
  /// condition of quarks is part of the action.)
  std::array<std::complex<double>, 4> boundary_phase{1.0, 1.0, 1.0, 1.0};
  bool staggered_phases = false;  ///< signs (-1)^t, (-1)^(t+x), (-1)^(t+x+y), 1, as MILC has them, are taken out too
  api::memory memory = api::memory::host;  ///< where the array lies

  /// Returns the layout of [site][mu][i][j], 72 reals a site.
  static link_layout dense(const coordinate& local, site_order order = site_order::x_fastest);
};

struct heatbath_options;  ///< see below
/// Kinds of smearing of links.
enum class smearing_kind {
  stout,  ///< Morningstar, Peardon, hep-lat/0311018
  ape,    ///< Albanese et al., Phys. Lett. B 192 (1987) 163
  hyp     ///< Hasenfratz, Knechtli, hep-lat/0103029
};
/// How links are smeared.
struct link_smearing {
  smearing_kind kind = smearing_kind::stout;  ///< the average over staples
  int steps = 1;                              ///< smearings, one after the other
  double weight = 0.1;   ///< rho of stout; alpha of APE, of (1 - alpha) U + alpha / n sum of n staples
  bool spatial = false;  ///< stout and APE: only spatial links are smeared, and with spatial staples
  std::array<double, 3> alpha{0.75, 0.6, 0.3};  ///< of HYP
};
struct flow_result;
struct fixed_gauge;
/// Conditions on a gauge.
enum class gauge_condition { landau, coulomb };

/// Links in SU(3), double precision.
class gauge_field {
 public:
  /// Copies links. Throws error(unusable_input), on all ranks, if the array is not where the layout says, or too
  /// short, and if two numbers have one place. Does so for a link that is not finite or not in SU(3). An address of
  /// a GPU in place of one of the host is known once this library uses a GPU. Links that are up to 1e-10 off SU(3) are
  /// taken back to it: see remark().
  gauge_field(const lattice& on, std::span<const double> numbers, const link_layout& layout);
  /// Does the same with numbers of single precision.
  gauge_field(const lattice& on, std::span<const float> numbers, const link_layout& layout);
  /// Reads a file: NERSC, ILDG, SciDAC, MILC, openQCD.
  static gauge_field read(const lattice& on, const std::string& file);
  /// Returns the extents of the lattice of a file.
  static coordinate extents_in(const std::string& file);
  /// Writes an ILDG file. An existing one is kept, and error(output_failed) thrown, unless `replace`.
  void write(const std::string& file, bool replace = false) const;

  /// Copies the links of this rank's box to an array, with the phases of the layout folded in. Throws
  /// error(unusable_input), on all ranks, if the layout leaves the array or puts two numbers into one place.
  void copy_to(std::span<double> numbers, const link_layout& layout) const;
  /// Does the same, rounded to single precision.
  void copy_to(std::span<float> numbers, const link_layout& layout) const;

  const lattice& on() const { return lattice_; }  ///< returns their lattice
  /// Returns the sentence on links of double precision that were 1e-13 to 1e-10 off SU(3), as updates leave them, and
  /// were taken back; empty if there were none.
  const std::string& remark() const;
  /// Returns the average of Re tr P / 3.
  double plaquette() const;

  // Other links. Links that are on a GPU (heatbath_options::device) are smeared, flowed and fixed there, and the new
  // links stay there. The host copies them when it first needs them.

  /// Returns smeared links.
  gauge_field smeared(const link_smearing& how) const;
  /// Returns the gradient flow up to `time`, by Runge-Kutta steps of third order; the last one may be shorter.
  /// (Luescher, arXiv:1006.4518)
  flow_result flow(double time, double step = 0.02) const;
  /// Returns links in Landau or Coulomb gauge, to theta <= tolerance. (Giusti et al., hep-lat/0104012)
  fixed_gauge fixed(gauge_condition condition, double tolerance = 1e-12, int sweep_limit = 10000) const;

  // Moves. All copies of an object move with it, and a solver of the links answers error(unusable_input) until it
  // follows them: solver::follow, dirac_operator::follow. Links that were smeared, flowed or fixed are others and stay.
  // A call must not use links that another thread moves at that time.

  /// Takes other links from an array, as the constructor does. If this throws, the links stay as they were.
  void assign(std::span<const double> numbers, const link_layout& layout);
  /// Does the same with numbers of single precision.
  void assign(std::span<const float> numbers, const link_layout& layout);
  /// Makes sweeps of heat bath and over-relaxation, the same bits on any grid. If this throws, the links are those
  /// before. (Cabibbo, Marinari, Phys. Lett. 119B (1982) 387)
  void heatbath(const heatbath_options& options);
  std::int64_t moves() const;  ///< how often the links moved

  /// Copies the links to a device, where they stay until they move or another call takes them away: no move. On a GPU
  /// they are read there, as after heatbath_options::device. device::cpu takes them back and leaves the GPU. Throws
  /// error(not_available) if there is no GPU, and error(unusable_input) for a GPU on a lattice with reproducible sums.
  void to_device(api::device where);

  struct state;
  gauge_field(lattice on, std::shared_ptr<state> s)
      : lattice_(std::move(on)), state_(std::move(s)) {}        ///< for the library
  const std::shared_ptr<state>& get() const { return state_; }  ///< for the library

 private:
  lattice lattice_;
  std::shared_ptr<state> state_;
};

/// Of gauge_field::heatbath. A combined sweep is some heat baths, then some over-relaxations.
struct heatbath_options {
  double beta = 6.0;        ///< 6 / g^2
  double anisotropy = 1.0;  ///< of the gauge action, bare
  int heatbaths = 1;        ///< of a combined sweep
  int overrelaxations = 4;  ///< of a combined sweep
  int sweeps = 1;           ///< combined ones
  std::uint64_t seed = 1;   ///< of the random numbers
  std::uint64_t first = 0;  ///< number of the first combined sweep: continue with first + sweeps
  /// The device that makes sweeps. On a GPU the links are copied there at the first call and stay. Later sweeps,
  /// `plaquette`, smearing, flow, gauge fixing, and solvers of that GPU that follow them read them there. The host
  /// copies them when it first needs them. On a lattice with reproducible sums they come back to the host.
  api::device device = api::device::cpu;
};

/// The flow at one time, in lattice units, by the clover field strength.
struct flow_point {
  double time = 0.0;            ///< of the flow
  double energy_density = 0.0;  ///< E
  double charge = 0.0;          ///< topological
};
/// The gradient flow of links.
struct flow_result {
  std::vector<flow_point> history{};  ///< at time 0 and after each step
  std::optional<double> t0{};         ///< the time at which t^2 E passes 0.3, if it does
  gauge_field links;                  ///< of the last time
};
/// Returns the points of a flow's history. Throws error(unusable_input) for times that make no sense.
std::size_t flow_points(double time, double step);
/// Links in a gauge, and how well they are.
struct fixed_gauge {
  gauge_field links;                      ///< g(x) U_mu(x) g(x+mu)^+
  double functional = 0.0;                ///< average of Re tr U / 3 over the directions of the condition
  double theta = 0.0;                     ///< average of tr Delta^2 / 3, Delta the lattice divergence of A
  int sweeps = 0;                         ///< that were made
  bool converged = false;                 ///< theta meets its tolerance
  std::vector<std::complex<double>> g{};  ///< of this rank's box: [site][i][j], x fastest, 9 numbers a site
};

/// Memory of the GPU that this rank takes, for callers without an allocator of their own. Collective.
class device_memory {
 public:
  /// Throws error(not_available) if there is no GPU.
  device_memory(const lattice& on, std::size_t bytes);
  void* address() const;     ///< on the GPU
  std::size_t size() const;  ///< in bytes
  int device() const;        ///< number of the GPU, as CUDA counts them in this process
  /// Copies the first bytes. Throws error(unusable_input) if there are more than size().
  void write(std::span<const std::byte> from) const;
  /// Copies them back, alike.
  void read(std::span<std::byte> to) const;

 private:
  int device_ = 0;
  std::shared_ptr<void> memory_;
  std::size_t size_ = 0;
};

// ---- Quarks

/// M = (1 + 3 nu/xi0 + m + C) - 1/2 sum of the hops, C the clover term; isotropic by default, where the diagonal is
/// 4 + m. A spinor that crosses the boundary forwards takes the phase.
struct action {
  double mass = 0.0;                                                        ///< m
  double csw = 0.0;                                                         ///< of the clover term
  std::optional<double> csw_temporal{};                                     ///< of planes with time; without, csw
  double anisotropy = 1.0;                                                  ///< xi0
  double nu = 1.0;                                                          ///< of the hops in space
  std::array<std::complex<double>, 4> boundary_phase{1.0, 1.0, 1.0, -1.0};  ///< of hops that leave the lattice forwards

  /// Returns m for kappa = 1 / (2 (1 + 3 nu / anisotropy + m)), isotropic kappa = 1 / (2 (4 + m)).
  static double mass_of_kappa(double kappa, double anisotropy = 1.0, double nu = 1.0) {
    return 0.5 / kappa - (1.0 + 3.0 * nu / anisotropy);
  }
};

/// Bases of gamma matrices, named after programs that have them; docs/calling.md says more.
enum class gamma_basis { degrand_rossi, nonrelativistic, dirac_pauli, openqcd, tmlqcd };

/// The layout of spinors in an array of doubles: the real part of spin s, colour c of column n at
///
///     first + sum_nu x_nu site[nu] + s spin + c colour + n column
struct spinor_layout {
  std::int64_t first = 0;                          ///< place of the first number
  std::array<std::int64_t, 4> site{};              ///< strides of x, y, z, t
  std::int64_t spin = 6;                           ///< stride of spins
  std::int64_t colour = 2;                         ///< stride of colours
  std::int64_t imaginary = 1;                      ///< from a real part to its imaginary one
  std::int64_t column = 0;                         ///< from one right-hand side to the next
  std::span<const std::int64_t> places{};          ///< as for links
  gamma_basis basis = gamma_basis::degrand_rossi;  ///< of the spins
  api::memory memory = api::memory::host;          ///< where the array lies

  /// Returns the layout of [column][site][spin][colour], 24 reals a site.
  static spinor_layout dense(const coordinate& local, site_order order = site_order::x_fastest);
};

/// Kinds of sources.
enum class source_kind {
  point,     ///< 1 at one site
  wall,      ///< 1 at every site of a time slice
  gaussian,  ///< a point, smeared gauge-covariantly in its time slice
  z2,        ///< random signs at every site of a time slice, the same for all spins and colours
  z4,        ///< random numbers 1, i, -1, -i, alike
};
/// A right-hand side for each spin and colour, times exp(i p x), p = 2 pi momentum / L.
struct source {
  source_kind kind = source_kind::point;  ///< its shape
  coordinate position{0, 0, 0, 0};        ///< of a wall and of noise only the time counts
  double radius = 2.0;                    ///< of the Gaussian
  int steps = 5;                          ///< of its smearing
  std::array<int, 3> momentum{0, 0, 0};   ///< of x, y, z
  std::uint64_t seed = 1;                 ///< of the noise
  /// Links for the hops of a Gaussian's smearing, for instance smeared ones; without them, the solver's links.
  std::optional<gauge_field> smearing_links{};
};

// ---- Results

/// Whether a result may be used. Nothing passes that was not judged.
struct verdict {
  bool passed = false;     ///< the result may be used
  bool judged = false;     ///< by the independent operator
  double worst = 0.0;      ///< the largest residual by the independent operator
  double tolerance = 0.0;  ///< what that residual has to meet: the requested one, and a bound on rounding
  std::string text{};      ///< a sentence for a person
};

/// One right-hand side. Residuals are |b - M x| / |b|: iterated by the solver; recomputed by the operators that solved;
/// and recomputed in double by the reference operator of the CPU, which had no part in the solve.
struct column_result {
  double iterated = 0.0;   ///< by the solver
  double device = 0.0;     ///< by the operators that solved
  double reference = 0.0;  ///< by the reference operator
  double tolerance = 0.0;  ///< that `reference` has to meet
  int iterations = 0;      ///< of the solver
  bool passed = false;     ///< `reference` meets its tolerance
  std::string status{};    ///< "converged", "iteration limit", "stagnation", "interrupted", ...
};

/// How a solve ended.
struct solve_report {
  std::vector<column_result> columns{};  ///< one a right-hand side
  double seconds = 0.0;                  ///< of the solve
  double judging_seconds = 0.0;          ///< of the reference residuals
  api::verdict verdict() const;          ///< of all columns
  /// success, interrupted if the caller stopped the solver, no_convergence if it stopped early by itself,
  /// not_verified if it claimed more than it had reached.
  code outcome() const;
};

/// Mesons psibar Gamma psi, Gamma = gamma_x^a gamma_y^b gamma_z^c gamma_t^d with number a + 2 b + 4 c + 8 d.
enum class meson : int { scalar = 0, gamma_x = 1, gamma_y = 2, gamma_z = 4, gamma_t = 8, pseudoscalar = 15 };

/// Styles of files of propagators.
enum class propagator_style {
  scidac,  ///< one field as Chroma writes it, DeGrand-Rossi basis
  etmc     ///< twelve fields as tmLQCD writes them, in its basis
};

class vectors;  ///< see below

/// The twelve columns of M^-1 from one source; they do not change any more.
class propagator {
 public:
  const solve_report& report() const;                          ///< the report of the solve that made it
  api::verdict verdict() const { return report().verdict(); }  ///< of all twelve columns
  const api::source& from() const;                             ///< the source of the solve
  const lattice& on() const;                                   ///< the lattice of the links
  /// Correlators, a number a time of the whole lattice, summed over space, spins and colours.
  std::vector<double> pion() const;
  std::vector<double> rho() const;  ///< averaged over three polarisations, positive
  /// Returns sum_x e^(-i p x) tr [Gamma S(x) Gamma gamma_5 S(x)^+ gamma_5]: Gamma at source and sink. It runs along
  /// `direction`; the momentum has components in the three others, in ascending order.
  std::vector<std::complex<double>> correlator(meson number, const std::array<int, 3>& momentum = {0, 0, 0},
                                               int direction = 3) const;
  /// Returns sum_x e^(-i p x) tr [P N(x) Nbar(0)], P = (1 + parity gamma_t) / 2, of the proton N = epsilon_abc (u_a^T C
  /// gamma_5 d_b) u_c with quarks of one mass.
  std::vector<std::complex<double>> nucleon(int parity = 1, const std::array<int, 3>& momentum = {0, 0, 0}) const;
  /// Returns a correlator of this propagator by the time after its source: number t belongs to time t + t_source,
  /// around the lattice. Along another direction it does so from the site of a point or Gaussian source. Throws
  /// error(unusable_input) if the source is not known: of a file, or of vectors that were not solved for one. A nucleon
  /// that has crossed the antiperiodic boundary (at the last t_source times) has the opposite sign, of three quarks.
  std::vector<double> from_source(std::vector<double> correlator, int direction = 3) const;
  /// Does the same.
  std::vector<std::complex<double>> from_source(std::vector<std::complex<double>> correlator, int direction = 3) const;
  /// Returns the propagator with a sink smeared as Gaussian sources are, with hops of these links.
  propagator smeared_sink(const gauge_field& links, double radius, int steps) const;
  /// Copies all columns, column 3 spin + colour of the source.
  void copy_to(std::span<double> numbers, const spinor_layout& layout) const;
  /// Writes a LIME file with SciDAC's checksums, in double precision.
  void write(const std::string& file, propagator_style style = propagator_style::scidac, bool replace = false) const;
  /// Reads a LIME file of either style. Normalisation and boundary phases are not converted. Its verdict is "not
  /// judged".
  static propagator read(const lattice& on, const std::string& file);

  /// Returns the propagator of twelve vectors on all sites, column 3 spin + colour, as they are now. It has the report
  /// of solver::solve_vectors for M x = b that made them, if they have not changed since; else it was not judged.
  static propagator of(const vectors& x);

  struct state;
  explicit propagator(std::shared_ptr<const state> s) : state_(std::move(s)) {}  ///< for the library
  const std::shared_ptr<const state>& get() const { return state_; }             ///< for the library

 private:
  std::shared_ptr<const state> state_;
};

// ---- Solvers

/// Precisions of numbers.
enum class precision { double_, single, half };

/// Returns whether this library and this machine have a GPU to use.
bool has_gpu();

/// When a solve stops, and whether it is judged.
struct rule {
  double tolerance = 1e-10;     ///< of |b - M x| / |b|
  int iteration_limit = 10000;  ///< of a column
  bool judge = true;            ///< by the reference operator; without, nothing passes
};

/// Options of make_krylov_solver.
struct krylov_options {
  api::device device = api::device::cpu;  ///< that solves
  precision outer = precision::double_;   ///< of the solution
  precision inner = precision::single;    ///< of the iterations: mixed precision with reliable updates
  int columns = 12;                       ///< right-hand sides that are solved at once
};
/// Of make_multigrid_solver.
struct multigrid_options {
  api::device device = api::device::cpu;  ///< that solves
  int levels = 3;                         ///< at most
  int null_vectors = 0;                   ///< of each chirality; 0: chosen for the lattice
  std::optional<bool> tune{};             ///< tries shapes of the cycle; by default on a GPU, where it takes a second
  std::optional<bool> half_cycle{};       ///< cycles in half precision on the finest lattice; by default on a GPU
  int columns = 12;                       ///< right-hand sides that are solved at once
  std::uint64_t seed = 1;                 ///< of the null vectors
};

// ---- Vectors: batches of spinors on the device of a solver, that change there. No array of the host is needed from
// links to a correlator:
//
//     plq::vectors b(lattice, {.device = plq::device::gpu});
//     b.fill(plq::source{});
//     const auto [x, report] = solver.solve_vectors(b);
//     const plq::propagator quark = plq::propagator::of(x);

/// Sites that vectors have. The parity of a site is the parity of the sum of its coordinates.
enum class site_set { all, even, odd };

/// Of vectors.
struct vectors_options {
  api::device device = api::device::cpu;               ///< that holds them
  int columns = 12;                                    ///< vectors of a batch
  site_set sites = site_set::all;                      ///< that they have
  api::precision precision = api::precision::double_;  ///< that they are kept in
};

/// Vectors on the device of a lattice. Solvers and operators on the same lattice and device take them. Vectors
/// and operators of another lattice, device or shape are refused with error(unusable_input). Numbers are kept in a spin
/// basis of the device: the numbers of an array come back to rounding. Copies of an object are the same vectors:
/// copied() makes others. Members are collective but for on() and options(). A call must not use vectors that another
/// thread changes at that time.
class vectors {
 public:
  /// Makes vectors that are zero.
  explicit vectors(const lattice& on, const vectors_options& options = {});
  const lattice& on() const;               ///< their lattice
  const vectors_options& options() const;  ///< device and shape
  vectors copied() const;                  ///< returns others with the same numbers

  /// Makes them zero.
  void zero();
  /// Makes column n component (first + n) mod 12 of a source, component 3 spin + colour. A Gaussian needs its
  /// smearing_links.
  void fill(const source& from, int first = 0);
  /// Makes all reals normal deviates of variance 1, the same on any device and any grid, up to rounding. Column n is
  /// field first + n of this seed.
  void fill_random(std::uint64_t seed, std::uint64_t first = 0);
  /// Takes all columns from an array of all sites of this rank's box; it ignores sites that they lack.
  void read(std::span<const double> numbers, const spinor_layout& layout);
  /// Copies all columns to such an array; sites that they lack become zero.
  void write(std::span<double> numbers, const spinor_layout& layout) const;
  /// Takes all columns of others on the same sites, rounded if precisions differ.
  void copy(const vectors& u);
  /// Takes columns from, from + 1, ... of others, of one precision, as columns to, to + 1, ...
  void copy_columns(int to, const vectors& u, int from, int count);

  /// Multiplies columns by numbers: one for all, or one a column.
  void scale(std::span<const std::complex<double>> a);
  void scale(std::complex<double> a) { scale({&a, 1}); }  ///< does so by one number
  /// Adds a u, a as above.
  void add(std::span<const std::complex<double>> a, const vectors& u);
  void add(std::complex<double> a, const vectors& u) { add({&a, 1}, u); }  ///< does so with one number
  /// Multiplies by gamma_5.
  void rotate_by_gamma_5();
  std::vector<std::complex<double>> dot(const vectors& u) const;  ///< <this, u> of each column, this one conjugated
  std::vector<double> norm2() const;                              ///< squares of the columns' norms

  struct state;
  explicit vectors(std::shared_ptr<state> s) : state_(std::move(s)) {}  ///< for the library
  state& get() const { return *state_; }                                ///< for the library

 private:
  std::shared_ptr<state> state_;
};

/// Solutions on the device, and how their solve ended.
struct solved_vectors {
  vectors x;            ///< solutions
  solve_report report;  ///< a result a column
};

/// The system of a solve. On all sites M x = b, or M^+ x = b. On even sites, by Krylov solvers of outer precision
/// double or single, with Mhat = A_ee - 1/4 D_eo A_oo^-1 D_oe: (Mhat + i mu gamma_5) x = b, or its adjoint, or (Mhat^+
/// Mhat + mu^2) x = b.
struct vector_system {
  bool dagger = false;       ///< of the adjoint
  bool squared = false;      ///< of the square
  std::vector<double> mu{};  ///< one for all columns, or one a column; empty: 0
};

/// An operator on vectors: G (A + shift + i mu gamma_5), or G (A^+ + shift - i mu gamma_5) with `dagger`. A is
/// M on all sites and Mhat on even ones, G is gamma_5 or 1.
struct operator_form {
  bool dagger = false;       ///< of the adjoint
  bool gamma_5 = false;      ///< G is gamma_5
  double shift = 0.0;        ///< adds to the mass of M on all sites
  std::vector<double> mu{};  ///< one for all columns, or one a column; empty: 0
};

/// Solves M x = b.
class solver {
 public:
  /// Solves for a propagator.
  propagator solve(const source& from, const api::rule& rule = {});
  /// Solves for a sequential propagator: b(x) = e^(i p x) Gamma S(x) on time slice `time`, S another propagator, else
  /// 0. (Martinelli, Sachrajda, Nucl. Phys. B 316 (1989) 355)
  propagator sequential(const propagator& through, meson gamma, int time,
                        const std::array<int, 3>& momentum = {0, 0, 0}, const api::rule& rule = {});
  /// Returns a propagator, as one that was read, with the verdict of this solver's reference operator: M S = b for the
  /// columns b of a source, |b - M S| <= rule.tolerance |b|. Nothing is solved.
  propagator judged(const propagator& quark, const source& from, const api::rule& rule = {});
  /// Solves for right-hand sides in the caller's memory; x becomes the best solution there is. Throws
  /// error(unusable_input) if an array is too small or holds a number that is not finite.
  solve_report solve(std::span<double> x, std::span<const double> b, int columns, const spinor_layout& layout,
                     const api::rule& rule = {});
  /// Solves for all columns of vectors in the precision of the solutions. A solve of M x = b or M^+ x = b is judged;
  /// nothing passes on even sites.
  solved_vectors solve_vectors(const vectors& b, const api::rule& rule = {}, const vector_system& system = {});
  /// Does the same; x, of the shape of b, becomes the solutions. Its numbers are undefined if this throws.
  solve_report solve_vectors(vectors& x, const vectors& b, const api::rule& rule = {},
                             const vector_system& system = {});
  /// Takes these links as they are now, in place of those before and in their memory. They are on a lattice of the same
  /// extents and grid. Multigrid keeps its null vectors: see renew(). Throws error(unusable_input) for links with a
  /// singular clover matrix: then each solve does so until a follow succeeds.
  void follow(const gauge_field& links);
  /// Recomputes null vectors, by inverse iterations, and coarse operators of multigrid. Call it after links have moved
  /// far. Throws error(unusable_input) for Krylov solvers, and for less than one iteration.
  void renew(int iterations);
  const gauge_field& links() const;  ///< that M is made of
  double setup_seconds() const;      ///< of making it

  struct state;
  explicit solver(std::shared_ptr<state> s) : state_(std::move(s)) {}  ///< for the library

 private:
  std::shared_ptr<state> state_;
};

/// Returns BiCGstab in mixed precision; if that stalls, other Krylov solvers take over.
solver make_krylov_solver(const gauge_field& links, const action& quarks, const krylov_options& options = {});
/// Does the same: the former name.
[[deprecated("the name is make_krylov_solver")]] inline solver make_propagator_solver(
    const gauge_field& links, const action& quarks, const krylov_options& options = {}) {
  return make_krylov_solver(links, quarks, options);
}
/// Returns a solver by adaptive multigrid, set up. It pays if masses are small or sources many.
solver make_multigrid_solver(const gauge_field& links, const action& quarks, const multigrid_options& options = {});

/// M itself, in double precision.
class dirac_operator {
 public:
  /// Makes M on a device.
  dirac_operator(const gauge_field& links, const action& quarks, device where = device::cpu);
  /// Computes out = M in, or M^+ in.
  void apply(std::span<double> out, std::span<const double> in, const spinor_layout& layout, bool dagger = false) const;
  /// Computes y = G (M + shift + i mu gamma_5) x, or the like, in the precision of the vectors. They are different ones
  /// of one shape, on all or on even sites.
  void apply_vectors(vectors& y, const vectors& x, const operator_form& form = {}) const;
  void follow(const gauge_field& links);  ///< takes these links as they are now, as a solver does
  const lattice& on() const;              ///< the lattice of the links

  struct state;

 private:
  std::shared_ptr<state> state_;
};

// ---- Overlap fermions: D = 1 + gamma_5 sign(H)

/// Of make_overlap_solver.
struct overlap_options {
  api::device device = api::device::cpu;                                    ///< that solves
  double rho = 1.4;                                                         ///< between 0 and 2
  int kernel_modes = 8;                                                     ///< of H, exact in the sign function
  int modes = 4;                                                            ///< of D, taken out of the solves
  double mode_tolerance = 1e-6;                                             ///< of the modes of D
  std::array<std::complex<double>, 4> boundary_phase{1.0, 1.0, 1.0, -1.0};  ///< of hops that leave the lattice forwards
  std::uint64_t seed = 1;                                                   ///< of the searches
};

/// Modes of H, or of D^+ D in one chirality: gamma_5 = +1 or -1.
enum class mode_kind { kernel, plus, minus };

/// Modes, and how good they are.
struct mode_list {
  std::vector<double> values{};     ///< lambda of H, |lambda| ascending; or e of D^+ D, ascending
  std::vector<double> residuals{};  ///< |H v - lambda v|, or |D^+ D v - e v|, computed here
  api::verdict verdict{};           ///< whether all residuals meet the tolerance of modes
};

/// Modes in memory of the caller: orthonormal vectors, a column each. Modes of D^+ D have 0 in the other chirality.
struct given_modes {
  std::span<const double> values{};   ///< on the host
  std::span<const double> vectors{};  ///< where the layout says
  spinor_layout layout{};             ///< of the vectors
};
/// Modes that are not computed. None of H, or none of D^+ D: they are. Modes of D^+ D are of both chiralities.
struct overlap_modes_given {
  given_modes kernel{};  ///< of H
  given_modes plus{};    ///< of D^+ D, gamma_5 = +1
  given_modes minus{};   ///< of D^+ D, gamma_5 = -1
};

/// Solves D(m) x = b, with modes of H and of D.
class overlap_solver {
 public:
  /// Returns a propagator S = (1 - D/2) D(m)^-1 for each mass, at sources of kind point, wall without momentum, or
  /// gaussian. Masses ascend and are positive. If the links have moved, call follow first. Residuals belong to
  /// D(m) x = b; the
  /// reference residual is by a sign function of higher accuracy.
  std::vector<propagator> solve(const source& from, std::span<const double> masses, const api::rule& rule = {});
  /// Takes these links as they are now, in place of those before. They are on a lattice of the same extents and grid. H
  /// takes them in its memory. All modes, and the interval of the sign function, are found again, with the same proofs
  /// and for as many modes as there were. Throws as make_overlap_solver does; if H had followed by then, each use
  /// throws error(unusable_input) until a follow succeeds. Collective.
  void follow(const gauge_field& links);
  const lattice& on() const;                              ///< the lattice of the links
  int index() const;                                      ///< zero modes of gamma_5 = +1 minus zero modes of -1
  std::vector<std::complex<double>> eigenvalues() const;  ///< of D, all found ones
  int mode_count(mode_kind of) const;                     ///< the same on all ranks; no communication
  /// Returns eigenvalues, and residuals that are computed here. Collective.
  mode_list modes(mode_kind of) const;
  /// Copies the vectors of modes(of), a column each. Throws error(unusable_input), on all ranks, if the layout
  /// leaves the array or two numbers share a place. Collective.
  void copy_modes(mode_kind of, std::span<double> vectors, const spinor_layout& layout) const;
  double setup_seconds() const;  ///< of making it, or of the last follow

  struct state;
  explicit overlap_solver(std::shared_ptr<state> s) : state_(std::move(s)) {}  ///< for the library

 private:
  std::shared_ptr<state> state_;
};

/// Returns a solver with its modes. Throws error(no_convergence) if they were not found.
overlap_solver make_overlap_solver(const gauge_field& links, const overlap_options& options = {});
/// Returns a solver with modes that another one, or another program, has found. Throws error(unusable_input) if they
/// are not orthonormal, if a residual is too large, and if a lower mode is missing or may be: modes of D that are
/// all zero modes. Throws error(no_convergence) if the search for one ended too early. The numbers of these modes
/// replace the options'. The tolerances are mode_tolerance for modes of D, the tolerance that it implies in the other
/// chirality, and 1e-8 for |H v - lambda v|. Counts and eigenvalues are the same on all ranks. Collective.
overlap_solver make_overlap_solver(const gauge_field& links, const overlap_options& options,
                                   const overlap_modes_given& given);

}  // namespace v1
}  // namespace plaquette::api
