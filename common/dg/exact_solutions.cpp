// SPDX-License-Identifier: BSD-3-Clause
#include "common/dg/exact_solutions.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/algebra/compensated_sum.hpp"
#include "common/algebra/largest.hpp"
#include "common/error.hpp"
#include "common/mesh/vector3.hpp"

namespace plaquette {

namespace {

vector3 wave_numbers(const box_sides& box, const std::array<int, 3>& n, int dimension) {
  vector3 k{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(dimension); ++i)
    k[i] = std::numbers::pi * n[i] / (box.high[i] - box.low[i]);
  if (dot(k, k) == 0.0) throw input_error("standing wave: expected a wave number other than zero");
  return k;
}

/// The part of a vector that is orthogonal to k.
vector3 transverse(const vector3& a, const vector3& k) {
  const double along = dot(a, k) / dot(k, k);
  return {a[0] - along * k[0], a[1] - along * k[1], a[2] - along * k[2]};
}

std::size_t at(const dg_domain& domain, int field, std::int32_t element) {
  return (static_cast<std::size_t>(field) * static_cast<std::size_t>(domain.elements()) +
          static_cast<std::size_t>(element)) *
         static_cast<std::size_t>(domain.nodes());
}

}  // namespace

field_function standing_wave(const box_sides& box, std::array<int, 3> n, const medium& m, int dimension) {
  const vector3 k = wave_numbers(box, n, dimension);
  const double w = m.speed() * std::sqrt(dot(k, k));
  return [=](const vector3& x, double t, std::span<double> q) {
    vector3 c{1, 1, 1}, s{};
    for (std::size_t i = 0; i < static_cast<std::size_t>(dimension); ++i) {
      c[i] = std::cos(k[i] * (x[i] - box.low[i]));
      s[i] = std::sin(k[i] * (x[i] - box.low[i]));
    }
    q[0] = c[0] * c[1] * c[2] * std::cos(w * t);
    const double factor = std::sin(w * t) / (m.second * w);
    for (std::size_t i = 0; i < static_cast<std::size_t>(dimension); ++i)
      q[i + 1] = factor * k[i] * s[i] * c[(i + 1) % 3] * c[(i + 2) % 3];
  };
}

field_function cavity_mode(const box_sides& box, std::array<int, 3> n, std::array<double, 3> polarisation,
                           const medium& m) {
  const vector3 k = wave_numbers(box, n, 3);
  const vector3 a = transverse(polarisation, k), b = cross(k, a);
  const double w = m.speed() * std::sqrt(dot(k, k));
  bool vanishes = true;  // component i is there where both other wave numbers are
  for (std::size_t i = 0; i < 3; ++i)
    vanishes = vanishes && (std::abs(a[i]) < 1e-12 || n[(i + 1) % 3] == 0 || n[(i + 2) % 3] == 0);
  if (vanishes)
    throw input_error("cavity mode: the electric field of these wave numbers and this polarisation is zero everywhere");
  for (std::size_t i = 0; i < 3; ++i)
    if (std::abs(a[i]) > 1e-12 && n[i] == 0 && (n[(i + 1) % 3] == 0 || n[(i + 2) % 3] == 0))
      throw input_error("cavity mode: expected two wave numbers other than zero at least");
  return [=](const vector3& x, double t, std::span<double> q) {
    vector3 c{}, s{};
    for (std::size_t i = 0; i < 3; ++i) {
      c[i] = std::cos(k[i] * (x[i] - box.low[i]));
      s[i] = std::sin(k[i] * (x[i] - box.low[i]));
    }
    const double magnetic = -std::sin(w * t) / (m.second * w), electric = std::cos(w * t);
    for (std::size_t i = 0; i < 3; ++i) {
      q[i] = magnetic * b[i] * s[i] * c[(i + 1) % 3] * c[(i + 2) % 3];
      q[i + 3] = electric * a[i] * c[i] * s[(i + 1) % 3] * s[(i + 2) % 3];
    }
  };
}

field_function cavity_mode_tm(const box_sides& box, std::array<int, 3> n, const medium& m) {
  if (n[0] == 0 || n[1] == 0) throw input_error("cavity mode, TM: expected two wave numbers other than zero");
  const vector3 k = wave_numbers(box, n, 2);
  const double w = m.speed() * std::sqrt(dot(k, k));
  return [=](const vector3& x, double t, std::span<double> q) {
    const double cx = std::cos(k[0] * (x[0] - box.low[0])), sx = std::sin(k[0] * (x[0] - box.low[0]));
    const double cy = std::cos(k[1] * (x[1] - box.low[1])), sy = std::sin(k[1] * (x[1] - box.low[1]));
    const double magnetic = std::sin(w * t) / (m.second * w);
    q[0] = -magnetic * k[1] * sx * cy;
    q[1] = magnetic * k[0] * cx * sy;
    q[2] = sx * sy * std::cos(w * t);
  };
}

plane_wave make_plane_wave(wave_equations equations, int dimension, std::array<double, 3> wave_vector,
                           std::array<double, 3> polarisation, const medium& m) {
  plane_wave wave;
  wave.wave_vector = wave_vector;
  wave.speed = m.speed();
  if (dimension == 2) wave.wave_vector[2] = 0.0;
  const double length = std::sqrt(dot(wave.wave_vector, wave.wave_vector));
  if (!(length > 0.0)) throw input_error("plane wave: expected a wave vector other than zero");
  vector3 direction = wave.wave_vector;
  for (double& x : direction) x /= length;
  if (equations == wave_equations::acoustics) {
    wave.amplitude[0] = 1.0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(dimension); ++i)
      wave.amplitude[i + 1] = direction[i] / m.impedance();
    return wave;
  }
  vector3 electric = equations == wave_equations::maxwell_tm ? vector3{0, 0, 1} : transverse(polarisation, direction);
  const double size = std::sqrt(dot(electric, electric));
  if (!(size > 1e-12)) throw input_error("plane wave: expected a polarisation that is not along the wave vector");
  for (double& x : electric) x /= size;
  vector3 magnetic = cross(direction, electric);
  for (double& x : magnetic) x /= m.impedance();
  if (equations == wave_equations::maxwell)
    wave.amplitude = {magnetic[0], magnetic[1], magnetic[2], electric[0], electric[1], electric[2]};
  else
    wave.amplitude = {magnetic[0], magnetic[1], electric[2], 0, 0, 0};
  return wave;
}

field_function wave_function(const plane_wave& wave, int fields) {
  return [=](const vector3& x, double t, std::span<double> q) {
    const double f = wave.profile(wave.argument(x[0], x[1], x[2], t));
    for (std::size_t i = 0; i < static_cast<std::size_t>(fields); ++i) q[i] = wave.amplitude[i] * f;
  };
}

std::vector<double> sample(const dg_domain& domain, const field_function& f, double t, std::int32_t stride) {
  std::vector<double> state(static_cast<std::size_t>(domain.state_size()));
#pragma omp parallel for schedule(static)
  for (std::int32_t e = 0; e < domain.elements(); e += stride) {
    std::array<double, most_fields> q{};
    for (int n = 0; n < domain.nodes(); ++n) {
      f(domain.node_position(e, n), t, q);
      for (int field = 0; field < domain.fields; ++field)
        state[at(domain, field, e) + static_cast<std::size_t>(n)] = q[static_cast<std::size_t>(field)];
    }
  }
  return state;
}

field_errors errors_of(const dg_domain& domain, std::span<const double> state, const field_function& exact, double t,
                       std::int32_t stride) {
  const auto fields = static_cast<std::size_t>(domain.fields);
  const auto elements = static_cast<std::size_t>(domain.elements());
  const cubature rule = make_cubature(domain.reference.dimension, 2 * domain.reference.order + 4);
  const dense_matrix of_nodes = transposed(interpolation(domain.reference, rule.points));  // [node][point]
  const std::size_t points = rule.points.size();
  const dense_matrix mass_columns = transposed(domain.reference.mass);
  std::vector<std::vector<double>> largest(fields, std::vector<double>(elements)), square = largest, fine = largest;
#pragma omp parallel for schedule(static)
  for (std::int32_t e = 0; e < domain.elements(); e += stride) {
    const auto element = static_cast<std::size_t>(e);
    const double jacobian = domain.geometry[element].jacobian;
    std::array<double, most_fields> q{};
    std::vector<double> difference(fields * static_cast<std::size_t>(domain.nodes()));
    const auto difference_at = [&](std::size_t f, int n) -> double& {
      return difference[f * static_cast<std::size_t>(domain.nodes()) + static_cast<std::size_t>(n)];
    };
    for (int n = 0; n < domain.nodes(); ++n) {
      exact(domain.node_position(e, n), t, q);
      for (std::size_t f = 0; f < fields; ++f) {
        const double d = state[at(domain, static_cast<int>(f), e) + static_cast<std::size_t>(n)] - q[f];
        difference_at(f, n) = d;
        if (!(std::abs(d) <= largest[f][element]) && !std::isnan(largest[f][element]))  // a NaN comes in, and stays
          largest[f][element] = std::abs(d);
      }
    }
    std::vector<double> product(static_cast<std::size_t>(domain.nodes()));
    for (std::size_t f = 0; f < fields; ++f) {
      multiply_by_mass(domain, mass_columns, &difference_at(f, 0), product.data());
      for (int i = 0; i < domain.nodes(); ++i)
        square[f][element] += jacobian * difference_at(f, i) * product[static_cast<std::size_t>(i)];
    }
    std::vector<double> values(fields * points);  // at the points, less the exact ones
    for (std::size_t p = 0; p < points; ++p) {
      vector3 x{};
      const auto& r = rule.points[p];
      const auto& corner = domain.corners[element];
      for (std::size_t i = 0; i < 3; ++i) {
        x[i] = corner[0][i];
        for (std::size_t a = 0; a < static_cast<std::size_t>(domain.reference.dimension); ++a)
          x[i] += 0.5 * (1.0 + r[a]) * (corner[a + 1][i] - corner[0][i]);
      }
      exact(x, t, q);
      for (std::size_t f = 0; f < fields; ++f) values[f * points + p] = -q[f];
    }
    for (std::size_t f = 0; f < fields; ++f) {
      double* const value = values.data() + f * points;
      for (int n = 0; n < domain.nodes(); ++n) {
        const double* const of_node = of_nodes.values.data() + static_cast<std::size_t>(n) * points;
        const double here = state[at(domain, static_cast<int>(f), e) + static_cast<std::size_t>(n)];
        for (std::size_t p = 0; p < points; ++p) value[p] += of_node[p] * here;
      }
      for (std::size_t p = 0; p < points; ++p) fine[f][element] += jacobian * rule.weights[p] * value[p] * value[p];
    }
  }
  field_errors errors;
  for (std::size_t f = 0; f < fields; ++f) {
    double worst = 0.0;
    for (const double x : largest[f]) keep_largest(worst, x);
    errors.max.push_back(worst);
    errors.l2.push_back(compensated_sum(square[f]));
    errors.fine.push_back(compensated_sum(fine[f]));
  }
  domain.comm.maximum(errors.max);
  domain.comm.sum(errors.l2);
  domain.comm.sum(errors.fine);
  for (auto* squares : {&errors.l2, &errors.fine})
    for (double& x : *squares) x = std::sqrt(x);
  return errors;
}

void multiply_by_mass(const dg_domain& domain, const dense_matrix& columns, const double* q,
                      double* __restrict product) {
  const auto nodes = static_cast<std::size_t>(domain.nodes());
  const double* column = columns.values.data();
  std::fill_n(product, nodes, 0.0);
  std::size_t j = 0;
  for (; j + 4 <= nodes; j += 4, column += 4 * nodes)  // sums are read and written a fourth as often
    for (std::size_t i = 0; i < nodes; ++i)
      product[i] = product[i] + column[i] * q[j] + column[nodes + i] * q[j + 1] + column[2 * nodes + i] * q[j + 2] +
                   column[3 * nodes + i] * q[j + 3];
  for (; j < nodes; ++j, column += nodes)
    for (std::size_t i = 0; i < nodes; ++i) product[i] += column[i] * q[j];
}

double energy_constant(const dg_domain& domain, int field, std::int32_t element) {
  const medium& m = domain.media[static_cast<std::size_t>(element)];
  const bool acoustic = domain.problem.equations == wave_equations::acoustics;
  const int first = acoustic ? 0 : domain.problem.equations == wave_equations::maxwell ? 3 : 2;
  return (acoustic ? field == first : field >= first) ? m.first : m.second;
}

namespace {

/// A matrix L with q.L q = q.M q that is zero above the diagonal: half the products. By columns.
dense_matrix lower_half(const dense_matrix& mass) {
  dense_matrix columns = transposed(mass);
  for (int j = 0; j < columns.rows; ++j)
    for (int i = 0; i < columns.columns; ++i) columns(j, i) *= i < j ? 0.0 : i == j ? 1.0 : 2.0;
  return columns;
}

/// q.L q of one field and element, in the order of nodes. Fills `product` with L q.
double quadratic_form(std::size_t nodes, const dense_matrix& columns, const double* q, double* __restrict product) {
  const double* column = columns.values.data();
  std::fill_n(product, nodes, 0.0);
  std::size_t j = 0;
  for (; j + 4 <= nodes; j += 4, column += 4 * nodes)  // as in multiply_by_mass
    for (std::size_t i = j; i < nodes; ++i)
      product[i] = product[i] + column[i] * q[j] + column[nodes + i] * q[j + 1] + column[2 * nodes + i] * q[j + 2] +
                   column[3 * nodes + i] * q[j + 3];
  for (; j < nodes; ++j, column += nodes)
    for (std::size_t i = j; i < nodes; ++i) product[i] += column[i] * q[j];
  double sum = 0.0;
  for (std::size_t i = 0; i < nodes; ++i) sum += q[i] * product[i];
  return sum;
}

}  // namespace

std::vector<double> energy_of(const dg_domain& domain, std::span<const double> states, int columns) {
  std::vector<double> energy(static_cast<std::size_t>(columns));
  const dense_matrix mass_columns = lower_half(domain.reference.mass);
  const auto nodes = static_cast<std::size_t>(domain.nodes());
  std::vector<double> of_element(static_cast<std::size_t>(domain.elements()));
  for (int column = 0; column < columns; ++column) {
    const std::span<const double> state =
        states.subspan(static_cast<std::size_t>(column) * static_cast<std::size_t>(domain.state_size()),
                       static_cast<std::size_t>(domain.state_size()));
#pragma omp parallel
    {
      std::vector<double> product(nodes);
#pragma omp for schedule(static)
      for (std::int32_t e = 0; e < domain.elements(); ++e) {
        double sum = 0.0;
        for (int f = 0; f < domain.fields; ++f) {
          const double* const q = state.data() + at(domain, f, e);
          sum += 0.5 * energy_constant(domain, f, e) * quadratic_form(nodes, mass_columns, q, product.data());
        }
        of_element[static_cast<std::size_t>(e)] = sum * domain.geometry[static_cast<std::size_t>(e)].jacobian;
      }
    }
    energy[static_cast<std::size_t>(column)] = compensated_sum(of_element);
  }
  domain.comm.sum(energy);
  return energy;
}

std::vector<double> value_at(const dg_domain& domain, std::span<const double> state, std::int32_t element,
                             const reference_point& where) {
  const dense_matrix weights = interpolation(domain.reference, std::span(&where, 1));
  std::vector<double> values(static_cast<std::size_t>(domain.fields));
  for (int f = 0; f < domain.fields; ++f)
    for (int n = 0; n < domain.nodes(); ++n)
      values[static_cast<std::size_t>(f)] +=
          weights(0, n) * state[at(domain, f, element) + static_cast<std::size_t>(n)];
  return values;
}

}  // namespace plaquette
