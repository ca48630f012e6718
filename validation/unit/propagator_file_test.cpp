// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// Propagator files as other programs leave them: attributes that the suite does not write.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "miniapps/shared/propagator_file.hpp"

namespace plaquette {
namespace {

const communicator alone;

/// A file of zeros whose attributes a test replaces.
class PropagatorFile : public testing::Test {
 protected:
  void SetUp() override {
    propagator_facts facts;
    facts.residuals.assign(cpu::spin_colours, 0.0);
    facts.gauge = "unit";
    facts.tolerance = 1e-10;
    write_propagator(path_, true, cpu::propagator(cpu::spin_colours, spinor_configuration(geometry_)), facts, alone);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void replace(const char* name, hid_t type, const std::vector<hsize_t>& lengths, const void* value) const {
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t data = H5Dopen2(file, "/propagator", H5P_DEFAULT);
    H5Adelete(data, name);
    const hid_t space = lengths.empty() ? H5Screate(H5S_SCALAR)
                                        : H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr);
    const hid_t attribute = H5Acreate2(data, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    ASSERT_GE(H5Awrite(attribute, type, value), 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Dclose(data);
    H5Fclose(file);
  }
  void remove(const char* name) const {
    const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t data = H5Dopen2(file, "/propagator", H5P_DEFAULT);
    H5Adelete(data, name);
    H5Dclose(data);
    H5Fclose(file);
  }
  loaded_propagator read() const { return read_propagator(path_, geometry_, alone); }

  const lattice_geometry geometry_{extents{2, 2, 2, 2}};
  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("propagator_file_test." + std::to_string(getpid()) + ".h5")).string();
};

TEST_F(PropagatorFile, IsReadBack) { EXPECT_EQ(read().facts.basis, gamma_basis::degrand_rossi); }

TEST_F(PropagatorFile, WithManyTextsWhereOneIsExpectedIsRefused) {
  constexpr std::size_t length = 64, count = 512;  // 32 KiB: far more than the one text that is expected
  const std::string many(length * count, 'x');
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, length);
  replace("basis", type, {count}, many.data());
  H5Tclose(type);
  EXPECT_THROW(read(), input_error);
}

TEST_F(PropagatorFile, WithTextsOfVariableLengthIsRead) {
  const char* const value = "degrand-rossi";
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  replace("basis", type, {}, static_cast<const void*>(&value));
  H5Tclose(type);
  EXPECT_EQ(read().facts.basis, gamma_basis::degrand_rossi);
}

/// Returns the message of a refusal; it names the file.
std::string refusal(const std::function<void()>& work, const std::string& path) {
  try {
    work();
    return {};
  } catch (const input_error& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with(path + ": ")) << e.what();
    return e.what();
  }
}

TEST_F(PropagatorFile, WithNumbersThatNoRunHasIsRefused) {
  const auto refused = [&](const char* name, double value) {
    SetUp();
    replace(name, H5T_NATIVE_DOUBLE, {}, &value);
    EXPECT_NE(refusal([&] { read(); }, path_), "") << name << " " << value;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const char* name :
       {"plaquette", "mass", "clover_spatial", "clover_temporal", "anisotropy", "nu", "smearing_radius", "tolerance"})
    for (const double value : {nan, infinity, -infinity, 1e300}) refused(name, value);
  for (const char* name : {"anisotropy", "nu", "tolerance"})
    for (const double value : {0.0, -1.0}) refused(name, value);
  refused("tolerance", 1.0);
  refused("smearing_radius", -1.0);
  const int steps = -3;
  SetUp();
  replace("smearing_steps", H5T_NATIVE_INT, {}, &steps);
  EXPECT_NE(refusal([&] { read(); }, path_).find("smearing_steps"), std::string::npos);
  const std::vector<int> outside{0, 0, 5, 0};
  SetUp();
  remove("facts_checksum");
  replace("source_position", H5T_NATIVE_INT, {4}, outside.data());
  EXPECT_NE(refusal([&] { read(); }, path_).find("0,0,5,0"), std::string::npos);
}

TEST_F(PropagatorFile, WhoseAttributesWereDamagedIsRefused) {
  const double mass = 0.1000001, tolerance = 1e-3;
  replace("mass", H5T_NATIVE_DOUBLE, {}, &mass);
  EXPECT_NE(refusal([&] { read(); }, path_).find("checksum"), std::string::npos);
  SetUp();
  replace("tolerance", H5T_NATIVE_DOUBLE, {}, &tolerance);
  EXPECT_NE(refusal([&] { read(); }, path_).find("checksum"), std::string::npos);
  SetUp();
  remove("facts_checksum");  // as files of before
  replace("mass", H5T_NATIVE_DOUBLE, {}, &mass);
  EXPECT_EQ(read().facts.action.mass, mass);
}

TEST_F(PropagatorFile, WithAWordThatIsUnknownIsRefusedByName) {
  for (const char* name : {"basis", "source"}) {
    SetUp();
    const char* const value = "something";
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    replace(name, type, {}, static_cast<const void*>(&value));
    H5Tclose(type);
    EXPECT_NE(refusal([&] { read(); }, path_).find("something"), std::string::npos) << name;
  }
}

TEST_F(PropagatorFile, OfASourceSmearedForEverIsRefused) {
  const int steps = most_smearing_steps + 1;
  replace("smearing_steps", H5T_NATIVE_INT, {}, &steps);
  EXPECT_THROW(read(), input_error);
}

}  // namespace
}  // namespace plaquette
