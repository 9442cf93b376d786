// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/detail/table_values.hpp>
#include <cohort/data/windows.hpp>
#include <cohort/error/exceptions.hpp>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <span>

namespace cohort::detail {

/// Data set of the overlapping windows of a series, with rows().
class series_windows {
 public:
  series_windows(time_series const& series, window_settings const& settings) : series_(series) {
    auto const refuse = [](char const* field, std::string expected, std::int64_t got) {
      throw setting_error({.what = "invalid settings of windows",
                           .where = field,
                           .expected = std::move(expected),
                           .got = {got}});
    };
    if (settings.length < 1) refuse("length", "at least 1", settings.length);
    if (settings.horizons.empty()) refuse("horizons", "at least 1 horizon", 0);
    for (int const horizon : settings.horizons)
      if (horizon < 1) refuse("horizons", "at least 1", horizon);
    if (settings.stride < 1) refuse("stride", "at least 1", settings.stride);
    std::int64_t const span = std::int64_t{settings.length} + *std::ranges::max_element(settings.horizons);
    if (span > series.rows())
      refuse("length + horizons", text_of({"at most the ", series.rows(), " rows of the series"}), span);
    std::vector<int> columns;
    for (std::string const& name : settings.targets) columns.push_back(series.column(name));
    int const width = series.values().dims[1];
    if (columns.empty()) {
      columns.resize(static_cast<std::size_t>(width));
      std::iota(columns.begin(), columns.end(), 0);
    }
    size_ = (series.rows() - span) / settings.stride + 1;
    element_type const type = series.values().type;
    description_.inputs = {{.name = "window",
                            .example = {settings.length, width},
                            .stored = type,
                            .feature_names = series.columns(),
                            .pipeline = series.pipeline()}};
    description_.targets = {{.name = "target",
                             .example = {static_cast<int>(columns.size() * settings.horizons.size())},
                             .stored = type}};

    std::size_t const value = bytes_of(type), row = value * static_cast<std::size_t>(width);
    auto const stride = static_cast<std::size_t>(settings.stride);
    auto const target = [&](int horizon) {
      return series.values().data + static_cast<std::size_t>(settings.length - 1 + horizon) * row;
    };
    rows_.push_back({series.values().data, stride * row});
    bool const adjacent =
        std::adjacent_find(columns.begin(), columns.end(), [](int a, int b) { return b != a + 1; })
        == columns.end();
    if (adjacent && settings.horizons.size() == 1) {
      rows_.push_back(
          {target(settings.horizons[0]) + static_cast<std::size_t>(columns[0]) * value, stride * row});
      return;
    }
    std::size_t const example = value * columns.size() * settings.horizons.size();
    targets_ = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size_) * example);
    std::byte* to = targets_->data();
    for (std::size_t i = 0; i < static_cast<std::size_t>(size_); ++i)
      for (int const horizon : settings.horizons)
        for (int const column : columns) {
          std::memcpy(to, target(horizon) + i * stride * row + static_cast<std::size_t>(column) * value,
                      value);
          to += value;
        }
    rows_.push_back({targets_->data(), example});
  }

  data_description const& describe() const { return description_; }
  std::int64_t size() const { return size_; }
  std::span<example_rows const> rows() const { return rows_; }
  void get(std::int64_t i, example_view& out) const {
    for (std::size_t part = 0; part < rows_.size(); ++part)
      out.point(part, rows_[part].first + static_cast<std::size_t>(i) * rows_[part].stride_bytes);
  }

 private:
  time_series series_;
  std::shared_ptr<std::vector<std::byte>> targets_;  // null if a target is contiguous in the series
  data_description description_;
  std::vector<example_rows> rows_;
  std::int64_t size_ = 0;
};

}  // namespace cohort::detail

namespace cohort {

dataset windows(time_series const& series, window_settings const& settings) {
  return detail::series_windows(series, settings);
}

}  // namespace cohort
