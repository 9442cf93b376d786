// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/config.hpp>
#include <cohort/error/exceptions.hpp>

namespace cohort::detail {

[[gnu::cold, gnu::noinline]] COHORT_CORE_INLINE clause::clause(std::initializer_list<text_piece> pieces)
    : std::string(text_of(pieces)) {}

}  // namespace cohort::detail

namespace cohort {

[[gnu::cold, gnu::noinline]] COHORT_CORE_INLINE error::error(refusal why)
    : std::runtime_error(sentence(why)), why_(std::move(why)) {}

COHORT_CORE_INLINE std::string error::sentence(refusal const& r) {
  bool const wanted = !r.expected.empty();
  return detail::text_of({r.what, r.where.empty() ? "" : " (", r.where, r.where.empty() ? "" : ")",
                          wanted ? ": expected " : "", r.expected,
                          r.got.empty() ? ""
                          : wanted      ? ", got "
                                        : ": got ",
                          r.got});
}

}  // namespace cohort
