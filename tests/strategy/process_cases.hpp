// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requirements on strategies over processes, the same as over threads.
#include <cohort/communicator/launch.hpp>
#include <string>
#include <string_view>
#include "asynchronous_cases.hpp"
#include "message_cases.hpp"
#include "outer_cases.hpp"
#include "shard_cases.hpp"
#include "sharing_cases.hpp"

namespace cohort_test {

/// Strategies whose ranks have the same bits. Each rank sends its own message, so that threads exchange the
/// same messages as processes.
inline std::vector<threshold_sharing> all_kinds_of_sharing() {
  std::vector<threshold_sharing> all{sharing(), sharing(route::merged), update_sharing(),
                                     update_sharing(route::merged), late_sharing()};
  for (threshold_sharing& one : all) one.settings.group = sharing_group::rank;
  return all;
}

struct rank_case {
  std::string_view name;
  void (*run)(communicator&);
  int least_ranks = 1;  // with fewer, it checks nothing
};

inline constexpr rank_case process_cases[]{
    {"allreduce_equals_one_rank", allreduce_equals_one_rank<>},
    {"allreduce_in_place_equals_one_rank", allreduce_equals_one_rank<broad>},
    {"allreduce_is_bitwise_equal_on_all_ranks_after_each_step", ranks_hold_the_same_bits_after_each_step<>},
    {"allreduce_in_place_is_bitwise_equal_on_all_ranks_after_each_step",
     ranks_hold_the_same_bits_after_each_step<broad>},
    {"allreduce_is_deterministic_for_a_seed", runs_of_one_seed_have_the_same_bits},
    {"averaging_in_every_step_equals_allreduce", averaging_each_step_is_allreduce<>},
    {"averaging_weighs_parameters_by_the_number_of_examples", averaging_weighs_by_examples<>},
    {"averaging_in_place_weighs_parameters_by_the_number_of_examples", averaging_weighs_by_examples<broad>},
    {"averaging_is_not_changed_by_evaluation_between_averagings",
     evaluation_between_meetings_changes_nothing},
    {"averaging_keeps_the_optimizers_state_local_if_requested", own_state_stays_own_if_it_is_told_to},
    {"allreduce_evaluates_in_shards_like_one_rank", evaluation_is_that_of_one_rank},
    {"allreduce_trains_on_streams_of_different_lengths", ranks_without_data_and_with_fewer_batches_train_on<>,
     2},
    {"allreduce_trains_on_fewer_examples_than_ranks", more_ranks_than_examples_train_on<>},
    {"allreduce_refuses_ranks_with_different_settings", ranks_that_disagree_refuse_to_begin, 2},
    {"allreduce_sends_the_documented_number_of_bytes", sends_the_bytes_that_its_contract_says},
    {"allreduce_learns_with_a_low_precision_wire", few_bits_on_the_wire_lead_where_all_do},
    {"sharded_state_is_bitwise_equal_to_whole_state", shards::runs_with_and_without_shards_are_equal, 2},
    {"allreduce_stops_all_ranks_for_a_non_finite_number",
     [](communicator& all) { a_number_that_is_not_finite_stops_all_and_is_named(all, false); }, 2},
    {"averaging_stops_all_ranks_for_a_non_finite_number",
     [](communicator& all) { a_number_that_is_not_finite_stops_all_and_is_named(all, true); }, 2},
    {"averaging_detects_a_non_finite_number_after_the_last_averaging",
     a_number_behind_the_last_meeting_is_heard},
    {"averaging_skips_non_finite_steps_between_two_averagings", numbers_between_two_meetings_are_left_out},
    {"averaging_observes_a_stop_request_at_the_end_of_an_epoch", a_stop_at_an_epochs_end_is_heard_there},
    {"a_report_accumulates_several_evaluations", a_report_may_see_several_passes},
    {"an_evaluation_that_fails_on_one_rank_fails_on_all", an_evaluation_that_fails_on_one_rank_fails_on_all},
    {"allreduce_stops_all_ranks_if_one_requests_it",
     [](communicator& all) { one_rank_stops_all(all, false); }},
    {"averaging_stops_all_ranks_if_one_requests_it",
     [](communicator& all) { one_rank_stops_all(all, true); }},
    {"outer_steps_follow_the_documented_formula", outer_steps_are_those_by_hand},
    {"every_kind_of_averaging_is_bitwise_equal_on_all_ranks",
     every_kind_of_averaging_has_the_same_bits_everywhere},
    {"outer_steps_stop_all_ranks_if_a_stop_request_is_detected_late", one_rank_stops_all_that_hear_late},
    {"overlapped_averaging_trains_on_streams_of_different_lengths", overlapped_averaging_ends_with_a_stream,
     2},
    {"outer_steps_have_no_pending_mean_after_a_failure", a_mean_under_way_ends_with_its_run},
    {"message_exchange_conserves_the_gradient_sum", message_cases::messages_lose_nothing},
    {"sharing_is_deterministic_for_a_seed", sharing_runs_of_one_seed_have_the_same_bits},
    {"sharing_sends_the_documented_number_of_bytes", sharing_sends_the_bytes_of_its_contract},
    {"sharing_stops_all_ranks_if_one_requests_it", sharing_stops_when_one_asks},
    {"sharing_trains_on_uneven_data",
     [](communicator& all) {
       for (auto const& how : {sharing(), sharing(route::merged), update_sharing(), late_sharing()})
         sharing_trains_on_uneven_data(all, how);
     },
     2},
    {"sharing_stops_all_ranks_for_a_non_finite_number",
     [](communicator& all) {
       for (auto const& how : {sharing(), sharing(route::merged), update_sharing()})
         sharing_stops_all_for_a_number_that_is_not_finite(all, how);
     }},
    {"unbounded_sharing_trains_on_uneven_data",
     [](communicator& all) { sharing_trains_on_uneven_data(all, unbounded_sharing()); }, 2},
    {"unbounded_sharing_stops_all_ranks_if_one_requests_it", unbounded_sharing_stops_when_one_asks},
    {"unbounded_sharing_is_evaluated_equally_on_all_ranks", unbounded_sharing_is_evaluated_alike},
    {"strategies_are_bitwise_equal_to_ranks_in_threads",
     [](communicator& all) {
       std::string here = checksum_after(all, allreduce{}, with_state());
       here += checksum_after(all, parameter_averaging{.every = 3}, with_state());
       for (threshold_sharing const& how : all_kinds_of_sharing())
         here += checksum_after(all, how, with_state());
       std::string there;
       launch<threads>(all.size(), [&](communicator& ranks) {
         std::string text = checksum_after(ranks, allreduce{}, with_state());
         text += checksum_after(ranks, parameter_averaging{.every = 3}, with_state());
         for (threshold_sharing const& how : all_kinds_of_sharing())
           text += checksum_after(ranks, how, with_state());
         if (ranks.rank() == all.rank()) there = text;
       });
       EXPECT_EQ(here, there);
     }},
};

}  // namespace cohort_test
