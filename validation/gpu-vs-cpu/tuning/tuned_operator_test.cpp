// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An operator with the tuner switched on: the same bits as without, data unchanged, choices found again in the file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "gpu/blas/blas.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

namespace {

constexpr std::uint64_t seed = 11;

/// Shown where a test fails on a machine that is gone.
std::string listed(const std::vector<tuning_record>& records) {
  std::string text;
  for (const tuning_record& r : records)
    text += to_string(r.key) + ": " + r.name + " (" + std::string(name_of(r.origin)) + ")\n";
  return text;
}

struct outcome {
  std::vector<std::vector<complex<double>>> columns;  ///< of Mhat x
  std::vector<std::vector<complex<double>>> input;    ///< after the application
  std::vector<tuning_record> used;
};

template <class T>
outcome applied(int columns, tuning_mode mode, const std::string& file) {
  tuning_options options;
  options.mode = mode;
  options.file = file;
  options.device = "any";
  options.version = "1";
  options.warm_up_seconds = 0.0;
  options.rounds = 1;
  const auto t = std::make_shared<tuner>(options);
  const context ctx(lattice_geometry({8, 6, 4, 8}), communicator(), 0, t);
  const auto links = weak_field_configuration(ctx, 0.2, seed);
  const auto m =
      std::make_shared<const wilson_clover<T>>(ctx, links, fermion_action::isotropic(0.1, 1.0), reconstruct::twelve);
  const schur_wilson_clover<T> schur(m, schur_kind::symmetric);
  field<T> in(ctx, {spins, colours, site_subset::even, columns}), out(ctx, in.shape());
  random_spinors(in, seed);
  schur.apply(out, in);
  outcome result;
  for (int c = 0; c < columns; ++c) {
    result.columns.push_back(column_numbers(out, c));
    result.input.push_back(column_numbers(in, c));
  }
  result.used = t->used();
  return result;
}

template <class T>
struct TunedOperator : testing::Test {};
using precisions = testing::Types<half, float, double>;
TYPED_TEST_SUITE(TunedOperator, precisions);

TYPED_TEST(TunedOperator, GivesTheSameBitsLeavesItsInputAloneAndFindsItsChoicesAgain) {
  std::string directory = (std::filesystem::temp_directory_path() / "plaquette-tuned-XXXXXX").string();
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  const std::string file = directory + "/tuning.json";
  for (const int columns : {1, 5}) {
    const outcome untuned = applied<TypeParam>(columns, tuning_mode::off, "");
    const outcome tuned = applied<TypeParam>(columns, tuning_mode::on, file);
    const outcome again = applied<TypeParam>(columns, tuning_mode::on, file);
    for (const outcome* other : {&tuned, &again}) {
      EXPECT_EQ(other->columns, untuned.columns) << listed(other->used);
      EXPECT_EQ(other->input, untuned.input) << listed(other->used);
    }
    ASSERT_EQ(again.used.size(), tuned.used.size());
    for (std::size_t i = 0; i < tuned.used.size(); ++i) {
      EXPECT_EQ(again.used[i].name, tuned.used[i].name);
      if (tuned.used[i].candidates == 1) continue;  // nothing to choose
      EXPECT_EQ(tuned.used[i].origin, tuning_origin::measured) << listed(tuned.used);
      EXPECT_EQ(again.used[i].origin, tuning_origin::file) << listed(again.used);
    }
  }
  std::filesystem::remove_all(directory);
}

}  // namespace

}  // namespace plaquette::gpu
