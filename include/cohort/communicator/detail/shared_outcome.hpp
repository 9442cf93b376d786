// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/communicator/communicator.hpp>
#include <cohort/error/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Result of an action that all ranks have run, known to every rank.
struct shared_outcome {
  std::vector<std::string> texts{};  ///< result of each rank's action; complete if `trouble` is empty
  std::string trouble{};             ///< which ranks failed, and why; empty: none
};

/// Runs `action`, which returns a text, on every rank, and exchanges the results, so that all ranks continue
/// or fail together.
///
/// Order     collective.
/// Moves     one allgatherv of these texts.
/// Errors    communicator_error. Exceptions of the action are reported in `trouble`, not thrown.
template <class Action>
shared_outcome outcome_of_all(communicator& world, Action action) {
  constexpr char done = '+', failed = '-';
  constexpr int most_named = 4;
  std::string mine;
  try {
    mine = done + action();
  } catch (std::exception const& refused) {
    mine = failed + std::string(refused.what());
  }
  gathered const all = world.allgatherv(std::as_bytes(std::span(mine)));

  shared_outcome outcome;
  int failures = 0;
  for (int rank = 0; rank < world.size(); ++rank) {
    std::span<std::byte const> const bytes = all.of(rank);
    std::string text(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    char const how = text.empty() ? failed : text[0];
    text.erase(0, 1);
    if (how != done && ++failures <= most_named) {
      if (!outcome.trouble.empty()) outcome.trouble += "; ";
      if (world.size() > 1) outcome.trouble += text_of({"rank ", rank, ": "});
      outcome.trouble += text.empty() ? "no reason given" : text;
    }
    outcome.texts.push_back(std::move(text));
  }
  if (failures > most_named) outcome.trouble += text_of({"; and ", failures - most_named, " more ranks"});
  return outcome;
}

/// Runs `action` on every rank, and throws on every rank if one has failed. A failed rank rethrows its
/// exception; the others throw a data_error with `sentence` and the names of the failed ranks.
///
/// Order     collective.
template <class Action>
void all_or_none(communicator& world, char const* sentence, Action action) {
  if (world.size() == 1) return action();
  std::exception_ptr failure;
  shared_outcome const outcome = outcome_of_all(world, [&]() -> std::string {
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

}  // namespace cohort::detail
