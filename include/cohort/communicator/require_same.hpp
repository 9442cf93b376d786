// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

/// A named value that must be the same on every rank.
struct shared_fact {
  std::string name;
  std::string value;
};

namespace detail {

/// Facts as one text, in which zero bytes end names and values.
std::string encoded_facts(std::span<shared_fact const> facts);
/// The facts that differ, with the values by_rank. `all`: the encoded facts of each rank.
std::vector<shared_fact> differing_facts(std::span<std::string const> all);

/// require_same as a part of the user's collective call `call`, for example "fit".
void require_same(communicator& world, std::string_view call, std::span<shared_fact const> facts);

}  // namespace detail

/// Collective. Checks that all ranks have the same value for each name. Facts are matched by name, so
/// their order may differ between ranks. A fact that a rank does not have counts as a difference; this call
/// neither hangs nor misreads if the ranks run different versions of the program.
///
/// Errors    setting_error, the same on every rank: names the facts that differ and each rank's value
///           ("nothing" if the rank does not have the fact), without the clauses between "; " that all ranks
///           have at the beginning or at the end of the value.
void require_same(communicator& world, std::span<shared_fact const> facts);

}  // namespace cohort
