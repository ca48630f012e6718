// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The memory of a canonical field.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

namespace plaquette {

/// Holds a fixed number of values, each Value{} at first. All threads fill and copy them: a field of a large lattice is
/// hundreds of megabytes, and one thread would wait for each of its pages.
template <class Value>
  requires std::is_trivially_copyable_v<Value>
class site_values {
 public:
  explicit site_values(std::size_t size) : size_(size), begin_(std::allocator<Value>().allocate(size)) {
    in_pieces(
        [this](std::size_t first, std::size_t count) { std::uninitialized_value_construct_n(begin_ + first, count); });
  }
  site_values(const site_values& other) : size_(other.size_), begin_(std::allocator<Value>().allocate(size_)) {
    in_pieces([&](std::size_t first, std::size_t count) {
      std::uninitialized_copy_n(other.begin_ + first, count, begin_ + first);
    });
  }
  site_values(site_values&& other) noexcept
      : size_(std::exchange(other.size_, 0)), begin_(std::exchange(other.begin_, nullptr)) {}
  site_values& operator=(site_values other) noexcept {
    std::swap(size_, other.size_);
    std::swap(begin_, other.begin_);
    return *this;
  }
  ~site_values() {
    if (begin_ != nullptr) std::allocator<Value>().deallocate(begin_, size_);
  }

  std::size_t size() const { return size_; }
  Value& operator[](std::size_t k) { return begin_[k]; }
  const Value& operator[](std::size_t k) const { return begin_[k]; }
  std::span<const Value> all() const { return {begin_, size_}; }

 private:
  /// Calls work(first, count) for pieces of a megabyte or less, by the threads of OpenMP.
  template <class Work>
  void in_pieces(Work&& work) const {
    const auto piece = static_cast<std::int64_t>(std::max<std::size_t>((std::size_t{1} << 20) / sizeof(Value), 1));
    const auto size = static_cast<std::int64_t>(size_);
#pragma omp parallel for schedule(static) if (size > 4 * piece)
    for (std::int64_t first = 0; first < size; first += piece)
      work(static_cast<std::size_t>(first), static_cast<std::size_t>(std::min(piece, size - first)));
  }

  std::size_t size_;
  Value* begin_;
};

}  // namespace plaquette
