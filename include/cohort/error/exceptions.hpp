// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cohort/detail/text.hpp>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

namespace cohort {

namespace detail {

/// A text field of `refusal`. Constructed and destroyed out of line, because hundreds of places throw errors.
/// This reduces code size and compile time.
struct clause : std::string {
  [[gnu::cold, gnu::noinline]] clause() {}
  [[gnu::cold, gnu::noinline]] clause(char const* text) : std::string(text) {}
  clause(std::initializer_list<text_piece> pieces);
  [[gnu::cold, gnu::noinline]] clause(std::string text) : std::string(std::move(text)) {}
  [[gnu::cold, gnu::noinline]] clause(clause&& other) noexcept : std::string(std::move(other)) {}
  [[gnu::cold, gnu::noinline]] clause(clause const& other) : std::string(other) {}
  [[gnu::cold, gnu::noinline]] ~clause() {}
};

}  // namespace detail

/// The parts of an error message. All but `what` may be empty.
struct refusal {
  detail::clause what{};      ///< what went wrong, as a clause: "cannot read the IDX file"
  detail::clause where{};     ///< file, line, layer or setting
  detail::clause expected{};  ///< the valid values
  detail::clause got{};       ///< the actual value; if `expected` is empty, the cause
};

/// Base of every exception thrown by the library. Its what() is "what (where): expected …, got …", or "what
/// (where): cause".
class error : public std::runtime_error {
 public:
  explicit error(refusal why);
  /// Returns the parts of the message.
  refusal const& why() const { return why_; }

 private:
  static std::string message(refusal const& r);
  refusal why_;
};

/// The network is malformed, or a graph description cannot be read.
struct graph_error : error {
  using error::error;
};
/// A tensor has the wrong shape or element type.
struct shape_error : error {
  using error::error;
};
/// Input data is damaged, out of range or inconsistent.
struct data_error : error {
  using error::error;
};
/// A file or directory cannot be opened, read or written.
struct file_error : error {
  using error::error;
};
/// A setting has an invalid value: batch 0, ε = 0, an unknown flag.
struct setting_error : error {
  using error::error;
};
/// A backend is not available on this machine, or does not support this network.
struct backend_error : error {
  using error::error;
};
/// More memory is needed than allowed or available.
struct memory_error : error {
  using error::error;
};
/// A number, for example a loss or gradient, is not finite, or ranks differ in numbers that must be equal.
struct numeric_error : error {
  using error::error;
};
/// A wait exceeded its deadline.
struct deadline_error : error {
  using error::error;
};

/// Exit status of a program that cannot finish because ranks were lost, or that was asked to stop and saved
/// its state. The same command can be started again (EX_TEMPFAIL of sysexits.h).
inline constexpr int communicator_exit_status = 75;

/// A rank is lost, late or failed, and the others cannot continue.
struct communicator_error : error {
  explicit communicator_error(refusal why, int exit_status = communicator_exit_status);

  /// Returns the program's exit status, which is the same on every rank: communicator_exit_status if ranks
  /// were lost or late. The status is 1 if a rank threw any other exception or a message had the wrong size,
  /// because a restart would repeat the error.
  int exit_status() const { return exit_status_; }

 private:
  int exit_status_;
};

}  // namespace cohort
