// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

/// Gathers a text from each rank. `call` names the user's collective call, for example "save" or "fit". This
/// name is sent with the text, so that ranks in different calls get an error.
///
/// Order     collective.
/// Moves     one allgatherv of these texts and names.
/// Errors    setting_error on every rank, with each rank's call, if the calls differ.
std::vector<std::string> texts_of_all(communicator& world, std::string_view call, std::string_view mine);

/// Returns whether all ranks have the same value.  Before: `values` is not empty.
bool are_equal(std::span<std::string const> values);
/// Text of the form "123 on ranks 0, 2; 7 on rank 1", with at most 4 different values.
std::string by_rank(std::span<std::string const> values);

}  // namespace cohort::detail
