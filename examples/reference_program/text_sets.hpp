// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cohort/io/data_folders.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/prediction/stateful_predictions.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/text/generate_tokens.hpp>
#include <cohort/text/token_crops.hpp>
#include <cohort/text/tokenizer.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>
#include "program.hpp"

namespace reference_program {

constexpr char const* text_help =
    "a text file in UTF-8; default: text/tinyshakespeare.txt in $COHORT_DATA, data/ or the cache, otherwise "
    "synthetic sentences";

/// A text, its tokenizer, and its source.
struct characters_of_text {
  std::string text;
  cohort::tokenizer tokens;
  std::string where;
  bool synthetic;
};

/// Synthetic sentences of a few words, used if the text file is missing.
inline std::string synthetic_sentences() {
  constexpr std::array subjects{"the king", "a sailor", "my lady", "the old clerk", "no man"};
  constexpr std::array verbs{"sees", "hears", "has found", "will not follow", "remembers"};
  constexpr std::array objects{"the sea", "a letter", "his sword", "the crown of France", "an honest word"};
  cohort::random_stream const draws(1, "synthetic_sentences");
  std::string text;
  for (std::uint64_t k = 0; k < 4000; ++k)
    text += std::string(subjects[draws.below(3 * k, 5)]) + ' ' + verbs[draws.below(3 * k + 1, 5)] + ' '
            + objects[draws.below(3 * k + 2, 5)] + ".\n";
  return text;
}

/// Returns the path of the text: the value of --data, or the first file that exists in the data folders;
/// empty if there is none.
inline std::string text_path(std::string const& given) {
  if (!given.empty()) return given;
  for (std::string const& folder : cohort::io::data_folders())
    for (char const* name : {"/text/tinyshakespeare.txt", "/tinyshakespeare.txt"})
      if (std::filesystem::exists(folder + name)) return folder + name;
  return {};
}

inline constexpr int words_of_gpt2 = 50257;

/// Returns the tokenizer of a text: GPT-2's for --size gpt2 if GPT-2's files are in a data folder, otherwise
/// one token per character.
inline cohort::tokenizer tokens_of(options const& chosen, std::string const& text) {
  for (std::string const& folder : cohort::io::data_folders())
    if (chosen.size == "gpt2" && std::filesystem::exists(folder + "/gpt2/vocab.json"))
      return cohort::tokenizer::gpt2(folder + "/gpt2/vocab.json", folder + "/gpt2/merges.txt");
  return cohort::tokenizer::characters(text);
}

inline characters_of_text characters_of(options const& chosen) {
  std::string const path = text_path(chosen.data);
  std::string text =
      path.empty() ? synthetic_sentences() : cohort::io::read_text(path, std::uint64_t{1} << 32);
  cohort::tokenizer tokens = tokens_of(chosen, text);
  return {std::move(text), std::move(tokens), path.empty() ? "synthetic sentences" : path, path.empty()};
}

/// Crops of `length` tokens. Crops for training are from the first 90 % of the text, crops for the test from
/// the rest. `vocabulary`: size of the network's vocabulary; 0: size of the text's vocabulary.
inline sets crops_of(options const& chosen, int length, int vocabulary = 0) {
  characters_of_text const read = characters_of(chosen);
  cohort::token_stream const all(read.tokens.encode(read.text));
  std::int64_t const cut = all.size() * 9 / 10;
  cohort::crop_settings const crops{.length = length,
                                    .vocabulary = vocabulary > 0 ? vocabulary : read.tokens.size(),
                                    .seed = chosen.run.training.seed};
  cohort::crop_settings fixed = crops;
  fixed.fixed = true;
  sets made{.train = cohort::token_crops(all.part(0, cut), crops),
            .test = cohort::token_crops(all.part(cut, all.size()), fixed),
            .where = read.where};
  if (read.synthetic) {
    made.kind = "synthetic";
    made.notice = "tinyshakespeare.txt was not found: these sentences are synthetic.";
  }
  return made;
}

/// Prints as many tokens as --generate requests, sampled from `source` after a line break. All ranks compute
/// the tokens, because ranks that waited for rank 0 might exceed their deadline. Only rank 0 prints.
template <class Source>
void print_sample_of(Source& source, cohort::training const& trained, options const& chosen) {
  cohort::tokenizer const tokens = characters_of(chosen).tokens;
  std::int32_t const start = tokens.find("\n").value_or(0);
  std::vector<std::int32_t> made = cohort::generate_tokens(
      source, {&start, 1},
      {.count = chosen.generate, .rules = {.temperature = 0.8}, .seed = chosen.run.training.seed});
  std::erase_if(made, [&](std::int32_t token) { return token >= tokens.size(); });  // unknown tokens
  if (trained.world().rank() == 0) std::printf("\n%s\n", tokens.decode(made).c_str());
}

/// Prints a sample of a network that reads all preceding tokens for each new token.
inline void print_sample(cohort::training& trained, options const& chosen, sets const&) {
  if (chosen.generate > 0) print_sample_of(trained, trained, chosen);
}

/// Prints a sample of recurrent layers, which keep their state from token to token.
inline void print_sample_by_steps(cohort::training& trained, options const& chosen, sets const&) {
  if (chosen.generate == 0) return;
  cohort::stateful_predictions stream(trained);
  print_sample_of(stream, trained, chosen);
}

}  // namespace reference_program
