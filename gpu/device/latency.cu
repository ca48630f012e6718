// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/device/latency.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

namespace {

constexpr int fewest = 3, most = 1000;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The median time of `transfer`, which waits for its end, over as many as fit into `spent` seconds.
transfer_time median_of(const std::function<void()>& transfer, double spent) {
  transfer();
  std::vector<double> seconds;
  const double begin = now();
  for (double last = begin; static_cast<int>(seconds.size()) < fewest ||
                            (last - begin < spent && static_cast<int>(seconds.size()) < most);) {
    transfer();
    const double end = now();
    seconds.push_back(end - last);
    last = end;
  }
  std::ranges::sort(seconds);
  return {seconds[seconds.size() / 2], static_cast<int>(seconds.size()), false};
}

std::vector<unsigned char> pattern(std::size_t bytes) {
  std::vector<unsigned char> p(bytes);
  for (std::size_t i = 0; i < bytes; ++i) p[i] = static_cast<unsigned char>(i * 131 + (i >> 8) * 7 + 3);
  return p;
}

/// A kernel stores words of 16 bytes if there are enough bytes.
struct store_words {
  std::uint64_t* to;
  const std::uint64_t* from;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = from[i]; }
};
struct store_pairs {
  struct alignas(16) pair {
    std::uint64_t first, second;
  };
  pair* to;
  const pair* from;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = from[i]; }
};

void store(const queue& q, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes % 16 == 0)
    for_each_index(
        q, static_cast<std::int64_t>(bytes / 16),
        store_pairs{reinterpret_cast<store_pairs::pair*>(to), reinterpret_cast<const store_pairs::pair*>(from)});
  else
    for_each_index(q, static_cast<std::int64_t>(bytes / 8),
                   store_words{reinterpret_cast<std::uint64_t*>(to), reinterpret_cast<const std::uint64_t*>(from)});
}

#ifdef __CUDACC__

void make_current(int device) { check(cudaSetDevice(device)); }

void copy_once(const queue& q, const host_copy& way, void* on_device, void* on_host, std::size_t bytes) {
  void* const to = way.to_device ? on_device : on_host;
  const void* const from = way.to_device ? on_host : on_device;
  const auto direction = way.to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  if (way.waiting) {
    check(cudaMemcpy(to, from, bytes, direction));
    // From pageable memory the call returns when the data are on their way: the wait is for their arrival.
    if (way.to_device) check(cudaStreamSynchronize(nullptr));
    return;
  }
  check(cudaMemcpyAsync(to, from, bytes, direction, stream_of(q)));
  q.synchronize();
}

void enable_access(int from, int to) {
  make_current(from);
  const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled)
    (void)cudaGetLastError();
  else
    check(status);
}

void copy_to_peer(const queue& q, int to_device, std::byte* to, int from_device, const std::byte* from,
                  std::size_t bytes) {
  check(cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream_of(q)));
}

#else

void make_current(int /*device*/) {}

void copy_once(const queue& /*q*/, const host_copy& way, void* on_device, void* on_host, std::size_t bytes) {
  std::memcpy(way.to_device ? on_device : on_host, way.to_device ? on_host : on_device, bytes);
}

void enable_access(int /*from*/, int /*to*/) {}

void copy_to_peer(const queue& /*q*/, int /*to_device*/, std::byte* to, int /*from_device*/, const std::byte* from,
                  std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

#endif

}  // namespace

transfer_time time_host_copy(const queue& q, const host_copy& way, std::size_t bytes, double spent) {
  make_current(q.device());
  const auto on_device = allocate_on_device(q.device(), bytes);
  const std::shared_ptr<std::byte> pinned = way.pinned ? allocate_pinned(bytes) : nullptr;
  std::vector<std::byte> pageable(way.pinned ? 0 : bytes);
  std::byte* const on_host = way.pinned ? pinned.get() : pageable.data();
  const auto sent = pattern(bytes);
  if (way.to_device) {
    std::memcpy(on_host, sent.data(), bytes);
    fill_bytes(q, on_device.get(), 0, bytes);
  } else {
    std::memset(on_host, 0, bytes);
    copy_to_device(q, on_device.get(), sent.data(), bytes);
  }
  q.synchronize();
  transfer_time result = median_of([&] { copy_once(q, way, on_device.get(), on_host, bytes); }, spent);
  std::vector<unsigned char> arrived(bytes);
  if (way.to_device)
    copy_to_host(q, arrived.data(), on_device.get(), bytes);
  else
    std::memcpy(arrived.data(), on_host, bytes);
  result.right = arrived == sent;
  return result;
}

bool reaches_directly(int from, int to) {
#ifdef __CUDACC__
  int can = 0;
  return from != to && cudaDeviceCanAccessPeer(&can, from, to) == cudaSuccess && can != 0;
#else
  return from != to && std::max(from, to) < device_count();
#endif
}

transfer_time time_peer_transfer(int from, int to, peer_way way, std::size_t bytes, double spent) {
  const auto sent = pattern(bytes);
  const queue sender(from), receiver(to);
  const auto source = allocate_on_device(from, bytes), target = allocate_on_device(to, bytes);
  copy_to_device(sender, source.get(), sent.data(), bytes);
  sender.synchronize();
  fill_bytes(receiver, target.get(), 0, bytes);
  receiver.synchronize();
  enable_access(from, to);
  make_current(from);
  transfer_time result = median_of(
      [&] {
        if (way == peer_way::copy)
          copy_to_peer(sender, to, target.get(), from, source.get(), bytes);
        else
          store(sender, target.get(), source.get(), bytes);
        sender.synchronize();
      },
      spent);
  make_current(to);
  std::vector<unsigned char> arrived(bytes);
  copy_to_host(receiver, arrived.data(), target.get(), bytes);
  make_current(from);
  result.right = arrived == sent;
  return result;
}

}  // namespace plaquette::gpu
