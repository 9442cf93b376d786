// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>

namespace cohort::detail {

[[gnu::cold, gnu::noinline]] clause::clause(std::initializer_list<text_piece> pieces)
    : std::string(text_of(pieces)) {}

}  // namespace cohort::detail

namespace cohort {

[[gnu::cold, gnu::noinline]] error::error(refusal why)
    : std::runtime_error(message(why)), why_(std::move(why)) {}

[[gnu::cold, gnu::noinline]] communicator_error::communicator_error(refusal why, int exit_status)
    : error(std::move(why)), exit_status_(exit_status) {}

std::string error::message(refusal const& r) {
  bool const has_expected = !r.expected.empty();
  return detail::text_of({r.what, r.where.empty() ? "" : " (", r.where, r.where.empty() ? "" : ")",
                          has_expected ? ": expected " : "", r.expected,
                          r.got.empty()  ? ""
                          : has_expected ? ", got "
                                         : ": ",
                          r.got});
}

}  // namespace cohort
