// SPDX-License-Identifier: BSD-3-Clause
#include "common/io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

#include "common/error.hpp"

namespace plaquette {

namespace {

[[noreturn]] void fail(const std::string& path, const char* action, int code) {
  throw output_error(path + ": " + action + ": " + std::strerror(code));
}

/// The file that `path` means, so that a symbolic link keeps pointing at what is written.
std::string resolved(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_symlink(path, none)) return path;
  const auto target = std::filesystem::weakly_canonical(path, none);
  return none ? path : target.string();
}

void refuse_unsuitable_target(const std::string& path, existing_file existing) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return;
    fail(path, "cannot be written", errno);
  }
  if (!S_ISREG(found.st_mode)) throw output_error(path + ": expected the name of a regular file, found something else");
  if (existing == existing_file::keep)
    throw output_error(path + ": exists already and is not overwritten unless forced");
}

/// A name in the same directory, so that the rename stays within one file system.
std::string beside(const std::string& path) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device entropy;
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  std::string unique;
  for (int i = 0; i < 10; ++i) unique += letters[entropy() % (sizeof letters - 1)];
  return path.substr(0, name) + "." + path.substr(name).substr(0, 200) + "." + unique + ".partial";
}

void write_all(int descriptor, const std::string& path, std::uint64_t offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t written = ::pwrite(descriptor, data.data(), data.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path, "cannot be written", errno);
    if (written == 0) fail(path, "cannot be written", ENOSPC);
    data = data.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void synchronise(int descriptor, const std::string& path) {
  if (::fsync(descriptor) != 0 && errno != EINVAL && errno != ENOTSUP) fail(path, "cannot be written", errno);
}

void close_file(int& descriptor, const std::string& path) {
  const int closing = descriptor;
  descriptor = -1;
  // Network file systems report a full disk here at the latest.
  if (::close(closing) != 0 && errno != EINTR) fail(path, "cannot be written", errno);
}

/// Renames unless `to` exists; false where it does.
bool rename_without_replacing(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
    fail(to, "cannot be renamed from its temporary name", errno);
  // A file system without that call: a hard link is refused where the name exists.
  if (::link(from.c_str(), to.c_str()) == 0) {
    ::unlink(from.c_str());
    return true;
  }
  if (errno == EEXIST) return false;
  if (::access(to.c_str(), F_OK) == 0) return false;
  if (::rename(from.c_str(), to.c_str()) != 0) fail(to, "cannot be renamed from its temporary name", errno);
  return true;
}

void synchronise_directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;  // the file is complete; only its survival of a power cut is less certain
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

atomic_file::atomic_file(std::string path, existing_file existing) : path_(resolved(path)), existing_(existing) {
  if (path_.empty()) throw output_error("an output file was given an empty name");
  refuse_unsuitable_target(path_, existing_);
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ = beside(path_);
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && (errno != EEXIST || attempt == 100)) fail(path_, "cannot be written", errno);
  }
}

atomic_file::~atomic_file() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void atomic_file::write(std::span<const std::byte> data) {
  const off_t end = ::lseek(descriptor_, 0, SEEK_CUR);
  if (end < 0) fail(path_, "cannot be written", errno);
  write_all(descriptor_, path_, static_cast<std::uint64_t>(end), data);
  if (::lseek(descriptor_, static_cast<off_t>(data.size()), SEEK_CUR) < 0) fail(path_, "cannot be written", errno);
}

void atomic_file::write_at(std::uint64_t offset, std::span<const std::byte> data) {
  write_all(descriptor_, path_, offset, data);
}

void atomic_file::commit() {
  synchronise(descriptor_, path_);
  close_file(descriptor_, path_);
  if (existing_ == existing_file::replace) {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
      fail(path_, "cannot be renamed from its temporary name", errno);
  } else if (!rename_without_replacing(temporary_, path_)) {
    throw output_error(path_ + ": appeared while it was being written, and is not overwritten unless forced");
  }
  temporary_.clear();
  synchronise_directory_of(path_);
}

atomic_file_part::atomic_file_part(const std::string& temporary_path, std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(temporary_path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail(path_, "cannot be written from every rank (is its directory shared by all nodes?)", errno);
}

atomic_file_part::~atomic_file_part() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void atomic_file_part::write_at(std::uint64_t offset, std::span<const std::byte> data) {
  write_all(descriptor_, path_, offset, data);
}

void atomic_file_part::finish() {
  synchronise(descriptor_, path_);
  close_file(descriptor_, path_);
}

void write_file_atomically(const std::string& path, std::string_view text, existing_file existing) {
  atomic_file file(path, existing);
  file.write(text);
  file.commit();
}

}  // namespace plaquette
