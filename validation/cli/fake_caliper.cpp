// SPDX-License-Identifier: BSD-3-Clause
// Stands in for Caliper's library: writes the regions of a program to stderr.
#include <cstdio>

extern "C" {
void cali_begin_region(const char* name) { std::fprintf(stderr, "begin %s\n", name); }
void cali_end_region(const char* name) { std::fprintf(stderr, "end %s\n", name); }
}
