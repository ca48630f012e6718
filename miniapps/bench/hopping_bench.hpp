// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// The even-odd hopping term, timed against what the machine can do in the same run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/algebra/reconstruct.hpp"
#include "common/app/report.hpp"
#include "common/lattice/site_field.hpp"
#include "cpu_ref/context.hpp"

namespace plaquette::bench {

/// One timed configuration.
struct hopping_case {
  extents lattice;
  int rhs = 1;
  std::string precision = "single";  ///< or "double", "half"
  reconstruct links = reconstruct::none;
  int threads = 1;
};

/// Times cases one after the other; those that follow each other on the same lattice share the gauge field.
class hopping_bench {
 public:
  /// \param should_stop  is called between samples; true: no more of them are taken
  hopping_bench(cpu::instruction_set isa, int samples, std::function<bool()> should_stop = {})
      : isa_(isa), samples_(samples), should_stop_(std::move(should_stop)) {}

  /// Times one parity of the hopping term on a weak field and compares the operator with the textbook one first.
  /// Fractions are medians over samples of (this rate / the peak measured right after it); of the copy bandwidth, of
  /// what a copy of as many bytes does before and after.
  /// \param checks  gets one entry: the relative difference at sampled sites
  operator_figure time(const hopping_case& what, verification& checks);

 private:
  template <class T>
  operator_figure time_in(const hopping_case& what, verification& checks);
  const gauge_configuration& links_for(const extents& lattice);

  cpu::instruction_set isa_;
  int samples_;
  std::function<bool()> should_stop_;
  std::unique_ptr<gauge_configuration> links_;
};

/// Returns the fewest bytes an output site of one parity and right-hand side: 8 links shared by the batch, and one
/// spinor read and one written; in half precision each with its scale.
double fewest_bytes_per_site(const hopping_case& what);

}  // namespace plaquette::bench
