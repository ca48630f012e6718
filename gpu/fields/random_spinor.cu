// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/fields/random_spinor.hpp"

#include "common/algebra/float_pair.hpp"
#include "common/random/random_stream.hpp"
#include "gpu/device/launch.hpp"
#include "gpu/fields/dirac_spinors.hpp"
#include "gpu/fields/lattice_sites.hpp"

namespace plaquette::gpu {
namespace {

template <class T>
struct draw_spinors {
  spinor_pointer<T> to;
  site_order order;
  global_order whole;
  int parity, column;
  std::uint64_t seed, stream;

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t n) const {
    const auto i = static_cast<std::int32_t>(n);
    random_stream random(seed, stream, whole.index(order.coordinate_of(parity, i)));
    complex<double> numbers[spinor_components];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < spinor_components; ++k) {
      const auto [re, im] = random.gaussians();
      numbers[k] = {re, im};
    }
    store_degrand_rossi(to, i, column, numbers);
  }
};

}  // namespace

template <class T>
void random_spinor(field<T>& x, int column, std::uint64_t seed, std::uint64_t index) {
  require_column(x, column, "a random spinor");
  const context& ctx = x.get_context();
  for (int part = 0; part < x.parts(); ++part)
    for_each_index(ctx.queue(), ctx.order().sites,
                   draw_spinors<T>{x.sites(part), ctx.order(), global_order(ctx.geometry()), x.parity_of_part(part),
                                   column, seed, random_stream_id(random_purpose::spinor, index)});
}

template <class T>
void random_spinors(field<T>& x, std::uint64_t seed, std::uint64_t first_index) {
  for (int column = 0; column < x.columns(); ++column)
    random_spinor(x, column, seed, first_index + static_cast<std::uint64_t>(column));
}

template void random_spinor(field<double>&, int, std::uint64_t, std::uint64_t);
template void random_spinor(field<float_pair>&, int, std::uint64_t, std::uint64_t);
template void random_spinor(field<float>&, int, std::uint64_t, std::uint64_t);
template void random_spinor(field<half>&, int, std::uint64_t, std::uint64_t);
template void random_spinors(field<double>&, std::uint64_t, std::uint64_t);
template void random_spinors(field<float_pair>&, std::uint64_t, std::uint64_t);
template void random_spinors(field<float>&, std::uint64_t, std::uint64_t);
template void random_spinors(field<half>&, std::uint64_t, std::uint64_t);

}  // namespace plaquette::gpu
