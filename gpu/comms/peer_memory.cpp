// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/comms/peer_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "common/error.hpp"
#include "gpu/comms/rank_map.hpp"
#include "gpu/device/check.hpp"
#include "gpu/device/runtime.hpp"

#ifndef PLAQUETTE_CUDA_RUNTIME
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#endif

namespace plaquette::gpu {

namespace {

template <class T>
std::vector<T> gathered(const communicator& comm, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> all(static_cast<std::size_t>(comm.size()));
  comm.gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

/// Pages of a GPU: exported memory begins and ends with one, so that nothing else is exported.
constexpr std::size_t page = std::size_t{2} << 20;
std::size_t whole_pages(std::size_t bytes) { return std::max<std::size_t>((bytes + page - 1) / page, 1) * page; }

#ifdef PLAQUETTE_CUDA_RUNTIME

/// The description of a rank's memory for the others.
struct invitation {
  cudaIpcMemHandle_t handle;
  std::uint64_t bytes;
  bool has_memory, is_open;
};

class own_memory {
 public:
  own_memory(int device, std::size_t bytes) : device_(device), bytes_(whole_pages(bytes)) {
    check(cudaSetDevice(device));
    if (cudaMalloc(&begin_, bytes_) != cudaSuccess) {
      (void)cudaGetLastError();
      begin_ = nullptr;
      return;
    }
    check(cudaMemset(begin_, 0, bytes_));
    check(cudaDeviceSynchronize());
  }
  std::byte* begin() const { return static_cast<std::byte*>(begin_); }
  invitation invite(std::size_t bytes) const {
    invitation made = {};
    made.bytes = bytes;
    made.has_memory = begin_ != nullptr;
    made.is_open = made.has_memory && cudaIpcGetMemHandle(&made.handle, begin_) == cudaSuccess;
    (void)cudaGetLastError();  // on a system without it no rank reaches another
    return made;
  }
  std::size_t available() const { return memory_of_device(device_).available; }
  void give_back() noexcept {
    if (begin_ != nullptr) (void)cudaFree(begin_);
    begin_ = nullptr;
  }
  /// Nothing that this rank has queued may still write to others.
  void finish_work() const noexcept {
    (void)cudaSetDevice(device_);
    (void)cudaDeviceSynchronize();
  }

 private:
  int device_;
  std::size_t bytes_;
  void* begin_ = nullptr;
};

/// Returns null if it cannot be reached.
std::byte* accept(const invitation& from) {
  if (!from.is_open) return nullptr;
  void* begin = nullptr;
  const cudaError_t status = cudaIpcOpenMemHandle(&begin, from.handle, cudaIpcMemLazyEnablePeerAccess);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return static_cast<std::byte*>(begin);
}
void leave(std::byte* theirs, std::size_t /*bytes*/) noexcept { (void)cudaIpcCloseMemHandle(theirs); }

#else

struct invitation {
  pid_t process;
  int file;
  std::uint64_t bytes;
  bool has_memory;
};

void* map_shared(int file, std::size_t bytes) {
  void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return begin == MAP_FAILED ? nullptr : begin;
}

/// An anonymous file, which the other ranks open through this process's list of files: it has no name, so that nothing
/// is left of it, however the run ends.
class own_memory {
 public:
  own_memory(int /*device*/, std::size_t bytes) : bytes_(whole_pages(bytes)) {
    file_ = memfd_create("plaquette-peer-memory", MFD_CLOEXEC);
    if (file_ < 0) return;
    if (ftruncate(file_, static_cast<off_t>(bytes_)) == 0) begin_ = map_shared(file_, bytes_);
  }
  std::byte* begin() const { return static_cast<std::byte*>(begin_); }
  invitation invite(std::size_t bytes) const { return {getpid(), file_, bytes, begin_ != nullptr}; }
  std::size_t available() const { return 0; }
  void give_back() noexcept {
    if (begin_ != nullptr) (void)munmap(begin_, bytes_);
    if (file_ >= 0) (void)close(file_);
    begin_ = nullptr;
    file_ = -1;
  }
  void finish_work() const noexcept {}

 private:
  std::size_t bytes_;
  int file_ = -1;
  void* begin_ = nullptr;
};

std::byte* accept(const invitation& from) {
  const std::string path = "/proc/" + std::to_string(from.process) + "/fd/" + std::to_string(from.file);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const begin = map_shared(file, whole_pages(from.bytes));
  close(file);
  return static_cast<std::byte*>(begin);
}
void leave(std::byte* theirs, std::size_t bytes) noexcept { (void)munmap(theirs, whole_pages(bytes)); }

#endif

}  // namespace

struct peer_memory::state {
  communicator comm;
  own_memory own;
  std::vector<invitation> invitations;
  std::vector<std::byte*> of;
  bool reaches_all = true;

  state(const communicator& ranks, int device, std::size_t bytes)
      : comm(ranks), own(device, bytes), of(static_cast<std::size_t>(ranks.size()), nullptr) {
    invitations = gathered(comm, own.invite(bytes));
    require_memory(bytes);
    const rank_map map(comm, device);
    for (int rank = 0; rank < comm.size(); ++rank)
      if (rank != comm.rank() && map.reaches(comm.rank(), rank)) at(rank) = accept(invitation_of(rank));
    at(comm.rank()) = own.begin();
    agree();
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  ~state() {
    // No rank waits for ranks that may never come. Kernels may still write, of this rank to theirs and of theirs to
    // this one's: all of it stays until the process ends.
    if (std::uncaught_exceptions() > 0) return;
    own.finish_work();
    for (int rank = 0; rank < comm.size(); ++rank)
      if (rank != comm.rank()) drop(rank);
    try {
      comm.barrier();
    } catch (...) {
      return;
    }
    own.give_back();
  }

  std::byte*& at(int rank) { return of[static_cast<std::size_t>(rank)]; }
  const invitation& invitation_of(int rank) const { return invitations[static_cast<std::size_t>(rank)]; }

  void require_memory(std::size_t bytes) {
    const auto lacking = std::ranges::find_if_not(invitations, &invitation::has_memory);
    if (lacking == invitations.end()) return;
    const std::size_t available = own.begin() == nullptr ? own.available() : 0;
    own.give_back();  // no rank has opened it
    throw memory_error(
        "out of memory for the ghosts of other ranks: rank " + std::to_string(lacking - invitations.begin()) +
        " needs " + std::to_string(lacking->bytes) + " bytes" +
        (available > 0
             ? ", " + std::to_string(available) + " are available for the " + std::to_string(bytes) + " of this rank"
             : std::string()));
  }

  /// Two ranks reach each other, or neither does the other.
  void agree() {
    const auto ranks = static_cast<std::size_t>(comm.size());
    std::vector<std::uint8_t> reached(ranks), all(ranks * ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) reached[rank] = of[rank] != nullptr;
    comm.gather(std::as_bytes(std::span(reached)), std::as_writable_bytes(std::span(all)));
    for (int a = 0; a < comm.size(); ++a)
      for (int b = 0; b < comm.size(); ++b) {
        const bool both = all[static_cast<std::size_t>(a) * ranks + static_cast<std::size_t>(b)] != 0 &&
                          all[static_cast<std::size_t>(b) * ranks + static_cast<std::size_t>(a)] != 0;
        reaches_all = reaches_all && both;
        if (a == comm.rank() && b != a && !both) drop(b);
      }
  }

  void drop(int rank) noexcept {
    if (at(rank) != nullptr) leave(at(rank), invitation_of(rank).bytes);
    at(rank) = nullptr;
  }
};

peer_memory::peer_memory(const communicator& comm, int device, std::size_t bytes)
    : state_(std::make_unique<state>(comm, device, bytes)) {}
peer_memory::peer_memory(peer_memory&&) noexcept = default;
peer_memory& peer_memory::operator=(peer_memory&&) noexcept = default;
peer_memory::~peer_memory() = default;

std::byte* peer_memory::mine() const { return of(state_->comm.rank()); }
std::byte* peer_memory::of(int rank) const { return state_->of.at(static_cast<std::size_t>(rank)); }
std::size_t peer_memory::bytes_of(int rank) const {
  return state_->invitations.at(static_cast<std::size_t>(rank)).bytes;
}
bool peer_memory::reaches_all() const { return state_->reaches_all; }

}  // namespace plaquette::gpu
