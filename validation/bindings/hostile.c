/* SPDX-License-Identifier: BSD-3-Clause */
/* Callers that do everything wrong: each is refused with a code and a sentence, and what is right works afterwards. */
#include <math.h>
#include <plaquette/plaquette.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect_at(int line, const char* call, int found, int expected, const char* words) {
  const int said = expected == PLAQUETTE_SUCCESS || words == NULL || strstr(plaquette_last_message(), words) != NULL;
  if (found == expected && said) return;
  ++failures;
  fprintf(stderr, "line %d: %s: expected %d (%s) with '%s', found %d: %s\n", line, call, expected,
          plaquette_error_text(expected), words == NULL ? "" : words, found, plaquette_last_message());
}
#define EXPECT(call, code, words) expect_at(__LINE__, #call, call, code, words)
#define OK(call) EXPECT(call, PLAQUETTE_SUCCESS, NULL)
#define REFUSED(call, words) EXPECT(call, PLAQUETTE_UNUSABLE_INPUT, words)
#define NO_HANDLE(call) EXPECT(call, PLAQUETTE_INVALID_HANDLE, "no such")

enum { sites = 4 * 4 * 4 * 4, link_reals = 72 * sites, spinor_reals = 24 * sites };
static const int extents[4] = {4, 4, 4, 4};

static double* smooth_links(void) {
  double* const u = calloc(link_reals, sizeof *u);
  if (u == NULL) exit(PLAQUETTE_OUT_OF_MEMORY);
  for (int n = 0; n < 4 * sites; ++n) {
    const double a = 0.4 * sin(1.0 + n / 4 + 3 * (n % 4)), b = 0.3 * cos(0.7 * n), phases[3] = {a, b, -a - b};
    for (int c = 0; c < 3; ++c) u[18 * n + 8 * c] = cos(phases[c]), u[18 * n + 8 * c + 1] = sin(phases[c]);
  }
  return u;
}

static double* numbers(double scale) {
  double* const b = malloc(sizeof *b * spinor_reals);
  if (b == NULL) exit(PLAQUETTE_OUT_OF_MEMORY);
  for (int i = 0; i < spinor_reals; ++i) b[i] = scale * sin(1.0 + i);
  return b;
}

static void wrong_lattices(void) {
  plaquette_lattice lattice;
  const int odd[4] = {4, 4, 3, 4}, negative[4] = {4, -4, 4, 4}, huge[4] = {1 << 30, 4, 4, 4};
  const int most[4] = {512, 1024, 1024, 1024}, more[4] = {32768, 32768, 32768, 32768};
  REFUSED(plaquette_lattice_create(NULL, extents, NULL), "null");
  REFUSED(plaquette_lattice_create(&lattice, NULL, NULL), "null");
  REFUSED(plaquette_lattice_create(&lattice, odd, NULL), "4x4x3x4");
  REFUSED(plaquette_lattice_create(&lattice, negative, NULL), "even extents");
  REFUSED(plaquette_lattice_create(&lattice, huge, NULL), "even extents");
  REFUSED(plaquette_lattice_create(&lattice, more, NULL), "absurdly large");
  plaquette_lattice_options options = PLAQUETTE_LATTICE_DEFAULTS;
  options.grid[0] = 2, options.grid[1] = options.grid[2] = options.grid[3] = 1;
  REFUSED(plaquette_lattice_create(&lattice, extents, &options), "grid of 1 ranks");
  options.size = 3;
  REFUSED(plaquette_lattice_create(&lattice, extents, &options), "size = 3");
  /* It can be named, but no array is large enough for it. */
  double few[72] = {0};
  plaquette_link_layout layout;
  plaquette_gauge gauge;
  OK(plaquette_lattice_create(&lattice, most, NULL));
  OK(plaquette_link_layout_dense(&layout, most, PLAQUETTE_X_FASTEST));
  REFUSED(plaquette_gauge_create(&gauge, lattice, few, 72, &layout), "at least");
  OK(plaquette_lattice_free(&lattice));
}

static void wrong_links(plaquette_lattice lattice) {
  double* const u = smooth_links();
  plaquette_gauge gauge = {7};
  plaquette_link_layout layout, wrong;
  OK(plaquette_link_layout_dense(&layout, extents, PLAQUETTE_X_FASTEST));
  REFUSED(plaquette_link_layout_dense(&wrong, extents, 2), "order of sites");
  REFUSED(plaquette_gauge_create(&gauge, lattice, NULL, link_reals, &layout), "null");
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, link_reals, NULL), "null");
  REFUSED(plaquette_gauge_create(NULL, lattice, u, link_reals, &layout), "null");
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, link_reals - 1, &layout), "at least");
  wrong = layout, wrong.site[3] *= 2;
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, link_reals, &wrong), "strides");
  wrong = layout, wrong.first = -2;
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, link_reals, &wrong), "strides");
  wrong = layout, wrong.site[0] = 0;
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, link_reals, &wrong), "another one");
  wrong = layout, wrong.site[0] = INT64_MAX;
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, link_reals, &wrong), "2^40");
  wrong = layout, wrong.number = 9;
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, link_reals, &wrong), "type of numbers");
  wrong = layout, wrong.boundary_phase[3][0] = 0.5;
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, link_reals, &wrong), "length 1");
  wrong = layout, wrong.boundary_phase[3][0] = NAN;
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, link_reals, &wrong), "length 1");
  /* Lengths that can be addressed and are not there: refused, or no memory is taken for them. */
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, (size_t)1 << 45, &layout), "memory of this machine");
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, SIZE_MAX, &layout), "memory of this machine");
  wrong = layout, wrong.site[3] = (int64_t)1 << 32;
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, (size_t)1 << 33, &wrong), "of 8589934592 reals");
  if (gauge.key != 0) ++failures, fprintf(stderr, "a refused gauge field left a handle\n");
  OK(plaquette_gauge_create(&gauge, lattice, u, (size_t)1 << 33, &layout));
  double* const back = smooth_links();
  memset(back, 0, sizeof *back * link_reals);
  OK(plaquette_gauge_copy(gauge, back, link_reals, &layout));
  if (memcmp(back, u, sizeof *back * link_reals) != 0) ++failures, fprintf(stderr, "other links came back\n");
  wrong = layout, wrong.site[0] = 0;
  REFUSED(plaquette_gauge_copy(gauge, back, link_reals, &wrong), "another one");
  wrong = layout, wrong.number = 7;
  REFUSED(plaquette_gauge_copy(gauge, back, link_reals, &wrong), "type of numbers");
  REFUSED(plaquette_gauge_copy(gauge, back, link_reals - 1, &layout), "at least");
  REFUSED(plaquette_gauge_copy(gauge, NULL, link_reals, &layout), "null");
  REFUSED(plaquette_gauge_copy(gauge, back, link_reals, NULL), "null");
  free(back);
  OK(plaquette_gauge_free(&gauge));
  const double kept = u[100 * 72];
  u[100 * 72] = NAN;
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, link_reals, &layout), "SU(3)");
  u[100 * 72] = kept + 1e-6;
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, link_reals, &layout), "SU(3)");
  u[100 * 72] = INFINITY;
  REFUSED(plaquette_gauge_create(&gauge, lattice, u, link_reals, &layout), "SU(3)");
  REFUSED(plaquette_gauge_read(&gauge, lattice, "/no/such/file"), "/no/such/file");
  REFUSED(plaquette_gauge_read(&gauge, lattice, NULL), "null");
  free(u);
}

static int never_goes_on(void* asked) { return ++*(int*)asked < 1; }

/* data: four records; the first counts the calls, the others keep what was told. */
static int stops_at_third(const plaquette_progress* progress, void* data) {
  plaquette_progress* const kept = data;
  const int64_t call = ++kept[0].step;
  if (call < 4) kept[call] = *progress;
  return call >= 3;
}

static void wrong_solves(plaquette_lattice lattice, plaquette_gauge gauge) {
  plaquette_solver solver;
  plaquette_propagator quark;
  plaquette_action action = PLAQUETTE_ACTION_DEFAULTS, bad;
  plaquette_rule rule = PLAQUETTE_RULE_DEFAULTS;
  plaquette_result results[12];
  double *const b = numbers(1.0), *const x = numbers(0.0), pion[4];
  action.mass = 0.3;
  double mass = 0.0;
  OK(plaquette_mass_of_kappa(0.125, 1.0, 1.0, &mass));
  if (mass != 0.0) ++failures, fprintf(stderr, "kappa 1/8: found a mass of %g\n", mass);
  OK(plaquette_mass_of_kappa(0.125, 2.0, 1.0, &mass));
  if (mass != 1.5) ++failures, fprintf(stderr, "kappa 1/8, anisotropy 2: found a mass of %g\n", mass);
  REFUSED(plaquette_mass_of_kappa(0.0, 1.0, 1.0, &mass), "kappa");
  REFUSED(plaquette_mass_of_kappa(NAN, 1.0, 1.0, &mass), "kappa");
  REFUSED(plaquette_mass_of_kappa(0.1, 0.0, 1.0, &mass), "anisotropy");
  REFUSED(plaquette_mass_of_kappa(0.1, 1.0, 1.0, NULL), "null");
  bad = action, bad.mass = NAN;
  REFUSED(plaquette_krylov_create(&solver, gauge, &bad, NULL), "finite");
  bad = action, bad.anisotropy = 0.0;
  REFUSED(plaquette_krylov_create(&solver, gauge, &bad, NULL), "anisotropy");
  plaquette_krylov_options krylov = PLAQUETTE_KRYLOV_DEFAULTS;
  krylov.columns = 0;
  REFUSED(plaquette_krylov_create(&solver, gauge, &action, &krylov), "columns");
  krylov.columns = 1, krylov.outer = PLAQUETTE_HALF;
  REFUSED(plaquette_krylov_create(&solver, gauge, &action, &krylov), "precision");
  krylov.outer = PLAQUETTE_DOUBLE, krylov.device = 5;
  REFUSED(plaquette_krylov_create(&solver, gauge, &action, &krylov), "device");
  plaquette_multigrid_options multigrid = PLAQUETTE_MULTIGRID_DEFAULTS;
  multigrid.levels = 1;
  REFUSED(plaquette_multigrid_create(&solver, gauge, &action, &multigrid), "levels");
  if (!plaquette_has_gpu()) {
    krylov.device = PLAQUETTE_GPU;
    EXPECT(plaquette_krylov_create(&solver, gauge, &action, &krylov), PLAQUETTE_NOT_AVAILABLE, "gpu");
  }
  krylov.device = PLAQUETTE_CPU;
  OK(plaquette_krylov_create(&solver, gauge, &action, &krylov));
  REFUSED(plaquette_solve(solver, NULL, b, spinor_reals, 1, NULL, NULL, results), "null");
  REFUSED(plaquette_solve(solver, x, NULL, spinor_reals, 1, NULL, NULL, results), "null");
  REFUSED(plaquette_solve(solver, x, b, spinor_reals, 2, NULL, NULL, results), "at least");
  REFUSED(plaquette_solve(solver, x, b, spinor_reals - 1, 1, NULL, NULL, results), "at least");
  REFUSED(plaquette_solve(solver, x, b, (size_t)1 << 45, 1, NULL, NULL, results), "memory of this machine");
  REFUSED(plaquette_solve(solver, x, b, spinor_reals, 0, NULL, NULL, results), "columns");
  REFUSED(plaquette_solve(solver, x, b, spinor_reals, -3, NULL, NULL, results), "columns");
  rule.tolerance = NAN;
  REFUSED(plaquette_solve(solver, x, b, spinor_reals, 1, NULL, &rule, results), "tolerance");
  rule.tolerance = 1e-10, rule.iteration_limit = 0;
  REFUSED(plaquette_solve(solver, x, b, spinor_reals, 1, NULL, &rule, results), "iteration");
  plaquette_source source = PLAQUETTE_SOURCE_DEFAULTS;
  source.position[2] = 4;
  REFUSED(plaquette_propagator_solve(&quark, solver, &source, NULL, results), "outside");
  source.position[2] = 0, source.kind = 17;
  REFUSED(plaquette_propagator_solve(&quark, solver, &source, NULL, results), "kind of source");
  b[77] = NAN;
  REFUSED(plaquette_solve(solver, x, b, spinor_reals, 1, NULL, NULL, results), "finite");
  b[77] = 0.5;

  /* What did not converge, or was not judged, does not pass. */
  rule.iteration_limit = 1;
  EXPECT(plaquette_solve(solver, x, b, spinor_reals, 1, NULL, &rule, results), PLAQUETTE_NO_CONVERGENCE, "failed");
  if (results[0].passed || !(results[0].reference > 1e-3)) ++failures, fprintf(stderr, "one iteration passed\n");
  rule.iteration_limit = 1000, rule.judge = 0;
  EXPECT(plaquette_solve(solver, x, b, spinor_reals, 1, NULL, &rule, results), PLAQUETTE_NOT_VERIFIED, "not judged");
  if (results[0].passed || !isnan(results[0].reference)) ++failures, fprintf(stderr, "what was not judged passed\n");
  rule.judge = 1, rule.iteration_limit = 1;
  EXPECT(plaquette_propagator_solve(&quark, solver, NULL, &rule, results), PLAQUETTE_NO_CONVERGENCE, "failed");
  EXPECT(plaquette_pion(quark, pion, 4), PLAQUETTE_NO_CONVERGENCE, "failed");
  REFUSED(plaquette_pion(quark, pion, 3), "room for 4");
  REFUSED(plaquette_pion(quark, NULL, 4), "null");
  REFUSED(plaquette_meson(quark, 16, NULL, b, 8), "meson");
  REFUSED(plaquette_meson_along(quark, 15, 4, NULL, b, 8), "direction");
  REFUSED(plaquette_meson_along(quark, 15, 2, NULL, b, 6), "room for 8");
  REFUSED(plaquette_nucleon(quark, 2, NULL, b, 8), "parity");
  REFUSED(plaquette_nucleon(quark, 1, NULL, NULL, 8), "null");
  plaquette_propagator other = {0};
  REFUSED(plaquette_propagator_smear(&other, quark, gauge, 1.0, 0), "steps");
  REFUSED(plaquette_propagator_sequential(&other, solver, quark, 15, -1, NULL, NULL, results), "time");
  NO_HANDLE(plaquette_propagator_sequential(&other, solver, other, 15, 1, NULL, NULL, results));
  REFUSED(plaquette_propagator_write(quark, "file", 2, 0), "style");
  REFUSED(plaquette_propagator_read(&other, lattice, "/no/such/file"), "/no/such/file");
  if (other.key != 0) ++failures, fprintf(stderr, "a handle without an object is not zero\n");
  OK(plaquette_propagator_free(&quark));

  /* Links: smearing, flow, gauges. */
  plaquette_gauge made = {0};
  plaquette_smearing smearing = PLAQUETTE_SMEARING_DEFAULTS;
  smearing.kind = 3;
  REFUSED(plaquette_gauge_smear(&made, gauge, &smearing), "smearing");
  smearing.kind = PLAQUETTE_APE, smearing.weight = NAN;
  REFUSED(plaquette_gauge_smear(&made, gauge, &smearing), "weights");
  smearing.kind = PLAQUETTE_HYP, smearing.weight = 0.1, smearing.spatial = 1;
  REFUSED(plaquette_gauge_smear(&made, gauge, &smearing), "HYP");
  char remark[200] = "?";
  OK(plaquette_gauge_remark(gauge, remark, sizeof remark));
  if (remark[0] != '\0') ++failures, fprintf(stderr, "there is a remark: %s\n", remark);
  REFUSED(plaquette_gauge_remark(gauge, NULL, 5), "text");
  REFUSED(plaquette_gauge_remark(gauge, remark, 0), "room");
  REFUSED(plaquette_gauge_write(gauge, "", 1), "name of a file");
  size_t points = 0;
  double history[9], t0 = 0.0, quality[2];
  REFUSED(plaquette_gauge_flow(&made, gauge, 1.0, 0.0, history, 9, &points, &t0), "step");
  REFUSED(plaquette_gauge_flow(&made, gauge, 0.1, 0.05, history, 8, &points, &t0), "room for 9");
  OK(plaquette_gauge_flow(NULL, gauge, 0.1, 0.05, history, 9, &points, &t0));
  if (points != 3 || !(history[7] <= history[1]) || !isnan(t0)) ++failures, fprintf(stderr, "the flow is wrong\n");
  REFUSED(plaquette_gauge_fix(&made, gauge, 2, 1e-10, 10, quality), "gauge");
  REFUSED(plaquette_gauge_fix(&made, gauge, PLAQUETTE_LANDAU, NAN, 10, quality), "tolerance");
  OK(plaquette_gauge_fix(&made, gauge, PLAQUETTE_LANDAU, 1e-10, 1000, quality));
  if (!(quality[1] <= 1e-10)) ++failures, fprintf(stderr, "the gauge is not fixed\n");
  OK(plaquette_gauge_free(&made));
  double g[18 * sites], off = 0.0;
  REFUSED(plaquette_gauge_fix_by(&made, gauge, PLAQUETTE_LANDAU, 1e-10, 1000, NULL, g, 18), "room for 4608");
  OK(plaquette_gauge_fix_by(&made, gauge, PLAQUETTE_LANDAU, 1e-10, 1000, NULL, g, 18 * sites));
  for (int i = 0; i < 18; ++i) off += g[i] * g[i] / 3.0;
  if (!(fabs(off - 1.0) <= 1e-12)) ++failures, fprintf(stderr, "g is not in SU(3)\n");
  OK(plaquette_gauge_free(&made));

  /* And what is right is solved. */
  plaquette_rule endless = PLAQUETTE_RULE_DEFAULTS;
  endless.tolerance = 1e-300, endless.iteration_limit = 100000000;
  int asked = 0;
  OK(plaquette_stop_function(never_goes_on, &asked));
  EXPECT(plaquette_solve(solver, x, b, spinor_reals, 1, NULL, &endless, results), PLAQUETTE_INTERRUPTED, "not judged");
  OK(plaquette_stop_function(NULL, NULL));
  if (asked != 1) ++failures, fprintf(stderr, "the stop function was asked %d times\n", asked);
  /* What a progress function stops at its third call is there, and no verdict passes. */
  const plaquette_propagator none = {0};
  plaquette_propagator unfinished = none;
  plaquette_progress reached[4] = {{0, NULL, 0, 0, 0.0, 0.0, 0.0}};
  memset(x, 0, sizeof *x * spinor_reals), memset(results, 0, sizeof results[0]);
  OK(plaquette_progress_function(stops_at_third, reached));
  EXPECT(plaquette_solve(solver, x, b, spinor_reals, 1, NULL, &endless, results), PLAQUETTE_INTERRUPTED, "not judged");
  OK(plaquette_progress_function(stops_at_third, memset(reached, 0, sizeof reached)));
  EXPECT(plaquette_propagator_solve(&unfinished, solver, NULL, &endless, NULL), PLAQUETTE_INTERRUPTED, "not judged");
  OK(plaquette_progress_function(NULL, NULL));
  EXPECT(plaquette_pion(unfinished, pion, 4), PLAQUETTE_NO_CONVERGENCE, "not judged");
  OK(plaquette_propagator_free(&unfinished));
  if (!(results[0].device < 1.0 && results[0].iterations > 2 && !results[0].passed && x[0] != 0.0 && pion[0] > 0.0))
    ++failures, fprintf(stderr, "a solve that was stopped has no solution\n");
  if (reached[0].step != 3 || strcmp(reached[3].what, "solve") != 0 || reached[3].size != sizeof reached[3] ||
      reached[3].limit != 100000000 || reached[3].tolerance != 1e-300 || reached[1].step != 1 || reached[2].step != 2 ||
      reached[3].step != 3 || !(reached[3].residual < reached[1].residual) ||
      !(reached[3].seconds > reached[1].seconds))
    ++failures, fprintf(stderr, "progress is not told right\n");
  OK(plaquette_solve(solver, x, b, spinor_reals, 1, NULL, NULL, results));
  if (!results[0].passed || !(results[0].reference <= 1.1e-10)) ++failures, fprintf(stderr, "the solve did not pass\n");
  /* A propagator is judged with the source that it has: of these links, or of smeared ones. */
  plaquette_propagator judged = {0};
  source = (plaquette_source)PLAQUETTE_SOURCE_DEFAULTS;
  source.kind = PLAQUETTE_GAUSSIAN;
  smearing = (plaquette_smearing)PLAQUETTE_SMEARING_DEFAULTS;
  OK(plaquette_gauge_smear(&made, gauge, &smearing));
  OK(plaquette_propagator_solve_smeared(&quark, solver, &source, made, NULL, NULL));
  OK(plaquette_propagator_judge_smeared(&judged, solver, quark, &source, made, NULL, NULL));
  OK(plaquette_propagator_free(&judged));
  EXPECT(plaquette_propagator_judge(&judged, solver, quark, &source, NULL, NULL), PLAQUETTE_NOT_VERIFIED, "failed");
  NO_HANDLE(plaquette_propagator_judge_smeared(&judged, solver, quark, &source, (plaquette_gauge){0}, NULL, NULL));
  OK(plaquette_propagator_free(&quark));
  OK(plaquette_gauge_free(&made));
  OK(plaquette_solver_free(&solver));
  free(b);
  free(x);
}

/* Arrays that are not where the layout says. */
static void wrong_memory(plaquette_lattice lattice, plaquette_gauge gauge) {
  double* const u = smooth_links();
  plaquette_gauge made = {0};
  plaquette_device_memory memory = {0};
  plaquette_link_layout layout;
  void* address = u;
  const int where = plaquette_has_gpu() ? PLAQUETTE_UNUSABLE_INPUT : PLAQUETTE_NOT_AVAILABLE;
  OK(plaquette_link_layout_dense(&layout, extents, PLAQUETTE_X_FASTEST));
  layout.number = PLAQUETTE_DOUBLE + PLAQUETTE_ON_DEVICE;
  EXPECT(plaquette_gauge_create(&made, lattice, u, link_reals, &layout), where, plaquette_has_gpu() ? "host" : "gpu");
  layout.number = 2 + PLAQUETTE_ON_DEVICE;
  REFUSED(plaquette_gauge_create(&made, lattice, u, link_reals, &layout), "type of numbers");
  plaquette_operator m;
  plaquette_spinor_layout spinors;
  OK(plaquette_operator_create(&m, gauge, NULL, PLAQUETTE_CPU));
  OK(plaquette_spinor_layout_dense(&spinors, extents, PLAQUETTE_X_FASTEST));
  spinors.memory = 2;
  REFUSED(plaquette_operator_apply(m, u, u + spinor_reals, spinor_reals, &spinors, 0), "PLAQUETTE_ON_DEVICE");
  spinors.memory = PLAQUETTE_ON_DEVICE;
  EXPECT(plaquette_operator_apply(m, u, u + spinor_reals, spinor_reals, &spinors, 0), where, NULL);
  OK(plaquette_operator_free(&m));
  NO_HANDLE(plaquette_device_memory_read(memory, u, 8));
  if (plaquette_has_gpu()) {
    double back[2] = {0.0, 0.0};
    OK(plaquette_device_memory_create(&memory, lattice, sizeof back, &address, NULL));
    OK(plaquette_device_memory_write(memory, u, sizeof back));
    OK(plaquette_device_memory_read(memory, back, sizeof back));
    if (back[0] != u[0] || back[1] != u[1]) ++failures, fprintf(stderr, "memory of the device is another\n");
    REFUSED(plaquette_device_memory_read(memory, back, 3 * sizeof back), "at most 16 bytes");
    REFUSED(plaquette_device_memory_write(memory, NULL, 8), "null");
  } else {
    EXPECT(plaquette_device_memory_create(&memory, lattice, 16, &address, NULL), PLAQUETTE_NOT_AVAILABLE, "gpu");
    if (address != NULL) ++failures, fprintf(stderr, "there is an address of no memory\n");
  }
  OK(plaquette_device_memory_free(&memory));
  free(u);
}

/* Modes that are none are refused; those of another solver are taken, and solve as they did there. */
static void wrong_modes(void) {
  enum { tiny = 2 * 2 * 2 * 4, size = 24 * tiny };
  const int box[4] = {2, 2, 2, 4};
  double *const u = smooth_links(), vectors[4 * size], values[4], residuals[4], pion[2][4], mass = 0.4;
  plaquette_lattice lattice;
  plaquette_gauge gauge;
  plaquette_link_layout layout;
  plaquette_overlap first, second;
  plaquette_propagator quark;
  plaquette_overlap_options options = PLAQUETTE_OVERLAP_DEFAULTS;
  plaquette_rule rule = PLAQUETTE_RULE_DEFAULTS;
  int count = 0;
  options.kernel_modes = 4, options.modes = 0, rule.tolerance = 1e-7;
  OK(plaquette_lattice_create(&lattice, box, NULL));
  OK(plaquette_link_layout_dense(&layout, box, PLAQUETTE_X_FASTEST));
  OK(plaquette_gauge_create(&gauge, lattice, u, link_reals, &layout));
  OK(plaquette_overlap_create(&first, gauge, &options));
  OK(plaquette_overlap_mode_count(first, PLAQUETTE_MODES_OF_H, &count));
  if (count != 4) ++failures, fprintf(stderr, "found %d modes\n", count);
  REFUSED(plaquette_overlap_mode_count(first, 3, &count), "kind of modes");
  REFUSED(plaquette_overlap_mode_values(first, PLAQUETTE_MODES_OF_H, values, residuals, 3), "room for 4");
  OK(plaquette_overlap_mode_values(first, PLAQUETTE_MODES_OF_H, values, residuals, 4));
  OK(plaquette_overlap_mode_values(first, PLAQUETTE_MODES_OF_D_PLUS, NULL, NULL, 0)); /* there are none */
  REFUSED(plaquette_overlap_mode_vectors(first, PLAQUETTE_MODES_OF_H, vectors, size, NULL), "at least");
  REFUSED(plaquette_overlap_mode_vectors(first, PLAQUETTE_MODES_OF_H, NULL, 4 * size, NULL), "null");
  OK(plaquette_overlap_mode_vectors(first, PLAQUETTE_MODES_OF_H, vectors, 4 * size, NULL));
  plaquette_modes modes = PLAQUETTE_MODES_DEFAULTS, wrong;
  modes.count = 4, modes.values = values, modes.vectors = vectors, modes.length = 4 * size;
  OK(plaquette_overlap_create_with_modes(&second, gauge, &options, &modes, NULL, NULL));
  for (int n = 0; n < 2; ++n) {
    OK(plaquette_overlap_solve(&quark, n == 0 ? first : second, NULL, &mass, 1, &rule));
    OK(plaquette_pion(quark, pion[n], 4));
    OK(plaquette_propagator_free(&quark));
  }
  for (int t = 0; t < 4; ++t)
    if (!(fabs(pion[1][t] / pion[0][t] - 1.0) <= 4e-6)) ++failures, fprintf(stderr, "given modes change a pion\n");
  OK(plaquette_overlap_free(&second));
  wrong = modes, wrong.size = 8;
  REFUSED(plaquette_overlap_create_with_modes(&second, gauge, &options, &wrong, NULL, NULL), "size = 8");
  wrong = modes, wrong.count = -1;
  REFUSED(plaquette_overlap_create_with_modes(&second, gauge, &options, &wrong, NULL, NULL), "count");
  wrong = modes, wrong.vectors = NULL;
  REFUSED(plaquette_overlap_create_with_modes(&second, gauge, &options, &wrong, NULL, NULL), "null");
  wrong = modes, wrong.length = 4 * size - 1;
  REFUSED(plaquette_overlap_create_with_modes(&second, gauge, &options, &wrong, NULL, NULL), "at least");
  vectors[5] += 1e-3;
  REFUSED(plaquette_overlap_create_with_modes(&second, gauge, &options, &modes, NULL, NULL), "V^+ V - 1");
  vectors[5] -= 1e-3, values[3] *= 1.0 + 1e-5;
  REFUSED(plaquette_overlap_create_with_modes(&second, gauge, &options, &modes, NULL, NULL),
          "|H v - lambda v| of number 3");
  values[3] = NAN;
  REFUSED(plaquette_overlap_create_with_modes(&second, gauge, &options, &modes, NULL, NULL), "finite");
  if (second.key != 0) ++failures, fprintf(stderr, "refused modes left a handle\n");
  NO_HANDLE(plaquette_overlap_follow(first, (plaquette_gauge){0}));
  OK(plaquette_overlap_follow(first, gauge));
  OK(plaquette_overlap_mode_values(first, PLAQUETTE_MODES_OF_H, values, residuals, 4));
  OK(plaquette_overlap_free(&first));
  OK(plaquette_gauge_free(&gauge));
  OK(plaquette_lattice_free(&lattice));
  free(u);
}

/* Waves: meshes that are none, arrays of the wrong size; a right one moves and tells its verdict. */
static double norm_of(const double* a, int count) {
  double sum = 0.0;
  for (int i = 0; i < count; ++i) sum += a[i] * a[i];
  return sqrt(sum);
}

/* Solvers answer for the links that they follow, and for no others. */
static void moving_links(plaquette_lattice lattice) {
  plaquette_gauge links, fresh_links;
  plaquette_solver solver, fresh;
  plaquette_operator m;
  plaquette_propagator quark;
  plaquette_link_layout layout, wrong;
  plaquette_heatbath how = PLAQUETTE_HEATBATH_DEFAULTS;
  plaquette_action action = PLAQUETTE_ACTION_DEFAULTS;
  double *const u = smooth_links(), *const moved = smooth_links(), *const b = numbers(1.0), pion[4], expected[4];
  int64_t moves = -1;
  action.mass = 0.3;
  OK(plaquette_link_layout_dense(&layout, extents, PLAQUETTE_X_FASTEST));
  OK(plaquette_gauge_create(&links, lattice, u, link_reals, &layout));
  OK(plaquette_krylov_create(&solver, links, &action, NULL));
  OK(plaquette_operator_create(&m, links, &action, PLAQUETTE_CPU));
  how.sweeps = 2, how.beta = 5.7;
  OK(plaquette_gauge_heatbath(links, &how));
  OK(plaquette_gauge_moves(links, &moves));
  if (moves != 1) ++failures, fprintf(stderr, "moves: found %d\n", (int)moves);
  REFUSED(plaquette_propagator_solve(&quark, solver, NULL, NULL, NULL), "call follow");
  REFUSED(plaquette_operator_apply(m, b, b, spinor_reals, NULL, 0), "call follow");
  OK(plaquette_solver_follow(solver, links));
  OK(plaquette_operator_follow(m, links));
  OK(plaquette_operator_apply(m, b, b, spinor_reals, NULL, 0));
  OK(plaquette_propagator_solve(&quark, solver, NULL, NULL, NULL));
  OK(plaquette_pion(quark, pion, 4));
  OK(plaquette_propagator_free(&quark));
  OK(plaquette_gauge_copy(links, moved, link_reals, &layout));
  if (memcmp(u, moved, sizeof *u * link_reals) == 0) ++failures, fprintf(stderr, "the links did not move\n");
  OK(plaquette_gauge_create(&fresh_links, lattice, u, link_reals, &layout));
  OK(plaquette_gauge_assign(fresh_links, moved, link_reals, &layout));
  OK(plaquette_krylov_create(&fresh, fresh_links, &action, NULL));
  OK(plaquette_propagator_solve(&quark, fresh, NULL, NULL, NULL));
  OK(plaquette_pion(quark, expected, 4));
  if (memcmp(pion, expected, sizeof pion) != 0) ++failures, fprintf(stderr, "moved links: another pion\n");
  how.beta = NAN;
  REFUSED(plaquette_gauge_heatbath(links, &how), "beta");
  how.beta = 6.0, how.sweeps = -1;
  REFUSED(plaquette_gauge_heatbath(links, &how), "sweeps");
  how.sweeps = 1, how.device = 4;
  REFUSED(plaquette_gauge_heatbath(links, &how), "device");
  REFUSED(plaquette_gauge_to_device(links, 4), "device");
  OK(plaquette_gauge_to_device(links, PLAQUETTE_CPU));
  wrong = layout, wrong.site[0] = 0;
  REFUSED(plaquette_gauge_assign(links, u, link_reals, &wrong), "another one");
  REFUSED(plaquette_gauge_assign(links, NULL, link_reals, &layout), "null");
  REFUSED(plaquette_gauge_moves(links, NULL), "null");
  OK(plaquette_gauge_moves(links, &moves));
  if (moves != 1) ++failures, fprintf(stderr, "refused moves were counted\n");
  NO_HANDLE(plaquette_solver_follow(solver, (plaquette_gauge){0}));
  OK(plaquette_propagator_free(&quark));
  OK(plaquette_operator_free(&m));
  OK(plaquette_solver_free(&solver));
  OK(plaquette_solver_free(&fresh));
  OK(plaquette_gauge_free(&links));
  OK(plaquette_gauge_free(&fresh_links));
  free(u), free(moved), free(b);
}

/* From a source to a pion without an array, and what is refused on the way. */
static void vectors(plaquette_lattice lattice, plaquette_gauge gauge) {
  plaquette_solver solver;
  plaquette_operator m;
  plaquette_propagator quark, other;
  plaquette_vectors b, x, one, two, even, freed;
  plaquette_action action = PLAQUETTE_ACTION_DEFAULTS;
  plaquette_vectors_options options = PLAQUETTE_VECTORS_DEFAULTS, bad;
  plaquette_vector_system system = PLAQUETTE_VECTOR_SYSTEM_DEFAULTS;
  plaquette_operator_form form = PLAQUETTE_OPERATOR_FORM_DEFAULTS;
  plaquette_source source = PLAQUETTE_SOURCE_DEFAULTS;
  plaquette_result results[12];
  const plaquette_gauge none = {0};
  double pion[4], expected[4], squares[2], products[4], *const from = numbers(1.0), *const to = numbers(0.0);
  const double half[2] = {0.5, 0.0}, mu = 0.2;
  action.mass = 0.3;
  OK(plaquette_krylov_create(&solver, gauge, &action, NULL));
  OK(plaquette_operator_create(&m, gauge, &action, PLAQUETTE_CPU));
  OK(plaquette_vectors_create(&b, lattice, NULL));
  OK(plaquette_vectors_create(&x, lattice, &options));
  OK(plaquette_vectors_fill(b, &source, none, 0));
  OK(plaquette_solve_vectors(solver, x, b, NULL, NULL, results));
  OK(plaquette_propagator_of_vectors(&quark, x));
  OK(plaquette_propagator_solve(&other, solver, &source, NULL, NULL));
  OK(plaquette_pion(quark, pion, 4));
  OK(plaquette_pion(other, expected, 4));
  for (int t = 0; t < 4; ++t)
    if (pion[t] != expected[t]) ++failures, fprintf(stderr, "vectors: another pion\n");
  for (int n = 0; n < 12; ++n)
    if (!results[n].passed) ++failures, fprintf(stderr, "vectors: column %d did not pass\n", n);
  OK(plaquette_propagator_free(&other));
  source.position[3] = 1;
  OK(plaquette_propagator_solve(&other, solver, &source, NULL, NULL));
  OK(plaquette_pion(other, pion, 4));
  memcpy(expected, pion, sizeof pion);
  OK(plaquette_from_source(other, 3, pion, 4));
  for (int t = 0; t < 4; ++t)
    if (pion[t] != expected[(t + 1) % 4]) ++failures, fprintf(stderr, "a correlator does not begin at its source\n");
  double pairs[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  OK(plaquette_from_source(other, 3, pairs, 8));
  if (pairs[0] != 2 || pairs[1] != 3 || pairs[7] != 1) ++failures, fprintf(stderr, "pairs do not begin at their source\n");
  REFUSED(plaquette_from_source(other, 3, pion, 3), "expected 4 numbers");
  REFUSED(plaquette_from_source(other, 4, pion, 4), "direction");
  REFUSED(plaquette_from_source(other, 3, NULL, 4), "null");
  OK(plaquette_pion(quark, expected, 4));
  source.position[3] = 0;
  OK(plaquette_vectors_scale(x, half, 1));
  OK(plaquette_propagator_free(&quark));
  OK(plaquette_propagator_of_vectors(&quark, x));
  EXPECT(plaquette_pion(quark, pion, 4), PLAQUETTE_NOT_VERIFIED, "not judged");
  REFUSED(plaquette_from_source(quark, 3, pion, 4), "source is known");
  if (fabs(pion[1] / expected[1] - 0.25) > 1e-14) ++failures, fprintf(stderr, "vectors: were not scaled\n");

  /* M x by the operator, from an array and back. */
  options.columns = 1;
  OK(plaquette_vectors_create(&one, lattice, &options));
  OK(plaquette_vectors_create(&two, lattice, &options));
  OK(plaquette_vectors_read(one, from, spinor_reals, NULL));
  OK(plaquette_operator_apply_vectors(m, two, one, NULL));
  OK(plaquette_operator_apply(m, to, from, spinor_reals, NULL, 0));
  const double size = norm_of(to, spinor_reals);
  OK(plaquette_vectors_norm2(two, squares, 1));
  if (fabs(sqrt(squares[0]) / size - 1.0) > 1e-14) ++failures, fprintf(stderr, "vectors: another M x\n");
  OK(plaquette_vectors_read(one, to, spinor_reals, NULL));
  OK(plaquette_vectors_add(two, (const double[]){-1.0, 0.0}, 1, one));
  OK(plaquette_vectors_norm2(two, squares, 1));
  if (!(sqrt(squares[0]) <= 1e-15 * size)) ++failures, fprintf(stderr, "vectors: another M x, of the same size\n");
  OK(plaquette_vectors_write(one, from, spinor_reals, NULL));
  for (int i = 0; i < spinor_reals; ++i)
    if (!(fabs(from[i] - to[i]) <= 1e-14)) {
      ++failures, fprintf(stderr, "vectors: another array came back\n");
      break;
    }
  OK(plaquette_vectors_fill_random(one, 5, 0));
  OK(plaquette_vectors_copy(two, one));
  OK(plaquette_vectors_rotate_by_gamma_5(two));
  OK(plaquette_vectors_rotate_by_gamma_5(two));
  OK(plaquette_vectors_dot(one, two, products, 2));
  OK(plaquette_vectors_norm2(one, squares, 1));
  if (!(fabs(products[0] - squares[0]) + fabs(products[1]) <= 1e-14 * squares[0])) ++failures, fprintf(stderr, "vectors: <v, v> is not |v|^2\n");
  OK(plaquette_vectors_copy_columns(x, 3, one, 0, 1));
  OK(plaquette_vectors_zero(two));
  OK(plaquette_vectors_norm2(two, squares, 1));
  if (squares[0] != 0.0) ++failures, fprintf(stderr, "vectors: zero is not 0\n");

  /* On even sites: solved, but not judged. */
  options.sites = PLAQUETTE_EVEN_SITES;
  OK(plaquette_vectors_create(&even, lattice, &options));
  plaquette_vectors image;
  OK(plaquette_vectors_create(&image, lattice, &options));
  OK(plaquette_vectors_fill_random(even, 6, 0));
  system.mu_count = 1, system.mu = &mu, system.squared = 1;
  EXPECT(plaquette_solve_vectors(solver, image, even, NULL, &system, results), PLAQUETTE_NOT_VERIFIED, "not judged");
  if (!(results[0].device <= 2e-10)) ++failures, fprintf(stderr, "vectors: residual %g\n", results[0].device);

  REFUSED(plaquette_vectors_create(NULL, lattice, NULL), "null");
  bad = options, bad.columns = 0;
  REFUSED(plaquette_vectors_create(&freed, lattice, &bad), "columns");
  bad = options, bad.sites = 3;
  REFUSED(plaquette_vectors_create(&freed, lattice, &bad), "sites");
  bad = options, bad.precision = 3;
  REFUSED(plaquette_vectors_create(&freed, lattice, &bad), "precision");
  bad = options, bad.size = 1;
  REFUSED(plaquette_vectors_create(&freed, lattice, &bad), "size = 1");
  REFUSED(plaquette_solve_vectors(solver, one, b, NULL, NULL, NULL), "one shape");
  REFUSED(plaquette_solve_vectors(solver, b, b, NULL, NULL, NULL), "different");
  REFUSED(plaquette_solve_vectors(solver, image, even, NULL, &(plaquette_vector_system){.size = 2}, NULL), "size = 2");
  system.mu_count = 3;
  REFUSED(plaquette_solve_vectors(solver, image, even, NULL, &system, NULL), "mu");
  system.mu_count = 1, system.mu = NULL;
  REFUSED(plaquette_solve_vectors(solver, image, even, NULL, &system, NULL), "mu");
  form.mu_count = -1;
  REFUSED(plaquette_operator_apply_vectors(m, image, even, &form), "mu");
  REFUSED(plaquette_operator_apply_vectors(m, one, one, NULL), "different");
  REFUSED(plaquette_vectors_fill(b, NULL, none, -1), "first component");
  source.kind = PLAQUETTE_GAUSSIAN;
  REFUSED(plaquette_vectors_fill(b, &source, none, 0), "smearing_links");
  OK(plaquette_vectors_fill(b, &source, gauge, 0));
  REFUSED(plaquette_vectors_scale(b, half, 2), "for each of 12");
  REFUSED(plaquette_vectors_scale(b, NULL, 1), "null");
  REFUSED(plaquette_vectors_add(b, half, 1, one), "one shape");
  REFUSED(plaquette_vectors_dot(one, two, products, 1), "room for 2");
  REFUSED(plaquette_vectors_norm2(one, NULL, 1), "null");
  REFUSED(plaquette_vectors_read(one, NULL, spinor_reals, NULL), "null");
  REFUSED(plaquette_vectors_read(one, from, spinor_reals - 1, NULL), "at least");
  REFUSED(plaquette_vectors_write(b, to, spinor_reals, NULL), "at least");
  REFUSED(plaquette_propagator_of_vectors(&quark, one), "12 columns");
  plaquette_lattice twin;
  OK(plaquette_lattice_create(&twin, extents, NULL));
  OK(plaquette_vectors_create(&freed, twin, NULL));
  REFUSED(plaquette_solve_vectors(solver, x, freed, NULL, NULL, NULL), "another library");
  const plaquette_vectors gone = freed;
  OK(plaquette_vectors_free(&freed));
  NO_HANDLE(plaquette_vectors_zero(gone));
  NO_HANDLE(plaquette_vectors_zero((plaquette_vectors){gauge.key}));
  OK(plaquette_lattice_free(&twin));
  OK(plaquette_vectors_free(&b));
  OK(plaquette_vectors_free(&x));
  OK(plaquette_vectors_free(&one));
  OK(plaquette_vectors_free(&two));
  OK(plaquette_vectors_free(&even));
  OK(plaquette_vectors_free(&image));
  OK(plaquette_propagator_free(&quark));
  OK(plaquette_propagator_free(&other));
  OK(plaquette_operator_free(&m));
  OK(plaquette_solver_free(&solver));
  free(from), free(to);
}

static void waves(void) {
  const double vertices[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1};
  const int32_t elements[] = {0, 1, 2, 3, 4, 3, 2, 1}, outside[] = {0, 1, 2, 5, 4, 3, 2, 1};
  plaquette_waves made = {7}, copy;
  plaquette_wave_options options = PLAQUETTE_WAVE_DEFAULTS;
  plaquette_wave_mesh mesh = PLAQUETTE_WAVE_MESH_DEFAULTS, wrong;
  plaquette_wave_box box = PLAQUETTE_WAVE_BOX_DEFAULTS;
  mesh.vertices = vertices, mesh.vertex_count = 5, mesh.elements = elements, mesh.element_count = 2;
  REFUSED(plaquette_waves_create_on_mesh(&made, NULL, NULL), "null");
  wrong = mesh, wrong.size = 4;
  REFUSED(plaquette_waves_create_on_mesh(&made, &wrong, NULL), "size = 4");
  wrong = mesh, wrong.vertices = NULL;
  REFUSED(plaquette_waves_create_on_mesh(&made, &wrong, NULL), "null");
  wrong = mesh, wrong.elements = outside;
  REFUSED(plaquette_waves_create_on_mesh(&made, &wrong, NULL), "vertex 5 of 5");
  wrong = mesh, wrong.element_count = (size_t)1 << 39; /* its bytes can be addressed, and are not read */
  REFUSED(plaquette_waves_create_on_mesh(&made, &wrong, NULL), "elements");
  wrong.element_count = SIZE_MAX;
  REFUSED(plaquette_waves_create_on_mesh(&made, &wrong, NULL), "2^40");
  wrong = mesh, wrong.vertex_count = (size_t)1 << 39;
  REFUSED(plaquette_waves_create_on_mesh(&made, &wrong, NULL), "vertices");
  REFUSED(plaquette_waves_create_from_file(&made, "/no/such/file", NULL), "/no/such/file");
  box.cells[0] = 0;
  REFUSED(plaquette_waves_create(&made, &box, NULL), "cells");
  options.order = 10;
  REFUSED(plaquette_waves_create(&made, NULL, &options), "order");
  options.order = 3, options.precision = PLAQUETTE_HALF;
  REFUSED(plaquette_waves_create(&made, NULL, &options), "precision");
  if (made.key != 0) ++failures, fprintf(stderr, "a refused mesh left a handle\n");
  options.precision = PLAQUETTE_DOUBLE;
  OK(plaquette_waves_create_on_mesh(&made, &mesh, &options));
  enum { size = 4 * 2 * 20 };
  double state[size], at[3 * 40], dt, verdict[2], energy[2], time;
  int64_t shape[4];
  OK(plaquette_waves_extents(made, shape));
  if (shape[0] != 1 || shape[1] != 4 || shape[2] != 2 || shape[3] != 20) ++failures, fprintf(stderr, "another shape\n");
  REFUSED(plaquette_waves_positions(made, at, 119), "room for 120");
  OK(plaquette_waves_positions(made, at, 120));
  for (int i = 0; i < size; ++i) state[i] = i < 40 ? sin(at[3 * i]) : 0.0;
  REFUSED(plaquette_waves_set_state(made, state, size - 1, 0.0), "160 numbers");
  REFUSED(plaquette_waves_set_state(made, state, (size_t)1 << 60, 0.0), "160 numbers");
  REFUSED(plaquette_waves_set_state(made, state, size, NAN), "finite");
  OK(plaquette_waves_set_state(made, state, size, 0.25));
  REFUSED(plaquette_waves_energies(made, energy, 2), "room for 1");
  OK(plaquette_waves_energies(made, energy, 1));
  OK(plaquette_waves_stable_step(made, &dt));
  REFUSED(plaquette_waves_advance(made, 0, dt, 1, verdict), "step");
  REFUSED(plaquette_waves_advance(made, 1, NAN, 1, verdict), "step");
  EXPECT(plaquette_waves_advance(made, 1, dt, 0, verdict), PLAQUETTE_NOT_VERIFIED, "not judged");
  OK(plaquette_waves_advance(made, 2, dt, 1, verdict));
  OK(plaquette_waves_time(made, &time));
  OK(plaquette_waves_energies(made, energy + 1, 1));
  if (!(verdict[0] <= verdict[1] && fabs(time - 0.25 - 3 * dt) <= 1e-14 && energy[1] < energy[0] && energy[1] > 0.0))
    ++failures, fprintf(stderr, "waves do not move as they should\n");
  /* A step that is not stable is refused. */
  EXPECT(plaquette_waves_advance(made, 400, 100.0, 1, verdict), PLAQUETTE_UNUSABLE_INPUT, "the largest that is stable");
  OK(plaquette_waves_get_state(made, state, size));
  copy = made;
  OK(plaquette_waves_free(&made));
  NO_HANDLE(plaquette_waves_get_state(copy, state, size));
  NO_HANDLE(plaquette_waves_free(&copy));
}

static void freed_handles(plaquette_lattice lattice, plaquette_gauge gauge) {
  plaquette_solver solver = {0}, copy;
  plaquette_action action = PLAQUETTE_ACTION_DEFAULTS;
  double *const b = numbers(1.0), *const x = numbers(0.0), average;
  action.mass = 0.3;
  NO_HANDLE(plaquette_solve(solver, x, b, spinor_reals, 1, NULL, NULL, NULL));
  OK(plaquette_solver_free(&solver)); /* none */
  OK(plaquette_krylov_create(&solver, gauge, &action, NULL));
  copy = solver;
  OK(plaquette_solver_free(&solver));
  if (solver.key != 0) ++failures, fprintf(stderr, "a freed handle is not zero\n");
  NO_HANDLE(plaquette_solve(copy, x, b, spinor_reals, 1, NULL, NULL, NULL));
  NO_HANDLE(plaquette_solver_free(&copy));
  REFUSED(plaquette_solver_free(NULL), "null");
  const plaquette_gauge of_another_kind = {lattice.key};
  NO_HANDLE(plaquette_gauge_plaquette(of_another_kind, &average));
  const plaquette_gauge invented = {0x1234567812345678};
  NO_HANDLE(plaquette_gauge_plaquette(invented, &average));
  OK(plaquette_gauge_plaquette(gauge, &average));
  free(b);
  free(x);
}

/* Threads. Each solves for a right-hand side of its own, with its own solver or all with one. */
typedef struct {
  plaquette_solver solver;
  double scale;
  double *b, *x;
  int code;
  plaquette_result result;
} job;

static void* solve(void* argument) {
  job* const j = argument;
  j->code = 0;
  for (int n = 0; n < 3 && j->code == 0; ++n)
    j->code = plaquette_solve(j->solver, j->x, j->b, spinor_reals, 1, NULL, NULL, &j->result);
  return NULL;
}

static void threads(plaquette_gauge gauge, int solvers) {
  enum { count = 3 };
  plaquette_action action = PLAQUETTE_ACTION_DEFAULTS;
  plaquette_krylov_options options = PLAQUETTE_KRYLOV_DEFAULTS;
  options.columns = 1;
  plaquette_solver made[count];
  job jobs[count];
  pthread_t running[count];
  action.mass = 0.3;
  for (int n = 0; n < solvers; ++n) OK(plaquette_krylov_create(&made[n], gauge, &action, &options));
  for (int n = 0; n < count; ++n) {
    jobs[n] = (job){.solver = made[n % solvers], .b = numbers(1.0 + n), .x = numbers(0.0)};
    pthread_create(&running[n], NULL, solve, &jobs[n]);
  }
  for (int n = 0; n < count; ++n) pthread_join(running[n], NULL);
  for (int n = 0; n < count; ++n) {
    if (jobs[n].code != 0 || !jobs[n].result.passed) ++failures, fprintf(stderr, "a thread's solve did not pass\n");
    /* The right-hand sides are multiples of each other, and so are the solutions. */
    for (int i = 0; i < spinor_reals; ++i)
      if (!(fabs(jobs[n].x[i] / (1.0 + n) - jobs[0].x[i]) <= 1e-8)) {
        ++failures, fprintf(stderr, "a thread's solution is not its own\n");
        break;
      }
  }
  for (int n = 0; n < count; ++n) free(jobs[n].b), free(jobs[n].x);
  for (int n = 0; n < solvers; ++n) OK(plaquette_solver_free(&made[n]));
}

int main(void) {
  plaquette_lattice lattice;
  plaquette_gauge gauge;
  plaquette_link_layout layout;
  double* const u = smooth_links();
  if (plaquette_abi() != PLAQUETTE_ABI || strcmp(plaquette_version(), PLAQUETTE_VERSION) != 0) return 1;
  for (int code = -2; code < 90; ++code)
    if (plaquette_error_text(code) == NULL) return 1;
  OK(plaquette_lattice_create(&lattice, extents, NULL));
  OK(plaquette_link_layout_dense(&layout, extents, PLAQUETTE_X_FASTEST));
  OK(plaquette_gauge_create(&gauge, lattice, u, link_reals, &layout));
  wrong_lattices();
  wrong_links(lattice);
  wrong_solves(lattice, gauge);
  wrong_memory(lattice, gauge);
  wrong_modes();
  vectors(lattice, gauge);
  moving_links(lattice);
  waves();
  freed_handles(lattice, gauge);
  threads(gauge, 3);
  threads(gauge, 1);
  /* What is made of a lattice lives on when its handle has gone. */
  OK(plaquette_lattice_free(&lattice));
  double average;
  OK(plaquette_gauge_plaquette(gauge, &average));
  OK(plaquette_gauge_free(&gauge));
  free(u);
  printf(failures == 0 ? "all refused as they should be\n" : "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
