// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The rows of the bench on a GPU: their names, and the bytes and flops that their limits are made of.
#include <gtest/gtest.h>

#include <set>

#include "common/error.hpp"
#include "miniapps/bench/gpu_rows.hpp"

namespace plaquette::bench {

namespace {

gpu_row row_of(const std::string& name) {
  const auto rows = rows_named(name);
  for (const gpu_row& row : rows)
    if (row.name == name) return row;
  throw std::runtime_error("no row is called " + name);
}

TEST(gpu_rows, have_names_of_their_own) {
  std::set<std::string> names;
  for (const gpu_row& row : gpu_rows()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
}

TEST(gpu_rows, are_selected_by_name_and_by_its_beginning_up_to_a_dot) {
  EXPECT_EQ(rows_named("all").size(), gpu_rows().size());
  EXPECT_EQ(rows_named("hopping.32x64.half.n12").size(), 1U);
  EXPECT_EQ(rows_named("hopping.32x64.half.n12,hopping.32x64.half.n12").size(), 1U);
  for (const gpu_row& row : rows_named("hopping.32x64,clover")) EXPECT_NE(row.subject, gpu_subject::solve);
  EXPECT_GT(rows_named("hopping.32x64.single").size(), 1U);
  for (const char* bad : {"hopp", "hopping.32x64.hal", "", ",", "hopping.32x64.half,nothing"})
    EXPECT_THROW(rows_named(bad), input_error) << bad;
}

struct rows_run {
  std::vector<std::string> run, said;
  verification checks;

  /// Rows whose name has `bad` in it fail.
  void go(const std::vector<gpu_row>& rows, const std::string& bad, bool device_survives) {
    run_rows(
        rows,
        [&](const gpu_row& row) {
          run.push_back(row.name);
          if (row.name.find(bad) != std::string::npos) throw memory_error("no room");
          checks.add(row.name, true);
        },
        [=] { return device_survives; }, [this](const std::string& line) { said.push_back(line); }, checks);
  }
};

TEST(gpu_rows, go_on_after_one_that_fails) {
  const auto rows = rows_named("blas.32x64.half");
  rows_run all;
  all.go(rows, ".dot", true);
  EXPECT_EQ(all.run.size(), rows.size());
  ASSERT_EQ(all.said.size(), 1U);
  EXPECT_NE(all.said[0].find("blas.32x64.half.dot FAILED: no room"), std::string::npos) << all.said[0];
  EXPECT_EQ(all.checks.checks().size(), rows.size());
  EXPECT_FALSE(all.checks.passed());
  rows_run none;
  none.go(rows, "nothing", true);
  EXPECT_TRUE(none.checks.passed());
  EXPECT_TRUE(none.said.empty());
}

TEST(gpu_rows, stop_where_the_device_does_not_survive_one_and_count_as_failed) {
  const auto rows = rows_named("blas.32x64.half");
  rows_run some;
  some.go(rows, ".dot", false);
  EXPECT_LT(some.run.size(), rows.size());
  EXPECT_EQ(some.run.back(), "blas.32x64.half.dot");
  ASSERT_EQ(some.said.size(), 2U);
  EXPECT_NE(some.said[1].find("not run: " + std::to_string(rows.size() - some.run.size())), std::string::npos);
  EXPECT_EQ(some.checks.checks().size(), rows.size());
  EXPECT_FALSE(some.checks.passed());
}

TEST(gpu_rows, let_unusable_input_end_the_run) {
  verification checks;
  EXPECT_THROW(run_rows(
                   rows_named("blas.32x64.half"), [](const gpu_row&) { throw input_error("a file"); },
                   [] { return true; }, [](const std::string&) {}, checks),
               input_error);
}

/// Flops / fewest bytes times 4.28 TB/s, the copy bandwidth of an H200, as computed by hand. Per site and right-hand
/// side (8 R / N + 48) reals of the hopping term, and 2 (8 R + 72) / N + 120 of the matrix, in half precision 4 bytes a
/// spinor and 8 a clover block more.
TEST(gpu_rows, limits_follow_from_the_fewest_bytes) {
  const auto limit = [](const std::string& name) {
    const gpu_row row = row_of(name);
    return standard_flops(row) / fewest_bytes(row) * 4.28;
  };
  EXPECT_NEAR(limit("hopping.32x64.double"), 4.90, 0.005);
  EXPECT_NEAR(limit("hopping.32x64.single"), 9.80, 0.015);
  EXPECT_NEAR(limit("hopping.32x64.single.8"), 12.6, 0.05);
  EXPECT_NEAR(limit("hopping.32x64.half"), 19.1, 0.05);
  EXPECT_NEAR(limit("hopping.32x64.single.n12"), 25.2, 0.05);
  EXPECT_NEAR(limit("hopping.32x64.half.n12"), 47.1, 0.05);
  EXPECT_NEAR(limit("hopping.32x64.double.n12"), 12.6, 0.05);
  EXPECT_NEAR(limit("clover.32x64.double"), 4.34, 0.005);
  EXPECT_NEAR(limit("clover.32x64.single"), 8.67, 0.01);
  EXPECT_NEAR(limit("clover.32x64.half"), 16.7, 0.05);
}

TEST(gpu_rows, vector_operations_count_each_field_read_and_each_written) {
  EXPECT_EQ(fields_moved("norm2"), 1);
  EXPECT_EQ(fields_moved("axpy"), 3);
  EXPECT_EQ(fields_moved("bicgstab"), 8);
  EXPECT_EQ(fewest_bytes(row_of("blas.32x64.half.axpy")), 3 * (24 * 2 + 4));
}

}  // namespace

}  // namespace plaquette::bench
