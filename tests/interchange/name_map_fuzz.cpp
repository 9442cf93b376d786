// SPDX-License-Identifier: Apache-2.0
// Malformed name maps: a text is refused by a data_error with its line, or it becomes rules, which
// read_mapped uses.
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/interchange_name_map_fuzz some/folder tests/interchange/name_map_fuzz
#include <cohort/backend/reference.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/graph/graph.hpp>
#include <cohort/interchange/name_map.hpp>
#include <cohort/layer/recurrent.hpp>
#include <cohort/plan/parameter_store.hpp>
#include <cohort/training/own_backend.hpp>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  using namespace cohort;
  static graph const net = graph::build([](builder& b) {
    return b.input({4, 2}) | lstm{.units = 2, .last_step = true} | dense{.units = 2}
           | softmax_cross_entropy{};
  });
  static parameter_store<reference<float>> store(reference<float>{}, net);
  static std::vector<float> const values(64, 1);
  static std::vector<stored_tensor> const tensors{
      {"rnn.weight_ih_l0", {values.data(), {8, 2}}},     {"rnn.weight_hh_l0", {values.data(), {8, 2}}},
      {"rnn.bias_ih_l0", {values.data(), {8}}},          {"rnn.bias_hh_l0", {values.data(), {8}}},
      {"head.weight", {values.data(), {2, 2}}},          {"head.bias", {values.data(), {2}}},
      {"head.num_batches_tracked", {values.data(), {1}}}};
  // A copy of exactly this size, so that the address sanitizer detects reads past the end.
  std::vector<char> const copy(data, data + size);
  try {
    name_map const map = name_map::parse({copy.data(), copy.size()}, "map");
    read_mapped(tensors, "file", map, net, store);
  } catch (data_error const& refused) {
    std::string_view const where = refused.why().where;
    if (!where.starts_with("map") && !where.starts_with("file")) std::abort();
  }
  return 0;
}
