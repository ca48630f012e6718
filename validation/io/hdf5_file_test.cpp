// SPDX-License-Identifier: BSD-3-Clause
// HDF5 files on any number of ranks: the numbers written come back, on another process grid too.
#include "common/io/hdf5_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "common/error.hpp"
#include "validation/support/process_grids.hpp"

namespace plaquette {
namespace {

const extents lattice{4, 6, 2, 8};
constexpr std::size_t numbers_a_site = 6;

/// A number that every site, block and place has for itself.
complex<double> number_at(const coordinate& global, int block, std::size_t place) {
  const double site = static_cast<double>(lexicographic(global, lattice));
  return {site + 1e4 * block + 0.125 * static_cast<double>(place), -1.0 / (site + 3.0 + static_cast<double>(place))};
}

class Hdf5File : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_hdf5()) GTEST_SKIP() << "built without HDF5";
    int process = static_cast<int>(getpid());
    world_.broadcast(std::as_writable_bytes(std::span(&process, 1)), 0);
    path_ = testing::TempDir() + "hdf5_file_test." + std::to_string(process) + ".h5";
  }
  void TearDown() override {
    world_.barrier();
    if (world_.rank() == 0) std::filesystem::remove(path_);
  }
  lattice_geometry geometry(std::size_t which) const {
    const auto grids = validation::legal_grids(lattice, world_.size());
    return lattice_geometry(lattice, grids.at(which == 0 ? 0 : grids.size() - 1), world_.rank());
  }
  static site_packer numbers_of_block(const lattice_geometry& geometry, int block) {
    return [&geometry, block](const coordinate& x, std::span<complex<double>> numbers) {
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = number_at(geometry.to_global(x), block, i);
    };
  }
  void write(existing_file existing = existing_file::keep) const {
    const lattice_geometry from = geometry(0);
    const std::vector<int> integers{3, -1, 4};
    const std::string text = "two lines\nof text";
    hdf5_output file(
        path_, existing,
        {{"/modes",
          hdf5_number::complex_single,
          extents_of_field(lattice, {numbers_a_site}, 3),
          {{"count", 3}, {"size", 0.1}, {"name", std::string("low modes")}, {"list", std::vector<double>{1.5, -2.5}}}},
         {"/field", hdf5_number::complex_double, extents_of_field(lattice, {2, 3})},
         {"/integers", hdf5_number::integer, {integers.size()}},
         {"/state", hdf5_number::byte, {text.size()}}},
        world_);
    for (int block = 0; block < 3; ++block)
      file.write_field(0, static_cast<std::uint64_t>(block), from, numbers_a_site, numbers_of_block(from, block));
    file.write_field(1, 0, from, numbers_a_site, numbers_of_block(from, 7));
    file.write(2, 0, std::as_bytes(std::span(integers)));
    file.write(3, 0, std::as_bytes(std::span(text)));
    file.commit();
  }
  /// The largest relative difference of any number of a block, on this rank.
  double difference(const hdf5_input& file, const char* set, int block, int expected_block) const {
    const lattice_geometry to = geometry(1);
    double worst = 0.0;
    std::int64_t sites = 0;
    file.read_field(set, static_cast<std::uint64_t>(block), to, numbers_a_site,
                    [&](const coordinate& x, std::span<const complex<double>> numbers) {
                      ++sites;
                      for (std::size_t i = 0; i < numbers.size(); ++i) {
                        const complex<double> expected = number_at(to.to_global(x), expected_block, i);
                        const double wrong = std::sqrt(norm2(numbers[i] - expected) / norm2(expected));
                        if (!(wrong <= worst)) worst = wrong;
                      }
                    });
    EXPECT_EQ(sites, to.local_volume());
    return worst;
  }

  communicator world_ = communicator::world();
  std::string path_;
};

TEST_F(Hdf5File, FieldsComeBackOnAnotherProcessGrid) {
  write();
  const hdf5_input file(path_, world_);
  EXPECT_LE(difference(file, "/field", 0, 7), 0.0);
  for (int block = 0; block < 3; ++block)
    EXPECT_LE(difference(file, "/modes", block, block), 0x1p-24) << "two parts, each rounded to 24 bits";
}

TEST_F(Hdf5File, ListsTextsAndAttributesComeToAllRanks) {
  write();
  const hdf5_input file(path_, world_);
  EXPECT_TRUE(file.has("/modes"));
  EXPECT_FALSE(file.has("/nothing"));
  EXPECT_EQ(file.integer("/modes", "count"), 3);
  EXPECT_EQ(file.real("/modes", "size"), 0.1);
  EXPECT_EQ(file.text("/modes", "name"), "low modes");
  EXPECT_EQ(file.reals("/modes", "list", 2), (std::vector<double>{1.5, -2.5}));
  EXPECT_EQ(file.read_text("/state"), "two lines\nof text");
  EXPECT_EQ(file.extents_of("/modes"), extents_of_field(lattice, {numbers_a_site}, 3));
  std::vector<int> integers(3);
  file.read("/integers", hdf5_number::integer, std::as_writable_bytes(std::span(integers)));
  EXPECT_EQ(integers, (std::vector<int>{3, -1, 4}));
}

TEST_F(Hdf5File, WhatIsNotThereIsRefusedOnAllRanks) {
  EXPECT_THROW(hdf5_input(path_, world_), input_error);
  write();
  EXPECT_THROW(write(), output_error) << "an existing file is kept";
  EXPECT_NO_THROW(write(existing_file::replace));
  const hdf5_input file(path_, world_);
  EXPECT_THROW(file.require("/field", extents_of_field({4, 6, 2, 10}, {2, 3}), "a field"), input_error);
  EXPECT_THROW(file.reals("/modes", "list", 3), input_error);
  EXPECT_THROW(file.text("/modes", "size"), input_error);
  std::vector<int> integers(2);
  EXPECT_THROW(file.read("/integers", hdf5_number::integer, std::as_writable_bytes(std::span(integers))), input_error);
  EXPECT_THROW(difference(file, "/integers", 0, 0), input_error);
}

TEST_F(Hdf5File, AFileThatWasNotCommittedIsNotThere) {
  {
    hdf5_output file(path_, existing_file::keep, {{"/state", hdf5_number::byte, {1}}}, world_);
  }
  EXPECT_THROW(hdf5_input(path_, world_), input_error);
}

}  // namespace
}  // namespace plaquette
