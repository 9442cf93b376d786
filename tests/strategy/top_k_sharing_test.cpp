// SPDX-License-Identifier: Apache-2.0
// covers: strategy/sharing_by strategy/sharing_settings
#include <cohort/codec/top_k_compressor.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/strategy/sharing_by.hpp>
#include <cohort/strategy/top_k_sharing.hpp>
#include "sharing_cases.hpp"

namespace top_k_sharing_test {

using namespace cohort_test;

TEST(top_k_sharing, keeps_ranks_equal_and_learns) {
  for (int ranks : {1, 2, 3})
    for (route const way : {route::to_all, route::merged})
      launch<threads>(ranks, {.deadline = std::chrono::seconds(60)}, [&](communicator& world) {
        top_k_sharing const how{.density = 0.05, .settings = {.route = way, .group = sharing_group::rank}};
        sharing_ranks_hold_the_same_bits<float>(world, how);
        sharing_learns_what_dense_learns(world, how);
        sharing_trains_on_uneven_data(world, how);
      });
}

/// A user-defined compressor: any type that models the concept.
TEST(sharing_by, accepts_user_defined_compressors) {
  launch<threads>(2, {.deadline = std::chrono::seconds(60)}, [](communicator& world) {
    auto const make = [](tensor_table table) { return top_k_compressor(std::move(table), {.density = 0.1}); };
    sharing_ranks_hold_the_same_bits<float>(world,
                                            sharing_by{std::string_view("the largest tenth"), make,
                                                       sharing_settings{.group = sharing_group::rank}});
  });
}

TEST(top_k_sharing, refuses_an_invalid_density) {
  launch<self>([](communicator& world) {
    EXPECT_THROW(top_k_sharing{.density = 0}.on(world), setting_error);
    EXPECT_THROW(top_k_sharing{.density = 1.5}.on(world), setting_error);
  });
}

}  // namespace top_k_sharing_test
