// SPDX-License-Identifier: BSD-3-Clause
// ladder/dirac-cpu/9_halo.cpp: like 8_columns, but the lattice is cut into two parts, as if each belonged to a rank.
// What crosses a cut is the projected half spinor, 12 numbers, into the halo of the other part. A thread carries the
// messages while blocks that need none are computed; blocks at the cuts come last. This costs packing and gains nothing
// in one process. With ranks it is what lets messages cost no time.
#include <algorithm>
#include <future>

#include "ladder/dirac-cpu/fixed_point.hpp"

namespace ladder::dirac {
namespace {

class halo_rung : public short_rung {
 public:
  halo_rung(size s, std::uint64_t seed) : short_rung(s, seed), halo_of_(std::size_t(order.blocks) * 8, none) {
    for (int x = 0; x < order.blocks; ++x) {
      bool at_a_cut = false;
      for (int k = 0; k < 8; ++k) {
        const int y = order.neighbours[8 * x + k];
        if (part_of(x) == part_of(y)) continue;
        halo_of_[8 * x + k] = int(sent_.size());
        sent_.push_back({y, k});
        at_a_cut = true;
      }
      (at_a_cut ? at_cuts_ : inside_).push_back(x);
    }
    message_.resize(sent_.size() * p.columns);
    halo_ = message_;
  }

  void run() override {
    pack();
    auto arrival = std::async(std::launch::async, [this] { halo_ = message_; });
    for (const int x : inside_) apply(x);
    arrival.wait();
    for (const int x : at_cuts_) apply(x);
  }
  std::string remark() const override {
    return std::to_string(at_cuts_.size()) + " of " + std::to_string(order.blocks) + " blocks at cuts";
  }

 private:
  static constexpr int none = -1;
  struct half {
    half_spinor<R> h;
  };
  struct source {
    int block, hop;
  };

  /// Returns which part a block belongs to: the lower or upper half of its box in time.
  int part_of(int block) const {
    const int t = p.coordinates(order.sites[std::size_t(block) * width])[3];
    return t < p.extent[3] / 4 ? 0 : 1;
  }

  /// Computes what goes over the cuts: (1 - s gamma) psi forwards, U^+ (1 + gamma) psi backwards, where the link is.
  void pack() {
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      const auto [y, hop] = sent_[i];
      for_each_hop([&]<int mu, int sign>() {
        if (hop != 2 * mu + (sign < 0)) return;
        link<R> u;
        if (sign < 0) load(u, link_at(y, mu));
        for (int column = 0; column < p.columns; ++column) {
          spinor<R> psi;
          half_spinor<R> h;
          load(psi, in_[place(y, column)]);
          project<mu, sign>(sign > 0 ? message_[i * p.columns + column].h : h, psi);
          if (sign < 0) transport<sign>(message_[i * p.columns + column].h, u, h);
        }
      });
    }
  }

  void apply(int x) {
    spinor<R> sums[problem::columns]{};
    for_each_hop([&]<int mu, int sign>() {
      constexpr int k = 2 * mu + (sign < 0);
      const int y = order.neighbours[8 * x + k], from = halo_of_[8 * x + k];
      link<R> u;
      if (sign > 0 || from == none) load(u, link_at(sign > 0 ? x : y, mu));
      for (int column = 0; column < p.columns; ++column) {
        if (from == none) {
          spinor<R> psi;
          load(psi, in_[place(y, column)]);
          add_hop<mu, sign>(sums[column], u, psi, order.turned[8 * x + k], order.partner[k]);
        } else {
          half_spinor<R> g;
          half h = halo_[std::size_t(from) * p.columns + column];
          if (order.turned[8 * x + k]) turn(h.h, order.partner[k]);
          if (sign > 0) transport<sign>(g, u, h.h);
          add_reconstructed<mu, sign>(sums[column], sign > 0 ? g : h.h);
        }
      }
    });
    for (int column = 0; column < p.columns; ++column) store(out_[place(x, column)], sums[column]);
  }

  std::vector<int> halo_of_;          // [block][hop] place of what comes over a cut, or none
  std::vector<source> sent_;          // of each place of a halo: where its half spinor is made
  std::vector<half> message_, halo_;  // [place][column]
  std::vector<int> inside_, at_cuts_;
};

const add<halo_rung> here("dirac-cpu", 9, "halo", 4e-4, "like 8, but in two parts that exchange half spinors");

}  // namespace
}  // namespace ladder::dirac
