// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "common/error.hpp"
#include "common/solvers/cycle_choice.hpp"
#include "miniapps/multigrid/multigrid_options.hpp"

namespace plaquette {
namespace {

multigrid_options parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "plaquette-multigrid");
  return parse_multigrid_options(static_cast<int>(arguments.size()), arguments.data());
}

const lattice_geometry geometry({16, 16, 16, 32}, {1, 1, 1, 1}, 0);

/// Whose setup needs less than the solver.
multigrid_options chosen(std::vector<const char*> arguments) {
  multigrid_options o = parsed(std::move(arguments));
  choose_parameters(o, geometry);
  o.multigrid.setup_batch = 1;
  return o;
}

/// The memory of a run whose widest batch has `widest` columns.
double bytes_of(int widest, int vectors, int directions) {
  multigrid_options o = chosen({"--rhs", "12"});
  o.batches = {widest};
  o.restart_length = directions;
  choose_vectors(o, {vectors});
  return memory_of(o, geometry).device() + memory_of(o, geometry).canonical;
}

/// GCR steps around the cycle of the first coarse lattice, in the order of trials. One step gives `rate`; each further
/// trial takes `gain` times the seconds.
std::vector<int> steps_tried(double rate, double gain) {
  cycle_trial now{{cycle_kind::k, 1, {7, 6}, smoother_kind::polynomial}, rate, 1.0};
  std::vector<cycle_trial> tried{now};
  std::vector<int> steps{1};
  while (const auto next = next_shape(tried)) {
    now.shape = *next;
    now.seconds *= gain;
    tried.push_back(now);
    steps.push_back(next->cycle == cycle_kind::v ? 0 : next->k_steps);
  }
  return steps;
}

TEST(CycleChoice, MoreCoarseWorkIsTriedAsLongAsItGains) {
  EXPECT_EQ(steps_tried(0.55, 0.9), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(steps_tried(0.55, 1.1), (std::vector<int>{1, 2}));
  EXPECT_EQ(steps_tried(0.3, 1.1), (std::vector<int>{1, 2, 0})) << "cycles converge fast: less work, by a V-cycle";
  EXPECT_EQ(steps_tried(0.8, 1.1), (std::vector<int>{1, 2, 3, 2})) << "very slowly: more relaxation, and CA-GCR";
}

TEST(MultigridMemory, TakesNarrowerBatchesBeforeFewerVectors) {
  for (const int fits : {12, 6, 4, 3, 2, 1}) {
    multigrid_options o = chosen({"--rhs", "12", "--batches", "1,12"});
    const std::string changed = fit_into_memory(o, geometry, 1.001 * bytes_of(fits, 24, 8));
    EXPECT_EQ(o.multigrid.coarsenings.front().vectors, 24) << fits;
    EXPECT_EQ(o.batches.back(), fits);
    EXPECT_EQ(o.batches.size(), fits == 1 ? 1u : 2u);
    EXPECT_EQ(o.restart_length, 8);
    EXPECT_EQ(changed.find("batches of at most " + std::to_string(fits)) != std::string::npos, fits < 12) << changed;
  }
  // Batches are as even as can be: eleven at once and one more would be no faster than twice six.
  for (const auto& [fits, taken] : {std::pair{11, 6}, std::pair{5, 4}}) {
    multigrid_options o = chosen({"--rhs", "12"});
    fit_into_memory(o, geometry, 1.001 * bytes_of(fits, 24, 8));
    EXPECT_EQ(o.batches.back(), taken) << fits;
  }
  multigrid_options o = chosen({"--rhs", "12"});
  EXPECT_EQ(fit_into_memory(o, geometry, 1e15), "");
  fit_into_memory(o, geometry, 0.999 * bytes_of(1, 24, 8));
  EXPECT_EQ(o.batches, std::vector<int>{1});
  EXPECT_LT(o.multigrid.coarsenings.front().vectors, 24);
}

// The setup of one source needs more than its solver: it takes fewer null vectors at a time, and all of them.
TEST(MultigridOptions, ASetupTakesFewerNullVectorsAtATimeWhereMemoryIsShort) {
  const lattice_geometry large({48, 48, 48, 64}, {1, 1, 1, 1}, 0);
  multigrid_options o = parsed({"--device", "gpu", "--rhs", "1", "--csw", "1"});
  choose_parameters(o, large);
  const double bytes = memory_of(o, large).device();
  const std::string changed = fit_into_memory(o, large, 0.9 * bytes);
  EXPECT_NE(changed.find("null vectors at a time"), std::string::npos) << changed;
  EXPECT_LE(memory_of(o, large).device(), 0.9 * bytes);
  EXPECT_EQ(o.multigrid.coarsenings.front().vectors, 24);
  EXPECT_LT(o.multigrid.setup_batch, 12);
}

TEST(MultigridOptions, TheCorrectionIsTriedWhereItsPlaceIs) {
  EXPECT_EQ(parsed({}).correction, "multiplicative");
  EXPECT_EQ(parsed({"--correction", "additive"}).correction, "additive");
  EXPECT_EQ(parsed({"--device", "gpu", "--coarse-device", "cpu"}).correction, "multiplicative");
  EXPECT_EQ(parsed({"--device", "gpu", "--coarse-device", "auto"}).correction, "");
  EXPECT_EQ(parsed({"--device", "gpu", "--coarse-device", "auto", "--correction", "additive"}).correction, "additive");
}

TEST(MultigridOptions, NullVectorsOfCyclesHave16BitsUnlessAskedOtherwise) {
  EXPECT_TRUE(parsed({}).multigrid.vectors_in_16_bits);
  EXPECT_TRUE(parsed({"--null-vectors", "half"}).multigrid.vectors_in_16_bits);
  EXPECT_FALSE(parsed({"--null-vectors", "single"}).multigrid.vectors_in_16_bits);
}

TEST(MultigridOptions, StepsOfRelaxationAreGivenByLattice) {
  const multigrid_options o = parsed({"--pre", "2,0", "--post", "0,3"});
  EXPECT_EQ(o.multigrid.steps_before, (std::vector<int>{2, 0}));
  EXPECT_EQ(multigrid_parameters::on_lattice(o.multigrid.steps_after, 2), 3);
  EXPECT_EQ(parsed({"--smoother", "polynomial"}).multigrid.steps_after, (std::vector<int>{7, 6}));
  EXPECT_THROW(parsed({"--post", "0"}), input_error);
  EXPECT_THROW(parsed({"--pre", "2,0", "--post", "0"}), input_error);
  EXPECT_THROW(parsed({"--post", "6,x"}), input_error);
  EXPECT_EQ(parsed({"--pre", "4", "--post", "0"}).multigrid.steps_after, std::vector<int>{0});
}

}  // namespace
}  // namespace plaquette
