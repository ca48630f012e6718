// SPDX-License-Identifier: BSD-3-Clause
// Several ranks read and write the same as one rank, and fail together.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/io/collective_error.hpp"
#include "common/io/gauge_file.hpp"
#include "common/io/spinor_file.hpp"
#include "cpu_ref/gauge/plaquette.hpp"
#include "validation/io/made_files.hpp"
#include "validation/support/process_grids.hpp"
#include "validation/support/test_fields.hpp"

namespace plaquette {
namespace {

const communicator alone;

struct sample {
  std::string name;
  std::function<made::bytes(const gauge_configuration&)> make;
};
const std::vector<sample> samples{
    {"nersc two-row 32", [](const auto& u) { return made::nersc(u, {32, true, true}); }},
    {"nersc 3x3 64 little", [](const auto& u) { return made::nersc(u, {64, false, false}); }},
    {"ildg 64", [](const auto& u) { return made::ildg(u, 64); }},
    {"scidac 32", [](const auto& u) { return made::scidac(u, 32); }},
    {"milc little", [](const auto& u) { return made::milc(u, false); }},
    {"openqcd", [](const auto& u) { return made::openqcd(u, cpu::average_plaquette(u, alone)); }},
    {"ddalphaamg", [](const auto& u) { return made::ddalphaamg(u, cpu::average_plaquette(u, alone)); }}};

std::vector<extents> lattices_of_test() { return {{4, 4, 4, 4}, {4, 6, 2, 8}, {8, 4, 4, 8}}; }

/// Two or three grids, from one that cuts the last direction to one that cuts the first.
std::vector<extents> some_grids(const extents& lattice, int ranks) {
  const auto grids = validation::legal_grids(lattice, ranks);
  std::vector<extents> some;
  for (const std::size_t part : {0u, 1u, 2u})
    if (!grids.empty() && (part != 1 || ranks <= 4)) some.push_back(grids[part * (grids.size() - 1) / 2]);
  return some;
}

/// The first rank's bytes for all.
made::bytes made_once(const communicator& comm, const std::function<made::bytes()>& make) {
  made::bytes b = comm.rank() == 0 ? make() : made::bytes();
  std::uint64_t size = b.size();
  comm.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
  b.resize(size);
  comm.broadcast(std::as_writable_bytes(std::span(b)), 0);
  return b;
}

/// True if this rank's box with its ghosts holds the bits of the whole configuration.
bool is_part_of(const gauge_configuration& part, const gauge_configuration& whole) {
  const extents& l = part.geometry().local();
  coordinate x;
  for (x[3] = -1; x[3] <= l[3]; ++x[3])
    for (x[2] = -1; x[2] <= l[2]; ++x[2])
      for (x[1] = -1; x[1] <= l[1]; ++x[1])
        for (x[0] = -1; x[0] <= l[0]; ++x[0])
          if (!(part(x) == whole(part.geometry().to_global(x)))) return false;
  return true;
}

/// A folder that all ranks know.
class shared_folder {
 public:
  explicit shared_folder(const communicator& comm) : comm_(comm) {
    if (comm.rank() == 0) own_ = std::make_unique<made::folder>();
    path_ = own_ ? own_->path() : std::string();
    std::uint64_t size = path_.size();
    comm.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
    path_.resize(size);
    comm.broadcast(std::as_writable_bytes(std::span(path_)), 0);
  }
  ~shared_folder() { comm_.barrier(); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::vector<std::string> names() const { return own_ ? own_->names() : std::vector<std::string>{}; }

 private:
  communicator comm_;
  std::unique_ptr<made::folder> own_;
  std::string path_;
};

TEST(GaugeReaderOnRanks, EachRankGetsItsBoxOfWhatOneRankReads) {
  const auto world = communicator::world();
  int grids = 0;
  for (const extents& lattice : lattices_of_test()) {
    const auto u = validation::random_links(lattice, 61);
    for (const sample& each : samples) {
      const made::bytes b = made_once(world, [&] { return each.make(u); });
      const memory_source source(each.name, made::view(b));
      const auto whole = read_gauge(source, lattice_geometry(lattice), alone);
      for (const extents& grid : some_grids(lattice, world.size())) {
        const auto part = read_gauge(source, lattice_geometry(lattice, grid, world.rank()), world);
        EXPECT_TRUE(is_part_of(part.links, whole.links)) << each.name << " " << to_string(grid);
        EXPECT_EQ(part.header.checksum_found, whole.header.checksum_found);
        EXPECT_EQ(part.header.distance_from_su3, whole.header.distance_from_su3);
        // A sum of 4 V numbers below 1 in another order.
        EXPECT_NEAR(part.header.link_trace_found, whole.header.link_trace_found, 1e-13);
        ++grids;
      }
    }
  }
  EXPECT_GT(grids, 0);
}

TEST(GaugeReaderOnRanks, TheOpenBoundaryOfOpenQcdIsSeenByAll) {
  const auto world = communicator::world();
  const extents lattice{8, 4, 4, 12};
  auto u = validation::random_links(lattice, 62);
  for (std::int64_t s = 0; s < volume(lattice); ++s)
    if (u.geometry().local_coordinate(s)[3] == 11) u.at_site(s)[3] = {};
  exchange_ghosts(u, alone);
  const auto b = made::openqcd(u, cpu::average_plaquette(u, alone));
  for (const extents& grid : some_grids(lattice, world.size())) {
    const auto part =
        read_gauge(memory_source("made", made::view(b)), lattice_geometry(lattice, grid, world.rank()), world);
    EXPECT_TRUE(part.header.open_boundary);
    EXPECT_TRUE(is_part_of(part.links, u)) << to_string(grid);
  }
}

TEST(GaugeWriterOnRanks, AllRanksWriteTheFileThatOneRankWrites) {
  const auto world = communicator::world();
  const shared_folder folder(world);
  gauge_write_options options;
  options.existing = existing_file::replace;
  options.date = "Sat Nov 21 00:00:00 2026";
  options.plaquette = 0.5;
  for (const extents& lattice : lattices_of_test()) {
    const auto whole = validation::random_links(lattice, 63);
    for (const auto& write : {write_nersc, write_ildg})
      for (const int bits : {32, 64})
        for (const bool two_row : {false, true}) {
          if (two_row && write == &write_ildg) continue;
          options.precision_bits = bits;
          options.two_row = two_row;
          if (world.rank() == 0) write(folder.file("one"), whole, alone, options);
          world.barrier();
          const auto expected = made::contents(folder.file("one"));
          const auto links = read_gauge(folder.file("one"), lattice_geometry(lattice), alone).links;
          for (const extents& grid : some_grids(lattice, world.size())) {
            const lattice_geometry geometry(lattice, grid, world.rank());
            gauge_configuration part(geometry);
            for (std::int64_t s = 0; s < geometry.local_volume(); ++s)
              part.at_site(s) = whole(geometry.to_global(geometry.local_coordinate(s)));
            write(folder.file("all"), part, world, options);
            world.barrier();
            EXPECT_TRUE(made::contents(folder.file("all")) == expected) << to_string(grid);
            EXPECT_TRUE(is_part_of(read_gauge(folder.file("all"), geometry, world).links, links));
            world.barrier();
          }
          world.barrier();  // also if there is no grid: before the first rank writes the next file
        }
  }
  if (world.rank() == 0) {
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"all", "one"}));
  }
}

TEST(SpinorReaderOnRanks, EachRankGetsItsBox) {
  const auto world = communicator::world();
  for (const extents& lattice : lattices_of_test()) {
    const auto whole = validation::random_spinor(lattice, 64);
    const auto b = made::etmc_spinor(whole, 64);
    for (const extents& grid : some_grids(lattice, world.size())) {
      const lattice_geometry geometry(lattice, grid, world.rank());
      const auto part = read_lime_spinor(memory_source("made", made::view(b)), geometry, world);
      for (std::int64_t s = 0; s < geometry.local_volume(); ++s)
        for (int spin = 0; spin < spins; ++spin)
          ASSERT_EQ(part.at_site(s)[spin], whole(geometry.to_global(geometry.local_coordinate(s)))[spin]);
    }
  }
}

TEST(PropagatorsOnRanks, AreWrittenAndReadAsByOneRank) {
  const auto world = communicator::world();
  const shared_folder folder(world);
  const extents lattice = lattices_of_test().front();
  std::vector<spinor_configuration> whole;
  for (unsigned n = 0; n < spin_colours; ++n) whole.push_back(validation::random_spinor(lattice, 70 + n));
  for (const auto style : {propagator_style::scidac, propagator_style::etmc}) {
    propagator_write_options options;
    options.style = style;
    options.existing = existing_file::replace;
    if (world.rank() == 0) write_lime_propagator(folder.file("one"), whole, options, alone);
    world.barrier();
    const auto expected = made::contents(folder.file("one"));
    const auto back = read_lime_propagator(folder.file("one"), lattice_geometry(lattice), alone);
    for (const extents& grid : some_grids(lattice, world.size())) {
      const lattice_geometry geometry(lattice, grid, world.rank());
      std::vector<spinor_configuration> part(spin_colours, spinor_configuration(geometry));
      for (std::size_t n = 0; n < part.size(); ++n)
        for (std::int64_t s = 0; s < geometry.local_volume(); ++s)
          part[n].at_site(s) = whole[n](geometry.to_global(geometry.local_coordinate(s)));
      write_lime_propagator(folder.file("all"), part, options, world);
      world.barrier();
      EXPECT_TRUE(made::contents(folder.file("all")) == expected) << to_string(grid);
      const auto read = read_lime_propagator(folder.file("all"), geometry, world);
      for (std::size_t n = 0; n < part.size(); ++n)
        for (std::int64_t s = 0; s < geometry.local_volume(); ++s)
          EXPECT_EQ(norm2(read[n].at_site(s) - back[n](geometry.to_global(geometry.local_coordinate(s)))), 0.0);
      world.barrier();
    }
  }
}

/// All ranks must throw the same error: the test hangs or fails if one does not.
template <class Error>
std::string message_of_all(const communicator& comm, const std::function<void()>& work) {
  std::string message;
  try {
    work();
  } catch (const Error& e) {
    message = e.what();
  }
  std::uint64_t hash[] = {std::hash<std::string>{}(message) >> 8, 1};
  const std::uint64_t own = hash[0];
  comm.sum(std::span(hash));
  EXPECT_EQ(hash[0], own * hash[1]) << message;
  EXPECT_NE(message, "");
  return message;
}

// The damage lies in one rank's box only, whichever grid there is.
TEST(ErrorsOnRanks, ALinkOfOneRankStopsAllWithTheMessageOfOneRank) {
  const auto world = communicator::world();
  const extents lattice{8, 4, 4, 12};
  auto u = validation::random_links(lattice, 65);
  u({7, 3, 2, 11})[2](0, 1).im += 0.5;
  u({6, 1, 3, 9})[1](1, 1).re = 1.5;  // the first one in the file
  exchange_ghosts(u, alone);
  for (const sample& each : samples) {
    const made::bytes b = made_once(world, [&] { return each.make(u); });
    for (const extents& grid : some_grids(lattice, world.size())) {
      const std::string message = message_of_all<input_error>(world, [&] {
        read_gauge(memory_source("made", made::view(b)), lattice_geometry(lattice, grid, world.rank()), world);
      });
      EXPECT_NE(message.find("(6, 1, 3, 9), direction y"), std::string::npos) << message;
    }
  }
}

TEST(ErrorsOnRanks, AFileThatOneRankCannotReadStopsAll) {
  const auto world = communicator::world();
  const extents lattice{8, 4, 4, 12};
  const extents grid = smallest_surface_grid(lattice, world.size());
  const lattice_geometry geometry(lattice, grid, world.rank());
  const auto u = validation::random_links(lattice, 66);
  const auto b = made::nersc(u, {});
  const int last = world.size() - 1;
  const bool here = world.rank() == last;
  const auto damaged = here ? b.substr(0, b.size() - 1) : b;
  EXPECT_NE(message_of_all<input_error>(
                world, [&] { read_gauge(memory_source("made", made::view(damaged)), geometry, world); })
                .find("truncated"),
            std::string::npos);
  message_of_all<input_error>(world, [&] { read_gauge(here ? "/absent" : "/dev/null", geometry, world); });
}

TEST(ErrorsOnRanks, AnOutputThatCannotBeWrittenStopsAllAndLeavesNothing) {
  const auto world = communicator::world();
  const shared_folder folder(world);
  const extents lattice{8, 4, 4, 12};
  const lattice_geometry geometry(lattice, smallest_surface_grid(lattice, world.size()), world.rank());
  auto u = cpu::unit_configuration(geometry);
  for (const auto& write : {write_nersc, write_ildg}) {
    message_of_all<output_error>(world, [&] { write(folder.file("absent/u"), u, world, {}); });
    write(folder.file("u"), u, world, {.existing = existing_file::replace});
    message_of_all<output_error>(world, [&] { write(folder.file("u"), u, world, {}); });
  }
  if (world.rank() == world.size() - 1) u.at_site(5)[1](0, 0).re = 2.0;
  message_of_all<input_error>(world, [&] { write_nersc(folder.file("v"), u, world, {}); });
  world.barrier();
  if (world.rank() == 0) {
    EXPECT_EQ(folder.names(), std::vector<std::string>{"u"});
  }
}

TEST(ErrorsOnRanks, KeepTheirKindAndTheLowestRanksText) {
  const auto world = communicator::world();
  const auto fail_from = [&](int lowest, const std::function<void()>& how) {
    on_all_ranks_or_none(world, [&] {
      if (world.rank() >= lowest) how();
    });
  };
  const int last = world.size() - 1;
  EXPECT_EQ(message_of_all<memory_error>(
                world, [&] { fail_from(last / 2, [&] { throw memory_error(std::to_string(world.rank())); }); }),
            std::to_string(last / 2));
  message_of_all<memory_error>(world, [&] { fail_from(last, [] { throw std::bad_alloc(); }); });
  try {
    fail_from(last, [] { throw std::logic_error("no such case"); });
    ADD_FAILURE();
  } catch (const error& e) {
    EXPECT_EQ(e.status(), exit_status::internal_error);
    EXPECT_STREQ(e.what(), "no such case");
  }
  EXPECT_NO_THROW(fail_from(world.size(), [] { throw input_error("nobody"); }));
}

}  // namespace
}  // namespace plaquette
