// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/solvers/contractions.hpp"

#include <utility>

#include "common/error.hpp"
#include "cpu_ref/observables/baryons.hpp"
#include "cpu_ref/observables/correlators.hpp"

namespace plaquette::cpu {
namespace {

class contractions_of_columns final : public contractions {
 public:
  contractions_of_columns(std::span<const spinor_configuration> columns, const communicator& comm)
      : columns_(columns), comm_(comm) {
    require_propagator(columns_);
  }
  contractions_of_columns(propagator owned, const communicator& comm)
      : owned_(std::move(owned)), columns_(owned_), comm_(comm) {
    require_propagator(columns_);
  }

  std::vector<double> pion() const override { return pion_correlator(columns_, comm_); }
  std::vector<double> rho() const override { return rho_correlator(columns_, comm_); }
  std::vector<complex<double>> meson(const meson_gammas& gammas, const lattice_momentum& momentum,
                                     int direction) const override {
    return momentum_correlator(columns_, gammas, momentum, comm_, direction);
  }
  std::vector<complex<double>> nucleon(const contractions& down, int parity,
                                       const lattice_momentum& momentum) const override {
    const auto* const known = dynamic_cast<const contractions_of_columns*>(&down);
    if (known == nullptr) throw input_error("a nucleon: expected both quarks on the host, found one on the GPU");
    return nucleon_correlator(columns_, known->columns_, parity, momentum, comm_);
  }

 private:
  propagator owned_{};
  std::span<const spinor_configuration> columns_;
  communicator comm_;
};

}  // namespace

std::unique_ptr<contractions> make_contractions(std::span<const spinor_configuration> columns,
                                                const communicator& comm) {
  return std::make_unique<contractions_of_columns>(columns, comm);
}

std::unique_ptr<contractions> make_contractions(const vectors& quark, const communicator& comm) {
  propagator columns(static_cast<std::size_t>(quark.columns()), spinor_configuration(quark.geometry()));
  for (int n = 0; n < quark.columns(); ++n) quark.get(n, columns[static_cast<std::size_t>(n)]);
  return std::make_unique<contractions_of_columns>(std::move(columns), comm);
}

}  // namespace plaquette::cpu
