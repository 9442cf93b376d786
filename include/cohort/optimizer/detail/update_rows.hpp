// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cohort::detail {

/// `own`: a type of the program, see own_optimizer.hpp. It has no row in update_rows.
enum class update_rule : std::uint8_t {
  sgd,
  momentum,
  nesterov,
  adam,
  adamw,
  amsgrad,
  adamax,
  nadam,
  adabelief,
  adagrad,
  adadelta,
  rmsprop,
  lion,
  lamb,
  lars,
  no_op,
  own
};

/// The norm that a rule needs besides the norm of the parameter: that of the gradient or of the step at rate
/// 1, over the whole parameter.
enum class norm_of : std::uint8_t { nothing, gradient, step };

/// One row of the table of optimizers: its fields, without rate and momentum, in the order of declaration,
/// and its state arrays. State array k starts at the value of field initial_from[k], or at 0 if
/// initial_from[k] is −1.
struct update_row {
  std::string_view name;
  std::array<std::string_view, 5> fields{};
  std::array<std::string_view, 4> states{};
  std::array<int, 4> initial_from{-1, -1, -1, -1};
  bool momentum = false;
  norm_of norm = norm_of::nothing;
};

/// The built-in optimizers, in the order of update_rule.
inline constexpr std::array<update_row, 16> update_rows{{
    {.name = "sgd"},
    {.name = "momentum", .fields = {"rate_in_velocity"}, .states = {"velocity"}, .momentum = true},
    {.name = "nesterov", .fields = {"rate_in_velocity"}, .states = {"velocity"}, .momentum = true},
    {.name = "adam",
     .fields = {"beta1", "beta2", "epsilon", "epsilon_hat"},
     .states = {"mean", "mean_square"}},
    {.name = "adamw",
     .fields = {"beta1", "beta2", "epsilon", "decay", "epsilon_hat"},
     .states = {"mean", "mean_square"}},
    {.name = "amsgrad",
     .fields = {"beta1", "beta2", "epsilon", "epsilon_hat"},
     .states = {"mean", "mean_square", "largest_mean_square"}},
    {.name = "adamax", .fields = {"beta1", "beta2", "epsilon"}, .states = {"mean", "norm"}},
    {.name = "nadam", .fields = {"beta1", "beta2", "epsilon"}, .states = {"mean", "mean_square"}},
    {.name = "adabelief", .fields = {"beta1", "beta2", "epsilon"}, .states = {"mean", "variance"}},
    {.name = "adagrad",
     .fields = {"epsilon", "initial"},
     .states = {"squares"},
     .initial_from = {1, -1, -1, -1}},
    {.name = "adadelta", .fields = {"rho", "epsilon"}, .states = {"mean_square", "mean_square_step"}},
    {.name = "rmsprop", .fields = {"rho", "epsilon"}, .states = {"mean_square"}},
    {.name = "lion", .fields = {"beta1", "beta2", "decay"}, .states = {"mean"}},
    {.name = "lamb",
     .fields = {"beta1", "beta2", "epsilon", "decay"},
     .states = {"mean", "mean_square"},
     .norm = norm_of::step},
    {.name = "lars",
     .fields = {"decay", "trust"},
     .states = {"velocity"},
     .momentum = true,
     .norm = norm_of::gradient},
    {.name = "no_op"},
}};

constexpr int count_of(std::array<std::string_view, 4> const& names) {
  int count = 0;
  while (count < 4 && !names[static_cast<std::size_t>(count)].empty()) ++count;
  return count;
}

}  // namespace cohort::detail
