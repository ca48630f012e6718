// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Counters of energy in a folder that looks like /sys/class.
#include "common/app/host_energy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "common/comms/communicator.hpp"

namespace plaquette {
namespace {

using testing::HasSubstr;

class HostEnergy : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  void write_zone(const std::string& zone, const std::string& name, const std::string& energy) const {
    write("powercap/" + zone + "/name", name);
    write("powercap/" + zone + "/max_energy_range_uj", "262143328850");
    write("powercap/" + zone + "/energy_uj", energy);
  }
  std::filesystem::path root_ =
      std::filesystem::temp_directory_path() / ("plaquette-energy-" + std::to_string(getpid()));
  const communicator alone_{};
};

TEST_F(HostEnergy, OfPackagesAndMemoryIsAddedAndCoresAreNot) {
  write_zone("intel-rapl:0", "package-0", "1000000");
  write_zone("intel-rapl:0:0", "core", "1000000");
  write_zone("intel-rapl:0:1", "dram", "1000000");
  write_zone("intel-rapl-mmio:0", "package-0", "1000000");
  host_energy host(root_.string());
  EXPECT_EQ(host.source(), "RAPL package-0, dram");
  const energy_reading before = host.now();
  for (const char* zone : {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl-mmio:0"})
    write("powercap/" + std::string(zone) + "/energy_uj", "3500000");
  const json_document seen = energy_since(before, host, alone_);
  EXPECT_DOUBLE_EQ(seen["energy_joule"].get<double>(), 5.0);
  EXPECT_NEAR(seen["power_watt"].get<double>() * seen["seconds"].get<double>(), 5.0, 1e-9);
  EXPECT_THAT(energy_line(seen), HasSubstr("energy     5 J of the hosts"));
}

TEST_F(HostEnergy, ACounterThatOverflowsGoesOn) {
  write_zone("intel-rapl:0", "package-0", "262142328850");
  host_energy host(root_.string());
  write("powercap/intel-rapl:0/energy_uj", "1000000");
  EXPECT_DOUBLE_EQ(energy_since({}, host, alone_)["energy_joule"].get<double>(), 2.0);
}

TEST_F(HostEnergy, ACounterThatRunsBackwardGivesNone) {
  write_zone("intel-rapl:0", "package-0", "200000000000");
  host_energy host(root_.string());
  write("powercap/intel-rapl:0/energy_uj", "199999000000");  // no overflow: 262 kJ in a moment
  EXPECT_THAT(energy_since({}, host, alone_)["none"].get<std::string>(), HasSubstr("ran backward"));
  write("powercap/intel-rapl:0/energy_uj", "200001000000");  // and is not believed later
  EXPECT_TRUE(energy_since({}, host, alone_).contains("none"));
}

TEST_F(HostEnergy, WithoutARangeBackwardIsBackward) {
  write("hwmon/hwmon0/name", "amd_energy");
  write("hwmon/hwmon0/energy1_label", "Esocket0");
  write("hwmon/hwmon0/energy1_input", "5000000");
  write("hwmon/hwmon0/energy2_label", "Ecore000");
  write("hwmon/hwmon0/energy2_input", "5000000");
  host_energy host(root_.string());
  EXPECT_EQ(host.source(), "hwmon Esocket0");
  write("hwmon/hwmon0/energy1_input", "6000000");
  write("hwmon/hwmon0/energy2_input", "6000000");
  EXPECT_DOUBLE_EQ(energy_since({}, host, alone_)["energy_joule"].get<double>(), 1.0);
  write("hwmon/hwmon0/energy1_input", "4000000");
  EXPECT_THAT(energy_since({}, host, alone_)["none"].get<std::string>(), HasSubstr("ran backward"));
}

TEST_F(HostEnergy, AMeterOfPowerIsSummedOverTime) {
  write("hwmon/hwmon3/name", "power_meter");
  write("hwmon/hwmon3/power1_average", "400000000");
  host_energy host(root_.string());
  EXPECT_EQ(host.source(), "hwmon power_meter");
  const energy_reading before = host.now();
  usleep(20000);
  EXPECT_NEAR(energy_since(before, host, alone_)["power_watt"].get<double>(), 400.0, 1e-6 * 400.0);
}

TEST_F(HostEnergy, WhatCannotBeReadIsSaid) {
  EXPECT_THAT(energy_since({}, *std::make_unique<host_energy>(root_.string()), alone_)["none"].get<std::string>(),
              HasSubstr("no counter of energy in "));
  write("powercap/intel-rapl:0/name", "package-0");
  std::filesystem::create_directories(root_ / "powercap/intel-rapl:0/energy_uj");  // root may read any file
  host_energy host(root_.string());
  EXPECT_EQ(host.source(), "");
  const json_document seen = energy_since({}, host, alone_);
  EXPECT_THAT(seen["none"].get<std::string>(), HasSubstr("energy_uj cannot be read"));
  EXPECT_THAT(energy_line(seen), HasSubstr("energy     of the hosts is not known: "));
}

TEST_F(HostEnergy, ACounterThatGoesAwayGivesNone) {
  write_zone("intel-rapl:0", "package-0", "1000000");
  host_energy host(root_.string());
  std::filesystem::remove(root_ / "powercap/intel-rapl:0/energy_uj");
  EXPECT_THAT(energy_since({}, host, alone_)["none"].get<std::string>(), HasSubstr("cannot be read any more"));
}

}  // namespace
}  // namespace plaquette
