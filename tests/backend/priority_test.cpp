// SPDX-License-Identifier: Apache-2.0
// covers: backend/availability
#include <gtest/gtest.h>
#include <cohort/backend/priority.hpp>
#include <cohort/backend/reference.hpp>
#include <cohort/training/own_backend.hpp>
#include <string>
#include <vector>

#include "../execution/with_variable.hpp"

namespace priority_test {

using namespace cohort;
using cohort_test::with_variable;

/// The reference backend under another name, on another device type, or unusable.
template <int Number, bool Gpu = false, bool Usable = true>
struct pretended : reference<float> {
  static constexpr std::string_view name = Number == 1 ? "first" : Number == 2 ? "second" : "third";
  static constexpr bool is_gpu = Gpu;
  static availability probe() { return Usable ? availability{} : availability{false, "no such device"}; }
};
using cpu = pretended<1>;
using gpu = pretended<2, true>;
struct named : gpu {
  static availability probe() { return {.device = "a machine of four"}; }
};
/// A backend that is not usable; its constructor throws.
struct broken : pretended<3, false, false> {
  broken() { throw backend_error({.what = "constructed without a call of probe()"}); }
};

template <class Choice>
std::string taken(std::vector<std::string>* said = nullptr) {
  sink const say = [&](std::string_view line) {
    if (said) said->emplace_back(line);
  };
  return with_backend<Choice>(say, []<class B>() { return std::string(B::name); });
}

class backend_priority : public testing::Test {
  with_variable cpu_{"BACKEND_PRIORITY_CPU", nullptr}, gpu_{"BACKEND_PRIORITY_GPU", nullptr};
};

TEST_F(backend_priority, chooses_the_first_working_backend_in_list_order) {
  EXPECT_EQ((taken<priority<cpu, gpu>>()), "first");
  EXPECT_EQ((taken<priority<gpu, cpu>>()), "second");
  EXPECT_EQ((taken<priority<broken, gpu, cpu>>()), "second");
}

TEST_F(backend_priority, logs_once_the_chosen_backend_and_why_others_were_skipped) {
  std::vector<std::string> said;
  taken<priority<broken, cpu>>(&said);
  EXPECT_EQ(said, std::vector<std::string>{"backend: first (skipped: third: no such device)"});
}

TEST_F(backend_priority, skips_backends_that_lack_a_required_feature) {
  std::vector<std::string> said;
  sink const say = [&](std::string_view line) { said.emplace_back(line); };
  auto const name = []<class B>() { return std::string(B::name); };
  auto const lacks = []<class B>() {
    return std::string(B::is_gpu ? "it has no kernels for bent (bent_1)" : "");
  };
  EXPECT_EQ((with_backend<priority<gpu, cpu>>(say, lacks, name)), "first");
  EXPECT_EQ(said, std::vector<std::string>{
                      "backend: first (skipped: second: it has no kernels for bent (bent_1))"});
  EXPECT_EQ((with_backend<gpu>({}, lacks, name)), "second") << "whoever makes the plan refuses it";
  try {
    with_backend<priority<gpu, broken>>({}, lacks, name);
    FAIL() << "a backend was taken that lacks something";
  } catch (backend_error const& why) {
    EXPECT_STREQ(
        why.what(),
        "no backend can be used on this machine: second: it has no kernels for bent (bent_1); third: no "
        "such device");
  }
}

TEST_F(backend_priority, logs_the_chosen_device) {
  std::vector<std::string> said;
  taken<priority<named, cpu>>(&said);
  taken<named>(&said);
  EXPECT_EQ(said, std::vector<std::string>(2, "backend: second on a machine of four"));
}

TEST_F(backend_priority, orders_backends_by_priorities_from_environment_variables) {
  {
    with_variable const set("BACKEND_PRIORITY_CPU", "5");  // the default priority of the GPU is 100
    EXPECT_EQ((taken<priority<cpu, gpu>>()), "second");
  }
  {
    with_variable const set("BACKEND_PRIORITY_CPU", "500");
    EXPECT_EQ((taken<priority<gpu, cpu>>()), "first");
  }
  with_variable const set("BACKEND_PRIORITY_GPU", "-1");
  EXPECT_EQ((taken<priority<gpu, cpu>>()), "first");
}

TEST_F(backend_priority, falls_back_if_the_backend_of_highest_priority_does_not_work) {
  with_variable const set("BACKEND_PRIORITY_GPU", "100");
  EXPECT_EQ((taken<priority<broken, cpu, gpu>>()), "second");
  EXPECT_EQ((taken<priority<broken, cpu>>()), "first");
}

TEST_F(backend_priority, refuses_a_priority_that_is_not_a_number) {
  with_variable const set("BACKEND_PRIORITY_CPU", "fast");
  EXPECT_THROW((taken<priority<cpu, gpu>>()), setting_error);
}

TEST_F(backend_priority, throws_instead_of_falling_back_if_a_backend_is_required) {
  EXPECT_EQ(taken<required_backend<cpu>>(), "first");
  EXPECT_EQ(taken<cpu>(), "first");
  for (auto const& attempt : {+[] { return taken<required_backend<broken>>(); },
                              +[] { return taken<broken>(); }, +[] { return taken<priority<broken>>(); }}) {
    try {
      attempt();
      FAIL() << "a backend that does not work was taken";
    } catch (backend_error const& why) {
      EXPECT_NE(std::string(why.what()).find("no such device"), std::string::npos) << why.what();
    }
  }
}

}  // namespace priority_test
