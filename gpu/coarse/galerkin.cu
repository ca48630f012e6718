// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/galerkin.hpp"
#include "gpu/coarse/staged_exchange.hpp"

#include <algorithm>
#include <vector>

#include "common/algebra/gamma.hpp"
#include "gpu/coarse/aggregate_products.hpp"
#include "gpu/coarse/fine_sites.hpp"
#include "gpu/dirac/clover_term.hpp"
#include "gpu/fields/lattice_sites.hpp"

namespace plaquette::gpu {

namespace {

/// Pairs of chiralities: of the row, and of the vectors.
constexpr int pairs = chiralities * chiralities;

/// Vectors at the place one step ahead.
struct vectors_ahead {
  const complex<float>* v;
  const complex<float>* ghosts;  ///< [ghost][chirality][row][vector]
  aggregate_pointers blocks;
  const std::int32_t* ahead;  ///< [place], of a direction; null: the place itself
  std::int32_t rows, vectors;

  PLAQUETTE_HOST_DEVICE const complex<float>* rows_at(std::int64_t place, int chirality) const {
    const std::int64_t there = ahead == nullptr ? place : ahead[place];
    return there >= 0 ? v + blocks.row_begin(there, chirality, rows) * vectors
                      : ghosts + ((-1 - there) * chiralities + chirality) * rows * vectors;
  }
};

/// Images of the vectors of a stretch of places: [chirality of the row][chirality of the vectors][place][row][vector].
struct images {
  complex<float>* begin;
  std::int64_t first_place, places;
  std::int32_t rows, vectors;

  PLAQUETTE_HOST_DEVICE complex<float>* rows_at(int to, int from, std::int64_t place) const {
    return begin + (((to * chiralities + from) * places) + (place - first_place)) * rows * vectors;
  }
};

/// w = -1/2 c_mu (1 - gamma_mu) U_mu(x) v(x + mu); an index is a place, a chirality of the vectors, a vector.
struct fine_hop {
  vectors_ahead v;
  images w;
  gauge_configuration::const_pointer links;
  site_order order;
  global_order whole;
  int mu;
  complex<double> coefficient, phase;       ///< -c_mu / 2; of hops across the boundary
  complex<float> gamma[chiralities][2][2];  ///< gamma_mu from a chirality to the other

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t rest = index / v.vectors, local = rest / chiralities, place = w.first_place + local;
    const auto k = static_cast<std::int32_t>(index - rest * v.vectors);
    const int from = static_cast<int>(rest - local * chiralities);
    const std::int32_t site = v.blocks.site[place];
    const int parity = site >= order.sites ? 1 : 0;
    const std::int32_t i = site - parity * order.sites;
    const su3<double> u = factor(order.coordinate_of(parity, i)) * links.load(parity, i, mu);
    const complex<float>* const in = v.rows_at(place, from) + k;
    complex<float> same[2][colours];
    for (int spin = 0; spin < 2; ++spin)
      for (int a = 0; a < colours; ++a) {
        complex<float> sum{};
        for (int b = 0; b < colours; ++b)
          sum += complex_cast<float>(u(a, b)) * in[std::int64_t{spin * colours + b} * v.vectors];
        same[spin][a] = sum;
      }
    complex<float>* const to_same = w.rows_at(from, from, place) + k;
    complex<float>* const to_other = w.rows_at(1 - from, from, place) + k;
    for (int spin = 0; spin < 2; ++spin)
      for (int a = 0; a < colours; ++a) {
        const std::int64_t row = std::int64_t{spin * colours + a} * v.vectors;
        to_same[row] = same[spin][a];
        to_other[row] = -(gamma[from][spin][0] * same[0][a] + gamma[from][spin][1] * same[1][a]);
      }
  }

 private:
  PLAQUETTE_HOST_DEVICE complex<double> factor(const site_coordinate& x) const {
    const site_coordinate at = whole.coordinate_of(x);
    bool leaves = false;
    PLAQUETTE_GPU_UNROLL
    for (int nu = 0; nu < dimensions; ++nu) leaves = leaves || (nu == mu && at.x[nu] == whole.length[nu] - 1);
    return leaves ? coefficient * phase : coefficient;
  }
};

/// w = A v, which keeps chirality; an index as above.
struct fine_diagonal {
  vectors_ahead v;
  images w;
  clover_configuration::const_pointer diagonal;
  std::int32_t sites;  ///< of a parity

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t rest = index / v.vectors, local = rest / chiralities, place = w.first_place + local;
    const auto k = static_cast<std::int32_t>(index - rest * v.vectors);
    const int chirality = static_cast<int>(rest - local * chiralities);
    const std::int32_t site = v.blocks.site[place];
    const int parity = site >= sites ? 1 : 0;
    const hermitian_6x6 block = diagonal.load(parity, site - parity * sites, chirality);
    const complex<float>* const in = v.rows_at(place, chirality) + k;
    complex<float>* const same = w.rows_at(chirality, chirality, place) + k;
    complex<float>* const other = w.rows_at(1 - chirality, chirality, place) + k;
    for (int a = 0; a < fine_rows; ++a) {
      complex<float> sum{};
      for (int b = 0; b < fine_rows; ++b) sum += complex_cast<float>(block(a, b)) * in[std::int64_t{b} * v.vectors];
      same[std::int64_t{a} * v.vectors] = sum;
      other[std::int64_t{a} * v.vectors] = {};
    }
  }
};

/// w = (a matrix of each site) v; an index is a place, a row of both chiralities, a chirality of the vectors, a vector.
struct coarse_image {
  vectors_ahead v;
  images w;
  const complex<float>* matrices;  ///< that of site 0
  std::int64_t stride;             ///< from site to site

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t by_from = index / v.vectors, by_row = by_from / chiralities;
    const std::int32_t n = chiralities * v.rows;
    const std::int64_t local = by_row / n, place = w.first_place + local;
    const auto k = static_cast<std::int32_t>(index - by_from * v.vectors);
    const int from = static_cast<int>(by_from - by_row * chiralities);
    const auto row = static_cast<std::int32_t>(by_row - local * n);
    const complex<float>* const m = matrices + v.blocks.site[place] * stride + std::int64_t{row} * n + from * v.rows;
    const complex<float>* const in = v.rows_at(place, from) + k;
    complex<float> sum{};
    for (std::int32_t b = 0; b < v.rows; ++b) sum += m[b] * in[std::int64_t{b} * v.vectors];
    const int to = row / v.rows;
    w.rows_at(to, from, place)[std::int64_t{row - to * v.rows} * v.vectors + k] = sum;
  }
};

/// Images as the right factor of products.
struct image_factor {
  images w;
  PLAQUETTE_HOST_DEVICE static int blocks() { return pairs; }
  PLAQUETTE_HOST_DEVICE static int left_chirality(int block) { return block / chiralities; }
  PLAQUETTE_HOST_DEVICE const complex<float>* row(int block, std::int64_t, std::int64_t place) const {
    return w.rows_at(block / chiralities, block % chiralities, place);
  }
};
/// Into a matrix a site, or added to it.
struct into_matrices {
  complex<float>* to;  ///< that of site `first_site`
  std::int64_t first_site, stride;
  std::int32_t vectors;
  bool add;
  PLAQUETTE_HOST_DEVICE void operator()(int block, std::int64_t s, std::int32_t i, std::int32_t j,
                                        const complex<float>& sum) const {
    const std::int64_t row = (block / chiralities) * vectors + i, column = (block % chiralities) * vectors + j;
    complex<float>& number = to[(s - first_site) * stride + row * 2 * vectors + column];
    number = add ? number + sum : sum;
  }
};

/// X += H + gamma_5 H^+ gamma_5, H the hops forwards inside aggregates.
struct add_inner_hops {
  complex<float>* x;
  std::int64_t stride;
  const complex<float>* inner;
  std::int32_t n;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t size = std::int64_t{n} * n, s = index / size, rest = index - s * size, i = rest / n,
                       j = rest - i * n;
    const complex<float> h = inner[index], back = conj(inner[s * size + j * n + i]);
    x[s * stride + rest] += (i < n / 2) == (j < n / 2) ? h + back : h - back;
  }
};

/// Y_-mu(X + mu) = gamma_5 Y_mu(X)^+ gamma_5, from the neighbour behind.
struct turn_links {
  complex<float>* matrices;
  const complex<float>* ghosts;  ///< Y_mu of ghosts
  const std::int32_t* neighbours;
  std::int32_t n;
  int mu;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t size = std::int64_t{n} * n, s = index / size, rest = index - s * size, i = rest / n,
                       j = rest - i * n;
    const std::int32_t y = neighbours[s * hop_directions + 2 * mu + 1];
    const complex<float>* const forward =
        y >= 0 ? matrices + (std::int64_t{y} * coarse_matrices_of_a_site + 1 + 2 * mu) * size
               : ghosts + std::int64_t{-1 - y} * size;
    const complex<float> z = conj(forward[j * n + i]);
    matrices[(s * coarse_matrices_of_a_site + 2 + 2 * mu) * size + rest] = (i < n / 2) == (j < n / 2) ? z : -z;
  }
};

struct pack_links {
  complex<float>* to;
  const complex<float>* matrices;
  const std::int32_t* list;
  std::int64_t size;
  int which;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t k = index / size;
    to[index] = matrices[(std::int64_t{list[k]} * coarse_matrices_of_a_site + which) * size + (index - k * size)];
  }
};

struct pack_vectors {
  complex<float>* to;  ///< [k][chirality][row][vector]
  const complex<float>* v;
  aggregate_pointers blocks;
  const std::int32_t* list;
  std::int32_t rows, vectors;
  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t of_a_chirality = std::int64_t{rows} * vectors, by_chirality = index / of_a_chirality;
    const std::int64_t k = by_chirality / chiralities;
    const int chirality = static_cast<int>(by_chirality - k * chiralities);
    to[index] = v[blocks.row_begin(list[k], chirality, rows) * vectors + (index - by_chirality * of_a_chirality)];
  }
};

std::shared_ptr<complex<float>> numbers_on_device(const execution& on, std::int64_t count) {
  auto memory =
      on.workspace().take(static_cast<std::size_t>(std::max<std::int64_t>(count, 1)) * sizeof(complex<float>));
  return {memory, reinterpret_cast<complex<float>*>(memory.get())};
}

/// The vectors on the neighbouring ranks' faces that hops forwards lead to. Null if no direction is cut. Collective.
std::shared_ptr<const complex<float>> vectors_of_faces(const null_space& v) {
  const execution& on = v.get_execution();
  const aggregate_tables& tables = v.tables();
  const coarse_geometry& coarse = v.blocks().coarse();
  const std::int64_t of_a_site = std::int64_t{chiralities} * v.rows() * v.vectors();
  std::int64_t all = 0;
  for (int mu = 0; mu < dimensions; ++mu) all += tables.face_sites(mu);
  if (all == 0) return nullptr;
  auto ghosts = numbers_on_device(on, all * of_a_site);
  std::int64_t begin = 0;
  for (int mu = 0; mu < dimensions; ++mu) {
    const std::int64_t count = tables.face_sites(mu) * of_a_site;
    if (count == 0) continue;
    const auto packed = numbers_on_device(on, count);
    for_each_index(
        on.queue(), count,
        pack_vectors{packed.get(), v.begin(), tables.pointers(), tables.face(mu).get(), v.rows(), v.vectors()});
    coordinate above = coordinate_of(coarse.rank(), coarse.grid()), below = above;
    above[mu] = (above[mu] + 1) % coarse.grid()[mu];
    below[mu] = (below[mu] + coarse.grid()[mu] - 1) % coarse.grid()[mu];
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(complex<float>);
    exchange_staged(on, {static_cast<int>(lexicographic(below, coarse.grid())),
                         static_cast<int>(lexicographic(above, coarse.grid())), mu,
                         reinterpret_cast<const std::byte*>(packed.get()), bytes,
                         reinterpret_cast<std::byte*>(ghosts.get() + begin), bytes});
    begin += count;
  }
  return ghosts;
}

/// Fills `ghosts` with the links along mu of the sites behind this rank's, which another rank has. Collective.
void get_links_behind(const coarse_matrices& m, int mu, complex<float>* ghosts) {
  const execution& on = m.get_execution();
  const std::int64_t size = std::int64_t{m.n()} * m.n();
  const auto& list = m.lattice().sent(site_subset::full);
  for (const auto& face : m.lattice().geometry().faces()) {
    if (face.direction != 2 * mu + 1) continue;
    const std::int64_t first = list.begin[face.direction], count = list.begin[face.direction + 1] - first;
    const auto packed = numbers_on_device(on, count * size);
    for_each_index(on.queue(), count * size,
                   pack_links{packed.get(), m.begin(), list.sites.get() + first, size, 1 + 2 * mu});
    const auto bytes = [size](std::int64_t sites) {
      return static_cast<std::size_t>(sites * size) * sizeof(complex<float>);
    };
    complex<float>* const theirs = ghosts + m.lattice().first_ghosts()[face.direction] * size;
    exchange_staged(on,
                    {face.send_to, face.receive_from, face.direction, reinterpret_cast<const std::byte*>(packed.get()),
                     bytes(count), reinterpret_cast<std::byte*>(theirs),
                     bytes(std::ssize(face.receive_into[0]) + std::ssize(face.receive_into[1]))});
  }
}

void make_backward_links(coarse_matrices& m) {
  const execution& on = m.get_execution();
  const std::int64_t size = std::int64_t{m.n()} * m.n();
  const auto ghosts = numbers_on_device(on, m.lattice().geometry().ghosts() * size);
  for (int mu = 0; mu < dimensions; ++mu) {
    get_links_behind(m, mu, ghosts.get());
    for_each_index(on.queue(), m.lattice().geometry().sites() * size,
                   turn_links{m.begin(), ghosts.get(), m.lattice().neighbours(), m.n(), mu});
  }
}

/// P^+ M P, a stretch of coarse sites at a time. queue_image(vectors, images, mu) queues w = (hop along mu, or the
/// diagonal for mu < 0) v.
template <class QueueImage>
coarse_matrices product(const null_space& v, QueueImage&& queue_image) {
  const execution& on = v.get_execution();
  const queue& q = on.queue();
  const aggregate_tables& tables = v.tables();
  const std::int64_t sites = v.blocks().coarse().sites(), volume = v.blocks().volume();
  coarse_matrices result(on, tables.coarse(), 2 * v.vectors());
  const std::int64_t size = std::int64_t{result.n()} * result.n(), stride = coarse_matrices_of_a_site * size;
  const auto ghosts = vectors_of_faces(v);
  const std::int64_t of_a_place = std::int64_t{v.rows()} * v.vectors();
  constexpr std::int64_t most_numbers = std::int64_t{1} << 26;  // 512 MB of images
  const std::int64_t at_once = std::clamp<std::int64_t>(most_numbers / (pairs * of_a_place * volume), 1, sites);
  const auto memory = numbers_on_device(on, pairs * at_once * volume * of_a_place);
  const auto inner = numbers_on_device(on, at_once * size);
  for (std::int64_t first = 0; first < sites; first += at_once) {
    const std::int64_t count = std::min(at_once, sites - first);
    const images w{memory.get(), first * volume, count * volume, v.rows(), v.vectors()};
    const auto queue_part = [&](complex<float>* to, std::int64_t step, bool add, const place_choice& counts) {
      queue_products(q, count,
                     aggregate_product<float, image_factor, into_matrices>{v.begin(),
                                                                           tables.pointers(),
                                                                           v.rows(),
                                                                           v.vectors(),
                                                                           first,
                                                                           counts,
                                                                           {w},
                                                                           {to, first, step, v.vectors(), add}});
    };
    for (int mu = -1; mu < dimensions; ++mu) {
      const vectors_ahead ahead{v.begin(),         ghosts.get(),
                                tables.pointers(), mu < 0 ? nullptr : tables.ahead() + mu * v.blocks().fine_sites(),
                                v.rows(),          v.vectors()};
      queue_image(ahead, w, mu);
      if (mu < 0) {
        queue_part(result.begin() + first * stride, stride, false, {});
      } else {
        queue_part(inner.get(), size, mu > 0, {tables.crossing(), mu, false});
        queue_part(result.begin() + first * stride + (1 + 2 * mu) * size, stride, false, {tables.crossing(), mu, true});
      }
    }
    for_each_index(q, count * size, add_inner_hops{result.begin() + first * stride, stride, inner.get(), result.n()});
  }
  make_backward_links(result);
  return result;
}

}  // namespace

coarse_matrices galerkin_product(const gauge_configuration& links, const fermion_action& action, const null_space& v) {
  const context& ctx = links.get_context();
  clover_configuration diagonal = make_clover_term(links, action);
  add_to_diagonal(diagonal, action.diagonal());
  const clover_configuration& blocks = diagonal;
  return product(v, [&](const vectors_ahead& ahead, const images& w, int mu) {
    const std::int64_t count = w.places * chiralities * v.vectors();
    if (mu < 0) return for_each_index(ctx.queue(), count, fine_diagonal{ahead, w, blocks.sites(), ctx.order().sites});
    fine_hop hop{ahead,
                 w,
                 links.sites(),
                 ctx.order(),
                 global_order(ctx.geometry()),
                 mu,
                 {-0.5 * action.hop_coefficient(mu), 0.0},
                 action.boundary_phase[static_cast<std::size_t>(mu)],
                 {}};
    const spin_matrix gamma = gamma_matrix(mu);
    for (int from = 0; from < chiralities; ++from)
      for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2; ++b)
          hop.gamma[from][a][b] = complex_cast<float>(gamma(2 * (1 - from) + a, 2 * from + b));
    for_each_index(ctx.queue(), count, hop);
  });
}

coarse_matrices galerkin_product(const coarse_matrices& fine, const null_space& v) {
  const execution& on = v.get_execution();
  const std::int64_t size = std::int64_t{fine.n()} * fine.n();
  return product(v, [&](const vectors_ahead& ahead, const images& w, int mu) {
    const int which = mu < 0 ? 0 : 1 + 2 * mu;
    for_each_index(on.queue(), w.places * fine.n() * chiralities * v.vectors(),
                   coarse_image{ahead, w, fine.begin() + which * size, coarse_matrices_of_a_site * size});
  });
}

}  // namespace plaquette::gpu
