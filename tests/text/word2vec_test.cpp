// SPDX-License-Identifier: Apache-2.0
// covers: text/word2vec_settings
#include <gtest/gtest.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cohort/communicator/launch.hpp>
#include <cohort/communicator/thread_ranks.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/file_reader.hpp>
#include <cohort/io/file_writer.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/text/detail/word2vec_state.hpp>
#include <cohort/text/word2vec.hpp>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include "../checkpoint/refusals.hpp"
#include "../checkpoint/scratch_folder.hpp"

namespace word2vec_test {

using namespace cohort;
using namespace std::chrono_literals;
using matrix = std::vector<std::vector<double>>;

/// Sentences of words drawn from a Zipf distribution.
std::string synthetic_text(int vocabulary, int words, std::uint64_t seed = 1) {
  random_stream const draws(seed, "text");
  std::vector<double> sums;
  double sum = 0;
  for (int i = 0; i < vocabulary; ++i) sums.push_back(sum += 1.0 / (i + 1));
  std::string text;
  for (int i = 0; i < words; ++i) {
    double const point = draws.uniform01<double>(static_cast<std::uint64_t>(i)) * sum;
    text += 'w' + std::to_string(std::ranges::upper_bound(sums, point) - sums.begin());
    text += i % 13 == 12 ? '\n' : ' ';
  }
  return text;
}

struct corpus {
  std::string text = synthetic_text(40, 900);
  word_vocabulary words = word_vocabulary::of(text, {.min_count = 2});
  token_stream tokens{words.encode(text)};
};

word2vec_settings const small{.width = 11,
                              .window = 3,
                              .negatives = 4,
                              .shared_windows = 3,
                              .subsample = 0.05,
                              .optimizer = sgd{.learning_rate = 0.1},
                              .final_rate = 0.01,
                              .row_limit = 0.9,
                              .epochs = 2,
                              .windows = 50,
                              .seed = 7};
word2vec_settings with(optimizer_rule const& rule, int negatives = 4) {
  word2vec_settings made = small;
  made.optimizer = rule;
  made.negatives = negatives;
  return made;
}

/// The same algorithm by plain loops over all rows in double precision.
struct oracle {
  word_vocabulary words;
  word2vec_settings settings;
  matrix input, output;
  std::vector<matrix> input_states, output_states;
  double loss = 0;

  struct window {
    std::int32_t centre;
    std::vector<std::int32_t> around;
  };

  oracle(word_vocabulary vocabulary, word2vec_settings how) : words(std::move(vocabulary)), settings(how) {
    auto const all = static_cast<std::size_t>(words.size()), width = static_cast<std::size_t>(how.width);
    input.assign(all, std::vector<double>(width));
    output.assign(how.negatives > 0 ? all : all - 1, std::vector<double>(width));
    random_stream const drawn(how.seed, "word2vec input");
    for (std::size_t i = 0; i < all * width; ++i)
      input[i / width][i % width] =
          static_cast<double>((drawn.uniform01(i) - 0.5F) / static_cast<float>(how.width));
    for (int k = 0; k < how.optimizer.state_arrays(); ++k) {
      input_states.emplace_back(all, std::vector<double>(width, how.optimizer.initial_state(k)));
      output_states.emplace_back(output.size(), std::vector<double>(width, how.optimizer.initial_state(k)));
    }
  }

  /// All windows of an epoch; sentences of at most 1,000 words.
  std::vector<window> windows_of(token_stream const& tokens, std::uint64_t epoch) const {
    std::vector<std::int32_t> all(static_cast<std::size_t>(tokens.size()));
    tokens.copy(0, all);
    random_stream const keep(settings.seed, "word2vec subsampling", epoch),
        sizes(settings.seed, "word2vec window", epoch);
    std::vector<window> made;
    std::vector<std::pair<std::int32_t, std::uint64_t>> sentence;
    auto const finish = [&] {
      for (std::size_t c = 0; c < sentence.size(); ++c) {
        auto const reach = 1 + sizes.below(sentence[c].second, static_cast<std::uint64_t>(settings.window));
        window one{sentence[c].first, {}};
        for (std::size_t o = 0; o < sentence.size(); ++o)
          if (o != c && (o > c ? o - c : c - o) <= reach) one.around.push_back(sentence[o].first);
        made.push_back(one);
      }
      sentence.clear();
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i] == words.end_of_sentence()) {
        finish();
        continue;
      }
      double const share = static_cast<double>(words.counts()[static_cast<std::size_t>(all[i])])
                           / static_cast<double>(words.total());
      double const keeps = (std::sqrt(share / settings.subsample) + 1) * settings.subsample / share;
      if (settings.subsample > 0 && keep.uniform01<double>(i) >= keeps) continue;
      sentence.emplace_back(all[i], i);
      if (sentence.size() == 1000) finish();
    }
    finish();
    return made;
  }

  void step(std::vector<window> const& windows, std::uint64_t number, double rate) {
    auto const width = static_cast<std::size_t>(settings.width);
    matrix input_sums(input.size(), std::vector<double>(width)),
        output_sums(output.size(), std::vector<double>(width));
    std::vector<int> input_terms(input.size()), output_terms(output.size());
    detail::noise_words const noise(words.counts());
    detail::huffman_tree const tree(words.counts());
    random_stream const draws(settings.seed, "word2vec noise", number);
    double sum = 0;
    int pairs = 0;
    for (std::size_t i = 0; i < windows.size(); ++i) {
      std::vector<std::pair<std::int32_t, double>> targets;
      if (settings.negatives == 0) {
        for (auto const& turn : tree.path(windows[i].centre))
          targets.emplace_back(turn.node, turn.second ? 0 : 1);
      } else {
        targets.emplace_back(windows[i].centre, 1);
        auto const block = i / static_cast<std::size_t>(settings.shared_windows);
        for (int k = 0; k < settings.negatives; ++k) {
          std::int32_t const word = noise.at(draws.uniform01<double>(
              block * static_cast<std::size_t>(settings.negatives) + static_cast<std::size_t>(k)));
          if (word != windows[i].centre) targets.emplace_back(word, 0);
        }
      }
      for (std::int32_t const around : windows[i].around) {
        ++pairs;
        auto const v = static_cast<std::size_t>(around);
        for (auto const& [row, label] : targets) {
          auto const u = static_cast<std::size_t>(row);
          double x = 0;
          for (std::size_t k = 0; k < width; ++k) x += input[v][k] * output[u][k];
          double const p = 1 / (1 + std::exp(-x));
          sum -= std::log(label > 0 ? p : 1 - p);
          for (std::size_t k = 0; k < width; ++k) {
            input_sums[v][k] += (p - label) * output[u][k];
            output_sums[u][k] += (p - label) * input[v][k];
          }
          ++input_terms[v];
          ++output_terms[u];
        }
      }
    }
    loss = sum / pairs;
    update(input, input_states, input_sums, input_terms, rate, number + 1);
    update(output, output_states, output_sums, output_terms, rate, number + 1);
  }

  void update(matrix& values, std::vector<matrix>& states, matrix const& sums, std::vector<int> const& terms,
              double rate, std::uint64_t step) const {
    auto const number = [&](int k) { return settings.optimizer.number(k); };
    for (std::size_t r = 0; r < values.size(); ++r) {
      bool const adam = settings.optimizer.name() == "adam";
      if (adam && terms[r] == 0) continue;  // with other optimizers, a gradient of 0 changes nothing
      for (std::size_t k = 0; k < values[r].size(); ++k) {
        double const g = sums[r][k];
        if (settings.optimizer.name() == "sgd") {
          double const limit = settings.row_limit / std::max(terms[r], 1);
          values[r][k] -= (settings.row_limit > 0 ? std::min(rate, limit) : rate) * g;
        } else if (!adam) {
          states[0][r][k] += g * g;
          values[r][k] -= rate * g / (std::sqrt(states[0][r][k]) + number(0));
        } else {
          auto const t = static_cast<double>(step);
          states[0][r][k] = number(0) * states[0][r][k] + (1 - number(0)) * g;
          states[1][r][k] = number(1) * states[1][r][k] + (1 - number(1)) * g * g;
          double const root = std::sqrt(1 - std::pow(number(1), t)),
                       epsilon_hat = settings.optimizer.number("epsilon_hat");
          values[r][k] -= rate * states[0][r][k] / (1 - std::pow(number(0), t))
                          / ((std::sqrt(states[1][r][k]) + epsilon_hat) / root + number(2));
        }
      }
    }
  }
};

double largest_difference(word_vectors const& got, matrix const& wanted) {
  double largest = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    for (std::size_t k = 0; k < wanted[i].size(); ++k)
      largest =
          std::max(largest, std::abs(static_cast<double>(got.vector_of(got.words()[i])[k]) - wanted[i][k]));
  return largest;
}

std::vector<float> values_of(word_vectors const& all) {
  std::vector<float> values;
  for (std::string const& word : all.words())
    values.insert(values.end(), all.vector_of(word).begin(), all.vector_of(word).end());
  return values;
}

/// Compares every step. The first token of the step's sentence gives its rate; here, steps also begin in the
/// middle of sentences.
void compare_with_oracle(word2vec_settings const& how) {
  corpus const data;
  word2vec trained(data.words, how);
  oracle plain(data.words, how);
  std::uint64_t number = 0;
  std::vector<std::int32_t> all(static_cast<std::size_t>(data.tokens.size()));
  data.tokens.copy(0, all);
  for (std::uint64_t epoch = 0; epoch < static_cast<std::uint64_t>(how.epochs); ++epoch) {
    auto const windows = plain.windows_of(data.tokens, epoch);
    ASSERT_GT(windows.size(), 300U);
    detail::skip_gram_windows places(data.words, how);
    detail::word2vec_position at{.epoch = static_cast<std::int64_t>(epoch)};
    for (std::size_t begin = 0; begin < windows.size(); ++number) {
      std::size_t const end = std::min(begin + static_cast<std::size_t>(how.windows), windows.size());
      double const done = (static_cast<double>(epoch)
                           + static_cast<double>(at.sentence) / static_cast<double>(data.tokens.size()))
                          / how.epochs;
      double const first = how.optimizer.learning_rate().value(0, 0);
      plain.step({windows.begin() + static_cast<std::ptrdiff_t>(begin),
                  windows.begin() + static_cast<std::ptrdiff_t>(end)},
                 number, first + (how.final_rate - first) * done);
      places.advance(data.tokens, at);
      auto const made = trained.step(data.tokens);
      ASSERT_TRUE(made);
      EXPECT_EQ(made->step, static_cast<std::int64_t>(number));
      EXPECT_EQ(made->epoch, static_cast<std::int64_t>(epoch));
      EXPECT_EQ(made->windows, static_cast<std::int64_t>(end - begin));
      EXPECT_NEAR(made->loss, plain.loss, 1e-5 * plain.loss);
      ASSERT_LT(largest_difference(trained.vectors(), plain.input), 2e-5) << "step " << number;
      if (how.negatives > 0) {
        ASSERT_LT(largest_difference(trained.output_vectors(), plain.output), 2e-5) << "step " << number;
      }
      begin = end;
    }
  }
  EXPECT_FALSE(trained.step(data.tokens));
}

TEST(word2vec, equals_plain_loops_over_all_rows_step_by_step) {
  for (int const negatives : {4, 0}) {
    SCOPED_TRACE(negatives);
    compare_with_oracle(with(sgd{.learning_rate = 0.1}, negatives));
    compare_with_oracle(with(adagrad{.learning_rate = 0.05}, negatives));
    compare_with_oracle(with(adam{.learning_rate = 0.02, .epsilon = 1e-4}, negatives));
    compare_with_oracle(with(adam{.learning_rate = 0.02, .epsilon = 0, .epsilon_hat = 1e-3}, negatives));
  }
}

TEST(word2vec, equals_plain_loops_without_subsampling_and_limit) {
  word2vec_settings how = small;
  how.subsample = 0;
  how.row_limit = 0;
  how.shared_windows = 1;
  how.optimizer = sgd{.learning_rate = 0.02};
  compare_with_oracle(how);
}

/// Vectors and losses on some ranks. All ranks have the same bits.
struct trained_vectors {
  std::vector<float> input, output;
  std::vector<double> losses;
};
trained_vectors train(int ranks, word2vec_settings const& how) {
  corpus const data;
  std::vector<trained_vectors> made(static_cast<std::size_t>(ranks));
  launch<threads>(ranks, {.deadline = 60s}, [&](communicator& world) {
    word2vec run(data.words, world, how);
    trained_vectors& mine = made[static_cast<std::size_t>(world.rank())];
    run.fit(data.tokens, [&](word2vec_step const& one) { mine.losses.push_back(one.loss); });
    mine.input = values_of(run.vectors());
    if (how.negatives > 0) mine.output = values_of(run.output_vectors());
  });
  for (trained_vectors const& other : made) {
    EXPECT_EQ(other.input, made[0].input);
    EXPECT_EQ(other.output, made[0].output);
    EXPECT_EQ(other.losses, made[0].losses);
  }
  return made[0];
}

TEST(word2vec, over_several_ranks_agrees_with_a_single_rank_and_is_reproducible) {
  for (word2vec_settings const& how : {with(sgd{.learning_rate = 0.1}), with(adagrad{.learning_rate = 0.05}),
                                       with(sgd{.learning_rate = 0.1}, 0)}) {
    trained_vectors const one = train(1, how);
    for (int const ranks : {2, 3}) {
      trained_vectors const several = train(ranks, how);
      ASSERT_EQ(several.losses.size(), one.losses.size());
      for (std::size_t i = 0; i < one.losses.size(); ++i) EXPECT_NEAR(several.losses[i], one.losses[i], 1e-5);
      for (std::size_t i = 0; i < one.input.size(); ++i) EXPECT_NEAR(several.input[i], one.input[i], 2e-5F);
      for (std::size_t i = 0; i < one.output.size(); ++i)
        EXPECT_NEAR(several.output[i], one.output[i], 2e-5F);
      trained_vectors const again = train(ranks, how);
      EXPECT_EQ(again.input, several.input);
      EXPECT_EQ(again.output, several.output);
    }
    word2vec_settings other = how;
    other.seed = 8;
    EXPECT_NE(train(1, other).input, one.input);
  }
}

TEST(word2vec, resumes_bitwise_from_a_file) {
  scratch_folder const folder;
  corpus const data;
  for (word2vec_settings const& how :
       {with(sgd{.learning_rate = 0.1}), with(adagrad{.learning_rate = 0.05}, 0),
        with(adam{.learning_rate = 0.02})}) {
    word2vec whole(data.words, how);
    whole.fit(data.tokens);
    for (int const steps : {0, 3, 14}) {  // 14: in the second epoch
      word2vec first(data.words, how);
      for (int i = 0; i < steps; ++i) first.step(data.tokens);
      first.save(folder / "state");
      word2vec second(data.words, how);
      second.load(folder / "state");
      second.fit(data.tokens);
      EXPECT_EQ(values_of(second.vectors()), values_of(whole.vectors())) << steps;
    }
  }
}

TEST(word2vec, refuses_a_file_of_another_training) {
  scratch_folder const folder;
  corpus const data;
  std::string const path = folder / "state";
  word2vec(data.words, small).save(path);
  auto const refused = [&](word_vocabulary const& words, word2vec_settings const& how) {
    word2vec other(words, how);
    return refusal_of<data_error>([&] { other.load(path); });
  };
  EXPECT_EQ(refused(data.words, small), "");
  word2vec_settings other = small;
  other.window = 2;
  EXPECT_NE(refused(data.words, other)
                .find("the file does not continue this training of word vectors (" + path
                      + ", settings): expected width 11, window 2,"),
            std::string::npos);
  EXPECT_NE(refused(word_vocabulary({"a", "b"}, {1, 1}), small).find("vocabulary"), std::string::npos);
  io::write_file(path, "not a file of tensors");
  EXPECT_NE(refused(data.words, small), "");
}

TEST(word2vec, sends_only_touched_rows) {
  // With 100,000 words x 100 and 1,024 windows a step, at most a fiftieth of both matrices is sent.
  constexpr int vocabulary = 100'000;
  std::vector<std::string> words;
  std::vector<std::int64_t> counts;
  std::vector<double> sums;
  double sum = 0;
  for (int i = 0; i < vocabulary; ++i) {
    words.push_back(std::to_string(i));
    counts.push_back(1 + 10'000'000 / (i + 1));
    sums.push_back(sum += 1.0 / (i + 1));
  }
  word_vocabulary const all(words, counts);
  random_stream const draws(1, "Zipf");
  std::vector<std::int32_t> tokens;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    auto const word = std::ranges::upper_bound(sums, draws.uniform01<double>(i) * sum) - sums.begin();
    tokens.push_back(
        i % 20 == 19
            ? all.end_of_sentence()
            : *all.find(words[static_cast<std::size_t>(std::min<std::ptrdiff_t>(word, vocabulary - 1))]));
  }
  token_stream const text(tokens);
  constexpr std::int64_t dense_bytes = std::int64_t{2} * vocabulary * 100 * 4;
  launch<threads>(2, {.deadline = 60s}, [&](communicator& world) {
    word2vec run(all, world, {});
    for (int i = 0; i < 3; ++i) {
      auto const made = run.step(text);
      ASSERT_TRUE(made);
      EXPECT_EQ(made->windows, 1024);
      EXPECT_LE(made->bytes_sent * 50, dense_bytes);
      EXPECT_LE(made->bytes_sent, made->rows * 408 + 200);
      EXPECT_GE(2 * made->bytes_sent, made->rows * 408);
    }
  });
}

TEST(word2vec, learns_similar_vectors_for_words_of_the_same_sentences) {
  std::string text;
  random_stream const draws(2, "topics");
  for (std::uint64_t i = 0; i < 3000; ++i) {
    bool const sea = i / 6 % 2 == 0;
    text += (sea ? "sea" : "land") + std::to_string(draws.below(i, 6)) + (i % 6 == 5 ? "\n" : " ");
  }
  word_vocabulary const words = word_vocabulary::of(text);
  token_stream const tokens(words.encode(text));
  for (int const negatives : {5, 0}) {
    word2vec run(words, {.width = 16,
                         .negatives = negatives,
                         .subsample = 0,
                         .optimizer = sgd{.learning_rate = 0.05},
                         .epochs = 10,
                         .windows = 64});
    double first = 0, last = 0;
    run.fit(tokens, [&](word2vec_step const& one) { (one.step == 0 ? first : last) = one.loss; });
    EXPECT_LT(last, first);
    for (neighbour const& one : run.vectors().nearest("sea3", 5)) EXPECT_EQ(one.word.substr(0, 3), "sea");
  }
}

TEST(word2vec, builds_an_optimal_huffman_tree) {
  std::vector<std::int64_t> counts;
  for (int i = 0; i < 200; ++i) counts.push_back(1 + 5000 / (i + 1));
  detail::huffman_tree const tree(counts);
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> open(std::greater<>(), counts);
  std::int64_t least = 0;
  while (open.size() > 1) {
    std::int64_t const a = open.top();
    open.pop();
    std::int64_t const b = open.top();
    open.pop();
    least += a + b;
    open.push(a + b);
  }
  std::int64_t cost = 0;
  double leaves = 0;
  for (std::size_t word = 0; word < counts.size(); ++word) {
    auto const path = tree.path(static_cast<std::int32_t>(word));
    cost += counts[word] * std::ssize(path);
    leaves += std::ldexp(1.0, -static_cast<int>(path.size()));
    EXPECT_EQ(path[0].node, 198) << "the root";
  }
  EXPECT_EQ(cost, least);
  EXPECT_EQ(leaves, 1);
}

TEST(word2vec, samples_noise_words_by_a_power_of_the_counts) {
  std::vector<std::int64_t> const counts{16, 1, 1};
  detail::noise_words const noise(counts);
  EXPECT_EQ(noise.at(0), 0);
  EXPECT_EQ(noise.at(0.79), 0);
  EXPECT_EQ(noise.at(0.81), 1);
  EXPECT_EQ(noise.at(0.89), 1);
  EXPECT_EQ(noise.at(0.91), 2);
  EXPECT_EQ(noise.at(std::nextafter(1.0, 0.0)), 2);
}

TEST(word2vec, splits_sentences_after_1000_words) {
  word_vocabulary const words({"a", "b"}, {1500, 1000});
  word2vec_settings how = small;
  how.subsample = 0;
  how.windows = 5000;
  detail::skip_gram_windows windows(words, how);
  detail::word2vec_position at;
  windows.advance(token_stream(std::vector<std::int32_t>(2500, 0)), at);
  ASSERT_EQ(windows.windows().size(), 2500U);
  EXPECT_EQ(windows.windows()[999].last, 1000U);
  EXPECT_EQ(windows.windows()[1000].first, 1000U);
  EXPECT_EQ(at.sentence, 2500);
}

TEST(word2vec, refuses_invalid_settings_and_tokens) {
  word_vocabulary const words({"a", "b"}, {2, 1});
  auto const refused = [&](auto change) {
    word2vec_settings how = small;
    change(how);
    return refusal_of<setting_error>([&] { word2vec(words, how); });
  };
  auto const text = [](std::string const& rest) { return "invalid setting of word2vec (" + rest; };
  EXPECT_EQ(refused([](auto& how) { how.width = 0; }), text("width): expected at least 1, got 0"));
  EXPECT_EQ(refused([](auto& how) { how.window = 0; }), text("window): expected at least 1, got 0"));
  EXPECT_EQ(refused([](auto& how) { how.negatives = -1; }), text("negatives): expected at least 0, got -1"));
  EXPECT_EQ(refused([](auto& how) { how.shared_windows = 0; }),
            text("shared_windows): expected at least 1, got 0"));
  EXPECT_EQ(refused([](auto& how) { how.subsample = 2; }), text("subsample): expected 0 to 1, got 2"));
  EXPECT_EQ(refused([](auto& how) { how.row_limit = -1; }),
            text("row_limit): expected a finite number, at least 0, got -1"));
  EXPECT_EQ(refused([](auto& how) { how.epochs = 0; }), text("epochs): expected at least 1, got 0"));
  EXPECT_EQ(refused([](auto& how) { how.windows = 0; }), text("windows): expected at least 1, got 0"));
  EXPECT_EQ(refused([](auto& how) { how.optimizer = momentum{}; }),
            text("optimizer): expected sgd, adagrad or adam, got momentum"));
  EXPECT_EQ(
      refused([](auto& how) { how.optimizer = sgd{.learning_rate = schedule::exponential{}}; }),
      text("optimizer.learning_rate): expected a fixed rate, which falls to final_rate, got exponential"));
  EXPECT_EQ(refused([](auto& how) { how.final_rate = 1; }),
            text("final_rate): expected 0 to 0.1, the optimizer's rate, got 1"));
  word2vec run(words, small);
  EXPECT_EQ(refusal_of<data_error>([&] {
              run.step(token_stream(std::vector<std::int32_t>{0, 3}));
            }),
            "a token is not in the vocabulary (token 1): expected 0 to 1, or 2 after a sentence, got 3");
  EXPECT_EQ(refusal_of<setting_error>([&] { word2vec(words, with(sgd{}, 0)).output_vectors(); }),
            "the rows of the output matrix do not belong to words (output_vectors): expected negatives of at "
            "least 1, got hierarchical softmax");
}

TEST(word2vec, refuses_ranks_with_different_settings) {
  corpus const data;
  launch<threads>(2, {.deadline = 60s}, [&](communicator& world) {
    word2vec_settings how = small;
    how.seed = static_cast<std::uint64_t>(world.rank());
    word2vec run(data.words, world, how);
    EXPECT_NE(refusal_of<setting_error>([&] { run.step(data.tokens); }).find("settings"), std::string::npos);
  });
}

}  // namespace word2vec_test
