// SPDX-License-Identifier: Apache-2.0
// covers: backend/operation
#include <gtest/gtest.h>
#include <cohort/backend/reference.hpp>
#include <cohort/plan/detail/standalone_operation.hpp>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace standalone_operation_test {

using namespace cohort;

/// A backend without numbers: layouts are names, and kernels record their moves and computations.
struct scribe {
  using scalar = float;
  struct layout {
    std::string name = "plain";
    bool operator==(layout const&) const = default;
  };
  using kernel = std::string;
  struct call {
    std::string what;
    void operator()() const { said.push_back(what); }
    void set(std::size_t, void*) {}
  };
  static inline std::vector<std::string> said;

  static constexpr std::string_view name = "scribe";
  static availability probe() { return {}; }
  static int threads(int) { return 1; }
  static bool supports(kind const&) { return true; }
  bool fuses(kind const&, kind const&, bool) const { return false; }
  layout plain(shape const&) const { return {}; }
  layout plain(layout const&) const { return {}; }
  std::size_t bytes(layout const&) const { return 64; }
  element_type element(layout const&) const { return element_type::f32; }
  std::string describe(layout const& l) const { return l.name; }
  kernel reorder(layout const& from, layout const& to) const { return from.name + " > " + to.name; }
  kernel accumulate(layout const&) const { return "sum"; }
  basic_operation<kernel, layout> prepare(basic_request<layout> const&) const { return {}; }
  static call bind(kernel const& k, std::span<void* const> addresses) {
    for (void* const one : addresses) EXPECT_NE(one, nullptr);
    return {k};
  }
};
static_assert(tensor_backend<scribe>);

using names = std::vector<std::string>;

names run(bool training, scribe::layout const& inputs, backend_operation<scribe> const& of) {
  operation_request<scribe> request;
  request.training = training;
  request.inputs = {&inputs, 1};
  scribe::said.clear();
  detail::standalone_operation<scribe> one(scribe{}, request, of);
  EXPECT_TRUE(scribe::said.empty()) << "nothing runs before it is called";
  one();
  return std::exchange(scribe::said, {});
}

backend_operation<scribe> in_blocks() {
  using enum operand_role;
  scribe::layout const blocks{"blocks"}, weights{"weights"};
  backend_operation<scribe> made;
  made.output = blocks;
  made.parameters = {weights, {}};
  made.forward.push_back({"forward",
                          {{input, 0, blocks},
                           {parameter, 0, weights},
                           {parameter, 1, {}},
                           {output, 0, blocks},
                           {workspace, 0, {}}},
                          "",
                          0});
  made.backward.push_back({"weights",
                           {{input, 0, blocks},
                            {diff_output, 0, blocks},
                            {diff_parameter, 0, {"others"}},
                            {diff_parameter, 1, {}}},
                           "",
                           0});
  made.backward.push_back({"data",
                           {{diff_output, 0, {"last"}},
                            {parameter, 0, {"others"}},
                            {diff_input, 0, blocks},
                            {workspace, 0, {}},
                            {scratch, 0, {}}},
                           "",
                           0});
  return made;
}

TEST(standalone_operation, runs_kernels_with_the_reorders_of_a_plan) {
  EXPECT_EQ(run(true, {"plain"}, in_blocks()),
            (names{"plain > blocks", "forward", "weights", "others > weights", "blocks > last",
                   "weights > others", "data", "blocks > plain"}));
}

TEST(standalone_operation, needs_no_reorders_if_layouts_are_equal) {
  backend_operation<scribe> made = in_blocks();
  made.backward.pop_back();
  made.backward[0].operands[2].layout = {"weights"};
  EXPECT_EQ(run(true, {"blocks"}, made), (names{"forward", "weights"}));
}

TEST(standalone_operation, runs_no_reorder_of_parameters_during_inference) {
  backend_operation<scribe> made = in_blocks();
  made.forward[0].operands[1].layout = {"for inference"};
  EXPECT_EQ(run(false, {"blocks"}, made), names{"forward"});
}

}  // namespace standalone_operation_test
