// SPDX-License-Identifier: Apache-2.0
// needs: zlib
// Malformed models of Deeplearning4j. The first byte selects a configuration (0: to train, 1: to predict),
// the archive (2), or an array of Nd4j (3). A configuration and an archive are refused by data_error, or
// become a network. An array is refused, or has at most one element for two bytes.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/interchange_import_deeplearning4j_fuzz F tests/interchange/import_deeplearning4j_fuzz
#include <cohort/error/exceptions.hpp>
#include <cohort/interchange/detail/deeplearning4j_translation.hpp>
#include <cohort/interchange/detail/nd4j_reader.hpp>
#include <cohort/interchange/import_deeplearning4j.hpp>
#include <cohort/io/json.hpp>
#include <cohort/zlib.hpp>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace cohort;
  if (size == 0) return 0;
  std::span const bytes(reinterpret_cast<std::byte const*>(data) + 1, size - 1);
  deeplearning4j_settings const settings{
      .steps = 3, .training = data[0] % 4 != 1, .batch = 2, .max_bytes = std::size_t{1} << 24};
  try {
    if (data[0] % 4 < 2) {
      auto const document =
          io::parse_json(std::string_view(reinterpret_cast<char const*>(data) + 1, size - 1));
      detail::deeplearning4j_translation translation("file", settings);
      translation.translate(document.root());
      if (translation.parameters() > std::size_t{1} << 20) return 0;
      std::size_t const numbers = translation.state_numbers();
      imported_model const model = translation.finish(std::vector<float>(translation.parameters(), 0.5F),
                                                      [&] { return std::vector<float>(numbers); });
      if (model.inputs.empty() || model.network().view().size() == 0) std::abort();
    } else if (data[0] % 4 == 2) {
      imported_model const model = import_deeplearning4j(bytes, "file", gzip::inflate, settings);
      if (model.inputs.empty()) std::abort();
    } else {
      detail::nd4j_reader reader(bytes, "file");
      if (2 * reader.array().size() > size) std::abort();
    }
  } catch (data_error const&) {
  }
  return 0;
}
