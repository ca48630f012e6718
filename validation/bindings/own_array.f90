! SPDX-License-Identifier: BSD-3-Clause
! What a call asks while it works.
module stop_functions
  use, intrinsic :: iso_c_binding
  use plaquette
  implicit none
contains
  integer(c_int) function never(data) bind(c)
    type(c_ptr), value :: data
    integer(c_int), pointer :: asked
    call c_f_pointer(data, asked)
    asked = asked + 1
    never = 0
  end function
  !> Stops at the third call; data counts them.
  integer(c_int) function third(progress, data) bind(c)
    type(plaquette_progress), intent(in) :: progress
    type(c_ptr), value :: data
    integer(c_int), pointer :: told
    call c_f_pointer(data, told)
    told = told + 1
    third = 0
    if (told == 3 .or. progress%step < 1 .or. progress%limit /= 100000000 .or. .not. progress%residual < 1) third = 1
  end function
end module

! A Fortran program from its own array to a pion correlator, refused calls on the way. Argument: a file for the links.
program own_array
  use plaquette
  use stop_functions
  implicit none
  integer(c_int), parameter :: extents(4) = [4, 4, 4, 8]
  ! t comes first here, and directions are arrays of their own.
  complex(c_double_complex), target :: u(8, 4, 4, 4, 3, 3, 4)
  complex(c_double_complex), allocatable :: again(:, :, :, :, :, :, :)
  complex(c_double_complex), allocatable :: columns(:, :, :, :, :, :, :), back(:, :, :, :, :, :)
  type(plaquette_lattice) :: lattice
  type(plaquette_gauge) :: gauge, freed
  type(plaquette_solver) :: solver
  type(plaquette_operator) :: m
  type(plaquette_propagator) :: quark
  type(plaquette_link_layout) :: layout
  type(plaquette_spinor_layout) :: spinors
  type(plaquette_action) :: action
  type(plaquette_rule) :: rule
  type(plaquette_result) :: results(12)
  real(c_double) :: correlator(8), average, history(9)
  complex(c_double_complex) :: baryon(8)
  integer(c_size_t) :: points
  integer(c_int) :: code
  integer(c_int), target :: asked = 0
  integer(c_int) :: found(4)
  integer :: mu, x, y, z, t, n, spin, colour
  real(c_double) :: a, b, worst
  character(len=256) :: file

  call require(plaquette_abi() == 1, 'the binary interface is 1')
  call require(all_sizes_are_right(), 'structures have the sizes of C')
  u = 0
  do t = 1, 8; do z = 1, 4; do y = 1, 4; do x = 1, 4; do mu = 1, 4
    a = 0.6_c_double * sin(1.571_c_double * (x + 2 * y + z + mu))
    b = 0.5_c_double * cos(0.785_c_double * (t + mu * x)) - 0.2_c_double * y
    u(t, z, y, x, 1, 1, mu) = cmplx(cos(a), sin(a), c_double_complex)
    u(t, z, y, x, 2, 2, mu) = cmplx(cos(b), sin(b), c_double_complex)
    u(t, z, y, x, 3, 3, mu) = cmplx(cos(a + b), -sin(a + b), c_double_complex)
  end do; end do; end do; end do; end do
  layout%site = [256, 64, 16, 2]    ! in reals: of x, y, z, t
  layout%row = 1024
  layout%column = 3072
  layout%direction = [0, 9216, 18432, 27648]

  call check(plaquette_lattice_create(lattice, extents, plaquette_lattice_options()))
  code = plaquette_gauge_create(gauge, lattice, u, size(u, kind=c_size_t), layout)
  call require(code == plaquette_unusable_input .and. index(plaquette_last_message(), 'at least') > 0, 'half an array is refused')
  call check(plaquette_gauge_create(gauge, lattice, u, 2 * size(u, kind=c_size_t), layout))
  if (command_argument_count() > 0) then
    call get_command_argument(1, file)
    call check(plaquette_gauge_write(gauge, file, 1))
    call check(plaquette_gauge_file_extents(file, found))
    call require(all(found == extents), 'the file has the extents of the lattice')
  end if
  allocate (again, source=u)
  again = 0
  call check(plaquette_gauge_copy(gauge, again, 2 * size(u, kind=c_size_t), layout))
  call require(all(abs(again - u) <= 1e-15_c_double), 'the links come back as an array')
  call check(plaquette_mass_of_kappa(0.5_c_double / 4.2_c_double, 1.0_c_double, 1.0_c_double, action%mass))
  call require(abs(action%mass - 0.2_c_double) < 1e-14_c_double, 'kappa is a mass')
  action%mass = 0.2_c_double
  action%csw = 1
  rule%tolerance = 1e-12_c_double
  call check(plaquette_krylov_create(solver, gauge, action, plaquette_krylov_options()))
  call check(plaquette_propagator_solve(quark, solver, plaquette_source(), rule, results))
  call require(all(results%passed == 1 .and. results%reference <= results%tolerance), 'all columns passed')
  call check(plaquette_pion(quark, correlator, 8_c_size_t))

  ! Along z the pion has the same sum; the flow lowers the energy; a nucleon runs forwards.
  call check(plaquette_meson_along(quark, 15, 2, [0, 0, 0], baryon, 8_c_size_t))
  call require(abs(sum(real(baryon(1:4))) / sum(correlator) - 1) < 1e-12_c_double, 'the sum of the pion along z')
  call check(plaquette_nucleon(quark, 1, [0, 0, 0], baryon, 16_c_size_t))
  call require(real(baryon(2)) > 0, 'the nucleon is positive')
  call check(plaquette_gauge_flow(freed, gauge, 0.04_c_double, 0.02_c_double, history, 9_c_size_t, points, average))
  call require(points == 3 .and. history(8) < history(2), 'the flow lowers the energy density')
  call check(plaquette_gauge_free(freed))

  ! A call that would take minutes ends at the word of its stop function. Links in SU(3) have no remark.
  call check(plaquette_propagator_free(quark))
  call check(plaquette_stop_function(c_funloc(never), c_loc(asked)))
  rule%tolerance = 1e-300_c_double
  rule%iteration_limit = 100000000
  code = plaquette_propagator_solve(quark, solver, plaquette_source(), rule, results)
  call require(code == plaquette_interrupted .and. asked == 1, 'the stop function ends the call')
  call check(plaquette_stop_function(c_null_funptr, c_null_ptr))
  ! At the third call of a progress function, too. The propagator is there, as far as it was solved.
  call check(plaquette_propagator_free(quark))
  asked = 0
  call check(plaquette_progress_function(c_funloc(third), c_loc(asked)))
  code = plaquette_propagator_solve(quark, solver, plaquette_source(), rule, results)
  call require(code == plaquette_interrupted .and. asked == 3, 'the progress function ends the call')
  call require(quark%key /= 0 .and. results(1)%device < 1 .and. results(1)%passed == 0, 'a solution that was stopped')
  call check(plaquette_propagator_free(quark))
  call check(plaquette_progress_function(c_null_funptr, c_null_ptr))
  rule = plaquette_rule(tolerance=1e-12_c_double)
  call check(plaquette_propagator_solve(quark, solver, plaquette_source(), rule, results))
  call require(len(plaquette_gauge_remark(gauge)) == 0, 'there is no remark')
  call require(plaquette_gauge_write(gauge, 'a' // c_null_char // 'b', 1) == plaquette_unusable_input, 'a zero in a name')

  ! M times a column is its source.
  spinors = plaquette_spinors_of_fortran(extents)
  allocate (columns(3, 4, 4, 4, 4, 8, 12), back(3, 4, 4, 4, 4, 8))
  call check(plaquette_propagator_copy(quark, columns, 2 * size(columns, kind=c_size_t), spinors))
  call check(plaquette_operator_create(m, gauge, action, plaquette_cpu))
  worst = 0
  do n = 1, 12
    call check(plaquette_operator_apply(m, back, columns(:, :, :, :, :, :, n), 2 * size(back, kind=c_size_t), spinors, 0))
    colour = mod(n - 1, 3) + 1
    spin = (n - colour) / 3 + 1
    back(colour, spin, 1, 1, 1, 1) = back(colour, spin, 1, 1, 1, 1) - 1
    worst = max(worst, sqrt(sum(abs(back)**2)))
  end do
  call require(worst <= 2e-12_c_double, 'M x = b by the operator')

  call vectors_to_a_pion()
  call links_that_move()
  call smeared_sources()
  call modes_out_and_in()
  call waves_in_time()
  spinors%memory = plaquette_on_device
  code = plaquette_propagator_copy(quark, columns, 2 * size(columns, kind=c_size_t), spinors)
  call require(code == merge(plaquette_unusable_input, plaquette_not_available, plaquette_has_gpu() == 1), &
    'memory of the host is not that of a GPU')

  freed = gauge
  call check(plaquette_gauge_free(gauge))
  call require(plaquette_gauge_plaquette(freed, average) == plaquette_invalid_handle, 'a freed handle is refused')
  call check(plaquette_propagator_free(quark))
  call check(plaquette_operator_free(m))
  call check(plaquette_solver_free(solver))
  call check(plaquette_lattice_free(lattice))
  do n = 1, 8
    print '(es23.15)', correlator(n)
  end do
  print '(a)', 'VERIFIED PASSED'

contains

  !> A solver follows links that a heat bath and an array have moved, back to those before: the same bits.
  subroutine links_that_move()
    type(plaquette_gauge) :: links
    type(plaquette_solver) :: following
    type(plaquette_operator) :: m
    type(plaquette_propagator) :: quark
    type(plaquette_heatbath) :: how
    real(c_double) :: found(8)
    integer(c_int64_t) :: moves
    call check(plaquette_gauge_create(links, lattice, u, 2 * size(u, kind=c_size_t), layout))
    call check(plaquette_krylov_create(following, links, action, plaquette_krylov_options()))
    call check(plaquette_operator_create(m, links, action, plaquette_cpu))
    call check(plaquette_gauge_heatbath(links, how))
    code = plaquette_propagator_solve(quark, following, plaquette_source(), rule, results)
    call require(code == plaquette_unusable_input .and. index(plaquette_last_message(), 'follow') > 0, 'links have moved')
    call check(plaquette_solver_follow(following, links))
    call check(plaquette_operator_follow(m, links))
    call check(plaquette_gauge_assign(links, u, 2 * size(u, kind=c_size_t), layout))
    call check(plaquette_gauge_moves(links, moves))
    call require(moves == 2, 'links have moved twice')
    call check(plaquette_solver_follow(following, links))
    call check(plaquette_propagator_solve(quark, following, plaquette_source(), rule, results))
    call check(plaquette_pion(quark, found, 8_c_size_t))
    call require(all(found == correlator), 'the pion of the links before')
    call check(plaquette_propagator_free(quark))
    call check(plaquette_operator_free(m))
    call check(plaquette_solver_free(following))
    call check(plaquette_gauge_free(links))
  end subroutine

  !> From a source to the pion without an array: the same bits. M x = b, by the operator, on vectors.
  subroutine vectors_to_a_pion()
    type(plaquette_vectors) :: b, x, even, image
    type(plaquette_vectors_options) :: options
    type(plaquette_vector_system) :: system
    type(plaquette_operator_form) :: form
    type(plaquette_propagator) :: of_vectors
    real(c_double), target :: found(8)
    real(c_double) :: squares(12)
    real(c_double), target :: mu(2)
    complex(c_double_complex) :: products(12)
    complex(c_double_complex), parameter :: minus = (-1.0_c_double, 0.0_c_double)
    call check(plaquette_vectors_create(b, lattice, options))
    call check(plaquette_vectors_create(x, lattice, options))
    call check(plaquette_vectors_fill(b, plaquette_source(), plaquette_gauge(), 0))
    call check(plaquette_solve_vectors(solver, x, b, rule, system, results))
    call require(all(results%passed == 1), 'columns of vectors passed')
    call check(plaquette_propagator_of_vectors(of_vectors, x))
    call check(plaquette_pion(of_vectors, found, 8_c_size_t))
    call require(all(found == correlator), 'the pion of vectors has the same bits')
    call check(plaquette_from_source(of_vectors, 3, c_loc(found), 8_c_size_t))
    call require(all(found == correlator), 'a source at time 0 rotates nothing')
    call check(plaquette_vectors_write(x, columns, 2 * size(columns, kind=c_size_t), spinors))
    call require(abs(sum(abs(columns)**2) / sum(correlator) - 1) < 1e-13_c_double, 'the array has their numbers')
    call check(plaquette_vectors_read(x, columns, 2 * size(columns, kind=c_size_t), spinors))
    call check(plaquette_vectors_dot(b, x, products, 24_c_size_t))
    call require(abs(products(1) - columns(1, 1, 1, 1, 1, 1, 1)) < 1e-15_c_double, 'an inner product with a point')
    call check(plaquette_vectors_zero(b))
    call check(plaquette_operator_apply_vectors(m, b, x, form))
    call check(plaquette_vectors_fill(x, plaquette_source(), plaquette_gauge(), 0))
    call check(plaquette_vectors_add(b, [minus], 1, x))
    call check(plaquette_vectors_norm2(b, squares, 12_c_size_t))
    call require(all(sqrt(squares) <= 2e-12_c_double), 'M x = b on vectors')
    code = plaquette_vectors_scale(x, [minus, minus], 2)
    call require(code == plaquette_unusable_input .and. index(plaquette_last_message(), '12 columns') > 0, 'two factors')

    ! (Mhat + i mu gamma_5) x = b, mu a number a column.
    options%columns = 2
    options%sites = plaquette_even_sites
    mu = [0.1_c_double, 0.3_c_double]
    system%mu_count = 2
    system%mu = c_loc(mu)
    form%mu_count = 2
    form%mu = c_loc(mu)
    call check(plaquette_vectors_create(even, lattice, options))
    call check(plaquette_vectors_create(image, lattice, options))
    call check(plaquette_vectors_fill_random(even, 7_c_int64_t, 0_c_int64_t))
    call require(plaquette_solve_vectors(solver, image, even, rule, system, results) == plaquette_not_verified, &
      'systems on even sites are not judged')
    call check(plaquette_vectors_free(b))
    call check(plaquette_vectors_create(b, lattice, options))
    call check(plaquette_operator_apply_vectors(m, b, image, form))
    call check(plaquette_vectors_add(b, [minus], 1, even))
    call check(plaquette_vectors_norm2(b, squares, 2_c_size_t))
    call check(plaquette_vectors_norm2(even, squares(3), 2_c_size_t))
    call require(all(squares(1:2) <= 4e-24_c_double * squares(3:4)), 'twisted masses a column')
    call check(plaquette_vectors_free(b))
    call check(plaquette_vectors_free(x))
    call check(plaquette_vectors_free(even))
    call check(plaquette_vectors_free(image))
    call check(plaquette_propagator_free(of_vectors))
  end subroutine

  !> Sources of smeared links are judged with these links alone, from a file too; g fixes the gauge.
  subroutine smeared_sources()
    type(plaquette_gauge) :: ape, landau
    type(plaquette_smearing) :: smearing
    type(plaquette_source) :: source
    type(plaquette_propagator) :: quark, read, judged
    real(c_double) :: quality(2)
    complex(c_double_complex) :: g(3, 3, 512)
    smearing%kind = plaquette_ape
    source%kind = plaquette_gaussian
    call check(plaquette_gauge_smear(ape, gauge, smearing))
    call check(plaquette_propagator_solve_smeared(quark, solver, source, ape, rule, results))
    call check(plaquette_propagator_write(quark, 'own_array.lime', plaquette_scidac, 1))
    call check(plaquette_propagator_read(read, lattice, 'own_array.lime'))
    rule%tolerance = 2e-12_c_double
    call check(plaquette_propagator_judge_smeared(judged, solver, read, source, ape, rule, results))
    call check(plaquette_propagator_free(judged))
    call require(plaquette_propagator_judge(judged, solver, read, source, rule, results) == plaquette_not_verified, &
      'another source is not verified')
    call check(plaquette_gauge_fix_by(landau, gauge, plaquette_landau, 1e-8_c_double, 1000, quality, g, 9216_c_size_t))
    call require(quality(2) <= 1e-8_c_double .and. abs(sum(abs(g)**2) / 1536 - 1) < 1e-12_c_double, 'g fixes the gauge')
    open (unit=7, file='own_array.lime')
    close (7, status='delete')
    call check(plaquette_propagator_free(judged))
    call check(plaquette_propagator_free(read))
    call check(plaquette_propagator_free(quark))
    call check(plaquette_gauge_free(landau))
    call check(plaquette_gauge_free(ape))
  end subroutine

  !> Modes of H of one solver are taken by another, and refused with another eigenvalue.
  subroutine modes_out_and_in()
    type(plaquette_lattice) :: small
    type(plaquette_gauge) :: links
    type(plaquette_overlap) :: first, second
    type(plaquette_overlap_options) :: options
    type(plaquette_modes) :: modes, none
    type(plaquette_spinor_layout), target :: at
    real(c_double), target :: values(4)
    real(c_double) :: residuals(4)
    complex(c_double_complex), target :: vectors(3, 4, 2, 2, 2, 4, 4)
    integer(c_int), parameter :: box(4) = [2, 2, 2, 4]
    options%kernel_modes = 4
    options%modes = 0
    call check(plaquette_lattice_create(small, box, plaquette_lattice_options()))
    call check(plaquette_gauge_create(links, small, u, 2 * size(u, kind=c_size_t), layout))
    call check(plaquette_overlap_create(first, links, options))
    at = plaquette_spinors_of_fortran(box)
    call check(plaquette_overlap_mode_values(first, plaquette_modes_of_h, values, residuals, 4_c_size_t))
    call check(plaquette_overlap_mode_vectors(first, plaquette_modes_of_h, vectors, 2 * size(vectors, kind=c_size_t), at))
    modes%count = 4
    modes%values = c_loc(values)
    modes%vectors = c_loc(vectors)
    modes%length = 2 * size(vectors, kind=c_size_t)
    modes%layout = c_loc(at)
    call check(plaquette_overlap_create_with_modes(second, links, options, modes, none, none))
    call check(plaquette_overlap_free(second))
    values(2) = values(2) * 1.0001_c_double
    code = plaquette_overlap_create_with_modes(second, links, options, modes, none, none)
    call require(code == plaquette_unusable_input .and. index(plaquette_last_message(), 'modes of H') > 0, &
      'what is no mode is refused')
    call check(plaquette_overlap_follow(first, links))
    call check(plaquette_overlap_mode_values(first, plaquette_modes_of_h, values, residuals, 4_c_size_t))
    call check(plaquette_overlap_free(first))
    call check(plaquette_gauge_free(links))
    call check(plaquette_lattice_free(small))
  end subroutine

  !> Light between reflecting sides of two tetrahedra: it moves, and its energy does not grow.
  subroutine waves_in_time()
    type(plaquette_waves) :: waves
    type(plaquette_wave_mesh) :: mesh
    type(plaquette_wave_options) :: options
    real(c_double), target :: vertices(3, 5)
    integer(c_int), target :: elements(4, 2)
    real(c_double), allocatable :: state(:, :, :, :), positions(:, :, :)
    real(c_double) :: before(1), after(1), dt, time, verdict(2)
    integer(c_int64_t) :: shape_of(4)
    vertices = reshape([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1], [3, 5])
    elements = reshape([0, 1, 2, 3, 4, 3, 2, 1], [4, 2])
    mesh%vertices = c_loc(vertices)
    mesh%vertex_count = 5
    mesh%elements = c_loc(elements)
    mesh%element_count = 2
    options%equations = plaquette_maxwell
    call check(plaquette_waves_create_on_mesh(waves, mesh, options))
    call check(plaquette_waves_extents(waves, shape_of))
    call require(all(shape_of == [1, 6, 2, 20]), 'two elements of order 3 have 20 nodes each')
    allocate (state(20, 2, 6, 1), positions(3, 20, 2))
    call check(plaquette_waves_positions(waves, positions, size(positions, kind=c_size_t)))
    state = 0
    state(:, :, 5, 1) = sin(positions(1, :, :))
    call check(plaquette_waves_set_state(waves, state, size(state, kind=c_size_t), 0.5_c_double))
    call check(plaquette_waves_energies(waves, before, 1_c_size_t))
    call check(plaquette_waves_stable_step(waves, dt))
    call check(plaquette_waves_advance(waves, 3_c_int64_t, dt, 1, verdict))
    call check(plaquette_waves_energies(waves, after, 1_c_size_t))
    call check(plaquette_waves_get_state(waves, state, size(state, kind=c_size_t)))
    call check(plaquette_waves_time(waves, time))
    call require(verdict(1) <= verdict(2) .and. abs(time - 0.5_c_double - 3 * dt) < 1e-14_c_double .and. &
      after(1) > 0 .and. after(1) < before(1) .and. maxval(abs(state(:, :, 3, 1))) > 0, 'light moves, and none is made')
    call check(plaquette_waves_free(waves))
  end subroutine

  subroutine check(result)
    integer(c_int), intent(in) :: result
    if (result == plaquette_success) return
    print '(3a)', plaquette_error_text(result), ': ', plaquette_last_message()
    error stop
  end subroutine

  subroutine require(is_so, what)
    logical, intent(in) :: is_so
    character(len=*), intent(in) :: what
    if (is_so) return
    print '(2a)', 'not so: ', what
    error stop
  end subroutine

  logical function all_sizes_are_right()
    type(plaquette_lattice_options) :: lattice_options
    type(plaquette_source) :: source
    type(plaquette_krylov_options) :: krylov
    type(plaquette_multigrid_options) :: multigrid
    type(plaquette_overlap_options) :: overlap
    type(plaquette_smearing) :: smearing
    type(plaquette_modes) :: modes
    type(plaquette_vectors_options) :: vectors
    type(plaquette_vector_system) :: system
    type(plaquette_operator_form) :: form
    type(plaquette_heatbath) :: heatbath
    type(plaquette_wave_options) :: waves
    type(plaquette_wave_box) :: box
    type(plaquette_wave_mesh) :: mesh
    all_sizes_are_right = c_sizeof(lattice_options) == lattice_options%size .and. c_sizeof(layout) == layout%size .and. &
      c_sizeof(action) == action%size .and. c_sizeof(spinors) == spinors%size .and. c_sizeof(rule) == rule%size .and. &
      c_sizeof(source) == source%size .and. c_sizeof(krylov) == krylov%size .and. &
      c_sizeof(multigrid) == multigrid%size .and. c_sizeof(overlap) == overlap%size .and. &
      c_sizeof(smearing) == smearing%size .and. c_sizeof(modes) == modes%size .and. &
      c_sizeof(heatbath) == heatbath%size .and. &
      c_sizeof(vectors) == vectors%size .and. c_sizeof(system) == system%size .and. c_sizeof(form) == form%size .and. &
      c_sizeof(waves) == waves%size .and. c_sizeof(box) == box%size .and. c_sizeof(mesh) == mesh%size
  end function
end program
