// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <cohort/optimizer/detail/update_rows.hpp>
#include <cohort/optimizer/rate_schedule.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>
#include <tuple>

namespace cohort {

/// One step of an optimizer.
///
/// Units     `step`: 1, 2, …  `rate`: learning rate of the step, after its schedule and the plateau's factor.
struct optimizer_step {
  std::int64_t step = 1;
  double rate = 0;
};

namespace detail {

/// An optimizer of the program: its names, and the formula for both element types.
///
/// `constants`  writes the constants of a step, at most `most_constants`. `numbers`: values of the fields.
/// `run`        updates n elements of w and of the state arrays; g: the gradient with its penalties.
///              Null for an optimizer whose type the program does not have.
struct own_update {
  static constexpr std::size_t most_constants = 8;
  static constexpr std::size_t most_name_bytes = 100;  ///< of kind_name and of each field

  update_row row;
  void (*constants)(double const* numbers, optimizer_step const& current, double* to) = nullptr;
  void (*run_f32)(double const* c, float const* g, float* w, float* const* state, std::size_t n) = nullptr;
  void (*run_f64)(double const* c, double const* g, double* w, double* const* state, std::size_t n) = nullptr;
};

/// An optimizer of the program is a default-constructible type like this one:
///
///     struct sign_momentum {
///       static constexpr std::string_view kind_name = "sign_momentum";
///       static constexpr std::array<std::string_view, 1> states{"mean"};
///       cohort::rate_schedule learning_rate = 1e-3;
///       double beta = 0.9;
///
///       static constexpr auto fields() { return std::array{std::pair{"beta", &sign_momentum::beta}}; }
///       std::array<double, 2> constants(cohort::optimizer_step const& next) const {
///         return {next.rate, beta};
///       }
///       template <class T>
///       static T step(T g, T w, T* s, T const* c) {
///         s[0] = c[1] * s[0] + (1 - c[1]) * g;
///         return s[0] > 0 ? c[0] : s[0] < 0 ? -c[0] : 0;
///       }
///     };
///
/// `kind_name`  the name in files and messages, at most 100 bytes; not that of a built-in optimizer.
/// `states`     names of the state arrays, at most 3: distinct, not empty, without '/', other than "average".
///              They start at 0.
/// `fields`     names and members of all fields but the learning rate, at most 5, of type double. A field
///              `decay` is 0 for parameters that settings exclude from weight decay.
/// `constants`  at most 8 numbers, computed once per step in double, then converted to T.
/// `step`       returns u, which is subtracted from w, and updates the elements s of the states, for one
///              element of a parameter. T is float or double. g contains gradient scale, clipping and
///              penalties. For w = g = 0 in every step, u must be 0, because arenas contain padding.
template <class Own>
concept own_optimizer = std::default_initializable<Own> && requires(Own const& s,
                                                                    optimizer_step const& current,
                                                                    double* state, double const* c) {
  { Own::kind_name } -> std::convertible_to<std::string_view>;
  { s.learning_rate } -> std::convertible_to<rate_schedule>;
  std::size(Own::states);
  std::size(Own::fields());
  std::size(s.constants(current));
  { Own::template step<double>(1.0, 1.0, state, c) } -> std::convertible_to<double>;
};

/// Values of the fields, in the order of fields().
template <class Own>
constexpr std::array<double, 5> numbers_of(Own const& s) {
  static_assert(std::size(Own::fields()) <= 5, "cohort: an optimizer has at most 5 fields besides its rate");
  std::array<double, 5> numbers{};
  for (std::size_t k = 0; k < std::size(Own::fields()); ++k) numbers[k] = s.*std::get<1>(Own::fields()[k]);
  return numbers;
}

template <class Own>
void write_constants(double const* numbers, optimizer_step const& current, double* to) {
  Own s{};
  s.learning_rate = current.rate;
  for (std::size_t k = 0; k < std::size(Own::fields()); ++k) s.*std::get<1>(Own::fields()[k]) = numbers[k];
  auto const constants = s.constants(current);
  static_assert(std::tuple_size_v<decltype(s.constants(current))> <= own_update::most_constants,
                "cohort: an optimizer has at most 8 constants");
  std::ranges::copy(constants, to);
}

template <class Own, class T>
void run_own(double const* constants, T const* __restrict g, T* __restrict w, T* const* state,
             std::size_t n) {
  constexpr std::size_t states = std::size(Own::states);
  T c[own_update::most_constants];
  for (std::size_t k = 0; k < own_update::most_constants; ++k) c[k] = static_cast<T>(constants[k]);
  for (std::size_t i = 0; i < n; ++i) {
    T s[3]{};
    for (std::size_t k = 0; k < states; ++k) s[k] = state[k][i];
    w[i] -= Own::template step<T>(g[i], w[i], s, c);
    for (std::size_t k = 0; k < states; ++k) state[k][i] = s[k];
  }
}

/// Returns whether the text can be the kind_name of an optimizer, or the name of a field.
constexpr bool has_name_length(std::string_view text) {
  return !text.empty() && text.size() <= own_update::most_name_bytes;
}

/// Returns whether the names of the states can be those of tensors in files.
template <class Own>
constexpr bool has_state_names() {
  for (std::size_t k = 0; k < std::size(Own::states); ++k) {
    std::string_view const name = Own::states[k];
    if (name.empty() || name.find('/') != name.npos) return false;
    if (name == "average") return false;  // files store the moving average of the parameters
    for (std::size_t earlier = 0; earlier < k; ++earlier)
      if (name == Own::states[earlier]) return false;
  }
  return true;
}

template <class Own>
constexpr update_row row_of() {
  static_assert(std::size(Own::states) <= 3, "cohort: an optimizer has at most 3 state arrays");
  static_assert(has_state_names<Own>(),
                "cohort: names of states are distinct, not empty, without '/', and not \"average\"");
  static_assert(std::ranges::find(update_rows, std::string_view(Own::kind_name), &update_row::name)
                    == update_rows.end(),
                "cohort: a built-in optimizer has this kind_name");
  static_assert(has_name_length(Own::kind_name), "cohort: kind_name has 1 to 100 bytes");
  static_assert(
      std::ranges::all_of(Own::fields(), [](auto const& f) { return has_name_length(std::get<0>(f)); }),
      "cohort: names of fields have 1 to 100 bytes");
  update_row row{.name = Own::kind_name};
  for (std::size_t k = 0; k < std::size(Own::fields()); ++k) row.fields[k] = std::get<0>(Own::fields()[k]);
  for (std::size_t k = 0; k < std::size(Own::states); ++k) row.states[k] = Own::states[k];
  return row;
}

template <class Own>
struct own_update_of {
  static constexpr own_update value{.row = row_of<Own>(),
                                    .constants = write_constants<Own>,
                                    .run_f32 = run_own<Own, float>,
                                    .run_f64 = run_own<Own, double>};
};

/// Returns the description of an optimizer of a file, whose type the program may not have. Descriptions with
/// the same names are one object, which exists until the program ends.
///
/// Before    at most 5 fields.
/// Errors    setting_error: for a name or field without 1 to 100 bytes; for the name of a built-in optimizer;
///           for more than 1000 different descriptions in a process.
own_update const& described_update(std::string_view name, std::span<std::string_view const> fields);

}  // namespace detail

}  // namespace cohort
