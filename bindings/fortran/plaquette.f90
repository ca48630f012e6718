! SPDX-License-Identifier: BSD-3-Clause
!> Plaquette for callers in Fortran 2008: plaquette.h by ISO_C_BINDING. Compile this file with your own compiler and link
!! libplaquette_c. Functions return a code; 0 is success. plaquette.h says what each does, docs/calling.md shows how.
!! plaquette_links_of_fortran and plaquette_spinors_of_fortran are the layouts of u(3, 3, 4, nx, ny, nz, nt), u(i, j, ...)
!! element (i, j), and of psi(3, 4, nx, ny, nz, nt, columns). Lengths are counted in reals, two a complex number. Options are
!! passed always: plaquette_source() and its like are the defaults.
module plaquette
  use, intrinsic :: iso_c_binding
  implicit none
  private :: text_of, length_of, name_for_c

  integer(c_int), parameter :: plaquette_success = 0, plaquette_not_verified = 1, plaquette_unusable_input = 2, &
    plaquette_no_convergence = 3, plaquette_out_of_memory = 4, plaquette_output_failed = 5, &
    plaquette_interrupted = 6, plaquette_not_available = 7, plaquette_invalid_handle = 8, plaquette_internal_error = 70
  integer(c_int), parameter :: plaquette_cpu = 0, plaquette_gpu = 1
  integer(c_int), parameter :: plaquette_double = 0, plaquette_single = 1, plaquette_half = 2
  integer(c_int), parameter :: plaquette_x_fastest = 0, plaquette_t_fastest = 1
  integer(c_int), parameter :: plaquette_degrand_rossi = 0, plaquette_nonrelativistic = 1, plaquette_dirac_pauli = 2, &
    plaquette_openqcd = 3, plaquette_tmlqcd = 4
  integer(c_int), parameter :: plaquette_point = 0, plaquette_wall = 1, plaquette_gaussian = 2, plaquette_z2 = 3, &
    plaquette_z4 = 4
  integer(c_int), parameter :: plaquette_on_device = 16
  integer(c_int), parameter :: plaquette_stout = 0, plaquette_ape = 1, plaquette_hyp = 2
  integer(c_int), parameter :: plaquette_landau = 0, plaquette_coulomb = 1
  integer(c_int), parameter :: plaquette_scidac = 0, plaquette_etmc = 1
  integer(c_int), parameter :: plaquette_modes_of_h = 0, plaquette_modes_of_d_plus = 1, plaquette_modes_of_d_minus = 2
  integer(c_int), parameter :: plaquette_all_sites = 0, plaquette_even_sites = 1, plaquette_odd_sites = 2
  integer(c_int), parameter :: plaquette_acoustics = 0, plaquette_maxwell = 1

  ! Handles; a new one is none.
  type, bind(c) :: plaquette_lattice
    integer(c_int64_t) :: key = 0
  end type
  type, bind(c) :: plaquette_gauge
    integer(c_int64_t) :: key = 0
  end type
  type, bind(c) :: plaquette_solver
    integer(c_int64_t) :: key = 0
  end type
  type, bind(c) :: plaquette_operator
    integer(c_int64_t) :: key = 0
  end type
  type, bind(c) :: plaquette_overlap
    integer(c_int64_t) :: key = 0
  end type
  type, bind(c) :: plaquette_propagator
    integer(c_int64_t) :: key = 0
  end type
  type, bind(c) :: plaquette_vectors
    integer(c_int64_t) :: key = 0
  end type
  type, bind(c) :: plaquette_waves
    integer(c_int64_t) :: key = 0
  end type

  ! Options begin with the size of the structure in C; a new one has the defaults.
  type, bind(c) :: plaquette_lattice_options
    integer(c_size_t) :: size = 40
    integer(c_int) :: grid(4) = 0, has_mpi = 0, communicator = 0, threads = 0
  end type
  !> How far a call has come; see plaquette.h. what: a C string.
  type, bind(c) :: plaquette_progress
    integer(c_size_t) :: size = 56
    type(c_ptr) :: what = c_null_ptr
    integer(c_int64_t) :: step = 0, limit = 0
    real(c_double) :: residual = 0, tolerance = 0, seconds = 0
  end type
  type, bind(c) :: plaquette_link_layout
    integer(c_size_t) :: size = 184
    integer(c_int) :: number = plaquette_double, staggered = 0
    integer(c_int64_t) :: first = 0, site(4) = 0, direction(4) = 0, row = 6, column = 2, imaginary = 1
    type(c_ptr) :: places = c_null_ptr
    complex(c_double_complex) :: boundary_phase(4) = (1.0_c_double, 0.0_c_double)
  end type
  type, bind(c) :: plaquette_action
    integer(c_size_t) :: size = 112
    real(c_double) :: mass = 0, csw = 0, csw_temporal = 0, anisotropy = 1, nu = 1
    complex(c_double_complex) :: boundary_phase(4) = [(1.0_c_double, 0.0_c_double), (1.0_c_double, 0.0_c_double), &
      (1.0_c_double, 0.0_c_double), (-1.0_c_double, 0.0_c_double)]
  end type
  type, bind(c) :: plaquette_spinor_layout
    integer(c_size_t) :: size = 96
    integer(c_int) :: basis = plaquette_degrand_rossi, memory = 0
    integer(c_int64_t) :: first = 0, site(4) = 0, spin = 6, colour = 2, imaginary = 1, column = 0
    type(c_ptr) :: places = c_null_ptr
  end type
  type, bind(c) :: plaquette_result
    real(c_double) :: iterated = 0, device = 0, reference = 0, tolerance = 0
    integer(c_int) :: iterations = 0, passed = 0
  end type
  type, bind(c) :: plaquette_rule
    integer(c_size_t) :: size = 24
    real(c_double) :: tolerance = 1e-10_c_double
    integer(c_int) :: iteration_limit = 10000, judge = 1
  end type
  type, bind(c) :: plaquette_source
    integer(c_size_t) :: size = 64
    integer(c_int) :: kind = plaquette_point, position(4) = 0, momentum(3) = 0, steps = 5
    real(c_double) :: radius = 2
    integer(c_int64_t) :: seed = 1
  end type
  type, bind(c) :: plaquette_krylov_options
    integer(c_size_t) :: size = 24
    integer(c_int) :: device = plaquette_cpu, outer = plaquette_double, inner = plaquette_single, columns = 12
  end type
  type, bind(c) :: plaquette_multigrid_options
    integer(c_size_t) :: size = 40
    integer(c_int) :: device = plaquette_cpu, levels = 3, null_vectors = 0, tune = 0, half_cycle = 0, columns = 12
    integer(c_int64_t) :: seed = 1
  end type
  type, bind(c) :: plaquette_overlap_options
    integer(c_size_t) :: size = 112
    integer(c_int) :: device = plaquette_cpu, kernel_modes = 8, modes = 4, reserved = 0
    real(c_double) :: rho = 1.4_c_double, mode_tolerance = 1e-6_c_double
    complex(c_double_complex) :: boundary_phase(4) = [(1.0_c_double, 0.0_c_double), (1.0_c_double, 0.0_c_double), &
      (1.0_c_double, 0.0_c_double), (-1.0_c_double, 0.0_c_double)]
    integer(c_int64_t) :: seed = 1
  end type

  type, bind(c) :: plaquette_smearing
    integer(c_size_t) :: size = 56
    integer(c_int) :: kind = plaquette_stout, steps = 1, spatial = 0, reserved = 0
    real(c_double) :: weight = 0.1_c_double, alpha(3) = [0.75_c_double, 0.6_c_double, 0.3_c_double]
  end type
  ! values, vectors: c_loc of real and of complex numbers; layout: c_loc of a plaquette_spinor_layout.
  type, bind(c) :: plaquette_modes
    integer(c_size_t) :: size = 48
    integer(c_int) :: count = 0, reserved = 0
    type(c_ptr) :: values = c_null_ptr, vectors = c_null_ptr
    integer(c_size_t) :: length = 0
    type(c_ptr) :: layout = c_null_ptr
  end type
  type, bind(c) :: plaquette_heatbath
    integer(c_size_t) :: size = 56
    integer(c_int) :: device = plaquette_cpu, heatbaths = 1, overrelaxations = 4, sweeps = 1
    real(c_double) :: beta = 6, anisotropy = 1
    integer(c_int64_t) :: seed = 1, first = 0
  end type
  type, bind(c) :: plaquette_vectors_options
    integer(c_size_t) :: size = 24
    integer(c_int) :: device = plaquette_cpu, columns = 12, sites = plaquette_all_sites, precision = plaquette_double
  end type
  ! mu: c_loc of one real number, or of one a column.
  type, bind(c) :: plaquette_vector_system
    integer(c_size_t) :: size = 32
    integer(c_int) :: dagger = 0, squared = 0, mu_count = 0, reserved = 0
    type(c_ptr) :: mu = c_null_ptr
  end type
  type, bind(c) :: plaquette_operator_form
    integer(c_size_t) :: size = 40
    integer(c_int) :: dagger = 0, gamma_5 = 0, mu_count = 0, reserved = 0
    real(c_double) :: shift = 0
    type(c_ptr) :: mu = c_null_ptr
  end type
  type, bind(c) :: plaquette_wave_options
    integer(c_size_t) :: size = 48
    integer(c_int) :: equations = plaquette_acoustics, order = 3, columns = 1, device = plaquette_cpu, &
      precision = plaquette_double, absorbing = 0, has_mpi = 0, communicator = 0
    real(c_double) :: upwinding = 1
  end type
  type, bind(c) :: plaquette_wave_box
    integer(c_size_t) :: size = 80
    integer(c_int) :: cells(3) = 4, periodic(3) = 0
    real(c_double) :: low(3) = -1, high(3) = 1
  end type
  ! vertices, elements, media: c_loc of vertices(3, :), of elements(4, :) of c_int numbered from 0, and of media(2, :).
  type, bind(c) :: plaquette_wave_mesh
    integer(c_size_t) :: size = 48
    type(c_ptr) :: vertices = c_null_ptr
    integer(c_size_t) :: vertex_count = 0
    type(c_ptr) :: elements = c_null_ptr
    integer(c_size_t) :: element_count = 0
    type(c_ptr) :: media = c_null_ptr
  end type

  interface
    integer(c_int) function plaquette_abi() bind(c)
      import
    end function
    integer(c_int) function plaquette_has_gpu() bind(c)
      import
    end function

    integer(c_int) function plaquette_lattice_free(handle) bind(c)
      import
      type(plaquette_lattice), intent(inout) :: handle
    end function
    integer(c_int) function plaquette_gauge_free(handle) bind(c)
      import
      type(plaquette_gauge), intent(inout) :: handle
    end function
    integer(c_int) function plaquette_solver_free(handle) bind(c)
      import
      type(plaquette_solver), intent(inout) :: handle
    end function
    integer(c_int) function plaquette_operator_free(handle) bind(c)
      import
      type(plaquette_operator), intent(inout) :: handle
    end function
    integer(c_int) function plaquette_overlap_free(handle) bind(c)
      import
      type(plaquette_overlap), intent(inout) :: handle
    end function
    integer(c_int) function plaquette_propagator_free(handle) bind(c)
      import
      type(plaquette_propagator), intent(inout) :: handle
    end function
    integer(c_int) function plaquette_vectors_free(handle) bind(c)
      import
      type(plaquette_vectors), intent(inout) :: handle
    end function
    integer(c_int) function plaquette_waves_free(handle) bind(c)
      import
      type(plaquette_waves), intent(inout) :: handle
    end function

    integer(c_int) function plaquette_lattice_create(lattice, extents, options) bind(c)
      import
      type(plaquette_lattice), intent(out) :: lattice
      integer(c_int), intent(in) :: extents(4)
      type(plaquette_lattice_options), intent(in) :: options
    end function
    integer(c_int) function plaquette_lattice_create_reproducible(lattice, extents, options) bind(c)
      import
      type(plaquette_lattice), intent(out) :: lattice
      integer(c_int), intent(in) :: extents(4)
      type(plaquette_lattice_options), intent(in) :: options
    end function
    integer(c_int) function plaquette_lattice_box(lattice, local, origin) bind(c)
      import
      type(plaquette_lattice), value :: lattice
      integer(c_int), intent(out) :: local(4), origin(4)
    end function

    integer(c_int) function plaquette_gauge_create(gauge, lattice, numbers, length, layout) bind(c)
      import
      type(plaquette_gauge), intent(out) :: gauge
      type(plaquette_lattice), value :: lattice
      complex(c_double_complex), intent(in) :: numbers(*)
      integer(c_size_t), value :: length
      type(plaquette_link_layout), intent(in) :: layout
    end function
    integer(c_int) function plaquette_gauge_copy(gauge, numbers, length, layout) bind(c)
      import
      type(plaquette_gauge), value :: gauge
      complex(c_double_complex), intent(inout) :: numbers(*)
      integer(c_size_t), value :: length
      type(plaquette_link_layout), intent(in) :: layout
    end function
    integer(c_int) function plaquette_gauge_assign(gauge, numbers, length, layout) bind(c)
      import
      type(plaquette_gauge), value :: gauge
      complex(c_double_complex), intent(in) :: numbers(*)
      integer(c_size_t), value :: length
      type(plaquette_link_layout), intent(in) :: layout
    end function
    integer(c_int) function plaquette_gauge_heatbath(gauge, how) bind(c)
      import
      type(plaquette_gauge), value :: gauge
      type(plaquette_heatbath), intent(in) :: how
    end function
    integer(c_int) function plaquette_gauge_moves(gauge, moves) bind(c)
      import
      type(plaquette_gauge), value :: gauge
      integer(c_int64_t), intent(out) :: moves
    end function
    integer(c_int) function plaquette_solver_follow(solver, gauge) bind(c)
      import
      type(plaquette_solver), value :: solver
      type(plaquette_gauge), value :: gauge
    end function
    integer(c_int) function plaquette_solver_renew(solver, iterations) bind(c)
      import
      type(plaquette_solver), value :: solver
      integer(c_int), value :: iterations
    end function
    integer(c_int) function plaquette_operator_follow(m, gauge) bind(c)
      import
      type(plaquette_operator), value :: m
      type(plaquette_gauge), value :: gauge
    end function
    !> goes_on: c_funloc of a function with a c_ptr as its value argument, bind(c), that returns 0 to stop; c_null_funptr: none.
    integer(c_int) function plaquette_stop_function(goes_on, data) bind(c)
      import
      type(c_funptr), value :: goes_on
      type(c_ptr), value :: data
    end function
    !> stops: c_funloc of a function, bind(c), that stops by another number than 0; c_null_funptr: none. It has two arguments:
    !> type(plaquette_progress), intent(in), and a c_ptr as its value argument.
    integer(c_int) function plaquette_progress_function(stops, data) bind(c)
      import
      type(c_funptr), value :: stops
      type(c_ptr), value :: data
    end function
    integer(c_int) function plaquette_gauge_plaquette(gauge, average) bind(c)
      import
      type(plaquette_gauge), value :: gauge
      real(c_double), intent(out) :: average
    end function

    integer(c_int) function plaquette_mass_of_kappa(kappa, anisotropy, nu, mass) bind(c)
      import
      real(c_double), value :: kappa, anisotropy, nu
      real(c_double), intent(out) :: mass
    end function
    integer(c_int) function plaquette_krylov_create(solver, gauge, action, options) bind(c)
      import
      type(plaquette_solver), intent(out) :: solver
      type(plaquette_gauge), value :: gauge
      type(plaquette_action), intent(in) :: action
      type(plaquette_krylov_options), intent(in) :: options
    end function
    integer(c_int) function plaquette_multigrid_create(solver, gauge, action, options) bind(c)
      import
      type(plaquette_solver), intent(out) :: solver
      type(plaquette_gauge), value :: gauge
      type(plaquette_action), intent(in) :: action
      type(plaquette_multigrid_options), intent(in) :: options
    end function
    integer(c_int) function plaquette_solver_setup_seconds(solver, seconds) bind(c)
      import
      type(plaquette_solver), value :: solver
      real(c_double), intent(out) :: seconds
    end function

    integer(c_int) function plaquette_solve(solver, x, b, length, columns, layout, rule, results) bind(c)
      import
      type(plaquette_solver), value :: solver
      complex(c_double_complex), intent(inout) :: x(*)
      complex(c_double_complex), intent(in) :: b(*)
      integer(c_size_t), value :: length
      integer(c_int), value :: columns
      type(plaquette_spinor_layout), intent(in) :: layout
      type(plaquette_rule), intent(in) :: rule
      type(plaquette_result), intent(inout) :: results(*)
    end function
    integer(c_int) function plaquette_propagator_solve(propagator, solver, source, rule, results) bind(c)
      import
      type(plaquette_propagator), intent(out) :: propagator
      type(plaquette_solver), value :: solver
      type(plaquette_source), intent(in) :: source
      type(plaquette_rule), intent(in) :: rule
      type(plaquette_result), intent(inout) :: results(*)
    end function

    integer(c_int) function plaquette_pion(propagator, correlator, length) bind(c)
      import
      type(plaquette_propagator), value :: propagator
      real(c_double), intent(out) :: correlator(*)
      integer(c_size_t), value :: length
    end function
    integer(c_int) function plaquette_rho(propagator, correlator, length) bind(c)
      import
      type(plaquette_propagator), value :: propagator
      real(c_double), intent(out) :: correlator(*)
      integer(c_size_t), value :: length
    end function
    integer(c_int) function plaquette_meson(propagator, meson, momentum, correlator, length) bind(c)
      import
      type(plaquette_propagator), value :: propagator
      integer(c_int), value :: meson
      integer(c_int), intent(in) :: momentum(3)
      complex(c_double_complex), intent(out) :: correlator(*)
      integer(c_size_t), value :: length
    end function
    integer(c_int) function plaquette_meson_along(propagator, meson, direction, momentum, correlator, length) bind(c)
      import
      type(plaquette_propagator), value :: propagator
      integer(c_int), value :: meson, direction
      integer(c_int), intent(in) :: momentum(3)
      complex(c_double_complex), intent(out) :: correlator(*)
      integer(c_size_t), value :: length
    end function
    integer(c_int) function plaquette_nucleon(propagator, parity, momentum, correlator, length) bind(c)
      import
      type(plaquette_propagator), value :: propagator
      integer(c_int), value :: parity
      integer(c_int), intent(in) :: momentum(3)
      complex(c_double_complex), intent(out) :: correlator(*)
      integer(c_size_t), value :: length
    end function
    ! correlator: c_loc of real or of complex numbers; length counts the reals.
    integer(c_int) function plaquette_from_source(propagator, direction, correlator, length) bind(c)
      import
      type(plaquette_propagator), value :: propagator
      integer(c_int), value :: direction
      type(c_ptr), value :: correlator
      integer(c_size_t), value :: length
    end function
    integer(c_int) function plaquette_propagator_sequential(propagator, solver, through, meson, time, momentum, rule, &
        results) bind(c)
      import
      type(plaquette_propagator), intent(inout) :: propagator
      type(plaquette_solver), value :: solver
      type(plaquette_propagator), value :: through
      integer(c_int), value :: meson, time
      integer(c_int), intent(in) :: momentum(3)
      type(plaquette_rule), intent(in) :: rule
      type(plaquette_result), intent(inout) :: results(*)
    end function
    integer(c_int) function plaquette_propagator_solve_smeared(propagator, solver, source, smearing_links, rule, results) &
        bind(c)
      import
      type(plaquette_propagator), intent(out) :: propagator
      type(plaquette_solver), value :: solver
      type(plaquette_source), intent(in) :: source
      type(plaquette_gauge), value :: smearing_links
      type(plaquette_rule), intent(in) :: rule
      type(plaquette_result), intent(inout) :: results(*)
    end function
    integer(c_int) function plaquette_propagator_judge(judged, solver, propagator, source, rule, results) bind(c)
      import
      type(plaquette_propagator), intent(inout) :: judged
      type(plaquette_solver), value :: solver
      type(plaquette_propagator), value :: propagator
      type(plaquette_source), intent(in) :: source
      type(plaquette_rule), intent(in) :: rule
      type(plaquette_result), intent(inout) :: results(*)
    end function
    integer(c_int) function plaquette_propagator_judge_smeared(judged, solver, propagator, source, smearing_links, rule, &
        results) bind(c)
      import
      type(plaquette_propagator), intent(inout) :: judged
      type(plaquette_solver), value :: solver
      type(plaquette_propagator), value :: propagator
      type(plaquette_source), intent(in) :: source
      type(plaquette_gauge), value :: smearing_links
      type(plaquette_rule), intent(in) :: rule
      type(plaquette_result), intent(inout) :: results(*)
    end function
    integer(c_int) function plaquette_propagator_smear(smeared, propagator, links, radius, steps) bind(c)
      import
      type(plaquette_propagator), intent(inout) :: smeared
      type(plaquette_propagator), value :: propagator
      type(plaquette_gauge), value :: links
      real(c_double), value :: radius
      integer(c_int), value :: steps
    end function
    integer(c_int) function plaquette_propagator_results(propagator, results) bind(c)
      import
      type(plaquette_propagator), value :: propagator
      type(plaquette_result), intent(out) :: results(12)
    end function
    integer(c_int) function plaquette_gauge_smear(smeared, gauge, smearing) bind(c)
      import
      type(plaquette_gauge), intent(inout) :: smeared
      type(plaquette_gauge), value :: gauge
      type(plaquette_smearing), intent(in) :: smearing
    end function
    integer(c_int) function plaquette_gauge_flow(flowed, gauge, time, step, history, length, points, t0) bind(c)
      import
      type(plaquette_gauge), intent(out) :: flowed
      type(plaquette_gauge), value :: gauge
      real(c_double), value :: time, step
      real(c_double), intent(inout) :: history(*)
      integer(c_size_t), value :: length
      integer(c_size_t), intent(out) :: points
      real(c_double), intent(out) :: t0
    end function
    integer(c_int) function plaquette_gauge_fix(fixed, gauge, condition, tolerance, sweep_limit, quality) bind(c)
      import
      type(plaquette_gauge), intent(out) :: fixed
      type(plaquette_gauge), value :: gauge
      integer(c_int), value :: condition, sweep_limit
      real(c_double), value :: tolerance
      real(c_double), intent(out) :: quality(2)
    end function
    ! g(3, 3, nx, ny, nz, nt), g(j, i, ...) element (i, j).
    integer(c_int) function plaquette_gauge_fix_by(fixed, gauge, condition, tolerance, sweep_limit, quality, g, length) &
        bind(c)
      import
      type(plaquette_gauge), intent(out) :: fixed
      type(plaquette_gauge), value :: gauge
      integer(c_int), value :: condition, sweep_limit
      real(c_double), value :: tolerance
      real(c_double), intent(out) :: quality(2)
      complex(c_double_complex), intent(inout) :: g(*)
      integer(c_size_t), value :: length
    end function
    integer(c_int) function plaquette_propagator_copy(propagator, numbers, length, layout) bind(c)
      import
      type(plaquette_propagator), value :: propagator
      complex(c_double_complex), intent(inout) :: numbers(*)
      integer(c_size_t), value :: length
      type(plaquette_spinor_layout), intent(in) :: layout
    end function

    integer(c_int) function plaquette_operator_create(m, gauge, action, device) bind(c)
      import
      type(plaquette_operator), intent(out) :: m
      type(plaquette_gauge), value :: gauge
      type(plaquette_action), intent(in) :: action
      integer(c_int), value :: device
    end function
    integer(c_int) function plaquette_operator_apply(m, out, in, length, layout, dagger) bind(c)
      import
      type(plaquette_operator), value :: m
      complex(c_double_complex), intent(inout) :: out(*)
      complex(c_double_complex), intent(in) :: in(*)
      integer(c_size_t), value :: length
      type(plaquette_spinor_layout), intent(in) :: layout
      integer(c_int), value :: dagger
    end function

    ! Vectors. smearing_links: a new handle for none. factors: one for all columns, or one a column.
    integer(c_int) function plaquette_vectors_create(vectors, lattice, options) bind(c)
      import
      type(plaquette_vectors), intent(out) :: vectors
      type(plaquette_lattice), value :: lattice
      type(plaquette_vectors_options), intent(in) :: options
    end function
    integer(c_int) function plaquette_vectors_zero(vectors) bind(c)
      import
      type(plaquette_vectors), value :: vectors
    end function
    integer(c_int) function plaquette_vectors_fill(vectors, source, smearing_links, first) bind(c)
      import
      type(plaquette_vectors), value :: vectors
      type(plaquette_source), intent(in) :: source
      type(plaquette_gauge), value :: smearing_links
      integer(c_int), value :: first
    end function
    integer(c_int) function plaquette_vectors_fill_random(vectors, seed, first) bind(c)
      import
      type(plaquette_vectors), value :: vectors
      integer(c_int64_t), value :: seed, first
    end function
    integer(c_int) function plaquette_vectors_read(vectors, numbers, length, layout) bind(c)
      import
      type(plaquette_vectors), value :: vectors
      complex(c_double_complex), intent(in) :: numbers(*)
      integer(c_size_t), value :: length
      type(plaquette_spinor_layout), intent(in) :: layout
    end function
    integer(c_int) function plaquette_vectors_write(vectors, numbers, length, layout) bind(c)
      import
      type(plaquette_vectors), value :: vectors
      complex(c_double_complex), intent(inout) :: numbers(*)
      integer(c_size_t), value :: length
      type(plaquette_spinor_layout), intent(in) :: layout
    end function
    integer(c_int) function plaquette_vectors_copy(to, from) bind(c)
      import
      type(plaquette_vectors), value :: to, from
    end function
    integer(c_int) function plaquette_vectors_copy_columns(to, to_first, from, from_first, count) bind(c)
      import
      type(plaquette_vectors), value :: to, from
      integer(c_int), value :: to_first, from_first, count
    end function
    integer(c_int) function plaquette_vectors_scale(vectors, factors, count) bind(c)
      import
      type(plaquette_vectors), value :: vectors
      complex(c_double_complex), intent(in) :: factors(*)
      integer(c_int), value :: count
    end function
    integer(c_int) function plaquette_vectors_add(vectors, factors, count, u) bind(c)
      import
      type(plaquette_vectors), value :: vectors, u
      complex(c_double_complex), intent(in) :: factors(*)
      integer(c_int), value :: count
    end function
    integer(c_int) function plaquette_vectors_rotate_by_gamma_5(vectors) bind(c)
      import
      type(plaquette_vectors), value :: vectors
    end function
    integer(c_int) function plaquette_vectors_dot(v, u, products, length) bind(c)
      import
      type(plaquette_vectors), value :: v, u
      complex(c_double_complex), intent(inout) :: products(*)
      integer(c_size_t), value :: length
    end function
    integer(c_int) function plaquette_vectors_norm2(vectors, squares, length) bind(c)
      import
      type(plaquette_vectors), value :: vectors
      real(c_double), intent(inout) :: squares(*)
      integer(c_size_t), value :: length
    end function
    integer(c_int) function plaquette_solve_vectors(solver, x, b, rule, system, results) bind(c)
      import
      type(plaquette_solver), value :: solver
      type(plaquette_vectors), value :: x, b
      type(plaquette_rule), intent(in) :: rule
      type(plaquette_vector_system), intent(in) :: system
      type(plaquette_result), intent(inout) :: results(*)
    end function
    integer(c_int) function plaquette_operator_apply_vectors(m, y, x, form) bind(c)
      import
      type(plaquette_operator), value :: m
      type(plaquette_vectors), value :: y, x
      type(plaquette_operator_form), intent(in) :: form
    end function
    integer(c_int) function plaquette_propagator_of_vectors(propagator, vectors) bind(c)
      import
      type(plaquette_propagator), intent(out) :: propagator
      type(plaquette_vectors), value :: vectors
    end function

    integer(c_int) function plaquette_overlap_create(overlap, gauge, options) bind(c)
      import
      type(plaquette_overlap), intent(out) :: overlap
      type(plaquette_gauge), value :: gauge
      type(plaquette_overlap_options), intent(in) :: options
    end function
    integer(c_int) function plaquette_overlap_create_with_modes(overlap, gauge, options, of_h, of_d_plus, of_d_minus) &
        bind(c)
      import
      type(plaquette_overlap), intent(out) :: overlap
      type(plaquette_gauge), value :: gauge
      type(plaquette_overlap_options), intent(in) :: options
      type(plaquette_modes), intent(in) :: of_h, of_d_plus, of_d_minus
    end function
    integer(c_int) function plaquette_overlap_mode_count(overlap, kind, count) bind(c)
      import
      type(plaquette_overlap), value :: overlap
      integer(c_int), value :: kind
      integer(c_int), intent(out) :: count
    end function
    integer(c_int) function plaquette_overlap_mode_values(overlap, kind, values, residuals, length) bind(c)
      import
      type(plaquette_overlap), value :: overlap
      integer(c_int), value :: kind
      real(c_double), intent(inout) :: values(*), residuals(*)
      integer(c_size_t), value :: length
    end function
    integer(c_int) function plaquette_overlap_mode_vectors(overlap, kind, vectors, length, layout) bind(c)
      import
      type(plaquette_overlap), value :: overlap
      integer(c_int), value :: kind
      complex(c_double_complex), intent(inout) :: vectors(*)
      integer(c_size_t), value :: length
      type(plaquette_spinor_layout), intent(in) :: layout
    end function
    integer(c_int) function plaquette_overlap_index(overlap, index) bind(c)
      import
      type(plaquette_overlap), value :: overlap
      integer(c_int), intent(out) :: index
    end function
    integer(c_int) function plaquette_overlap_solve(propagators, overlap, source, masses, count, rule) bind(c)
      import
      type(plaquette_propagator), intent(inout) :: propagators(*)
      type(plaquette_overlap), value :: overlap
      type(plaquette_source), intent(in) :: source
      real(c_double), intent(in) :: masses(*)
      integer(c_int), value :: count
      type(plaquette_rule), intent(in) :: rule
    end function

    integer(c_int) function plaquette_waves_create(waves, box, options) bind(c)
      import
      type(plaquette_waves), intent(out) :: waves
      type(plaquette_wave_box), intent(in) :: box
      type(plaquette_wave_options), intent(in) :: options
    end function
    integer(c_int) function plaquette_waves_create_on_mesh(waves, mesh, options) bind(c)
      import
      type(plaquette_waves), intent(out) :: waves
      type(plaquette_wave_mesh), intent(in) :: mesh
      type(plaquette_wave_options), intent(in) :: options
    end function
    integer(c_int) function plaquette_waves_extents(waves, extents) bind(c)
      import
      type(plaquette_waves), value :: waves
      integer(c_int64_t), intent(out) :: extents(4)
    end function
    integer(c_int) function plaquette_waves_elements(waves, numbers, length) bind(c)
      import
      type(plaquette_waves), value :: waves
      integer(c_int), intent(out) :: numbers(*)
      integer(c_size_t), value :: length
    end function
    ! positions(3, node, element); states are state(node, element, field, column).
    integer(c_int) function plaquette_waves_positions(waves, positions, length) bind(c)
      import
      type(plaquette_waves), value :: waves
      real(c_double), intent(inout) :: positions(*)
      integer(c_size_t), value :: length
    end function
    integer(c_int) function plaquette_waves_set_state(waves, state, length, time) bind(c)
      import
      type(plaquette_waves), value :: waves
      real(c_double), intent(in) :: state(*)
      integer(c_size_t), value :: length
      real(c_double), value :: time
    end function
    integer(c_int) function plaquette_waves_get_state(waves, state, length) bind(c)
      import
      type(plaquette_waves), value :: waves
      real(c_double), intent(inout) :: state(*)
      integer(c_size_t), value :: length
    end function
    integer(c_int) function plaquette_waves_time(waves, time) bind(c)
      import
      type(plaquette_waves), value :: waves
      real(c_double), intent(out) :: time
    end function
    integer(c_int) function plaquette_waves_energies(waves, energies, length) bind(c)
      import
      type(plaquette_waves), value :: waves
      real(c_double), intent(inout) :: energies(*)
      integer(c_size_t), value :: length
    end function
    integer(c_int) function plaquette_waves_stable_step(waves, dt) bind(c)
      import
      type(plaquette_waves), value :: waves
      real(c_double), intent(out) :: dt
    end function
    integer(c_int) function plaquette_waves_advance(waves, steps, dt, judge, verdict) bind(c)
      import
      type(plaquette_waves), value :: waves
      integer(c_int64_t), value :: steps
      real(c_double), value :: dt
      integer(c_int), value :: judge
      real(c_double), intent(out) :: verdict(2)
    end function
  end interface

contains

  !> Returns the layout of u(3, 3, 4, nx, ny, nz, nt), u(i, j, mu, x, y, z, t) element (i, j) of U_mu, for this rank's box.
  pure function plaquette_links_of_fortran(local) result(layout)
    integer(c_int), intent(in) :: local(4)
    type(plaquette_link_layout) :: layout
    integer :: nu
    layout%row = 2
    layout%column = 6
    layout%direction = [0, 18, 36, 54]
    layout%site(1) = 72
    do nu = 2, 4
      layout%site(nu) = layout%site(nu - 1) * local(nu - 1)
    end do
  end function

  !> Returns the layout of psi(3, 4, nx, ny, nz, nt, columns), colour first, for this rank's box.
  pure function plaquette_spinors_of_fortran(local) result(layout)
    integer(c_int), intent(in) :: local(4)
    type(plaquette_spinor_layout) :: layout
    integer :: nu
    layout%site(1) = 24
    do nu = 2, 4
      layout%site(nu) = layout%site(nu - 1) * local(nu - 1)
    end do
    layout%column = layout%site(4) * local(4)
  end function

  !> Returns what a code means.
  function plaquette_error_text(code) result(text)
    integer(c_int), intent(in) :: code
    character(len=:), allocatable :: text
    interface
      type(c_ptr) function c_error_text(code) bind(c, name='plaquette_error_text')
        import
        integer(c_int), value :: code
      end function
    end interface
    text = text_of(c_error_text(code))
  end function

  !> Returns what went wrong in the last call of this thread that failed.
  function plaquette_last_message() result(text)
    character(len=:), allocatable :: text
    interface
      type(c_ptr) function c_last_message() bind(c, name='plaquette_last_message')
        import
      end function
    end interface
    text = text_of(c_last_message())
  end function

  !> Returns the version of the library that runs.
  function plaquette_version() result(text)
    character(len=:), allocatable :: text
    interface
      type(c_ptr) function c_version() bind(c, name='plaquette_version')
        import
      end function
    end interface
    text = text_of(c_version())
  end function

  !> Reads a file of links.
  integer(c_int) function plaquette_gauge_read(gauge, lattice, file) result(code)
    type(plaquette_gauge), intent(out) :: gauge
    type(plaquette_lattice), intent(in) :: lattice
    character(len=*), intent(in) :: file
    interface
      integer(c_int) function c_read(gauge, lattice, file) bind(c, name='plaquette_gauge_read')
        import
        type(plaquette_gauge), intent(out) :: gauge
        type(plaquette_lattice), value :: lattice
        character(kind=c_char), intent(in) :: file(*)
      end function
    end interface
    code = c_read(gauge, lattice, name_for_c(file))
  end function

  !> Makes a solver of waves on the tetrahedra of a Gmsh file.
  integer(c_int) function plaquette_waves_create_from_file(waves, file, options) result(code)
    type(plaquette_waves), intent(out) :: waves
    character(len=*), intent(in) :: file
    type(plaquette_wave_options), intent(in) :: options
    interface
      integer(c_int) function c_from_file(waves, file, options) bind(c, name='plaquette_waves_create_from_file')
        import
        type(plaquette_waves), intent(out) :: waves
        character(kind=c_char), intent(in) :: file(*)
        type(plaquette_wave_options), intent(in) :: options
      end function
    end interface
    code = c_from_file(waves, name_for_c(file), options)
  end function

  !> Returns the extents of the lattice of a file.
  integer(c_int) function plaquette_gauge_file_extents(file, extents) result(code)
    character(len=*), intent(in) :: file
    integer(c_int), intent(out) :: extents(4)
    interface
      integer(c_int) function c_extents(file, extents) bind(c, name='plaquette_gauge_file_extents')
        import
        character(kind=c_char), intent(in) :: file(*)
        integer(c_int), intent(out) :: extents(4)
      end function
    end interface
    code = c_extents(name_for_c(file), extents)
  end function

  !> Writes an ILDG file; an existing one is kept unless `replace` is 1.
  integer(c_int) function plaquette_gauge_write(gauge, file, replace) result(code)
    type(plaquette_gauge), intent(in) :: gauge
    character(len=*), intent(in) :: file
    integer(c_int), intent(in) :: replace
    interface
      integer(c_int) function c_write(gauge, file, replace) bind(c, name='plaquette_gauge_write')
        import
        type(plaquette_gauge), value :: gauge
        character(kind=c_char), intent(in) :: file(*)
        integer(c_int), value :: replace
      end function
    end interface
    code = c_write(gauge, name_for_c(file), replace)
  end function

  !> Writes a LIME file of a style; an existing one is kept unless `replace` is 1.
  integer(c_int) function plaquette_propagator_write(propagator, file, style, replace) result(code)
    type(plaquette_propagator), intent(in) :: propagator
    character(len=*), intent(in) :: file
    integer(c_int), intent(in) :: style, replace
    interface
      integer(c_int) function c_write(propagator, file, style, replace) bind(c, name='plaquette_propagator_write')
        import
        type(plaquette_propagator), value :: propagator
        character(kind=c_char), intent(in) :: file(*)
        integer(c_int), value :: style, replace
      end function
    end interface
    code = c_write(propagator, name_for_c(file), style, replace)
  end function

  !> Reads a LIME file of either style.
  integer(c_int) function plaquette_propagator_read(propagator, lattice, file) result(code)
    type(plaquette_propagator), intent(out) :: propagator
    type(plaquette_lattice), intent(in) :: lattice
    character(len=*), intent(in) :: file
    interface
      integer(c_int) function c_read(propagator, lattice, file) bind(c, name='plaquette_propagator_read')
        import
        type(plaquette_propagator), intent(out) :: propagator
        type(plaquette_lattice), value :: lattice
        character(kind=c_char), intent(in) :: file(*)
      end function
    end interface
    code = c_read(propagator, lattice, name_for_c(file))
  end function

  !> Returns the sentence on links that were taken back to SU(3) as they came; empty where there were none.
  function plaquette_gauge_remark(gauge) result(text)
    type(plaquette_gauge), intent(in) :: gauge
    character(len=:), allocatable :: text
    character(kind=c_char), target :: characters(1024)
    interface
      integer(c_int) function c_remark(gauge, text, length) bind(c, name='plaquette_gauge_remark')
        import
        type(plaquette_gauge), value :: gauge
        character(kind=c_char), intent(out) :: text(*)
        integer(c_size_t), value :: length
      end function
    end interface
    characters = c_null_char
    if (c_remark(gauge, characters, size(characters, kind=c_size_t)) /= 0) characters(1) = c_null_char
    text = text_of(c_loc(characters))
  end function

  !> Returns the name of a file as C has it; none, which C refuses, for one that C would find cut at a zero.
  function name_for_c(file) result(name)
    character(len=*), intent(in) :: file
    character(len=:, kind=c_char), allocatable :: name
    if (index(file, c_null_char) > 0) then
      name = c_null_char
    else
      name = trim(file) // c_null_char
    end if
  end function

  integer function length_of(characters) result(length)
    character(kind=c_char), intent(in) :: characters(:)
    length = 0
    do while (characters(length + 1) /= c_null_char)
      length = length + 1
    end do
  end function

  function text_of(address) result(text)
    type(c_ptr), intent(in) :: address
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer :: i, length
    call c_f_pointer(address, characters, [1024])
    length = length_of(characters)
    allocate (character(len=length) :: text)
    do i = 1, length
      text(i:i) = characters(i)
    end do
  end function

end module
