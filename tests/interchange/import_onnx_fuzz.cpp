// SPDX-License-Identifier: Apache-2.0
// Malformed ONNX files: a file is refused by data_error or graph_error, or it becomes a network.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/interchange_import_onnx_fuzz some/folder tests/interchange/import_onnx_fuzz
#include <cohort/interchange/import_onnx.hpp>
#include <cohort/layer/attention.hpp>
#include <cohort/layer/positions.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/layer/rms_norm.hpp>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace cohort;
  try {
    imported_model const made = import_onnx(std::as_bytes(std::span(data, size)), "input");
    if (made.inputs.empty() || made.network().view().size() == 0) std::abort();
  } catch (data_error const&) {
  } catch (graph_error const& why) {
    if (why.why().where.empty() || why.why().expected.empty()
        || why.why().got.find("; ") == std::string::npos)
      std::abort();
  }
  return 0;
}
