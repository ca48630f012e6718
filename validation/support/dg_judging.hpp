// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What nodal-dg judges steps with, of one solver against another's: states that are kept, numbers of elements,
/// steps made of right-hand sides.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/dg/dg_solver.hpp"
#include "common/dg/exact_solutions.hpp"

namespace plaquette::test {

/// \param states     that `found` keeps without rounding
/// \param tolerance  of a step, relative to numbers of size 1
inline void expect_judges_alike(dg_solver& found, dg_solver& textbook, const dg_domain& domain,
                                std::vector<double> states, double tolerance) {
  const double time = 0.37, dt = stable_time_step(domain, 0.5);
  const auto begin = found.new_snapshot(domain), end = found.new_snapshot(domain);
  const auto its_begin = textbook.new_snapshot(domain), its_end = textbook.new_snapshot(domain);
  found.set_state(states, time);
  textbook.set_state(states, time);
  EXPECT_EQ(found.largest(domain), textbook.largest(domain));
  found.save(*begin);
  textbook.save(*its_begin);
  EXPECT_TRUE(found.is_same(domain, *begin));

  // Elements and columns in any order, also the state of now.
  const std::vector<std::int32_t> elements{domain.elements() - 1, 0, domain.elements() / 2};
  std::vector<int> columns{found.columns() - 1};
  if (found.columns() > 1) columns.push_back(0);
  const std::size_t count = elements.size() * columns.size() * static_cast<std::size_t>(domain.fields * domain.nodes());
  std::vector<double> numbers(count), expected(count);
  for (const bool of_now : {false, true}) {
    std::ranges::fill(numbers, std::nan(""));
    found.read_elements(domain, of_now ? nullptr : begin.get(), elements, columns, numbers);
    textbook.read_elements(domain, of_now ? nullptr : its_begin.get(), elements, columns, expected);
    EXPECT_EQ(numbers, expected);
  }

  found.advance(1, dt);
  found.save(*end);
  EXPECT_FALSE(found.is_same(domain, *begin));
  std::vector<double> after(states.size()), rhs(states.size(), std::nan("")), its_rhs(states.size());
  found.get_state(after);
  textbook.set_state(after, time + dt);
  textbook.save(*its_end);
  const auto compare = [&] {
    const auto here = found.repeat_step(domain, *begin, *end, time, dt, rhs);
    const auto there = textbook.repeat_step(domain, *its_begin, *its_end, time, dt, its_rhs);
    EXPECT_EQ(here.size(), there.size());
    double scale = 0.0;
    for (const double x : its_rhs) scale = std::max(scale, std::abs(x));
    for (std::size_t i = 0; i < rhs.size(); ++i) EXPECT_NEAR(rhs[i], its_rhs[i], tolerance * scale);
    for (std::size_t c = 0; c < here.size(); ++c) {
      EXPECT_NEAR(here[c].moved, there[c].moved, tolerance * there[c].largest);
      EXPECT_NEAR(here[c].largest, there[c].largest, tolerance * there[c].largest);
    }
    return here;
  };
  const auto honest = compare();
  for (const step_difference& of_column : honest) {
    EXPECT_LE(of_column.differs, tolerance * of_column.largest);
    EXPECT_GT(of_column.moved, 0.01);
  }
  found.restore(*end, time + dt);
  EXPECT_TRUE(found.is_same(domain, *end));
  EXPECT_EQ(found.time(), time + dt);
  found.warm_up();
  EXPECT_TRUE(found.is_same(domain, *end));
  EXPECT_EQ(found.time(), time + dt);

  // A restored state goes on as the one that was set.
  std::vector<double> by_restored(states.size()), by_set(states.size());
  found.restore(*begin, time);
  found.advance(2, dt);
  found.get_state(by_restored);
  found.set_state(states, time);
  found.advance(2, dt);
  found.get_state(by_set);
  EXPECT_EQ(by_restored, by_set);

  // One number is wrong: in the end of the step, in its last bit, or no number at all.
  const std::size_t place = after.size() / 3, column = place / static_cast<std::size_t>(domain.state_size());
  const double honest_number = after[place];
  after[place] = honest_number + 0.125;
  found.set_state(after, time + dt);
  EXPECT_FALSE(found.is_same(domain, *end));
  found.save(*end);
  textbook.set_state(after, time + dt);
  textbook.save(*its_end);
  EXPECT_GT(compare()[column].differs, 0.05);
  std::vector<double> flipped = states;
  flipped[place] = -0.0;
  found.set_state(flipped, time);
  found.save(*begin);
  flipped[place] = 0.0;
  found.set_state(flipped, time);
  EXPECT_FALSE(found.is_same(domain, *begin));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  after[place] = nan;
  found.set_state(after, time + dt);
  found.save(*end);
  EXPECT_TRUE(std::isnan(found.repeat_step(domain, *begin, *end, time, dt, rhs)[column].differs));
  states[0] = nan;
  found.set_state(states, time);
  EXPECT_TRUE(std::isnan(found.largest(domain)));
}

}  // namespace plaquette::test
