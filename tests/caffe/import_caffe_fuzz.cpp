// SPDX-License-Identifier: Apache-2.0
// Malformed networks of Caffe: a file is refused by data_error or graph_error, or it becomes a network.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/caffe_import_caffe_fuzz some/folder tests/caffe/import_caffe_fuzz
#include <cohort/caffe/import_caffe.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace cohort;
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  try {
    prototxt_message const net = parse_prototxt(text, "input");
    for (auto const phase : {caffe_state::phases::train, caffe_state::phases::test}) {
      caffe_model const made = import_caffe(net, "", {.state = {.phase = phase}});
      if (made.model.network().view().size() == 0) std::abort();
    }
  } catch (data_error const& why) {
    if (why.why().what.empty()) std::abort();
  } catch (graph_error const& why) {
    if (why.why().where.empty() || why.why().expected.empty() || why.why().got.empty()) std::abort();
  }
  return 0;
}
