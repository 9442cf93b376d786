// SPDX-License-Identifier: Apache-2.0
// Malformed solvers of Caffe, and malformed mean files: a file is refused by data_error or setting_error, or
// it becomes settings or a mean. An input that begins with a byte below 32, other than a line end, is a mean
// file.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/caffe_caffe_solver_fuzz some/folder tests/caffe/caffe_solver_fuzz
#include <cohort/caffe/caffe_solver.hpp>
#include <cohort/caffe/caffe_transform.hpp>
#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace cohort;
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  try {
    if (!text.empty() && static_cast<unsigned char>(text[0]) < 32 && text[0] != '\n') {
      caffe_mean const mean = caffe_mean::parse(text, "input");
      if (static_cast<std::size_t>(mean.extents.elements()) != mean.values.size()) std::abort();
      return 0;
    }
    prototxt_message message = parse_prototxt(text, "input");
    for (char const* const path : {"net", "train_net", "test_net"}) message.remove(path);  // opens no files
    if (message.has("transform_param")) {
      prototxt_message transform = message.message("transform_param");
      transform.remove("mean_file");
      if (caffe_transform::from(transform, true).crop < 0) std::abort();
      message.remove("transform_param");
    }
    caffe_solver const solver = caffe_solver::from(message);
    if (solver.optimizer().rule.name().empty() || solver.iter_size < 1) std::abort();
  } catch (data_error const& why) {
    if (why.why().what.empty()) std::abort();
  } catch (setting_error const& why) {
    if (why.why().where.empty()) std::abort();
  }
  return 0;
}
