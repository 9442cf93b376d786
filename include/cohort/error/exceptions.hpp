// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/compiled_library.hpp>
#include <cohort/error/detail/text.hpp>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

namespace cohort {

namespace detail {

/// A text of a refusal. Made and destroyed out of line: the hundreds of places that refuse something stay small, and a
/// program compiles faster.
struct clause : std::string {
  [[gnu::cold, gnu::noinline]] clause() {}
  [[gnu::cold, gnu::noinline]] clause(char const* text) : std::string(text) {}
  [[gnu::cold, gnu::noinline]] clause(std::initializer_list<text_piece> pieces);
  [[gnu::cold, gnu::noinline]] clause(std::string text) : std::string(std::move(text)) {}
  [[gnu::cold, gnu::noinline]] clause(clause&& other) noexcept : std::string(std::move(other)) {}
  [[gnu::cold, gnu::noinline]] clause(clause const& other) : std::string(other) {}
  [[gnu::cold, gnu::noinline]] ~clause() {}
};

}  // namespace detail

/// Why something was refused. `what` is a whole clause ("cannot read the IDX file"); the rest may be empty.
struct refusal {
  detail::clause what{};
  detail::clause where{};
  detail::clause expected{};
  detail::clause got{};
};

/// Base of every exception thrown by the library: "what (where): expected …, got …".
class error : public std::runtime_error {
 public:
  [[gnu::cold, gnu::noinline]] explicit error(refusal why);
  refusal const& why() const { return why_; }

 private:
  static std::string sentence(refusal const& r);
  refusal why_;
};

/// A network that is not well formed, or a graph description that cannot be read.
struct graph_error : error {
  using error::error;
};
/// A tensor whose shape or element type is another than the one that is needed.
struct shape_error : error {
  using error::error;
};
/// Input data that is damaged, out of range or inconsistent.
struct data_error : error {
  using error::error;
};
/// A file or directory that cannot be opened, read or written.
struct file_error : error {
  using error::error;
};
/// A setting whose value makes no sense: batch 0, ε = 0, an unknown flag.
struct setting_error : error {
  using error::error;
};
/// A backend that cannot be used on this machine, or cannot run this network.
struct backend_error : error {
  using error::error;
};
/// More memory needed than allowed, or than there is.
struct memory_error : error {
  using error::error;
};
/// A loss or gradient that is not finite.
struct numeric_error : error {
  using error::error;
};
/// A wait that outlasted its deadline.
struct deadline_error : error {
  using error::error;
};
/// A rank that is lost, late or has failed: the others cannot go on. Programs end with communicator_exit_status.
struct communicator_error : error {
  using error::error;
};

/// The exit status of a program that other ranks made impossible to finish, or that has saved its work on request: the
/// same command may be started again (EX_TEMPFAIL of sysexits.h).
inline constexpr int communicator_exit_status = 75;

}  // namespace cohort

#ifndef COHORT_CORE_COMPILED
#include <cohort/error/impl/exceptions.ipp>
#endif
