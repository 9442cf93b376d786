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

/// Encodes facts as one text, with a zero byte after each name and each value.
std::string encoded_facts(std::span<shared_fact const> facts);
/// Returns the facts that differ; their values are texts of by_rank. `all`: the encoded facts of each rank.
std::vector<shared_fact> differing_facts(std::span<std::string const> all);

/// Like require_same(world, facts), as a part of the user's collective call `call`, for example "fit".
void require_same(communicator& world, std::string_view call, std::span<shared_fact const> facts);

}  // namespace detail

/// Collective. Checks that all ranks have the same value for each name. Facts are matched by name, so their
/// order may differ between ranks. A fact that a rank does not have counts as a difference. The call also
/// works if the ranks run different versions of the program.
///
/// Errors    setting_error, the same on every rank, with the facts that differ and each rank's value
///           ("nothing" if the rank does not have the fact). The error omits clauses, separated by "; ", with
///           which all values begin or end.
void require_same(communicator& world, std::span<shared_fact const> facts);

}  // namespace cohort
