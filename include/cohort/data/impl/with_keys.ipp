// SPDX-License-Identifier: Apache-2.0
#include <cohort/data/detail/indexed_view.hpp>
#include <cohort/data/with_keys.hpp>
#include <cohort/error/exceptions.hpp>
#include <memory>
#include <optional>
#include <utility>

namespace cohort::detail {

/// The examples of a data set with other keys.
class keyed_examples final : public indexed_view {
 public:
  keyed_examples(dataset data, std::function<std::string(std::int64_t)> key_of)
      : data_(std::move(data)), what_(data_.describe()), key_of_(std::move(key_of)) {
    what_.keyed = true;
  }

  data_description const& describe() const override { return what_; }
  std::int64_t size() const override { return data_.size(); }
  void get(std::int64_t i, example_view& out) const override {
    data_.model().get(i, out);
    thread_local std::string key;  // remains until this thread requests the next example
    key = key_of_(i);
    out.key = key;
  }
  std::optional<std::int64_t> label(std::int64_t i) const override { return data_.label(i); }
  std::optional<int> length(std::int64_t i) const override { return data_.length(i); }
  int rows_that_continue() const override { return data_.rows_that_continue(); }

 private:
  dataset data_;
  data_description what_;
  std::function<std::string(std::int64_t)> key_of_;
};

void check_number_of_keys(dataset const& data, std::size_t keys) {
  data.require_random_access("with_keys");
  if (data.size() != static_cast<std::int64_t>(keys))
    throw setting_error({.what = "the number of keys differs from the number of examples",
                         .where = "with_keys",
                         .expected = {data.size(), " keys"},
                         .got = {keys}});
}

}  // namespace cohort::detail

namespace cohort {

dataset with_keys(dataset const& data, std::function<std::string(std::int64_t i)> key_of) {
  data.require_random_access("with_keys");
  return dataset(std::make_shared<detail::keyed_examples const>(data, std::move(key_of)));
}

dataset with_keys(dataset const& data, std::vector<std::string> keys) {
  detail::check_number_of_keys(data, keys.size());
  auto const all = std::make_shared<std::vector<std::string> const>(std::move(keys));
  return with_keys(data, [all](std::int64_t i) { return (*all)[static_cast<std::size_t>(i)]; });
}

dataset with_keys(dataset const& data, std::span<std::int64_t const> keys) {
  detail::check_number_of_keys(data, keys.size());
  auto const all = std::make_shared<std::vector<std::int64_t> const>(keys.begin(), keys.end());
  return with_keys(data,
                   [all](std::int64_t i) { return std::to_string((*all)[static_cast<std::size_t>(i)]); });
}

}  // namespace cohort
