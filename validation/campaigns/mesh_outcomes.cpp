// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Reads meshes as nodal-dg does, and does a few time steps on each. Standard input has a line a mesh: the arguments of
/// nodal-dg, separated by tabs. Standard output gets one line of JSON a mesh: refused, with the message, or a
/// description of the mesh and the energy at the end. Each mesh has a process of its own; one that dies or hangs is
/// told as such.
#include <fmt/core.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/comms/communicator.hpp"
#include "common/error.hpp"
#include "common/mesh/mesh_part.hpp"
#include "cpu_ref/dg/production.hpp"
#include "miniapps/nodal-dg/wave_case.hpp"

namespace {

using namespace plaquette;
using namespace plaquette::nodal_dg;

double area_of(const simplex_mesh& mesh, std::size_t e, int f) {
  const double volume = std::abs(signed_volume(mesh, static_cast<std::int64_t>(e)));
  const double scale = geometry_of(mesh, static_cast<std::int64_t>(e)).face_scale[static_cast<std::size_t>(f)];
  return mesh.dimension * volume * scale / 2.0;  // scale = 2 / height
}

/// Returns numbers that do not depend on the order of elements or vertices.
nlohmann::json description_of(const wave_case& c) {
  const simplex_mesh& mesh = c.mesh;
  double volume = 0.0, heavy = 0.0;
  std::int64_t joined = 0;
  std::array<std::int64_t, 3> sides{};
  std::array<double, 3> areas{};
  for (std::size_t e = 0; e < mesh.elements.size(); ++e) {
    const double v = std::abs(signed_volume(mesh, static_cast<std::int64_t>(e)));
    volume += v;
    heavy += v * c.problem.media[static_cast<std::size_t>(mesh.materials[e])].first;
    for (int f = 0; f < mesh.faces(); ++f) {
      const face_link& link = mesh.links[e][static_cast<std::size_t>(f)];
      if (!link.is_boundary()) {
        ++joined;
        continue;
      }
      const auto kind = static_cast<std::size_t>(c.problem.boundaries[static_cast<std::size_t>(link.boundary)]);
      ++sides[kind];
      areas[kind] += area_of(mesh, e, f);
    }
  }
  return {{"elements", mesh.size()}, {"volume", volume}, {"heavy", heavy},      {"joined", joined},
          {"sides", sides},          {"areas", areas},   {"remarks", c.remarks}};
}

nlohmann::json outcome_of(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv{"plaquette-nodal-dg"};
  for (const std::string& a : arguments) argv.push_back(a.c_str());
  try {
    const nodal_dg_options options = parse_nodal_dg_options(static_cast<int>(argv.size()), argv.data());
    const wave_case c = make_case(options);
    nlohmann::json outcome = description_of(c);
    const communicator comm;
    const dg_domain domain = make_domain(c.mesh, partition_mesh(c.mesh, 1, "curve"), options.order, c.problem, comm);
    const auto solver = cpu::make_dg_solver(domain, {});
    const std::vector<double> state = sample(domain, c.initial, 0.0);
    solver->set_state(state, 0.0);
    solver->advance(options.steps, options.dt);
    outcome["energy"] = solver->energy()[0];
    return outcome;
  } catch (const input_error& e) {
    return {{"refused", e.what()}};
  } catch (const std::exception& e) {
    return {{"broken", e.what()}};
  }
}

/// The line that a process of its own has written.
nlohmann::json in_own_process(const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return {{"broken", "no pipe"}};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    alarm(60);
    const std::string line = outcome_of(arguments).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    for (std::size_t done = 0; done < line.size();) {
      const ssize_t n = write(ends[1], line.data() + done, line.size() - done);
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    _exit(0);
  }
  close(ends[1]);
  std::string line;
  std::array<char, 4096> bytes{};
  for (ssize_t n = 0; (n = read(ends[0], bytes.data(), bytes.size())) > 0;)
    line.append(bytes.data(), static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    return {{"broken",
             fmt::format("ended by signal {}{}", WTERMSIG(status), WTERMSIG(status) == SIGALRM ? ": it hangs" : "")}};
  auto outcome = nlohmann::json::parse(line, nullptr, false);
  return outcome.is_discarded() ? nlohmann::json{{"broken", "no outcome"}} : outcome;
}

}  // namespace

int main() {
  omp_set_num_threads(1);
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::string> arguments;
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find('\t', begin), line.size());
      arguments.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    std::cout << in_own_process(arguments).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  }
}
