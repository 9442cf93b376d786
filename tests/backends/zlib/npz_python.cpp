// SPDX-License-Identifier: Apache-2.0
// needs: zlib
// For npz_python_test.py: reads a .npz or .npy file and writes it again: `npz_python FROM TO [deflate]`.
#include <cohort/npz.hpp>
#include <cstdio>
#include <string>

int main(int count, char** words) {
  try {
    if (count < 3) {
      std::fputs("usage: npz_python FROM TO [deflate]\n", stderr);
      return 2;
    }
    std::string const from = words[1];
    if (from.ends_with(".npy")) {
      cohort::npy_array const loaded = cohort::npy_array::load(from);
      cohort::save_npy(words[2], loaded.view());
    } else {
      auto const file = cohort::npz_file::load(from);
      cohort::save_npz(words[2], file.tensors(),
                       count > 3 ? cohort::npz_compression::deflate : cohort::npz_compression::none);
    }
  } catch (cohort::error const& refused) {
    std::puts(refused.what());
    return 1;
  }
}
