// SPDX-License-Identifier: Apache-2.0
// needs: keras
// Malformed Keras models: a configuration is refused by data_error, or it becomes a network. An archive is
// refused by data_error, or its entries are inside the archive. An HDF5 file is refused by data_error, or it
// becomes a network. The first byte selects a configuration (0: to train, 1: to predict), the archive of a
// .keras file (2) or an HDF5 file (3).
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/backends_keras_import_keras_fuzz some/folder tests/backends/keras/import_keras_fuzz
#include <cohort/error/exceptions.hpp>
#include <cohort/keras.hpp>
#include <cohort/keras/detail/import_keras.hpp>
#include <cohort/keras/detail/stored_zip.hpp>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace cohort;
  if (size == 0) return 0;
  auto const* const first = reinterpret_cast<std::byte const*>(data);
  try {
    if (data[0] % 4 < 2) {
      std::string_view const config(reinterpret_cast<char const*>(data) + 1, size - 1);
      imported_model const made = from_keras_config(config, {.training = data[0] % 4 == 0});
      if (made.inputs.empty() || made.network().view().size() == 0) std::abort();
    } else if (data[0] % 4 == 3) {
      detail::hdf5_file const file("file", std::span(first + 1, size - 1));
      imported_model const made = detail::import_keras(file, {});
      if (made.inputs.empty()) std::abort();
    } else {
      detail::stored_zip const archive({first + 1, first + size}, "file");
      for (char const* const name : {"metadata.json", "config.json", "model.weights.h5"})
        if (archive.has(name) && archive.read(name).size() >= size) std::abort();
    }
  } catch (data_error const&) {
  }
  return 0;
}
