// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Verifies and times kernels of a stage, for developers of kernels: gather, classic, and fused ones of any engine and
/// shape. The gather kernel is compared with the CPU's textbook on sampled elements, all others with it on all nodes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/dg/dg_solver.hpp"
#include "gpu/dg/mesh_on_device.hpp"
#include "gpu/dg/stage_kernels.hpp"

namespace plaquette::gpu::dg {

/// A periodic box of about `nodes` nodes, elements in the order of a space-filling curve, vertices shaken.
dg_domain make_speed_domain(int order, std::int64_t nodes);

struct speed_options {
  int samples = 3, stages = 8;
  std::string only;          ///< variants whose names contain this
  double copy_gbytes = 0.0;  ///< measured in this run; for the share of it
};

/// One system, precision and order.
template <class T, int fields>
class stage_bench {
 public:
  using values = node_values<T, fields>;

  stage_bench(const dg_domain& domain, const queue& q, const speed_options& options);

  using maker = std::function<std::unique_ptr<stage_launcher<T, fields>>()>;
  /// Prints one line: error, 10^9 nodes a second (best and median), share of the fewest bytes, and of the flops of the
  /// best form; or why not.
  void run(const std::string& name, const maker& make);
  const dg_domain& domain() const { return domain_; }
  const queue& device() const { return queue_; }
  /// The fastest so far.
  std::string best() const;

 private:
  void fill();
  void compare_with_textbook();
  double allowed_error() const;  ///< relative to the largest number

  dg_domain domain_;
  queue queue_;
  speed_options options_;
  mesh_on_device<T> mesh_;
  std::int64_t places_;
  std::vector<values> start_, register_, expected_, expected_register_;
  double largest_ = 0.0;
  device_array<values> in_, out_, residual_;
  double best_speed_ = 0.0;
  std::string best_name_;
};

/// The variants of one file.
void time_acoustics_single(const dg_domain& domain, const queue& q, const speed_options& options);
void time_acoustics_double(const dg_domain& domain, const queue& q, const speed_options& options);
void time_maxwell_single(const dg_domain& domain, const queue& q, const speed_options& options);
void time_maxwell_double(const dg_domain& domain, const queue& q, const speed_options& options);

}  // namespace plaquette::gpu::dg
