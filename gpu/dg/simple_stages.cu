// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dg/block_launch.hpp"
#include "gpu/dg/stage_classic.hpp"
#include "gpu/dg/stage_gather.hpp"
#include "gpu/dg/stage_kernels.hpp"

namespace plaquette::gpu::dg {

std::string_view name_of(stage_kernel kernel) {
  switch (kernel) {
    case stage_kernel::gather:
      return "gather";
    case stage_kernel::classic:
      return "classic";
    default:
      return "fused";
  }
}

namespace {

template <class Equations>
class gather_launcher final : public stage_launcher<typename Equations::real, Equations::fields> {
 public:
  void run(const queue& q, const stage_arguments<typename Equations::real, Equations::fields>& stage) override {
    const gather_stage<Equations> body{stage};
    for_each_index(q, body.count(), body);
  }
};

template <class Equations>
class classic_launcher final : public stage_launcher<typename Equations::real, Equations::fields> {
 public:
  using values = node_values<typename Equations::real, Equations::fields>;

  classic_launcher(const queue& q, std::int64_t places)
      : rhs_(allocate_on_device(q.device(), static_cast<std::size_t>(places) * sizeof(values))) {}

  void run(const queue& q, const stage_arguments<typename Equations::real, Equations::fields>& stage) override {
    auto* const rhs = reinterpret_cast<values*>(rhs_.get());
    const classic_volume<Equations> volume{{stage, rhs}};
    const classic_surface<Equations> surface{{stage, rhs}};
    const classic_update<Equations> update{{stage, rhs}};
    const int threads = threads_of_element(stage.mesh.nodes);
    launch_two_phases(q, volume.blocks(), threads, volume.shared_bytes(), volume);
    launch_two_phases(q, surface.blocks(), threads, surface.shared_bytes(), surface);
    for_each_index(q, update.count(), update);
  }

 private:
  std::shared_ptr<std::byte> rhs_;
};

}  // namespace

template <class T, int fields>
std::unique_ptr<stage_launcher<T, fields>> make_gather_launcher(wave_equations equations) {
  if constexpr (fields == 6)
    return std::make_unique<gather_launcher<maxwell<T>>>();
  else if (equations == wave_equations::acoustics)
    return std::make_unique<gather_launcher<acoustics<T>>>();
  else
    return std::make_unique<gather_launcher<maxwell_tm<T>>>();
}

template <class T, int fields>
std::unique_ptr<stage_launcher<T, fields>> make_classic_launcher(wave_equations equations, const queue& q,
                                                                 std::int64_t residual_places) {
  if constexpr (fields == 6)
    return std::make_unique<classic_launcher<maxwell<T>>>(q, residual_places);
  else if (equations == wave_equations::acoustics)
    return std::make_unique<classic_launcher<acoustics<T>>>(q, residual_places);
  else
    return std::make_unique<classic_launcher<maxwell_tm<T>>>(q, residual_places);
}

template std::unique_ptr<stage_launcher<float, 4>> make_gather_launcher(wave_equations);
template std::unique_ptr<stage_launcher<float, 6>> make_gather_launcher(wave_equations);
template std::unique_ptr<stage_launcher<double, 4>> make_gather_launcher(wave_equations);
template std::unique_ptr<stage_launcher<double, 6>> make_gather_launcher(wave_equations);
template std::unique_ptr<stage_launcher<float, 4>> make_classic_launcher(wave_equations, const queue&, std::int64_t);
template std::unique_ptr<stage_launcher<float, 6>> make_classic_launcher(wave_equations, const queue&, std::int64_t);
template std::unique_ptr<stage_launcher<double, 4>> make_classic_launcher(wave_equations, const queue&, std::int64_t);
template std::unique_ptr<stage_launcher<double, 6>> make_classic_launcher(wave_equations, const queue&, std::int64_t);

}  // namespace plaquette::gpu::dg
