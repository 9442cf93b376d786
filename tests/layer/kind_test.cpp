// SPDX-License-Identifier: Apache-2.0
// covers: layer/built_in_kinds layer/field layer/host_kernel layer/layer
#include <gtest/gtest.h>
#include <cohort/layer/built_in_kinds.hpp>
#include <cohort/layer/layers.hpp>

#include <array>
#include <set>
#include <string_view>

namespace kind_test {

using namespace cohort;

/// A user-defined layer with every type of field.
struct blend {
  static constexpr std::string_view kind_name = "blend";

  required<int> parts;
  required<extent2> cell;
  double weight = 0.25;
  bool wrap = true;
  cohort::padding edge = {};
  shape reach{1, 2};
  std::string_view name{};
  source_line at = source_line::here();

  static constexpr auto fields() {
    return field_list{field{"parts", &blend::parts},   field{"cell", &blend::cell},
                      field{"weight", &blend::weight}, field{"wrap", &blend::wrap},
                      field{"edge", &blend::edge},     field{"reach", &blend::reach}};
  }
  constexpr inference infer(std::span<shape const> inputs) const {
    if (parts > inputs[0][0])
      return {"more parts than channels", labelled_number("parts", parts), {"input", inputs[0]}};
    return shape{parts.value, reach[0], reach[1]};
  }
  template <class T>
  void forward(host_arguments<T> const& a) const {
    a.output[0] = static_cast<T>(weight);
  }
  template <class T>
  void backward(host_arguments<T> const&) const {}
};
static_assert(layer<blend> && layer<conv2d> && layer<input> && !layer<shape>);
static_assert(
    has_host_kernels<blend, float> && has_host_kernels<blend, double> && !has_host_kernels<conv2d, float>);

constexpr blend sample{
    .parts = 3, .cell = {4, 5}, .weight = -1.5, .wrap = false, .edge = padding(1, 2, 3, 4), .reach = {7, 8}};
constexpr auto values = detail::encode(sample);
constexpr blend back = detail::decode<blend>(values.data());
static_assert(back.parts == 3 && back.cell.value == extent2(4, 5) && back.weight == -1.5 && !back.wrap);
static_assert(back.edge == padding(1, 2, 3, 4) && back.reach == shape{7, 8});
static_assert(detail::encode(back) == values);

/// Two members of one type, in another order than in fields().
template <class T>
struct swapped {
  static constexpr std::string_view kind_name = "swapped";
  T first = 3;
  T second = 3;
  std::string_view name{};
  source_line at = source_line::here();
  static constexpr auto fields() {
    return field_list{field{"second", &swapped::second}, field{"first", &swapped::first}};
  }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
};
/// A member that fields() omits precedes one that it lists.
template <class T, T Default>
struct left_out {
  static constexpr std::string_view kind_name = "left_out";
  T hidden = 1;
  T listed = Default;
  std::string_view name{};
  source_line at = source_line::here();
  static constexpr auto fields() { return field_list{field{"listed", &left_out::listed}}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
};
static_assert(detail::fields_match_members<blend>() && detail::fields_match_members<conv2d>()
              && detail::fields_match_members<relu>());
static_assert(!detail::fields_match_members<swapped<int>>()
              && !detail::fields_match_members<swapped<bool>>());
static_assert(!detail::fields_match_members<swapped<extent2>>()
              && !detail::fields_match_members<swapped<padding>>());
static_assert(!detail::fields_match_members<left_out<bool, true>>()
              && !detail::fields_match_members<left_out<bool, false>>());
static_assert(!detail::fields_match_members<left_out<int, 2>>()
              && !detail::fields_match_members<left_out<int, 3>>());

/// A member that fields() omits follows the members that fields() lists.
struct left_out_last {
  static constexpr std::string_view kind_name = "left_out_last";
  int listed = 1;
  double hidden = 1;
  layer_settings settings = {};
  std::string_view name{};
  source_line at = source_line::here();
  static constexpr auto fields() { return field_list{field{"listed", &left_out_last::listed}}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
};
static_assert(detail::fields_are_complete<blend>() && detail::fields_are_complete<dense>()
              && detail::fields_are_complete<relu>());
static_assert(detail::fields_match_members<left_out_last>() && !detail::fields_are_complete<left_out_last>());

/// A field with the name of a member that layers have in files.
struct field_named_inputs {
  static constexpr std::string_view kind_name = "field_named_inputs";
  int inputs = 1;
  std::string_view name{};
  source_line at = source_line::here();
  static constexpr auto fields() { return field_list{field{"inputs", &field_named_inputs::inputs}}; }
  constexpr inference infer(std::span<shape const> inputs) const { return inputs[0]; }
};
static_assert(detail::fields_have_free_names<blend>() && detail::fields_have_free_names<conv2d>()
              && !detail::fields_have_free_names<field_named_inputs>());

template <padding P>
constexpr bool padding_survives =
    detail::decode<conv2d>(detail::encode(conv2d{.filters = 1, .kernel = 1, .padding = P}).data()).padding
    == P;
static_assert(
    padding_survives<
        padding::
            same> && padding_survives<padding::strict> && padding_survives<padding::valid> && padding_survives<padding(0)>);

constexpr kind const& k = kind_of<blend>;
static_assert(k.name == "blend" && k.role == layer_role::ordinary && k.slots == 1 + 2 + 1 + 1 + 5 + 7);
static_assert(k.fields.size() == 6 && k.fields[0].required && k.fields[1].required && !k.fields[2].required);
static_assert(k.fields[1].name == "cell" && k.fields[1].type == field_type::extent
              && k.fields[1].first_slot == 1);
static_assert(k.fields[2].type == field_type::real && k.fields[3].type == field_type::boolean);
static_assert(k.fields[4].type == field_type::padding && k.fields[4].first_slot == 5
              && k.fields[4].slots == 5);
static_assert(k.fields[5].type == field_type::shape && k.fields[0].type == field_type::integer);

constexpr std::array<shape, 1> image{shape{8, 6, 6}};
static_assert(k.infer(values.data(), image).output == shape{3, 7, 8});
static_assert(k.infer(values.data(), std::array{shape{2, 6, 6}}).problem.found());
static_assert(k.parameters(values.data(), image).count == 0 && k.flops(values.data(), image) == 0);
static_assert(
    kind_of<conv2d>.parameters(detail::encode(conv2d{.filters = 9, .kernel = 2}).data(), image).count == 2);

static_assert(kind_of<input>.role == layer_role::input
              && kind_of<softmax_cross_entropy>.role == layer_role::loss);
static_assert(kind_of<relu>.slots == 0 && kind_of<relu>.fields.empty());
static_assert(kind_of<relu> == kind_of<relu> && !(kind_of<relu> == kind_of<leaky_relu>));

TEST(kind, calls_the_kernels_of_a_user_defined_layer) {
  float narrow = 0;
  double wide = 0;
  k.host<float>().forward(values.data(), {.output = &narrow});
  k.host<double>().forward(values.data(), {.output = &wide});
  EXPECT_EQ(narrow, -1.5F);
  EXPECT_EQ(wide, -1.5);
  EXPECT_EQ(kind_of<conv2d>.host<float>().forward, nullptr);
}

TEST(host_arguments, report_why_a_kernel_has_no_random_numbers) {
  auto const refusal = [](bool training) -> std::string {
    try {
      (void)host_arguments<float>{.training = training}.random(0);
    } catch (setting_error const& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(true),
            "a layer's kernel has no random numbers in this call (host_arguments::random): expected static "
            "constexpr bool reads_scalars = true, a member of the layer, got a layer without reads_scalars");
  EXPECT_EQ(refusal(false),
            "a layer's kernel has no random numbers in this call (host_arguments::random): expected calls in "
            "training only: if (a.training), got a call in prediction");
}

TEST(kind, has_a_distinct_name_for_every_built_in_layer) {
  std::set<std::string_view> names;
  for (kind const* one : built_in_kinds()) names.insert(one->name);
  EXPECT_EQ(names.size(), built_in_kinds().size());
  EXPECT_TRUE(names.contains("max_pool"));
}

}  // namespace kind_test
