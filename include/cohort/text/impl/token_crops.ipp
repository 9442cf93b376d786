// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/random/stream.hpp>
#include <cohort/text/token_crops.hpp>
#include <cstddef>
#include <span>
#include <utility>

namespace cohort {

namespace detail {

class crops_of_tokens {
 public:
  crops_of_tokens(token_stream tokens, crop_settings const& settings)
      : tokens_(std::move(tokens)), how_(settings) {
    auto const refuse = [](char const* field, clause expected, std::int64_t got) {
      throw setting_error({.what = "invalid settings of token_crops",
                           .where = field,
                           .expected = std::move(expected),
                           .got = {got}});
    };
    if (how_.length < 1) refuse("length", "at least 1", how_.length);
    if (how_.vocabulary < 1) refuse("vocabulary", "the number of tokens, at least 1", how_.vocabulary);
    size_ = (tokens_.size() - (how_.fixed ? 1 : how_.length)) / how_.length;
    if (tokens_.size() < 1 || size_ < 1)
      refuse("length",
             clause({"a stream of at least ",
                     how_.fixed ? std::int64_t{how_.length} + 1 : 2 * std::int64_t{how_.length}, " tokens"}),
             tokens_.size());
    description_.inputs = {{.name = "tokens",
                            .example = {how_.length},
                            .stored = element_type::i32,
                            .type = element_type::i32,
                            .features = feature_axis::none}};
    description_.targets = {{.name = "next",
                             .example = {how_.length},
                             .stored = element_type::i32,
                             .type = element_type::i32,
                             .classes = how_.vocabulary}};
  }

  data_description const& describe() const { return description_; }
  std::int64_t size() const { return size_; }

  void get(std::int64_t i, example_view& out) const {
    std::int64_t const first = offset_in(out.epoch) + i * how_.length;
    auto const length = static_cast<std::size_t>(how_.length);
    std::int32_t* const inputs = out.fill<std::int32_t>(0);
    std::int32_t* const targets = out.fill<std::int32_t>(1);
    tokens_.copy(first, {inputs, length});
    tokens_.copy(first + 1, {targets, length});
    require(inputs[0], first);
    for (std::size_t k = 0; k < length; ++k) require(targets[k], first + 1 + static_cast<std::int64_t>(k));
  }

 private:
  std::int64_t offset_in(std::int64_t epoch) const {
    if (how_.fixed) return 0;
    random_stream const draws(how_.seed, "token_crops", static_cast<std::uint64_t>(epoch));
    return static_cast<std::int64_t>(draws.below(0, static_cast<std::uint64_t>(how_.length)));
  }

  void require(std::int32_t token, std::int64_t place) const {
    if (token < 0 || token >= how_.vocabulary)
      throw data_error({.what = "a token is outside the vocabulary",
                        .where = {"token ", place, " of the stream"},
                        .expected = {"0 to ", how_.vocabulary - 1},
                        .got = {token}});
  }

  token_stream tokens_;
  crop_settings how_;
  data_description description_;
  std::int64_t size_ = 0;
};

}  // namespace detail

dataset token_crops(token_stream tokens, crop_settings const& settings) {
  return detail::crops_of_tokens(std::move(tokens), settings);
}

}  // namespace cohort
