// SPDX-License-Identifier: Apache-2.0
// Malformed .caffemodel files: a file is refused by data_error, or its layers are written and read back.
// Their parameters are also imported into a network: they have the shapes of its layers, or are refused.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/caffe_caffe_weights_fuzz some/folder tests/caffe/caffe_weights_fuzz
#include <cohort/caffe/detail/caffe_importer.hpp>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

using namespace cohort;

prototxt_message const& network() {
  static prototxt_message const net = parse_prototxt(R"(
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 2 dim: 3 dim: 3 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 2 kernel_size: 2 } }
layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "bn" }
layer { name: "prelu" type: "PReLU" bottom: "bn" top: "prelu" }
layer { name: "up" type: "Deconvolution" bottom: "prelu" top: "up"
  convolution_param { num_output: 2 kernel_size: 2 group: 2 bias_term: false } }
layer { name: "ip" type: "InnerProduct" bottom: "up" top: "ip"
  inner_product_param { num_output: 2 transpose: true } })",
                                                     "net.prototxt");
  return net;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const bytes(reinterpret_cast<char const*>(data), size);
  try {
    auto const layers = detail::read_caffemodel(bytes, "input");
    if (detail::read_caffemodel(detail::write_caffemodel(layers), "again").size() != layers.size())
      std::abort();
    caffe_model const model = detail::caffe_importer(network(), {}).run(layers, "input");
    if (model.parameters.empty()) std::abort();
  } catch (data_error const& why) {
    if (why.why().what.empty()) std::abort();
  }
  return 0;
}
