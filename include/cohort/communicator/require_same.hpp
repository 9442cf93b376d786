// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <span>
#include <string>
#include <string_view>

namespace cohort {

/// Something that must be the same on every rank.
struct shared_fact {
  std::string_view name;
  std::string value;
};

namespace detail {

/// "123 on ranks 0, 2; 7 on rank 1", of at most 4 different values.
std::string by_rank(std::span<std::string const> values);

}  // namespace detail

/// Collective: sees to it that all ranks give the same value for each name.
///
/// Before    ranks may be of different versions: facts are matched by name, so they stand in any order and number.
/// Errors    setting_error, the same on every rank: which facts differ, and what each rank has; "nothing" where it does not
///           know that name.
void require_same(communicator& world, std::span<shared_fact const> facts);

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/communicator/impl/require_same.ipp>
#endif
