// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Where readers take their bytes from: a file, or memory (tests, fuzzing).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace plaquette {

/// Bytes of known number that can be read from any place. Several threads may read at once.
class byte_source {
 public:
  virtual ~byte_source() = default;
  /// For messages.
  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  /// Throws input_error where the range does not lie within the source or cannot be read.
  void read(std::uint64_t offset, std::span<std::byte> to) const;
  /// Returns the same, as text.
  std::string read_text(std::uint64_t offset, std::uint64_t count) const;

 protected:
  byte_source(std::string name, std::uint64_t size) : name_(std::move(name)), size_(size) {}
  byte_source(const byte_source&) = delete;
  byte_source& operator=(const byte_source&) = delete;
  std::string name_;
  std::uint64_t size_;

 private:
  void require_range(std::uint64_t offset, std::uint64_t count) const;
  virtual void read_within(std::uint64_t offset, std::span<std::byte> to) const = 0;
};

/// A file on disk. The constructor throws input_error where it is not a regular file that can be read.
class file_source final : public byte_source {
 public:
  explicit file_source(const std::string& path);
  ~file_source() override;

 private:
  void read_within(std::uint64_t offset, std::span<std::byte> to) const override;
  int descriptor_ = -1;
};

/// Bytes that the caller keeps alive.
class memory_source final : public byte_source {
 public:
  memory_source(std::string name, std::span<const std::byte> bytes)
      : byte_source(std::move(name), bytes.size()), bytes_(bytes) {}

 private:
  void read_within(std::uint64_t offset, std::span<std::byte> to) const override;
  std::span<const std::byte> bytes_;
};

}  // namespace plaquette
