// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/graph/graph.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace cohort {

/// A network of fixed size: a literal value without heap memory. Made by `network<F>()`.
template <std::size_t Nodes, std::size_t Values, std::size_t Edges, std::size_t Characters>
struct static_network {
  std::array<node, Nodes> nodes{};
  std::array<double, Values> values{};
  std::array<int, Edges> edges{};
  std::array<char, Characters> characters{};

  constexpr graph_view view() const { return {nodes, values, edges, characters}; }
  constexpr operator graph_view() const { return view(); }
  operator graph() const { return graph(view()); }

  /// Number of trained elements: see graph_view::parameter_count.
  constexpr std::int64_t parameter_count() const { return view().parameter_count(); }
  /// Hash of everything in the network that determines training: see graph_view::hash.
  constexpr std::uint64_t hash() const { return view().hash(); }
};

namespace detail {

/// Result of a first run of the builder function: the first mistake and the sizes of the pools.
struct survey {
  finding problem{};
  std::size_t nodes = 1, values = 1, edges = 1, characters = 1;
};

template <auto Describe>
constexpr survey survey_network() {
  builder net;
  describe_with(Describe, net);
  if (!net.problem().found()) net.sort_nodes();
  graph_view const v = net.view();
  return {net.problem(), v.nodes.size(), v.values.size(), v.edges.size(), v.characters.size()};
}

/// The survey as one constant per network, so that the compiler reports a mistake once.
template <auto Describe>
struct surveyed {
  static constexpr survey value = survey_network<Describe>();
};

#ifdef __clang__
inline void the_network_is_not_well_formed() {}

/// clang prints the arguments of a call that is not a constant expression. One argument is the error's
/// sentence.
constexpr bool refuse(char const*, int, char const*, char const* sentence, shape, shape) {
  if (sentence) the_network_is_not_well_formed();
  return true;
}

template <auto Describe>
struct well_formed {
  static constexpr finding f = surveyed<Describe>::value.problem;
  static constexpr bool value =
      refuse(f.at.file, f.at.line, f.layer, f.sentence, f.shapes[0].value, f.shapes[1].value);
};
#else
/// gcc prints a template argument that is an array of characters as text.
template <auto Sentence>
struct sentence {
  static_assert(Sentence.size == 0, "cohort: the network is not well formed; see the sentence above");
};

template <auto Describe>
struct well_formed {
  static constexpr bool value = sizeof(sentence<surveyed<Describe>::value.problem.text()>) > 0;
};
#endif

}  // namespace detail

/// Builds a network by running a builder function at compile time:
/// `constexpr auto net = network<[](builder& b) { return b.input({784}) | dense{.units = 10}; }>();`
///
/// After     the outputs are the tensors that the function returns: one, or several in a std::tuple, pair,
///           array or vector, in that order. Losses are outputs too.
/// Errors    a network does not compile if it is not well formed, or if one of its tensors is neither read
///           nor returned. The compiler's message contains the sentence, the file and line of the wrong
///           layer, and the shapes.
template <auto Describe>
constexpr auto network() {
  static_assert(
      !requires(builder & net) {
        { Describe(net) } -> std::same_as<void>;
      },
      "cohort: the function of a network must return its output, or several outputs in a std::tuple");
  if constexpr (requires { typename std::bool_constant<(detail::survey_network<Describe>(), true)>; }) {
    constexpr detail::survey seen = detail::surveyed<Describe>::value;
    static_network<seen.nodes, seen.values, seen.edges, seen.characters> made;
    if constexpr (seen.problem.found()) {
      (void)detail::well_formed<Describe>::value;
    } else {
      builder net;
      detail::describe_with(Describe, net);
      net.sort_nodes();
      graph_view const v = net.view();
      // std::copy is not used, because at run time g++ 12 warns of null pointers (-Wnonnull) if a list is
      // empty.
      auto const copy = [](auto const& from, auto& to) {
        for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i];
      };
      copy(v.nodes, made.nodes);
      copy(v.values, made.values);
      copy(v.edges, made.edges);
      copy(v.characters, made.characters);
    }
    return made;
  } else {
    // Makes the compiler report why the function cannot be evaluated, unless an error in it was already
    // reported.
    if constexpr (requires(builder & net) { Describe(net); }) [[maybe_unused]]
      constexpr auto reason = detail::survey_network<Describe>();
    return static_network<1, 1, 1, 1>{};
  }
}

}  // namespace cohort
