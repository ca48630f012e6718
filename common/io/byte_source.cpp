// SPDX-License-Identifier: BSD-3-Clause
#include "common/io/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/error.hpp"

namespace plaquette {

void byte_source::require_range(std::uint64_t offset, std::uint64_t count) const {
  if (offset > size_ || count > size_ - offset)
    throw input_error(name_ + ": truncated: expected " + std::to_string(count) + " bytes at offset " +
                      std::to_string(offset) + ", found a file of " + std::to_string(size_) + " bytes");
}

void byte_source::read(std::uint64_t offset, std::span<std::byte> to) const {
  require_range(offset, to.size());
  if (!to.empty()) read_within(offset, to);
}

std::string byte_source::read_text(std::uint64_t offset, std::uint64_t count) const {
  require_range(offset, count);  // before memory is taken
  std::string text(count, '\0');
  read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

file_source::file_source(const std::string& path) : byte_source(path, 0) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is refused below, not waited for
  if (descriptor_ < 0) throw input_error(path + ": cannot be opened: " + std::strerror(errno));
  struct stat found{};
  const bool known = ::fstat(descriptor_, &found) == 0;
  if (!known || !S_ISREG(found.st_mode)) {
    ::close(descriptor_);
    throw input_error(path + ": expected a regular file, found something else");
  }
  size_ = static_cast<std::uint64_t>(found.st_size);
}

file_source::~file_source() { ::close(descriptor_); }

void file_source::read_within(std::uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t count = ::pread(descriptor_, to.data(), to.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw input_error(name_ + ": cannot be read: " + std::strerror(errno));
    if (count == 0) throw input_error(name_ + ": became shorter while it was being read");
    to = to.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void memory_source::read_within(std::uint64_t offset, std::span<std::byte> to) const {
  std::ranges::copy(bytes_.subspan(static_cast<std::size_t>(offset), to.size()), to.begin());
}

}  // namespace plaquette
