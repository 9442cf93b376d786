// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/text/detail/word2vec_state.hpp>
#include <cohort/text/word2vec.hpp>
#include <utility>

namespace cohort {

word2vec::word2vec(word_vocabulary words, communicator& world, word2vec_settings settings)
    : state_(std::make_unique<detail::word2vec_state>(std::move(words), &world, std::move(settings))) {}

word2vec::word2vec(word_vocabulary words, word2vec_settings settings)
    : state_(std::make_unique<detail::word2vec_state>(std::move(words), nullptr, std::move(settings))) {}

word2vec::word2vec(word2vec&&) noexcept = default;
word2vec& word2vec::operator=(word2vec&&) noexcept = default;
word2vec::~word2vec() = default;

std::optional<word2vec_step> word2vec::step(token_stream const& tokens) { return state_->step(tokens); }

void word2vec::fit(token_stream const& tokens, std::function<void(word2vec_step const&)> const& on_step) {
  while (std::optional<word2vec_step> const made = state_->step(tokens))
    if (on_step) on_step(*made);
}

word_vectors word2vec::vectors() const {
  auto const values = std::as_const(state_->input).values();
  return {state_->words.words(), state_->settings.width, {values.begin(), values.end()}};
}

word_vectors word2vec::output_vectors() const {
  if (state_->settings.negatives == 0)
    throw setting_error({.what = "the rows of the output matrix do not belong to words",
                         .where = "output_vectors",
                         .expected = "negatives of at least 1",
                         .got = "hierarchical softmax"});
  auto const values = std::as_const(state_->output).values();
  return {state_->words.words(), state_->settings.width, {values.begin(), values.end()}};
}

void word2vec::save(std::string const& path) const { state_->save(path); }
void word2vec::load(std::string const& path) { state_->load(path); }

}  // namespace cohort
