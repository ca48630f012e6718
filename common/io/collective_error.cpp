// SPDX-License-Identifier: BSD-3-Clause
#include "common/io/collective_error.hpp"

#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

#include "common/error.hpp"

namespace plaquette {

namespace {

std::optional<error> error_of(const std::function<void()>& work) {
  try {
    work();
    return std::nullopt;
  } catch (const error& e) {
    return e;
  } catch (const std::bad_alloc&) {
    return error(exit_status::out_of_memory, "not enough memory for a field of this lattice");
  } catch (const std::length_error&) {  // a container needed more than can be addressed
    return error(exit_status::out_of_memory, "not enough memory: a size is beyond what can be addressed");
  } catch (const std::exception& e) {
    return error(exit_status::internal_error, e.what());
  }
}

[[noreturn]] void raise(const error& e) {
  switch (e.status()) {
    case exit_status::unusable_input:
      throw input_error(e.what());
    case exit_status::output_failed:
      throw output_error(e.what());
    case exit_status::out_of_memory:
      throw memory_error(e.what());
    default:
      throw e;
  }
}

}  // namespace

void on_all_ranks_or_none(const communicator& comm, const std::function<void()>& work) {
  const std::optional<error> own = error_of(work);
  double lowest_failed = own ? comm.size() - comm.rank() : 0.0;  // as a maximum: 0 where no rank failed
  comm.maximum({&lowest_failed, 1});
  if (lowest_failed == 0.0) return;
  const int speaker = comm.size() - static_cast<int>(lowest_failed);
  std::string text = own ? own->what() : "";
  std::uint64_t facts[2] = {text.size(), own ? static_cast<std::uint64_t>(own->status()) : 0};
  comm.broadcast(std::as_writable_bytes(std::span(facts)), speaker);
  text.resize(facts[0]);
  comm.broadcast(std::as_writable_bytes(std::span(text)), speaker);
  raise(error(static_cast<exit_status>(facts[1]), text));
}

}  // namespace plaquette
