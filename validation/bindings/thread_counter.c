/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the threads of parallel regions: takes the place of the function by which gcc's code enters them. A program
   links this before the library, or is started with it in LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdatomic.h>
#include <stddef.h>

int thread_counter_most(void);
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);

static atomic_int most = 0;

/* Returns the most threads of a region since this was called last. */
int thread_counter_most(void) { return atomic_exchange(&most, 0); }

void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  static void (*enter)(void (*)(void*), void*, unsigned, unsigned);
  if (enter == NULL) *(void**)&enter = dlsym(RTLD_NEXT, "GOMP_parallel");
  const int wanted = threads > 0 ? (int)threads : omp_get_max_threads();
  int before = atomic_load(&most);
  while (before < wanted && !atomic_compare_exchange_weak(&most, &before, wanted)) {
  }
  enter(body, data, threads, flags);
}
