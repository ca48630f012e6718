// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/nodal-dg/run_checkpoint.hpp"

#include <fmt/core.h>

#include <vector>

#include "common/app/checkpoint.hpp"
#include "common/app/parse.hpp"

namespace plaquette::nodal_dg {

void keep_checkpoint(const wave_run& run, const dg_progress& done, const std::vector<double>& states, bool finished) {
  if (run.options.checkpoint.empty()) return;
  enter_stage("writing the checkpoint");
  const nodal_dg_options& o = run.options;
  json_document parameters = run_parameters_of(o);
  parameters["content"] = run.content;
  dg_progress kept = done;
  kept.dt = run.dt;
  if (!finished) kept.unfinished_files = absolute_paths({o.energy, o.shared.json, o.vtk, o.plane});
  write_dg_checkpoint(o.checkpoint, run.domain, states, o.states, kept, parameters);
  enter_stage("the time steps");
}

void keep_what_was_judged(const wave_run& run, const steps_made& made) {
  if (run.options.checkpoint.empty()) return;
  const bool is_at_the_end = !made.begin.states.empty() && made.begin.step <= made.judged.step;
  const states_at& from = is_at_the_end ? made.begin : made.judged;
  dg_progress kept = made.done;
  kept.steps_done = from.step;
  kept.time = from.time;
  std::erase_if(kept.energy.get_ref<json_document::array_t&>(),
                [&](const json_document& line) { return line[0].get<double>() > from.time; });
  keep_checkpoint(run, kept, from.states, false);
  if (run.app.is_root())
    fmt::print("stopped    {} goes on from step {} of {}: before it all steps were made twice\n",
               printable(run.options.checkpoint), from.step, run.steps);
}

}  // namespace plaquette::nodal_dg
