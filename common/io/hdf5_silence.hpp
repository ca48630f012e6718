// SPDX-License-Identifier: BSD-3-Clause
/// \file
/// For files that call HDF5 themselves: its error messages are switched off for a while.
#pragma once

#include <hdf5.h>

namespace plaquette {

/// HDF5 prints its errors on stderr unless it is told not to; here they become exceptions.
class hdf5_silence {
 public:
  hdf5_silence() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~hdf5_silence() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  hdf5_silence(const hdf5_silence&) = delete;
  hdf5_silence& operator=(const hdf5_silence&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace plaquette
