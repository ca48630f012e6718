// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// What rung 7 brings: numbers of 16 bits. A spinor is kept as 24 integers and the largest of its numbers, its scale; a
/// link, whose numbers are at most 1, as integers alone. Clark et al., arXiv:0911.3191. All arithmetic stays in single
/// precision: only memory holds 16 bits.
#pragma once

#include "ladder/dirac-cpu/lanes.hpp"

namespace ladder::dirac {

using floats = register_of<float>::type;
typedef short shorts __attribute__((vector_size(32)));
inline constexpr float most = 32767;

/// Returns v, of -1 to 1, as integers: adding and taking off 1.5 2^23 rounds a float to an integer.
inline shorts pack(const floats& v) {
  constexpr float rounder = 12582912.0F;
  return __builtin_convertvector(v * most + rounder - rounder, shorts);
}
inline floats unpack(const shorts& v) { return __builtin_convertvector(v, floats) * (1 / most); }

struct short_spinor {
  shorts numbers[24];
  floats scale;
};

inline void load(spinor<floats>& to, const short_spinor& from) {
  for (int k = 0; k < 12; ++k)
    to[k / 3][k % 3] =
        complex<floats>{unpack(from.numbers[2 * k]) * from.scale, unpack(from.numbers[2 * k + 1]) * from.scale};
}
inline void store(short_spinor& to, const spinor<floats>& from) {
  floats largest = {};
  const auto consider = [&](const floats& v) {
    const floats size = v < 0 ? -v : v;
    largest = size > largest ? size : largest;
  };
  for (int k = 0; k < 12; ++k) consider(from[k / 3][k % 3].re), consider(from[k / 3][k % 3].im);
  to.scale = largest;
  const floats inverse = 1 / (largest + 1e-30F);  // a spinor of zeros stays one
  for (int k = 0; k < 12; ++k) {
    to.numbers[2 * k] = pack(from[k / 3][k % 3].re * inverse);
    to.numbers[2 * k + 1] = pack(from[k / 3][k % 3].im * inverse);
  }
}

/// u = the link whose first two rows are given as 12 numbers; see 6_two_rows.
inline void load(link<floats>& u, const shorts* rows) {
  for (int k = 0; k < 6; ++k) u[k / 3][k % 3] = complex<floats>{unpack(rows[2 * k]), unpack(rows[2 * k + 1])};
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    complex<floats> plus{}, minus{};
    add_product(plus, u[0][j], u[1][k]);
    add_product(minus, u[0][k], u[1][j]);
    u[2][i] = complex<floats>{plus.re - minus.re, minus.im - plus.im};
  }
}

/// Sixteen-bit links and spinors of all columns: [block][column]. Rungs 7 and 8 differ in how they go through them.
class short_rung : public lane_rung<float> {
 public:
  short_rung(size s, std::uint64_t seed) : lane_rung(s, seed), in_(std::size_t(order.blocks) * p.columns), out_(in_) {
    const auto whole = packed_links();
    for (std::size_t k = 0; k < whole.size(); ++k)
      if (k % 9 < 6) rows_.insert(rows_.end(), {pack(whole[k].re), pack(whole[k].im)});
    for (int column = 0; column < p.columns; ++column) {
      const auto numbers = packed_in(column);
      const auto* spinors = reinterpret_cast<const spinor<R>*>(numbers.data());
      for (int x = 0; x < order.blocks; ++x) store(in_[place(x, column)], spinors[x]);
    }
  }

 protected:
  std::size_t place(int block, int column) const { return std::size_t(block) * p.columns + column; }
  const shorts* link_at(int block, int mu) const { return &rows_[std::size_t(block * 4 + mu) * 12]; }
  double output(int column, int block, int lane, int k) const override {
    const short_spinor& v = out_[place(block, column)];
    return v.numbers[k][lane] * double(v.scale[lane]) / most;
  }

  std::vector<shorts> rows_;
  std::vector<short_spinor> in_, out_;
};

}  // namespace ladder::dirac
