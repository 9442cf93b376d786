// SPDX-License-Identifier: Apache-2.0
// needs: onednn
#include <cohort/cohort.hpp>
#include <cohort/onednn.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

constexpr int length = 12;
std::string const alphabet = " .abcdefghijklmnopqrstuvwxyz";

/// Example i: the numbers of the characters i to i + length − 1, and the class of the next character.
class next_characters {
 public:
  explicit next_characters(std::string const& text) {
    for (char const one : text)
      if (std::size_t const number = alphabet.find(one); number != std::string::npos)
        numbers_.push_back(static_cast<float>(number));
    what_.inputs = {{.name = "characters", .example = {length}, .features = cohort::feature_axis::none}};
    what_.targets = {{.name = "next",
                      .stored = cohort::element_type::i32,
                      .type = cohort::element_type::i32,
                      .classes = static_cast<int>(alphabet.size())}};
  }

  cohort::data_description const& describe() const { return what_; }
  std::int64_t size() const { return static_cast<std::int64_t>(numbers_.size()) - length; }
  void get(std::int64_t i, cohort::example_view& out) const {
    out.point(0, numbers_.data() + i);
    *out.fill<std::int32_t>(1) = static_cast<std::int32_t>(numbers_[static_cast<std::size_t>(i + length)]);
  }

 private:
  std::vector<float> numbers_;
  cohort::data_description what_;
};

int main() try {
  using namespace cohort;
  std::ifstream file("stories.txt");
  dataset const all = next_characters({std::istreambuf_iterator<char>(file), {}});
  std::int64_t const known = all.size() * 9 / 10;
  dataset const train = select(all, 0, known),
                held = select(all, known + length, all.size() - known - length);

  auto const letters = static_cast<int>(alphabet.size());
  graph const net = graph::build([&](builder& b) {
    return b.input({length}) | embedding{.vocabulary = letters, .width = 8} | flatten{} | dense{.units = 64}
           | relu{} | dense{.units = letters} | softmax_cross_entropy{};
  });
  auto model = trainer<onednn>(net, {.optimizer = {adam{.learning_rate = 3e-3}}});
  fit_report const report = model.fit(
      train,
      {.batch = 32, .epochs = 3, .validation = held, .metrics = {metrics::accuracy, metrics::top_k(3)}});
  std::printf("%s", report.history.csv().c_str());

  std::string story = "the old man ";
  while (story.size() < 60) {
    std::vector<float> latest;
    for (char const one : story.substr(story.size() - length))
      latest.push_back(static_cast<float>(alphabet.find(one)));
    int const next = model.predict(tensor_view{latest.data(), {1, length}}).best(0);
    story += alphabet[static_cast<std::size_t>(next)];
  }
  std::printf("%s\n", story.c_str());
  return report.history["accuracy"].back() > 0.5 ? 0 : 1;
} catch (cohort::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
