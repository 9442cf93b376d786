// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cohort/checkpoint/optimizer_json.hpp>
#include <cohort/checkpoint/safetensors.hpp>
#include <cohort/checkpoint/safetensors_writer.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/communicator/thread_ranks.hpp>
#include <cohort/detail/hash.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/text/detail/word2vec_state.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace cohort::detail {

// --- windows

std::vector<double> keep_probabilities(word_vocabulary const& words, double subsample) {
  std::vector<double> keep;
  if (subsample == 0) return keep;
  double const threshold = subsample * static_cast<double>(words.total());
  for (std::int64_t const count : words.counts()) {
    double const times = static_cast<double>(count) / threshold;
    keep.push_back((std::sqrt(times) + 1) / times);
  }
  return keep;
}

skip_gram_windows::skip_gram_windows(word_vocabulary const& words, word2vec_settings const& settings)
    : vocabulary_(words.size()),
      window_(settings.window),
      most_(static_cast<std::size_t>(settings.windows)),
      seed_(settings.seed),
      keep_(keep_probabilities(words, settings.subsample)) {}

void skip_gram_windows::advance(token_stream const& tokens, word2vec_position& from) {
  windows_.clear();
  kept_.clear();
  places_.clear();
  random_stream const sizes(seed_, "word2vec window", static_cast<std::uint64_t>(from.epoch));
  while (windows_.size() < most_ && from.sentence < tokens.size()) {
    std::size_t const begin = kept_.size();
    std::int64_t const next = read_sentence(tokens, from.epoch, from.sentence);
    std::size_t const count = kept_.size() - begin;
    auto centre = static_cast<std::size_t>(from.centre);
    for (; centre < count && windows_.size() < most_; ++centre) {
      auto const place = static_cast<std::uint64_t>(places_[begin + centre]);
      std::size_t const reach = 1 + sizes.below(place, static_cast<std::uint64_t>(window_));
      windows_.push_back({begin + centre, begin + centre - std::min(centre, reach),
                          begin + std::min(count, centre + reach + 1)});
    }
    from.centre = static_cast<std::int64_t>(centre);
    if (centre < count) return;
    from.sentence = next;
    from.centre = 0;
  }
}

std::int64_t skip_gram_windows::read_sentence(token_stream const& tokens, std::int64_t epoch,
                                              std::int64_t begin) {
  constexpr std::int64_t chunk = 64;
  random_stream const draws(seed_, "word2vec subsampling", static_cast<std::uint64_t>(epoch));
  std::size_t const full = kept_.size() + longest_sentence;
  for (std::int64_t at = begin; at < tokens.size();) {
    chunk_.resize(static_cast<std::size_t>(std::min(chunk, tokens.size() - at)));
    tokens.copy(at, chunk_);
    for (std::int32_t const word : chunk_) {
      std::int64_t const place = at++;
      if (word == vocabulary_) return at;
      if (word < 0 || word > vocabulary_)
        throw data_error({.what = "a token is not in the vocabulary",
                          .where = {"token ", place},
                          .expected = {"0 to ", vocabulary_ - 1, ", or ", vocabulary_, " after a sentence"},
                          .got = {word}});
      if (!keep_.empty()
          && draws.uniform01<double>(static_cast<std::uint64_t>(place))
                 >= keep_[static_cast<std::size_t>(word)])
        continue;
      kept_.push_back(word);
      places_.push_back(place);
      if (kept_.size() == full) return at;
    }
  }
  return tokens.size();
}

// --- noise and tree

noise_words::noise_words(std::span<std::int64_t const> counts) {
  double sum = 0;
  for (std::int64_t const count : counts)
    cumulative_.push_back(sum += std::pow(static_cast<double>(count), 0.75));
}

std::int32_t noise_words::at(double point) const {
  auto const found = std::upper_bound(cumulative_.begin(), cumulative_.end(), point * cumulative_.back());
  return static_cast<std::int32_t>(std::min(found, cumulative_.end() - 1) - cumulative_.begin());
}

huffman_tree::huffman_tree(std::span<std::int64_t const> counts) {
  std::size_t const words = counts.size(), nodes = 2 * words - 1;
  std::vector<std::int64_t> weight(counts.begin(), counts.end());
  weight.resize(nodes);
  std::vector<std::size_t> parent(nodes, 0);
  std::vector<char> second(nodes, 0);
  // Words are sorted by decreasing count, and the weights of new nodes increase. The lightest free node is
  // therefore the last free word or the first free inner node.
  std::size_t leaf = words, inner = words;
  auto const lightest = [&](std::size_t made) {
    bool const takes_leaf = leaf > 0 && (inner >= made || weight[leaf - 1] < weight[inner]);
    return takes_leaf ? --leaf : inner++;
  };
  for (std::size_t made = words; made < nodes; ++made) {
    std::size_t const a = lightest(made), b = lightest(made);
    weight[made] = weight[a] + weight[b];
    parent[a] = parent[b] = made;
    second[b] = 1;
  }
  std::vector<turn> path;
  for (std::size_t word = 0; word < words; ++word) {
    first_.push_back(turns_.size());
    path.clear();
    for (std::size_t at = word; at + 1 < nodes; at = parent[at])
      path.push_back({static_cast<std::int32_t>(parent[at] - words), second[at] != 0});
    turns_.insert(turns_.end(), path.rbegin(), path.rend());
  }
  first_.push_back(turns_.size());
}

// --- rows

void sparse_rows::clear() {
  for (std::int32_t const row : rows_) slot_[static_cast<std::size_t>(row)] = none;
  rows_.clear();
  terms_.clear();
  sums_.clear();
}

std::size_t sparse_rows::touch(std::int32_t row) {
  std::int32_t& slot = slot_[static_cast<std::size_t>(row)];
  if (slot == none) {
    slot = static_cast<std::int32_t>(rows_.size());
    rows_.push_back(row);
    terms_.push_back(0);
    sums_.resize(sums_.size() + width_);
  }
  return static_cast<std::size_t>(slot);
}

template <class T>
void append_bytes(std::vector<std::byte>& to, std::span<T const> values) {
  // insert is not used, because g++ 12 warns that insert would write past the end (-Wstringop-overflow).
  std::size_t const before = to.size();
  to.resize(before + values.size_bytes());
  if (!values.empty()) std::memcpy(to.data() + before, values.data(), values.size_bytes());
}

/// Copies numbers from the front of a message; returns the bytes after them.
template <class T>
std::span<std::byte const> read_bytes(std::span<std::byte const> from, std::span<T> values) {
  if (from.size() < values.size_bytes())
    throw communicator_error({.what = "a message of word2vec is too short",
                              .where = "word2vec::step",
                              .expected = {values.size_bytes(), " bytes"},
                              .got = {from.size()}});
  if (!values.empty()) std::memcpy(values.data(), from.data(), values.size_bytes());
  return from.subspan(values.size_bytes());
}

void sparse_rows::write(std::vector<std::byte>& to) const {
  auto const count = static_cast<std::int32_t>(rows_.size());
  append_bytes(to, std::span(&count, 1));
  append_bytes(to, std::span<std::int32_t const>(rows_));
  append_bytes(to, std::span<std::int32_t const>(terms_));
  append_bytes(to, std::span<float const>(sums_));
}

std::span<std::byte const> sparse_rows::add(std::span<std::byte const> from) {
  std::int32_t count = 0;
  from = read_bytes(from, std::span(&count, 1));
  std::vector<std::int32_t> rows(static_cast<std::size_t>(count)), terms(rows.size());
  from = read_bytes(from, std::span(rows));
  from = read_bytes(from, std::span(terms));
  std::vector<float> values(width_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    from = read_bytes(from, std::span(values));
    std::size_t const slot = touch(rows[i]);
    terms_[slot] += terms[i];
    float* const to = sum(slot);
    for (std::size_t k = 0; k < width_; ++k) to[k] += values[k];
  }
  return from;
}

sparse_matrix::sparse_matrix(std::size_t rows, std::size_t width, optimizer_rule const& rule)
    : rows_(rows), width_(width), rule_(rule), values_(rows * width) {
  for (int k = 0; k < rule.state_arrays(); ++k)
    states_.emplace_back(rows * width, static_cast<float>(rule.initial_state(k)));
}

void sparse_matrix::update(sparse_rows const& gradients, double rate, double row_limit, std::int64_t step) {
  auto const number = [&](int k) { return static_cast<float>(rule_.number(k)); };
  for (std::size_t slot = 0; slot < gradients.rows().size(); ++slot) {
    std::int32_t const terms = gradients.terms(slot);
    double const whole = rate * terms;
    bool const limits = rule_.rule() == update_rule::sgd && row_limit > 0 && whole > row_limit;
    auto const at = static_cast<std::size_t>(gradients.rows()[slot]) * width_;
    float const* const sum = gradients.sum(slot);
    float* const w = values_.data() + at;
    auto const r = static_cast<float>(limits ? row_limit / terms : rate);
    if (rule_.rule() == update_rule::sgd) {
      for (std::size_t k = 0; k < width_; ++k) w[k] -= r * sum[k];
    } else if (rule_.rule() == update_rule::adagrad) {
      float* const squares = states_[0].data() + at;
      for (std::size_t k = 0; k < width_; ++k) {
        float const g = sum[k];
        squares[k] += g * g;
        w[k] -= r * g / (std::sqrt(squares[k]) + number(0));
      }
    } else {
      float* const mean = states_[0].data() + at;
      float* const square = states_[1].data() + at;
      float const beta1 = number(0), beta2 = number(1), epsilon = number(2);
      auto const t = static_cast<double>(step);
      auto const correct1 = static_cast<float>(1 / (1 - std::pow(rule_.number(0), t))),
                 correct2 = static_cast<float>(1 / (1 - std::pow(rule_.number(1), t)));
      float const both_epsilons =
          epsilon + static_cast<float>(rule_.number("epsilon_hat")) * std::sqrt(correct2);
      for (std::size_t k = 0; k < width_; ++k) {
        float const g = sum[k];
        mean[k] = beta1 * mean[k] + (1 - beta1) * g;
        square[k] = beta2 * square[k] + (1 - beta2) * g * g;
        w[k] -= r * (mean[k] * correct1) / (std::sqrt(square[k] * correct2) + both_epsilons);
      }
    }
  }
}

// --- training

/// Returns the settings if they are valid.
///
/// Errors    setting_error.
word2vec_settings checked(word2vec_settings how) {
  auto const refuse = [](char const* field, clause expected, clause got) {
    throw setting_error({.what = "invalid setting of word2vec",
                         .where = field,
                         .expected = std::move(expected),
                         .got = std::move(got)});
  };
  auto const at_least = [&](char const* field, int value, int least) {
    if (value < least) refuse(field, {"at least ", least}, {value});
  };
  at_least("width", how.width, 1);
  at_least("window", how.window, 1);
  at_least("negatives", how.negatives, 0);
  at_least("shared_windows", how.shared_windows, 1);
  at_least("epochs", how.epochs, 1);
  at_least("windows", how.windows, 1);
  if (!(how.row_limit >= 0 && is_finite(how.row_limit)))
    refuse("row_limit", "a finite number, at least 0", {how.row_limit});
  if (!(how.subsample >= 0 && how.subsample <= 1)) refuse("subsample", "0 to 1", {how.subsample});
  how.optimizer.check();
  update_rule const rule = how.optimizer.rule();
  bool const known = rule == update_rule::sgd || rule == update_rule::adagrad || rule == update_rule::adam;
  if (!known) refuse("optimizer", "sgd, adagrad or adam", {how.optimizer.name()});
  if (!how.optimizer.learning_rate().is_fixed())
    refuse("optimizer.learning_rate", "a fixed rate, which falls to final_rate",
           {how.optimizer.learning_rate().name()});
  double const rate = how.optimizer.learning_rate().value(0, 0);
  if (!(how.final_rate >= 0 && how.final_rate <= rate))
    refuse("final_rate", {"0 to ", rate, ", the optimizer's rate"}, {how.final_rate});
  return how;
}

word2vec_state::word2vec_state(word_vocabulary vocabulary, communicator* given, word2vec_settings how)
    : words(std::move(vocabulary)),
      settings(checked(std::move(how))),
      input(words.words().size(), static_cast<std::size_t>(settings.width), settings.optimizer),
      output(words.words().size() - (settings.negatives > 0 ? 0 : 1),
             static_cast<std::size_t>(settings.width), settings.optimizer),
      own_world_(given ? nullptr : make_self()),
      world_(given ? given : own_world_.get()),
      windows_(words, settings),
      noise_(words.counts()),
      input_sums_(input.rows(), static_cast<std::size_t>(settings.width)),
      output_sums_(output.rows(), static_cast<std::size_t>(settings.width)) {
  if (settings.negatives == 0) tree_.emplace(words.counts());
  random_stream const drawn(settings.seed, "word2vec input");
  for (std::size_t i = 0; i < input.values().size(); ++i)
    input.values()[i] = (drawn.uniform01(i) - 0.5F) / static_cast<float>(settings.width);
}

float dot_in_lanes(float const* a, float const* b, std::size_t n) {
  constexpr std::size_t lanes = 8;
  float part[lanes]{};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::size_t l = 0; l < lanes; ++l) part[l] += a[i + l] * b[i + l];
  for (std::size_t l = 0; i < n; ++i, ++l) part[l] += a[i] * b[i];
  return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

void word2vec_state::read_inputs(skip_gram_windows::window const& one) {
  around_.clear();
  slots_.clear();
  for (std::size_t i = one.first; i < one.last; ++i)
    if (i != one.centre) around_.push_back(windows_.words()[i]);
  for (std::int32_t const word : around_) slots_.push_back(input_sums_.touch(word));
}

void word2vec_state::add_output(std::int32_t row, bool label) {
  auto const width = static_cast<std::size_t>(settings.width);
  std::size_t const slot = output_sums_.touch(row);
  float* const output_sum = output_sums_.sum(slot);
  float const* const u = output.row(row);
  output_sums_.terms(slot) += static_cast<std::int32_t>(around_.size());
  for (std::size_t j = 0; j < around_.size(); ++j) {
    float const* const v = input.row(around_[j]);
    float* const input_sum = input_sums_.sum(slots_[j]);
    ++input_sums_.terms(slots_[j]);
    float const x = dot_in_lanes(v, u, width), away = label ? -x : x;  // loss = ln(1 + exp(away))
    auto const wide = static_cast<double>(away);
    loss_ += std::max(wide, 0.0) + std::log1p(std::exp(-std::abs(wide)));
    float const slope = 1 / (1 + std::exp(-x)) - (label ? 1.0F : 0.0F);
    for (std::size_t k = 0; k < width; ++k) {
      input_sum[k] += slope * u[k];
      output_sum[k] += slope * v[k];
    }
  }
}

void word2vec_state::add_block(std::span<skip_gram_windows::window const> block, std::uint64_t number) {
  drawn_.clear();
  random_stream const draws(settings.seed, "word2vec noise", static_cast<std::uint64_t>(position_.step));
  auto const count = static_cast<std::uint64_t>(settings.negatives);
  for (std::uint64_t k = 0; k < count; ++k)
    drawn_.push_back(noise_.at(draws.uniform01<double>(number * count + k)));
  for (skip_gram_windows::window const& one : block) {
    read_inputs(one);
    if (around_.empty()) continue;
    pairs_ += std::ssize(around_);
    std::int32_t const centre = windows_.words()[one.centre];
    if (tree_) {
      for (huffman_tree::turn const& at : tree_->path(centre)) add_output(at.node, !at.second);
    } else {
      add_output(centre, true);
      for (std::int32_t const word : drawn_)
        if (word != centre) add_output(word, false);
    }
  }
}

void word2vec_state::exchange() {
  message_.clear();
  append_bytes(message_, std::span<std::int64_t const>(&pairs_, 1));
  append_bytes(message_, std::span<double const>(&loss_, 1));
  input_sums_.write(message_);
  output_sums_.write(message_);
  gathered const all = world_->allgatherv(message_);
  pairs_ = 0;
  loss_ = 0;
  input_sums_.clear();
  output_sums_.clear();
  for (int rank = 0; rank < world_->size(); ++rank) {
    std::span<std::byte const> from = all.of(rank);
    std::int64_t pairs = 0;
    double loss = 0;
    from = read_bytes(from, std::span(&pairs, 1));
    from = read_bytes(from, std::span(&loss, 1));
    pairs_ += pairs;
    loss_ += loss;
    output_sums_.add(input_sums_.add(from));
  }
}

double word2vec_state::rate(std::int64_t position, std::int64_t tokens) const {
  double const first = settings.optimizer.learning_rate().value(0, 0),
               all = static_cast<double>(settings.epochs) * static_cast<double>(tokens),
               done = static_cast<double>(position_.epoch) * static_cast<double>(tokens)
                      + static_cast<double>(position);
  return first - (first - settings.final_rate) * (done / all);
}

std::optional<word2vec_step> word2vec_state::step(token_stream const& tokens) {
  if (checked_tokens_ != tokens.size()) check_ranks(tokens);
  std::int64_t const begin = position_.sentence;
  double now = rate(begin, tokens.size());
  for (;;) {
    if (position_.epoch >= settings.epochs) return std::nullopt;
    windows_.advance(tokens, position_);
    if (!windows_.windows().empty()) break;
    ++position_.epoch;
    position_.sentence = position_.centre = 0;
    now = rate(0, tokens.size());
  }
  std::uint64_t const sent = world_->sent().bytes_sent;
  pairs_ = 0;
  loss_ = 0;
  input_sums_.clear();
  output_sums_.clear();
  std::span<skip_gram_windows::window const> const all = windows_.windows();
  auto const shared = static_cast<std::size_t>(settings.shared_windows);
  auto const blocks = static_cast<std::int64_t>((all.size() + shared - 1) / shared);
  index_slice const mine = part_of({0, blocks}, world_->rank(), world_->size());
  for (auto block = static_cast<std::size_t>(mine.first);
       block < static_cast<std::size_t>(mine.first + mine.count); ++block)
    add_block(all.subspan(block * shared, std::min(shared, all.size() - block * shared)), block);
  if (world_->size() > 1) exchange();
  ++position_.step;
  input.update(input_sums_, now, settings.row_limit, position_.step);
  output.update(output_sums_, now, settings.row_limit, position_.step);
  return word2vec_step{
      .step = position_.step - 1,
      .epoch = position_.epoch,
      .windows = std::ssize(all),
      .pairs = pairs_,
      .loss = pairs_ > 0 ? loss_ / static_cast<double>(pairs_) : std::numeric_limits<double>::quiet_NaN(),
      .rows = std::ssize(input_sums_.rows()) + std::ssize(output_sums_.rows()),
      .bytes_sent = static_cast<std::int64_t>(world_->sent().bytes_sent - sent)};
}

std::string word2vec_state::text_of_settings() const {
  return text_of({"width ",
                  settings.width,
                  ", window ",
                  settings.window,
                  ", negatives ",
                  settings.negatives,
                  ", shared_windows ",
                  settings.shared_windows,
                  ", subsample ",
                  settings.subsample,
                  ", optimizer ",
                  to_json(optimizer_settings{.rule = settings.optimizer}),
                  ", final_rate ",
                  settings.final_rate,
                  ", row_limit ",
                  settings.row_limit,
                  ", epochs ",
                  settings.epochs,
                  ", windows ",
                  settings.windows,
                  ", seed ",
                  settings.seed});
}

std::uint64_t hash_of(word_vocabulary const& words) {
  std::uint64_t hash = fnv1a("cohort words 1");
  for (std::size_t i = 0; i < words.words().size(); ++i)
    hash = fnv1a(text_of({words.words()[i], " ", words.counts()[i], "\n"}), hash);
  return hash;
}

void word2vec_state::check_ranks(token_stream const& tokens) {
  if (world_->size() > 1)
    require_same(
        *world_, "word2vec::step",
        std::vector<shared_fact>{{"settings", text_of_settings()},
                                 {"vocabulary", text_of({words.size(), " words, hash ", hash_of(words)})},
                                 {"tokens", text_of({tokens.size()})},
                                 {"position", text_of({"step ", position_.step, ", epoch ", position_.epoch,
                                                       ", token ", position_.sentence})}});
  checked_tokens_ = tokens.size();
}

// --- files

inline constexpr char const* word2vec_format = "cohort word2vec 2";

void word2vec_state::save(std::string const& path) const {
  std::vector<stored_tensor> tensors;
  auto const add = [&](std::string const& name, sparse_matrix const& from) {
    shape const dims{static_cast<int>(from.rows()), settings.width};
    tensors.push_back({name, tensor_view{from.values().data(), dims}});
    for (int k = 0; k < settings.optimizer.state_arrays(); ++k)
      tensors.push_back({text_of({name, "/", settings.optimizer.state_name(k)}),
                         tensor_view{from.states()[static_cast<std::size_t>(k)].data(), dims}});
  };
  add("input", input);
  add("output", output);
  save_safetensors(path, tensors,
                   {{"format", word2vec_format},
                    {"settings", text_of_settings()},
                    {"vocabulary", text_of({hash_of(words)})},
                    {"step", text_of({position_.step})},
                    {"epoch", text_of({position_.epoch})},
                    {"sentence", text_of({position_.sentence})},
                    {"centre", text_of({position_.centre})}});
}

void word2vec_state::load(std::string const& path) {
  safetensors const file = safetensors::load(path);
  auto const text = [&](char const* key) {
    auto const found = file.metadata().find(key);
    return found == file.metadata().end() ? std::string() : found->second;
  };
  auto const require = [&](char const* key, std::string const& wanted) {
    if (text(key) != wanted)
      throw data_error({.what = "the file does not continue this training of word vectors",
                        .where = {path, ", ", key},
                        .expected = wanted,
                        .got = text(key).empty() ? clause("nothing") : clause(text(key))});
  };
  require("format", word2vec_format);
  require("settings", text_of_settings());
  require("vocabulary", text_of({hash_of(words)}));
  word2vec_position at;
  for (auto const& [key, value] : {std::pair("step", &at.step), std::pair("epoch", &at.epoch),
                                   std::pair("sentence", &at.sentence), std::pair("centre", &at.centre)}) {
    std::string const given = text(key);
    auto const [stop, problem] = std::from_chars(given.data(), given.data() + given.size(), *value);
    if (problem != std::errc() || stop != given.data() + given.size() || given.empty() || *value < 0)
      throw data_error({.what = "the file's position in the text is damaged",
                        .where = {path, ", ", key},
                        .expected = "an integer of at least 0",
                        .got = given.empty() ? clause("nothing") : clause(given)});
  }
  std::vector<std::pair<std::span<float>, std::span<float const>>> values;
  auto const find = [&](std::string const& name, sparse_matrix& to) {
    shape const dims{static_cast<int>(to.rows()), settings.width};
    auto const numbers = [&](std::string const& tensor) {
      std::span<float const> const found = file.at(tensor, element_type::f32, dims).as<float>();
      for (float const x : found)
        if (!is_finite(x)) file.refuse(tensor, "finite numbers", "NaN or infinity");
      return found;
    };
    values.emplace_back(to.values(), numbers(name));
    for (int k = 0; k < settings.optimizer.state_arrays(); ++k)
      values.emplace_back(to.states()[static_cast<std::size_t>(k)],
                          numbers(text_of({name, "/", settings.optimizer.state_name(k)})));
  };
  find("input", input);
  find("output", output);
  for (auto const& [to, from] : values) std::ranges::copy(from, to.begin());
  position_ = at;
  checked_tokens_ = -1;
}

}  // namespace cohort::detail
