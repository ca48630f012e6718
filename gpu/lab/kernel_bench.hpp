// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Common parts of the benches of kernels: words of the command line, times, rows with their share of the limit, and
/// the verdict. A bench verifies each kernel before it times it.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/algebra/complex.hpp"
#include "common/algebra/largest.hpp"
#include "common/error.hpp"
#include "common/solvers/timed.hpp"
#include "gpu/blas/blas.hpp"
#include "gpu/execution.hpp"

namespace plaquette::gpu::lab {

/// Words of a command line: some in order, and KEY=VALUE in any place.
class bench_words {
 public:
  bench_words(int count, char** words);
  /// Throw input_error, which names `what`, if the word is missing or is no number.
  std::string word(std::size_t i, const std::string& what) const;
  int number(std::size_t i, const std::string& what) const;
  std::string word_or(std::size_t i, const std::string& otherwise) const;
  int number_or(std::size_t i, int otherwise) const;
  std::string named(const std::string& key, const std::string& otherwise) const;
  int named(const std::string& key, int otherwise) const;
  bool has(const std::string& word) const;

 private:
  std::vector<std::string> words_;
};

/// A kernel and a shape, measured.
struct bench_row {
  std::string kernel, shape;  ///< shape: "8x8x8x16 n 48", say
  int columns = 1;
  double seconds = 0.0;  ///< of a call
  double bytes = 0.0;    ///< the fewest that a call moves
  double flops = 0.0;
  double error = 0.0, bound = 0.0;
  std::string json = {};  ///< more members: "\"n\": 48, "
};

/// Prints rows as they come. The limit is the time that the fewest bytes take at the bandwidth of a copy, measured in
/// the same run.
class bench_report {
 public:
  bench_report(const queue& q, const bench_words& words);
  double copy_bytes_per_s() const { return copy_; }
  void add(const bench_row& row);
  /// Prints the verdict, writes the file of json=FILE, and returns the exit status. Throws output_error.
  int finish() const;

 private:
  double copy_;
  std::string file_;
  std::vector<std::string> rows_;
  bool right_ = true;
};

/// How calls are timed: queued one by one, or recorded in a CUDA graph.
enum class queueing { one_by_one, graph };
/// Returns the median seconds of a call by the device's clock. In the host build one sample is taken, of one launch.
/// \param launch  queues `calls` calls: two that alternate, or one
double seconds_of_call(const queue& q, const std::function<void()>& launch, int calls = 1,
                       queueing way = queueing::graph,
                       const sampling& how = {.samples = 9, .seconds = 2e-3, .most_applications = 200});

/// Returns the largest |a - b| / |b| of a column; zero where all numbers are the same bits. NaN stays.
template <class Field>
double distance(const Field& a, const Field& b) {
  Field d = like(a);
  const auto difference = host_values(subtract_norm2(d, a, b)), size = host_values(norm2(b));
  double worst = 0.0;
  for (std::size_t c = 0; c < size.size(); ++c) {
    const double relative = std::sqrt(difference[c].re / size[c].re);
    keep_largest(worst, relative);
  }
  return worst;
}
/// Numbers of half precision are compared as floats: results from a stored number would else be rounded again.
inline double distance(const field<half>& a, const field<half>& b) {
  auto x = like(a, a.columns(), as<field<float>>), y = like(a, a.columns(), as<field<float>>);
  convert(x, a), convert(y, b);
  return distance(x, y);
}

/// A way to launch a kernel, verified and timed.
template <class Launch>
struct launch_trial {
  Launch how;
  double seconds = 0.0;     ///< of a step
  double difference = 0.0;  ///< from the expected result; the same bits are wanted
};
/// Verifies each launch in a chain of `steps`, then times it in a graph. Returns the trials, fastest first.
/// \param w  has set(launch), restart(), step(), result()
template <class Launch, class Work, class Field>
std::vector<launch_trial<Launch>> try_launches(const queue& q, Work& w, const std::vector<Launch>& launches,
                                               const Field& expected, int steps, double sample_seconds) {
  std::vector<launch_trial<Launch>> trials;
  for (const Launch& how : launches) {
    w.set(how);
    w.restart();
    for (int k = 0; k < steps; ++k) w.step();
    const double difference = distance(w.result(), expected);
    w.restart();
    const sampling few{.samples = 3, .seconds = sample_seconds, .most_applications = 100};
    trials.push_back({how, seconds_of_call(q, [&] { w.step(), w.step(); }, 2, queueing::graph, few), difference});
  }
  std::ranges::stable_sort(trials, {}, &launch_trial<Launch>::seconds);
  return trials;
}

/// Calls measure(std::type_identity<T>()) with the T that the word PRECISION names. Throws input_error for other words.
/// \param bench  its name, for the message
template <class Measure>
void in_precision(const std::string& bench, const std::string& precision, const Measure& measure) {
  if (precision == "double")
    measure(std::type_identity<double>());
  else if (precision == "single")
    measure(std::type_identity<float>());
  else if (precision == "half")
    measure(std::type_identity<half>());
  else
    throw input_error("kernel_bench " + bench + ": PRECISION is double, single or half, found '" + precision + "'");
}

/// One bench a file. Each returns the exit status.
int bench_hopping(const bench_words& words);
int bench_coarse(const bench_words& words);
int bench_transfer(const bench_words& words);
int bench_dg(const bench_words& words);
int bench_hermitian(const bench_words& words);
int bench_basis(const bench_words& words);
int bench_few_fields(const bench_words& words);
int bench_gauge(const bench_words& words);

}  // namespace plaquette::gpu::lab
