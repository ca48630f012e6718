// SPDX-License-Identifier: BSD-3-Clause
#include "miniapps/shared/machine_model.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "common/app/memory.hpp"
#include "common/app/parse.hpp"
#include "common/error.hpp"
#include "plaquette_machines.hpp"

namespace plaquette {

namespace {

const json_document& table() {
  static const json_document document = json_document::parse(machines_text);
  return document;
}

machine_figures machine_of(const std::string& name, const json_document& m) {
  machine_figures f;
  f.name = name;
  f.from = m["from"];
  f.is_gpu = m["device"] == "gpu";
  f.copy = 1e9 * m["copy_gbytes_per_s"].get<double>();
  f.fma_single = 1e9 * m["fma_gflops"]["single"].get<double>();
  f.fma_double = 1e9 * m["fma_gflops"]["double"].get<double>();
  f.memory = 1e9 * m["memory_gbytes"].get<double>();
  f.ranks_a_host = m["ranks_a_host"];
  f.link = 1e9 * m["link"]["gbytes_per_s"].get<double>();
  f.link_latency = m["link"]["seconds"];
  f.network = 1e9 * m["network"]["gbytes_per_s"].get<double>();
  f.network_latency = m["network"]["seconds"];
  f.kernel = m["kernel_seconds"];
  f.cut = m["cut_seconds"];
  f.shares = table()["shares"][f.is_gpu ? "gpu" : "cpu"];
  f.dg = table()["dg"][f.is_gpu ? "gpu" : "cpu"];
  return f;
}

/// Returns a positive number of a report; 0 if there is none.
double positive(const json_document& object, const char* key) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number()) return 0.0;
  const double value = object[key].get<double>();
  return std::isfinite(value) && value > 0.0 ? value : 0.0;
}

std::string text_at(const json_document& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

double sites_of(const json_document& figure) {
  double sites = 1.0;
  if (figure.contains("lattice") && figure["lattice"].is_array())
    for (const json_document& n : figure["lattice"]) sites *= n.is_number() ? std::max(n.get<double>(), 1.0) : 1.0;
  return sites;
}

/// Takes the machine's speeds from figures: of the largest lattice, by the most threads.
void take_figures(machine_figures& machine, const json_document& figures) {
  double most_sites = 0.0, most_threads = 0.0;
  json_document seen = json_document::object();
  for (const json_document& f : figures) {
    const std::string kind = text_at(f, "operator"), numbers = text_at(f, "precision");
    const double share = positive(f, "fraction_of_copy"), speed = positive(f, "gbytes_per_s");
    if (share == 0.0 || speed == 0.0 || text_at(f, "protocol") == "cool") continue;
    if (kind != "hopping" && !kind.ends_with("_schur")) continue;
    const double sites = sites_of(f), threads = positive(f, "threads");
    const double peak = positive(f, "fraction_of_fma_peak");
    if (threads > most_threads || (threads == most_threads && sites >= most_sites)) {
      most_threads = threads;
      most_sites = sites;
      if (!machine.is_gpu) {
        machine.copy = 1e9 * speed / share;
        const double fma = peak > 0.0 ? 1e9 * positive(f, "gflops") / peak : 0.0;
        if (fma > 0.0) (numbers == "double" ? machine.fma_double : machine.fma_single) = fma;
      }
    }
    const std::string key =
        fmt::format("{} {} {:.0f}", kind == "hopping" ? "hopping" : "schur", numbers, positive(f, "reconstruct"));
    const std::string columns = fmt::format("{:.0f}", std::max(positive(f, "rhs"), 1.0));
    if (seen[key].is_null() || !seen[key].contains(columns) || sites >= seen[key][columns].get<double>()) {
      seen[key][columns] = sites;
      machine.shares[key][columns] = share;
    }
  }
}

/// Returns a machine of the kind that the table has, with the measurements in a report of `bench`.
machine_figures machine_of_report(const std::string& path, const std::string& device) {
  std::ifstream file(path);
  const json_document report = json_document::parse(file, nullptr, false);
  if (!report.is_object() || text_at(report, "app") != "bench" || !report.contains("figures") ||
      !report["figures"].is_array())
    throw input_error(
        fmt::format("--device {}:{}: expected a card ({}) or a report of `plaquette bench --json`, found "
                    "neither",
                    device, printable(path), "H100, H200"));
  machine_figures machine = machine_of(device, table()["machines"][device == "gpu" ? "H200" : "cpu"]);
  machine.from = printable(path) + "; links and network: those of " + (device == "gpu" ? "H200" : "the table");
  const json_document here = report.contains("machine") ? report["machine"] : json_document::object();
  machine.name = printable(text_at(here, device == "gpu" ? "gpu" : "cpu"));
  if (device == "gpu" && (machine.name.empty() || machine.name == "none"))
    throw input_error(
        fmt::format("--device gpu:{}: expected figures of a GPU, found a report without one", printable(path)));
  if (device == "gpu") machine.name = machine.name.substr(0, machine.name.find(','));
  take_figures(machine, report["figures"]);
  const json_document observed = report.contains("observables") ? report["observables"] : json_document::object();
  if (observed.is_object() && observed.contains("device")) {
    const json_document& d = observed["device"];
    if (const double copy = positive(d, "copy_gbytes_per_s"); copy > 0.0) machine.copy = 1e9 * copy;
    if (const double fma = positive(d, "fma_gflops_single"); fma > 0.0) machine.fma_single = 1e9 * fma;
    if (const double fma = positive(d, "fma_gflops_double"); fma > 0.0) machine.fma_double = 1e9 * fma;
  }
  return machine;
}

/// (to ranks of the same host, to others), in faces weighed by `face`: of the rank that sends most to other hosts.
std::array<double, 2> most_to_other_hosts(const std::array<double, dimensions>& face, const extents& grid, int a_host) {
  std::array<double, 2> worst{};
  const std::int64_t ranks = volume(grid);
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    const coordinate here = coordinate_of(rank, grid);
    std::array<double, 2> sent{};
    for (int mu = 0; mu < dimensions; ++mu) {
      if (grid[mu] == 1) continue;
      for (const int step : {1, grid[mu] - 1}) {
        coordinate other = here;
        other[mu] = (other[mu] + step) % grid[mu];
        sent[lexicographic(other, grid) / a_host == rank / a_host ? 0 : 1] += face[static_cast<std::size_t>(mu)];
      }
    }
    if (sent[1] > worst[1] || (sent[1] == worst[1] && sent[0] > worst[0])) worst = sent;
  }
  return worst;
}

double share_at(const json_document& by_number, double at) {
  double below = 0.0, above = 0.0, of_below = 0.0, of_above = 0.0;
  for (const auto& item : by_number.items()) {
    const double n = std::stod(item.key()), share = item.value().get<double>();
    if (n <= at && n > below) below = n, of_below = share;
    if (n >= at && (above == 0.0 || n < above)) above = n, of_above = share;
  }
  if (below == 0.0) return of_above;
  if (above == 0.0 || above == below) return of_below;
  const double part = std::log(at / below) / std::log(above / below);
  return of_below + part * (of_above - of_below);
}

}  // namespace

double machine_figures::share_of(const std::string& kernel_name, int columns) const {
  if (!shares.contains(kernel_name))
    throw std::logic_error("no share of the copy bandwidth is known of " + kernel_name);
  return share_at(shares[kernel_name], columns);
}

double machine_figures::dg_share(const std::string& equations, int order) const {
  return share_at(dg[equations], order);
}

std::optional<machine_figures> planned_machine(const shared_options& options) {
  if (options.card.empty()) {
    if (options.device == "gpu") return std::nullopt;
    return machine_of("cpu", table()["machines"]["cpu"]);
  }
  const json_document& known = table()["machines"];
  if (known.contains(options.card) && known[options.card]["device"] == options.device)
    return machine_of(options.card, known[options.card]);
  return machine_of_report(options.card, options.device);
}

double divided_lattice::inner() const {
  double share = 1.0;
  for (int mu = 0; mu < dimensions; ++mu) {
    const double length = local[static_cast<std::size_t>(mu)];
    if (grid[mu] > 1) share *= std::max(length - 2.0, 0.0) / length;
  }
  return share;
}

divided_lattice divided(const extents& lattice, const extents& grid) {
  divided_lattice d{{}, grid};
  for (int mu = 0; mu < dimensions; ++mu) d.local[static_cast<std::size_t>(mu)] = 1.0 * lattice[mu] / grid[mu];
  return d;
}

kernel_time& kernel_time::operator+=(const kernel_time& other) {
  seconds += other.seconds;
  alone += other.alone;
  inside += other.inside;
  outside += other.outside;
  messages += other.messages;
  return *this;
}

kernel_time kernel_time::operator*(double times) const {
  return {seconds * times, alone * times, inside * times, outside * times,
          static_cast<int>(std::lround(messages * times))};
}

/// The kernels of a hop and their order (gpu/dirac/hopping_term.cu). Within a host kernels write into the neighbour's
/// memory: the interior goes on meanwhile, and the sites at the cuts follow in the same kernel. Between hosts the host
/// starts the messages: packing, then the interior while they travel, then the sites at the cuts.
kernel_time time_of(const machine_figures& machine, const divided_lattice& lattice, const kernel_work& work) {
  kernel_time t;
  const double fill = work.hops * machine.kernel;
  t.alone = std::max(work.bytes / (machine.copy * work.share), work.least > 0.0 ? work.least : fill);
  t.seconds = t.alone;
  std::array<double, dimensions> face{};
  double faces = 0.0;
  for (int mu = 0; mu < dimensions; ++mu)
    if (lattice.grid[mu] > 1) {
      const double sites = lattice.sites() / lattice.local[static_cast<std::size_t>(mu)];
      face[static_cast<std::size_t>(mu)] = sites * work.sent_a_site;
      faces += 2.0 * sites;
      t.messages += 2 * work.hops;
    }
  if (faces == 0.0) return t;
  const auto [inside, outside] = most_to_other_hosts(face, lattice.grid, machine.ranks_a_host);
  t.inside = work.hops * inside;
  t.outside = work.hops * outside;
  const double read = work.hops * faces * work.read_a_site / machine.copy;
  const double within = inside > 0.0 ? 2.0 * machine.link_latency + inside / machine.link : 0.0;
  const double between = outside > 0.0 ? machine.network_latency + outside / machine.network : 0.0;
  const double exchange = work.hops * std::max(within, between);
  const double interior = t.alone * lattice.inner(), boundary = t.alone - interior;
  if (!work.overlap)
    t.seconds = 2.0 * fill + (outside > 0.0 ? read + exchange : std::max(read, exchange)) + t.alone;
  else if (outside > 0.0)
    t.seconds = 3.0 * fill + read + std::max(interior, exchange) + boundary;
  else
    t.seconds = std::max(interior + read, exchange) + boundary + work.hops * machine.cut;
  return t;
}

double seconds_of_sum(const machine_figures& machine, int ranks) {
  if (ranks == 1) return 0.0;
  const int hosts = (ranks + machine.ranks_a_host - 1) / machine.ranks_a_host;
  const double between = hosts > 1 ? 2.0 * machine.network_latency * std::ceil(std::log2(hosts)) : 0.0;
  return 2.0 * machine.link_latency + between;
}

std::string text_of(const machine_figures& m) {
  return fmt::format(
      "{}: copy {:.4g} GB/s a rank; to ranks of its host {:.3g} GB/s and {:.2g} us, {} a host; to others "
      "{:.3g} GB/s and {:.2g} us ({})",
      m.name, 1e-9 * m.copy, 1e-9 * m.link, 1e6 * m.link_latency, m.ranks_a_host, 1e-9 * m.network,
      1e6 * m.network_latency, m.from);
}

std::string text_of_messages(const kernel_time& time) {
  if (time.messages == 0) return "nothing is sent";
  return fmt::format("{} of a rank in {} messages{}", format_bytes(time.inside + time.outside), time.messages,
                     time.outside > 0.0 ? ", " + format_bytes(time.outside) + " of it to other hosts" : "");
}

}  // namespace plaquette
