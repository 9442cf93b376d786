// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cohort::detail {

inline constexpr char const* loss_weight_sentence = "the weight of a loss is a number above 0";
constexpr bool is_loss_weight(double weight) { return weight > 0 && weight < 1e300; }

}  // namespace cohort::detail
