// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/graph/graph.hpp>
#include <cohort/layer/kind.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::detail {

inline constexpr std::string_view graph_format = "cohort graph";
inline constexpr std::int64_t graph_format_version = 1;

/// Returns the text of a hash in files: 16 hexadecimal digits.
std::string hash_text(std::uint64_t hash);

/// Returns the hash of the graph that from_json(to_json(net)) returns: a name that equals the generated one
/// is read as if no name were given.
std::uint64_t serialised_hash(graph_view net);

/// Parses a network with the given layer kinds; see from_json.
graph read_graph(std::string_view text, std::string_view name, std::span<kind const* const> kinds);

/// Returns the built-in kinds, followed by `user_kinds`.
///
/// Errors    setting_error if two kinds have the same name.
std::vector<kind const*> known_kinds(std::span<kind const* const> user_kinds);

}  // namespace cohort::detail
