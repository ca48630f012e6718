// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/operator_case.hpp"

#include <fmt/core.h>

#include "common/algebra/spinor.hpp"
#include "common/error.hpp"
#include "common/lattice/extents.hpp"
#include "cpu_ref/dirac/wilson_clover.hpp"

namespace plaquette::scaling {

namespace {

constexpr double clover_reals = 72.0;      // two Hermitian 6x6 matrices
constexpr double norm_bytes = 4.0;         // of a site of a half-precision spinor
constexpr double clover_norm_bytes = 8.0;  // of a site of a half-precision clover term, one norm a chirality

}  // namespace

std::string name(operator_kind kind) {
  switch (kind) {
    case operator_kind::hopping:
      return "hopping";
    case operator_kind::wilson:
      return "wilson";
    case operator_kind::clover:
      return "clover";
    case operator_kind::wilson_schur:
      return "wilson_schur";
    case operator_kind::clover_schur:
      return "clover_schur";
    case operator_kind::axpy:
      return "axpy";
    case operator_kind::dot:
      return "dot";
    case operator_kind::norm2:
      return "norm2";
  }
  return {};
}

std::string name(site_layout layout) { return layout == site_layout::full ? "full" : "even-odd"; }

std::string name(number_precision precision) {
  switch (precision) {
    case number_precision::double_precision:
      return "double";
    case number_precision::pairs_precision:
      return "pairs";
    case number_precision::single_precision:
      return "single";
    case number_precision::half_precision:
      return "half";
  }
  return {};
}

std::string describe(const operator_case& c) {
  if (c.is_vector()) return fmt::format("{} {} {} N={}", name(c.kind), name(c.layout), name(c.precision), c.rhs);
  return fmt::format("{} {} {} {} N={}", name(c.kind), name(c.layout), name(c.precision), stored_reals(c.links), c.rhs);
}

bool exists(operator_kind kind, site_layout layout) {
  switch (kind) {
    case operator_kind::hopping:
    case operator_kind::axpy:
    case operator_kind::dot:
    case operator_kind::norm2:
      return true;
    case operator_kind::wilson:
    case operator_kind::clover:
      return layout == site_layout::full;
    case operator_kind::wilson_schur:
    case operator_kind::clover_schur:
      return layout == site_layout::even_odd;
  }
  return false;
}

std::vector<operator_case> combinations(const case_lists& lists) {
  std::vector<operator_case> cases;
  for (const number_precision precision : lists.precisions)
    for (const reconstruct links : lists.links)
      for (const bool clover : {false, true})
        for (const operator_kind kind : lists.kinds)
          for (const site_layout layout : lists.layouts)
            for (const int rhs : lists.rhs)
              if (const operator_case c{kind, layout, precision, links, rhs};
                  exists(kind, layout) && c.has_clover() == clover && (!c.is_vector() || links == lists.links.front()))
                cases.push_back(c);
  if (cases.empty())
    throw input_error(
        "--operator and --layout leave nothing to time: wilson and clover are full, Schur complements even-odd");
  return cases;
}

double share_of_sites(site_layout layout) { return layout == site_layout::full ? 1.0 : 0.5; }

double bytes_of_real(number_precision precision) {
  return precision == number_precision::half_precision     ? 2.0
         : precision == number_precision::single_precision ? 4.0
                                                           : 8.0;
}

double flops_per_site(operator_kind kind) {
  using namespace cpu;
  switch (kind) {
    case operator_kind::hopping:
      return hopping_flops;
    case operator_kind::wilson:
      return hopping_flops + xpay_flops;
    case operator_kind::clover:
      return hopping_flops + clover_flops + xpay_flops;
    case operator_kind::wilson_schur:
      return 2.0 * hopping_flops + xpay_flops;
    case operator_kind::clover_schur:
      return 2.0 * (hopping_flops + clover_flops) + xpay_flops;
    case operator_kind::axpy:
    case operator_kind::dot:
      return 4.0 * spinor_reals;
    case operator_kind::norm2:
      return 2.0 * spinor_reals;
  }
  return 0.0;
}

double bytes_per_site(const operator_case& c) {
  const bool half = c.precision == number_precision::half_precision;
  const double real = bytes_of_real(c.precision);
  const double link = stored_reals(c.links) * real;
  const double spinor = spinor_reals * real + (half ? norm_bytes : 0.0);
  const double clover = clover_reals * real + (half ? clover_norm_bytes : 0.0);
  if (c.is_vector())
    return (c.kind == operator_kind::axpy ? 3.0 : c.kind == operator_kind::dot ? 2.0 : 1.0) * spinor * c.rhs;
  // A hop of one parity sees all links of the lattice, 8 an output site; the full lattice has 4 a site. A Schur
  // complement is two hops, each of which reads a spinor and writes one, and the input once more.
  if (c.is_schur()) return 2.0 * (8.0 * link + (c.has_clover() ? clover : 0.0)) + 5.0 * spinor * c.rhs;
  const double links = (c.layout == site_layout::full ? dimensions : 2 * dimensions) * link;
  return links + (c.has_clover() ? clover : 0.0) + 2.0 * spinor * c.rhs;
}

}  // namespace plaquette::scaling
