// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What low modes of gamma_5 M say of a configuration. The numbers come from 8x8x8x16 links at beta 6.0, csw 1.769,
/// whose critical kappa is 0.1352.
#include <gtest/gtest.h>

#include "miniapps/multigrid/low_mode_report.hpp"

namespace plaquette {
namespace {

using modes = std::vector<low_mode>;

TEST(LowModes, OfAPositiveMassAreRegular) {
  EXPECT_EQ(why_exceptional(modes{{0.1085, 0.0115, 0.208, 0.0}, {-0.1127, 0.0115, -0.182, 0.0}}), "");  // 0.1345
  EXPECT_EQ(why_exceptional(modes{{0.1056, 0.0109, 0.059, 0.0}, {-0.1103, 0.0112, -0.035, 0.0}}), "");  // 0.1353
}

TEST(LowModes, OfAMassBelowTheCriticalOneAreRefusedThoughTheirChiralityIsSmall) {
  const std::string why =
      why_exceptional(modes{{0.1056, 0.0120, -0.072, 0.0}, {-0.1108, 0.0118, 0.094, 0.0}});  // 0.1360
  EXPECT_NE(why.find("below the critical"), std::string::npos) << why;
  EXPECT_NE(why_exceptional(modes{{0.1172, 0.0223, -0.373, 0.0}, {-0.1229, 0.0311, 0.398, 0.0}}), "");  // 0.1380
}

TEST(LowModes, OfRoughLinksFarFromZeroAreRegular) {
  // Hot links, 8^3x4, kappa 0.167: one mode of four has a small chirality of the wrong sign by chance.
  EXPECT_EQ(why_exceptional(modes{{0.47, 0.01, -0.07, 0.0}, {0.48, 0.01, 0.2, 0.0}, {-0.48, 0.01, -0.4, 0.0}}), "");
  EXPECT_EQ(why_exceptional(modes{{0.47, 0.01, -0.07, 0.0}}), "");
  // Nearer to zero, but the others speak against it.
  EXPECT_EQ(why_exceptional(modes{{0.12, 0.01, -0.07, 0.0}, {0.12, 0.01, 0.2, 0.0}, {-0.12, 0.01, -0.4, 0.0}}), "");
}

TEST(LowModes, ARealModeBelowZeroIsNamed) {
  const std::string why = why_exceptional(modes{{0.02, 0.001, -0.9, 0.0}, {0.05, 0.001, 0.3, 0.0}});
  EXPECT_NE(why.find("real mode below zero"), std::string::npos) << why;
  EXPECT_NE(why_exceptional(modes{{-0.02, 0.001, 0.9, 0.0}, {0.05, 0.001, 0.3, 0.0}}), "");
}

TEST(LowModes, WithoutKnownSignsSayNothing) {
  // lambda may have the other sign; the chirality is within its error; the mode is hardly one.
  EXPECT_EQ(why_exceptional(modes{{0.1, 0.06, -0.5, 0.0}, {0.1, 0.001, 0.2, 0.0}}), "");
  EXPECT_EQ(why_exceptional(modes{{0.1276, 0.0287, -0.0458, 0.0}, {0.13, 0.001, 0.1, 0.0}}), "");
  EXPECT_EQ(why_exceptional(modes{{0.114, 0.1996, -0.2654, 0.0}, {0.13, 0.001, 0.1, 0.0}}), "");
}

TEST(LowModes, OneFarBelowTheOthersAndOneThatIsZeroAreRefused) {
  EXPECT_NE(why_exceptional(modes{{0.01, 0.0001, 0.9, 0.0}, {0.1, 0.001, 0.3, 0.0}}), "");
  EXPECT_NE(why_exceptional(modes{{1e-7, 1e-8, 0.0, 0.0}}), "");
}

}  // namespace
}  // namespace plaquette
