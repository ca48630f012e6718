// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Forces of quarks of the CUDA library against the CPU library's.
#include "gpu/dirac/fermion_force.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "common/error.hpp"
#include "cpu_ref/dirac/fermion_force.hpp"
#include "cpu_ref/gauge/gauge_fields.hpp"
#include "cpu_ref/gauge/momenta.hpp"
#include "validation/gpu-vs-cpu/support/gauge_twins.hpp"
#include "validation/gpu-vs-cpu/support/twin_fields.hpp"

namespace plaquette::validation {
namespace {

const communicator alone;

/// Odd numbers of 32-site blocks, and less than one.
const extents lattices[] = {{2, 2, 2, 2}, {2, 4, 6, 2}, {4, 6, 2, 8}};

fermion_action anisotropic_action() {
  fermion_action action{0.2, 1.3, 0.9, 2.5, 1.1};
  action.boundary_phase = {complex<double>{0.6, 0.8}, complex<double>{1, 0}, complex<double>{-0.8, 0.6},
                           complex<double>{-1, 0}};
  return action;
}

/// The same links, momenta and spinors on both sides; leaves of the device full of NaN.
struct quark_twins {
  twin_machines<double> machines;
  cpu::gauge_momenta momenta;
  plaquette::gauge_configuration links;
  twins<double> x, y;
  gpu::gauge_momenta device_momenta;
  gpu::gauge_configuration device_links;
  cpu::leaf_field leaves;
  gpu::leaf_field device_leaves;

  quark_twins(const extents& lattice, int columns)
      : machines(lattice),
        momenta(cpu::random_momenta(machines.geometry, 1, 1, alone)),
        links(cpu::random_configuration(machines.geometry, 2, alone)),
        x(machines, {4, 3, site_subset::full, columns}, 3),
        y(machines, {4, 3, site_subset::full, columns}, 4),
        device_momenta(gpu::import_links(machines.gpu, momenta)),
        device_links(gpu::import_links(machines.gpu, links)),
        leaves(machines.geometry),
        device_leaves(machines.gpu) {
    gpu::fill_bytes(machines.gpu.queue(), device_leaves.sites().begin, 0xff,
                    static_cast<std::size_t>(2 * device_leaves.parity_bytes()));
    clear(device_leaves);
  }

  /// Expects the momenta to be equal to 1e-12 of the largest force, and to have changed.
  void expect_the_same(const std::string& what) const {
    const auto start = cpu::random_momenta(machines.geometry, 1, 1, alone);
    auto force = momenta;
    visit_sites(machines.geometry, [&](const coordinate& at) {
      for (int mu = 0; mu < dimensions; ++mu) force(at)[mu] -= start(at)[mu];
    });
    const double largest = cpu::size_of_force(force, alone).largest;
    EXPECT_GT(largest, 0.01) << what;
    EXPECT_TRUE(largest_difference(gpu::export_links(device_momenta), momenta) <= 1e-12 * largest) << what;
  }
};

TEST(GpuHoppingForce, IsTheCpus) {
  for (const extents& lattice : lattices)
    for (const int columns : {1, 3})
      for (const fermion_action& action : {fermion_action::isotropic(0.1, 1.9), anisotropic_action()}) {
        quark_twins t(lattice, columns);
        add_hopping_force(t.momenta, t.links, action, t.x.on_cpu, t.y.on_cpu, 0.3);
        add_hopping_force(t.device_momenta, t.device_links, action, t.x.on_gpu, t.y.on_gpu, 0.3);
        t.expect_the_same(to_string(lattice) + ", " + std::to_string(columns) + " columns");
        EXPECT_TRUE(largest_difference(gpu::export_links(t.device_links), t.links) <= 0.0);
      }
}

TEST(GpuCloverForce, IsTheCpus) {
  for (const extents& lattice : lattices)
    for (const int columns : {1, 3})
      for (const fermion_action& action : {fermion_action::isotropic(0.1, 1.9), anisotropic_action()}) {
        quark_twins t(lattice, columns);
        for (const double factor : {0.7, -0.2}) {  // they add up
          add_leaves(t.leaves, action, t.x.on_cpu, t.y.on_cpu, factor);
          add_leaves(t.device_leaves, action, t.x.on_gpu, t.y.on_gpu, factor);
        }
        add_clover_force(t.momenta, t.links, t.leaves, 0.3, alone);
        poison_workspace<gpu::gauge_configuration>(t.machines.gpu);
        add_clover_force(t.device_momenta, t.device_links, t.device_leaves, 0.3);
        t.expect_the_same(to_string(lattice) + ", " + std::to_string(columns) + " columns");
      }
}

/// Blocks A of weak fields on the host.
cpu::clover_configuration blocks_of(const plaquette::gauge_configuration& links, const fermion_action& action) {
  auto a = cpu::make_clover_term(links, action);
  cpu::add_to_diagonal(a, action.diagonal());
  return a;
}

TEST(GpuDeterminantForce, IsTheCpus) {
  for (const extents& lattice : lattices)
    for (const int parity : {0, 1}) {
      const fermion_action action = anisotropic_action();
      quark_twins t(lattice, 1);
      const auto inverse = cpu::inverse(blocks_of(t.links, action), alone);
      for (const double factor : {1.0, -0.4}) {
        add_determinant_leaves(t.leaves, action, inverse, parity, factor);
        add_determinant_leaves(t.device_leaves, action, gpu::import_clover(t.machines.gpu, inverse), parity, factor);
      }
      add_clover_force(t.momenta, t.links, t.leaves, 0.3, alone);
      add_clover_force(t.device_momenta, t.device_links, t.device_leaves, 0.3);
      t.expect_the_same(to_string(lattice) + ", parity " + std::to_string(parity));
    }
}

TEST(GpuLogDeterminant, IsTheCpus) {
  for (const extents& lattice : lattices)
    for (const int parity : {0, 1}) {
      const fermion_action action = anisotropic_action();
      const quark_twins t(lattice, 1);
      const auto a = blocks_of(t.links, action);
      auto b = a;
      cpu::add_to_diagonal(b, 0.01);
      const auto here = gpu::import_clover(t.machines.gpu, a), there = gpu::import_clover(t.machines.gpu, b);
      const double expected = cpu::log_determinant(a, parity, alone);
      // Sums of sites of either sign in another order.
      const double size = 12.0 * static_cast<double>(volume(lattice));
      EXPECT_NEAR(gpu::log_determinant(here, parity), expected, 100 * size * unit_roundoff) << to_string(lattice);
      EXPECT_NEAR(gpu::log_determinant_difference(there, here, parity),
                  cpu::log_determinant_difference(b, a, parity, alone), 100 * size * unit_roundoff);
      EXPECT_EQ(gpu::log_determinant_difference(here, here, parity), 0.0);
    }
}

TEST(GpuLogDeterminant, SaysWhereThereIsNone) {
  const gpu::context ctx = gpu_context({2, 4, 2, 2});
  auto a = blocks_of(cpu::unit_configuration(ctx.geometry()), fermion_action::isotropic(0.1, 1.0));
  const coordinate x{1, 3, 0, 1};
  for (const double wrong : {-4.1, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
    a(x).chirality[1].diagonal[2] = wrong;
    const auto on_device = gpu::import_clover(ctx, a);
    try {
      gpu::log_determinant(on_device, 1);
      ADD_FAILURE() << wrong;
    } catch (const input_error& e) {
      EXPECT_NE(std::string(e.what()).find("(1, 3, 0, 1)"), std::string::npos) << e.what();
    }
    EXPECT_NO_THROW(gpu::log_determinant(on_device, 0));
  }
}

TEST(GpuFermionForce, HasTheSameBitsEveryTimeAndRefusesWhatCannotBe) {
  quark_twins t({4, 6, 2, 8}, 2);
  const fermion_action action = anisotropic_action();
  const auto force = [&] {
    auto momenta = gpu::import_links(t.machines.gpu, t.momenta);
    clear(t.device_leaves);
    add_leaves(t.device_leaves, action, t.x.on_gpu, t.y.on_gpu, 0.7);
    add_clover_force(momenta, t.device_links, t.device_leaves, 0.3);
    add_hopping_force(momenta, t.device_links, action, t.x.on_gpu, t.y.on_gpu, 0.3);
    return gpu::export_links(momenta);
  };
  EXPECT_TRUE(same_bits(force(), force()));

  const quark_twins other({2, 2, 2, 2}, 1);
  EXPECT_THROW(add_hopping_force(t.device_momenta, other.device_links, action, t.x.on_gpu, t.y.on_gpu, 1.0),
               input_error);
  EXPECT_THROW(add_hopping_force(t.device_momenta, t.device_links, action, t.x.on_gpu, other.y.on_gpu, 1.0),
               input_error);
  EXPECT_THROW(add_leaves(t.device_leaves, action, t.x.on_gpu, view(t.y.on_gpu, 0, 1), 1.0), input_error);
  EXPECT_THROW(add_leaves(t.device_leaves, action, t.x.on_gpu.parity(0), t.y.on_gpu.parity(0), 1.0), input_error);
  EXPECT_THROW(add_clover_force(t.device_momenta, t.device_links, other.device_leaves, 1.0), input_error);
  EXPECT_THROW(add_determinant_leaves(t.device_leaves, action, gpu::clover_configuration(t.machines.gpu), 2, 1.0),
               input_error);
}

}  // namespace
}  // namespace plaquette::validation
