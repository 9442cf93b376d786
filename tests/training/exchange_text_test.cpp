// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cohort/training/exchange_text.hpp>
#include <string>
#include <vector>

namespace exchange_text_test {

using namespace cohort;

std::vector<measurement> const shared{{"threshold", 0.0012},
                                      {"density", 0.5},  // of the last message
                                      {"sent_elements", 700, true},
                                      {"message_bytes", 1'192'000, true},
                                      {"dense_bytes", 2'800'000, true},
                                      {"entropy_bytes", 1'100'000, true},
                                      {"staleness", 0},
                                      {"residual_norm", 0.8125},
                                      {"clipped_mass", 0, true},
                                      {"encode_seconds", 0.03, true},
                                      {"transfer_seconds", 2.1, true},
                                      {"apply_seconds", 0.002, true}};

TEST(exchange_text, reports_bytes_threshold_and_times_of_sharing) {
  EXPECT_EQ(exchange_text(shared, {}, 100),
            "1.2 MB of 2.8 MB dense (42.6 %), entropy bound 1.1 MB; threshold 0.0012, density 0.1 %; "
            "residual norm 0.812; "
            "encode 0.300 ms, transfer 21.0 ms, apply 0.020 ms a step");
}

TEST(exchange_text, covers_the_interval_since_a_given_start) {
  std::vector<measurement> later = shared;
  for (measurement& one : later)
    if (one.is_sum) one.value *= 3;
  later[0].value = 0.002;
  later[8].value = 7;  // clipped
  EXPECT_EQ(exchange_text(later, shared, 200),
            "2.4 MB of 5.6 MB dense (42.6 %), entropy bound 2.2 MB; threshold 0.002, density 0.1 %; residual "
            "norm 0.812, "
            "clipped mass 7; encode 0.300 ms, transfer 21.0 ms, apply 0.020 ms a step");
}

TEST(exchange_text, reports_the_hidden_part_and_the_number_of_exchanges) {
  EXPECT_EQ(exchange_text(std::vector<measurement>{{"exchanges", 20, true},
                                                   {"message_bytes", 5e6, true},
                                                   {"dense_bytes", 5e6, true},
                                                   {"transfer_seconds", 0.5, true},
                                                   {"hideable_seconds", 1, true},
                                                   {"waited_seconds", 0.1, true},
                                                   {"hidden", 0.1}},
                          {}, 100),
            "20 exchanges; 5.0 MB dense; transfer 5.00 ms a step, 80 % hidden behind compute");
}

TEST(exchange_text, reports_the_delay_of_applied_steps) {
  EXPECT_EQ(exchange_text(std::vector<measurement>{{"message_bytes", 5, true}, {"staleness", 4}}, {}, 1),
            "5 B dense; 4 steps late");
  EXPECT_EQ(exchange_text(std::vector<measurement>{{"message_bytes", 5, true},
                                                   {"staleness", 4},
                                                   {"staleness_0", 1, true},
                                                   {"staleness_1", 0, true},
                                                   {"staleness_4", 3, true}},
                          {}, 1),
            "5 B dense; 0 steps late 25.0 %, 4 steps late 75.0 %");
}

TEST(exchange_text, prints_unknown_quantities_and_nothing_without_an_exchange) {
  EXPECT_EQ(exchange_text(std::vector<measurement>{{"gossip partners", 3}}, {}, 5), "gossip partners 3");
  EXPECT_EQ(exchange_text({}, {}, 5), "");
}

constexpr interval_cost small_messages{
    .steps = 100, .compute_seconds = 0.4, .exchange_seconds = 1.2, .bytes = 40e6, .messages = 1000};

TEST(exchange_warning, contains_the_reason_and_a_remedy) {
  EXPECT_EQ(
      exchange_warning(small_messages),
      "the exchange takes longer than compute: 12.0 ms a step (with waits for slower ranks), compute 4.00 "
      "ms; 10 messages of 40.0 kB a step: at this size latency dominates. Estimated gain in samples/s: "
      "1.6 times with a batch twice as large, 2.5 times with a fifth of the exchanges");
  interval_cost large = small_messages;
  large.bytes = 60e6;
  EXPECT_NE(exchange_warning(large).find("bandwidth dominates, and a sharing strategy sends fewer bytes"),
            std::string::npos);
  large.selects = true;
  EXPECT_NE(exchange_warning(large).find("and a lower density sends fewer bytes"), std::string::npos);
  large.messages = 0;
  EXPECT_EQ(exchange_warning(large).find("at this size"), std::string::npos);
}

TEST(exchange_warning, is_empty_if_compute_takes_as_long_as_the_exchange) {
  interval_cost even = small_messages;
  even.compute_seconds = even.exchange_seconds;
  EXPECT_EQ(exchange_warning(even), "");
  EXPECT_EQ(exchange_warning({}), "");
}

}  // namespace exchange_text_test
