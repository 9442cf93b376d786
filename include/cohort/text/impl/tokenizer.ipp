// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/io/json.hpp>
#include <cohort/io/json_writer.hpp>
#include <cohort/text/detail/unicode.hpp>
#include <cohort/text/detail/vocabulary.hpp>
#include <cohort/text/tokenizer.hpp>
#include <cstddef>
#include <limits>
#include <set>
#include <utility>

namespace cohort {

namespace detail {

inline constexpr io::json_limits vocabulary_limits = {.max_bytes = std::size_t{256} << 20,
                                                      .max_values = 20'000'000};

void add_all_bytes(vocabulary& made) {
  for (int byte = 0; byte < 256; ++byte) made.texts.emplace_back(1, static_cast<char>(byte));
}

/// Throws data_error unless the texts are distinct and, for byte pairs, contain every byte.
void check_tokens(vocabulary const& made, std::string const& path) {
  if (made.ids.size() != made.texts.size()) {
    for (std::size_t k = 0; k < made.texts.size(); ++k)
      if (made.ids.at(made.texts[k]) != static_cast<std::int32_t>(k))
        throw data_error({.what = "two tokens have the same text",
                          .where = path,
                          .expected = "distinct tokens",
                          .got = {"tokens ", made.ids.at(made.texts[k]), " and ", k}});
  }
  if (made.kind == token_kind::characters) return;
  for (int byte = 0; byte < 256; ++byte)
    if (!made.ids.contains(std::string(1, static_cast<char>(byte))))
      throw data_error({.what = "the vocabulary is incomplete",
                        .where = path,
                        .expected = "a token for each of the 256 bytes",
                        .got = {"none for the byte ", byte}});
}

/// Appends a merge.  Errors: data_error with `where` if one of its tokens is not in the vocabulary.
void add_checked_merge(vocabulary& made, std::string_view left, std::string_view right, std::string where) {
  auto const number = [&](std::string_view text) {
    auto const found = made.ids.find(text);
    if (found == made.ids.end())
      throw data_error({.what = "a merge contains a token that is not in the vocabulary",
                        .where = std::move(where),
                        .expected = "a token of the vocabulary",
                        .got = {"'", printable_of(text), "'"}});
    return found->second;
  };
  std::int32_t const first = number(left), second = number(right);
  made.add_merge(first, second, number(std::string(left) + std::string(right)));
}

/// Sets texts[id] for each field "text": id of an object.
void read_numbered_tokens(vocabulary& made, io::json_value fields) {
  made.texts.resize(fields.size());
  std::vector<char> set(fields.size());
  std::string bytes;
  for (io::json_value const field : fields.items()) {
    auto const id = static_cast<std::size_t>(
        field.unsigned_integer(fields.size() == 0 ? 0 : static_cast<std::uint64_t>(fields.size() - 1)));
    if (set[id] != 0) field.refuse("a number that no other token has");
    set[id] = 1;
    // Special tokens such as <|endoftext|> are stored as plain text, not in the printable form.
    if (!bytes_of_printable(field.key(), bytes))
      field.refuse("a token of printable characters as in GPT-2's files",
                   detail::text_of({"'", field.key().substr(0, 60), "'"}));
    made.texts[id] = bytes;
  }
}

}  // namespace detail

tokenizer tokenizer::bytes() {
  auto made = std::make_shared<detail::vocabulary>();
  detail::add_all_bytes(*made);
  made->index();
  return tokenizer(std::move(made));
}

tokenizer tokenizer::characters(std::string_view text) {
  std::set<char32_t> found;
  for (std::size_t at = 0; at < text.size();) {
    detail::utf8_character const one = detail::utf8_at(text, at);
    if (one.bytes == 0)
      throw data_error({.what = "cannot divide a text into characters",
                        .where = {"byte ", at},
                        .expected = "UTF-8",
                        .got = {"the byte ", static_cast<int>(static_cast<unsigned char>(text[at]))}});
    found.insert(one.code);
    at += one.bytes;
  }
  if (found.empty())
    throw data_error({.what = "the text for a tokenizer is empty",
                      .where = "tokenizer::characters",
                      .expected = "at least 1 character",
                      .got = "0"});
  auto made = std::make_shared<detail::vocabulary>();
  made->kind = detail::token_kind::characters;
  for (char32_t const code : found) made->texts.push_back(detail::utf8_of(code));
  made->index();
  return tokenizer(std::move(made));
}

tokenizer tokenizer::byte_pairs(std::string_view text, int size) {
  if (size < 256)
    throw setting_error({.what = "invalid vocabulary of a byte pair encoding",
                         .where = "size",
                         .expected = "at least 256, the number of bytes",
                         .got = {size}});
  auto made = std::make_shared<detail::vocabulary>();
  made->kind = detail::token_kind::byte_pairs;
  detail::add_all_bytes(*made);
  detail::learn_byte_pairs(*made, text, size);
  made->index();
  return tokenizer(std::move(made));
}

tokenizer tokenizer::gpt2(std::string const& vocabulary_file, std::string const& merges_file) {
  auto made = std::make_shared<detail::vocabulary>();
  made->kind = detail::token_kind::byte_pairs;
  io::json_document const document =
      io::parse_json(io::read_text(vocabulary_file), vocabulary_file, detail::vocabulary_limits);
  detail::read_numbered_tokens(*made, document.root());
  made->index();
  detail::check_tokens(*made, vocabulary_file);

  std::string const text = io::read_text(merges_file);
  std::string_view rest = text;
  std::string left, right;
  for (int line = 1; !rest.empty(); ++line) {
    std::string_view one = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (one.ends_with('\r')) one.remove_suffix(1);
    if (one.empty() || (line == 1 && one.starts_with("#version"))) continue;
    std::size_t const space = one.find(' ');
    if (space == std::string_view::npos || !detail::bytes_of_printable(one.substr(0, space), left)
        || !detail::bytes_of_printable(one.substr(space + 1), right) || left.empty() || right.empty())
      throw data_error({.what = "cannot read the merges",
                        .where = {merges_file, ", line ", line},
                        .expected = "two tokens with a space between them",
                        .got = {"'", one.substr(0, 60), "'"}});
    detail::add_checked_merge(*made, left, right, detail::text_of({merges_file, ", line ", line}));
  }
  return tokenizer(std::move(made));
}

tokenizer tokenizer::load(std::string const& path) {
  io::json_document const document = io::parse_json(io::read_text(path), path, detail::vocabulary_limits);
  io::json_value const root = document.root();
  root.expect_only({"format", "version", "kind", "tokens", "merges"});
  if (root.at("format").string() != "cohort tokenizer") root.at("format").refuse("'cohort tokenizer'");
  if (root.at("version").integer() != 1) root.at("version").refuse("1");
  auto made = std::make_shared<detail::vocabulary>();
  std::string_view const kind = root.at("kind").string();
  bool const characters = kind == "characters", byte_pairs = kind == "byte pairs";
  if (!characters && !byte_pairs && kind != "bytes")
    root.at("kind").refuse("'bytes', 'characters' or 'byte pairs'");
  made->kind = characters   ? detail::token_kind::characters
               : byte_pairs ? detail::token_kind::byte_pairs
                            : detail::token_kind::bytes;
  for (io::json_value const token : root.at("tokens").items()) {
    std::string bytes(token.string());
    if (characters) {
      if (bytes.empty() || detail::utf8_at(bytes, 0).bytes != bytes.size()) token.refuse("one character");
    } else if (!detail::bytes_of_printable(token.string(), bytes)) {
      token.refuse("printable characters");
    }
    made->texts.push_back(std::move(bytes));
  }
  if (characters && made->texts.empty()) root.at("tokens").refuse("at least one token");
  made->index();
  detail::check_tokens(*made, path);
  if (kind == "bytes") {
    io::json_value const tokens = root.at("tokens");
    if (tokens.size() != 256) tokens.refuse("256 tokens");
    for (std::size_t k = 0; k < 256; ++k)
      if (made->texts[k] != std::string(1, static_cast<char>(k)))
        tokens.at(k).refuse(detail::text_of({"the byte ", k}));
  }
  io::json_value const merges = root.at("merges");
  if (merges.size() % 2 != 0) merges.refuse("two tokens for each merge");
  if (!byte_pairs && merges.size() != 0) merges.refuse("no merges");
  auto const token = [&](std::size_t k) -> std::string const& {
    return made->texts[static_cast<std::size_t>(
        merges.at(k).integer(0, static_cast<std::int64_t>(made->texts.size()) - 1))];
  };
  for (std::size_t k = 0; k < merges.size(); k += 2)
    detail::add_checked_merge(*made, token(k), token(k + 1),
                              detail::text_of({path, ", ", merges.at(k).path()}));
  return tokenizer(std::move(made));
}

void tokenizer::save(std::string const& path) const {
  detail::vocabulary const& v = *vocabulary_;
  bool const characters = v.kind == detail::token_kind::characters;
  io::json_writer out;
  out.begin_object().field("format", "cohort tokenizer").field("version", 1);
  out.field("kind", characters ? "characters" : v.kind == detail::token_kind::bytes ? "bytes" : "byte pairs");
  out.key("tokens").begin_array();
  for (std::string const& text : v.texts) out.value(characters ? text : detail::printable_of(text));
  out.end_array().key("merges").begin_array();
  for (auto const& [left, right] : v.pairs) out.value(left).value(right);
  out.end_array().end_object();
  io::write_file(path, out.text());
}

int tokenizer::size() const { return static_cast<int>(vocabulary_->texts.size()); }

std::vector<std::int32_t> tokenizer::encode(std::string_view text) const {
  detail::vocabulary const& v = *vocabulary_;
  std::vector<std::int32_t> tokens;
  switch (v.kind) {
    case detail::token_kind::bytes:
      tokens.reserve(text.size());
      for (char const byte : text) tokens.push_back(static_cast<unsigned char>(byte));
      break;
    case detail::token_kind::characters:
      tokens.reserve(text.size());
      for (std::size_t at = 0; at < text.size();) {
        std::size_t const bytes = detail::utf8_at(text, at).bytes;
        auto const found = v.ids.find(text.substr(at, bytes));
        if (bytes == 0 || found == v.ids.end())
          throw data_error({.what = "the text contains a character that is not a token",
                            .where = {"byte ", at},
                            .expected = "characters of the text from which the tokenizer was created",
                            .got = bytes == 0 ? detail::clause("a byte that is not UTF-8")
                                              : detail::clause({"'", text.substr(at, bytes), "'"})});
        tokens.push_back(found->second);
        at += bytes;
      }
      break;
    case detail::token_kind::byte_pairs: {
      struct span_of_tokens {
        std::size_t first, count;
      };
      std::unordered_map<std::string_view, span_of_tokens> known;  // words that have been encoded
      for (std::size_t bytes = 0; !text.empty(); text.remove_prefix(bytes)) {
        bytes = detail::first_word(text);
        auto const [found, is_new] =
            known.try_emplace(text.substr(0, bytes), span_of_tokens{tokens.size(), 0});
        span_of_tokens& where = found->second;
        if (is_new) {
          v.encode_word(text.substr(0, bytes), tokens);
          where.count = tokens.size() - where.first;
        } else {
          for (std::size_t k = 0; k < where.count; ++k) tokens.push_back(tokens[where.first + k]);
        }
      }
      break;
    }
  }
  return tokens;
}

std::string_view tokenizer::text_of(std::int32_t token) const& {
  if (token < 0 || token >= size())
    throw data_error({.what = "a token does not exist",
                      .where = "tokenizer",
                      .expected = {"0 to ", size() - 1},
                      .got = {token}});
  return vocabulary_->texts[static_cast<std::size_t>(token)];
}

std::string tokenizer::decode(std::span<std::int32_t const> tokens) const {
  std::string text;
  for (std::int32_t const token : tokens) text += text_of(token);
  return text;
}

std::optional<std::int32_t> tokenizer::find(std::string_view text) const {
  auto const found = vocabulary_->ids.find(text);
  if (found == vocabulary_->ids.end()) return {};
  return found->second;
}

}  // namespace cohort
