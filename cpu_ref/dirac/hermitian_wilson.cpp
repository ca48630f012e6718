// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/dirac/hermitian_wilson.hpp"

#include <stdexcept>
#include <vector>

#include "common/error.hpp"
#include "cpu_ref/blas/basis.hpp"
#include "cpu_ref/blas/blas.hpp"

namespace plaquette::cpu {

template <class T>
hermitian_wilson<T>::hermitian_wilson(const context& ctx, const gauge_configuration& links,
                                      const fermion_action& action, reconstruct stored) {
  if (action.has_clover())
    throw input_error("the Hermitian Wilson operator of the overlap has no clover term: expected csw = 0");
  wilson_ = std::make_shared<const wilson_clover<T>>(ctx, links, action, stored);
}

template <class T>
void hermitian_wilson<T>::apply(field<T>& out, double a, const field<T>& in, double d, double b, const field<T>* u,
                                double c, const field<T>* w) const {
  const auto number = [&](double x) {
    return make_scalars(in, std::vector<complex<double>>(static_cast<std::size_t>(in.columns()), {x, 0.0}));
  };
  field<T> sum = like(in);
  wilson_->apply(sum, in);
  gamma5(sum, sum);
  if (a != 1.0) scale(sum, number(a));
  if (d != 0.0) axpy(sum, number(d), in);
  if (u != nullptr) axpy(sum, number(b), *u);
  if (w != nullptr) axpy(sum, number(c), *w);
  copy(out, sum);
}

template class hermitian_wilson<half>;
template class hermitian_wilson<float>;
template class hermitian_wilson<double>;

}  // namespace plaquette::cpu
