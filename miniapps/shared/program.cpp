// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/program.hpp"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "common/app/memory.hpp"
#include "common/app/standard_streams.hpp"
#include "common/error.hpp"
#include "miniapps/shared/distinct_files.hpp"
#include "miniapps/shared/machine_model.hpp"

namespace plaquette {

namespace {

std::vector<named_file> files_of(const program& app) {
  std::vector<named_file> files = app.files();
  if (app.shared().json != standard_output_name) files.push_back({"--json", app.shared().json});
  std::vector<std::pair<std::string, std::string>> names;
  for (const named_file& file : files) names.emplace_back(file.option, file.path);
  require_distinct_files(names);
  return files;
}

void require_outputs(const std::vector<named_file>& files, const app_run& run) {
  if (!run.is_root()) return;
  for (const named_file& file : files)
    if (!file.path.empty() && file.how != named_file::use::input)
      require_writable(file.path, file.how == named_file::use::checkpoint || run.replaces(file.path));
}

/// Returns a line for a run with more threads than cores; empty if each thread has a core.
std::string remark_on_threads(const machine_record& machine) {
  const int on_host = std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
  const int threads = machine.threads, of_all = threads * machine.ranks_on_host;
  if (threads <= machine.logical_cpus && of_all <= on_host) return {};
  return fmt::format(
      "{} threads of this host's ranks on {} logical cores, {} of a rank on {}: threads wait for each "
      "other, and speeds are not the machine's",
      of_all, on_host, threads, machine.logical_cpus);
}

/// Returns the ranks of the run: the present ones, or the number that a dry run names.
communicator ranks_of(const shared_options& options, const communicator& world) {
  if (options.planned_ranks == 0) return world;
  if (world.size() > 1)
    throw input_error(fmt::format("--ranks {}: expected a run on one rank, which tells what they would take, found {}",
                                  options.planned_ranks, world.size()));
  return options.planned_ranks == 1 ? world : communicator::planned(options.planned_ranks);
}

/// Returns the placement for the report; null if no thread is placed.
/// \param world  the ranks that there are
json_document open_machine(const program& app, app_run& run, const communicator& world) {
  const auto policy = app.placement();
  std::optional<placement_record> placement;
  if (policy && !run.world.is_planned()) placement = place_threads(*policy, omp_get_max_threads(), run.world);
  const placement_policy wanted = policy.value_or(placement_policy::none);
  if (!run.shared.dry_run) run.device = open_device(run.shared, run.geometry, run.world, wanted);
  if (run.device && run.device->is_gpu()) run.gpu = std::make_unique<gpu_access>(run.device, run.shared);
  run.result.machine = machine_information(world);
  if (run.gpu) note_gpu(run.result.machine, *run.gpu, wanted);
  if (run.is_root()) {
    print_machine(run.result);
    if (const std::string remark = remark_on_threads(run.result.machine); !remark.empty())
      fmt::print("remark     {}\n", remark);
    if (run.gpu) fmt::print("{}", describe(*run.gpu));
    if (placement) fmt::print("{}", describe(*placement));
  }
  return placement ? to_json(*placement) : json_document(nullptr);
}

void print_estimate(const run_estimate& needs, const shared_options& options, const std::string& unit) {
  if (needs.host_bytes > 0.0) fmt::print("memory     {} a rank\n", format_bytes(peak_memory() + needs.host_bytes));
  if (needs.gpu_bytes > 0.0) fmt::print("gpu memory {}\n", format_bytes(needs.gpu_bytes));
  for (const auto& [word, text] : needs.lines) fmt::print("{:<10} {}\n", word, text);
  if (!(needs.fom > 0.0)) return;
  if (const auto machine = planned_machine(options)) {
    fmt::print("machine    {}\n", text_of(*machine));
    const double taken = machine->is_gpu ? needs.gpu_bytes : peak_memory() + needs.host_bytes;
    if (taken > machine->memory)
      fmt::print("remark     a rank needs {} of {}: take more ranks\n", format_bytes(taken),
                 format_bytes(machine->memory));
  }
  fmt::print("predicted  FOM about {:.4g} {}\n", needs.fom, unit);
}

/// The links of a cell that each rank makes by itself, with their ghosts.
double bytes_of_cell(const gauge_choice& gauge) {
  if (!gauge.cell) return 0.0;
  double sites = 1.0;
  for (const int length : *gauge.cell) sites *= length + 2.0;
  return sites * sizeof(site_links);
}

}  // namespace

lattice_geometry no_lattice(const communicator& world) {
  return lattice_geometry({4, 4, 4, 4 * world.size()}, {1, 1, 1, world.size()}, world.rank());
}

exit_status run_parsed(program& app, const communicator& world) {
  const std::vector<named_file> files = files_of(app);  // before any of them is read
  if (app.shared().json == standard_output_name) print_tables_on_stderr();
  const communicator ranks = ranks_of(app.shared(), world);
  const lattice_geometry geometry = app.geometry(ranks);
  app_run run(app.shared(), geometry, ranks);
  const program_text text = app.text();
  run.result.app = text.name;
  run.result.fom = {std::numeric_limits<double>::quiet_NaN(), text.fom_unit, text.fom_what};
  run.result.build = build_information();
  run.result.run = run_information(world);
  run.run_class = app.run_class();
  run.left_files = app.files_of_stopped_run();
  run.keeps_checkpoint = std::ranges::any_of(
      files, [](const named_file& file) { return file.how == named_file::use::checkpoint && !file.path.empty(); });
  require_outputs(files, run);
  const json_document placement = open_machine(app, run, world);
  run_estimate needs = app.estimate(run);
  needs.host_bytes += bytes_of_cell(run.shared.gauge);
  run.result.parameters = app.parameters(run);
  if (!placement.is_null()) run.result.parameters["placement"] = placement;
  if (run.is_root()) {
    app.print_problem(run);
    if (run.world.is_planned()) fmt::print("ranks      {}, none of which is started\n", run.world.size());
    print_estimate(needs, run.shared, text.fom_unit);
  }
  if (run.shared.dry_run) return exit_status::success;
  require_memory(run.world, needs.host_bytes, "this run");
  if (run.gpu) require_gpu_memory(*run.device, needs.gpu_bytes, "this run");
  try {
    return app.body(run);
  } catch (const run_stopped&) {
    return run.finish(exit_status::interrupted);
  } catch (const error& stop) {
    run.note_stop(stop);
    return run.finish(exit_status::interrupted);
  }
}

int run_program(program& app, int argc, char** argv) {
  const std::string name = "plaquette-" + app.text().name;
  return run_app(name.c_str(), argc, argv, [&app](int count, const char* const* arguments, const communicator& world) {
    app.parse(count, arguments);
    watch_stalls(world, app.shared().stall_timeout);
    set_threads(app.shared().threads, world);
    return run_parsed(app, world);
  });
}

}  // namespace plaquette
