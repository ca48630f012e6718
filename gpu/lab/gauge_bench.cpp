// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// How long the gauge side takes on a GPU: milliseconds a call, and the share of the copy bandwidth that the fewest
/// bytes of a call would need. Ends with the plaquette of a short heat bath, to see that the timed sweeps were right.
///
///   kernel_bench gauge [lattice=XxYxZxT]
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "gpu/device/runtime.hpp"
#include "gpu/dirac/clover_term.hpp"
#include "gpu/dirac/fermion_force.hpp"
#include "gpu/dirac/wilson_clover.hpp"
#include "gpu/fields/random_spinor.hpp"
#include "gpu/gauge/gauge_fixing.hpp"
#include "gpu/gauge/gauge_force.hpp"
#include "gpu/gauge/gaussian_smearing.hpp"
#include "gpu/gauge/gradient_flow.hpp"
#include "gpu/gauge/heatbath.hpp"
#include "gpu/gauge/link_smearing.hpp"
#include "gpu/gauge/momenta.hpp"
#include "gpu/gauge/plaquette.hpp"
#include "gpu/gauge/stout.hpp"
#include "gpu/lab/kernel_bench.hpp"
#include "gpu/observables/correlators.hpp"
#include "gpu/sources/sources.hpp"

namespace plaquette::gpu {

int lab::bench_gauge(const bench_words& words) {
  const extents lattice = parse_extents(words.named("lattice", "32x32x32x64"), "lattice");
  const lattice_geometry geometry(lattice);
  const gpu::context ctx(geometry, communicator());
  const double sites = static_cast<double>(volume(lattice)), links_bytes = sites * 4 * 144, spinor_bytes = sites * 192;
  const auto time = [&](const char* what, double bytes, auto&& call) {
    const sampling few{.samples = 3, .seconds = 2e-3};
    const double seconds = seconds_of_call(ctx.queue(), [&] { call(); }, 1, queueing::one_by_one, few);
    std::printf("%-24s %9.3f ms %8.0f GB/s of the fewest bytes\n", what, 1e3 * seconds, 1e-9 * bytes / seconds);
  };
  time("random links", links_bytes, [&] { gpu::random_configuration(ctx, 1); });
  auto links = gpu::weak_field_configuration(ctx, 0.3, 2);
  auto swept = gpu::copy_of(links);  // as often as it takes to time a sweep
  std::uint64_t n = 0;
  time("heat bath sweep", 9 * links_bytes, [&] { gpu::heatbath_sweep(swept, {6.0}, 3, n++); });
  time("over-relaxation sweep", 9 * links_bytes, [&] { gpu::overrelaxation_sweep(swept, {6.0}); });
  for (int i = 0; i < 20; ++i)
    gpu::heatbath_updater(ctx).combined_sweep(links, {6.0}, {1, 4}, 3, 100 + static_cast<std::uint64_t>(i));
  const double plaquette = gpu::average_plaquette(links);
  std::printf("plaquette after 20 combined sweeps at beta 6: %.6f (published 0.59368)\n", plaquette);
  time("plaquettes", links_bytes, [&] { gpu::measure_plaquettes(links); });
  time("link trace", links_bytes / 3, [&] { gpu::link_trace(links); });
  time("distance from SU(3)", links_bytes, [&] { gpu::distance_from_su3(links); });
  // A stage of the flow reads and writes links and exponents. The first stage reads no exponents, the last writes none.
  gpu::gradient_flow flow(links);
  time("gradient flow step", 10 * links_bytes, [&] { flow.advance(0.02); });
  time("energy and charge", links_bytes, [&] { flow.measure(); });
  time("stout step", 2 * links_bytes, [&] { gpu::stout_smeared(links, {1, 0.1}); });
  time("APE step", 2 * links_bytes, [&] { gpu::ape_smeared(links, {1, 0.5}); });
  if (volume(lattice) <= 1 << 20) time("HYP step", 14 * links_bytes, [&] { gpu::hyp_smeared(links, {1}); });
  time("10 sweeps, Landau gauge", 25 * links_bytes,
       [&] { gpu::gauge_fixed(links, gauge_condition::landau, {1e-30, 10, 1.7}); });
  gpu::gauge_momenta momenta = gpu::copy_of(links);
  fill_bytes(ctx.queue(), momenta.sites().begin, 0, static_cast<std::size_t>(2 * momenta.parity_bytes()));
  time("momenta", links_bytes, [&] { gpu::refresh_momenta(momenta, 7, n++); });
  time("kinetic energy", links_bytes, [&] { gpu::kinetic_energy(momenta); });
  time("size of a force", links_bytes, [&] { gpu::size_of_force(momenta); });
  time("force, plaquettes", 3 * links_bytes, [&] { gpu::add_gauge_force(momenta, links, {6.0}, 0.1); });
  time("force, rectangles too", 3 * links_bytes, [&] { gpu::add_gauge_force(momenta, links, {2.3, -0.331}, 0.1); });
  time("mean rectangle", links_bytes, [&] { gpu::mean_rectangle(links); });
  auto moving = gpu::copy_of(links);
  time("moving links", 3 * links_bytes, [&] { gpu::move_links(moving, momenta, 1e-3); });
  gpu::clover_configuration term(ctx), inverse(ctx);
  {  // work for operators after a move
    const fermion_action action = fermion_action::isotropic(0.1, 1.5);
    time("clover term", 2 * links_bytes, [&] { gpu::make_site_diagonal(term, links, action); });
    time("clover inverse", 2 * links_bytes, [&] { gpu::invert(inverse, term); });
    // A, A^-1 and links are read and written. (hmc makes A and A^-1 where the operator in double keeps them.)
    const auto time_following = [&]<class T>(const char* what, double blocks, double written) {
      gpu::wilson_clover<T> m(ctx, links, action, reconstruct::twelve);
      time(what, (blocks + 1.0 + written) * links_bytes, [&] { m.follow(links, term, inverse); });
    };
    time_following.operator()<double>("packing in double", 4.0, 2.0 / 3.0);
    time_following.operator()<float>("packing in single", 3.0, 1.0 / 3.0);
    time_following.operator()<half>("packing in half", 2.5, 1.0 / 6.0);
    // As hmc has it: whole links in double, 12 reals of a link in single and half precision, A of even sites, A^-1 of
    // odd ones.
    gpu::wilson_clover<double> in_double(ctx, links, action);
    gpu::wilson_clover<float> in_single(ctx, links, action, reconstruct::twelve);
    gpu::wilson_clover<half> in_half(ctx, links, action, reconstruct::twelve);
    const diagonal_of_precisions all{
        in_double.diagonal().configuration(),  in_double.inverse_diagonal().configuration(),
        in_single.diagonal().memory(),         in_half.diagonal().memory(),
        in_single.inverse_diagonal().memory(), in_half.inverse_diagonal().memory()};
    const auto pack_links = [&] {
      gpu::follow_at_once(moving, in_double.hopping(), &in_single.hopping(), &in_half.hopping());
    };
    const auto make_diagonal = [&] { gpu::make_diagonal_of_precisions(all, moving, action); };
    const double links_written = 1.0 + 1.0 / 3.0 + 1.0 / 6.0, blocks_written = 1.5 + 0.5 + 0.25;
    time("links, three precisions", (1.0 + links_written) * links_bytes, pack_links);
    time("A, three precisions", (1.0 + blocks_written) * links_bytes, make_diagonal);
    time("a move and all of these", (3.0 + links_written + blocks_written) * links_bytes, [&] {
      gpu::move_links(moving, momenta, 1e-3);
      pack_links();
      make_diagonal();
    });
  }
  {  // forces of quarks: a pair of spinors, and leaves of six matrices a site
    const fermion_action action = fermion_action::isotropic(0.1, 1.5);
    gpu::field<double> x(ctx, {4, 3, site_subset::full, 1}), y = like(x);
    gpu::random_spinors(x, 8);
    gpu::random_spinors(y, 9);
    gpu::leaf_field z(ctx);
    clear(z);
    const double leaf_bytes = 1.5 * links_bytes;
    time("force, hops", 3 * links_bytes + 2 * spinor_bytes,
         [&] { gpu::add_hopping_force(momenta, links, action, x, y, 0.1); });
    time("leaves", 2 * leaf_bytes + 2 * spinor_bytes, [&] { gpu::add_leaves(z, action, x, y, 1.0); });
    time("leaves of log det", leaf_bytes + 0.5 * links_bytes,
         [&] { gpu::add_determinant_leaves(z, action, inverse, 1, 1.0); });
    time("force, gather of leaves", 3 * links_bytes + leaf_bytes,
         [&] { gpu::add_clover_force(momenta, links, z, 0.1); });
    time("log det", 0.5 * links_bytes, [&] { gpu::log_determinant(inverse, 1); });
  }
  gpu::field<double> s(ctx, {4, 3, site_subset::full, 12});
  time("12 random spinors", 12 * spinor_bytes, [&] { gpu::random_spinors(s, 5); });
  time("pion", 12 * spinor_bytes, [&] { gpu::pion_correlator(s); });
  time("rho", 36 * spinor_bytes, [&] { gpu::rho_correlator(s); });
  time("12 wall sources", 12 * spinor_bytes, [&] { gpu::make_sources(s, {source_kind::wall}, 0, links); });
  time("smearing step of 12", 24 * spinor_bytes + 0.75 * links_bytes, [&] { gpu::gaussian_smeared(s, links, 1.5, 1); });
  // 20 sweeps from a weak field are near equilibrium, and lattices of 8^4 fluctuate by some 1e-3.
  const bool right = std::abs(plaquette - 0.59368) <= 0.01;
  std::printf("VERIFIED   %s   (the plaquette, within 0.01)\n", right ? "PASSED" : "FAILED");
  return right ? 0 : 1;
}

}  // namespace plaquette::gpu
