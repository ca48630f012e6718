! SPDX-License-Identifier: BSD-3-Clause
! A pion from links of one's own, in Fortran 2008. Argument: a file for the links.
program pion
  use plaquette
  implicit none
  integer(c_int), parameter :: extents(4) = [4, 4, 4, 8]
  complex(c_double_complex) :: u(3, 3, 4, 4, 4, 4, 8)
  type(plaquette_lattice) :: lattice
  type(plaquette_gauge) :: gauge
  type(plaquette_solver) :: solver
  type(plaquette_propagator) :: quark
  type(plaquette_action) :: action
  type(plaquette_rule) :: rule
  type(plaquette_result) :: results(12)
  real(c_double) :: correlator(8)
  character(len=256) :: file
  integer :: t

  call fill(u)
  action%mass = 0.2_c_double
  action%csw = 1
  rule%tolerance = 1e-12_c_double
  call check(plaquette_lattice_create(lattice, extents, plaquette_lattice_options()))
  call check(plaquette_gauge_create(gauge, lattice, u, 2 * size(u, kind=c_size_t), plaquette_links_of_fortran(extents)))
  if (command_argument_count() > 0) then
    call get_command_argument(1, file)
    call check(plaquette_gauge_write(gauge, file, 0))
  end if
  call check(plaquette_multigrid_create(solver, gauge, action, plaquette_multigrid_options()))
  call check(plaquette_propagator_solve(quark, solver, plaquette_source(), rule, results)) ! success: verified
  call check(plaquette_pion(quark, correlator, 8_c_size_t))
  do t = 1, 8
    print '(es23.15)', correlator(t)
  end do
  print '(a)', 'VERIFIED PASSED'

contains

  subroutine check(code)
    integer(c_int), intent(in) :: code
    if (code == plaquette_success) return
    print '(3a)', plaquette_error_text(code), ': ', plaquette_last_message()
    error stop
  end subroutine

  ! One's own links, u(row, column, mu, x, y, z, t): diagonal ones, of two waves.
  subroutine fill(links)
    complex(c_double_complex), intent(out) :: links(3, 3, 4, 4, 4, 4, 8)
    integer :: mu, x, y, z, time
    real(c_double) :: a, b
    links = 0
    do concurrent (mu = 0:3, x = 0:3, y = 0:3, z = 0:3, time = 0:7)
      a = 0.6_c_double * sin(1.571_c_double * (x + 2 * y + z + mu))
      b = 0.5_c_double * cos(0.785_c_double * (time + mu * x)) - 0.2_c_double * y
      links(1, 1, mu + 1, x + 1, y + 1, z + 1, time + 1) = cmplx(cos(a), sin(a), c_double_complex)
      links(2, 2, mu + 1, x + 1, y + 1, z + 1, time + 1) = cmplx(cos(b), sin(b), c_double_complex)
      links(3, 3, mu + 1, x + 1, y + 1, z + 1, time + 1) = cmplx(cos(a + b), -sin(a + b), c_double_complex)
    end do
  end subroutine
end program
