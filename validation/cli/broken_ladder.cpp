// SPDX-License-Identifier: BSD-3-Clause
// Ladders whose second rung is wrong, for the driver to find out.
#include <cmath>

#include "ladder/ladder.hpp"

namespace ladder {
namespace {

struct right : rung {
  right(size, std::uint64_t) {}
  void run() override {}
  std::vector<double> result() const override { return {1, 2, 3}; }
};
struct off : right {
  using right::right;
  std::vector<double> result() const override { return {1, 2, 3.001}; }
};
struct not_a_number : right {
  using right::right;
  std::vector<double> result() const override { return {1, 2, NAN}; }
};
struct too_short : right {
  using right::right;
  std::vector<double> result() const override { return {1, 2}; }
};
double one(size) { return 1; }

const describe a("off", "", "item", one, 0), b("nan", "", "item", one, 0), c("short", "", "item", one, 0),
    d("nan-oracle", "", "item", one, 0);
const add<right> a1("off", 1, "right", 0, ""), b1("nan", 1, "right", 0, ""), c1("short", 1, "right", 0, "");
const add<off> a2("off", 2, "off by 3e-4", 1e-4, ""), a3("off", 3, "off by 3e-4, which is allowed", 1e-3, "");
const add<not_a_number> b2("nan", 2, "no number", 1, ""), d1("nan-oracle", 1, "no number", 1, "");
const add<too_short> c2("short", 2, "too short", 1, "");

}  // namespace
}  // namespace ladder
