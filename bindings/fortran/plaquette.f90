! SPDX-License-Identifier: BSD-3-Clause
!> Constants, types and interfaces of plaquette.h, which the module plaquette shows to callers.
module plaquette_c
  use, intrinsic :: iso_c_binding
  implicit none
  include 'plaquette_c.inc'
end module

!> Plaquette for callers in Fortran 2008: plaquette.h by ISO_C_BINDING. Compile this file with your own compiler and link
!! libplaquette_c; it includes plaquette_c.inc of the same folder. Functions return a code; 0 is success. plaquette.h says
!! what each does, docs/calling.md shows how.
!! plaquette_links_of_fortran and plaquette_spinors_of_fortran are the layouts of u(3, 3, 4, nx, ny, nz, nt), u(i, j, ...)
!! element (i, j), and of psi(3, 4, nx, ny, nz, nt, columns). Lengths are counted in reals, two a complex number.
!!
!! Options are passed always: plaquette_source() and its like are the defaults. A new handle is none. c_loc makes pointers in
!! structures: values (real) and vectors (complex) of modes, their layout, mu, and of meshes vertices(3, :), elements(4, :)
!! numbered from 0 and media(2, :).
!!
!! Arguments: goes_on is c_funloc of a function with a c_ptr as its value argument, bind(c), that returns 0 to stop. stops is
!! c_funloc of a function of type(plaquette_progress), intent(in), and such a c_ptr; it stops by another number than 0.
!! c_null_funptr means none. plaquette_from_source takes c_loc of real or complex numbers. factors are one for all columns, or
!! one a column. g(3, 3, nx, ny, nz, nt) has element (i, j) at g(j, i, ...). Waves have positions(3, node, element) and
!! state(node, element, field, column).
module plaquette
  use, intrinsic :: iso_c_binding
  use plaquette_c
  implicit none
  private :: text_of, length_of, name_for_c
  private :: c_error_text, c_last_message, c_version, c_gauge_read, c_gauge_file_extents, c_gauge_write, c_gauge_remark, &
    c_propagator_write, c_propagator_read, c_waves_create_from_file

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
    text = text_of(c_error_text(code))
  end function

  !> Returns what went wrong in the last call of this thread that failed.
  function plaquette_last_message() result(text)
    character(len=:), allocatable :: text
    text = text_of(c_last_message())
  end function

  !> Returns the version of the library that runs.
  function plaquette_version() result(text)
    character(len=:), allocatable :: text
    text = text_of(c_version())
  end function

  !> Reads a file of links.
  integer(c_int) function plaquette_gauge_read(gauge, lattice, file) result(code)
    type(plaquette_gauge), intent(out) :: gauge
    type(plaquette_lattice), intent(in) :: lattice
    character(len=*), intent(in) :: file
    code = c_gauge_read(gauge, lattice, name_for_c(file))
  end function

  !> Makes a solver of waves on the tetrahedra of a Gmsh file.
  integer(c_int) function plaquette_waves_create_from_file(waves, file, options) result(code)
    type(plaquette_waves), intent(out) :: waves
    character(len=*), intent(in) :: file
    type(plaquette_wave_options), intent(in) :: options
    code = c_waves_create_from_file(waves, name_for_c(file), options)
  end function

  !> Returns the extents of the lattice of a file.
  integer(c_int) function plaquette_gauge_file_extents(file, extents) result(code)
    character(len=*), intent(in) :: file
    integer(c_int), intent(out) :: extents(4)
    code = c_gauge_file_extents(name_for_c(file), extents)
  end function

  !> Writes an ILDG file; an existing one is kept unless `replace` is 1.
  integer(c_int) function plaquette_gauge_write(gauge, file, replace) result(code)
    type(plaquette_gauge), intent(in) :: gauge
    character(len=*), intent(in) :: file
    integer(c_int), intent(in) :: replace
    code = c_gauge_write(gauge, name_for_c(file), replace)
  end function

  !> Writes a LIME file of a style; an existing one is kept unless `replace` is 1.
  integer(c_int) function plaquette_propagator_write(propagator, file, style, replace) result(code)
    type(plaquette_propagator), intent(in) :: propagator
    character(len=*), intent(in) :: file
    integer(c_int), intent(in) :: style, replace
    code = c_propagator_write(propagator, name_for_c(file), style, replace)
  end function

  !> Reads a LIME file of either style.
  integer(c_int) function plaquette_propagator_read(propagator, lattice, file) result(code)
    type(plaquette_propagator), intent(out) :: propagator
    type(plaquette_lattice), intent(in) :: lattice
    character(len=*), intent(in) :: file
    code = c_propagator_read(propagator, lattice, name_for_c(file))
  end function

  !> Returns the sentence on links that were taken back to SU(3) as they came; empty where there were none.
  function plaquette_gauge_remark(gauge) result(text)
    type(plaquette_gauge), intent(in) :: gauge
    character(len=:), allocatable :: text
    character(kind=c_char), target :: characters(1024)
    characters = c_null_char
    if (c_gauge_remark(gauge, characters, size(characters, kind=c_size_t)) /= 0) characters(1) = c_null_char
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
