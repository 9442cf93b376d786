// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/detail/column_check.hpp>
#include <cohort/data/detail/table_values.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/json_value.hpp>
#include <cohort/tensor/finite.hpp>
#include <memory>
#include <utility>

namespace cohort::detail {

/// Returns the texts that occur in a column, sorted.
std::vector<std::string> texts_that_occur(text_column const& column) {
  std::vector<bool> occurs(column.vocabulary.size());
  for (std::int32_t const code : column.codes)
    if (code >= 0) occurs[static_cast<std::size_t>(code)] = true;
  std::vector<std::string> texts;
  for (std::size_t code = 0; code < occurs.size(); ++code)
    if (occurs[code]) texts.push_back(column.vocabulary[code]);
  return texts;
}

/// Returns the replacement of a column's missing numbers: the mean or median of the numbers
/// that are present, or the constant.
template <class T>
double fill_of(data_table const& table, std::string const& column, encoder_settings const& settings) {
  if (settings.impute == imputation::constant) {
    if (!is_finite(settings.constant))
      throw setting_error({.what = "the replacement of missing numbers is not finite",
                           .where = "encoder_settings::constant",
                           .expected = "a finite number",
                           .got = {settings.constant}});
    return settings.constant;
  }
  std::vector<double> known;
  for (T const value : table.numbers<T>(column))
    if (is_finite(value)) known.push_back(static_cast<double>(value));
  if (known.empty())
    throw data_error({.what = "a column has no values to compute a replacement for missing ones",
                      .where = {table.name(), ", column ", column},
                      .expected = "at least 1 number",
                      .got = "none"});
  if (settings.impute == imputation::mean) {
    double sum = 0;
    for (double const value : known) sum += value;
    return sum / static_cast<double>(known.size());
  }
  std::ranges::sort(known);
  std::size_t const middle = known.size() / 2;
  return known.size() % 2 ? known[middle] : known[middle - 1] + (known[middle] - known[middle - 1]) / 2;
}

/// Translates a table's codes of a column to the indices of a sorted vocabulary: −1 if a text is not in it.
class code_translation {
 public:
  code_translation(text_column const& column, std::vector<std::string> const& vocabulary) {
    for (std::string const& text : column.vocabulary) {
      auto const found = std::ranges::lower_bound(vocabulary, text);
      indices_.push_back(found == vocabulary.end() || *found != text
                             ? -1
                             : static_cast<std::int32_t>(found - vocabulary.begin()));
    }
  }
  std::int32_t operator()(std::int32_t code) const {
    return code < 0 ? -1 : indices_[static_cast<std::size_t>(code)];
  }

 private:
  std::vector<std::int32_t> indices_;
};

[[noreturn]] void refuse_text(data_table const& table, char const* what, std::string const& column,
                              std::size_t row, text_column const& texts,
                              std::vector<std::string> const& vocabulary, char const* hint) {
  std::string known = "one of ";
  for (std::size_t k = 0; k < vocabulary.size() && k < 20; ++k)
    known += (k == 0 ? "" : ", ") + quote_for_error(vocabulary[k]);
  if (vocabulary.size() > 20) known += text_of({" and ", vocabulary.size() - 20, " more"});
  std::int32_t const code = texts.codes[row];
  refuse_value(table, what, column, row, known + hint,
               code < 0 ? "none" : quote_for_error(texts.vocabulary[static_cast<std::size_t>(code)]));
}

/// Throws because a table lacks a column that the encoder has learned.
[[noreturn]] void refuse_missing_column(data_table const& table, std::string const& column) {
  throw setting_error({.what = "the table lacks an input column of the encoder",
                       .where = table.name(),
                       .expected = {"a column ", quote_for_error(column)},
                       .got = listed_columns(table.columns())});
}

/// A column of texts. If no field of the column has a value, read_table stores missing numbers; they are
/// treated as missing texts.
class texts_of {
 public:
  texts_of(data_table const& table, std::string const& column) {
    bool const is_missing = !table.has_texts(column) && with_real(table.number_type(), [&](auto* type) {
      using real = std::remove_pointer_t<decltype(type)>;
      return std::ranges::none_of(table.numbers<real>(column), [](real value) { return is_finite(value); });
    });
    if (is_missing) none_.assign(static_cast<std::size_t>(table.rows()), -1);
    texts_ = is_missing ? text_column{none_, {}} : table.texts(column);
  }
  texts_of(texts_of const&) = delete;
  text_column const& operator*() const { return texts_; }
  text_column const* operator->() const { return &texts_; }

 private:
  std::vector<std::int32_t> none_;
  text_column texts_{};
};

/// Calls write(row, index) with the vocabulary index of each text of a column.
template <class Write>
void encode_texts(data_table const& table, encoded_column const& column, Write write) {
  texts_of const texts(table, column.name);
  code_translation const index_of(*texts, column.vocabulary);
  for (std::size_t row = 0; row < texts->codes.size(); ++row) {
    std::int32_t index = index_of(texts->codes[row]);
    if (index < 0 && !column.other)
      refuse_text(table, "a text is not in the vocabulary", column.name, row, *texts, column.vocabulary,
                  " (encoder_settings::other adds a slot for other texts)");
    if (index < 0) index = static_cast<std::int32_t>(column.vocabulary.size());
    write(row, index);
  }
}

/// Returns a finite number of a table as an f32.
template <class T>
float as_float(data_table const& table, std::string const& name, std::size_t row, T number) {
  auto const made = static_cast<float>(number);
  if (!is_finite(made))
    refuse_value(table, "a number is out of the range of f32", name, row, "at most 3.4e38 in magnitude",
                 text_of({static_cast<double>(number)}));
  return made;
}

/// Writes a column of numbers to every `step`-th element from `to` on.
template <class T>
void encode_numbers(data_table const& table, encoded_column const& column, float* to, std::size_t step) {
  std::span<T const> const from = table.numbers<T>(column.name);
  for (std::size_t row = 0; row < from.size(); ++row, to += step) {
    if (!is_finite(from[row]) && !column.fill)
      refuse_value(table, "a value is missing", column.name, row,
                   "a number (encoder_settings::impute replaces missing ones)", "none");
    *to = is_finite(from[row]) ? as_float(table, column.name, row, from[row])
                               : static_cast<float>(*column.fill);
  }
}

}  // namespace cohort::detail

namespace cohort {

table_encoder::table_encoder(data_table const& training, encoder_settings const& settings)
    : target_(settings.target) {
  std::vector<std::string> const names = detail::input_names(settings.inputs, training.columns(), target_);
  if (training.rows() == 0)
    throw data_error({.what = "the training table of an encoder has no rows",
                      .where = training.name(),
                      .expected = "at least 1 row",
                      .got = "0"});
  std::vector<std::string> notices;
  for (std::string const& name : names) {
    detail::column_facts facts = detail::facts_of(training, name);
    if (settings.impute == imputation::mean || settings.impute == imputation::median)
      facts.missing *= facts.is_text ? 1 : 0;  // if imputed, a column of equal numbers remains constant
    detail::check_column(facts, &notices);
  }
  if (!target_.empty() && training.has_texts(target_) != settings.regression)
    detail::check_column(detail::facts_of(training, target_), &notices);
  detail::with_real(training.number_type(), [&](auto* type) {
    using real = std::remove_pointer_t<decltype(type)>;
    for (std::string const& name : names) {
      encoded_column& column = columns_.emplace_back();
      column.name = name;
      column.is_text = training.has_texts(name);
      column.indexed = std::ranges::find(settings.indexed, name) != settings.indexed.end();
      if (column.is_text) {
        column.other = settings.other;
        column.vocabulary = detail::texts_that_occur(training.texts(name));
      } else if (settings.impute != imputation::refuse) {
        column.fill = detail::fill_of<real>(training, name, settings);
      }
    }
    for (std::string const& name : settings.indexed)
      if (!column(name).is_text)
        throw setting_error({.what = "an indexed column contains numbers",
                             .where = "encoder_settings::indexed",
                             .expected = "text columns",
                             .got = {"the numbers of ", name}});
    if (target_.empty()) return;
    if (settings.regression)
      training.numbers<real>(target_);
    else if (training.has_texts(target_))
      label_names_ = detail::texts_that_occur(training.texts(target_));
    else
      detail::labels_in<real>(training, target_, classes_);
    if (!label_names_.empty()) classes_ = static_cast<int>(label_names_.size());
    if (!settings.regression && classes_ == 0)
      detail::refuse_value(training, "a target is missing", target_, 0, "a text", "none");
  });
  // Throws for missing values.
  if (arrays const all = examples(training); classes_ > 0 && all.describe().targets[0].smallest_class == 1)
    notices.push_back(detail::text_of({training.name(), ", column ", target_,
                                       ": no row has class 0; if the labels begin at 1, subtract 1, or read "
                                       "the column as texts (text_columns)"}));
  if (settings.log)
    for (std::string const& notice : notices) settings.log(notice);
}

std::vector<std::vector<std::string>> table_encoder::feature_names() const {
  std::vector<std::vector<std::string>> inputs;
  std::vector<std::string> elements;
  for (encoded_column const& column : columns_) {
    std::vector<std::string>& names = column.indexed ? inputs.emplace_back() : elements;
    if (!column.is_text) names.push_back(column.name);
    for (std::string const& text : column.vocabulary) names.push_back(column.name + "=" + text);
    if (column.other) names.push_back(column.name + " (other)");
  }
  if (!elements.empty()) inputs.insert(inputs.begin(), std::move(elements));
  return inputs;
}

encoded_column const& table_encoder::column(std::string_view name) const& {
  std::string known;
  for (encoded_column const& one : columns_) {
    if (one.name == name) return one;
    known += (known.empty() ? "" : ", ") + one.name;
  }
  throw setting_error({.what = "the encoder has no such input column",
                       .where = "table_encoder",
                       .expected = {"one of ", known},
                       .got = std::string(name)});
}

arrays table_encoder::examples(data_table const& table) const {
  return encoded(table, !target_.empty() && table.has(target_));
}

arrays table_encoder::inputs(data_table const& table) const { return encoded(table, false); }

arrays table_encoder::encoded(data_table const& table, bool with_target) const {
  for (encoded_column const& column : columns_)
    if (!table.has(column.name)) detail::refuse_missing_column(table, column.name);
  struct memory {
    std::vector<float> columns;
    std::vector<std::vector<float>> indices;
    std::vector<std::int32_t> labels;
    std::vector<float> targets;
  };
  auto const made = std::make_shared<memory>();
  auto const rows = static_cast<std::size_t>(table.rows());
  std::size_t width = 0, offset = 0;
  for (encoded_column const& column : columns_)
    if (!column.indexed) width += static_cast<std::size_t>(column.width());
  made->columns.resize(rows * width);
  std::vector<array_view> inputs, targets;
  if (width > 0)
    inputs.push_back(
        {.name = "columns", .values = {made->columns.data(), shape(table.rows(), static_cast<int>(width))}});
  made->indices.reserve(columns_.size());
  detail::with_real(table.number_type(), [&](auto* type) {
    using real = std::remove_pointer_t<decltype(type)>;
    for (encoded_column const& column : columns_) {
      if (column.indexed) {
        std::vector<float>& indices = made->indices.emplace_back(rows);
        detail::encode_texts(table, column, [&](std::size_t row, std::int32_t index) {
          indices[row] = static_cast<float>(index);
        });
        inputs.push_back({.name = column.name,
                          .values = {indices.data(), shape(table.rows(), 1)},
                          .features = feature_axis::none});
        continue;
      }
      float* const to = made->columns.data() + offset;
      if (column.is_text)
        detail::encode_texts(table, column, [&](std::size_t row, std::int32_t index) {
          to[row * width + static_cast<std::size_t>(index)] = 1;
        });
      else
        detail::encode_numbers<real>(table, column, to, width);
      offset += static_cast<std::size_t>(column.width());
    }
    if (!with_target) return;
    array_view target{.name = target_};
    if (classes_ == 0) {
      for (real const value : detail::targets_in<real>(table, target_))
        made->targets.push_back(detail::as_float(table, target_, made->targets.size(), value));
      target.values = {made->targets.data(), shape(table.rows(), 1)};
    } else {
      if (label_names_.empty()) {
        int classes = classes_;
        made->labels = detail::labels_in<real>(table, target_, classes);
      } else {
        detail::texts_of const texts(table, target_);
        detail::code_translation const label_of(*texts, label_names_);
        for (std::size_t row = 0; row < rows; ++row) {
          made->labels.push_back(label_of(texts->codes[row]));
          if (made->labels.back() < 0)
            detail::refuse_text(table, "a class is unknown", target_, row, *texts, label_names_, "");
        }
      }
      target.values = {made->labels.data(), shape(table.rows())};
      target.classes = classes_;
      target.label_names = label_names_;
    }
    targets.push_back(std::move(target));
  });
  std::vector<std::vector<std::string>> names = feature_names();
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    inputs[input].feature_names = std::move(names[input]);
    inputs[input].pipeline = table.pipeline();
  }
  return arrays(inputs, targets, made);
}

}  // namespace cohort
