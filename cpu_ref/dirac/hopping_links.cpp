// SPDX-License-Identifier: BSD-3-Clause
// The links of a hopping term: their factors in the action, and how they are stored.
#include <omp.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

#include "common/algebra/link_reconstruction.hpp"
#include "cpu_ref/dirac/hopping_term.hpp"

namespace plaquette::cpu {

namespace {

/// Links of files in single precision are in SU(3) to 1e-6.
constexpr double su3_tolerance = 1e-5;

/// U_mu(x) with its factors in the action: coefficient * phase * U.
struct link_in_action {
  su3<double> u;
  double coefficient;
  complex<double> phase;
};

link_in_action link_of(const gauge_configuration& links, const fermion_action& action, const coordinate& x, int mu) {
  const lattice_geometry& geometry = links.geometry();
  const bool last = geometry.to_global(x)[mu] == geometry.global()[mu] - 1;
  return {links(x)[mu], action.hop_coefficient(mu), last ? action.boundary_phase[mu] : complex<double>{1.0, 0.0}};
}

/// Returns the distance of a link from the nearest one that its stored form can hold: few reals hold links in SU(3), 16
/// bits parts up to 1.
template <class T>
double unsuitability(const su3<double>& u, reconstruct stored) {
  if (stored != reconstruct::none) return distance_from_su3(u);
  if (!is_half<T>) return 0.0;
  double largest = 1.0;
  for (int k = 0; k < colours * colours; ++k)
    largest =
        larger_magnitude(larger_magnitude(largest, u(k / colours, k % colours).re), u(k / colours, k % colours).im);
  return largest - 1.0;
}

}  // namespace

su3<double> folded_link(const gauge_configuration& links, const fermion_action& action, const coordinate& x, int mu) {
  const link_in_action link = link_of(links, action, x, mu);
  return (link.coefficient * link.phase) * link.u;
}

/// Writes links lane by lane, and finds which factor of the table each block of lanes takes. For several threads.
template <class T>
class hopping_term<T>::link_packer {
 public:
  link_packer(reconstruct stored, int width) : stored_(stored), width_(width) {
    table_.assign(static_cast<std::size_t>(width), {1.0, 0.0});
  }

  /// Of one link on all lanes; `link_at(lane)` gives them. Returns the number of its factor.
  template <class LinkAt>
  std::uint8_t pack(word_of<T>* to, LinkAt&& link_at) {
    std::vector<complex<double>> factors;
    double distance = 0.0;
    for (int lane = 0; lane < width_; ++lane) {
      const link_in_action link = link_at(lane);
      distance = larger_magnitude(distance, unsuitability<T>(link.u, stored_));
      // A link of 16 bits has no room for a coefficient: that goes to the half-spinor, hop_scale_.
      const double coefficient = is_half<T> ? 1.0 : link.coefficient;
      if (stored_ != reconstruct::none) factors.push_back(factor_of(coefficient, link.phase));
      double numbers[18];
      if (stored_ == reconstruct::eight) {
        double parameters[8];
        parameters_of_matrix(parameters, link.u);
        std::ranges::copy(parameters, numbers);
      } else {
        for (int k = 0; k < colours * colours; ++k) {
          const auto z = coefficient * (link.phase * link.u(k / colours, k % colours));
          numbers[2 * k] = z.re;
          numbers[2 * k + 1] = z.im;
        }
      }
      store(to + lane, numbers);
    }
    if (stored_ == reconstruct::none && !is_half<T>) return 0;
    std::uint8_t number = 0;
#pragma omp critical(plaquette_link_factors)
    {
      worst_ = larger_magnitude(worst_, distance);
      number = number_of(factors);
    }
    return number;
  }

  bool has_factors() const { return table_.size() > static_cast<std::size_t>(width_); }
  double worst() const { return worst_; }

  /// [factor][re, im][W]
  aligned_buffer<real> table() const {
    aligned_buffer<real> result(2 * table_.size());
    for (std::size_t i = 0; i < table_.size(); ++i) {
      const std::size_t factor = i / static_cast<std::size_t>(width_), lane = i % static_cast<std::size_t>(width_);
      result.data()[2 * factor * static_cast<std::size_t>(width_) + lane] = static_cast<real>(table_[i].re);
      result.data()[(2 * factor + 1) * static_cast<std::size_t>(width_) + lane] = static_cast<real>(table_[i].im);
    }
    return result;
  }

 private:
  /// With rows c phi u stored, conj(row1 x row2) = c^2 phi^-2 u3, as |phi| = 1: the third row is that times phi^3 / c.
  complex<double> factor_of(double coefficient, const complex<double>& phase) const {
    if (stored_ == reconstruct::eight) return coefficient * phase;
    return (coefficient == 0.0 ? 0.0 : 1.0 / coefficient) * (phase * phase * phase);
  }

  void store(word_of<T>* to, const double* numbers) const {
    const int reals = stored_reals(stored_);
    if constexpr (is_half<T>) {
      const auto part = [](double x) { return static_cast<float>(std::clamp(x, -1.0, 1.0)); };
      for (int k = 0; k < reals / 2; ++k)
        to[k * width_] = pack_fixed_point({part(numbers[2 * k]), part(numbers[2 * k + 1])});
    } else {
      for (int k = 0; k < reals; ++k) to[k * width_] = static_cast<T>(numbers[k]);
    }
  }

  std::uint8_t number_of(const std::vector<complex<double>>& factors) {
    if (factors.empty()) return 0;
    const auto width = static_cast<std::size_t>(width_);
    for (std::size_t i = 0; i < table_.size(); i += width)
      if (std::equal(factors.begin(), factors.end(), table_.begin() + static_cast<std::ptrdiff_t>(i)))
        return static_cast<std::uint8_t>(i / width);
    if (table_.size() / width > 255) throw std::logic_error("hopping_term: too many patterns of boundary phases");
    table_.insert(table_.end(), factors.begin(), factors.end());
    return static_cast<std::uint8_t>(table_.size() / width - 1);
  }

  reconstruct stored_;
  int width_;
  double worst_ = 0.0;
  std::vector<complex<double>> table_;  ///< [factor][W]
};

template <class T>
void hopping_term<T>::make_room_for_links() {
  const block_layout& layout = context_.layout<T>();
  const auto link_size = static_cast<std::size_t>(link_words<T>(stored_reals(stored_)) * layout.width());
  for (int p = 0; p < 2; ++p) {
    links_[p].words = aligned_buffer<word_of<T>>(static_cast<std::size_t>(dimensions * layout.blocks()) * link_size);
    slot_links_[p].words = aligned_buffer<word_of<T>>(layout.slot_directions(p).size() * link_size);
  }
}

template <class T>
void hopping_term<T>::pack_links(const gauge_configuration& links) {
  const block_layout& layout = context_.layout<T>();
  const int width = layout.width();
  const std::int64_t link_size = static_cast<std::int64_t>(link_words<T>(stored_reals(stored_))) * width;
  link_packer packer(stored_, width);
  for (int p = 0; p < 2; ++p) {
    links_[p].factors.resize(static_cast<std::size_t>(dimensions * layout.blocks()));
    slot_links_[p].factors.resize(layout.slot_directions(p).size());
#pragma omp parallel for num_threads(context_.threads()) schedule(static)
    for (std::int64_t b = 0; b < layout.blocks(); ++b)
      for (int mu = 0; mu < dimensions; ++mu) {
        const auto at = [&](int lane) { return layout.geometry().local_coordinate(layout.site(p, b, lane)); };
        const std::int64_t index = mu * layout.blocks() + b;
        links_[p].factors[static_cast<std::size_t>(index)] =
            packer.pack(links_[p].words.data() + index * link_size,
                        [&](int lane) { return link_of(links, action_, at(lane), mu); });
        const std::int32_t behind = layout.neighbours(p)[b * hop_directions + 2 * mu + 1];
        if (behind < 0)
          slot_links_[p].factors[static_cast<std::size_t>(-1 - behind)] =
              packer.pack(slot_links_[p].words.data() + (-1 - behind) * link_size,
                          [&](int lane) { return link_of(links, action_, shifted(at(lane), mu, -1), mu); });
      }
  }
  std::array<double, 1> worst{packer.worst()};
  context_.comm().maximum(std::span(worst));
  if (!(worst[0] <= su3_tolerance))
    throw input_error(std::to_string(stored_reals(stored_)) + " stored reals a link" +
                      (is_half<T> ? ", in 16 bits," : "") + " need links in SU(3): expected within " +
                      std::to_string(su3_tolerance) + ", found a distance of " + std::to_string(worst[0]));
  link_factors_ = packer.table();
  if (!packer.has_factors())
    for (int p = 0; p < 2; ++p) {
      links_[p].factors.clear();
      slot_links_[p].factors.clear();
    }
}

template void hopping_term<half>::make_room_for_links();
template void hopping_term<half>::pack_links(const gauge_configuration&);
template void hopping_term<float>::make_room_for_links();
template void hopping_term<float>::pack_links(const gauge_configuration&);
template void hopping_term<double>::make_room_for_links();
template void hopping_term<double>::pack_links(const gauge_configuration&);

}  // namespace plaquette::cpu
