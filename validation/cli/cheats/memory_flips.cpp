// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A program in whose fields a bit flips while it works: in links of operators, null vectors, coarse operators, modes,
/// and vectors of a solve. The linker puts the functions __wrap_* here in the place of the honest ones. An event is a
/// field that is made, a question whether to stop, or a stage that begins.
///   PLAQUETTE_FLIP="EVENT,DRAW"  flips bit number DRAW of all live fields at that event, 1 the first
///
///   PLAQUETTE_FLIP="0,0"         none does; the events are counted
///
/// Both tell on stderr. The same numbers flip the same bit where the program has one thread.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "common/app/run_app.hpp"
#include "common/app/run_control.hpp"
#include "cpu_ref/memory/buffer_pool.hpp"

namespace plaquette {

namespace {

struct live_field {
  std::uint8_t* begin;
  std::size_t bytes;
};

std::mutex fields_mutex;
/// By the order in which they were made, which is the same in every run; addresses are not. Never destroyed: fields of
/// static objects are given back late.
auto& fields = *new std::map<std::uint64_t, live_field>;
auto& number_of = *new std::map<const void*, std::uint64_t>;
std::uint64_t fields_made = 0;
unsigned long long events = 0, wanted = 0, drawn = 0;
bool flips = false;

const bool is_set_up = [] {
  const char* const text = std::getenv("PLAQUETTE_FLIP");
  flips = text != nullptr && std::sscanf(text, "%llu,%llu", &wanted, &drawn) == 2;
  if (flips && wanted == 0) std::atexit([] { std::fprintf(stderr, "events: %llu\n", events); });
  return true;
}();

void note_event() {
  const std::lock_guard lock(fields_mutex);
  if (!flips || ++events != wanted) return;
  std::size_t all = 0;
  for (const auto& [number, field] : fields) all += field.bytes;
  if (all == 0) return;
  std::size_t place = drawn / 8 % all;
  for (const auto& [number, field] : fields) {
    if (place < field.bytes) {
      __atomic_fetch_xor(field.begin + place, static_cast<std::uint8_t>(1U << (drawn % 8)), __ATOMIC_RELAXED);
      std::fprintf(stderr, "flipped bit %llu of byte %zu of field %llu of %zu bytes\n", drawn % 8, place,
                   static_cast<unsigned long long>(number), field.bytes);
      return;
    }
    place -= field.bytes;
  }
}

}  // namespace

extern "C" {
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
void __real_free(void* memory);
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes);
void __wrap_free(void* memory);

void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  void* const memory = __real_aligned_alloc(alignment, bytes);
  const std::lock_guard lock(fields_mutex);
  if (memory != nullptr && bytes > 0) {
    fields[++fields_made] = {static_cast<std::uint8_t*>(memory), bytes};
    number_of[memory] = fields_made;
  }
  return memory;
}

void __wrap_free(void* memory) {
  {
    const std::lock_guard lock(fields_mutex);
    if (const auto found = number_of.find(memory); found != number_of.end()) {
      fields.erase(found->second);
      number_of.erase(found);
    }
  }
  __real_free(memory);
}
}

// Names as the linker has them; memory_flips.wraps has the same.
#define PLAQUETTE_TAKE "_ZN9plaquette3cpu11buffer_pool4takeEm"
#define PLAQUETTE_SHOULD_STOP "_ZN9plaquette11run_control11should_stopEv"
#define PLAQUETTE_STAGE "_ZN9plaquette11enter_stageERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
std::shared_ptr<std::byte> honest_take(cpu::buffer_pool*, std::size_t) asm("__real_" PLAQUETTE_TAKE);
std::shared_ptr<std::byte> watched_take(cpu::buffer_pool*, std::size_t) asm("__wrap_" PLAQUETTE_TAKE);
bool honest_should_stop(run_control*) asm("__real_" PLAQUETTE_SHOULD_STOP);
bool watched_should_stop(run_control*) asm("__wrap_" PLAQUETTE_SHOULD_STOP);
void honest_stage(const std::string&) asm("__real_" PLAQUETTE_STAGE);
void watched_stage(const std::string&) asm("__wrap_" PLAQUETTE_STAGE);

std::shared_ptr<std::byte> watched_take(cpu::buffer_pool* pool, std::size_t bytes) {
  note_event();
  return honest_take(pool, bytes);
}
bool watched_should_stop(run_control* control) {
  note_event();
  return honest_should_stop(control);
}
void watched_stage(const std::string& what) {
  note_event();
  honest_stage(what);
}

}  // namespace plaquette
