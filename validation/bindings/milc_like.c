/* SPDX-License-Identifier: BSD-3-Clause */
/* A program as MILC's are: its own struct of a site, even sites first, staggered phases and the antiperiodic boundary
   in its links, MPI of its own. Argument: a file for the links. Prints its pion, as the examples do. */
#include <math.h>
#include <plaquette/plaquette.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

typedef struct {
  double real, imag;
} complex_number;
typedef struct {
  complex_number e[3][3];
} su3_matrix;
typedef struct {
  complex_number c[3];
} su3_vector;
typedef struct {
  short x, y, z, t;
  char parity;
  int index;
  su3_vector phi;
  su3_matrix link[4];
  float mass;
} site;

static const int extents[4] = {4, 4, 4, 8};
static int rank = 0;

static void check(int code, const char* call) {
  if (code == PLAQUETTE_SUCCESS) return;
  fprintf(stderr, "rank %d: %s: %s: %s\n", rank, call, plaquette_error_text(code), plaquette_last_message());
#ifdef WITH_MPI
  MPI_Abort(MPI_COMM_WORLD, code);
#endif
  exit(code);
}
#define CHECK(call) check(call, #call)

/* Multiplies two columns by a rotation: SU(2) in SU(3). */
static void rotate(su3_matrix* u, int a, int b, double angle, double phase) {
  const double c = cos(angle), sr = sin(angle) * cos(phase), si = sin(angle) * sin(phase);
  for (int i = 0; i < 3; ++i) {
    const complex_number p = u->e[i][a], q = u->e[i][b];
    /* p' = c p - conj(s) q, q' = s p + c q */
    u->e[i][a].real = c * p.real - (sr * q.real + si * q.imag);
    u->e[i][a].imag = c * p.imag - (sr * q.imag - si * q.real);
    u->e[i][b].real = c * q.real + (sr * p.real - si * p.imag);
    u->e[i][b].imag = c * q.imag + (sr * p.imag + si * p.real);
  }
}

static void make_link(su3_matrix* u, int x, int y, int z, int t, int mu) {
  memset(u, 0, sizeof *u);
  for (int i = 0; i < 3; ++i) u->e[i][i].real = 1.0;
  rotate(u, 0, 1, 0.4 * sin(1.0 + x + 2 * y + 3 * mu), 0.3 * z + t);
  rotate(u, 1, 2, 0.5 * cos(2.0 + z + 2 * t - mu), 0.7 * x - y);
  rotate(u, 0, 2, 0.3 * sin(0.5 * x * y + z - t + mu), 1.1 * mu);
}

static void multiply_by_phases(site* s) {
  const int steps[4] = {s->t, s->t + s->x, s->t + s->x + s->y, 0};
  for (int mu = 0; mu < 4; ++mu) {
    double sign = steps[mu] % 2 ? -1.0 : 1.0;
    if (mu == 3 && s->t == extents[3] - 1) sign = -sign;
    for (int k = 0; k < 9; ++k) {
      s->link[mu].e[k / 3][k % 3].real *= sign;
      s->link[mu].e[k / 3][k % 3].imag *= sign;
    }
  }
}

/* Light on two tetrahedra of its own, divided over the ranks of these options. */
static int waves_are_right(const plaquette_lattice_options* ranks) {
  double vertices[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1}, state[6 * 40], at[3 * 40], energy[2], dt,
         verdict[2];
  const int32_t elements[] = {0, 1, 2, 3, 4, 3, 2, 1};
  int32_t numbers[2];
  int64_t shape[4];
  plaquette_waves waves;
  plaquette_wave_options options = PLAQUETTE_WAVE_DEFAULTS;
  plaquette_wave_mesh mesh = PLAQUETTE_WAVE_MESH_DEFAULTS;
  options.equations = PLAQUETTE_MAXWELL, options.has_mpi = ranks->has_mpi, options.communicator = ranks->communicator;
  mesh.vertices = vertices, mesh.vertex_count = 5, mesh.elements = elements, mesh.element_count = 2;
  CHECK(plaquette_waves_create_on_mesh(&waves, &mesh, &options));
  CHECK(plaquette_waves_extents(waves, shape));
  const size_t nodes = (size_t)(shape[2] * shape[3]);
  CHECK(plaquette_waves_elements(waves, numbers, (size_t)shape[2]));
  CHECK(plaquette_waves_positions(waves, at, 3 * nodes));
  for (size_t i = 0; i < 6 * nodes; ++i) state[i] = i / nodes == 4 ? sin(at[3 * (i % nodes)]) : 0.0;
  CHECK(plaquette_waves_set_state(waves, state, 6 * nodes, 0.0));
  CHECK(plaquette_waves_energies(waves, energy, 1));
  CHECK(plaquette_waves_stable_step(waves, &dt));
  CHECK(plaquette_waves_advance(waves, 3, dt, 1, verdict));
  CHECK(plaquette_waves_energies(waves, energy + 1, 1));
  CHECK(plaquette_waves_free(&waves));
  int right = numbers[0] >= 0 && numbers[0] < 2 && energy[1] > 0.5 * energy[0] && energy[1] < energy[0];
  if (rank > 0) vertices[0] = -0.5; /* another mesh than the first rank's */
  const int code = plaquette_waves_create_on_mesh(&waves, &mesh, &options);
  int size = 1;
#ifdef WITH_MPI
  MPI_Comm_size(MPI_COMM_WORLD, &size);
#endif
  if (size > 1)
    right = right && code == PLAQUETTE_UNUSABLE_INPUT && strstr(plaquette_last_message(), "all ranks") != NULL;
  if (!right)
    fprintf(stderr, "rank %d: waves are wrong: energies %g, %g; code %d: %s\n", rank, energy[0], energy[1], code,
            plaquette_last_message());
  return right;
}

#ifdef WITH_MPI
static int goes_on_but_for_rank_1(void* unused) { return unused != NULL || rank != 1; }
static int stops_rank_1(const plaquette_progress* progress, void* unused) {
  return unused == NULL && rank == 1 && progress->step > 3;
}

/* One rank that stops stops all. */
static int ends_on_all_ranks(plaquette_solver solver) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1) return 1;
  plaquette_rule rule = PLAQUETTE_RULE_DEFAULTS;
  rule.tolerance = 1e-300, rule.iteration_limit = 100000000;
  plaquette_propagator quark;
  CHECK(plaquette_stop_function(goes_on_but_for_rank_1, NULL));
  const int code = plaquette_propagator_solve(&quark, solver, NULL, &rule, NULL);
  CHECK(plaquette_stop_function(NULL, NULL));
  if (code != PLAQUETTE_INTERRUPTED) fprintf(stderr, "rank %d: a call that was to stop: code %d\n", rank, code);
  CHECK(plaquette_propagator_free(&quark));
  /* A progress function does, too. All ranks have the same solution, as far as it is. */
  plaquette_result results[12];
  CHECK(plaquette_progress_function(stops_rank_1, NULL));
  const int told = plaquette_propagator_solve(&quark, solver, NULL, &rule, results);
  CHECK(plaquette_progress_function(NULL, NULL));
  CHECK(plaquette_propagator_free(&quark));
  double of_root[2] = {results[0].iterations, results[0].device};
  MPI_Bcast(of_root, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  const int is_same = of_root[0] == results[0].iterations && of_root[1] == results[0].device && of_root[0] > 3;
  if (told != PLAQUETTE_INTERRUPTED || !is_same || !(results[0].device < 1.0))
    fprintf(stderr, "rank %d: stopped by progress: code %d after %d iterations, %g\n", rank, told,
            results[0].iterations, results[0].device);
  return code == PLAQUETTE_INTERRUPTED && told == PLAQUETTE_INTERRUPTED && is_same && results[0].device < 1.0;
}

/* A communicator between two groups of ranks is none of a lattice. */
static int is_refused_between_groups(void) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) return 1;
  MPI_Comm half, between;
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank, 1, &between);
  plaquette_lattice_options options = PLAQUETTE_LATTICE_DEFAULTS;
  options.has_mpi = 1, options.communicator = MPI_Comm_c2f(between);
  plaquette_lattice lattice;
  const int code = plaquette_lattice_create(&lattice, extents, &options);
  const int right = code == PLAQUETTE_UNUSABLE_INPUT && strstr(plaquette_last_message(), "between two groups") != NULL;
  if (!right) fprintf(stderr, "rank %d: a lattice between groups: code %d\n", rank, code);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
  return right;
}
#endif

/* From a source to the pion without an array, on all ranks; a solver follows links that a heat bath has moved. Its links come
   back to structs of sites, and are those of a solver from these structs. */
static int vectors_and_moving_links(plaquette_lattice lattice, plaquette_solver solver, const plaquette_rule* rule,
                                    const plaquette_action* action, const double* expected, site* field, size_t reals,
                                    const plaquette_link_layout* layout) {
  plaquette_vectors b, x;
  plaquette_propagator quark;
  plaquette_gauge links, same;
  plaquette_solver other;
  double pion[8], of_array[8], average, again;
  CHECK(plaquette_vectors_create(&b, lattice, NULL));
  CHECK(plaquette_vectors_create(&x, lattice, NULL));
  CHECK(plaquette_vectors_fill(b, NULL, (plaquette_gauge){0}, 0));
  CHECK(plaquette_solve_vectors(solver, x, b, rule, NULL, NULL));
  CHECK(plaquette_propagator_of_vectors(&quark, x));
  CHECK(plaquette_pion(quark, pion, 8));
  int agree = memcmp(pion, expected, sizeof pion) == 0;
  CHECK(plaquette_propagator_free(&quark));
  CHECK(plaquette_vectors_free(&b));
  CHECK(plaquette_vectors_free(&x));

  CHECK(plaquette_gauge_create(&links, lattice, field, reals, layout));
  CHECK(plaquette_krylov_create(&other, links, action, NULL));
  CHECK(plaquette_gauge_heatbath(links, NULL));
  agree = plaquette_propagator_solve(&quark, other, NULL, rule, NULL) == PLAQUETTE_UNUSABLE_INPUT && agree;
  CHECK(plaquette_solver_follow(other, links));
  CHECK(plaquette_propagator_solve(&quark, other, NULL, rule, NULL));
  CHECK(plaquette_pion(quark, pion, 8));
  CHECK(plaquette_propagator_free(&quark));
  CHECK(plaquette_solver_free(&other));
  CHECK(plaquette_gauge_plaquette(links, &average));
  CHECK(plaquette_gauge_copy(links, field, reals, layout));
  CHECK(plaquette_gauge_create(&same, lattice, field, reals, layout));
  CHECK(plaquette_gauge_plaquette(same, &again));
  CHECK(plaquette_krylov_create(&other, same, action, NULL));
  CHECK(plaquette_propagator_solve(&quark, other, NULL, rule, NULL));
  CHECK(plaquette_pion(quark, of_array, 8));
  for (int t = 0; t < 8; ++t) agree = fabs(of_array[t] / pion[t] - 1.0) <= 2e-11 && agree;
  CHECK(plaquette_propagator_free(&quark));
  CHECK(plaquette_solver_free(&other));
  CHECK(plaquette_gauge_free(&links));
  CHECK(plaquette_gauge_free(&same));
  return fabs(average - again) <= 1e-14 && agree;
}

int main(int argc, char** argv) {
  plaquette_lattice_options options = PLAQUETTE_LATTICE_DEFAULTS;
#ifdef WITH_MPI
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  options.has_mpi = 1;
  options.communicator = MPI_Comm_c2f(MPI_COMM_WORLD);
#endif
  plaquette_lattice lattice;
  int local[4], origin[4];
  const int prints_bits = argc > 1 && strncmp(argv[1], "--bits", 6) == 0; /* --bits-any: of sums in any order */
  if (prints_bits && strcmp(argv[1], "--bits-any") != 0)
    CHECK(plaquette_lattice_create_reproducible(&lattice, extents, &options));
  else
    CHECK(plaquette_lattice_create(&lattice, extents, &options));
  CHECK(plaquette_lattice_box(lattice, local, origin));

  const int sites = local[0] * local[1] * local[2] * local[3];
  site* const field = calloc((size_t)sites, sizeof *field);
  int64_t* const places = malloc(sizeof *places * (size_t)sites);
  if (field == NULL || places == NULL) return PLAQUETTE_OUT_OF_MEMORY;
  int next_even = 0, next_odd = sites / 2;
  for (int n = 0; n < sites; ++n) {
    const int x = n % local[0] + origin[0], y = n / local[0] % local[1] + origin[1],
              z = n / (local[0] * local[1]) % local[2] + origin[2],
              t = n / (local[0] * local[1] * local[2]) + origin[3];
    const int is_odd = (x + y + z + t) % 2;
    const int at = is_odd ? next_odd++ : next_even++;
    site* const s = &field[at];
    s->x = (short)x, s->y = (short)y, s->z = (short)z, s->t = (short)t, s->parity = is_odd ? 1 : 2, s->index = at;
    for (int mu = 0; mu < 4; ++mu) make_link(&s->link[mu], x, y, z, t, mu);
    multiply_by_phases(s);
    places[n] = at * (int64_t)(sizeof(site) / sizeof(double));
  }

  plaquette_link_layout layout;
  CHECK(plaquette_link_layout_dense(&layout, local, PLAQUETTE_X_FASTEST));
  layout.first = (int64_t)(offsetof(site, link) / sizeof(double));
  layout.places = places;
  layout.staggered = 1;
  layout.boundary_phase[3][0] = -1.0;
  for (int mu = 0; mu < 4; ++mu) layout.direction[mu] = mu * (int64_t)(sizeof(su3_matrix) / sizeof(double));
  plaquette_gauge gauge;
  CHECK(plaquette_gauge_create(&gauge, lattice, field, sites * sizeof(site) / sizeof(double), &layout));
  if (argc > 1 && !prints_bits) CHECK(plaquette_gauge_write(gauge, argv[1], 1));
  double average;
  CHECK(plaquette_gauge_plaquette(gauge, &average));

  plaquette_action action = PLAQUETTE_ACTION_DEFAULTS;
  plaquette_rule rule = PLAQUETTE_RULE_DEFAULTS;
  action.mass = 0.2, action.csw = 1.0, rule.tolerance = 1e-12;
  plaquette_solver krylov, multigrid;
  plaquette_propagator quark, same;
  plaquette_result results[12];
  CHECK(plaquette_krylov_create(&krylov, gauge, &action, NULL));
  CHECK(plaquette_propagator_solve(&quark, krylov, NULL, &rule, results));
  if (prints_bits) {
    double pion[8], nucleon[16], rho[8];
    CHECK(plaquette_pion(quark, pion, 8));
    CHECK(plaquette_rho(quark, rho, 8));
    CHECK(plaquette_nucleon(quark, 1, (const int[3]){0, 1, 0}, nucleon, 16));
    if (rank == 0) {
      printf("%a\n", average);
      for (int n = 0; n < 12; ++n)
        printf("%a %a %a %d\n", results[n].iterated, results[n].device, results[n].reference, results[n].iterations);
      for (int t = 0; t < 8; ++t) printf("%a %a %a %a\n", pion[t], rho[t], nucleon[2 * t], nucleon[2 * t + 1]);
    }
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return 0;
  }
  CHECK(plaquette_multigrid_create(&multigrid, gauge, &action, NULL));
  CHECK(plaquette_propagator_solve(&same, multigrid, NULL, &rule, results));
  double pion[8], again[8], worst = 0.0;
  CHECK(plaquette_pion(quark, pion, 8));
  CHECK(plaquette_pion(same, again, 8));
  for (int t = 0; t < 8; ++t) worst = fmax(worst, fabs(again[t] / pion[t] - 1.0));
  /* Two residuals of 1e-12 times the condition of M. */
  int agree = worst <= 2e-11 && waves_are_right(&options);
  agree = vectors_and_moving_links(lattice, krylov, &rule, &action, pion, field, sites * sizeof(site) / sizeof(double),
                                   &layout) && agree;
#ifdef WITH_MPI
  agree = is_refused_between_groups() && ends_on_all_ranks(krylov) && ends_on_all_ranks(multigrid) && agree;
#endif
  if (rank == 0) {
    for (int t = 0; t < 8; ++t) printf("%.15e\n", pion[t]);
    fprintf(stderr, "plaquette %.12f; two solvers' pions differ by %.1e\n", average, worst);
    printf("VERIFIED %s\n", agree ? "PASSED" : "FAILED");
  }
  CHECK(plaquette_propagator_free(&quark));
  CHECK(plaquette_propagator_free(&same));
  CHECK(plaquette_solver_free(&krylov));
  CHECK(plaquette_solver_free(&multigrid));
  CHECK(plaquette_gauge_free(&gauge));
  CHECK(plaquette_lattice_free(&lattice));
  free(field);
  free(places);
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return agree ? 0 : 1;
}
