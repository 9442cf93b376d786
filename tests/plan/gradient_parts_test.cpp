// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/plan/gradient_parts.hpp>
#include <cohort/random/stream.hpp>
#include <vector>

#include "trial.hpp"

namespace gradient_parts_test {

using namespace cohort;

/// Tests with one to five workers: the sum is computed in the order of the workers, for any division into
/// ranges.
template <class T>
void sums_as_one_after_another() {
  graph const net = graph::build([](builder& made) {
    return made.input({1, 30, 30}) | dense{.units = 11} | dense{.units = 2} | softmax_cross_entropy{};
  });
  trial<reference<T>> const t(net, {.batch = 1});
  parameter_set const& parameters = *t.store;
  std::size_t const n = parameters.arena_elements();
  ASSERT_GT(n, 9000U);
  for (std::size_t const workers : {1U, 2U, 3U, 5U}) {
    std::vector<std::vector<T>> arenas;
    std::vector<std::byte*> parts;
    for (std::size_t w = 0; w < workers; ++w) {
      random_stream const noise(w, "gradients");
      auto& arena = arenas.emplace_back(n);
      for (std::size_t i = 0; i < n; ++i) arena[i] = noise.normal<T>(i);
    }
    for (auto& one : arenas) parts.push_back(reinterpret_cast<std::byte*>(one.data()));
    std::vector<T> expected = arenas[0];
    for (std::size_t w = 1; w < workers; ++w)
      for (std::size_t i = 0; i < n; ++i) expected[i] += arenas[w][i];
    std::vector<T> const second = workers > 1 ? arenas[1] : std::vector<T>();

    gradient_parts gradients(parameters, parts);
    for (bucket const& one : parameters.buckets()) gradients.sum(one);
    for (parameter const& p : parameters.table())
      for (std::size_t i = p.offset; i < p.offset + p.room; ++i) {
        ASSERT_EQ(arenas[0][i], expected[i]) << workers << " workers, element " << i;
        for (std::size_t w = 1; w < workers; ++w) ASSERT_EQ(arenas[w][i], 0);
      }
  }
}

TEST(gradient_parts, are_summed_in_the_order_of_workers_and_cleared) {
  sums_as_one_after_another<float>();
  sums_as_one_after_another<double>();
}

/// Only the bucket's own parameters are accessed. pack writes the canonical view, and unpack reads it.
TEST(gradient_parts, of_one_bucket_do_not_affect_other_buckets) {
  graph const net = graph::build([](builder& made) {
    return made.input({1, 4, 4}) | dense{.units = 3} | dense{.units = 2} | softmax_cross_entropy{};
  });
  trial<reference<float>> const t(net, {.batch = 1});
  parameter_set const& parameters = *t.store;
  std::vector<float> one(parameters.arena_elements(), 1), two(one.size(), 2);
  gradient_parts gradients(
      parameters, {reinterpret_cast<std::byte*>(one.data()), reinterpret_cast<std::byte*>(two.data())});
  parameter const& last = parameters.table().back();
  bucket only{};
  only.first_parameter = static_cast<int>(parameters.table().size()) - 1;
  only.parameters = 1;
  only.first = last.first;
  only.elements = last.spec.dims.elements();
  std::vector<float> dense(static_cast<std::size_t>(only.elements));
  gradients.pack(only, reinterpret_cast<std::byte*>(dense.data()));
  EXPECT_EQ(dense, std::vector<float>(dense.size(), 3));
  EXPECT_EQ(one[0], 1);
  EXPECT_EQ(two[0], 2);
  EXPECT_EQ(two[last.offset], 0);
  dense.assign(dense.size(), 7);
  gradients.unpack(only, reinterpret_cast<std::byte const*>(dense.data()));
  EXPECT_EQ(one[last.offset], 7);
}

}  // namespace gradient_parts_test
