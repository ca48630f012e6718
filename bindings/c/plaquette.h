/* SPDX-License-Identifier: BSD-3-Clause */
/** \file
   Plaquette for callers in C: from links in memory to verified quark propagators. docs/calling.md shows how.

   Every function returns a code; 0 is success. plaquette_error_text explains a code, plaquette_last_message the
   last call of this thread that failed. No exception leaves the library, and it does not end the program.

   Handles are keys, not addresses: zero, freed and foreign ones are refused with PLAQUETTE_INVALID_HANDLE. An object lives
   as long as others are made of it, whatever has been freed. Calls on a lattice of several ranks are collective: options,
   lengths, and which pointers are null, are the same on all of them.

   Threads: any number may call at once. Calls on one solver take turns. With several ranks, start MPI with
   MPI_THREAD_MULTIPLE and give each thread a lattice of its own.

   Processes: a child that fork() makes after calls that use threads, MPI or a GPU is refused with
   PLAQUETTE_NOT_AVAILABLE; fork before them, or start a new process.

   A structure of options begins with its size. Fill it by its _DEFAULTS and change members as needed; a null pointer means the
   defaults. Directions are numbered x, y, z, t = 0, 1, 2, 3. */
#ifndef PLAQUETTE_H
#define PLAQUETTE_H

#include <stddef.h>
#include <stdint.h>

#include "plaquette/version.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
/** Marks a public function of the library. */
#define PLAQUETTE_PUBLIC __attribute__((visibility("default")))
#else
/** Marks a public function of the library. */
#define PLAQUETTE_PUBLIC
#endif

/* ---- Codes. Below 70 they are the exit statuses of the programs. */
enum {
  PLAQUETTE_SUCCESS = 0,
  PLAQUETTE_NOT_VERIFIED = 1,   /**< numbers are there, but did not pass their check, or were not judged */
  PLAQUETTE_UNUSABLE_INPUT = 2, /**< an argument, an array or a file cannot be used */
  PLAQUETTE_NO_CONVERGENCE = 3, /**< a solver stopped above its tolerance; the best solution is there */
  PLAQUETTE_OUT_OF_MEMORY = 4,
  PLAQUETTE_OUTPUT_FAILED = 5,
  PLAQUETTE_INTERRUPTED = 6,   /**< the stop function or progress function of this thread ended the call */
  PLAQUETTE_NOT_AVAILABLE = 7, /**< built without, or not on this machine */
  PLAQUETTE_INVALID_HANDLE = 8,
  PLAQUETTE_INTERNAL_ERROR = 70
};
/** Returns a sentence for a code; never null. */
PLAQUETTE_PUBLIC const char* plaquette_error_text(int code);
/** Returns the message of the last call of this thread that failed; valid until its next call. Never null. */
PLAQUETTE_PUBLIC const char* plaquette_last_message(void);
/** Returns the version of the library that runs. */
PLAQUETTE_PUBLIC const char* plaquette_version(void);
/** Returns the PLAQUETTE_ABI of that library: compare it with this header's. */
PLAQUETTE_PUBLIC int plaquette_abi(void);

/** Sets the stop function of this thread; null: none. Its calls ask goes_on(data) at convergence checks and between the
   steps of other long work, fifty times a second at most, and return PLAQUETTE_INTERRUPTED soon after it returned 0. A
   solve that returns this has put the best solutions so far, and results of them, where it puts others. Waves keep the
   state of the last step. Other calls have no results, and objects stay as they were. On a lattice of several ranks all
   have a stop function, or none; one that stops stops all. */
PLAQUETTE_PUBLIC int plaquette_stop_function(int (*goes_on)(void* data), void* data);

/** How far a call has come. */
typedef struct {
  size_t size;      /**< sizeof of this structure in the library, which may be larger than the caller's */
  const char* what; /**< the part of the call: "solve", "modes of H", "modes of D", "steps of waves", "work", ... */
  int64_t step;     /**< iterations of the solve, cycles of the search or steps so far; 0 also if not counted */
  int64_t limit;    /**< of steps; 0: not known */
  double residual;  /**< largest of all columns or modes, relative; NaN: not known */
  double tolerance; /**< that residuals shall meet; 0: there are none */
  double seconds;   /**< since the call began */
} plaquette_progress;
/** Sets the progress function of this thread; null: none. Its calls tell stops(progress, data) how far they are. They
   do so at each convergence check of a solve, cycle of a search and step of a flow or of waves. In other long work they
   do so about ten times a second. They end as with a stop function if it returns another number than 0. On a lattice of several
   ranks all have a progress function, or none; each calls its own, and soon all end once one has ended. The structure
   at `progress` is there until the function returns. It must not use the object whose call it is told of. */
PLAQUETTE_PUBLIC int plaquette_progress_function(int (*stops)(const plaquette_progress* progress, void* data),
                                                 void* data);

enum { PLAQUETTE_CPU = 0, PLAQUETTE_GPU = 1 };
/** Returns 1 if this library and this machine have a GPU to use, else 0. */
PLAQUETTE_PUBLIC int plaquette_has_gpu(void);

/* ---- Handles; {0} is none. */
/** A lattice, and the box of it on this rank. */
typedef struct { uint64_t key; /**< 0: none */ } plaquette_lattice;
/** Links. */
typedef struct { uint64_t key; /**< 0: none */ } plaquette_gauge;
/** A solver of M x = b. */
typedef struct { uint64_t key; /**< 0: none */ } plaquette_solver;
/** M. */
typedef struct { uint64_t key; /**< 0: none */ } plaquette_operator;
/** A solver of D(m) x = b. */
typedef struct { uint64_t key; /**< 0: none */ } plaquette_overlap;
/** Twelve columns of M^-1. */
typedef struct { uint64_t key; /**< 0: none */ } plaquette_propagator;
/** Memory of a GPU. */
typedef struct { uint64_t key; /**< 0: none */ } plaquette_device_memory;
/** Vectors on the device of a lattice. */
typedef struct { uint64_t key; /**< 0: none */ } plaquette_vectors;
/** A solver of waves. */
typedef struct { uint64_t key; /**< 0: none */ } plaquette_waves;
/** Frees an object and makes the handle zero. A zero handle is no error, a copy of a freed one is. */
/** @{ */
PLAQUETTE_PUBLIC int plaquette_lattice_free(plaquette_lattice* handle);
PLAQUETTE_PUBLIC int plaquette_gauge_free(plaquette_gauge* handle);
PLAQUETTE_PUBLIC int plaquette_solver_free(plaquette_solver* handle);
PLAQUETTE_PUBLIC int plaquette_operator_free(plaquette_operator* handle);
PLAQUETTE_PUBLIC int plaquette_overlap_free(plaquette_overlap* handle);
PLAQUETTE_PUBLIC int plaquette_propagator_free(plaquette_propagator* handle);
PLAQUETTE_PUBLIC int plaquette_device_memory_free(plaquette_device_memory* handle);
PLAQUETTE_PUBLIC int plaquette_vectors_free(plaquette_vectors* handle);
PLAQUETTE_PUBLIC int plaquette_waves_free(plaquette_waves* handle);
/** @} */

/* ---- Lattices */
/** How a lattice is divided. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int grid[4];      /**< ranks in each direction; zeros: the grid of smallest surface */
  int has_mpi;      /**< 1: the communicator's ranks; 0: this process alone */
  int communicator; /**< MPI_Comm_c2f of the caller's, which stays the caller's */
  int threads;      /**< of the CPU; 0: as many as OpenMP has */
} plaquette_lattice_options;
/** The defaults of plaquette_lattice_options. */
#define PLAQUETTE_LATTICE_DEFAULTS {sizeof(plaquette_lattice_options), {0, 0, 0, 0}, 0, 0, 0}

/** Makes a lattice. options: or null. */
PLAQUETTE_PUBLIC int plaquette_lattice_create(plaquette_lattice* lattice, const int extents[4],
                                              const plaquette_lattice_options* options);
/** Does the same, for sums that have the same bits on any grid and any number of ranks and threads of one kind of processor:
   Krylov solvers on the CPU, residuals and correlators. Other solvers are refused on it. Solves take longer. */
PLAQUETTE_PUBLIC int plaquette_lattice_create_reproducible(plaquette_lattice* lattice, const int extents[4],
                                                           const plaquette_lattice_options* options);
/** Returns extents and origin of the box that this rank holds. */
PLAQUETTE_PUBLIC int plaquette_lattice_box(plaquette_lattice lattice, int local[4], int origin[4]);

/* ---- Memory of a GPU. Arrays of links and spinors may lie there: their layout says so by PLAQUETTE_ON_DEVICE. Calls
   wait for the work that is queued on that GPU before they read them. Any pointer of cudaMalloc or cudaMallocManaged
   will do; these functions are for callers without CUDA. The memory is of the GPU that this rank takes; device:
   its number, or null. Creating is collective, and returns PLAQUETTE_NOT_AVAILABLE without a GPU, PLAQUETTE_OUT_OF_MEMORY if it is full. */
enum { PLAQUETTE_ON_DEVICE = 16 };
/** Makes memory of `bytes` on a GPU, at *address. */
PLAQUETTE_PUBLIC int plaquette_device_memory_create(plaquette_device_memory* memory, plaquette_lattice lattice,
                                                    size_t bytes, void** address, int* device);
/** Copies the first bytes from memory of the host; PLAQUETTE_UNUSABLE_INPUT for more than there are. Each rank for
   itself. */
PLAQUETTE_PUBLIC int plaquette_device_memory_write(plaquette_device_memory memory, const void* from, size_t bytes);
/** Copies them to memory of the host, alike. */
PLAQUETTE_PUBLIC int plaquette_device_memory_read(plaquette_device_memory memory, void* to, size_t bytes);

/* ---- Links */
enum { PLAQUETTE_X_FASTEST = 0, PLAQUETTE_T_FASTEST = 1 };
enum { PLAQUETTE_DOUBLE = 0, PLAQUETTE_SINGLE = 1, PLAQUETTE_HALF = 2 };

/** The real part of element (i, j) of U_mu(x), x the coordinate in this rank's box, stands at
       first + sum_nu x_nu site[nu] + direction[mu] + i row + j column
   and the imaginary part `imaginary` behind it. Strides are counted in reals and may be negative. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int number;       /**< PLAQUETTE_DOUBLE or PLAQUETTE_SINGLE: the type of the array; + PLAQUETTE_ON_DEVICE: on a GPU */
  int staggered;    /**< 1: signs (-1)^t, (-1)^(t+x), (-1)^(t+x+y), 1 as MILC has them are in the links, and are taken out */
  int64_t first, site[4], direction[4], row, column, imaginary;
  const int64_t* places; /**< where each site begins, for sites with x fastest, in place of `site`; null: none */
  double boundary_phase[4][2]; /**< factor in the links that leave the lattice in direction mu; it is taken out */
} plaquette_link_layout;
/** Fills the layout of [site][mu][i][j], 72 doubles a site, for a box of these extents. */
PLAQUETTE_PUBLIC int plaquette_link_layout_dense(plaquette_link_layout* layout, const int local[4], int site_order);

/** Copies links. `length` is the number of reals in the array. Refuses layouts that leave the array or put two numbers into
   one place, and links that are not finite or not in SU(3). Links of doubles that are up to 1e-10 off, as updates leave
   them, are taken back to it: plaquette_gauge_remark says so. */
PLAQUETTE_PUBLIC int plaquette_gauge_create(plaquette_gauge* gauge, plaquette_lattice lattice, const void* numbers,
                                            size_t length, const plaquette_link_layout* layout);
/** Copies the links of this rank's box to an array, with the phases of the layout folded in. `length` is the number of reals
   in the array. Refuses layouts as above. */
PLAQUETTE_PUBLIC int plaquette_gauge_copy(plaquette_gauge gauge, void* numbers, size_t length,
                                          const plaquette_link_layout* layout);
/** Reads links of a file: NERSC, ILDG, SciDAC, MILC, openQCD. */
PLAQUETTE_PUBLIC int plaquette_gauge_read(plaquette_gauge* gauge, plaquette_lattice lattice, const char* file);
/** Returns the extents of the lattice of a file. */
PLAQUETTE_PUBLIC int plaquette_gauge_file_extents(const char* file, int extents[4]);
/** Writes an ILDG file. */
PLAQUETTE_PUBLIC int plaquette_gauge_write(plaquette_gauge gauge, const char* file, int replace);
/** Fills text with the sentence on links that were taken back to SU(3) as they came, cut after length - 1 characters;
   empty if there were none. */
PLAQUETTE_PUBLIC int plaquette_gauge_remark(plaquette_gauge gauge, char* text, size_t length);
/** Returns the average of Re tr P / 3. */
PLAQUETTE_PUBLIC int plaquette_gauge_plaquette(plaquette_gauge gauge, double* average);

/** Kinds of smearing. */
enum { PLAQUETTE_STOUT = 0, PLAQUETTE_APE = 1, PLAQUETTE_HYP = 2 };
/** How links are smeared: (1 - weight) U + weight / n sum of n staples in APE; weight is rho in stout. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int kind;
  int steps;
  int spatial; /**< 1: only spatial links are smeared, and with spatial staples; not HYP */
  int reserved;
  double weight;   /**< of stout and APE */
  double alpha[3]; /**< of HYP */
} plaquette_smearing;
/** The defaults of plaquette_smearing. */
#define PLAQUETTE_SMEARING_DEFAULTS \
  {sizeof(plaquette_smearing), PLAQUETTE_STOUT, 1, 0, 0, 0.1, {0.75, 0.6, 0.3}}
/** Makes smeared links. Links that are on a GPU (plaquette_heatbath) are smeared, flowed and fixed there. What is made
   of them stays there, and the host copies it when it first needs it. */
PLAQUETTE_PUBLIC int plaquette_gauge_smear(plaquette_gauge* smeared, plaquette_gauge gauge,
                                           const plaquette_smearing* smearing);
/** Flows links up to `time` by the gradient flow (arXiv:1006.4518); the last step may be shorter. Fills time, energy density and topological charge at
   time 0 and after each step, three numbers a point. `points` tells how many there are; if 3 * points is not `length`,
   nothing is done. t0: the time at which t^2 E passes 0.3, or NaN. flowed, t0: may be null. */
PLAQUETTE_PUBLIC int plaquette_gauge_flow(plaquette_gauge* flowed, plaquette_gauge gauge, double time, double step,
                                          double* history, size_t length, size_t* points, double* t0);
/** Conditions on a gauge. */
enum { PLAQUETTE_LANDAU = 0, PLAQUETTE_COULOMB = 1 };
/** Fixes the gauge: theta <= tolerance. Returns PLAQUETTE_NO_CONVERGENCE if the sweeps ended before; the links are there
   then too. quality: average of Re tr U / 3, and theta; may be null. */
PLAQUETTE_PUBLIC int plaquette_gauge_fix(plaquette_gauge* fixed, plaquette_gauge gauge, int condition, double tolerance,
                                         int sweep_limit, double quality[2]);
/** Does the same and fills g, links = g(x) U_mu(x) g(x+mu)^+: [site][i][j], x fastest, 18 doubles a site. */
PLAQUETTE_PUBLIC int plaquette_gauge_fix_by(plaquette_gauge* fixed, plaquette_gauge gauge, int condition,
                                            double tolerance, int sweep_limit, double quality[2], double* g,
                                            size_t length);

/* ---- Links that move. Solvers and operators of them answer PLAQUETTE_UNUSABLE_INPUT until they follow. Links that were
   smeared, flowed or fixed are others and stay. A call must not use links that another thread moves at that time. */
/** Takes other links from an array, as plaquette_gauge_create does. If this fails, the links stay as they were. */
PLAQUETTE_PUBLIC int plaquette_gauge_assign(plaquette_gauge gauge, const void* numbers, size_t length,
                                            const plaquette_link_layout* layout);
/** Sweeps of quenched updates with the Wilson gauge action. A combined sweep is some heat baths, then some
   over-relaxations. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int device;  /**< that makes them; on a GPU the links stay there */
  int heatbaths, overrelaxations; /**< of a combined sweep */
  int sweeps;                     /**< combined ones */
  double beta, anisotropy;        /**< of the gauge action, bare */
  uint64_t seed;
  uint64_t first; /**< number of the first combined sweep: continue with first + sweeps */
} plaquette_heatbath;
/** The defaults of plaquette_heatbath. */
#define PLAQUETTE_HEATBATH_DEFAULTS {sizeof(plaquette_heatbath), PLAQUETTE_CPU, 1, 4, 1, 6.0, 1.0, 1, 0}
/** Makes sweeps of heat bath and over-relaxation, the same bits on any grid. */
PLAQUETTE_PUBLIC int plaquette_gauge_heatbath(plaquette_gauge gauge, const plaquette_heatbath* how);
/** Copies the links to a device, where they stay until they move or another call takes them away: no move. On a GPU
   smearing, flow, gauge fixing and solvers that follow read them there. PLAQUETTE_CPU takes them back and leaves the
   GPU. Refuses a GPU on a lattice with reproducible sums. */
PLAQUETTE_PUBLIC int plaquette_gauge_to_device(plaquette_gauge gauge, int device);
/** Returns how often the links moved. */
PLAQUETTE_PUBLIC int plaquette_gauge_moves(plaquette_gauge gauge, int64_t* moves);
/** Takes these links as they are now, in place of those before and in their memory. Multigrid keeps its null vectors:
   see plaquette_solver_renew. */
PLAQUETTE_PUBLIC int plaquette_solver_follow(plaquette_solver solver, plaquette_gauge gauge);
/** Makes null vectors and coarse operators of multigrid again, by inverse iterations of the null vectors: for links that
   have moved far. Refuses Krylov solvers, and less than one iteration. */
PLAQUETTE_PUBLIC int plaquette_solver_renew(plaquette_solver solver, int iterations);
/** Does as plaquette_solver_follow, for M. */
PLAQUETTE_PUBLIC int plaquette_operator_follow(plaquette_operator m, plaquette_gauge gauge);
/** Does as plaquette_solver_follow, for H, and finds as many modes as there were, for these links. Answers as
   plaquette_overlap_create does. If it fails after H has followed, the solver answers PLAQUETTE_UNUSABLE_INPUT until a
   follow succeeds. */
PLAQUETTE_PUBLIC int plaquette_overlap_follow(plaquette_overlap overlap, plaquette_gauge gauge);

/* ---- Quarks: M = (4 + m + C) - 1/2 sum of hops if isotropic. A spinor that crosses the boundary forwards takes the
   phase. m = 1/(2 kappa) - 4. */
/** The parameters of M. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  double mass, csw;
  double csw_temporal; /**< of planes with time, if anisotropy is not 1; else ignored */
  double anisotropy, nu;
  double boundary_phase[4][2];
} plaquette_action;
/** The defaults of plaquette_action. */
#define PLAQUETTE_ACTION_DEFAULTS \
  {sizeof(plaquette_action), 0.0, 0.0, 0.0, 1.0, 1.0, {{1.0, 0.0}, {1.0, 0.0}, {1.0, 0.0}, {-1.0, 0.0}}}

/** Computes m for kappa = 1 / (2 (1 + 3 nu / anisotropy + m)); anisotropy and nu are 1 if isotropic. */
PLAQUETTE_PUBLIC int plaquette_mass_of_kappa(double kappa, double anisotropy, double nu, double* mass);

enum {
  PLAQUETTE_DEGRAND_ROSSI = 0,
  PLAQUETTE_NONRELATIVISTIC = 1,
  PLAQUETTE_DIRAC_PAULI = 2,
  PLAQUETTE_OPENQCD = 3,
  PLAQUETTE_TMLQCD = 4
};
/** The real part of spin s, colour c of right-hand side n stands at
       first + sum_nu x_nu site[nu] + s spin + c colour + n column */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int basis;  /**< of gamma matrices */
  int memory; /**< 0; or PLAQUETTE_ON_DEVICE: the arrays are on a GPU; + PLAQUETTE_SINGLE: their numbers are floats, see below */
  int64_t first, site[4], spin, colour, imaginary, column;
  const int64_t* places;
} plaquette_spinor_layout;
/* Arrays of floats are given by their address, cast to that of doubles; lengths and strides count floats. Functions of
   vectors, plaquette_solve, plaquette_propagator_copy and plaquette_operator_apply take them. They compute in double and
   round in the end: a verdict is that before. If an array is on the GPU of its rank, so are its doubles. */
/** Fills the layout of [column][site][spin][colour], 24 doubles a site. */
PLAQUETTE_PUBLIC int plaquette_spinor_layout_dense(plaquette_spinor_layout* layout, const int local[4], int site_order);

/* ---- Results. Residuals are |b - M x| / |b|: iterated by the solver; recomputed by the operators that solved; recomputed in
   double by the reference operator, which had no part in the solve. */
/** How a right-hand side ended. */
typedef struct {
  double iterated, device, reference;
  double tolerance; /**< that `reference` has to meet: the requested one, and a bound on rounding */
  int iterations;
  int passed; /**< 1 if reference <= tolerance; 0 also if it was not judged */
} plaquette_result;

/** When a solve stops, and whether it is judged. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  double tolerance;
  int iteration_limit;
  int judge; /**< 0: no reference residual; nothing passes then */
} plaquette_rule;
/** The defaults of plaquette_rule. */
#define PLAQUETTE_RULE_DEFAULTS {sizeof(plaquette_rule), 1e-10, 10000, 1}

enum {
  PLAQUETTE_POINT = 0,
  PLAQUETTE_WALL = 1,     /**< 1 on a time slice */
  PLAQUETTE_GAUSSIAN = 2, /**< a point, smeared in its time slice */
  PLAQUETTE_Z2 = 3,       /**< noise on a time slice, the same for all spins and colours */
  PLAQUETTE_Z4 = 4
};
/** A right-hand side for each spin and colour, times exp(i p x), p = 2 pi momentum / L. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int kind;
  int position[4]; /**< of a wall and of noise only the time counts */
  int momentum[3];
  int steps;
  double radius;
  uint64_t seed;
} plaquette_source;
/** The defaults of plaquette_source. */
#define PLAQUETTE_SOURCE_DEFAULTS {sizeof(plaquette_source), PLAQUETTE_POINT, {0, 0, 0, 0}, {0, 0, 0}, 5, 2.0, 1}

/* ---- Solvers of M x = b */
/** Options of plaquette_krylov_create. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int device;
  int outer, inner; /**< precision of the solution, and of the iterations */
  int columns;      /**< right-hand sides that are solved at once */
} plaquette_krylov_options;
/** The defaults of plaquette_krylov_options. */
#define PLAQUETTE_KRYLOV_DEFAULTS \
  {sizeof(plaquette_krylov_options), PLAQUETTE_CPU, PLAQUETTE_DOUBLE, PLAQUETTE_SINGLE, 12}
/** Options of plaquette_multigrid_create. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int device;
  int levels;       /**< at most */
  int null_vectors; /**< of each chirality; 0: chosen for the lattice */
  int tune;         /**< 1: tries shapes of the cycle; -1: does not; 0: as is best for the device, on a GPU 1 */
  int half_cycle;   /**< 1: cycles in half precision on the finest lattice; -1: in single; 0: on a GPU 1 */
  int columns;
  uint64_t seed;
} plaquette_multigrid_options;
/** The defaults of plaquette_multigrid_options. */
#define PLAQUETTE_MULTIGRID_DEFAULTS {sizeof(plaquette_multigrid_options), PLAQUETTE_CPU, 3, 0, 0, 0, 12, 1}

/** Makes BiCGstab in mixed precision; if that stalls, other Krylov solvers take over. */
PLAQUETTE_PUBLIC int plaquette_krylov_create(plaquette_solver* solver, plaquette_gauge gauge,
                                             const plaquette_action* action, const plaquette_krylov_options* options);
/** Makes adaptive multigrid, set up. */
PLAQUETTE_PUBLIC int plaquette_multigrid_create(plaquette_solver* solver, plaquette_gauge gauge,
                                                const plaquette_action* action,
                                                const plaquette_multigrid_options* options);
/** Returns the seconds that it took to make a solver. */
PLAQUETTE_PUBLIC int plaquette_solver_setup_seconds(plaquette_solver solver, double* seconds);

/** Solves for `columns` right-hand sides; `length` is the number of doubles in x and in b. If it returns
   PLAQUETTE_NO_CONVERGENCE, PLAQUETTE_NOT_VERIFIED or PLAQUETTE_INTERRUPTED, x holds the best solutions and `results`
   says which failed. results: one a column, or null. */
PLAQUETTE_PUBLIC int plaquette_solve(plaquette_solver solver, double* x, const double* b, size_t length, int columns,
                                     const plaquette_spinor_layout* layout, const plaquette_rule* rule,
                                     plaquette_result* results);
/** Solves for the twelve columns of a propagator. Returns as plaquette_solve; the handle is there in these cases too.
   results: 12, or null. */
PLAQUETTE_PUBLIC int plaquette_propagator_solve(plaquette_propagator* propagator, plaquette_solver solver,
                                                const plaquette_source* source, const plaquette_rule* rule,
                                                plaquette_result* results);
/** Does the same; a Gaussian source is smeared with hops of these links, not of the solver's. */
PLAQUETTE_PUBLIC int plaquette_propagator_solve_smeared(plaquette_propagator* propagator, plaquette_solver solver,
                                                        const plaquette_source* source, plaquette_gauge smearing_links,
                                                        const plaquette_rule* rule, plaquette_result* results);
/** Solves for a sequential propagator, of the source e^(i p x) Gamma S(x) on time slice `time`, S = `through`. */
PLAQUETTE_PUBLIC int plaquette_propagator_sequential(plaquette_propagator* propagator, plaquette_solver solver,
                                                     plaquette_propagator through, int meson, int time,
                                                     const int momentum[3], const plaquette_rule* rule,
                                                     plaquette_result* results);

/* ---- Propagators. These functions fill their numbers, and return PLAQUETTE_NOT_VERIFIED or PLAQUETTE_NO_CONVERGENCE
   if the propagator did not pass. Correlators have a number a time of the whole lattice; `length` is checked. */
/** Returns how the twelve columns ended. */
PLAQUETTE_PUBLIC int plaquette_propagator_results(plaquette_propagator propagator, plaquette_result results[12]);
/** Computes the sum of |S|^2 over space, spins and colours, at each time. */
PLAQUETTE_PUBLIC int plaquette_pion(plaquette_propagator propagator, double* correlator, size_t length);
/** Computes the vector meson, averaged over three polarisations. */
PLAQUETTE_PUBLIC int plaquette_rho(plaquette_propagator propagator, double* correlator, size_t length);
/** Gamma = gamma_x^a gamma_y^b gamma_z^c gamma_t^d at source and sink, meson = a + 2 b + 4 c + 8 d; numbers are pairs re,
   im, 2 a time. momentum: three integers, or null. */
PLAQUETTE_PUBLIC int plaquette_meson(plaquette_propagator propagator, int meson, const int momentum[3],
                                     double* correlator, size_t length);
/** Does the same along direction 0 to 3; the momentum has components in the three other directions, in ascending order. */
PLAQUETTE_PUBLIC int plaquette_meson_along(plaquette_propagator propagator, int meson, int direction,
                                           const int momentum[3], double* correlator, size_t length);
/** Computes the proton, with the projector (1 + parity gamma_t) / 2, parity 1 or -1; numbers are pairs as for mesons. */
PLAQUETTE_PUBLIC int plaquette_nucleon(plaquette_propagator propagator, int parity, const int momentum[3],
                                       double* correlator, size_t length);
/** Rotates a correlator along `direction`, of one number a place or of pairs, such that it begins at the source: number t becomes
   that of time t + t_source, around the lattice. Refuses propagators whose source is not known: of a file, or of vectors that
   were not solved for one. A nucleon that has crossed the antiperiodic boundary (at the last t_source times) has the opposite
   sign, of three quarks. */
PLAQUETTE_PUBLIC int plaquette_from_source(plaquette_propagator propagator, int direction, double* correlator,
                                           size_t length);
/** Makes a propagator whose sink is smeared as Gaussian sources are, with hops of these links. */
PLAQUETTE_PUBLIC int plaquette_propagator_smear(plaquette_propagator* smeared, plaquette_propagator propagator,
                                                plaquette_gauge links, double radius, int steps);
/** Styles of LIME files: one field as Chroma writes it, or twelve as tmLQCD does, in its basis. */
enum { PLAQUETTE_SCIDAC = 0, PLAQUETTE_ETMC = 1 };
/** Writes a LIME file. */
PLAQUETTE_PUBLIC int plaquette_propagator_write(plaquette_propagator propagator, const char* file, int style,
                                                int replace);
/** Reads a LIME file of either style. A propagator that was read was not judged. */
PLAQUETTE_PUBLIC int plaquette_propagator_read(plaquette_propagator* propagator, plaquette_lattice lattice,
                                               const char* file);
/** Copies the twelve columns, number 3 spin + colour of the source. */
PLAQUETTE_PUBLIC int plaquette_propagator_copy(plaquette_propagator propagator, double* numbers, size_t length,
                                               const plaquette_spinor_layout* layout);
/** Makes a propagator, as one that was read, with the verdict of the solver's reference operator for this source; returns
   PLAQUETTE_NOT_VERIFIED if |b - M S| is above rule->tolerance |b|. results: 12, or null. */
PLAQUETTE_PUBLIC int plaquette_propagator_judge(plaquette_propagator* judged, plaquette_solver solver,
                                                plaquette_propagator propagator, const plaquette_source* source,
                                                const plaquette_rule* rule, plaquette_result* results);
/** Does the same; a Gaussian source is smeared with hops of these links. */
PLAQUETTE_PUBLIC int plaquette_propagator_judge_smeared(plaquette_propagator* judged, plaquette_solver solver,
                                                        plaquette_propagator propagator, const plaquette_source* source,
                                                        plaquette_gauge smearing_links, const plaquette_rule* rule,
                                                        plaquette_result* results);

/* ---- M itself, in double */
/** Makes M, which works on the CPU or a GPU. */
PLAQUETTE_PUBLIC int plaquette_operator_create(plaquette_operator* m, plaquette_gauge gauge,
                                               const plaquette_action* action, int device);
/** Computes out = M in, or M^+ in. */
PLAQUETTE_PUBLIC int plaquette_operator_apply(plaquette_operator m, double* out, const double* in, size_t length,
                                              const plaquette_spinor_layout* layout, int dagger);

/* ---- Vectors: batches of spinors on the device of a solver, that change there. From links to a correlator no array of
   the host is needed: create, fill, plaquette_solve_vectors, plaquette_propagator_of_vectors, plaquette_pion. Solvers and
   operators on the same lattice and device take them; others are refused with PLAQUETTE_UNUSABLE_INPUT. Numbers
   are kept in a spin basis of the device: the numbers of an array come back to rounding. A call must not use vectors that another
   thread changes at that time. */
enum { PLAQUETTE_ALL_SITES = 0, PLAQUETTE_EVEN_SITES = 1, PLAQUETTE_ODD_SITES = 2 };
/** Options of vectors. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int device;
  int columns;
  int sites;     /**< PLAQUETTE_ALL_SITES, ... */
  int precision; /**< PLAQUETTE_DOUBLE, ... */
} plaquette_vectors_options;
/** The defaults of plaquette_vectors_options. */
#define PLAQUETTE_VECTORS_DEFAULTS \
  {sizeof(plaquette_vectors_options), PLAQUETTE_CPU, 12, PLAQUETTE_ALL_SITES, PLAQUETTE_DOUBLE}

/** Makes vectors that are zero. Collective, as all that follows. */
PLAQUETTE_PUBLIC int plaquette_vectors_create(plaquette_vectors* vectors, plaquette_lattice lattice,
                                              const plaquette_vectors_options* options);
/** Makes them zero. */
PLAQUETTE_PUBLIC int plaquette_vectors_zero(plaquette_vectors vectors);
/** Makes column n component (first + n) mod 12 of a source, component 3 spin + colour. A Gaussian has the hops of
   smearing_links; other sources need none, and a zero handle. */
PLAQUETTE_PUBLIC int plaquette_vectors_fill(plaquette_vectors vectors, const plaquette_source* source,
                                            plaquette_gauge smearing_links, int first);
/** Makes all reals normal deviates of variance 1, the same on any device and grid, up to rounding. Column n is field
   first + n of this seed. */
PLAQUETTE_PUBLIC int plaquette_vectors_fill_random(plaquette_vectors vectors, uint64_t seed, uint64_t first);
/** Takes all columns from an array of all sites of this rank's box; it ignores sites that they lack. `length` is
   the number of doubles. */
PLAQUETTE_PUBLIC int plaquette_vectors_read(plaquette_vectors vectors, const double* numbers, size_t length,
                                            const plaquette_spinor_layout* layout);
/** Copies all columns to such an array; sites that they lack become zero. */
PLAQUETTE_PUBLIC int plaquette_vectors_write(plaquette_vectors vectors, double* numbers, size_t length,
                                             const plaquette_spinor_layout* layout);
/** Takes all columns of others on the same sites, rounded if precisions differ. */
PLAQUETTE_PUBLIC int plaquette_vectors_copy(plaquette_vectors to, plaquette_vectors from);
/** Takes `count` columns of others, of one precision: column `from_first` as column `to_first`, and so on. */
PLAQUETTE_PUBLIC int plaquette_vectors_copy_columns(plaquette_vectors to, int to_first, plaquette_vectors from,
                                                    int from_first, int count);
/** Multiplies columns by numbers: pairs re, im, one pair for all or one a column; `count` pairs. */
PLAQUETTE_PUBLIC int plaquette_vectors_scale(plaquette_vectors vectors, const double* factors, int count);
/** Adds the vectors u times such numbers. */
PLAQUETTE_PUBLIC int plaquette_vectors_add(plaquette_vectors vectors, const double* factors, int count,
                                           plaquette_vectors u);
/** Multiplies by gamma_5. */
PLAQUETTE_PUBLIC int plaquette_vectors_rotate_by_gamma_5(plaquette_vectors vectors);
/** Computes <v, u> of each column, v conjugated: pairs, `length` doubles, two a column. */
PLAQUETTE_PUBLIC int plaquette_vectors_dot(plaquette_vectors v, plaquette_vectors u, double* products, size_t length);
/** Computes the square of each column's norm; `length` doubles, one a column. */
PLAQUETTE_PUBLIC int plaquette_vectors_norm2(plaquette_vectors vectors, double* squares, size_t length);

/** The system of a solve: M x = b, or M^+ x = b, on all sites. On even sites, by Krylov solvers of outer precision double or
   single, with Mhat = A_ee - 1/4 D_eo A_oo^-1 D_oe: (Mhat + i mu gamma_5) x = b, or its adjoint, or
   (Mhat^+ Mhat + mu^2) x = b. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int dagger;
  int squared;
  int mu_count; /**< 0, or 1 for all columns, or one a column */
  int reserved;
  const double* mu;
} plaquette_vector_system;
/** The defaults of plaquette_vector_system. */
#define PLAQUETTE_VECTOR_SYSTEM_DEFAULTS {sizeof(plaquette_vector_system), 0, 0, 0, 0, NULL}
/** Solves for all columns of vectors in the precision of the solutions; x has the shape of b. system: null: M x = b.
   Returns as plaquette_solve; systems on even sites are not judged, and none of them passes. results: one a column, or
   null. */
PLAQUETTE_PUBLIC int plaquette_solve_vectors(plaquette_solver solver, plaquette_vectors x, plaquette_vectors b,
                                             const plaquette_rule* rule, const plaquette_vector_system* system,
                                             plaquette_result* results);

/** An operator on vectors: G (A + shift + i mu gamma_5), or G (A^+ + shift - i mu gamma_5). A is M on all sites and
   Mhat on even ones, G is gamma_5 or 1. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int dagger;
  int gamma_5;
  int mu_count; /**< 0, or 1 for all columns, or one a column */
  int reserved;
  double shift; /**< adds to the mass of M on all sites */
  const double* mu;
} plaquette_operator_form;
/** The defaults of plaquette_operator_form. */
#define PLAQUETTE_OPERATOR_FORM_DEFAULTS {sizeof(plaquette_operator_form), 0, 0, 0, 0, 0.0, NULL}
/** Computes y = M x, or another form, in the precision of the vectors. They are different ones of one shape, on all or on
   even sites. form: null: M. */
PLAQUETTE_PUBLIC int plaquette_operator_apply_vectors(plaquette_operator m, plaquette_vectors y, plaquette_vectors x,
                                                      const plaquette_operator_form* form);
/** Makes a propagator of twelve vectors on all sites, column 3 spin + colour, as they are now. It has the results of
   plaquette_solve_vectors for M x = b that made them, if they have not changed since; else it was not judged. Returns
   success in both cases. */
PLAQUETTE_PUBLIC int plaquette_propagator_of_vectors(plaquette_propagator* propagator, plaquette_vectors vectors);

/* ---- Overlap fermions */
/** Options of plaquette_overlap_create. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int device;
  int kernel_modes; /**< of H, exact in the sign function */
  int modes;        /**< of D, taken out of the solves */
  int reserved;
  double rho, mode_tolerance;
  double boundary_phase[4][2];
  uint64_t seed;
} plaquette_overlap_options;
/** The defaults of plaquette_overlap_options. */
#define PLAQUETTE_OVERLAP_DEFAULTS                                         \
  {sizeof(plaquette_overlap_options), PLAQUETTE_CPU, 8, 4, 0, 1.4, 1e-6,   \
   {{1.0, 0.0}, {1.0, 0.0}, {1.0, 0.0}, {-1.0, 0.0}}, 1}
/** Makes a solver, and compares sign(H) with the sign of the reference operator: PLAQUETTE_NOT_VERIFIED if they differ.
   Before a solve that is judged it does so as accurately as the tolerance needs. Residuals are then judged with that sign function. */
PLAQUETTE_PUBLIC int plaquette_overlap_create(plaquette_overlap* overlap, plaquette_gauge gauge,
                                              const plaquette_overlap_options* options);
/** Returns the number of zero modes of gamma_5 = +1 minus the number of -1. */
PLAQUETTE_PUBLIC int plaquette_overlap_index(plaquette_overlap overlap, int* index);
/** Makes a propagator for each mass, masses ascending. Returns as plaquette_solve, of the worst. */
PLAQUETTE_PUBLIC int plaquette_overlap_solve(plaquette_propagator* propagators, plaquette_overlap overlap,
                                             const plaquette_source* source, const double* masses, int count,
                                             const plaquette_rule* rule);

/** Modes of H: |H v - lambda v|, |lambda| ascending. Modes of D^+ D in one chirality: |D^+ D v - e v|, e ascending; the
   other two spins are 0. Vectors are orthonormal. */
enum { PLAQUETTE_MODES_OF_H = 0, PLAQUETTE_MODES_OF_D_PLUS = 1, PLAQUETTE_MODES_OF_D_MINUS = 2 };
/** Returns the count of modes. */
PLAQUETTE_PUBLIC int plaquette_overlap_mode_count(plaquette_overlap overlap, int kind, int* count);
/** Fills eigenvalues, and residuals that are computed here, or null; `length` is the count of modes. Returns
   PLAQUETTE_NOT_VERIFIED if one is above the tolerance of modes. */
PLAQUETTE_PUBLIC int plaquette_overlap_mode_values(plaquette_overlap overlap, int kind, double* values,
                                                   double* residuals, size_t length);
/** Copies the vectors, a column each. `length` is the number of doubles in the array. */
PLAQUETTE_PUBLIC int plaquette_overlap_mode_vectors(plaquette_overlap overlap, int kind, double* vectors, size_t length,
                                                    const plaquette_spinor_layout* layout);
/** Modes in memory of the caller. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int count;
  int reserved;
  const double *values, *vectors;        /**< `values` on the host */
  size_t length;                         /**< doubles in `vectors` */
  const plaquette_spinor_layout* layout; /**< null: dense */
} plaquette_modes;
/** The defaults of plaquette_modes. */
#define PLAQUETTE_MODES_DEFAULTS {sizeof(plaquette_modes), 0, 0, NULL, NULL, 0, NULL}
/** Makes a solver with modes that were found before; null: they are computed. Refuses vectors that are not orthonormal,
   residuals above 1e-8 of H and above mode_tolerance of D^+ D, and in the other chirality above the bound that
   this implies. Refuses lists that lack a lower mode, or have zero modes of D^+ D only. Modes of D^+ D are given in both chiralities. */
PLAQUETTE_PUBLIC int plaquette_overlap_create_with_modes(plaquette_overlap* overlap, plaquette_gauge gauge,
                                                         const plaquette_overlap_options* options,
                                                         const plaquette_modes* of_h, const plaquette_modes* of_d_plus,
                                                         const plaquette_modes* of_d_minus);

/* ---- Sound and light in time, by nodal discontinuous Galerkin on tetrahedra. Sound: p, u, v, w, with p_t = -K div u and
   rho u_t = -grad p. Light: Hx, Hy, Hz, Ex, Ey, Ez, with mu H_t = -curl E and eps E_t = curl H. */
enum { PLAQUETTE_ACOUSTICS = 0, PLAQUETTE_MAXWELL = 1 };
/** Options of solvers of waves. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int equations;
  int order;   /**< of the polynomials, 1 to 9 */
  int columns; /**< states that advance together */
  int device;
  int precision;    /**< PLAQUETTE_DOUBLE or PLAQUETTE_SINGLE */
  int absorbing;    /**< 1: sides let waves out; else they reflect */
  int has_mpi;      /**< as in plaquette_lattice_options */
  int communicator;
  double upwinding; /**< of the flux: 1 upwind, 0 central */
} plaquette_wave_options;
/** The defaults of plaquette_wave_options. */
#define PLAQUETTE_WAVE_DEFAULTS \
  {sizeof(plaquette_wave_options), PLAQUETTE_ACOUSTICS, 3, 1, PLAQUETTE_CPU, PLAQUETTE_DOUBLE, 0, 0, 0, 1.0}
/** A box of cubes, six tetrahedra each. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  int cells[3];
  int periodic[3]; /**< 1: it is */
  double low[3], high[3];
} plaquette_wave_box;
/** The defaults of plaquette_wave_box. */
#define PLAQUETTE_WAVE_BOX_DEFAULTS \
  {sizeof(plaquette_wave_box), {4, 4, 4}, {0, 0, 0}, {-1.0, -1.0, -1.0}, {1.0, 1.0, 1.0}}
/** Tetrahedra of the caller, the same on all ranks; a face without another element is a side. */
typedef struct {
  size_t size; /**< sizeof of this structure */
  const double* vertices; /**< x, y, z of each */
  size_t vertex_count;
  const int32_t* elements; /**< four vertices of each, in any order, numbered from 0 */
  size_t element_count;
  const double* media; /**< two numbers an element: 1/K and rho, or eps and mu; null: all are 1 */
} plaquette_wave_mesh;
/** The defaults of plaquette_wave_mesh. */
#define PLAQUETTE_WAVE_MESH_DEFAULTS {sizeof(plaquette_wave_mesh), NULL, 0, NULL, 0, NULL}

/** Makes a solver on a box. Collective, as all that follows. */
PLAQUETTE_PUBLIC int plaquette_waves_create(plaquette_waves* waves, const plaquette_wave_box* box,
                                            const plaquette_wave_options* options);
/** Makes one on a mesh of the caller. Refuses flat elements, vertices that are not there, elements that overlap. */
PLAQUETTE_PUBLIC int plaquette_waves_create_on_mesh(plaquette_waves* waves, const plaquette_wave_mesh* mesh,
                                                    const plaquette_wave_options* options);
/** Makes one on the tetrahedra of a Gmsh file. One medium fills it. */
PLAQUETTE_PUBLIC int plaquette_waves_create_from_file(plaquette_waves* waves, const char* file,
                                                      const plaquette_wave_options* options);
/** Returns columns, fields, elements of this rank and nodes of an element: a state is an array with these four extents. */
PLAQUETTE_PUBLIC int plaquette_waves_extents(plaquette_waves waves, int64_t extents[4]);
/** Returns the numbers of this rank's elements in the whole mesh; `length` is their count. */
PLAQUETTE_PUBLIC int plaquette_waves_elements(plaquette_waves waves, int32_t* numbers, size_t length);
/** Returns the places of nodes: [element][node][x, y, z]. `length` counts the doubles, here and below. */
PLAQUETTE_PUBLIC int plaquette_waves_positions(plaquette_waves waves, double* positions, size_t length);
/** Begins with a state at a time. */
PLAQUETTE_PUBLIC int plaquette_waves_set_state(plaquette_waves waves, const double* state, size_t length, double time);
/** Copies the state. */
PLAQUETTE_PUBLIC int plaquette_waves_get_state(plaquette_waves waves, double* state, size_t length);
/** Returns the time of the state. */
PLAQUETTE_PUBLIC int plaquette_waves_time(plaquette_waves waves, double* time);
/** Returns the energy of each column over all ranks. */
PLAQUETTE_PUBLIC int plaquette_waves_energies(plaquette_waves waves, double* energies, size_t length);
/** Returns a time step that is stable. */
PLAQUETTE_PUBLIC int plaquette_waves_stable_step(plaquette_waves waves, double* dt);
/** Does `steps` steps of length dt. The last one is repeated by the textbook solver of the CPU, from the state before it.
   Returns PLAQUETTE_NOT_VERIFIED if the two differ, if the step changes next to nothing, if a column's energy
   grows, and with judge = 0; the state is there then too. A dt that is not stable on this mesh is refused. verdict: the largest difference and its tolerance, in units of the largest number; or null. */
PLAQUETTE_PUBLIC int plaquette_waves_advance(plaquette_waves waves, int64_t steps, double dt, int judge,
                                             double verdict[2]);

#ifdef __cplusplus
}
#endif
#endif
