// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-cpu/3_even_odd.cpp: like 2_half_spinor, but sites of one parity lie together, since a hop always leads
// to the other one. Solvers then need only one half of the operator at a time. Neighbours come from a table.
#include "ladder/dirac-cpu/half_spinor.hpp"
#include "ladder/dirac-cpu/problem.hpp"

namespace ladder::dirac {
namespace {

class even_odd : public dirac_rung {
 public:
  even_odd(size s, std::uint64_t seed) : dirac_rung(s, seed), links_(std::size_t(p.sites) * 4), in_(p.in.size()) {
    std::vector<int> place(p.sites);  // of a lexicographic site
    for (int parity : {0, 1})
      for (int x = 0; x < p.sites; ++x)
        if (p.parity(x) == parity) {
          place[x] = int(sites_.size());
          sites_.push_back(x);
        }
    for (int x : sites_)
      for (int k = 0; k < 8; ++k) neighbours_.push_back(place[p.neighbour(x, k / 2, k % 2 == 0 ? +1 : -1)]);
    for (int i = 0; i < p.sites; ++i)
      for (int k = 0; k < 36; ++k) {
        const number v = p.links[std::size_t(sites_[i]) * 36 + k];
        links_[std::size_t(i) * 4 + k / 9].u[k / 3 % 3][k % 3] = {v.real(), v.imag()};
      }
    for (int column = 0; column < p.columns; ++column)
      for (int i = 0; i < p.sites; ++i)
        for (int k = 0; k < 12; ++k) in_[at(column, i) * 12 + k] = p.in[at(column, sites_[i]) * 12 + k];
    packed_.resize(in_.size());
  }

  void run() override {
    for (int column = 0; column < p.columns; ++column)
      for (int parity : {0, 1}) apply(column, parity);
  }

  std::vector<double> result() const override {
    std::vector<double> numbers(2 * packed_.size());
    for (int column = 0; column < p.columns; ++column)
      for (int i = 0; i < p.sites; ++i)
        for (int k = 0; k < 12; ++k) {
          const number v = packed_[at(column, i) * 12 + k];
          numbers[2 * (at(column, sites_[i]) * 12 + k)] = v.real();
          numbers[2 * (at(column, sites_[i]) * 12 + k) + 1] = v.imag();
        }
    return numbers;
  }

 private:
  struct one_link {
    link<double> u;
  };

  std::size_t at(int column, int site) const { return static_cast<std::size_t>(column) * p.sites + site; }

  /// Computes the sites of one parity from those of the other.
  void apply(int column, int parity) {
    const auto* in = reinterpret_cast<const spinor<double>*>(in_.data()) + at(column, 0);
    auto* to = reinterpret_cast<spinor<double>*>(packed_.data()) + at(column, 0);
    const int half = p.sites / 2;
    for (int x = parity * half; x < (parity + 1) * half; ++x) {
      const int* neighbours = &neighbours_[std::size_t(x) * 8];
      spinor<double> sum{};
      for_each_hop([&]<int mu, int sign>() {
        const int y = neighbours[2 * mu + (sign < 0)];
        add_hop<mu, sign>(sum, links_[4 * std::size_t(sign > 0 ? x : y) + mu].u, in[y]);
      });
      for (int spin = 0; spin < 4; ++spin)
        for (int c = 0; c < 3; ++c) to[x][spin][c] = sum[spin][c];
    }
  }

  std::vector<int> sites_, neighbours_;  // even sites, then odd ones; [site][hop]
  std::vector<one_link> links_;
  std::vector<number> in_, packed_;
};

const add<even_odd> here("dirac-cpu", 3, "even-odd", 4e-15, "like 2, but sites of one parity lie together");

}  // namespace
}  // namespace ladder::dirac
