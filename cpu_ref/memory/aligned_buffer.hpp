// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Memory for fields: aligned for the widest registers, on huge pages if it is large.
#pragma once

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "common/error.hpp"

namespace plaquette::cpu {

/// `size` numbers with undefined contents. Throws memory_error saying how much was needed.
template <class T>
class aligned_buffer {
 public:
  aligned_buffer() = default;
  aligned_buffer(aligned_buffer&& other) noexcept
      : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  aligned_buffer& operator=(aligned_buffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  explicit aligned_buffer(std::size_t size) : size_(size) {
    constexpr std::size_t huge_page = std::size_t{1} << 21;
    const std::size_t bytes = size * sizeof(T);
    const std::size_t alignment = bytes >= huge_page ? huge_page : 64;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    data_.reset(static_cast<T*>(std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded)));
    if (!data_) throw memory_error("out of memory: a field needs " + std::to_string(bytes) + " bytes");
    if (alignment == huge_page) madvise(data_.get(), rounded, MADV_HUGEPAGE);  // a hint: its failure is no error
  }

  T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct release {
    void operator()(T* p) const { std::free(p); }
  };
  std::unique_ptr<T, release> data_;
  std::size_t size_ = 0;
};

}  // namespace plaquette::cpu
