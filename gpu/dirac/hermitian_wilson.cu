// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/dirac/hermitian_wilson.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "gpu/device/graph.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/dirac/hermitian_site.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/halo/halo.hpp"
#include "gpu/tuning/tuner.hpp"

namespace plaquette::gpu {

namespace {

/// out = gamma_5 x + d in + b u + c w, where x is the sum of hops and diagonal. The index counts sites of all blocks,
/// then columns.
template <class T>
struct exchange_and_add {
  hermitian_arguments<T> arg;
  spinor_pointer<const T> x;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t of_lattice = 2 * std::int64_t{arg.parity_step};
    const auto column = static_cast<int>(index / of_lattice);
    const auto site = static_cast<std::int32_t>(index - column * of_lattice);
    if (site % arg.parity_step >= arg.hops.order.sites) return;
    spin_rows<real_of<T>, 4> h{};
    add_stored<T, false>(h, x, column, site, real_of<T>(1));
    finish_hermitian(h, arg, column, site);
  }
};

template <class T>
void require_spinors_on_lattice(const field<T>& in, const field<T>& other) {
  if (in.parts() != 2 || in.shape().spins != spins || in.shape().colours != colours || !(in.shape() == other.shape()))
    throw std::logic_error("hermitian_wilson: fields must be Dirac spinors on the full lattice with equal columns");
}

template <class T>
constexpr int number_bytes() {
  return is_half<T> ? 2 : static_cast<int>(sizeof(real_of<T>));
}

}  // namespace

template <class T>
hermitian_wilson<T>::hermitian_wilson(const context& ctx, const gauge_configuration& links,
                                      const fermion_action& action, reconstruct stored)
    : hopping_(ctx, links, action, stored) {
  if (action.has_clover())
    throw input_error("the Hermitian Wilson operator of the overlap has no clover term: expected csw = 0");
}

template <class T>
double hermitian_wilson<T>::bytes_per_site(int columns, int addends) const {
  const double link = 4.0 * stored_reals(hopping_.stored()) * number_bytes<T>();
  const double spinor = static_cast<double>(spinor_block_bytes<T>) / lanes;
  return link / columns + (2.0 + addends) * spinor;
}

template <class T>
void hermitian_wilson<T>::apply(field<T>& out, double a, const field<T>& in, double d, double b, const field<T>* u,
                                double c, const field<T>* w) const {
  require_spinors_on_lattice(in, out);
  for (const field<T>* const x : {u, w})
    if (x != nullptr) require_spinors_on_lattice(in, *x);
  using real = real_of<T>;
  const context& ctx = hopping_.get_context();
  const hopping_work<T> hops = hopping_.work_on_lattice(-0.5 * a);
  hermitian_work<T> work{{hops.arg}, hops.phases};
  hermitian_arguments<T>& arg = work.arg;
  arg.hops.out = out.sites(0);
  arg.hops.in = in.sites(0);
  arg.hops.columns = in.columns();
  arg.hops.a = static_cast<real>(a * action().diagonal());
  arg.parity_step = ctx.order().blocks() * lanes;
  arg.d = static_cast<real>(d);
  arg.b = static_cast<real>(b);
  arg.c = static_cast<real>(c);
  if (u != nullptr) arg.hops.x = u->sites(0);
  if (w != nullptr) arg.hops.w = w->sites(0);

  const auto how = [&] { return work.phases.used ? hermitian_launch{} : launch_for(in.columns()); };
  if (!hopping_.exchanges_messages()) return launch_hermitian(ctx.queue(), work, hopping_.stored(), how());
  if (!ctx.halo()->has_host_messages()) {
    hermitian_halo halo;
    halo.columns = in.columns();
    const hermitian_launch launch = how();  // before zones are taken: a trial of the tuner may take others
    halo.zones = ctx.halo()->zones(halo.message_columns(), ghost_block_bytes<T>);
    for (int p = 0; p < 2; ++p)
      for (int mu = 0; mu < dimensions; ++mu) halo.ghost_links[p][mu] = hopping_.ghost_links(p, mu);
    return launch_hermitian_of_rank(ctx.queue(), work, halo, hopping_.stored(), launch);
  }
  field<T> sum = like(in);
  for (int p = 0; p < 2; ++p) {
    field<T> to = sum.parity(p);
    const field<T> here = in.parity(p), there = in.parity(1 - p);
    hopping_.apply(to, there, false, {epilogue::add, -0.5 * a, &here, a * action().diagonal()});
  }
  arg.hops.a = 0;
  for_each_index(ctx.queue(), 2 * std::int64_t{arg.parity_step} * in.columns(), exchange_and_add<T>{arg, sum.sites(0)},
                 128);
}

/// Random numbers in psi and x: a device at its power limit runs faster on data in which few bits change.
template <class T>
struct hermitian_wilson<T>::trial_fields {
  field<T> psi, x, y;

  trial_fields(const context& ctx, int columns)
      : psi(ctx, {spins, colours, site_subset::full, columns}), x(like(psi)), y(like(psi)) {
    random_spinors(psi, 1);
    copy(x, psi);
  }
};

template <class T>
hermitian_launch hermitian_wilson<T>::launch_for(int columns) const {
  if (kernels_run_on_host()) return {};
  if (forced_) return *forced_;
  if (hopping_.stored() == reconstruct::none) return {};
  const auto found = chosen_.find(columns);
  if (found != chosen_.end()) return found->second;
  const int tuned = columns_tuned_for(columns);
  const context& ctx = hopping_.get_context();
  const std::vector<hermitian_launch> list = hermitian_candidates(hopping_.problem(tuned, false));
  std::vector<std::string> names;
  for (const hermitian_launch& launch : list) names.push_back(launch.name());
  const tuning_key what{"hermitian_wilson", plaquette::to_string(ctx.geometry().local()),
                        is_half<T>                ? "half"
                        : sizeof(real_of<T>) == 4 ? "single"
                                                  : "double",
                        "reconstruct=" + std::to_string(stored_reals(hopping_.stored())) +
                            " columns=" + std::to_string(tuned) + " step=clenshaw"};
  std::optional<trial_fields> fields;
  const int choice = ctx.tuner().choose(what, names, [&](int i) {
    if (!fields) fields.emplace(ctx, tuned);
    return seconds_of(list[static_cast<std::size_t>(i)], *fields);
  });
  return chosen_[columns] = list[static_cast<std::size_t>(choice)];
}

template <class T>
double hermitian_wilson<T>::seconds_of(const hermitian_launch& launch, trial_fields& f) const {
  const context& ctx = hopping_.get_context();
  hermitian_wilson trial = *this;
  trial.forced_ = launch;
  trial.hopping_.set_communication(false);  // ranks try as often as each of them likes
  // A step of Clenshaw's recurrence, which the overlap operator and filters of its modes run. |H| is below 8: so (H^2 /
  // 64 - 1/4) - 1/4 makes vectors shorter, and psi keeps x from vanishing.
  const auto step = [&] {
    trial.apply(f.y, 0.125, f.x, 0.5, 0.0, nullptr, 0.0, nullptr);
    trial.apply(f.x, 0.125, f.y, -0.5, 0.3, &f.psi, -0.25, &f.x);
  };
  device_timer timer(ctx.queue());
  const auto seconds = [&](const auto& work) {
    timer.start();
    work();
    timer.stop();
    return timer.seconds();
  };
  seconds(step);  // loads the kernels
  const double once = seconds(step);
  const int times = std::clamp(static_cast<int>(1e-3 / std::max(once, 1e-7)), 1, 50), rounds = 5;
  const work_graph graph(ctx.queue(), times, step);
  double sum = 0.0;
  for (int k = 0; k < rounds; ++k) sum += seconds([&] { graph.launch(); });
  return sum / (times * rounds * 2);
}

template class hermitian_wilson<half>;
template class hermitian_wilson<float>;
template class hermitian_wilson<double>;

}  // namespace plaquette::gpu
