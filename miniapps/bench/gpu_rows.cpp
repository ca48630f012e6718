// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/bench/gpu_rows.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/error.hpp"
#include "plaquette_bench_peers.hpp"  // made of data/bench-peers.json

namespace plaquette::bench {

namespace {

constexpr double spinor_reals = 24.0, clover_reals = 72.0, scale_bytes = 4.0;
constexpr int links_of_site = 8;

constexpr extents lattice_16{16, 16, 16, 32}, lattice_24{24, 24, 24, 32}, lattice_32{32, 32, 32, 64},
    lattice_48{48, 48, 48, 64}, lattice_long{32, 32, 32, 256};

std::string short_name(const extents& lattice) { return std::to_string(lattice[0]) + "x" + std::to_string(lattice[3]); }

std::string name_of(const gpu_row& row) {
  const std::string subject = row.subject == gpu_subject::hopping            ? "hopping"
                              : row.subject == gpu_subject::clover_schur     ? "clover"
                              : row.subject == gpu_subject::vector_operation ? "blas"
                                                                             : "solve";
  std::string name = subject + "." + short_name(row.lattice) + ".";
  name += row.operation.empty()               ? row.precision
          : row.subject == gpu_subject::solve ? row.operation
                                              : row.precision + "." + row.operation;
  if (row.reals != 12) name.append(".").append(std::to_string(row.reals));
  if (row.rhs != 1 && row.subject != gpu_subject::vector_operation) name.append(".n").append(std::to_string(row.rhs));
  return name;
}

class row_list {
 public:
  void add(gpu_row row) {
    row.name = name_of(row);
    rows_.push_back(std::move(row));
  }
  void hopping(const extents& lattice, const std::string& precision, int reals, int rhs) {
    add({{}, gpu_subject::hopping, {}, lattice, precision, reals, rhs});
  }
  void clover(const extents& lattice, const std::string& precision, int rhs, int reals = 12) {
    add({{}, gpu_subject::clover_schur, {}, lattice, precision, reals, rhs});
  }
  void vector_operation(const std::string& operation, const std::string& precision) {
    constexpr int columns = 4;  // 160 MB a field at the least: no cache holds two
    add({{}, gpu_subject::vector_operation, operation, lattice_32, precision, 12, columns});
  }
  void solve(const extents& lattice, const std::string& how, int rhs) {
    add({{}, gpu_subject::solve, how, lattice, how, 12, rhs});
  }
  std::vector<gpu_row> take() { return std::move(rows_); }

 private:
  std::vector<gpu_row> rows_;
};

const std::map<std::string, int>& vector_operations() {
  static const std::map<std::string, int> fields{{"copy", 2},      {"norm2", 1},     {"dot", 2},
                                                 {"axpy", 3},      {"xpay", 3},      {"axpy_norm2", 3},
                                                 {"cg_update", 6}, {"direction", 4}, {"bicgstab", 8}};
  return fields;
}

bool selects(const std::string& name, const gpu_row& row) {
  return name == "all" || row.name == name || row.name.starts_with(name + ".");
}

}  // namespace

std::vector<gpu_row> gpu_rows() {
  row_list rows;
  rows.hopping(lattice_32, "double", 12, 1);
  rows.hopping(lattice_32, "single", 12, 1);
  rows.hopping(lattice_32, "single", 8, 1);
  rows.hopping(lattice_32, "half", 12, 1);
  rows.hopping(lattice_32, "single", 12, 12);
  rows.hopping(lattice_32, "half", 12, 12);
  rows.hopping(lattice_32, "double", 12, 12);
  for (const char* precision : {"double", "pairs", "single", "half"}) rows.hopping(lattice_32, precision, 18, 1);
  for (const char* precision : {"double", "half"}) rows.hopping(lattice_32, precision, 8, 1);
  rows.clover(lattice_32, "double", 1);
  rows.clover(lattice_32, "single", 1);
  rows.clover(lattice_32, "half", 1);
  for (const char* precision : {"double", "pairs"}) rows.clover(lattice_32, precision, 1, 18);
  for (const char* precision : {"double", "single", "half"}) rows.clover(lattice_32, precision, 12);
  rows.hopping(lattice_16, "single", 12, 1);
  rows.hopping(lattice_16, "half", 12, 1);
  rows.hopping(lattice_16, "single", 12, 12);
  rows.hopping(lattice_16, "half", 12, 12);
  rows.hopping(lattice_16, "double", 12, 1);
  rows.hopping(lattice_24, "single", 12, 1);
  rows.hopping(lattice_24, "half", 12, 1);
  rows.hopping(lattice_24, "double", 12, 1);
  rows.hopping(lattice_48, "single", 12, 1);
  rows.hopping(lattice_48, "half", 12, 1);
  rows.hopping(lattice_48, "double", 12, 1);
  for (const char* precision : {"double", "pairs", "single", "half"})
    for (const auto& [operation, fields] : vector_operations()) rows.vector_operation(operation, precision);
  for (const char* how : {"double", "double-single"}) rows.solve(lattice_32, how, 1);
  rows.solve(lattice_32, "double-half", 1);
  rows.solve(lattice_32, "single-half", 1);
  rows.solve(lattice_32, "double-single", 12);
  rows.solve(lattice_32, "double-half", 12);
  for (const char* how : {"single-half", "double-half"}) rows.solve(lattice_long, how, 1);
  return rows.take();
}

std::optional<peer_figure> peer_of(const std::string& row, const std::string& device) {
  static const auto all = nlohmann::json::parse(bench_peers_text);
  for (const auto& peer : all.at("peers"))
    if (device.find(peer.at("device").get<std::string>()) != std::string::npos && peer.at("rows").contains(row))
      return peer_figure{peer.at("program").get<std::string>(), peer.at("rows").at(row).get<double>()};
  return std::nullopt;
}

std::vector<gpu_row> rows_named(const std::string& names) {
  const std::vector<gpu_row> all = gpu_rows();
  std::vector<bool> taken(all.size(), false);
  std::stringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    bool found = false;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (selects(name, all[i])) taken[i] = found = true;
    if (!found) throw input_error("--rows: expected the name of a row, or how names begin, found '" + name + "'");
  }
  std::vector<gpu_row> rows;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (taken[i]) rows.push_back(all[i]);
  if (rows.empty()) throw input_error("--rows: expected names of rows, found none");
  return rows;
}

void run_rows(const std::vector<gpu_row>& rows, const std::function<void(const gpu_row&)>& run,
              const std::function<bool()>& device_works, const std::function<void(const std::string&)>& say,
              verification& checks) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    try {
      run(rows[i]);
    } catch (const input_error&) {
      throw;
    } catch (const std::exception& failure) {
      say(rows[i].name + " FAILED: " + failure.what());
      checks.add(rows[i].name + " ran", false);
      if (device_works()) continue;
      const std::size_t left = rows.size() - i - 1;
      say("the GPU does not work any more after this error; rows that were not run: " + std::to_string(left));
      for (std::size_t k = i + 1; k < rows.size(); ++k) checks.add(rows[k].name + " ran", false);
      return;
    }
  }
}

double standard_flops(const gpu_row& row) {
  if (row.subject == gpu_subject::hopping) return 1320.0;
  return row.subject == gpu_subject::clover_schur ? 3696.0 : 0.0;
}

double bytes_of_real(const std::string& precision) {
  return precision == "double" || precision == "pairs" ? 8.0 : precision == "single" ? 4.0 : 2.0;
}

int fields_moved(const std::string& operation) { return vector_operations().at(operation); }

double fewest_bytes(const gpu_row& row) {
  const double real = bytes_of_real(row.precision), scale = row.precision == "half" ? scale_bytes : 0.0;
  const double spinor = spinor_reals * real + scale, links = links_of_site * row.reals * real / row.rhs;
  switch (row.subject) {
    case gpu_subject::hopping:
      return links + 2.0 * spinor;
    case gpu_subject::clover_schur:
      // Both hops read links, a spinor and the block of their site, and write a spinor; the second reads its input too.
      return 2.0 * (links + (clover_reals * real + 2.0 * scale) / row.rhs) + 5.0 * spinor;
    case gpu_subject::vector_operation:
      return fields_moved(row.operation) * spinor;
    default:
      return 0.0;
  }
}

}  // namespace plaquette::bench
