// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// A level of multigrid on the device: the numbers of common/operators/coarse_matrices.hpp, in the same order.
#pragma once

#include <cstdint>
#include <memory>

#include "common/operators/coarse_matrices.hpp"
#include "gpu/coarse/coarse_lattice.hpp"
#include "gpu/device/unroll.hpp"

namespace plaquette::gpu {

/// The coarse operator's matrices, [site][X, +x, -x, ..., +t, -t][row][column]. Copies share storage.
class coarse_matrices {
 public:
  /// Undefined contents. Throws memory_error.
  coarse_matrices(const execution& on, std::shared_ptr<const coarse_lattice> lattice, int numbers_of_a_site);

  const execution& get_execution() const { return execution_; }
  const coarse_lattice& lattice() const { return *lattice_; }
  const std::shared_ptr<const coarse_lattice>& shared_lattice() const { return lattice_; }
  int n() const { return n_; }
  std::int64_t count() const { return lattice_->geometry().sites() * coarse_matrices_of_a_site * n_ * n_; }
  complex<float>* begin() { return begin_.get(); }
  const complex<float>* begin() const { return begin_.get(); }

 private:
  execution execution_;
  std::shared_ptr<const coarse_lattice> lattice_;
  int n_;
  std::shared_ptr<complex<float>> begin_;
};

/// From and to the host.
coarse_matrices import_matrices(const execution& on, const plaquette::coarse_matrices& from);
plaquette::coarse_matrices export_matrices(const coarse_matrices& from);

/// Which fine sites make up a coarse one, as kernels take it.
struct aggregate_pointers {
  const std::int32_t* site;  ///< [place]: parity * sites of a parity + i of a field of quarks, or the coarse site
  const std::int32_t* even;  ///< [coarse site]: how many of its sites are even
  std::int32_t volume;       ///< sites of an aggregate

  /// Returns the sites of a coarse site's aggregate that have a parity, and the first of them within it.
  PLAQUETTE_HOST_DEVICE std::int32_t count(std::int64_t coarse_site, int parity) const {
    return parity == 0 ? even[coarse_site] : volume - even[coarse_site];
  }
  PLAQUETTE_HOST_DEVICE std::int32_t first(std::int64_t coarse_site, int parity) const {
    return parity == 0 ? 0 : even[coarse_site];
  }
  /// Returns `aggregates::block_begin`
  PLAQUETTE_HOST_DEVICE std::int64_t block_begin(std::int64_t coarse_site, int parity, int chirality, int rows) const {
    return (2 * (coarse_site * volume + first(coarse_site, parity)) +
            static_cast<std::int64_t>(chirality) * count(coarse_site, parity)) *
           rows;
  }
  /// Returns `aggregates::row_begin`
  PLAQUETTE_HOST_DEVICE std::int64_t row_begin(std::int64_t place, int chirality, int rows) const {
    const std::int64_t coarse_site = place / volume;
    const auto within = static_cast<std::int32_t>(place - coarse_site * volume);
    const int parity = within >= even[coarse_site] ? 1 : 0;
    return block_begin(coarse_site, parity, chirality, rows) +
           static_cast<std::int64_t>(within - first(coarse_site, parity)) * rows;
  }
};

/// The tables of `plaquette::aggregates` on the device, with the coarse lattice.
class aggregate_tables {
 public:
  /// Of the lattice of quarks, or of a coarse one where `is_coarse`.
  aggregate_tables(const execution& on, const aggregates& blocks, bool is_coarse);

  const aggregates& blocks() const { return blocks_; }
  bool fine_is_coarse() const { return is_coarse_; }
  const std::shared_ptr<const coarse_lattice>& coarse() const { return coarse_; }
  aggregate_pointers pointers() const { return {site_.get(), even_.get(), blocks_.volume()}; }
  /// Of the device, [4][place]: the place of x + mu, or -1 - g if it is a face's site of another rank.
  const std::int32_t* ahead() const { return ahead_.get(); }
  /// Of the device, [place]: bit mu is set where a hop forwards along mu leaves the aggregate.
  const std::uint8_t* crossing() const { return crossing_.get(); }
  /// Places of this rank that others' hops forwards along mu lead to, of the device, and how many; none if the
  /// direction is not cut. The ghosts of direction mu follow the ghosts of the directions before.
  const std::shared_ptr<const std::int32_t>& face(int mu) const { return face_[mu]; }
  std::int64_t face_sites(int mu) const { return face_sites_[mu]; }

 private:
  aggregates blocks_;
  bool is_coarse_;
  std::shared_ptr<const coarse_lattice> coarse_;
  std::shared_ptr<const std::int32_t> site_, even_, ahead_;
  std::shared_ptr<const std::uint8_t> crossing_;
  std::shared_ptr<const std::int32_t> face_[dimensions];
  std::int64_t face_sites_[dimensions] = {};
};

/// The columns of P: [coarse site][parity][chirality][fine site][row][vector]. Copies share storage.
class null_space {
 public:
  /// Undefined contents. Throws memory_error.
  null_space(const execution& on, std::shared_ptr<const aggregate_tables> tables, int rows_of_a_chirality, int count);

  const execution& get_execution() const { return execution_; }
  const aggregate_tables& tables() const { return *tables_; }
  const std::shared_ptr<const aggregate_tables>& shared_tables() const { return tables_; }
  const aggregates& blocks() const { return tables_->blocks(); }
  int rows() const { return rows_; }
  int vectors() const { return vectors_; }
  std::int64_t all_rows() const { return blocks().fine_sites() * chiralities * rows_; }
  complex<float>* begin() { return begin_.get(); }
  const complex<float>* begin() const { return begin_.get(); }
  std::shared_ptr<const void> storage() const { return begin_; }

 private:
  execution execution_;
  std::shared_ptr<const aggregate_tables> tables_;
  int rows_, vectors_;
  std::shared_ptr<complex<float>> begin_;
};

/// From and to the host. `is_coarse`: of a coarse lattice as the fine one.
null_space import_null_space(const execution& on, const plaquette::null_space& from, bool is_coarse);
plaquette::null_space export_null_space(const null_space& from);

}  // namespace plaquette::gpu
