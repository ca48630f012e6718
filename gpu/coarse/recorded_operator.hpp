// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// An operator or a preconditioner that queues the same work each time, as a CUDA graph. A multigrid cycle has some
/// thousand kernels, most of which end before the host could launch the next one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "common/concepts.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/device/memory_pool.hpp"
#include "gpu/execution.hpp"

namespace plaquette::gpu {

/// For each number of columns the first application runs as it is. The second is recorded, and from then on the graph
/// runs. Pass the same pair of fields each time, as `bridge` does: another pair is recorded again. The graph owns the
/// memory of its intermediate results. On several ranks kernels of the graph exchange messages; if messages or sums are
/// the host's business nothing is recorded. One caller at a time.
template <class Field>
class recorded_operator {
 public:
  recorded_operator(const execution& on, any_operator<Field> a)
      : execution_(on), a_(std::move(a)), state_(std::make_shared<state>()) {}

  void apply(Field& out, const Field& in) const {
    recording& r = state_->by_columns[in.columns()];
    if (r.out != address(out) || r.in != address(in)) {
      r = {address(out), address(in), std::make_shared<memory_pool>(execution_.queue().device()), std::nullopt};
      const redirected_memory memory(*r.memory);
      return a_.apply(out, in);
    }
    if (!execution_.recordable()) return a_.apply(out, in);
    if (!r.graph) {
      execution_.complete_sums();
      execution_.queue().launch_held_back();
      const redirected_memory memory(*r.memory);
      Field to = out, from = in;
      r.graph.emplace(execution_.queue(), 1, [this, to, from]() mutable {
        a_.apply(to, from);
        execution_.complete_sums();
        execution_.queue().launch_held_back();
      });
    }
    r.graph->launch();
  }

 private:
  struct recording {
    const void *out = nullptr, *in = nullptr;
    std::shared_ptr<memory_pool> memory;
    std::optional<work_graph> graph;
  };
  struct state {
    std::map<int, recording> by_columns;
  };
  /// Of a batch that begins at its storage, as batches of `bridge` do.
  static const void* address(const Field& x) { return x.storage().get(); }

  execution execution_;
  any_operator<Field> a_;
  std::shared_ptr<state> state_;
};

}  // namespace plaquette::gpu
