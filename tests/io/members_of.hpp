// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/io/detail/field_table.hpp>

/// A value for any member, to count the members of an aggregate.
struct any_member {
  template <class T>
  operator T() const;
};

/// Number of members of an aggregate.
template <class T, class... Member>
constexpr int members_of() {
  if constexpr (requires { T{Member()..., any_member()}; })
    return members_of<T, Member..., any_member>();
  else
    return static_cast<int>(sizeof...(Member));
}

/// Number of fields in the table of T.
template <class T>
int fields_in_table() {
  return static_cast<int>(cohort::detail::names_of_fields<T>().all.size());
}

/// Returns the number of members of T that its table does not list.
template <class T>
int members_without_field() {
  return members_of<T>() - fields_in_table<T>();
}
