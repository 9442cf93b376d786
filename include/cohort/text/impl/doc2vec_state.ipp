// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/checkpoint/safetensors.hpp>
#include <cohort/checkpoint/safetensors_writer.hpp>
#include <cohort/detail/text.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/text/detail/doc2vec_state.hpp>
#include <utility>

namespace cohort::detail {

inline constexpr char const* doc2vec_format = "cohort doc2vec 1";
inline constexpr auto new_document = ~std::uint64_t{0};  // number of a document that is not in the text

doc2vec_settings checked(doc2vec_settings const& settings) {
  auto const require = [](bool holds, char const* field, char const* expected, double got) {
    if (!holds)
      throw setting_error(
          {.what = "invalid setting of doc2vec", .where = field, .expected = expected, .got = {got}});
  };
  require(settings.width >= 1, "width", "at least 1", settings.width);
  require(settings.window >= 1, "window", "at least 1", settings.window);
  require(settings.negatives >= 1, "negatives", "at least 1", settings.negatives);
  require(settings.subsample >= 0 && settings.subsample <= 1, "subsample", "0 to 1", settings.subsample);
  require(settings.learning_rate > 0 && is_finite(settings.learning_rate), "learning_rate",
          "a finite number above 0", settings.learning_rate);
  require(settings.final_rate >= 0 && settings.final_rate <= settings.learning_rate, "final_rate",
          "0 to learning_rate", settings.final_rate);
  require(settings.epochs >= 1, "epochs", "at least 1", settings.epochs);
  return settings;
}

doc2vec_state::doc2vec_state(word_vocabulary vocabulary, doc2vec_settings settings)
    : words_(std::move(vocabulary)),
      settings_(checked(settings)),
      noise_(words_.counts()),
      keep_(keep_probabilities(words_, settings_.subsample)) {}

void doc2vec_state::require_known(std::span<std::int32_t const> tokens) const {
  auto const unknown = std::ranges::find_if(
      tokens, [&](std::int32_t token) { return token < 0 || token > words_.end_of_sentence(); });
  if (unknown != tokens.end())
    throw data_error({.what = "a token is not in the vocabulary",
                      .where = {"token ", unknown - tokens.begin()},
                      .expected = {"0 to ", words_.size() - 1, ", or ", words_.size(), " after a document"},
                      .got = {*unknown}});
}

void doc2vec_state::randomise(std::span<float> row, std::uint64_t document) const {
  random_stream const drawn(settings_.seed, "doc2vec document", 0, document);
  for (std::size_t k = 0; k < row.size(); ++k)
    row[k] = (drawn.uniform01(k) - 0.5F) / static_cast<float>(settings_.width);
}

double doc2vec_state::rate(double progress) const {
  return settings_.learning_rate - (settings_.learning_rate - settings_.final_rate) * progress;
}

std::vector<std::int32_t> doc2vec_state::kept_words(std::span<std::int32_t const> text,
                                                    visit const& by) const {
  random_stream const draws(settings_.seed, "doc2vec subsampling", by.epoch, by.document);
  std::vector<std::int32_t> kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == words_.end_of_sentence()) continue;
    if (keep_.empty() || draws.uniform01<double>(i) < keep_[static_cast<std::size_t>(text[i])])
      kept.push_back(text[i]);
  }
  return kept;
}

void doc2vec_state::predict_from(std::span<std::int32_t const> kept, std::size_t i, std::size_t reach,
                                 std::span<float const> vector, std::vector<std::int32_t>& around,
                                 std::vector<float>& h) const {
  h.assign(vector.begin(), vector.end());
  around.clear();
  if (settings_.model == doc2vec_settings::kind::bag_of_words) return;
  std::size_t const last = std::min(kept.size(), i + reach + 1);
  for (std::size_t j = i - std::min(i, reach); j < last; ++j)
    if (j != i) around.push_back(kept[j]);
  for (std::int32_t const word : around) {
    float const* const v = inputs_.data() + static_cast<std::size_t>(word) * h.size();
    for (std::size_t k = 0; k < h.size(); ++k) h[k] += v[k];
  }
  float const share = 1 / static_cast<float>(around.size() + 1);
  for (float& element : h) element *= share;
}

doc2vec_state::loss_sum doc2vec_state::update(std::span<std::int32_t const> text, visit const& by,
                                              std::span<float> vector, std::span<float> inputs,
                                              std::span<float> outputs) const {
  std::vector<std::int32_t> const kept = kept_words(text, by);
  random_stream const noise(settings_.seed, "doc2vec noise", by.epoch, by.document),
      sizes(settings_.seed, "doc2vec window", by.epoch, by.document);
  auto const width = vector.size(), negatives = static_cast<std::size_t>(settings_.negatives);
  auto const rate = static_cast<float>(by.rate);
  std::vector<float> h, descent(width);
  std::vector<std::int32_t> around;
  loss_sum sum{.positions = std::ssize(kept)};
  for (std::size_t i = 0; i < kept.size(); ++i) {
    predict_from(kept, i, 1 + sizes.below(i, static_cast<std::uint64_t>(settings_.window)), vector, around,
                 h);
    std::ranges::fill(descent, 0.0F);
    for (std::size_t t = 0; t <= negatives; ++t) {
      bool const is_word = t == 0;
      std::int32_t const word = is_word ? kept[i] : noise_.at(noise.uniform01<double>(i * negatives + t - 1));
      if (!is_word && word == kept[i]) continue;
      std::size_t const first = static_cast<std::size_t>(word) * width;
      float const* const u = outputs_.data() + first;
      float const x = dot_in_lanes(h.data(), u, width);
      auto const away = static_cast<double>(is_word ? -x : x);  // loss = ln(1 + exp(away))
      sum.loss += std::max(away, 0.0) + std::log1p(std::exp(-std::abs(away)));
      float const slope = rate * (1 / (1 + std::exp(-x)) - (is_word ? 1.0F : 0.0F));
      for (std::size_t k = 0; k < width; ++k) descent[k] += slope * u[k];
      if (outputs.empty()) continue;
      for (std::size_t k = 0; k < width; ++k) outputs[first + k] -= slope * h[k];
    }
    for (std::size_t k = 0; k < width; ++k) vector[k] -= descent[k];
    if (inputs.empty()) continue;
    for (std::int32_t const word : around)
      for (std::size_t k = 0; k < width; ++k)
        inputs[static_cast<std::size_t>(word) * width + k] -= descent[k];
  }
  return sum;
}

std::vector<double> doc2vec_state::fit(std::span<std::int32_t const> tokens) {
  require_known(tokens);
  auto const width = static_cast<std::size_t>(settings_.width);
  std::vector<std::size_t> ends;  // of the documents
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] == words_.end_of_sentence()) ends.push_back(i);
  if (!tokens.empty() && tokens.back() != words_.end_of_sentence()) ends.push_back(tokens.size());
  std::size_t const vocabulary = words_.words().size();
  documents_.assign(ends.size() * width, 0);
  outputs_.assign(vocabulary * width, 0);
  inputs_.assign(settings_.model == doc2vec_settings::kind::distributed_memory ? vocabulary * width : 0, 0);
  random_stream const drawn(settings_.seed, "doc2vec input");
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    inputs_[i] = (drawn.uniform01(i) - 0.5F) / static_cast<float>(settings_.width);
  auto const row_of = [&](std::size_t document) {
    return std::span(documents_).subspan(document * width, width);
  };
  for (std::size_t d = 0; d < ends.size(); ++d) randomise(row_of(d), d);
  std::vector<double> losses;
  for (int epoch = 0; epoch < settings_.epochs; ++epoch) {
    loss_sum all;
    for (std::size_t d = 0, begin = 0; d < ends.size(); begin = ends[d++]) {
      double const done = epoch + static_cast<double>(begin) / static_cast<double>(tokens.size());
      loss_sum const part = update(
          tokens.subspan(begin, ends[d] - begin),
          {.epoch = static_cast<std::uint64_t>(epoch), .document = d, .rate = rate(done / settings_.epochs)},
          row_of(d), inputs_, outputs_);
      all.loss += part.loss;
      all.positions += part.positions;
    }
    losses.push_back(all.positions == 0 ? 0 : all.loss / static_cast<double>(all.positions));
  }
  return losses;
}

std::vector<float> doc2vec_state::infer(std::span<std::int32_t const> tokens) const {
  require_known(tokens);
  if (outputs_.empty())
    throw setting_error({.what = "doc2vec has no vectors of words",
                         .where = "doc2vec::infer",
                         .expected = "a call of fit or load before",
                         .got = "none"});
  std::vector<float> vector(static_cast<std::size_t>(settings_.width));
  randomise(vector, new_document);
  for (int epoch = 0; epoch < settings_.epochs; ++epoch)
    update(tokens,
           {.epoch = static_cast<std::uint64_t>(epoch),
            .document = new_document,
            .rate = rate(static_cast<double>(epoch) / settings_.epochs)},
           vector, {}, {});
  return vector;
}

std::span<float const> doc2vec_state::row(std::int64_t document) const {
  if (document < 0 || document >= documents())
    throw shape_error({.what = "no such document",
                       .where = "doc2vec::vector_of",
                       .expected = {"0 to ", documents() - 1},
                       .got = {document}});
  auto const width = static_cast<std::size_t>(settings_.width);
  return std::span(documents_).subspan(static_cast<std::size_t>(document) * width, width);
}

std::string doc2vec_state::text_of_settings() const {
  return text_of({"model ", static_cast<int>(settings_.model), ", width ", settings_.width, ", window ",
                  settings_.window, ", negatives ", settings_.negatives, ", subsample ", settings_.subsample,
                  ", learning_rate ", settings_.learning_rate, ", final_rate ", settings_.final_rate,
                  ", epochs ", settings_.epochs, ", seed ", settings_.seed});
}

void doc2vec_state::save(std::string const& path) const {
  std::vector<stored_tensor> tensors;
  auto const add = [&](char const* name, std::vector<float> const& values) {
    int const rows = static_cast<int>(values.size() / static_cast<std::size_t>(settings_.width));
    tensors.push_back({name, tensor_view{values.data(), {rows, settings_.width}}});
  };
  add("documents", documents_);
  add("output", outputs_);
  if (!inputs_.empty()) add("input", inputs_);
  save_safetensors(path, tensors,
                   {{"format", doc2vec_format},
                    {"settings", text_of_settings()},
                    {"vocabulary", text_of({hash_of(words_)})}});
}

void doc2vec_state::load(std::string const& path) {
  safetensors const file = safetensors::load(path);
  for (auto const& [key, wanted] : {std::pair<char const*, std::string>{"format", doc2vec_format},
                                    {"settings", text_of_settings()},
                                    {"vocabulary", text_of({hash_of(words_)})}}) {
    auto const found = file.metadata().find(key);
    std::string const got = found == file.metadata().end() ? "nothing" : found->second;
    if (got != wanted)
      throw data_error({.what = "the file does not contain vectors of this doc2vec",
                        .where = {path, ", ", key},
                        .expected = wanted,
                        .got = got});
  }
  auto const numbers = [&](char const* name, int rows) {
    std::span<float const> const found =
        file.at(name, element_type::f32, {rows, settings_.width}).as<float>();
    if (!std::ranges::all_of(found, [](float x) { return is_finite(x); }))
      file.refuse(name, "finite numbers", "NaN or infinity");
    return std::vector<float>(found.begin(), found.end());
  };
  std::vector<float> outputs = numbers("output", words_.size()), inputs;
  if (settings_.model == doc2vec_settings::kind::distributed_memory) inputs = numbers("input", words_.size());
  documents_ = numbers("documents", file.at("documents").dims[0]);
  outputs_ = std::move(outputs);
  inputs_ = std::move(inputs);
}

}  // namespace cohort::detail
