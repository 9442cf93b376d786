// SPDX-License-Identifier: Apache-2.0
// Malformed files of words and tokens: a file is refused by a data_error with its path, or it is read and
// used. The first byte selects word vectors as text (0) or binary (1), a tokenizer (2), or GPT-2's vocabulary
// and merges, separated by a character 0 (3).
// To run the fuzzer without a time limit (it writes new inputs to the first folder):
//   build/…/tests/text_text_files_fuzz some/folder tests/text/text_files_fuzz
#include <algorithm>
#include <cohort/error/exceptions.hpp>
#include <cohort/text/tokenizer.hpp>
#include <cohort/text/word_vectors.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>
#include "../io/memory_file.hpp"

namespace {

using namespace cohort;

void require(bool holds) {
  if (!holds) std::abort();
}

void use(word_vectors const& read) {
  require(read.size() > 0 && read.width() > 0);
  std::string const& word = read.words().back();
  require(read.find(word) == read.size() - 1);
  require(std::ssize(read.vector_of(word)) == read.width());
  for (neighbour const& one : read.nearest(word, 2)) require(one.similarity <= 1.001);
}

void use(tokenizer const& read) {
  constexpr std::string_view text = "the king's 12 \xc3\xa4pples \xff";
  require(read.size() > 0);
  std::string whole;
  for (std::int32_t token = 0; token < std::min(read.size(), 500); ++token) whole += read.text_of(token);
  try {
    require(read.decode(read.encode(text)) == text);
  } catch (data_error const&) {  // a character without a token
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static memory_file const file, merges;
  if (size == 0) return 0;
  int const kind = data[0] % 4;
  std::uint8_t const *const first = data + 1, *const last = data + size;
  std::uint8_t const* const end = kind == 3 ? std::find(first, last, 0) : last;
  std::uint8_t const* const rest = end == last ? last : end + 1;
  file.set(first, static_cast<std::size_t>(end - first));
  merges.set(rest, static_cast<std::size_t>(last - rest));
  try {
    if (kind < 2)
      use(word_vectors::load(file.path(), kind == 0 ? vector_format::text : vector_format::binary));
    if (kind == 2) use(tokenizer::load(file.path()));
    if (kind == 3) use(tokenizer::gpt2(file.path(), merges.path()));
  } catch (data_error const& refused) {
    std::string_view const where = refused.why().where;
    require(where.starts_with(file.path()) || where.starts_with(merges.path()));
  }
  return 0;
}
