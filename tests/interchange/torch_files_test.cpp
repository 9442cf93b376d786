// SPDX-License-Identifier: Apache-2.0
// Files of PyTorch's exporters and of tf2onnx with a batch of any size: tests/golden/onnx_torch.py and
// onnx_keras.py.
#include <gtest/gtest.h>
#include <cmath>
#include <cohort/backend/reference.hpp>
#include <cohort/interchange/import_onnx.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/layer/recurrent_output.hpp>
#include <cohort/layer/rms_norm.hpp>
#include <cohort/training/load.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace torch_files_test {

using namespace cohort;

struct array {
  shape dims{};
  std::vector<double> values{};

  tensor_view view() const { return {values.data(), dims}; }
};

struct file_case {
  std::string name{};
  array input{}, output{};
};

std::string const golden = COHORT_SOURCE_DIR "/tests/golden/";

array read_array(std::istringstream& words) {
  array result;
  for (std::string word; words >> word && word != ":";) result.dims[result.dims.rank++] = std::stoi(word);
  for (double value = 0; words >> value;) result.values.push_back(value);
  return result;
}

std::vector<file_case> read_cases(std::string const& folder) {
  std::vector<file_case> all;
  std::ifstream file(folder + "values.txt");
  for (std::string line, word; std::getline(file, line);) {
    std::istringstream words(line);
    words >> word;
    if (word == "case") words >> all.emplace_back().name;
    if (word == "input") all.back().input = read_array(words);
    if (word == "output") all.back().output = read_array(words);
  }
  return all;
}

void expect_equal_outputs(std::string const& folder, std::size_t count) {
  std::vector<file_case> const cases = read_cases(folder);
  EXPECT_EQ(cases.size(), count);
  for (file_case const& file : cases) {
    SCOPED_TRACE(file.name);
    imported_model const model = import_onnx(folder + file.name + ".onnx");
    training const run = load_imported<reference<double>>(model);
    predictions const outputs = run.predict(file.input.view());
    ASSERT_EQ(outputs.values.size(), file.output.values.size());
    for (std::size_t i = 0; i < outputs.values.size(); ++i)
      ASSERT_NEAR(static_cast<double>(outputs.values[i]), file.output.values[i], 1e-5) << i;
  }
}

TEST(torch_files, have_the_outputs_of_pytorch) { expect_equal_outputs(golden + "onnx_torch/", 47); }

TEST(tf2onnx_files, have_the_outputs_of_onnx_runtime) { expect_equal_outputs(golden + "onnx_keras/", 21); }

}  // namespace torch_files_test
