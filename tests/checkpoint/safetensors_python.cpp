// SPDX-License-Identifier: Apache-2.0
// For safetensors_python_test.py: reads a file and writes it again (`copy FROM TO`), or only reads it (`check
// FILE`).
#include <cohort/checkpoint/safetensors.hpp>
#include <cohort/checkpoint/safetensors_writer.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstdio>
#include <string_view>

int main(int count, char** words) {
  try {
    std::string_view const verb = count > 1 ? words[1] : "";
    if (verb == "copy" && count == 4) {
      auto const file = cohort::safetensors::load(words[2]);
      cohort::save_safetensors(words[3], file.tensors(), file.metadata());
    } else if (verb == "check" && count == 3) {
      cohort::safetensors::load(words[2]);
    } else {
      std::fputs("usage: safetensors_python copy FROM TO | check FILE\n", stderr);
      return 2;
    }
  } catch (cohort::error const& refused) {
    std::puts(refused.what());
    return 1;
  }
}
