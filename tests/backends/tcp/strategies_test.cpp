// SPDX-License-Identifier: Apache-2.0
// label: slow
// Strategies give the same guarantees over TCP as between threads.
#include "../../strategy/process_cases.hpp"

#include <gtest/gtest.h>
#include <string>
#include <tuple>
#include <vector>

#include "tcp_ranks.hpp"

namespace tcp_strategies_test {

using namespace cohort_test;

class strategies_over_tcp : public testing::TestWithParam<std::tuple<rank_case, int>> {};

TEST_P(strategies_over_tcp, fulfil_their_contracts) {
  auto const& [tested, ranks] = GetParam();
  bool const encrypts = ranks == 3;
  tcp_test::on_tcp_ranks(ranks, tested.run, encrypts ? tcp_test::shared_key() : detail::tls_identity(),
                         ranks == 2);
}

std::vector<std::tuple<rank_case, int>> cases() {
  std::vector<std::tuple<rank_case, int>> all;
  for (rank_case const& one : process_cases)
    for (int ranks = one.least_ranks; ranks <= 4; ++ranks) all.emplace_back(one, ranks);
  return all;
}

INSTANTIATE_TEST_SUITE_P(all, strategies_over_tcp, testing::ValuesIn(cases()), [](auto const& one) {
  return std::string(std::get<0>(one.param).name) + "_on_" + std::to_string(std::get<1>(one.param));
});

}  // namespace tcp_strategies_test
