// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 6 brings: 16-bit fixed point in memory, single precision in registers (Clark et al., arXiv:0911.3191). A
/// spinor has a scale a site, its largest number; numbers of a link are below 1. Four complex numbers are 16 bytes,
/// which one instruction loads: a spinor takes three and its scale, two rows of a link one and a half.
#pragma once

#include <cstdint>

#include "ladder/dirac-gpu/hops.hpp"

namespace ladder::dirac_gpu {

inline constexpr float largest = 32767;
/// n complex numbers that are loaded and stored at once: words of two integers of 16 bits, the real part below. (An
/// array of shorts would be loaded one by one.)
template <int n>
struct alignas(4 * n) pack {
  std::uint32_t words[n];
};

template <int n>
LADDER_BOTH void unpack(complex<float>* to, pack<n> from, float scale) {
  for (int k = 0; k < n; ++k)
    to[k] = {scale * float(std::int16_t(from.words[k])), scale * float(std::int16_t(from.words[k] >> 16))};
}
/// Returns the integer that is nearest to x, of at most 32767.
LADDER_BOTH inline std::uint32_t rounded(float x) { return std::uint16_t(std::int16_t(x < 0 ? x - 0.5F : x + 0.5F)); }
template <int n>
LADDER_BOTH pack<n> packed(const complex<float>* from, float factor) {
  pack<n> to;
  for (int k = 0; k < n; ++k) to.words[k] = rounded(factor * from[k].re) | rounded(factor * from[k].im) << 16;
  return to;
}

struct half_links {
  const pack<4>* first;  ///< [mu][site] four numbers of two rows
  const pack<2>* rest;   ///< the other two
  int sites;
  LADDER_BOTH void operator()(link<float>& u, int site, int mu) const {
    unpack(&u[0][0], first[mu * sites + site], 1 / largest);
    unpack(&u[1][1], rest[mu * sites + site], 1 / largest);
    make_third_row(u);
  }
};
struct half_spinors {
  pack<4>* numbers;  ///< [column][third of a spinor][site]
  float* scales;     ///< [column][site]
  int sites;
  LADDER_BOTH void operator()(spinor<float>& psi, int column, int site) const {
    const float scale = scales[column * sites + site] * (1 / largest);
    for (int k = 0; k < 3; ++k) unpack(&psi[0][0] + 4 * k, numbers[(column * 3 + k) * sites + site], scale);
  }
  LADDER_BOTH void store(int column, int site, const spinor<float>& psi) const {
    const complex<float>* from = &psi[0][0];
    float most = 1e-30F;  // a spinor of zeros stays one
    for (int k = 0; k < 12; ++k) {
      const float re = from[k].re < 0 ? -from[k].re : from[k].re, im = from[k].im < 0 ? -from[k].im : from[k].im;
      const float larger = re > im ? re : im;
      most = larger > most ? larger : most;
    }
    scales[column * sites + site] = most;
    for (int k = 0; k < 3; ++k) numbers[(column * 3 + k) * sites + site] = packed<4>(from + 4 * k, largest / most);
  }
};

/// A rung whose links, spinors and results are packed.
class half_rung : public gpu_rung {
 public:
  half_rung(size s, std::uint64_t seed)
      : gpu_rung(s, seed),
        order(p),
        first_(packed_links<4>(0)),
        rest_(packed_links<2>(4)),
        in_(packed_spinors().numbers),
        out_(in_.numbers()),
        scales_(packed_spinors().scales),
        out_scales_(scales_.numbers()) {}

  double bytes() const override {
    return first_.bytes() + rest_.bytes() + 2 * (in_.bytes() + scales_.bytes());  // spinors in and out
  }
  std::vector<double> result() const override {
    std::vector<double> to;
    auto numbers = out_.numbers();
    auto scales = out_scales_.numbers();
    for (int i = 0; i < p.sites * columns; ++i) {
      spinor<float> psi;
      half_spinors{numbers.data(), scales.data(), p.sites}(psi, i / p.sites, i % p.sites);
      for (int k = 0; k < 12; ++k) to.insert(to.end(), {psi[k / 3][k % 3].re, psi[k / 3][k % 3].im});
    }
    return to;
  }

 protected:
  half_links links() const { return {first_.data(), rest_.data(), p.sites}; }
  half_spinors spinors() const { return {in_.data(), scales_.data(), p.sites}; }
  half_spinors results() const { return {out_.data(), out_scales_.data(), p.sites}; }

  lattice order;

 private:
  /// Returns n numbers of two rows of each link, from number `begin` on.
  template <int n>
  std::vector<pack<n>> packed_links(int begin) const {
    std::vector<pack<n>> to(std::size_t(p.sites) * 4);
    for (std::size_t i = 0; i < to.size(); ++i) {
      complex<float> numbers[n];
      for (int k = 0; k < n; ++k) {
        const number& z = p.links[i * 9 + std::size_t(begin + k)];
        numbers[k] = {float(z.real()), float(z.imag())};
      }
      to[i % 4 * std::size_t(p.sites) + i / 4] = packed<n>(numbers, largest);
    }
    return to;
  }
  struct spinors_of_host {
    std::vector<pack<4>> numbers;
    std::vector<float> scales;
  };
  spinors_of_host packed_spinors() const {
    spinors_of_host to{std::vector<pack<4>>(p.in.size() / 4), std::vector<float>(p.in.size() / 12)};
    for (int i = 0; i < p.sites * columns; ++i) {
      spinor<float> psi;
      for (int k = 0; k < 12; ++k) {
        const number& z = p.in[std::size_t(i) * 12 + std::size_t(k)];
        psi[k / 3][k % 3] = {float(z.real()), float(z.imag())};
      }
      half_spinors{to.numbers.data(), to.scales.data(), p.sites}.store(i / p.sites, i % p.sites, psi);
    }
    return to;
  }

  device_array<pack<4>> first_;
  device_array<pack<2>> rest_;
  device_array<pack<4>> in_, out_;
  device_array<float> scales_, out_scales_;
};

/// What rung 7 brings: several columns of a site for a thread.
struct columns_body {
  static constexpr int at_once = 2;
  lattice l;
  half_links links;
  half_spinors in, out;

  LADDER_BOTH void operator()(int site, int first) const {
    spinor<float> sum[at_once]{};
    add_hops(sum, l, site, links, [&](spinor<float>& psi, int column, int y) { in(psi, first + column, y); });
    for (int column = 0; column < at_once; ++column) out.store(first + column, site, sum[column]);
  }
};

}  // namespace ladder::dirac_gpu
