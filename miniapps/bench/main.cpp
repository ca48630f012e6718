// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// plaquette-bench: the kernels of one device as ratios to what the machine does at best, measured in the same run.
#include "common/app/command_line.hpp"
#include "miniapps/bench/bench_options.hpp"
#include "miniapps/bench/cpu_bench.hpp"
#include "miniapps/bench/gpu_bench.hpp"
#include "miniapps/bench/gpu_rows.hpp"
#include "miniapps/shared/program.hpp"

namespace plaquette::bench {

namespace {

class bench_program final : public program {
 public:
  program_text text() const override { return {"bench", "", ""}; }
  void parse(int argc, const char* const* argv) override {
    options_ = read_options(argc, argv);
    if (!options_.list_rows) return;
    std::string names;
    for (const gpu_row& row : gpu_rows()) names += row.name + '\n';
    throw help_requested{names};
  }
  const shared_options& shared() const override { return options_.gpu.shared; }
  lattice_geometry geometry(const communicator& world) override {
    if (world.size() > 1) throw input_error("plaquette-bench runs on one rank");
    return lattice_geometry(options_.is_one_case() ? options_.lattice : extents{8, 8, 8, 8});
  }
  run_estimate estimate(app_run&) override { return {}; }
  json_document parameters(const app_run&) const override { return parameters_of(options_); }
  exit_status body(app_run& run) override {
    run.result.gauge = {{"source", "none"}, {"plaquette", "nan"}};  // rows of a GPU that need links say which
    if (run.gpu)
      run_gpu_bench(options_.gpu, run);
    else
      run_cpu_bench(options_, run);
    run.control.note_stop(run.result.checks);
    return run.finish(run.control.stopped() ? exit_status::interrupted : exit_status::success);
  }

 private:
  options options_;
};

}  // namespace

}  // namespace plaquette::bench

int main(int argc, char** argv) {
  plaquette::bench::bench_program app;
  return plaquette::run_program(app, argc, argv);
}
