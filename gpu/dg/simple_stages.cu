// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include "gpu/blas/cublas_library.hpp"
#include "gpu/dg/block_launch.hpp"
#include "gpu/dg/mesh_on_device.hpp"
#include "gpu/dg/stage_classic.hpp"
#include "gpu/dg/stage_gather.hpp"
#include "gpu/dg/stage_kernels.hpp"
#include "gpu/dg/stage_products.hpp"

namespace plaquette::gpu::dg {

std::string_view name_of(stage_kernel kernel) {
  switch (kernel) {
    case stage_kernel::products:
      return "products";
    case stage_kernel::gather:
      return "gather";
    case stage_kernel::classic:
      return "classic";
    default:
      return "fused";
  }
}

namespace {

/// Numbers of one state that a stage of products keeps.
struct sizes_of_products {
  std::size_t columns, slopes, flux;  ///< lifted terms have the size of `columns`

  sizes_of_products(int used, const reference_element& reference, std::int64_t elements)
      : columns(static_cast<std::size_t>(used * elements * reference.nodes)),
        slopes(columns * static_cast<std::size_t>(reference.dimension)),
        flux(static_cast<std::size_t>(used * elements * reference.faces() * reference.face_nodes)) {}
};

template <class T>
void multiply(const queue& q, const plain_product<T>& work) {
  if (has_cublas(q))
    multiply_real(q, work.rows, work.columns, work.inner, work.a, work.b, work.c);
  else
    for_each_index(q, work.rows * work.columns, work);
}

template <class Equations>
class products_launcher final : public stage_launcher<typename Equations::real, Equations::fields> {
 public:
  using T = typename Equations::real;

  products_launcher(const queue& q, const reference_element& reference, std::int64_t elements)
      : directions_(reference.dimension), sizes_(Equations::used, reference, elements) {
    std::vector<T> d;  // [k][direction][n]
    for (int k = 0; k < reference.nodes; ++k)
      for (std::size_t r = 0; r < static_cast<std::size_t>(directions_); ++r)
        for (int n = 0; n < reference.nodes; ++n) d.push_back(static_cast<T>(reference.derivative[r](n, k)));
    derivative_ = device_array<T>(q, d);
    columns_ = device_array<T>(q, sizes_.columns);
    slopes_ = device_array<T>(q, sizes_.slopes);
    flux_ = device_array<T>(q, sizes_.flux);
    lifted_ = device_array<T>(q, sizes_.columns);
  }

  void run(const queue& q, const stage_arguments<T, Equations::fields>& stage) override {
    const mesh_arrays<T>& mesh = stage.mesh;
    const std::int64_t columns = std::int64_t{stage.end - stage.begin} * Equations::used;
    for (std::int64_t state = 0; state < stage.columns; ++state) {
      const products_kernel<Equations> shared{stage,        state,          columns_.data(), slopes_.data(),
                                              flux_.data(), lifted_.data(), directions_};
      const take_columns<Equations> take{shared};
      const form_fluxes<Equations> form{shared};
      const combine_and_update<Equations> combine{shared};
      for_each_index(q, take.count(), take);
      multiply<T>(q,
                  {directions_ * mesh.nodes, columns, mesh.nodes, derivative_.data(), columns_.data(), slopes_.data()});
      for_each_index(q, form.count(), form);
      multiply<T>(q, {mesh.nodes, columns, form.of_element(), mesh.lift, flux_.data(), lifted_.data()});
      for_each_index(q, combine.count(), combine);
    }
  }

 private:
  int directions_;
  sizes_of_products sizes_;
  device_array<T> derivative_, columns_, slopes_, flux_, lifted_;
};

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
      : rhs_(allocate_on_device(q.device(), static_cast<std::size_t>(places) * sizeof(values))),
        volume_(q),
        surface_(q),
        update_(q) {}

  void run(const queue& q, const stage_arguments<typename Equations::real, Equations::fields>& stage) override {
    auto* const rhs = reinterpret_cast<values*>(rhs_.get());
    const classic_volume<Equations> volume{{stage, rhs}};
    const classic_surface<Equations> surface{{stage, rhs}};
    const classic_update<Equations> update{{stage, rhs}};
    const int threads = threads_of_element(stage.mesh.nodes);
    volume_.start();
    launch_two_phases(q, volume.blocks(), threads, volume.shared_bytes(), volume);
    volume_.stop();
    surface_.start();
    launch_two_phases(q, surface.blocks(), threads, surface.shared_bytes(), surface);
    surface_.stop();
    update_.start();
    for_each_index(q, update.count(), update);
    update_.stop();
    has_run_ = true;
  }
  stage_parts parts() const override {
    if (!has_run_) return {};
    return {volume_.seconds(), surface_.seconds(), update_.seconds()};
  }

 private:
  std::shared_ptr<std::byte> rhs_;
  device_timer volume_, surface_, update_;
  bool has_run_ = false;
};

}  // namespace

template <class T, int fields>
std::unique_ptr<stage_launcher<T, fields>> make_products_launcher(wave_equations equations, const queue& q,
                                                                  const reference_element& reference,
                                                                  std::int64_t elements) {
  if constexpr (fields == 6)
    return std::make_unique<products_launcher<maxwell<T>>>(q, reference, elements);
  else if (equations == wave_equations::acoustics)
    return std::make_unique<products_launcher<acoustics<T>>>(q, reference, elements);
  else
    return std::make_unique<products_launcher<maxwell_tm<T>>>(q, reference, elements);
}

std::size_t bytes_of_products(wave_equations equations, const reference_element& reference, std::int64_t elements,
                              std::size_t bytes_a_number) {
  const int used = equations == wave_equations::maxwell ? 6 : equations == wave_equations::acoustics ? 4 : 3;
  const sizes_of_products sizes(used, reference, elements);
  return (2 * sizes.columns + sizes.slopes + sizes.flux) * bytes_a_number;
}

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

template std::unique_ptr<stage_launcher<float, 4>> make_products_launcher(wave_equations, const queue&,
                                                                          const reference_element&, std::int64_t);
template std::unique_ptr<stage_launcher<float, 6>> make_products_launcher(wave_equations, const queue&,
                                                                          const reference_element&, std::int64_t);
template std::unique_ptr<stage_launcher<double, 4>> make_products_launcher(wave_equations, const queue&,
                                                                           const reference_element&, std::int64_t);
template std::unique_ptr<stage_launcher<double, 6>> make_products_launcher(wave_equations, const queue&,
                                                                           const reference_element&, std::int64_t);
template std::unique_ptr<stage_launcher<float, 4>> make_gather_launcher(wave_equations);
template std::unique_ptr<stage_launcher<float, 6>> make_gather_launcher(wave_equations);
template std::unique_ptr<stage_launcher<double, 4>> make_gather_launcher(wave_equations);
template std::unique_ptr<stage_launcher<double, 6>> make_gather_launcher(wave_equations);
template std::unique_ptr<stage_launcher<float, 4>> make_classic_launcher(wave_equations, const queue&, std::int64_t);
template std::unique_ptr<stage_launcher<float, 6>> make_classic_launcher(wave_equations, const queue&, std::int64_t);
template std::unique_ptr<stage_launcher<double, 4>> make_classic_launcher(wave_equations, const queue&, std::int64_t);
template std::unique_ptr<stage_launcher<double, 6>> make_classic_launcher(wave_equations, const queue&, std::int64_t);

}  // namespace plaquette::gpu::dg
