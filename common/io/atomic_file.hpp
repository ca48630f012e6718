// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A file that appears complete or not at all: written under another name in the same folder, then renamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace plaquette {

/// What to do where a file of that name exists already.
enum class existing_file { keep, replace };

/// An output file under way. Until `commit` a reader sees the file that was there before, or none; whatever ends the
/// program, a kill included, the old file stays whole. Every member that fails throws output_error with one line naming
/// the file; the temporary file is then removed with the object.
class atomic_file {
 public:
  /// Opens a temporary file in the directory of `path`. Throws where `path` exists and is to be kept, where it is
  /// something other than a regular file, or where the directory cannot be written.
  explicit atomic_file(std::string path, existing_file existing = existing_file::keep);
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;
  ~atomic_file();  ///< removes the temporary file unless it was committed

  const std::string& path() const { return path_; }
  /// Returns where the bytes are now; for libraries that write by name (HDF5), and for other ranks.
  const std::string& temporary_path() const { return temporary_; }

  /// Appends.
  void write(std::span<const std::byte> data);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Writes at an offset from the file's beginning, and leaves the place of the next `write` alone.
  void write_at(std::uint64_t offset, std::span<const std::byte> data);

  /// Forces the bytes to the disk and gives the file its name. To be called once, last.
  void commit();

 private:
  std::string path_;       ///< the place of the file, links resolved
  std::string temporary_;  ///< empty once there is nothing to remove
  existing_file existing_;
  int descriptor_ = -1;
};

/// Writes a part of a file that another rank has opened as atomic_file, and will commit.
class atomic_file_part {
 public:
  /// \param temporary_path  of the other rank's atomic_file
  /// \param path            the file's future name, for messages
  atomic_file_part(const std::string& temporary_path, std::string path);
  atomic_file_part(const atomic_file_part&) = delete;
  atomic_file_part& operator=(const atomic_file_part&) = delete;
  ~atomic_file_part();

  void write_at(std::uint64_t offset, std::span<const std::byte> data);
  /// Forces the bytes to the disk; to be called before the other rank commits.
  void finish();

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// Writes a whole text file at once.
void write_file_atomically(const std::string& path, std::string_view text,
                           existing_file existing = existing_file::keep);

}  // namespace plaquette
