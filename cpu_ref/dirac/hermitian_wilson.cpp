// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/hermitian_wilson.hpp"

#include "common/error.hpp"

namespace plaquette::cpu {

template <class T>
hermitian_wilson<T>::hermitian_wilson(const context& ctx, const gauge_configuration& links,
                                      const fermion_action& action, reconstruct stored)
    : action_(action), hopping_(ctx, links, action, stored) {
  if (action.has_clover())
    throw input_error("the Hermitian Wilson operator of the overlap has no clover term: expected csw = 0");
}

template <class T>
void hermitian_wilson<T>::apply(field<T>& out, double a, const field<T>& in, double d, double b, const field<T>* u,
                                double c, const field<T>* w) const {
  hopping_.apply_hermitian(out, -0.5 * a, a * action_.diagonal(), in, d, b, u, c, w);
}

template class hermitian_wilson<half>;
template class hermitian_wilson<float>;
template class hermitian_wilson<double>;

}  // namespace plaquette::cpu
