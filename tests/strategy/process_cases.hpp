// SPDX-License-Identifier: Apache-2.0
#pragma once
// Requirements on strategies over processes, the same as over threads.
#include <cohort/communicator/launch.hpp>
#include <string>
#include <string_view>
#include "asynchronous_cases.hpp"
#include "message_cases.hpp"
#include "outer_cases.hpp"
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
    {"ranks_hold_the_same_bits_after_each_step", ranks_hold_the_same_bits_after_each_step<>},
    {"ranks_hold_the_same_bits_of_sums_in_place", ranks_hold_the_same_bits_after_each_step<broad>},
    {"runs_of_one_seed_have_the_same_bits", runs_of_one_seed_have_the_same_bits},
    {"averaging_each_step_is_allreduce", averaging_each_step_is_allreduce<>},
    {"averaging_weighs_by_examples", averaging_weighs_by_examples<>},
    {"averaging_of_arrays_as_they_lie_weighs_by_examples", averaging_weighs_by_examples<broad>},
    {"evaluation_between_meetings_changes_nothing", evaluation_between_meetings_changes_nothing},
    {"own_state_stays_own_if_it_is_told_to", own_state_stays_own_if_it_is_told_to},
    {"evaluation_is_that_of_one_rank", evaluation_is_that_of_one_rank},
    {"ranks_without_data_and_with_fewer_batches_train_on",
     ranks_without_data_and_with_fewer_batches_train_on<>, 2},
    {"more_ranks_than_examples_train_on", more_ranks_than_examples_train_on<>},
    {"ranks_that_disagree_refuse_to_begin", ranks_that_disagree_refuse_to_begin, 2},
    {"sends_the_bytes_that_its_contract_says", sends_the_bytes_that_its_contract_says},
    {"few_bits_on_the_wire_lead_where_all_do", few_bits_on_the_wire_lead_where_all_do},
    {"allreduce_stops_all_for_a_number_that_is_not_finite",
     [](communicator& all) { a_number_that_is_not_finite_stops_all_and_is_named(all, false); }, 2},
    {"averaging_stops_all_for_a_number_that_is_not_finite",
     [](communicator& all) { a_number_that_is_not_finite_stops_all_and_is_named(all, true); }, 2},
    {"averaging_hears_of_a_number_behind_the_last_meeting", a_number_behind_the_last_meeting_is_heard},
    {"averaging_leaves_out_numbers_between_two_meetings", numbers_between_two_meetings_are_left_out},
    {"averaging_hears_of_a_stop_at_an_epochs_end", a_stop_at_an_epochs_end_is_heard_there},
    {"a_report_may_see_several_passes", a_report_may_see_several_passes},
    {"an_evaluation_that_fails_on_one_rank_fails_on_all", an_evaluation_that_fails_on_one_rank_fails_on_all},
    {"allreduce_stops_all_when_one_asks", [](communicator& all) { one_rank_stops_all(all, false); }},
    {"averaging_stops_all_when_one_asks", [](communicator& all) { one_rank_stops_all(all, true); }},
    {"outer_steps_are_those_by_hand", outer_steps_are_those_by_hand},
    {"every_kind_of_averaging_has_the_same_bits_everywhere",
     every_kind_of_averaging_has_the_same_bits_everywhere},
    {"one_rank_stops_all_that_hear_late", one_rank_stops_all_that_hear_late},
    {"overlapped_averaging_ends_with_a_stream", overlapped_averaging_ends_with_a_stream, 2},
    {"a_mean_under_way_ends_with_its_run", a_mean_under_way_ends_with_its_run},
    {"messages_lose_nothing", message_cases::messages_lose_nothing},
    {"sharing_runs_of_one_seed_have_the_same_bits", sharing_runs_of_one_seed_have_the_same_bits},
    {"sharing_sends_the_bytes_of_its_contract", sharing_sends_the_bytes_of_its_contract},
    {"sharing_stops_all_when_one_asks", sharing_stops_when_one_asks},
    {"sharing_trains_on_uneven_data",
     [](communicator& all) {
       for (auto const& how : {sharing(), sharing(route::merged), update_sharing(), late_sharing()})
         sharing_trains_on_uneven_data(all, how);
     },
     2},
    {"sharing_stops_all_for_a_number_that_is_not_finite",
     [](communicator& all) {
       for (auto const& how : {sharing(), sharing(route::merged), update_sharing()})
         sharing_stops_all_for_a_number_that_is_not_finite(all, how);
     }},
    {"unbounded_sharing_trains_on_uneven_data",
     [](communicator& all) { sharing_trains_on_uneven_data(all, unbounded_sharing()); }, 2},
    {"unbounded_sharing_stops_all_when_one_asks", unbounded_sharing_stops_when_one_asks},
    {"unbounded_sharing_is_evaluated_alike", unbounded_sharing_is_evaluated_alike},
    {"has_the_bits_of_threads",
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
