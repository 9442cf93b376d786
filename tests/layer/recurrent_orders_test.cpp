// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/layer/recurrent.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "../golden/golden_cases.hpp"
#include "lone_layer.hpp"

/// Weights of other systems, converted as the table in docs/sequences.md describes.
namespace recurrent_orders_test {

using namespace cohort;
using numbers = std::vector<double>;
using blocks = std::vector<std::size_t>;

constexpr int batch = 2, steps = 4, features = 3, units = 3;

/// Cells of the table's row whose first cell begins with `system`.
std::vector<std::string> row_of(std::string const& system) {
  std::ifstream page(COHORT_SOURCE_DIR "/docs/sequences.md");
  bool reached = false;
  for (std::string line; std::getline(page, line);) {
    reached |= line == "### Weights of other systems";
    if (!reached || line.rfind("| " + system, 0) != 0) continue;
    std::vector<std::string> cells;
    std::istringstream rest(line.substr(1));
    for (std::string cell; std::getline(rest, cell, '|');) cells.push_back(cell);
    return cells;
  }
  ADD_FAILURE() << "no row of " << system;
  return {};
}

/// Numbers at the end of a cell.
blocks order_in(std::string const& cell) {
  std::istringstream words(cell.substr(cell.find_last_not_of(" 0123456789") + 1));
  blocks made;
  for (std::size_t one = 0; words >> one;) made.push_back(one);
  return made;
}

/// Block k of the result is block order[k] of `from`.
numbers reordered(numbers const& from, blocks const& order) {
  std::size_t const each = from.size() / order.size();
  numbers made;
  for (std::size_t const block : order) {
    auto const first = from.begin() + static_cast<std::ptrdiff_t>(block * each);
    made.insert(made.end(), first, first + static_cast<std::ptrdiff_t>(each));
  }
  return made;
}

numbers transposed(numbers const& from, std::size_t columns) {
  numbers made;
  for (std::size_t c = 0; c < columns; ++c)
    for (std::size_t at = c; at < from.size(); at += columns) made.push_back(from[at]);
  return made;
}

/// `tolerance`: the numbers of the file have 13 digits. Keras with jax computes parts of its layers in f32.
template <layer L>
void compare(std::string const& name, std::string const& system, L const& l, double tolerance = 1e-11) {
  SCOPED_TRACE(name);
  golden_case const wanted = read_golden_cases("recurrent_orders.txt").at(name);
  std::vector<std::string> const row = row_of(system);
  ASSERT_GE(row.size(), 7U);
  std::size_t const gates = L::kind_name == "lstm" ? 4 : L::kind_name == "gru" ? 3 : 1;
  blocks const order = gates == 1 ? blocks{0} : order_in(row[gates == 4 ? 2 : 4]);
  ASSERT_EQ(order.size(), gates);
  bool const transposes = row[5].find("transpose") != std::string::npos;
  auto const matrix = [&](std::string const& key) {
    numbers const& given = numbers_of(wanted, key);
    return reordered(transposes ? transposed(given, gates * units) : given, order);
  };
  std::vector<numbers> parameters{matrix("weights"), matrix("recurrent"),
                                  reordered(numbers_of(wanted, "bias"), order)};
  if (wanted.contains("recurrent_bias")) {
    numbers const second = reordered(numbers_of(wanted, "recurrent_bias"), order);
    shape const input{steps, features};
    parameter_list const list = l.parameters({&input, 1});
    if (list.count > 3 && list.specs[3].name == "recurrent_bias")
      parameters.push_back(second);
    else
      std::transform(second.begin(), second.end(), parameters[2].begin(), parameters[2].begin(),
                     std::plus<>());
  }
  if (wanted.contains("peepholes")) {
    numbers const& given = numbers_of(wanted, "peepholes");
    parameters.push_back(reordered(transposes ? transposed(given, 3) : given, order_in(row[6])));
  }
  lone_layer<> run(l, batch, {{steps, features}}, {numbers_of(wanted, "input")}, parameters);
  numbers const& got = run.forward();
  numbers const& expected = numbers_of(wanted, "output");
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << i;
}

TEST(recurrent_orders, convert_weights_of_onnx) {
  compare("onnx_lstm", "ONNX", lstm{.units = units});
  compare("onnx_lstm_peepholes", "ONNX", lstm{.units = units, .peepholes = true});
  compare("onnx_gru", "ONNX", gru{.units = units});
  compare("onnx_gru_before", "ONNX", gru{.units = units, .reset_after = false});
  compare("onnx_simple_rnn", "ONNX", simple_rnn{.units = units});
}

TEST(recurrent_orders, convert_weights_of_keras) {
  compare("keras_lstm", "Keras", lstm{.units = units}, 1e-6);
  compare("keras_gru", "Keras", gru{.units = units}, 1e-6);
  compare("keras_gru_before", "Keras", gru{.units = units, .reset_after = false}, 1e-6);
}

TEST(recurrent_orders, convert_weights_of_deeplearning4j) {
  compare("deeplearning4j_lstm", "Deeplearning4j", lstm{.units = units});
  compare("deeplearning4j_lstm_peepholes", "Deeplearning4j", lstm{.units = units, .peepholes = true});
}

/// tests/golden/recurrent.py converts the gates of PyTorch's modules in this order.
TEST(recurrent_orders, convert_weights_of_pytorch) {
  EXPECT_EQ(order_in(row_of("PyTorch").at(2)), (blocks{0, 1, 2, 3}));
  EXPECT_EQ(order_in(row_of("PyTorch").at(4)), (blocks{1, 0, 2}));
}

}  // namespace recurrent_orders_test
