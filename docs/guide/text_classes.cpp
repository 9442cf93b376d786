// SPDX-License-Identifier: Apache-2.0
// needs: onednn text
#include <cohort/cohort.hpp>
#include <cohort/onednn.hpp>
#include <cohort/text/tokenizer.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

constexpr int longest = 24;

/// Texts as rows of `longest` numbers: a token counts from 1, and 0 marks padding.
class text_rows {
 public:
  explicit text_rows(cohort::tokenizer tokens) : tokens_(std::move(tokens)) {}

  void add(std::string_view text) {
    std::vector<std::int32_t> row = tokens_.encode(text);
    for (std::int32_t& token : row) ++token;
    row.resize(longest);
    numbers_.insert(numbers_.end(), row.begin(), row.end());
  }
  cohort::tensor_view view() const {
    return {numbers_.data(), {static_cast<int>(numbers_.size()) / longest, longest}};
  }

 private:
  cohort::tokenizer tokens_;
  std::vector<std::int32_t> numbers_;
};

/// Returns the column `text` of a table.
text_rows texts_of(cohort::data_table const& table, cohort::tokenizer const& tokens) {
  text_rows rows(tokens);
  cohort::text_column const texts = table.texts("text");
  for (std::size_t row = 0; row < texts.codes.size(); ++row) rows.add(texts[row]);
  return rows;
}

/// Returns the texts with the classes in the column `opinion`. Both arguments must outlive the data set.
cohort::dataset with_opinions(text_rows const& texts, cohort::data_table const& table) {
  cohort::text_column const opinions = table.texts("opinion");
  std::vector<std::string> const names(opinions.vocabulary.begin(), opinions.vocabulary.end());
  return cohort::arrays({{.name = "text", .values = texts.view()}},
                        {{.name = "opinion",
                          .values = {opinions.codes.data(), {table.rows()}},
                          .classes = static_cast<int>(names.size()),
                          .label_names = names}});
}

int main() try {
  using namespace cohort;
  data_table const table = read_table("reviews.csv", {.text_columns = {"text", "opinion"}});
  auto const [known, unseen] = split(table, 0.8, {.seed = 1, .stratified_by = "opinion"});

  std::string all;
  for (std::size_t row = 0; row < static_cast<std::size_t>(known.rows()); ++row)
    all += std::string(known.texts("text")[row]) + '\n';
  tokenizer const tokens = tokenizer::byte_pairs(all, 320);
  text_rows const known_texts = texts_of(known, tokens), unseen_texts = texts_of(unseen, tokens);
  dataset const train = with_opinions(known_texts, known), test = with_opinions(unseen_texts, unseen);

  graph const net = graph::build([&](builder& b) {
    return b.input({longest}) | embedding{.vocabulary = tokens.size() + 1, .width = 16, .mask_zero = true}
           | conv1d{.filters = 32, .kernel = 3, .padding = padding::same} | relu{} | global_max_pool{}
           | dropout{.rate = 0.3} | dense{.units = 2} | softmax_cross_entropy{};
  });
  auto model = trainer<onednn>(net, {.optimizer = {adam{.learning_rate = 3e-3}}});
  model.fit(train, {.batch = 32, .epochs = 12});
  classification_report const report = model.evaluate(test);
  std::printf("%s", report.stats().c_str());
  model.save("reviews.safetensors");
  tokens.save("reviews.json");

  auto const loaded = load_trained<onednn>("reviews.safetensors");
  text_rows asked(tokenizer::load("reviews.json"));
  asked.add("the film is not boring");
  asked.add("the music is not good");
  predictions const answers = loaded.predict(asked.view());
  for (int i = 0; i < answers.count(); ++i)
    std::printf("text %d: %s\n", i + 1, loaded.class_names()[std::size_t(answers.best(i))].c_str());
  return report.accuracy() > 0.9 ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
