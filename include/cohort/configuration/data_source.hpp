// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/read_table.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/data/windows.hpp>
#include <cohort/text/token_crops.hpp>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace cohort {

/// Synthetic digits (drawn_digits): examples [0, train) of the seed for training, the next `test` ones for
/// the test; 0: no test set.
struct digits_source {
  int train = 12'000;
  int test = 2'000;
  std::uint64_t seed = 1;
};

/// MNIST: the four files in `folder`. Without a folder, $COHORT_DATA, data/ and the cache are searched, and
/// digits are drawn if none of them has the files.
struct mnist_source {
  std::string folder{};
};

/// Images and labels in IDX files, scaled to [0, 1]. Without `test_images` there is no test set.
struct idx_source {
  std::string images{};
  std::string labels{};
  std::string test_images{};
  std::string test_labels{};
  int classes = 0;  ///< 0: largest label + 1
};

/// A table of comma- or tab-separated values, encoded by a table_encoder that is fitted to the training rows.
/// Without `test_file`, the fraction `test_fraction` of the rows is held out.
struct table_source {
  std::string file{};
  std::string test_file{};
  double test_fraction = 0.25;
  std::uint64_t split_seed = 0;
  bool stratified = false;  ///< each class of the target is divided in the same proportion
  encoder_settings encode{};
  table_settings format{};
};

/// Tokenizer of a text (tokenizer): every byte is a token.
struct byte_tokens {};
/// Tokenizer of a text: its characters.
struct character_tokens {};
/// Tokenizer of a text: byte pair encoding, trained on the text.
struct byte_pair_tokens {
  int size = 512;
};
/// Tokenizer of a text: the files that were published with GPT-2.
struct gpt2_tokens {
  std::string vocabulary{};
  std::string merges{};
};
/// Tokenizer of a text: a file of tokenizer::save.
struct saved_tokens {
  std::string file{};
};
/// Tokenizer of a text.
using text_tokens = std::variant<character_tokens, byte_tokens, byte_pair_tokens, gpt2_tokens, saved_tokens>;

/// Crops of a text, for a network that predicts the next token. The last `test_fraction` of the tokens is the
/// test set.
struct text_source {
  std::string file{};
  text_tokens tokens{};
  int length = 64;     ///< tokens of a crop
  int vocabulary = 0;  ///< vocabulary size of the network; 0: that of the tokenizer
  double test_fraction = 0.1;
};

/// Windows over the columns of a table, oldest row first. The last `test_fraction` of the rows is the test
/// set.
struct series_source {
  std::string file{};
  std::vector<std::string> columns{};  ///< empty: all
  window_settings window{};
  double test_fraction = 0.2;
  table_settings format{};
};

/// Images in folders named after their classes; needs the component image. Without `test_folder`, the
/// fraction `test_fraction` of the images is held out.
///
/// Units     `padding`: pixels added around a training image, from which a random window is cut; 0: none.
///           `rotation`: degrees. `mean`, `deviation`: one number per channel, of elements in [0, 1]; or
///           empty.
struct images_source {
  enum class fit : std::uint8_t { refuse, stretch, cover };

  std::string folder{};
  std::string test_folder{};
  double test_fraction = 0.2;
  std::uint64_t split_seed = 0;
  int channels = 3;
  int height = 0;  ///< in pixels; 0: that of the first file
  int width = 0;
  fit other_sizes = fit::refuse;
  std::vector<double> mean{};
  std::vector<double> deviation{};
  int padding = 0;
  bool flip = false;
  double rotation = 0;
};

/// The data set that a document names. With a `test_fraction` of 0 there is no test set: all examples are
/// used for training. Paths are relative to the current directory. IDX files, tables, series and texts whose
/// names end in .gz are decompressed by the component zlib.
using data_source = std::variant<digits_source, mnist_source, idx_source, table_source, text_source,
                                 series_source, images_source>;

}  // namespace cohort
