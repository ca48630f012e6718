// SPDX-License-Identifier: BSD-3-Clause
#include "common/comms/communicator.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "common/comms/stall_watch.hpp"
#include "common/error.hpp"
#ifdef PLAQUETTE_WITH_MPI
#include "common/comms/mpi_communicator.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif

namespace plaquette {

namespace {

/// Copies the messages that a rank sends to itself.
void copy_own_messages(int self, std::span<const outgoing_message> send, std::span<const incoming_message> receive) {
  for (const incoming_message& in : receive) {
    if (in.peer != self) continue;
    const auto out =
        std::ranges::find_if(send, [&](const outgoing_message& m) { return m.peer == self && m.tag == in.tag; });
    if (out == send.end() || out->data.size() != in.data.size())
      throw std::logic_error("communicator: a message to oneself has no counterpart of its tag and size");
    std::ranges::copy(out->data, in.data.begin());
  }
}

void require_room(std::span<const std::byte> mine, std::span<std::byte> all, int ranks) {
  if (all.size() != mine.size() * static_cast<std::size_t>(ranks))
    throw std::logic_error("communicator: " + std::to_string(ranks) + " parts of " + std::to_string(mine.size()) +
                           " bytes are gathered into " + std::to_string(all.size()));
}

/// What the ranks of a plan give: all the same.
void repeat(std::span<const std::byte> mine, std::span<std::byte> all) {
  for (std::size_t at = 0; at < all.size(); at += mine.size()) std::ranges::copy(mine, all.subspan(at).begin());
}

}  // namespace

bool is_launched_by_mpi(const char* const* environment) {
  constexpr std::string_view override_name = "PLAQUETTE_MPI=";
  bool is_launched = false;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view variable = *environment;
    if (variable == "PLAQUETTE_MPI=always") return true;
    if (variable == "PLAQUETTE_MPI=never") return false;
    if (variable.starts_with(override_name) && variable != "PLAQUETTE_MPI=auto" && variable != override_name)
      throw input_error("PLAQUETTE_MPI: expected auto, always or never, found '" +
                        std::string(variable.substr(override_name.size())) + "'");
    for (const std::string_view prefix : {"OMPI_COMM_WORLD_", "PMIX_RANK=", "PMI_", "PMI2_", "MV2_COMM_WORLD_",
                                          "MPI_LOCALNRANKS=", "PALS_RANKID=", "ALPS_APP_PE=", "JSM_NAMESPACE_",
                                          "SLURM_STEP_NUM_TASKS=", "FLUX_TASK_RANK="})
      is_launched = is_launched || variable.starts_with(prefix);
  }
  return is_launched;
}

#ifdef PLAQUETTE_WITH_MPI

namespace {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

/// MPI counts are int: longer messages go in pieces, which arrive in order.
constexpr std::size_t largest_piece = std::size_t{1} << 30;

constexpr const char* what_a_message_is = "messages of its neighbours";

bool is_mpi_running() {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized && !finalized;
}

}  // namespace

struct communicator::implementation {
  MPI_Comm comm = MPI_COMM_SELF;
  bool owned = false;
  ~implementation() {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (owned && !finalized) MPI_Comm_free(&comm);
  }
};

struct pending_exchange::state {
  std::vector<MPI_Request> requests;
  std::size_t receives = 0;  ///< they are the first
};

bool pending_exchange::poll() {
  if (!state_) return true;
  int done = 0;
  check(MPI_Testall(static_cast<int>(state_->requests.size()), state_->requests.data(), &done, MPI_STATUSES_IGNORE),
        "MPI_Testall");
  if (done == 0) note_unanswered_poll();
  return done != 0;
}
void pending_exchange::wait() {
  if (!state_) return;
  const rank_wait wait(what_a_message_is);
  check(MPI_Waitall(static_cast<int>(state_->requests.size()), state_->requests.data(), MPI_STATUSES_IGNORE),
        "MPI_Waitall");
  state_.reset();
}
void pending_exchange::give_up() noexcept {
  using clock = std::chrono::steady_clock;
  bool is_done = false;
  try {
    const auto end = clock::now() + std::chrono::seconds(2);
    while (!is_done && clock::now() < end) is_done = poll();
    if (!is_done) {
      is_done = true;
      for (std::size_t i = 0; i < state_->requests.size(); ++i) {
        MPI_Request& request = state_->requests[i];
        if (request == MPI_REQUEST_NULL) continue;
        const bool is_cancelled = i < state_->receives && MPI_Cancel(&request) == MPI_SUCCESS;
        is_done = is_cancelled && MPI_Request_free(&request) == MPI_SUCCESS && is_done;
      }
    }
  } catch (...) {
    is_done = false;  // the error under way is the one to be told
  }
  if (!is_done) (void)state_.release();  // MPI may still use what it points to
  state_.reset();
}

/// Makes communicators of MPI's.
struct mpi_access {
  static communicator of(MPI_Comm comm, bool owned) {
    communicator c;
    auto implementation = std::make_shared<communicator::implementation>();
    implementation->comm = comm;
    implementation->owned = owned;
    check(MPI_Comm_rank(comm, &c.rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm, &c.size_), "MPI_Comm_size");
    c.implementation_ = std::move(implementation);
    return c;
  }
};

communicator communicator::world() { return is_mpi_running() ? mpi_access::of(MPI_COMM_WORLD, false) : communicator(); }

communicator communicator_of(MPI_Comm group) {
  if (group == MPI_COMM_NULL) throw std::invalid_argument("communicator_of: expected a group of ranks, found none");
  MPI_Comm own = MPI_COMM_NULL;
  check(MPI_Comm_dup(group, &own), "MPI_Comm_dup");
  return mpi_access::of(own, true);
}

communicator communicator::split(int colour) const {
  if (!implementation_) return {};
  const rank_wait wait("a new group of ranks");
  MPI_Comm part = MPI_COMM_NULL;
  check(MPI_Comm_split(implementation_->comm, colour, rank_, &part), "MPI_Comm_split");
  return mpi_access::of(part, true);
}

pending_exchange communicator::start_exchange(std::span<const outgoing_message> send,
                                              std::span<const incoming_message> receive) const {
  copy_own_messages(rank_, send, receive);
  pending_exchange exchange;
  if (is_alone()) return exchange;
  exchange.state_ = std::make_unique<pending_exchange::state>();
  auto& requests = exchange.state_->requests;
  for (const incoming_message& m : receive) {
    if (m.peer == rank_) continue;
    for (std::size_t at = 0; at < m.data.size(); at += largest_piece) {
      const auto piece = m.data.subspan(at, std::min(largest_piece, m.data.size() - at));
      check(MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, m.peer, m.tag, implementation_->comm,
                      &requests.emplace_back()),
            "MPI_Irecv");
    }
  }
  exchange.state_->receives = requests.size();
  for (const outgoing_message& m : send) {
    if (m.peer == rank_) continue;
    for (std::size_t at = 0; at < m.data.size(); at += largest_piece) {
      const auto piece = m.data.subspan(at, std::min(largest_piece, m.data.size() - at));
      check(MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, m.peer, m.tag, implementation_->comm,
                      &requests.emplace_back()),
            "MPI_Isend");
    }
  }
  return exchange;
}

namespace {
template <class T>
void all_reduce(MPI_Comm comm, std::span<T> values, MPI_Datatype type, MPI_Op operation) {
  const rank_wait wait("a sum or maximum over all ranks");
  check(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), type, operation, comm),
        "MPI_Allreduce");
}
}  // namespace

void communicator::sum(std::span<double> values) const {
  if (!is_alone()) all_reduce(implementation_->comm, values, MPI_DOUBLE, MPI_SUM);
}
void communicator::sum(std::span<std::uint64_t> values) const {
  if (!is_alone()) all_reduce(implementation_->comm, values, MPI_UINT64_T, MPI_SUM);
}
void communicator::maximum(std::span<double> values) const {
  if (is_alone()) return;
  // MPI_MAX may lose a NaN: a second number for each, in the same message, says whether there is one.
  const std::size_t n = values.size();
  std::vector<double> both(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const bool is_nan = values[i] != values[i];
    both[i] = is_nan ? 0.0 : values[i];
    both[n + i] = is_nan ? 1.0 : 0.0;
  }
  all_reduce(implementation_->comm, std::span(both), MPI_DOUBLE, MPI_MAX);
  for (std::size_t i = 0; i < n; ++i) values[i] = both[n + i] > 0.0 ? __builtin_nan("") : both[i];
}
void communicator::exclusive_or(std::span<std::uint32_t> values) const {
  if (!is_alone()) all_reduce(implementation_->comm, values, MPI_UINT32_T, MPI_BXOR);
}
void communicator::broadcast(std::span<std::byte> data, int root) const {
  if (is_alone()) return;
  const rank_wait wait("a broadcast");
  for (std::size_t at = 0; at < data.size(); at += largest_piece) {
    const auto piece = data.subspan(at, std::min(largest_piece, data.size() - at));
    check(MPI_Bcast(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, root, implementation_->comm), "MPI_Bcast");
  }
}
pending_exchange communicator::start_gather(std::span<const std::byte> mine, std::span<std::byte> all) const {
  require_room(mine, all, size_);
  pending_exchange exchange;
  if (is_alone()) {
    repeat(mine, all);
    return exchange;
  }
  exchange.state_ = std::make_unique<pending_exchange::state>();
  const int count = static_cast<int>(mine.size());
  check(MPI_Iallgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, implementation_->comm,
                       &exchange.state_->requests.emplace_back()),
        "MPI_Iallgather");
  return exchange;
}
void communicator::gather(std::span<const std::byte> mine, std::span<std::byte> all) const {
  start_gather(mine, all).wait();
}
void communicator::barrier() const {
  if (is_alone()) return;
  const rank_wait wait("a barrier");
  check(MPI_Barrier(implementation_->comm), "MPI_Barrier");
}

mpi_session::mpi_session(int* argc, char*** argv) : started_(is_launched_by_mpi(environ)) {
  if (!started_) return;
  int provided = 0;
  check(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
}
mpi_session::~mpi_session() {
  if (!started_) return;
  const rank_wait wait("the end of the other ranks");
  MPI_Finalize();
}

void end_all_ranks(int status) {
  if (is_mpi_running()) MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

bool mpi_takes_device_pointers() {
#if defined(MPIX_CUDA_AWARE_SUPPORT) && MPIX_CUDA_AWARE_SUPPORT
  return MPIX_Query_cuda_support() != 0;
#else
  return false;
#endif
}

std::string mpi_library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<std::size_t>(length));
  return all.substr(0, all.find(','));
}

#else

struct communicator::implementation {};
struct pending_exchange::state {};

bool pending_exchange::poll() { return true; }
void pending_exchange::wait() { state_.reset(); }
void pending_exchange::give_up() noexcept { state_.reset(); }
communicator communicator::world() { return {}; }
communicator communicator::split(int) const { return {}; }
pending_exchange communicator::start_exchange(std::span<const outgoing_message> send,
                                              std::span<const incoming_message> receive) const {
  copy_own_messages(rank_, send, receive);
  return {};
}
void communicator::sum(std::span<double>) const {}
void communicator::sum(std::span<std::uint64_t>) const {}
void communicator::maximum(std::span<double>) const {}
void communicator::exclusive_or(std::span<std::uint32_t>) const {}
void communicator::broadcast(std::span<std::byte>, int) const {}
pending_exchange communicator::start_gather(std::span<const std::byte> mine, std::span<std::byte> all) const {
  require_room(mine, all, size_);
  repeat(mine, all);
  return {};
}
void communicator::gather(std::span<const std::byte> mine, std::span<std::byte> all) const { start_gather(mine, all); }
void communicator::barrier() const {}
mpi_session::mpi_session(int*, char***) { (void)started_; }
mpi_session::~mpi_session() = default;
void end_all_ranks(int status) { std::_Exit(status); }
bool mpi_takes_device_pointers() { return false; }
std::string mpi_library() { return "none"; }

#endif

communicator::communicator() = default;
communicator communicator::planned(int ranks) {
  communicator plan;
  plan.size_ = ranks;
  return plan;
}
pending_exchange::pending_exchange() = default;
pending_exchange::pending_exchange(pending_exchange&&) noexcept = default;
pending_exchange& pending_exchange::operator=(pending_exchange&&) noexcept = default;
pending_exchange::~pending_exchange() {
  if (!state_) return;
  if (std::uncaught_exceptions() == 0)
    wait();
  else
    give_up();
}

}  // namespace plaquette
