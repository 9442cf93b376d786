// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cohort/checkpoint/detail/array_pieces.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/checkpoint/safetensors_writer.hpp>
#include <cohort/graph/network.hpp>
#include <numeric>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace array_pieces_test {

using namespace cohort;

graph tiny() {
  return graph::build([](builder& net) { return net.input({2}) | dense{.units = 1} | mean_squared_error{}; });
}

std::string file_with(std::vector<float> const& values, std::size_t longest) {
  graph const net = tiny();
  model_content content{graph_view(net)};
  float const other = 7;
  content.add("strategy/before", tensor_view(&other, {1}));
  detail::add_pieces(content, "strategy/long", element_type::f32, std::as_bytes(std::span(values)), longest);
  content.add("strategy/wide", tensor_view(values.data(), {values.empty() ? 0 : 1}));
  std::ostringstream out;
  write_safetensors(out, content.tensors(), content.metadata());
  return out.str();
}

TEST(array_pieces, are_joined_into_a_single_array) {
  for (std::size_t const elements : {0, 1, 15, 16, 17, 32, 100}) {
    std::vector<float> values(elements);
    std::iota(values.begin(), values.end(), 1.0F);
    std::istringstream in(file_with(values, 16));
    safetensors const file = safetensors::read(in);
    EXPECT_EQ(file.tensors().size(), 2 + std::max<std::size_t>(1, (elements + 15) / 16));
    auto const got = detail::pieces_in(file, "strategy/long");
    ASSERT_EQ(got.size(), elements * sizeof(float));
    EXPECT_TRUE(std::equal(got.begin(), got.end(), std::as_bytes(std::span(values)).begin()));
  }
}

TEST(array_pieces, that_are_not_contiguous_are_refused) {
  std::vector<float> const values(40);
  std::string bytes = file_with(values, 16);
  for (char const* digits : {"29", "32"}) {  // the third piece has the name of the second
    std::size_t const at = bytes.find(std::string("strategy/long/") + digits[0] + '"');
    ASSERT_NE(at, bytes.npos);
    bytes[at + std::string("strategy/long/").size()] = digits[1];
  }
  std::istringstream in(bytes);
  safetensors const file = safetensors::read(in);
  try {
    detail::pieces_in(file, "strategy/long");
    FAIL() << "the third piece was taken for the second";
  } catch (data_error const& why) {
    EXPECT_NE(std::string(why.what()).find("directly after the previous piece"), std::string::npos)
        << why.what();
  }
}

}  // namespace array_pieces_test
