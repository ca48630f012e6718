// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/solvers/contractions.hpp"

#include <utility>

#include "common/error.hpp"
#include "common/lattice/source_description.hpp"
#include "common/solvers/vectors_of.hpp"
#include "gpu/blas/basis.hpp"
#include "gpu/observables/baryons.hpp"
#include "gpu/observables/correlators.hpp"
#include "gpu/solvers/backend.hpp"

namespace plaquette::gpu {
namespace {

class contractions_of_field final : public contractions {
 public:
  explicit contractions_of_field(field<double> s) : s_(std::move(s)) { require_propagator(s_); }

  std::vector<double> pion() const override { return pion_correlator(s_); }
  std::vector<double> rho() const override { return rho_correlator(s_); }
  std::vector<complex<double>> meson(const meson_gammas& gammas, const lattice_momentum& momentum,
                                     int direction) const override {
    return momentum_correlator(s_, gammas, momentum, direction);
  }
  std::vector<complex<double>> nucleon(const contractions& down, int parity,
                                       const lattice_momentum& momentum) const override {
    const auto* const known = dynamic_cast<const contractions_of_field*>(&down);
    if (known == nullptr) throw input_error("a nucleon: expected both quarks on the GPU, found one on the host");
    return nucleon_correlator(s_, known->s_, parity, momentum);
  }

 private:
  field<double> s_;
};

}  // namespace

std::unique_ptr<contractions> make_contractions(const vectors& quark) {
  return std::make_unique<contractions_of_field>(field_of<field<double>>(quark));
}

std::unique_ptr<contractions> contractions_in_place(const lattice_geometry& geometry, const vectors_handle& quark) {
  const auto* const known = dynamic_cast<const solver_vectors_of<field<double>>*>(quark.get());
  if (known == nullptr || known->chirality() != 0 || known->count() < spin_colours ||
      !(known->fields().get_context().geometry() == geometry))
    return nullptr;
  return std::make_unique<contractions_of_field>(view(known->fields(), 0, spin_colours));
}

}  // namespace plaquette::gpu
