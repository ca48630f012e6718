// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/device/graph.hpp"

#include <stdexcept>
#include <utility>

#include "gpu/device/check.hpp"
#include "gpu/device/preparation_count.hpp"

namespace plaquette::gpu {

#ifdef PLAQUETTE_CUDA_RUNTIME

struct work_graph::state {
  explicit state(const queue& q) : where(q) {}
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() {
    if (executable) cudaGraphExecDestroy(executable);
    if (graph) cudaGraphDestroy(graph);
  }
  cudaStream_t stream() const { return static_cast<cudaStream_t>(where.native()); }

  queue where;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
};

work_graph::work_graph(const queue& q, int times, std::function<void()> work) : times_(times) {
  const auto made = std::make_shared<state>(q);
  const cudaStream_t stream = made->stream();
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  try {
    for (int i = 0; i < times; ++i) work();
  } catch (...) {
    cudaStreamEndCapture(stream, &made->graph);  // it fails where the capture is broken already
    cudaGetLastError();
    throw;
  }
  check(cudaStreamEndCapture(made->stream(), &made->graph));
  check(cudaGraphInstantiate(&made->executable, made->graph, 0));
  check(cudaGraphUpload(made->executable, made->stream()));
  state_ = made;
  note_graph();
}

void work_graph::launch() const { check(cudaGraphLaunch(state_->executable, state_->stream())); }

#else

struct work_graph::state {
  std::function<void()> work;
};

work_graph::work_graph(const queue&, int times, std::function<void()> work)
    : state_(std::make_shared<state>(state{std::move(work)})), times_(times) {
  note_graph();
}

void work_graph::launch() const {
  for (int i = 0; i < times_; ++i) state_->work();
}

#endif

}  // namespace plaquette::gpu
