// SPDX-License-Identifier: Apache-2.0
#include <cohort/text/detail/doc2vec_state.hpp>
#include <cohort/text/doc2vec.hpp>
#include <utility>

namespace cohort {

doc2vec::doc2vec(word_vocabulary words, doc2vec_settings settings)
    : state_(std::make_unique<detail::doc2vec_state>(std::move(words), settings)) {}
doc2vec::doc2vec(doc2vec&&) noexcept = default;
doc2vec& doc2vec::operator=(doc2vec&&) noexcept = default;
doc2vec::~doc2vec() = default;

std::vector<double> doc2vec::fit(std::span<std::int32_t const> tokens) { return state_->fit(tokens); }
std::int64_t doc2vec::documents() const { return state_->documents(); }
std::span<float const> doc2vec::vector_of(std::int64_t document) const& { return state_->row(document); }
std::vector<float> doc2vec::infer(std::span<std::int32_t const> tokens) const {
  return state_->infer(tokens);
}
void doc2vec::save(std::string const& path) const { state_->save(path); }
void doc2vec::load(std::string const& path) { state_->load(path); }

}  // namespace cohort
