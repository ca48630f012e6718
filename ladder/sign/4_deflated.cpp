// SPDX-License-Identifier: BSD-3-Clause
// ladder/sign/4_deflated.cpp: like 3_clenshaw, but knows the lowest modes of H. Along them the sign is exact. The
// polynomial serves the rest, whose spectrum begins higher: its degree falls in the same proportion. Finding modes is
// not timed: it is done once a configuration, for many vectors.
#include "ladder/sign/deflated.hpp"

namespace ladder::sign {
namespace {

const add<deflated_rung> here("sign", 4, "deflated", 2e-8, "like 3, but exact on the lowest modes");

}  // namespace
}  // namespace ladder::sign
