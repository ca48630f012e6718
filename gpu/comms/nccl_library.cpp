// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/comms/nccl_library.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <span>
#include <stdexcept>

#include "gpu/comms/rank_map.hpp"
#include "gpu/device/runtime.hpp"

namespace plaquette::gpu {

namespace {

// The few of its declarations that are used, as its documentation has them.
extern "C" {
struct nccl_communicator;
struct nccl_unique_id {
  char internal[128];
};
using nccl_get_unique_id = int (*)(nccl_unique_id*);
using nccl_init_rank = int (*)(nccl_communicator**, int ranks, nccl_unique_id, int rank);
using nccl_end = int (*)(nccl_communicator*);
using nccl_send = int (*)(const void*, std::size_t count, int type, int peer, nccl_communicator*, void* stream);
using nccl_receive = int (*)(void*, std::size_t count, int type, int peer, nccl_communicator*, void* stream);
using nccl_group = int (*)();
using nccl_text = const char* (*)(int);
using nccl_version = int (*)(int*);
}

constexpr int nccl_success = 0, nccl_byte = 0;  // ncclInt8

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

struct nccl_functions {
  void* library = nullptr;
  nccl_get_unique_id get_unique_id = nullptr;
  nccl_init_rank init_rank = nullptr;
  nccl_end destroy = nullptr;
  nccl_send send = nullptr;
  nccl_receive receive = nullptr;
  nccl_group group_start = nullptr, group_end = nullptr;
  nccl_text error_text = nullptr;
  nccl_version version = nullptr;

  /// Empty if all is there, else the missing part. The library stays loaded: it has threads of its own.
  std::string load() {
    setenv("NCCL_NVLS_ENABLE", "0", 1);
    library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return dlerror();
    if (find(library, "ncclGetUniqueId", get_unique_id) && find(library, "ncclCommInitRank", init_rank) &&
        find(library, "ncclCommDestroy", destroy) && find(library, "ncclSend", send) &&
        find(library, "ncclRecv", receive) && find(library, "ncclGroupStart", group_start) &&
        find(library, "ncclGroupEnd", group_end) && find(library, "ncclGetErrorString", error_text) &&
        find(library, "ncclGetVersion", version))
      return {};
    return "libnccl.so.2 lacks a function (" + std::string(dlerror()) + ")";
  }

  void check(int result, const char* call) const {
    if (result != nccl_success) throw std::runtime_error(std::string(call) + ": " + error_text(result));
  }
};

/// Returns the lowest rank's reason, or none if no rank has one; the same on all.
std::string agreed(const communicator& comm, const std::string& mine) {
  std::array<char, 512> text = {};
  mine.copy(text.data(), text.size() - 1);
  std::vector<char> all(text.size() * static_cast<std::size_t>(comm.size()));
  comm.gather(std::as_bytes(std::span(text)), std::as_writable_bytes(std::span(all)));
  for (int rank = 0; rank < comm.size(); ++rank)
    if (const char* reason = all.data() + static_cast<std::size_t>(rank) * text.size(); *reason != '\0')
      return "rank " + std::to_string(rank) + ": " + reason;
  return {};
}

}  // namespace

struct nccl_ranks::state {
  nccl_functions functions;
  nccl_communicator* ranks = nullptr;
};

nccl_ranks::nccl_ranks(std::unique_ptr<state> loaded) : state_(std::move(loaded)) {}

nccl_ranks::~nccl_ranks() {
  // Its end waits for the other ranks, which may never come while an exception is on its way.
  if (state_->ranks != nullptr && std::uncaught_exceptions() == 0) (void)state_->functions.destroy(state_->ranks);
}

std::unique_ptr<nccl_ranks> nccl_ranks::start(const communicator& comm, int device, std::string& reason) {
  auto made = std::make_unique<state>();
  std::string mine;
  if (kernels_run_on_host())
    mine = "NCCL moves memory of GPUs, and kernels run on the host here";
  else if (rank_map(comm, device).shares_a_device())
    mine = "NCCL takes one rank a GPU, and ranks share one here";
  else
    mine = made->functions.load();
  reason = agreed(comm, mine);
  if (!reason.empty()) return nullptr;

  const nccl_functions& f = made->functions;
  nccl_unique_id id = {};
  if (comm.rank() == 0 && f.get_unique_id(&id) != nccl_success) mine = "ncclGetUniqueId failed";
  reason = agreed(comm, mine);
  if (!reason.empty()) return nullptr;
  comm.broadcast(std::as_writable_bytes(std::span(&id, 1)), 0);
  (void)memory_of_device(device);  // makes the device current, which is the one that NCCL takes
  const int result = f.init_rank(&made->ranks, comm.size(), id, comm.rank());
  if (result != nccl_success) {
    mine = std::string("ncclCommInitRank: ") + f.error_text(result);
    made->ranks = nullptr;
  }
  reason = agreed(comm, mine);
  std::unique_ptr<nccl_ranks> ranks(new nccl_ranks(std::move(made)));
  return reason.empty() ? std::move(ranks) : nullptr;
}

void nccl_ranks::begin_group() const { state_->functions.check(state_->functions.group_start(), "ncclGroupStart"); }
void nccl_ranks::end_group() const { state_->functions.check(state_->functions.group_end(), "ncclGroupEnd"); }
void nccl_ranks::send(int peer, const std::byte* data, std::size_t bytes, void* stream) const {
  const nccl_functions& f = state_->functions;
  f.check(f.send(data, bytes, nccl_byte, peer, state_->ranks, stream), "ncclSend");
}
void nccl_ranks::receive(int peer, std::byte* data, std::size_t bytes, void* stream) const {
  const nccl_functions& f = state_->functions;
  f.check(f.receive(data, bytes, nccl_byte, peer, state_->ranks, stream), "ncclRecv");
}

std::string nccl_ranks::version() const {
  int number = 0;
  state_->functions.check(state_->functions.version(&number), "ncclGetVersion");
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

}  // namespace plaquette::gpu
