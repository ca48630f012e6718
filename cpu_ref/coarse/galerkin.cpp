// SPDX-License-Identifier: BSD-3-Clause
#include "cpu_ref/coarse/galerkin.hpp"

#include <algorithm>
#include <cstring>

#include "common/algebra/gamma.hpp"
#include "cpu_ref/coarse/coarse_halo.hpp"
#include "cpu_ref/coarse/coarse_kernels.hpp"
#include "cpu_ref/dirac/clover_term.hpp"
#include "cpu_ref/dirac/hopping_term.hpp"
#include "cpu_ref/memory/aligned_buffer.hpp"

namespace plaquette::cpu {

namespace {

/// The vectors of a site's chirality, [row][vector].
using site_vectors = const complex<float>*;

/// Rows of an operator's image of them: [row][re, im][padded vectors], for each chirality of the row and of the
/// vectors.
struct image {
  float* block[chiralities][chiralities];
};

/// M of the quarks, a site at a time.
class quark_operator {
 public:
  quark_operator(const gauge_configuration& links, const fermion_action& action)
      : links_(links), action_(action), diagonal_(make_clover_term(links, action)) {
    add_to_diagonal(diagonal_, action.diagonal());
  }
  static constexpr bool diagonal_mixes = false;

  /// w = -1/2 c_mu (1 - gamma_mu) U_mu(x) v, v the vectors at x + mu.
  void hop(int mu, std::int64_t x, const site_vectors (&v)[chiralities], int vectors, const image& w) const {
    const int padded = padded_row(vectors);
    const su3<double> u = folded_link(links_, action_, links_.geometry().local_coordinate(x), mu);
    const spin_matrix gamma = gamma_matrix(mu);
    for (int from = 0; from < chiralities; ++from) {
      float* const same = w.block[from][from];
      float* const other = w.block[1 - from][from];
      for (int spin = 0; spin < 2; ++spin)
        for (int i = 0; i < colours; ++i) {
          float *re = same + (spin * colours + i) * 2 * padded, *im = re + padded;
          std::fill_n(re, 2 * padded, 0.0F);
          for (int c = 0; c < colours; ++c) {
            const auto ur = static_cast<float>(-0.5 * u(i, c).re), ui = static_cast<float>(-0.5 * u(i, c).im);
            const complex<float>* a = v[from] + (spin * colours + c) * vectors;
            for (int k = 0; k < vectors; ++k) {
              re[k] += ur * a[k].re - ui * a[k].im;
              im[k] += ur * a[k].im + ui * a[k].re;
            }
          }
        }
      for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2; ++b) {
          const complex<double> g = gamma(2 * (1 - from) + a, 2 * from + b);
          if (g == complex<double>{}) continue;
          const auto gr = static_cast<float>(-g.re), gi = static_cast<float>(-g.im);
          for (int i = 0; i < colours; ++i) {
            const float *re = same + (b * colours + i) * 2 * padded, *im = re + padded;
            float *to_re = other + (a * colours + i) * 2 * padded, *to_im = to_re + padded;
            for (int k = 0; k < padded; ++k) {
              to_re[k] = gr * re[k] - gi * im[k];
              to_im[k] = gr * im[k] + gi * re[k];
            }
          }
        }
    }
  }

  /// w = (4 + m + C) v, which keeps chirality.
  void diagonal(std::int64_t x, const site_vectors (&v)[chiralities], int vectors, const image& w) const {
    const int padded = padded_row(vectors);
    const clover_block& clover = diagonal_.at_site(x);
    for (int chirality = 0; chirality < chiralities; ++chirality)
      for (int i = 0; i < chiral_rows; ++i) {
        float *re = w.block[chirality][chirality] + i * 2 * padded, *im = re + padded;
        std::fill_n(re, 2 * padded, 0.0F);
        for (int j = 0; j < chiral_rows; ++j) {
          const complex<float> m = complex_cast<float>(clover.chirality[chirality](i, j));
          const complex<float>* a = v[chirality] + j * vectors;
          for (int k = 0; k < vectors; ++k) {
            re[k] += m.re * a[k].re - m.im * a[k].im;
            im[k] += m.re * a[k].im + m.im * a[k].re;
          }
        }
      }
  }

 private:
  const gauge_configuration& links_;
  const fermion_action& action_;
  clover_configuration diagonal_;
};

/// M of a coarse lattice, a site at a time.
class coarse_site_operator {
 public:
  explicit coarse_site_operator(const coarse_matrices& m) : m_(m) {}
  static constexpr bool diagonal_mixes = true;

  void hop(int mu, std::int64_t x, const site_vectors (&v)[chiralities], int vectors, const image& w) const {
    multiply(1 + 2 * mu, x, v, vectors, w);
  }
  void diagonal(std::int64_t x, const site_vectors (&v)[chiralities], int vectors, const image& w) const {
    multiply(0, x, v, vectors, w);
  }

 private:
  void multiply(int which, std::int64_t x, const site_vectors (&v)[chiralities], int vectors, const image& w) const {
    const int padded = padded_row(vectors), rows = m_.n / 2;
    const complex<float>* matrix = m_.matrix(m_.geometry.site(coordinate_of(x, m_.geometry.local())), which);
    for (int to = 0; to < chiralities; ++to)
      for (int from = 0; from < chiralities; ++from)
        for (int i = 0; i < rows; ++i) {
          float *re = w.block[to][from] + i * 2 * padded, *im = re + padded;
          std::fill_n(re, 2 * padded, 0.0F);
          for (int j = 0; j < rows; ++j) {
            const complex<float> m = matrix[(to * rows + i) * m_.n + from * rows + j];
            const complex<float>* a = v[from] + j * vectors;
            for (int k = 0; k < vectors; ++k) {
              re[k] += m.re * a[k].re - m.im * a[k].im;
              im[k] += m.re * a[k].im + m.im * a[k].re;
            }
          }
        }
  }

  const coarse_matrices& m_;
};

/// The null vectors on the neighbouring ranks' faces that hops forwards lead to.
class vectors_with_faces {
 public:
  vectors_with_faces(const null_space& v, const communicator& comm) : v_(v) {
    const coarse_geometry& coarse = v.blocks.coarse();
    const extents& local = v.blocks.fine_local();
    for (int mu = 0; mu < dimensions; ++mu) {
      if (coarse.grid()[mu] == 1) continue;
      std::vector<complex<float>> mine;
      for (std::int64_t x = 0; x < volume(local); ++x) {
        if (coordinate_of(x, local)[mu] != 0) continue;
        for (int chirality = 0; chirality < chiralities; ++chirality) {
          const auto* from = v.row(v.blocks.row_begin(v.blocks.place(x), chirality, v.rows));
          mine.insert(mine.end(), from, from + v.rows * v.vectors);
        }
      }
      face_[mu].resize(mine.size());
      coordinate above = coordinate_of(coarse.rank(), coarse.grid()), below = above;
      above[mu] = (above[mu] + 1) % coarse.grid()[mu];
      below[mu] = (below[mu] + coarse.grid()[mu] - 1) % coarse.grid()[mu];
      const outgoing_message send[] = {
          {static_cast<int>(lexicographic(below, coarse.grid())), mu, std::as_bytes(std::span(mine))}};
      const incoming_message receive[] = {
          {static_cast<int>(lexicographic(above, coarse.grid())), mu, std::as_writable_bytes(std::span(face_[mu]))}};
      comm.start_exchange(send, receive).wait();
    }
  }

  /// At a site, or one step outside the box in direction mu.
  site_vectors at(coordinate x, int mu, int chirality) const {
    const extents& local = v_.blocks.fine_local();
    if (x[mu] == local[mu]) {
      x[mu] = 0;
      if (!face_[mu].empty()) {
        extents face = local;
        face[mu] = 1;
        return face_[mu].data() + (lexicographic(x, face) * chiralities + chirality) * v_.rows * v_.vectors;
      }
    }
    return v_.row(v_.blocks.row_begin(v_.blocks.place(lexicographic(x, local)), chirality, v_.rows));
  }

 private:
  const null_space& v_;
  std::vector<complex<float>> face_[dimensions];
};

/// Y_-mu(X + mu) = gamma_5 Y_mu(X)^+ gamma_5, from the neighbour behind.
void make_backward_links(coarse_matrices& m, const communicator& comm) {
  const std::size_t bytes = static_cast<std::size_t>(m.matrix_size()) * sizeof(complex<float>);
  std::vector<std::byte> ghosts;
  for (int mu = 0; mu < dimensions; ++mu) {
    const int backward = 2 * mu + 1;
    exchange_coarse_faces(
        m.geometry, comm, bytes,
        [&](std::int64_t s) { return reinterpret_cast<const std::byte*>(m.matrix(s, 1 + 2 * mu)); }, ghosts,
        {true, true}, backward);
    for (std::int64_t s = 0; s < m.geometry.sites(); ++s) {
      const std::int64_t y = m.geometry.neighbour(s, backward);
      const auto* forward = y >= 0
                                ? m.matrix(y, 1 + 2 * mu)
                                : reinterpret_cast<const complex<float>*>(ghosts.data()) + (-1 - y) * m.matrix_size();
      complex<float>* to = m.matrix(s, 1 + backward);
      for (int i = 0; i < m.n; ++i)
        for (int j = 0; j < m.n; ++j) {
          const complex<float> z = conj(forward[j * m.n + i]);
          to[i * m.n + j] = (i < m.n / 2) == (j < m.n / 2) ? z : -z;
        }
    }
  }
}

/// Adds V^+ W for chunks of sites to a matrix.
template <class Operator>
class aggregate_products {
 public:
  aggregate_products(const Operator& m, const vectors_with_faces& faces, const null_space& v, instruction_set isa)
      : m_(m),
        faces_(faces),
        v_(v),
        padded_(padded_row(v.vectors)),
        sites_at_once_(std::max(1, 192 / v.rows)),
        image_(static_cast<std::size_t>(4 * sites_at_once_ * v.rows * 2 * padded_)),
        adjoint_(static_cast<std::size_t>(2 * sites_at_once_ * v.rows * v.vectors)),
        kernel_(coarse_kernels_of<float>(isa).by_rows) {}

  /// to += sum over sites of V(x)^+ (hop along mu, or the diagonal for mu < 0) V.
  void add(complex<float>* to, int mu, const std::vector<std::int64_t>& places) {
    const std::int64_t block = static_cast<std::int64_t>(sites_at_once_) * v_.rows * 2 * padded_;
    for (std::size_t first = 0; first < places.size(); first += static_cast<std::size_t>(sites_at_once_)) {
      const int count = static_cast<int>(std::min(places.size() - first, static_cast<std::size_t>(sites_at_once_)));
      for (int i = 0; i < count; ++i) {
        const std::int64_t place = places[first + static_cast<std::size_t>(i)], x = v_.blocks.fine_site(place);
        image w;
        for (int a = 0; a < chiralities; ++a)
          for (int b = 0; b < chiralities; ++b)
            w.block[a][b] = image_.data() + (2 * a + b) * block + i * v_.rows * 2 * padded_;
        coordinate y = coordinate_of(x, v_.blocks.fine_local());
        if (mu >= 0) ++y[mu];
        const int along = std::max(mu, 0);
        const site_vectors vectors[chiralities] = {faces_.at(y, along, 0), faces_.at(y, along, 1)};
        if (mu < 0)
          m_.diagonal(x, vectors, v_.vectors, w);
        else
          m_.hop(mu, x, vectors, v_.vectors, w);
        for (int chirality = 0; chirality < chiralities; ++chirality) {
          const complex<float>* from = v_.row(v_.blocks.row_begin(place, chirality, v_.rows));
          for (int r = 0; r < v_.rows; ++r)
            for (int k = 0; k < v_.vectors; ++k)
              adjoint(chirality, k)[i * v_.rows + r] = conj(from[r * v_.vectors + k]);
        }
      }
      const int n = 2 * v_.vectors;
      for (int a = 0; a < chiralities; ++a)
        for (int b = 0; b < chiralities; ++b) {
          if (mu < 0 && a != b && !Operator::diagonal_mixes) continue;
          row_products<float> p;
          p.products = 1;
          p.matrix[0] = image_.data() + (2 * a + b) * block;
          p.x[0] = adjoint(a, 0);
          p.x_stride[0] = static_cast<std::int64_t>(sites_at_once_) * v_.rows;
          p.rows = count * v_.rows;
          p.length = v_.vectors;
          p.columns = v_.vectors;
          p.out = to + a * v_.vectors * n + b * v_.vectors;
          p.out_stride = p.start_stride = n;
          p.start = p.out;
          kernel_(p);
        }
    }
  }

 private:
  complex<float>* adjoint(int chirality, int vector) {
    return adjoint_.data() + (static_cast<std::ptrdiff_t>(chirality) * v_.vectors + vector) * sites_at_once_ * v_.rows;
  }

  const Operator& m_;
  const vectors_with_faces& faces_;
  const null_space& v_;
  int padded_, sites_at_once_;
  aligned_buffer<float> image_;
  std::vector<complex<float>> adjoint_;
  void (*kernel_)(const row_products<float>&);
};

template <class Operator>
coarse_matrices product(const execution& on, const Operator& op, const null_space& v) {
  const aggregates& blocks = v.blocks;
  const coarse_geometry& coarse = blocks.coarse();
  coarse_matrices result(coarse, 2 * v.vectors);
  const vectors_with_faces faces(v, on.comm());
  const int n = result.n;
#pragma omp parallel num_threads(on.threads())
  {
    aggregate_products<Operator> products(op, faces, v, on.isa());
    std::vector<complex<float>> inner(static_cast<std::size_t>(result.matrix_size()));
#pragma omp for schedule(dynamic)
    for (std::int64_t s = 0; s < coarse.sites(); ++s) {
      std::vector<std::int64_t> all;
      for (int i = 0; i < blocks.volume(); ++i) all.push_back(blocks.begin(s) + i);
      products.add(result.matrix(s, 0), -1, all);
      std::fill(inner.begin(), inner.end(), complex<float>{});
      for (int mu = 0; mu < dimensions; ++mu) {
        std::vector<std::int64_t> inside, crossing;
        for (const std::int64_t place : all) {
          const coordinate x = coordinate_of(blocks.fine_site(place), blocks.fine_local());
          ((x[mu] + 1) % blocks.shape()[mu] == 0 ? crossing : inside).push_back(place);
        }
        products.add(inner.data(), mu, inside);
        products.add(result.matrix(s, 1 + 2 * mu), mu, crossing);
      }
      complex<float>* x = result.matrix(s, 0);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
          const complex<float> h = inner[static_cast<std::size_t>(i * n + j)];
          const complex<float> back = conj(inner[static_cast<std::size_t>(j * n + i)]);
          x[i * n + j] += (i < n / 2) == (j < n / 2) ? h + back : h - back;
        }
    }
  }
  make_backward_links(result, on.comm());
  return result;
}

}  // namespace

coarse_matrices galerkin_product(const execution& on, const gauge_configuration& links, const fermion_action& action,
                                 const null_space& vectors) {
  return product(on, quark_operator(links, action), vectors);
}

coarse_matrices galerkin_product(const execution& on, const coarse_matrices& fine, const null_space& vectors) {
  return product(on, coarse_site_operator(fine), vectors);
}

}  // namespace plaquette::cpu
