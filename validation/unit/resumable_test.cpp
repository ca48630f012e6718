// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Values that a run keeps in files for a later one: values that come back, and refused files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/app/resumable.hpp"
#include "common/error.hpp"
#include "common/io/hdf5_file.hpp"

namespace plaquette {
namespace {

constexpr int vectors = 3;

/// Numbers, and vectors that know their number.
struct some_value {
  double number = 0.0;
  std::vector<double> firsts{};
};

class KeptFile : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_hdf5()) GTEST_SKIP() << "built without HDF5";
  }
  void TearDown() override { std::filesystem::remove(path_); }

  kept_file file(json_document parameters, double plaquette = 0.5) const {
    return {path_, {std::move(parameters), plaquette}, geometry_, alone_};
  }
  kept_file file() const { return file({{"mass", 0.1}}); }

  value_format<some_value> format() const {
    return {[](const some_value& value) {
              return kept_value{{{"number", value.number}}, vectors, [value](int n, spinor_configuration& to) {
                                  to({1, 0, 1, 0})(2, 1).im = value.firsts[static_cast<std::size_t>(n)];
                                }};
            },
            [this](const kept_content& content) {
              some_value value{content.real("number", 0.0, 10.0)};
              const vector_source source = content.vectors(vectors);
              spinor_configuration vector(geometry_);
              for (int n = 0; n < vectors; ++n) {
                source(n, vector);
                value.firsts.push_back(vector({1, 0, 1, 0})(2, 1).im);
              }
              return value;
            }};
  }
  resumed<some_value> run(const kept_file& from, double number) const {
    return restored_or(from, format(), [&] { return some_value{number, {1.0, 2.0, 3.0}}; });
  }

  const lattice_geometry geometry_{extents{2, 2, 2, 2}};
  const communicator alone_;
  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("resumable_test." + std::to_string(getpid()) + ".h5")).string();
};

TEST_F(KeptFile, gives_back_what_an_earlier_run_computed) {
  const resumed<some_value> first = run(file(), 1.0);
  EXPECT_FALSE(first.restored);
  file().write(format().to_file(first.value));
  const resumed<some_value> second = run(file(), 7.0);
  EXPECT_TRUE(second.restored);
  EXPECT_EQ(second.value.number, 1.0);
  EXPECT_EQ(second.value.firsts, (std::vector<double>{1.0, 2.0, 3.0}));
  file().remove();
  EXPECT_FALSE(run(file(), 7.0).restored);
}

TEST_F(KeptFile, of_another_calculation_is_refused) {
  file().write(format().to_file(some_value{1.0, {1.0, 2.0, 3.0}}));
  EXPECT_THROW(run(file({{"mass", 0.2}}), 1.0), input_error);
  EXPECT_THROW(run(file({{"mass", 0.1}}, 0.5000001), 1.0), input_error);
  EXPECT_THROW(run(file({{"mass", 0.1}}, std::numeric_limits<double>::quiet_NaN()), 1.0), input_error);
}

TEST_F(KeptFile, with_numbers_out_of_bounds_is_refused) {
  for (const double number : {11.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    file().write(format().to_file(some_value{number, {1.0, 2.0, 3.0}}));
    EXPECT_THROW(run(file(), 1.0), input_error) << number;
  }
}

TEST_F(KeptFile, whose_vectors_are_not_those_of_their_sums_is_refused) {
  constexpr double second = 0x1.23456789abcdep1;
  kept_value value = format().to_file(some_value{1.0, {1.0, second, 3.0}});
  file().write(value);
  kept_content content = file().read();
  spinor_configuration vector(geometry_);
  EXPECT_THROW(content.vectors(vectors + 1), input_error);
  EXPECT_NO_THROW(content.vectors(vectors)(1, vector));
  std::string bytes;
  {
    std::ifstream in(path_, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&second), sizeof(second)));
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  std::ofstream(path_, std::ios::binary) << bytes;
  EXPECT_THROW(run(file(), 1.0), input_error);
}

/// A search that has made `number` cycles.
using snapshot_of_number = search_snapshot<int>;

TEST_F(KeptFile, of_a_search_is_written_when_the_run_is_about_to_stop) {
  const value_format<snapshot_of_number> of_search{
      [](const snapshot_of_number& s) { return kept_value{{{"cycles", s.state}}, 0, nullptr}; },
      [](const kept_content& content) { return snapshot_of_number{content.integer("cycles", 0, 100), nullptr}; }};
  const kept_file search = file();
  run_control endless(alone_, std::numeric_limits<double>::infinity());
  throttled_checkpoint<int> early(search, of_search, endless, alone_);
  EXPECT_FALSE(early.last());
  early.keep([] { return snapshot_of_number{4, nullptr}; });  // half a minute has not passed
  EXPECT_FALSE(search.exists());
  run_control over(alone_, 0.0);
  throttled_checkpoint<int> late(search, of_search, over, alone_);
  late.keep([] { return snapshot_of_number{5, nullptr}; });
  throttled_checkpoint<int> next(search, of_search, endless, alone_);
  EXPECT_FALSE(next.has_resumed());
  const std::optional<snapshot_of_number> found = next.last();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, 5);
  EXPECT_TRUE(next.has_resumed());
}

}  // namespace
}  // namespace plaquette
