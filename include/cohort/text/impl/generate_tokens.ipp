// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/prediction/stateful_predictions.hpp>
#include <cohort/prediction/token_decoder.hpp>
#include <cohort/text/generate_tokens.hpp>
#include <cstddef>
#include <optional>

namespace cohort {

namespace detail {

/// Returns T, the number of steps of the network's input.
int window_of(graph_view const& net) {
  std::vector<int> const inputs = net.with_role(layer_role::input);
  if (inputs.size() != 1 || net[inputs[0]].output.rank != 1)
    throw setting_error({.what = "generate_tokens cannot use this network",
                         .where = "input",
                         .expected = "one input of T token indices",
                         .got = inputs.size() != 1 ? clause({inputs.size(), " inputs"})
                                                   : clause(to_string(net[inputs[0]].output))});
  return net[inputs[0]].output[0];
}

void check_generation(std::span<std::int32_t const> prompt, generation_settings const& how) {
  if (prompt.empty())
    throw setting_error({.what = "the prompt of generate_tokens is empty",
                         .where = {},
                         .expected = "at least one token",
                         .got = "none"});
  if (how.count < 0)
    throw setting_error({.what = "invalid setting of generate_tokens",
                         .where = "count",
                         .expected = "at least 0",
                         .got = {how.count}});
}

}  // namespace detail

std::vector<std::int32_t> generate_tokens(training const& net, std::span<std::int32_t const> prompt,
                                          generation_settings const& how) {
  int const window = detail::window_of(net.network());
  detail::check_generation(prompt, how);
  std::vector<std::int32_t> tokens(prompt.begin(), prompt.end()), steps(static_cast<std::size_t>(window));
  random_stream const draws(how.seed, "generate");
  std::optional<token_decoder> cached;
  if (how.cached && detail::why_not_decoded(net.network()).empty()) cached.emplace(net);
  for (int k = 0; k < how.count; ++k) {
    if (cached && tokens.size() <= steps.size()) {
      auto const fresh = std::span(tokens).subspan(static_cast<std::size_t>(cached->steps()));
      tokens.push_back(drawn_token(cached->advance(fresh), how.rules, draws, static_cast<std::uint64_t>(k)));
      continue;
    }
    std::size_t const read = std::min(tokens.size(), steps.size());
    std::copy(tokens.end() - static_cast<std::ptrdiff_t>(read), tokens.end(), steps.begin());
    predictions const made = net.predict(tensor_view{steps.data(), shape(1, window)});
    if (made.example.rank != 2 || made.example[0] != window)
      throw setting_error({.what = "generate_tokens cannot use this network",
                           .where = "output",
                           .expected = {"probabilities at each of ", window, " steps: ", window, " x V"},
                           .got = to_string(made.example)});
    auto const vocabulary = static_cast<std::size_t>(made.example[1]);
    tokens.push_back(drawn_token(made[0].subspan((read - 1) * vocabulary, vocabulary), how.rules, draws,
                                 static_cast<std::uint64_t>(k)));
  }
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(prompt.size()));
  return tokens;
}

std::vector<std::int32_t> generate_tokens(stateful_predictions& stream, std::span<std::int32_t const> prompt,
                                          generation_settings const& how) {
  detail::check_generation(prompt, how);
  if (stream.sequences() != 1)
    throw setting_error({.what = "the stream of generate_tokens has several sequences",
                         .where = "stateful_predictions",
                         .expected = {1},
                         .got = {stream.sequences()}});
  random_stream const draws(how.seed, "generate");
  std::vector<std::int32_t> tokens;
  std::span<std::int32_t const> next = prompt;
  for (int k = 0; k <= how.count; ++k) {
    int const steps = static_cast<int>(next.size());
    predictions const made = stream.advance(tensor_view{next.data(), shape(1, steps)});
    if (made.example.rank != 2 || made.example[0] != steps)
      throw setting_error({.what = "generate_tokens cannot use this network",
                           .where = "output",
                           .expected = {"probabilities at each of ", steps, " steps: ", steps, " x V"},
                           .got = to_string(made.example)});
    if (k == how.count) break;
    auto const vocabulary = static_cast<std::size_t>(made.example[1]);
    tokens.push_back(drawn_token(made[0].last(vocabulary), how.rules, draws, static_cast<std::uint64_t>(k)));
    next = std::span(tokens).last(1);
  }
  return tokens;
}

}  // namespace cohort
