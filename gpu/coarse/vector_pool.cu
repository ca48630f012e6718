// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/coarse/vector_pool.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "common/algebra/gram_vectors.hpp"
#include "gpu/device/copy_to_shared.hpp"
#include "gpu/device/launch.hpp"

namespace plaquette::gpu {

namespace {

/// The columns of a pool, in the rows of null spaces: first the kept ones, then the new ones. A task is an aggregate
/// and chirality.
struct pool_columns {
  const complex<float>* kept;
  const complex<float>* fresh;
  aggregate_pointers blocks;
  std::int32_t rows, before, count;  ///< of a fine site; columns that are kept, and new ones

  PLAQUETTE_HOST_DEVICE std::int32_t all() const { return before + count; }
};

/// A tile of inner products of columns with new ones; an index is a tile of a task.
struct multiply_columns {
  static constexpr std::int32_t edge = 4;

  pool_columns pool;
  std::int64_t first_task;
  complex<double>* gram;  ///< [task][j][i], i of the conjugated column

  PLAQUETTE_HOST_DEVICE static std::int32_t tiles(std::int32_t columns) { return (columns + edge - 1) / edge; }
  PLAQUETTE_HOST_DEVICE std::int32_t tiles_of_a_task() const {
    return (tiles(pool.before) + tiles(pool.count)) * tiles(pool.count);
  }

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t local = index / tiles_of_a_task(), task = first_task + local, s = task / chiralities;
    const auto tile = static_cast<std::int32_t>(index - local * tiles_of_a_task());
    const int chirality = static_cast<int>(task - s * chiralities);
    const std::int32_t left_tile = tile / tiles(pool.count), j = (tile - left_tile * tiles(pool.count)) * edge;
    const bool is_kept = left_tile < tiles(pool.before);
    const std::int32_t i = (is_kept ? left_tile : left_tile - tiles(pool.before)) * edge;
    if (!is_kept && i > j) return;  // the other triangle
    const complex<float>* const left = is_kept ? pool.kept : pool.fresh;
    const std::int32_t width = is_kept ? pool.before : pool.count;
    complex<double> sum[edge][edge]{};
    for (int parity = 0; parity < 2; ++parity) {
      const std::int64_t row = pool.blocks.block_begin(s, parity, chirality, pool.rows);
      const std::int64_t end = row + std::int64_t{pool.blocks.count(s, parity)} * pool.rows;
      for (std::int64_t r = row; r < end; ++r) add_row(sum, left + r * width, width, i, pool.fresh + r * pool.count, j);
    }
    const std::int32_t n = pool.all(), first = is_kept ? i : pool.before + i;
    complex<double>* const to = gram + local * n * n;
    for (std::int32_t a = 0; a < edge && i + a < width; ++a)
      for (std::int32_t b = 0; b < edge && j + b < pool.count; ++b) {
        const std::int32_t column = pool.before + j + b, other = first + a;
        to[column * n + other] = sum[a][b];
        to[other * n + column] = conj(sum[a][b]);
      }
  }

 private:
  PLAQUETTE_HOST_DEVICE void add_row(complex<double> (&sum)[edge][edge], const complex<float>* left, std::int32_t width,
                                     std::int32_t i, const complex<float>* right, std::int32_t j) const {
    complex<double> x[edge], y[edge];
    PLAQUETTE_GPU_UNROLL
    for (int k = 0; k < edge; ++k) {
      x[k] = i + k < width ? complex_cast<double>(left[i + k]) : complex<double>{};
      y[k] = j + k < pool.count ? complex_cast<double>(right[j + k]) : complex<double>{};
    }
    PLAQUETTE_GPU_UNROLL
    for (int a = 0; a < edge; ++a) {
      PLAQUETTE_GPU_UNROLL
      for (int b = 0; b < edge; ++b) {
        sum[a][b].re += x[a].re * y[b].re + x[a].im * y[b].im;
        sum[a][b].im += x[a].re * y[b].im - x[a].im * y[b].re;
      }
    }
  }
};

/// The memory that the members of a team share.
struct shared_by_team {
  complex<double>* matrix;
  double *scales, *workspace;
  int* order;

  static std::size_t bytes(int columns, bool with_matrix) {
    const auto n = static_cast<std::size_t>(columns);
    return (with_matrix ? n * n * sizeof(complex<double>) : 0) + n * (2 * sizeof(double) + sizeof(int));
  }
  /// \param matrix  in other memory; null: in this
  PLAQUETTE_HOST_DEVICE static shared_by_team in(std::byte* memory, int columns, complex<double>* matrix) {
    auto* const own = reinterpret_cast<complex<double>*>(memory);
    auto* const numbers = reinterpret_cast<double*>(matrix == nullptr ? own + columns * columns : own);
    return {matrix == nullptr ? own : matrix, numbers, numbers + columns,
            reinterpret_cast<int*>(numbers + 2 * columns)};
  }
};

/// Combinations of columns that are the leading singular vectors of a task.
struct find_combinations {
  std::int32_t before, count;
  std::int64_t first_task;
  complex<double>* gram;         ///< [task][j][i], of new columns with all
  complex<double>* combination;  ///< [task][vector][column]
  const double* of_kept;         ///< [task of all][column]
  const double* weights;         ///< [new column]
  double* sizes;                 ///< [task of all][vector]

  template <class Team>
  PLAQUETTE_HOST_DEVICE void operator()(const Team& team, std::int64_t local, const shared_by_team& shared) const {
    const std::int64_t task = first_task + local;
    const std::int32_t n = before + count;
    const complex<double>* const from = gram + local * n * n;
    for (int k = team.member(); k < n * n; k += team.members()) {
      const int j = k / n, i = k - j * n;
      shared.matrix[k] = i < before && j < before ? complex<double>{i == j ? 1.0 : 0.0, 0.0} : from[k];
    }
    for (int i = team.member(); i < n; i += team.members())
      shared.scales[i] = i < before ? of_kept[task * before + i] : weights[i - before];
    team.wait();
    leading_combinations(team, shared.matrix, n, shared.scales, count, sizes + task * count,
                         combination + local * n * count, shared.workspace, shared.order);
  }
};

/// A few numbers of a row of the leading vectors: a sum over the columns of the pool. Rows of an aggregate follow each
/// other.
struct combine_row {
  static constexpr std::int32_t at_once = 8;

  pool_columns pool;
  std::int64_t first_site, first_task;  ///< of the rows; of the combinations
  const complex<double>* combination;   ///< [task][vector][column]
  complex<float>* to;                   ///< [row][vector]

  PLAQUETTE_HOST_DEVICE std::int64_t rows_of_a_site() const {
    return std::int64_t{chiralities} * pool.blocks.volume * pool.rows;
  }
  PLAQUETTE_HOST_DEVICE std::int32_t parts() const { return (pool.count + at_once - 1) / at_once; }

  PLAQUETTE_HOST_DEVICE void operator()(std::int64_t index) const {
    const std::int64_t own_row = index / parts(), local = own_row / rows_of_a_site(), s = first_site + local;
    const auto first = static_cast<std::int32_t>(index - own_row * parts()) * at_once;
    const std::int64_t within = own_row - local * rows_of_a_site();
    const std::int64_t even_rows = std::int64_t{pool.blocks.even[s]} * pool.rows, both = chiralities * even_rows,
                       odd_rows = rows_of_a_site() / chiralities - even_rows;
    const bool is_odd = within >= both;
    const int chirality = (is_odd ? within - both >= odd_rows : within >= even_rows) ? 1 : 0;
    const std::int64_t row = s * rows_of_a_site() + within;
    const complex<float>* const kept = pool.kept + row * pool.before;
    const complex<float>* const fresh = pool.fresh + row * pool.count;
    const std::int32_t n = pool.all(), end = first + at_once < pool.count ? first + at_once : pool.count;
    const complex<double>* const factors =
        combination + ((s * chiralities + chirality - first_task) * pool.count + first) * n;
    complex<double> sum[at_once]{};
    for (std::int32_t i = 0; i < n; ++i) {
      const auto x = complex_cast<double>(i < pool.before ? kept[i] : fresh[i - pool.before]);
      PLAQUETTE_GPU_UNROLL
      for (std::int32_t k = 0; k < at_once; ++k)
        if (first + k < end) sum[k] += x * factors[k * n + i];
    }
    PLAQUETTE_GPU_UNROLL
    for (std::int32_t k = 0; k < at_once; ++k)
      if (first + k < end) to[own_row * pool.count + first + k] = complex_cast<float>(sum[k]);
  }
};

#ifdef __CUDACC__

/// The threads of a block; eight share a column.
struct block_team {
  static constexpr int lanes = 8;
  static constexpr int most_members = 512;

  PLAQUETTE_HOST_DEVICE static int member() {
#ifdef __CUDA_ARCH__
    return static_cast<int>(threadIdx.x);
#else
    return 0;
#endif
  }
  PLAQUETTE_HOST_DEVICE static int members() {
#ifdef __CUDA_ARCH__
    return static_cast<int>(blockDim.x);
#else
    return 1;
#endif
  }
  PLAQUETTE_HOST_DEVICE static void wait() {
#ifdef __CUDA_ARCH__
    __syncthreads();
#endif
  }
  PLAQUETTE_HOST_DEVICE static double sum(double own) {
#ifdef __CUDA_ARCH__
    PLAQUETTE_GPU_UNROLL
    for (int distance = 1; distance < lanes; distance *= 2) own += __shfl_xor_sync(0xffffffffU, own, distance);
#endif
    return own;
  }
  PLAQUETTE_HOST_DEVICE static bool any(bool own) {
#ifdef __CUDA_ARCH__
    return __syncthreads_or(own ? 1 : 0) != 0;
#else
    return own;
#endif
  }
};

/// \param has_room  the matrix is in shared memory; if it is too large for that, it stays in global memory
__global__ void __launch_bounds__(block_team::most_members)
    combinations_kernel(const __grid_constant__ find_combinations body, bool has_room) {
  extern __shared__ __align__(16) std::byte room[];
  trigger_dependent_launch();
  wait_for_previous_kernel();
  const std::int64_t task = blockIdx.x;
  const int n = body.before + body.count;
  body(block_team{}, task, shared_by_team::in(room, n, has_room ? nullptr : body.gram + task * n * n));
}

/// A block a task.
void queue_combinations(const queue& q, std::int64_t tasks, const find_combinations& body) {
  const int n = body.before + body.count;
  int device = 0, most_bytes = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&most_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  const bool has_room = shared_by_team::bytes(n, true) <= static_cast<std::size_t>(most_bytes);
  const auto bytes = static_cast<int>(shared_by_team::bytes(n, has_room));
  allow_shared(combinations_kernel, bytes);
  // Whole warps, all of a pair's lanes in one.
  const int threads = std::min(block_team::most_members, ((n + 1) / 2 * block_team::lanes + 31) / 32 * 32);
  launch_kernel(q, dim3(static_cast<unsigned>(tasks)), dim3(static_cast<unsigned>(threads)), bytes, true,
                combinations_kernel, body, has_room);
}

#else

void queue_combinations(const queue& /*q*/, std::int64_t tasks, const find_combinations& body) {
  const int n = body.before + body.count;
#pragma omp parallel
  {
    std::vector<complex<double>> room(shared_by_team::bytes(n, true) / sizeof(complex<double>) + 1);
#pragma omp for schedule(static)
    for (std::int64_t task = 0; task < tasks; ++task)
      body(lone_thread{}, task, shared_by_team::in(reinterpret_cast<std::byte*>(room.data()), n, nullptr));
  }
}

#endif

/// Numbers of the device.
template <class T>
std::shared_ptr<T> room_for(const execution& on, std::int64_t numbers) {
  auto memory = on.workspace().take(static_cast<std::size_t>(numbers) * sizeof(T));
  return {memory, reinterpret_cast<T*>(memory.get())};
}

/// Replaces the rows of some tasks by rows of the leading vectors, a few sites at a time.
void combine_rows(const execution& on, const pool_columns& pool, null_space& fresh, std::int64_t first_task,
                  std::int64_t tasks, const complex<double>* combination) {
  combine_row body{pool, 0, first_task, combination, nullptr};
  const std::int64_t of_a_site = body.rows_of_a_site() * pool.count, end = (first_task + tasks) / chiralities;
  constexpr std::int64_t most_numbers = std::int64_t{1} << 25;
  const std::int64_t at_once = std::clamp<std::int64_t>(most_numbers / of_a_site, 1, tasks / chiralities);
  const auto rotated = room_for<complex<float>>(on, at_once * of_a_site);
  body.to = rotated.get();
  for (std::int64_t first = first_task / chiralities; first < end; first += at_once) {
    const std::int64_t sites = std::min(at_once, end - first);
    body.first_site = first;
    for_each_index(on.queue(), sites * body.rows_of_a_site() * body.parts(), body);
    copy_on_device(on.queue(), fresh.begin() + first * of_a_site, body.to,
                   static_cast<std::size_t>(sites * of_a_site) * sizeof(complex<float>));
  }
}

}  // namespace

singular_values take_leading_vectors(const null_space* kept, const singular_values& of_kept, null_space& fresh,
                                     std::span<const double> weights) {
  const execution& on = fresh.get_execution();
  const queue& q = on.queue();
  const pool_columns pool{
      kept != nullptr ? kept->begin() : nullptr, fresh.begin(),  fresh.tables().pointers(), fresh.rows(),
      kept != nullptr ? kept->vectors() : 0,     fresh.vectors()};
  const std::int64_t n = pool.all(), count = pool.count, tasks = fresh.blocks().coarse().sites() * chiralities;
  const auto sizes = room_for<double>(on, tasks * count), factors = room_for<double>(on, count);
  copy_to_device(q, factors.get(), weights.data(), weights.size_bytes());
  // Matrices of some aggregates at a time.
  constexpr std::int64_t most_bytes = std::int64_t{1} << 28;
  const std::int64_t bytes = n * (n + count) * static_cast<std::int64_t>(sizeof(complex<double>));
  const std::int64_t at_once =
      chiralities * std::clamp<std::int64_t>(most_bytes / (chiralities * bytes), 1, tasks / chiralities);
  const auto gram = room_for<complex<double>>(on, at_once * n * n),
             combination = room_for<complex<double>>(on, at_once * n * count);
  for (std::int64_t first = 0; first < tasks; first += at_once) {
    const std::int64_t some = std::min(at_once, tasks - first);
    const multiply_columns products{pool, first, gram.get()};
    for_each_index(q, some * products.tiles_of_a_task(), products, 128);
    queue_combinations(q, some,
                       {pool.before, pool.count, first, gram.get(), combination.get(), of_kept.numbers.get(),
                        factors.get(), sizes.get()});
    combine_rows(on, pool, fresh, first, some, combination.get());
  }
  std::vector<double> found(static_cast<std::size_t>(tasks * count));
  copy_to_host(q, found.data(), sizes.get(), found.size() * sizeof(double));
  std::array<double, 1> rank{0.0};
  for (std::int64_t task = 0; task < tasks; ++task)
    rank[0] = std::max(
        rank[0], static_cast<double>(std::ranges::count_if(
                     std::span(found).subspan(static_cast<std::size_t>(task * count), static_cast<std::size_t>(count)),
                     [](double size) { return size > 0.0; })));
  on.comm().maximum(std::span(rank));
  return {pool.count, sizes, static_cast<int>(rank[0])};
}

}  // namespace plaquette::gpu
