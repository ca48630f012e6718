// SPDX-License-Identifier: BSD-3-Clause
// The old configuration survives when the new one cannot be finished.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "common/error.hpp"
#include "common/io/gauge_file.hpp"
#include "validation/io/made_files.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette {
namespace {

const communicator alone;
const extents lattice{4, 6, 4, 8};

TEST(InterruptedWrite, AKillAtAnyTimeLeavesAWholeConfiguration) {
  made::folder folder;
  const std::string path = folder.file("u");
  const auto first = validation::random_links(lattice, 71), second = validation::random_links(lattice, 72);
  write_ildg(path, first, alone);
  bool saw_temporary = false;
  for (int attempt = 0; attempt < 30; ++attempt) {
    const pid_t child = fork();
    if (child == 0)
      for (;;) {
        write_nersc(path, second, alone, {.existing = existing_file::replace});
        write_ildg(path, first, alone, {.existing = existing_file::replace});
      }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + 731 * attempt));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    saw_temporary = saw_temporary || folder.names().size() > 1;
    const auto [links, header] = read_gauge(path, lattice_geometry(lattice), alone);
    EXPECT_TRUE(made::same_links(links, header.format == gauge_format::ildg ? first : second));
  }
  EXPECT_TRUE(saw_temporary) << "no kill came during a write";
}

TEST(InterruptedWrite, AFullDiskLeavesTheOldConfiguration) {
  made::folder folder;
  if (mount("none", folder.path().c_str(), "tmpfs", 0, "size=600k") != 0)
    GTEST_SKIP() << "no small file system can be mounted here";
  const auto first = validation::random_links({2, 2, 2, 2}, 73), large = validation::random_links({4, 8, 8, 8}, 74);
  write_nersc(folder.file("u"), first, alone);
  const auto old = made::contents(folder.file("u"));
  for (const auto& write : {write_nersc, write_ildg}) {
    EXPECT_THROW(write(folder.file("u"), large, alone, {.existing = existing_file::replace}), output_error);
    EXPECT_THROW(write(folder.file("v"), large, alone, {}), output_error);
  }
  EXPECT_TRUE(made::contents(folder.file("u")) == old);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"u"});
  EXPECT_EQ(umount(folder.path().c_str()), 0);
}

TEST(InterruptedWrite, AFileThatMayNotGrowLeavesTheOldConfiguration) {
  made::folder folder;
  const std::string path = folder.file("u");
  const auto u = validation::random_links(lattice, 75);
  write_nersc(path, u, alone);
  const auto old = made::contents(path);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{65536, 65536};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_ildg(path, u, alone, {.existing = existing_file::replace});
    } catch (const output_error&) {
      _exit(5);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5);
  EXPECT_TRUE(made::contents(path) == old);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"u"});
}

}  // namespace
}  // namespace plaquette
