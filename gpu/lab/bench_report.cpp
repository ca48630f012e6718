// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <string>

#include "common/error.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/device/machine_speed.hpp"
#include "gpu/device/timing.hpp"
#include "gpu/lab/kernel_bench.hpp"

namespace plaquette::gpu::lab {

bench_words::bench_words(int count, char** words) : words_(words, words + count) {}

std::string bench_words::word(std::size_t i, const std::string& what) const {
  if (const std::string found = word_or(i, ""); !found.empty()) return found;
  throw input_error("kernel_bench: expected " + what + " as word " + std::to_string(i + 1));
}
int bench_words::number(std::size_t i, const std::string& what) const {
  const std::string text = word(i, what);
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    throw input_error("kernel_bench: expected a number for " + what + ", found '" + text + "'");
  return std::stoi(text);
}
std::string bench_words::word_or(std::size_t i, const std::string& otherwise) const {
  for (const std::string& word : words_)
    if (word.find('=') == std::string::npos && i-- == 0) return word;
  return otherwise;
}
int bench_words::number_or(std::size_t i, int otherwise) const {
  return word_or(i, "").empty() ? otherwise : number(i, "a number");
}
std::string bench_words::named(const std::string& key, const std::string& otherwise) const {
  for (const std::string& word : words_)
    if (word.starts_with(key + "=")) return word.substr(key.size() + 1);
  return otherwise;
}
int bench_words::named(const std::string& key, int otherwise) const {
  const std::string text = named(key, std::to_string(otherwise));
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    throw input_error("kernel_bench: expected " + key + "=NUMBER, found '" + text + "'");
  return std::stoi(text);
}
bool bench_words::has(const std::string& word) const { return std::ranges::find(words_, word) != words_.end(); }

bench_report::bench_report(const queue& q, const bench_words& words)
    : copy_(kernels_run_on_host() ? 1e10 : 1e9 * copy_gbytes_per_s(q)), file_(words.named("json", "")) {
  std::printf("%s: copy %.0f GB/s; times are medians, the limit is the fewest bytes at that bandwidth\n",
              describe_device(q.device()).name.c_str(), copy_ * 1e-9);
}

void bench_report::add(const bench_row& r) {
  const bool verified = r.error <= r.bound;
  const kernel_rates rates = rates_of({r.flops, r.bytes}, r.seconds, {.copy_gbytes_per_s = 1e-9 * copy_});
  std::printf("%-12s %-24s x%-2d %9.2f us a column %9.1f GFLOP/s %5.1f%% of the limit  error %.1e%s\n",
              r.kernel.c_str(), r.shape.c_str(), r.columns, 1e6 * r.seconds / r.columns, rates.gflops,
              100.0 * rates.fraction_of_copy, r.error, verified ? "" : " WRONG");
  std::fflush(stdout);
  char text[768];
  std::snprintf(text, sizeof text,
                "{\"kernel\": \"%s\", \"shape\": \"%s\", %s\"columns\": %d, \"seconds\": %.6g, \"gflops\": %.6g, "
                "\"fraction_of_copy\": %.4g, \"error\": %.3g, \"verified\": %s}",
                r.kernel.c_str(), r.shape.c_str(), r.json.c_str(), r.columns, r.seconds, rates.gflops,
                rates.fraction_of_copy, std::isfinite(r.error) ? r.error : -1.0, verified ? "true" : "false");
  rows_.emplace_back(text);
  right_ = right_ && verified;
}

int bench_report::finish() const {
  const bool right = right_ && !rows_.empty();
  if (!file_.empty()) {
    std::FILE* const file = std::fopen(file_.c_str(), "w");
    if (file == nullptr) throw output_error(file_ + ": cannot be written");
    std::fprintf(file, "{\"copy_gbytes_per_s\": %.6g, \"device\": \"%s\", \"rows\": [\n", copy_ * 1e-9,
                 describe_device(0).name.c_str());
    for (std::size_t k = 0; k < rows_.size(); ++k)
      std::fprintf(file, "%s%s\n", rows_[k].c_str(), k + 1 < rows_.size() ? "," : "");
    std::fprintf(file, "]}\n");
    if (std::fclose(file) != 0) throw output_error(file_ + ": cannot be written");
  }
  std::printf("VERIFIED   %s   (%zu kernels and shapes, each before it was timed)\n", right ? "PASSED" : "FAILED",
              rows_.size());
  return right ? 0 : 1;
}

double seconds_of_call(const queue& q, const std::function<void()>& launch, int calls, queueing way,
                       const sampling& how) {
  const sampling taken = kernels_run_on_host() ? sampling{.samples = 1, .most_applications = 1} : how;
  timed_kernel kernel{by_device_clock(q, launch, calls)};
  const int applications = applications_of_sample(kernel, taken);
  if (way == queueing::graph) {
    const int launches = (applications + calls - 1) / calls;
    const work_graph graph(q, launches, launch);
    kernel.apply = by_device_clock(q, [graph] { graph.launch(); }, launches * calls);
    kernel.apply(applications);
  }
  return median(timed(kernel, taken, applications));
}

}  // namespace plaquette::gpu::lab
