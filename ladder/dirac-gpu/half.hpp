// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 6 brings: 16-bit fixed point in memory, single precision in registers (Clark et al., arXiv:0911.3191). A
/// spinor has a scale a site, its largest number; numbers of a link are below 1.
#pragma once

#include <algorithm>

#include "ladder/dirac-gpu/hops.hpp"

namespace ladder::dirac_gpu {

inline constexpr float largest = 32767;
struct fixed_complex {
  short re, im;
};

struct half_links {
  const fixed_complex* numbers;  ///< [mu][row][column][site], two rows
  int sites;
  LADDER_BOTH void operator()(link<float>& u, int site, int mu) const {
    for (int k = 0; k < 6; ++k) {
      const fixed_complex z = numbers[(mu * 6 + k) * sites + site];
      u[k / 3][k % 3] = {float(z.re) / largest, float(z.im) / largest};
    }
    make_third_row(u);
  }
};
struct half_spinors {
  const fixed_complex* numbers;  ///< [column][number][site]
  const float* scales;           ///< [column][site]
  int sites;
  LADDER_BOTH void operator()(spinor<float>& psi, int column, int site) const {
    const float scale = scales[column * sites + site] / largest;
    for (int k = 0; k < 12; ++k) {
      const fixed_complex z = numbers[(column * 12 + k) * sites + site];
      psi[k / 3][k % 3] = {scale * float(z.re), scale * float(z.im)};
    }
  }
};

/// A rung that packs links and spinors. The result is in single precision.
class half_rung : public site_order_rung<float> {
 public:
  half_rung(size s, std::uint64_t seed)
      : site_order_rung(s, seed), scales_(scales()), links_(packed_links()), in_(packed_spinors()) {}

  double bytes() const override { return links_.bytes() + in_.bytes() + scales_.bytes() + result_.bytes(); }

 protected:
  half_links links() const { return {links_.data(), p.sites}; }
  half_spinors spinors() const { return {in_.data(), scales_.data(), p.sites}; }

 private:
  static fixed_complex fixed(const number& z) {
    return {short(std::lrint(z.real() * largest)), short(std::lrint(z.imag() * largest))};
  }
  std::vector<float> scales() const {
    std::vector<float> all;
    for (std::size_t i = 0; i < p.in.size(); i += 12) {
      double most = 0;
      for (std::size_t k = i; k < i + 12; ++k)
        most = std::max({most, std::abs(p.in[k].real()), std::abs(p.in[k].imag())});
      all.push_back(float(most));
    }
    return all;
  }
  std::vector<fixed_complex> packed_links() const {
    std::vector<fixed_complex> to(std::size_t(p.sites) * 24);
    for (int site = 0; site < p.sites; ++site)
      for (int k = 0; k < 24; ++k)
        to[std::size_t(k * p.sites + site)] = fixed(p.links[std::size_t(site * 36 + k / 6 * 9 + k % 6)]);
    return to;
  }
  std::vector<fixed_complex> packed_spinors() const {
    const auto scale = scales();
    std::vector<fixed_complex> to(p.in.size());
    for (int i = 0; i < p.sites * columns; ++i)
      for (int k = 0; k < 12; ++k)
        to[std::size_t((i / p.sites * 12 + k) * p.sites + i % p.sites)] =
            fixed(p.in[std::size_t(i * 12 + k)] / double(scale[std::size_t(i)]));
    return to;
  }

  device_array<float> scales_;
  device_array<fixed_complex> links_, in_;
};

/// What rung 7 brings: four columns of a site.
struct columns_body {
  lattice l;
  half_links links;
  half_spinors spinors;
  complex<float>* out;

  LADDER_BOTH void operator()(int site) const {
    spinor<float> sum[columns]{};
    add_hops(sum, l, site, links, spinors);
    for (int column = 0; column < columns; ++column) store(out, column, site, l.sites, sum[column]);
  }
};

}  // namespace ladder::dirac_gpu
