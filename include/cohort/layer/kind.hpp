// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/error/finding.hpp>
#include <cohort/layer/channel_map.hpp>
#include <cohort/layer/field.hpp>
#include <cohort/layer/host_kernel.hpp>
#include <cohort/layer/parameter.hpp>
#include <concepts>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace cohort {

/// What a layer makes of its inputs: the shape of its output, or why it refuses them.
struct inference {
  shape output{};
  finding problem{};

  constexpr inference(shape made) : output(made) {}
  constexpr inference(char const* sentence, labelled_shape first = {}, labelled_shape second = {}) {
    problem.sentence = sentence;
    problem.shapes = {first, second};
  }
};

enum class layer_role : std::uint8_t { input, ordinary, loss };

/// A layer: an aggregate whose author writes its kind's name, its fields and its inference.
///
/// `kind_name`           constexpr std::string_view, unique among the kinds of a program
/// `fields()`            std::tuple of field{"name", &L::member}: the leading members in their order
/// `infer(inputs)`       constexpr, shapes without the batch → inference
/// members `name` and `at` last: std::string_view name{}; source at = source::here();
/// optional              `max_inputs` (1), `parameters(inputs)`, `flops(inputs)` (forward, one example), member
///                       `settings`, `role`, `forward(host_arguments<T>)` with `backward(host_arguments<T>)`,
///                       `reads_scalars` (true: its kernels get `scalars` in training), `workspace(inputs, batch)` in
///                       elements, `sums(inputs)` → batch_sum_sizes (what it sums over all workers' parts of a batch,
///                       in training, by `scalars->sums`), `in_place` (true: elements of the output come from those of the
///                       input in the same places, gradients alike, and backward reads no input: output may lie where
///                       the input lies, and its gradient where the output's lies),
///                       `at_inference(parameters)` → channel_map (the whole of its forward at inference, from each
///                       parameter's element of the channel), `takes_channel_maps` (true: its parameters are weights K×… and,
///                       where its field `bias` says so, a bias K, in both of which its output is linear, channel by
///                       channel); a loss: `target(inputs)` → target_spec
template <class L>
concept layer = requires(L const& l, std::span<shape const> inputs) {
  { L::kind_name } -> std::convertible_to<std::string_view>;
  L::fields();
  { l.infer(inputs) } -> std::same_as<inference>;
  { l.name } -> std::convertible_to<std::string_view>;
  { l.at } -> std::convertible_to<source>;
};

/// A kind of layer as a value: all that anybody needs who does not know its type.
struct kind {
  std::string_view name;
  layer_role role = layer_role::ordinary;
  int max_inputs = 1;
  std::span<field_info const> fields;
  int slots = 0;
  double const* defaults = nullptr;  ///< values of the fields that are not given; 0 where one has to be
  inference (*infer)(double const* values, std::span<shape const> inputs) = nullptr;
  parameter_list (*parameters)(double const* values, std::span<shape const> inputs) = nullptr;
  double (*flops)(double const* values, std::span<shape const> inputs) = nullptr;
  std::int64_t (*workspace)(double const* values, std::span<shape const> inputs, int batch) = nullptr;
  batch_sum_sizes (*sums)(double const* values, std::span<shape const> inputs) = nullptr;
  target_spec (*target)(double const* values, std::span<shape const> inputs) = nullptr;  // of a loss
  bool reads_scalars = false;
  bool in_place = false;
  channel_map (*at_inference)(double const* values, std::span<double const> parameters) = nullptr;
  bool takes_channel_maps = false;
  host_kernel<float> float_kernel{};
  host_kernel<double> double_kernel{};

  constexpr bool operator==(kind const& other) const { return name == other.name; }

  template <class T>
  constexpr host_kernel<T> const& host() const {
    if constexpr (std::same_as<T, float>)
      return float_kernel;
    else
      return double_kernel;
  }
};

namespace detail {

template <class L>
using fields_of = decltype(L::fields());

template <class Field>
struct field_value;
template <class L, class T>
struct field_value<field<L, T>> {
  using type = T;
};
template <class L, std::size_t I>
using field_type_at = typename field_value<std::tuple_element_t<I, fields_of<L>>>::type;

template <class L>
inline constexpr std::size_t field_count = std::tuple_size_v<fields_of<L>>;

template <class L>
constexpr auto describe_fields() {
  std::array<field_info, field_count<L>> infos{};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((infos[I] = {std::get<I>(L::fields()).name, field_codec<field_type_at<L, I>>::type, 0,
                  field_codec<field_type_at<L, I>>::slots, is_required<field_type_at<L, I>>}),
     ...);
  }
  (std::make_index_sequence<field_count<L>>{});
  int slot = 0;
  for (field_info& info : infos) {
    info.first_slot = slot;
    slot += info.slots;
  }
  return infos;
}

template <class L>
inline constexpr auto field_infos = describe_fields<L>();

template <class L>
inline constexpr int slot_count = [] {
  int slots = 0;
  for (field_info const& info : field_infos<L>) slots += info.slots;
  return slots;
}();

/// A layer's field values in slots; one slot of room where there is none.
template <class L>
using encoded = std::array<double, static_cast<std::size_t>(slot_count<L> > 0 ? slot_count<L> : 1)>;

template <layer L>
constexpr encoded<L> encode(L const& l) {
  encoded<L> values{};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (field_codec<field_type_at<L, I>>::encode(l.*(std::get<I>(L::fields()).member),
                                              values.data() + field_infos<L>[I].first_slot),
     ...);
  }
  (std::make_index_sequence<field_count<L>>{});
  return values;
}

template <layer L>
constexpr L decode(double const* values) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return L{field_codec<field_type_at<L, I>>::decode(values + field_infos<L>[I].first_slot)...};
  }
  (std::make_index_sequence<field_count<L>>{});
}

/// The values of a layer of which only the fields up to the last required one are given, as zeros.
template <layer L>
constexpr encoded<L> encode_defaults() {
  constexpr std::size_t given = [] {
    std::size_t count = 0;
    for (std::size_t f = 0; f < field_count<L>; ++f)
      if (field_infos<L>[f].required) count = f + 1;
    return count;
  }();
  encoded<L> const zeros{};
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return encode(
        L{field_codec<field_type_at<L, I>>::decode(zeros.data() + field_infos<L>[I].first_slot)...});
  }
  (std::make_index_sequence<given>{});
}
template <layer L>
inline constexpr encoded<L> default_values = encode_defaults<L>();

/// Whether encode gives back what decode was given, in patterns that tell fields of one type apart: each boolean true
/// alone, then none; the other slots with distinct numbers, two of them in turn, which no default can be both of.
template <layer L>
constexpr bool fields_lead() {
  int const fields = static_cast<int>(field_count<L>);
  for (int pattern = 0; pattern <= fields; ++pattern) {
    encoded<L> values{};
    for (int f = 0; f < fields; ++f) {
      field_info const& info = field_infos<L>[static_cast<std::size_t>(f)];
      for (int slot = info.first_slot; slot < info.first_slot + info.slots; ++slot)
        values[static_cast<std::size_t>(slot)] =
            info.type == field_type::boolean ? pattern == f : 2 + slot + slot_count<L> * (pattern % 2);
    }
    if (encode(decode<L>(values.data())) != values) return false;
  }
  return true;
}

template <layer L>
constexpr bool required_lead() {
  for (std::size_t f = 1; f < field_count<L>; ++f)
    if (field_infos<L>[f].required && !field_infos<L>[f - 1].required) return false;
  return true;
}

/// A file gives fields by their places, so a layer whose members stand otherwise would read others' numbers.
template <layer L>
constexpr std::span<field_info const> checked_fields() {
  static_assert(fields_lead<L>(), "cohort: fields() must list the layer's first members in their order");
  static_assert(required_lead<L>(), "cohort: required fields must stand before those with defaults");
  return field_infos<L>;
}

template <layer L>
constexpr layer_role role_of() {
  if constexpr (requires { L::role; })
    return L::role;
  else
    return layer_role::ordinary;
}

template <layer L>
constexpr int max_inputs_of() {
  if constexpr (requires { L::max_inputs; })
    return L::max_inputs;
  else
    return role_of<L>() == layer_role::input ? 0 : 1;
}

template <layer L>
constexpr bool reads_scalars() {
  if constexpr (requires { L::reads_scalars; })
    return L::reads_scalars;
  else
    return role_of<L>() == layer_role::loss;
}

template <layer L>
constexpr bool works_in_place() {
  if constexpr (requires { L::in_place; })
    return L::in_place;
  else
    return false;
}

template <layer L>
constexpr bool takes_channel_maps() {
  if constexpr (requires { L::takes_channel_maps; }) {
    static_assert(
        requires(L const& l) { l.bias; }, "cohort: a layer that takes channel maps has a field `bias`");
    return L::takes_channel_maps;
  } else {
    return false;
  }
}

template <layer L>
constexpr auto at_inference_of() -> decltype(kind::at_inference) {
  if constexpr (requires(L const& l, std::span<double const> parameters) { l.at_inference(parameters); })
    return [](double const* values, std::span<double const> parameters) {
      return decode<L>(values).at_inference(parameters);
    };
  else
    return nullptr;
}

/// The kernels that layer type L brings, behind its encoded fields. Not inline, so that the compiled library can hold those
/// of the built-in layers.
template <layer L>
struct host_kernels {
  static void forward_f32(double const* values, host_arguments<float> const& a);
  static void backward_f32(double const* values, host_arguments<float> const& a);
  static void forward_f64(double const* values, host_arguments<double> const& a);
  static void backward_f64(double const* values, host_arguments<double> const& a);
};

template <layer L>
void host_kernels<L>::forward_f32(double const* values, host_arguments<float> const& a) {
  decode<L>(values).forward(a);
}
template <layer L>
void host_kernels<L>::backward_f32(double const* values, host_arguments<float> const& a) {
  decode<L>(values).backward(a);
}
template <layer L>
void host_kernels<L>::forward_f64(double const* values, host_arguments<double> const& a) {
  decode<L>(values).forward(a);
}
template <layer L>
void host_kernels<L>::backward_f64(double const* values, host_arguments<double> const& a) {
  decode<L>(values).backward(a);
}

template <layer L>
constexpr host_kernel<float> float_kernel_of() {
  if constexpr (has_host_kernels<L, float>)
    return {&host_kernels<L>::forward_f32, &host_kernels<L>::backward_f32};
  else
    return {};
}

template <layer L>
constexpr host_kernel<double> double_kernel_of() {
  if constexpr (has_host_kernels<L, double>)
    return {&host_kernels<L>::forward_f64, &host_kernels<L>::backward_f64};
  else
    return {};
}

}  // namespace detail

/// The one description of a layer type.
template <layer L>
inline constexpr kind kind_of{
    .name = L::kind_name,
    .role = detail::role_of<L>(),
    .max_inputs = detail::max_inputs_of<L>(),
    .fields = detail::checked_fields<L>(),
    .slots = detail::slot_count<L>,
    .defaults = detail::default_values<L>.data(),
    .infer = [](double const* values,
                std::span<shape const> inputs) { return detail::decode<L>(values).infer(inputs); },
    .parameters =
        [](double const* values, std::span<shape const> inputs) {
          if constexpr (requires(L const& l) { l.parameters(inputs); })
            return detail::decode<L>(values).parameters(inputs);
          else
            return (void)values, (void)inputs, parameter_list{};
        },
    .flops =
        [](double const* values, std::span<shape const> inputs) {
          if constexpr (requires(L const& l) { l.flops(inputs); })
            return detail::decode<L>(values).flops(inputs);
          else
            return (void)values, (void)inputs, 0.0;
        },
    .workspace =
        [](double const* values, std::span<shape const> inputs, int batch) {
          if constexpr (requires(L const& l) { l.workspace(inputs, batch); })
            return static_cast<std::int64_t>(detail::decode<L>(values).workspace(inputs, batch));
          else
            return (void)values, (void)inputs, (void)batch, std::int64_t{0};
        },
    .sums =
        [](double const* values, std::span<shape const> inputs) {
          if constexpr (requires(L const& l) { l.sums(inputs); })
            return detail::decode<L>(values).sums(inputs);
          else
            return (void)values, (void)inputs, batch_sum_sizes{};
        },
    .target =
        [](double const* values, std::span<shape const> inputs) {
          if constexpr (requires(L const& l) { l.target(inputs); })
            return detail::decode<L>(values).target(inputs);
          else
            return (void)values, (void)inputs, target_spec{};
        },
    .reads_scalars = detail::reads_scalars<L>(),
    .in_place = detail::works_in_place<L>(),
    .at_inference = detail::at_inference_of<L>(),
    .takes_channel_maps = detail::takes_channel_maps<L>(),
    .float_kernel = detail::float_kernel_of<L>(),
    .double_kernel = detail::double_kernel_of<L>(),
};

}  // namespace cohort
