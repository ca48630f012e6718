// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// hypot as glibc has had it from the beginning. The new one of glibc 2.35 differs in error handling that is not used
/// here; a library that calls it cannot be loaded by older systems. The linker turns calls of hypot into calls of
/// __wrap_hypot.
extern "C" {
double hypot_of_any_glibc(double x, double y) noexcept;
__asm__(".symver hypot_of_any_glibc, hypot@GLIBC_2.2.5");
double __wrap_hypot(double x, double y) noexcept { return hypot_of_any_glibc(x, y); }
}
