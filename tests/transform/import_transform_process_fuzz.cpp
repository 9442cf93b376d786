// SPDX-License-Identifier: Apache-2.0
// Malformed TransformProcesses of DataVec are refused by data_error, or become a pipeline that its JSON
// reproduces.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/transform_import_transform_process_fuzz F tests/transform/import_transform_process_fuzz
#include <cohort/error/exceptions.hpp>
#include <cohort/transform/import_transform_process.hpp>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace cohort;
  try {
    transform_pipeline const how =
        import_transform_process(std::string_view(reinterpret_cast<char const*>(data), size));
    if (!(transform_pipeline::from_json(to_json(how)) == how)) std::abort();
  } catch (data_error const&) {
  }
  return 0;
}
