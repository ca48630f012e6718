// SPDX-License-Identifier: BSD-3-Clause
#include "common/io/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/error.hpp"
#include "validation/io/made_files.hpp"

namespace plaquette {
namespace {

using names = std::vector<std::string>;

/// What `work` throws as output_error; empty if it throws nothing.
std::string output_error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const output_error& e) {
    return e.what();
  }
  return {};
}

/// The exit status of a child process that runs `work`.
int status_of_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(AtomicFile, AppearsWithItsWholeContentOnCommit) {
  made::folder folder;
  const std::string path = folder.file("result.json");
  {
    atomic_file file(path);
    file.write("one, ");
    file.write("two");
    file.write_at(0, std::as_bytes(std::span("ONE", 3)));
    EXPECT_FALSE(std::filesystem::exists(path));
    file.commit();
  }
  EXPECT_EQ(made::contents(path), "ONE, two");
  EXPECT_EQ(folder.names(), names{"result.json"});
}

TEST(AtomicFile, HasThePermissionsOfAnOrdinaryFile) {
  made::folder folder;
  const mode_t mask = umask(0);
  umask(mask);
  write_file_atomically(folder.file("a"), "text");
  struct stat found{};
  ASSERT_EQ(stat(folder.file("a").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0666 & ~mask);
}

TEST(AtomicFile, WithoutCommitLeavesNothingBehind) {
  made::folder folder;
  {
    atomic_file(folder.file("a")).write("text");
  }
  EXPECT_EQ(folder.names(), names{});
}

TEST(AtomicFile, KeepsAnExistingFileUnlessForced) {
  made::folder folder;
  const std::string path = folder.file("a");
  made::put(path, "old");
  const std::string message = output_error_of([&] { write_file_atomically(path, "new"); });
  EXPECT_NE(message.find(path), std::string::npos) << message;
  EXPECT_EQ(made::contents(path), "old");
  write_file_atomically(path, "new", existing_file::replace);
  EXPECT_EQ(made::contents(path), "new");
  EXPECT_EQ(folder.names(), names{"a"});
}

TEST(AtomicFile, KeepsAFileThatAppearedWhileItWasWritten) {
  made::folder folder;
  const std::string path = folder.file("a");
  {
    atomic_file file(path);
    file.write("new");
    made::put(path, "of somebody else");
    EXPECT_THROW(file.commit(), output_error);
  }
  EXPECT_EQ(made::contents(path), "of somebody else");
  EXPECT_EQ(folder.names(), names{"a"});
}

TEST(AtomicFile, WritesWhereASymbolicLinkPoints) {
  made::folder folder;
  made::put(folder.file("target"), "old");
  std::filesystem::create_symlink("target", folder.file("link"));
  EXPECT_THROW(write_file_atomically(folder.file("link"), "new"), output_error);
  write_file_atomically(folder.file("link"), "new", existing_file::replace);
  EXPECT_EQ(made::contents(folder.file("target")), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
}

TEST(AtomicFile, RefusesPlacesThatCannotBeWritten) {
  made::folder folder;
  made::put(folder.file("file"), "text");
  std::filesystem::create_directory(folder.file("directory"));
  for (const std::string& path :
       {std::string(), folder.file("absent/a"), folder.file("file/a"), folder.file("directory"),
        std::string("/dev/full"), std::string("/proc/a"), folder.file(std::string(300, 'x'))})
    for (const auto existing : {existing_file::keep, existing_file::replace}) {
      const std::string message = output_error_of([&] { write_file_atomically(path, "text", existing); });
      EXPECT_NE(message, "") << path;
      EXPECT_NE(message.find(path), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  EXPECT_EQ(folder.names(), (names{"directory", "file"}));
}

TEST(AtomicFile, RefusesADirectoryWithoutPermission) {
  if (geteuid() == 0) GTEST_SKIP() << "permissions do not bind root";
  made::folder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_THROW(write_file_atomically(folder.file("a"), "text"), output_error);
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
}

// The limit on a file's size stands in for a full disk if none can be made.
TEST(AtomicFile, LeavesTheOldFileWhereTheNewOneDoesNotFit) {
  made::folder folder;
  const std::string path = folder.file("a");
  made::put(path, "old");
  EXPECT_EQ(status_of_child([&] {
              std::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{4096, 4096};
              setrlimit(RLIMIT_FSIZE, &limit);
              try {
                write_file_atomically(path, std::string(100000, 'x'), existing_file::replace);
              } catch (const output_error&) {
                return 5;
              }
              return 0;
            }),
            5);
  EXPECT_EQ(made::contents(path), "old");
  EXPECT_EQ(folder.names(), names{"a"});
}

TEST(AtomicFile, LeavesTheOldFileOnAFullDisk) {
  made::folder folder;
  if (mount("none", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0)
    GTEST_SKIP() << "no small file system can be mounted here";
  const std::string path = folder.file("a");
  made::put(path, "old");
  const std::string message =
      output_error_of([&] { write_file_atomically(path, std::string(100000, 'x'), existing_file::replace); });
  EXPECT_NE(message.find("No space left"), std::string::npos) << message;
  EXPECT_EQ(made::contents(path), "old");
  EXPECT_EQ(folder.names(), names{"a"});
  EXPECT_EQ(umount(folder.path().c_str()), 0);
}

TEST(AtomicFile, AKillDuringTheWriteLeavesTheOldFile) {
  made::folder folder;
  const std::string path = folder.file("a");
  made::put(path, "old");
  const pid_t child = fork();
  if (child == 0) {
    atomic_file file(path, existing_file::replace);
    for (;;) file.write("new ");
  }
  while (folder.names().size() < 2) std::this_thread::yield();  // the temporary file is there
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(made::contents(path), "old");
}

TEST(AtomicFile, OtherRanksWriteTheirPartsByName) {
  made::folder folder;
  const std::string path = folder.file("a");
  atomic_file file(path);
  atomic_file_part part(file.temporary_path(), path);
  part.write_at(5, std::as_bytes(std::span("right", 5)));
  part.finish();
  file.write_at(0, std::as_bytes(std::span("left ", 5)));
  file.commit();
  EXPECT_EQ(made::contents(path), "left right");
  EXPECT_THROW(atomic_file_part(folder.file("absent"), path), output_error);
}

}  // namespace
}  // namespace plaquette
