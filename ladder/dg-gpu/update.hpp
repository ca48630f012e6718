// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A stage in two parts: kernels that compute the rate of change, and one that updates.
#pragma once

#include "ladder/dg-gpu/problem.hpp"

namespace ladder::dg_gpu {

struct update_body {
  double a, b, dt;
  const double* rate;
  double *q, *k;
  LADDER_BOTH void operator()(int i) const {
    k[i] = a * k[i] + dt * rate[i];
    q[i] += b * k[i];
  }
};

class update_rung : public dg_rung<double> {
 public:
  update_rung(size s, std::uint64_t seed) : dg_rung(s, seed), rate_(p.state) {}

 protected:
  virtual void compute_rate() = 0;
  void do_stage(double a, double b) override {
    compute_rate();
    for_each_index(int(p.state.size()), update_body{a, b, p.dt, rate_.data(), q(), k_.data()});
  }

  device_array<double> rate_;
};

}  // namespace ladder::dg_gpu
