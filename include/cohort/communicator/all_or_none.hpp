// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/communicator/detail/texts_of_all.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort {

/// Result of an action that all ranks have run, the same on every rank.
struct shared_outcome {
  std::vector<std::string> texts{};  ///< result of each rank's action; complete if `trouble` is empty
  std::string trouble{};             ///< which ranks failed, and why; empty: none
};

/// Runs `action`, which returns a text, on every rank, and exchanges the results, so that all ranks continue
/// or fail together. `call` names the user's collective call, such as "save".
///
/// Order     collective.
/// Moves     one allgatherv of the texts.
/// Errors    communicator_error; setting_error if a rank is in another call. Exceptions of the action are
///           reported in `trouble`, not thrown.
template <class Action>
shared_outcome outcome_of_all(communicator& world, std::string_view call, Action action) {
  constexpr char done = '+', failed = '-';
  constexpr int most_named = 4;
  std::string result;
  try {
    result = done + action();
  } catch (std::exception const& refused) {
    result = failed + std::string(refused.what());
  }
  shared_outcome outcome{.texts = detail::texts_of_all(world, call, result)};
  int failures = 0;
  for (int rank = 0; rank < world.size(); ++rank) {
    std::string& text = outcome.texts[static_cast<std::size_t>(rank)];
    bool const succeeded = text.starts_with(done);
    text.erase(0, 1);
    if (succeeded || ++failures > most_named) continue;
    if (!outcome.trouble.empty()) outcome.trouble += "; ";
    if (world.size() > 1) outcome.trouble += detail::text_of({"rank ", rank, ": "});
    outcome.trouble += text.empty() ? "no reason given" : text;
  }
  if (failures > most_named)
    outcome.trouble += detail::text_of({"; and ", failures - most_named, " more ranks"});
  return outcome;
}

/// Runs `action` on every rank, and throws on every rank if the action has failed on any rank. A failed rank
/// rethrows its exception; the others throw a data_error with `sentence`, the failed ranks and their reasons.
/// `call` names the user's collective call, such as "save".
///
/// Order     collective.
template <class Action>
void all_or_none(communicator& world, std::string_view call, char const* sentence, Action action) {
  if (world.size() == 1) return action();
  std::exception_ptr failure;
  shared_outcome const outcome = outcome_of_all(world, call, [&]() -> std::string {
    try {
      action();
    } catch (...) {
      failure = std::current_exception();
      throw;
    }
    return "";
  });
  if (failure) std::rethrow_exception(failure);
  if (!outcome.trouble.empty()) throw data_error({.what = sentence, .got = outcome.trouble});
}

}  // namespace cohort
