// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/gauge/heatbath.hpp"

#include <cmath>
#include <span>

#include "common/error.hpp"
#include "common/gauge/staples.hpp"
#include "common/gauge/subgroup_updates.hpp"
#include "common/random/su2_sampler.hpp"
#include "common/stop_point.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/plaquette.hpp"

// The arithmetic of a sweep is compiled for several instruction sets; the best one the machine has is taken when the
// program starts. Without contraction they all give the same bits.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define PLAQUETTE_INSTRUCTION_SETS __attribute__((target_clones("avx512f", "avx2", "default"), flatten))
#else
#define PLAQUETTE_INSTRUCTION_SETS
#endif

namespace plaquette::cpu {
namespace {

/// Links that are updated at once, one a lane of a vector.
constexpr int batch_size = 8;

/// Waking the threads costs some microseconds: a batch takes about three, a copy a few hundredths of one.
constexpr std::int64_t fewest_batches_for_threads = 16, fewest_copies_for_threads = 1000;

/// A real number of each link of a batch.
struct lanes {
  using vector = double __attribute__((vector_size(batch_size * sizeof(double))));
  vector v{};

  lanes() = default;
  explicit lanes(const vector& values) : v(values) {}
  explicit lanes(double value) : v(value - vector{}) {}

  double& operator[](int lane) { return reinterpret_cast<double*>(&v)[lane]; }
  double operator[](int lane) const { return reinterpret_cast<const double*>(&v)[lane]; }

  lanes& operator+=(const lanes& b) {
    v += b.v;
    return *this;
  }
  lanes& operator-=(const lanes& b) {
    v -= b.v;
    return *this;
  }
  friend lanes operator+(const lanes& a, const lanes& b) { return lanes(a.v + b.v); }
  friend lanes operator-(const lanes& a, const lanes& b) { return lanes(a.v - b.v); }
  friend lanes operator-(const lanes& a) { return lanes(-a.v); }
  friend lanes operator*(const lanes& a, const lanes& b) { return lanes(a.v * b.v); }
  friend lanes operator/(const lanes& a, const lanes& b) { return lanes(a.v / b.v); }
};

/// For `reflection`, found by the type of its arguments.
void replace_zero(lanes& size2, lanes& cosine) {
  for (int lane = 0; lane < batch_size; ++lane)
    if (size2[lane] == 0.0) size2[lane] = cosine[lane] = 1.0;
}

const auto square_root = [](const lanes& values) {
  lanes roots;
  for (int lane = 0; lane < batch_size; ++lane) roots[lane] = std::sqrt(values[lane]);
  return roots;
};

/// The links of one direction at a batch of sites, and the way to the links of their staples.
struct link_batch {
  std::array<site_links*, batch_size> at;
  std::array<std::uint64_t, batch_size> global_index;
  int mu;
  std::array<std::ptrdiff_t, dimensions> stride;  ///< from a site to its neighbour
  plane_weights weight;

  /// As common/gauge reads links: a site is `shift` away from the sites of the batch.
  std::ptrdiff_t moved(std::ptrdiff_t shift, int nu, int sign) const { return shift + sign * stride[nu]; }
  su3<lanes> operator()(std::ptrdiff_t shift, int nu) const {
    su3<lanes> u;
    for (int lane = 0; lane < batch_size; ++lane) {
      const su3<double>& from = at[lane][shift][nu];
      for (int i = 0; i < colours; ++i)
        for (int j = 0; j < colours; ++j) {
          u(i, j).re[lane] = from(i, j).re;
          u(i, j).im[lane] = from(i, j).im;
        }
    }
    return u;
  }

  void store(const su3<lanes>& u) const {
    for (int lane = 0; lane < batch_size; ++lane) {
      su3<double>& to = (*at[lane])[mu];
      for (int i = 0; i < colours; ++i)
        for (int j = 0; j < colours; ++j) to(i, j) = {u(i, j).re[lane], u(i, j).im[lane]};
    }
  }
};

/// Multiplies the links of a batch, in each subgroup in turn, with choose(r, number of the subgroup). The action
/// depends on a link U of the batch as -(beta / 3) Re tr(U A), A being the weighted staples.
template <class Choose>
void update_links(const link_batch& batch, Choose&& choose) {
  constexpr std::ptrdiff_t here = 0;
  su3<lanes> u = batch(here, batch.mu);
  su3<lanes> u_staples = u * closing_staples(batch, here, batch.mu, batch.weight);
  update_in_subgroups(u, u_staples, choose);
  batch.store(reunitarised(u, square_root));
}

PLAQUETTE_INSTRUCTION_SETS
void overrelax(const link_batch& batch) {
  update_links(batch, [](const quaternion<lanes>& r, int) { return reflection(r); });
}

/// \param first_stream  of the subgroups' three
PLAQUETTE_INSTRUCTION_SETS
void draw_from_heatbath(const link_batch& batch, double beta, std::uint64_t seed, std::uint64_t first_stream) {
  update_links(batch, [&](const quaternion<lanes>& r, int subgroup) {
    const std::uint64_t stream = first_stream + static_cast<std::uint64_t>(subgroup);
    quaternion<lanes> g;
    for (int lane = 0; lane < batch_size; ++lane) {
      random_stream random(seed, stream, batch.global_index[lane]);
      const quaternion<double> element =
          heatbath_element({r.r0[lane], r.r1[lane], r.r2[lane], r.r3[lane]}, beta, random);
      g.r0[lane] = element.r0;
      g.r1[lane] = element.r1;
      g.r2[lane] = element.r2;
      g.r3[lane] = element.r3;
    }
    return g;
  });
}

/// Calls visit(x) for the sites of the box [low, high) that have this parity, x fastest.
template <class Visit>
void for_each_site_of_parity(const coordinate& low, const coordinate& high, int wanted, Visit&& visit) {
  coordinate x;
  for (x[3] = low[3]; x[3] < high[3]; ++x[3])
    for (x[2] = low[2]; x[2] < high[2]; ++x[2])
      for (x[1] = low[1]; x[1] < high[1]; ++x[1])
        for (x[0] = low[0]; x[0] < high[0]; ++x[0])
          if (parity(x) == wanted) visit(x);
}

std::ptrdiff_t offset_of(const coordinate& x, const std::array<std::ptrdiff_t, dimensions>& stride) {
  return x[0] * stride[0] + x[1] * stride[1] + x[2] * stride[2] + x[3] * stride[3];
}

}  // namespace

double action_value(const gauge_configuration& links, const gauge_action& action, const communicator& comm) {
  return plaquette::action_value(measure_plaquettes(links, comm), action, links.geometry().global_volume());
}

heatbath_updater::heatbath_updater(const lattice_geometry& geometry, const communicator& comm)
    : geometry_(geometry), comm_(comm) {
  std::ptrdiff_t step = 1;
  for (int mu = 0; mu < dimensions; ++mu) {
    stride_[mu] = step;
    step *= geometry.local()[mu] + 2;
  }
  list_sites();
  for (int parity = 0; parity < 2; ++parity)
    for (int mu = 0; mu < dimensions; ++mu) list_faces(parity, mu);
}

void heatbath_updater::list_sites() {
  for (int parity = 0; parity < 2; ++parity) {
    auto& list = sites_[parity];
    for_each_site_of_parity({0, 0, 0, 0}, geometry_.local(), parity, [&](const coordinate& x) {
      list.push_back({offset_of(x, stride_), static_cast<std::uint64_t>(geometry_.global_index(x))});
    });
    while (list.size() % batch_size != 0) list.push_back(site(list.back()));
  }
}

void heatbath_updater::list_faces(int parity, int mu) {
  const extents& local = geometry_.local();
  const auto face_offsets = [&](int at) {
    coordinate low{}, high = local;
    for (int nu = 0; nu < mu; ++nu) {  // with the ghosts of the directions done before, so that corners arrive too
      low[nu] = -1;
      high[nu] = local[nu] + 1;
    }
    low[mu] = at;
    high[mu] = at + 1;
    std::vector<std::ptrdiff_t> offsets;
    for_each_site_of_parity(low, high, parity, [&](const coordinate& x) { offsets.push_back(offset_of(x, stride_)); });
    return offsets;
  };
  const int above = geometry_.neighbour_rank(mu, +1), below = geometry_.neighbour_rank(mu, -1);
  faces_[parity][mu][0] = {above, below, face_offsets(local[mu] - 1), face_offsets(-1)};
  faces_[parity][mu][1] = {below, above, face_offsets(0), face_offsets(local[mu])};
}

void heatbath_updater::check_geometry(const gauge_configuration& links) const {
  if (!(links.geometry() == geometry_))
    throw input_error("heat bath: made for a lattice " + to_string(geometry_.global()) + " on ranks " +
                      to_string(geometry_.grid()) + ", given links of a lattice " +
                      to_string(links.geometry().global()) + " on ranks " + to_string(links.geometry().grid()));
}

template <class Update>
void heatbath_updater::sweep(gauge_configuration& links, const gauge_action& action, Update&& update) {
  check_geometry(links);
  require_usable(action);
  site_links* const origin = &links({0, 0, 0, 0});
  for (int mu = 0; mu < dimensions; ++mu)
    for (int parity = 0; parity < 2; ++parity) {
      stop_point();
      const plane_weights weights(mu, [&](int a, int b) { return action.plane_weight(a, b); });
      const auto& list = sites_[parity];
      const std::int64_t batches = static_cast<std::int64_t>(list.size()) / batch_size;
#pragma omp parallel for schedule(static) if (batches >= fewest_batches_for_threads)
      for (std::int64_t b = 0; b < batches; ++b) {
        link_batch batch{{}, {}, mu, stride_, weights};
        for (int lane = 0; lane < batch_size; ++lane) {
          const site& s = list[static_cast<std::size_t>(b * batch_size + lane)];
          batch.at[lane] = origin + s.offset;
          batch.global_index[lane] = s.global_index;
        }
        update(batch);
      }
      exchange_links(links, mu, parity);
    }
}

void heatbath_updater::exchange_links(gauge_configuration& links, int mu, int parity) {
  site_links* const origin = &links({0, 0, 0, 0});
  for (int nu = 0; nu < dimensions; ++nu) {
    const auto& [up, down] = faces_[parity][nu];
    for (auto& buffer : buffers_) buffer.resize(up.source.size());  // all four lists are of one length
    auto& [to_above, to_below, from_below, from_above] = buffers_;
    const auto size = static_cast<std::int64_t>(up.source.size());
#pragma omp parallel for schedule(static) if (size >= fewest_copies_for_threads)
    for (std::int64_t i = 0; i < size; ++i) {
      to_above[i] = origin[up.source[i]][mu];
      to_below[i] = origin[down.source[i]][mu];
    }
    const outgoing_message send[] = {{up.to, 0, std::as_bytes(std::span(to_above))},
                                     {down.to, 1, std::as_bytes(std::span(to_below))}};
    const incoming_message receive[] = {{up.from, 0, std::as_writable_bytes(std::span(from_below))},
                                        {down.from, 1, std::as_writable_bytes(std::span(from_above))}};
    comm_.start_exchange(send, receive).wait();
#pragma omp parallel for schedule(static) if (size >= fewest_copies_for_threads)
    for (std::int64_t i = 0; i < size; ++i) {
      origin[up.destination[i]][mu] = from_below[i];
      origin[down.destination[i]][mu] = from_above[i];
    }
  }
}

void heatbath_updater::heatbath_sweep(gauge_configuration& links, const gauge_action& action, std::uint64_t seed,
                                      std::uint64_t sweep_number) {
  constexpr std::uint64_t subgroups = std::size(su2_subgroups);
  sweep(links, action, [&](const link_batch& batch) {
    const std::uint64_t direction = sweep_number * dimensions + static_cast<std::uint64_t>(batch.mu);
    draw_from_heatbath(batch, action.beta, seed, random_stream_id(random_purpose::heatbath, direction * subgroups));
  });
}

void heatbath_updater::overrelaxation_sweep(gauge_configuration& links, const gauge_action& action) {
  sweep(links, action, overrelax);
}

void heatbath_updater::combined_sweep(gauge_configuration& links, const gauge_action& action, const sweep_plan& plan,
                                      std::uint64_t seed, std::uint64_t number) {
  for (int i = 0; i < plan.heatbath; ++i)
    heatbath_sweep(links, action, seed,
                   number * static_cast<std::uint64_t>(plan.heatbath) + static_cast<std::uint64_t>(i));
  for (int i = 0; i < plan.overrelaxation; ++i) overrelaxation_sweep(links, action);
}

void heatbath_sweep(gauge_configuration& links, const gauge_action& action, std::uint64_t seed,
                    std::uint64_t sweep_number, const communicator& comm) {
  heatbath_updater(links.geometry(), comm).heatbath_sweep(links, action, seed, sweep_number);
}

void overrelaxation_sweep(gauge_configuration& links, const gauge_action& action, const communicator& comm) {
  heatbath_updater(links.geometry(), comm).overrelaxation_sweep(links, action);
}

gauge_configuration heatbath_configuration(const lattice_geometry& geometry, const gauge_action& action,
                                           const sweep_plan& plan, int sweeps, std::uint64_t seed,
                                           const communicator& comm) {
  gauge_configuration links = unit_configuration(geometry);
  heatbath_updater updater(geometry, comm);
  for (int n = 0; n < sweeps; ++n) updater.combined_sweep(links, action, plan, seed, static_cast<std::uint64_t>(n));
  return links;
}

}  // namespace plaquette::cpu
