// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstdlib>
#include <string>

struct seed_range {
  std::uint64_t first, last;
};

/// The seeds of COHORT_SIMULATION_SEEDS (FIRST-LAST, or one seed), otherwise `all`.
inline seed_range given_seeds(seed_range all) {
  char const* const given = std::getenv("COHORT_SIMULATION_SEEDS");
  if (!given) return all;
  std::string const text = given;
  std::size_t const dash = text.find('-');
  std::uint64_t const first = std::stoull(text);
  return {first, dash == text.npos ? first : std::stoull(text.substr(dash + 1))};
}
