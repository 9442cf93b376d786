// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cohort/communicator/all_or_none.hpp>
#include <cohort/communicator/require_same.hpp>
#include <cohort/data/select.hpp>
#include <cohort/data/sequences.hpp>
#include <cohort/detail/json_string.hpp>
#include <cohort/error/exceptions.hpp>
#include <cohort/tensor/finite.hpp>
#include <cohort/transform/detail/keyed_rows.hpp>
#include <cohort/transform/detail/pass_plan.hpp>
#include <cohort/transform/detail/pipeline_steps.hpp>
#include <cohort/transform/keyed_sequences.hpp>
#include <numeric>
#include <utility>

namespace cohort::detail {

/// Makes sequences of rows.
class sequence_maker {
 public:
  sequence_maker(fitted_pipeline const& fitted, communicator* world, transform_settings const& how)
      : fitted_(fitted),
        group_(*fitted.program().grouping()),
        world_(world),
        how_(how),
        rows_(fitted.schema()) {
    if (world && world->size() > 1) how_.rank = world->rank();
  }

  /// Reads rows, and divides them by the rank that keeps them. Returns one list of bytes per rank.
  std::vector<std::vector<std::byte>> read(table_pieces const& rows) {
    auto const ranks = static_cast<std::size_t>(world_ ? world_->size() : 1);
    std::vector<byte_writer> parts(ranks);
    rows([&](data_table const& piece) {
      row_frame frame = frame_of(piece, fitted_.description().schema, how_, report);
      for (std::size_t i = 0; i < fitted_.program().row_steps; ++i)
        apply_step(fitted_.program(), i, frame, how_, report);
      require_keys(frame);
      std::vector<table_column const*> const keys = keys_of(frame);
      std::vector<std::vector<std::size_t>> which(ranks);
      for (std::size_t row = 0; row < frame.rows(); ++row)
        which[ranks == 1
                  ? 0
                  : static_cast<std::size_t>(rank_of_key(bytes_of_key(keys, row), static_cast<int>(ranks)))]
            .push_back(row);
      for (std::size_t r = 0; r < ranks; ++r)
        if (!which[r].empty()) write_rows(parts[r], frame, which[r], how_.rank);
    });
    std::vector<std::vector<std::byte>> made;
    for (byte_writer& one : parts) made.push_back(one.release());
    return made;
  }

  /// Adds the rows that rank `from` has sent.
  void receive(std::span<std::byte const> bytes, int from) {
    byte_reader in(bytes, text_of({"rows of rank ", from}));
    while (!in.at_end()) rows_.append(in);
  }

  /// Sorts the rows, removes duplicates and divides them into sequences.
  std::shared_ptr<sequence_content> make() {
    if (rows_.rows() > 0x7fffffffU)
      throw data_error({.what = "a rank has too many rows",
                        .where = "keyed_sequences",
                        .expected = "at most 2147483647",
                        .got = {rows_.rows()}});
    for (table_column& column : rows_.columns) sort_texts(column);
    std::vector<table_column const*> keys;
    for (std::string const& name : group_.keys) keys.push_back(&column(name));
    table_column const* const order = group_.order.empty() ? nullptr : &column(group_.order);
    std::vector<std::string> bytes;
    for (std::size_t row = 0; row < rows_.rows(); ++row) bytes.push_back(bytes_of_key(keys, row));
    std::vector<std::size_t> sorted(rows_.rows());
    std::iota(sorted.begin(), sorted.end(), std::size_t{0});
    std::ranges::stable_sort(sorted, [&](std::size_t a, std::size_t b) {
      int const compared = bytes[a].compare(bytes[b]);
      return compared != 0 ? compared < 0 : order && order->f64[a] < order->f64[b];
    });
    auto made = std::make_shared<sequence_content>(
        sequence_content{row_places{}, row_frame("", 0).release(), rows_.schema});
    std::vector<std::size_t> kept;
    for (std::size_t const row : sorted) {
      bool const continues = !kept.empty() && bytes[kept.back()] == bytes[row];
      if (continues && order && order->f64[kept.back()] == order->f64[row]) {
        refuse_duplicate(row, kept.back(), key_text(keys, row), order->f64[row]);
        continue;
      }
      if (!continues) {
        made->ranges.push_back(
            {static_cast<int>(kept.size()), 0, static_cast<std::int32_t>(made->keys.size())});
        made->keys.push_back(key_text(keys, row));
      }
      ++made->ranges.back().length;
      kept.push_back(row);
    }
    for (std::size_t const row : kept) made->origins.push_back(rows_.origins[row]);
    made->rows = table(kept);
    made->files = std::move(rows_.files);
    made->not_inputs = group_.keys;
    if (order) made->not_inputs.push_back(group_.order);
    if (auto const* const windows = fitted_.program().windowing())
      made->ranges = divided(made->ranges, *windows);
    return made;
  }

  transform_report report{};

 private:
  table_column& column(std::string_view name) {
    auto const found = std::ranges::find(rows_.schema.columns, name, &column_schema::name);
    return rows_.columns[static_cast<std::size_t>(found - rows_.schema.columns.begin())];
  }
  std::vector<table_column const*> keys_of(row_frame const& frame) const {
    std::vector<table_column const*> keys;
    for (std::string const& name : group_.keys) keys.push_back(&frame.column(name));
    return keys;
  }

  void require_keys(row_frame& frame) {
    row_removal bad(frame, how_, report);
    std::vector<std::string> names = group_.keys;
    if (!group_.order.empty()) names.push_back(group_.order);
    for (std::string const& name : names) {
      table_column const& column = frame.column(name);
      for (std::size_t row = 0; row < frame.rows(); ++row)
        if (column.is_text ? column.codes[row] < 0 : !is_finite(column.f64[row]))
          bad.refuse(row, "a row has no key or order", name, "a value", "none");
    }
    bad.finish();
  }

  /// Sorts a vocabulary and removes repeated texts. A category keeps all of its values.
  void sort_texts(table_column& column) {
    if (!column.is_text) return;
    auto const& schema = rows_.schema.columns[static_cast<std::size_t>(&column - rows_.columns.data())];
    std::vector<std::string> sorted =
        schema.type == column_type::category ? schema.values : column.vocabulary;
    std::ranges::sort(sorted);
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    std::vector<std::int32_t> codes;
    for (std::string const& text : column.vocabulary) {
      auto const found = std::ranges::lower_bound(sorted, text);
      if (found == sorted.end() || *found != text)
        throw data_error({.what = "a message of another rank contains an unknown text",
                          .where = schema.name,
                          .expected = "a value of the category",
                          .got = quote_for_error(text)});
      codes.push_back(static_cast<std::int32_t>(found - sorted.begin()));
    }
    for (std::int32_t& code : column.codes)
      if (code >= 0) code = codes[static_cast<std::size_t>(code)];
    column.vocabulary = std::move(sorted);
  }

  static std::string key_text(std::vector<table_column const*> const& keys, std::size_t row) {
    std::string text;
    for (table_column const* const key : keys) {
      if (!text.empty() || key != keys.front()) text += ", ";
      if (key->is_text) {
        text += key->vocabulary[static_cast<std::size_t>(key->codes[row])];
      } else {
        double const number = key->f64[row];
        bool const whole = std::abs(number) <= 9007199254740992.0 && number == std::floor(number);
        text += whole ? text_of({static_cast<std::int64_t>(number)}) : text_of({number});
      }
    }
    return text;
  }

  void refuse_duplicate(std::size_t row, std::size_t first, std::string const& key, double order) {
    refuse_row(how_, report,
               {.what = "two rows have the same key and order",
                .where = rows_.place(row, group_.order),
                .expected = "one row for each key and order",
                .got = {"key ", quote_for_error(key), " at ", order, ", as in ", rows_.place(first, "")}});
  }

  /// Returns the rows `which` as a table.
  data_table table(std::vector<std::size_t> const& which) {
    row_frame frame("sequences", which.size());
    for (std::size_t c = 0; c < rows_.columns.size(); ++c) {
      table_column& from = rows_.columns[c];
      frame_column made{.schema = rows_.schema.columns[c]};
      made.values.is_text = from.is_text;
      for (std::size_t const row : which) {
        if (from.is_text)
          made.values.codes.push_back(from.codes[row]);
        else
          made.values.f64.push_back(from.f64[row]);
      }
      made.values.vocabulary = std::move(from.vocabulary);
      from = {};
      frame.append(std::move(made));
    }
    for (std::size_t row = 0; row < which.size(); ++row)
      frame.content().row_numbers[row] = static_cast<std::int32_t>(row) + 1;
    frame.content().pipeline = fitted_.fingerprint();
    return frame.release();
  }

  static std::vector<sequence_content::range> divided(std::vector<sequence_content::range> const& whole,
                                                      pipeline::windows const& how) {
    std::vector<sequence_content::range> made;
    for (sequence_content::range const& one : whole) {
      std::int64_t covered = 0;
      for (std::int64_t first = 0; first < one.length; first += how.stride) {
        auto const length = static_cast<int>(std::min<std::int64_t>(how.length, one.length - first));
        if (length < how.length && (!how.partial || covered == one.length)) break;
        made.push_back({one.first + static_cast<int>(first), length, one.key});
        covered = first + length;
      }
    }
    return made;
  }

  fitted_pipeline const& fitted_;
  pipeline::group_by_key const& group_;
  communicator* world_;
  transform_settings how_;
  keyed_rows rows_;
};

/// Throws data_error about a value of a sequence.
[[noreturn]] void refuse_step(sequence_content const& of, char const* what, std::size_t row,
                              std::string const& column, std::string expected, std::string got) {
  throw data_error(
      {.what = what, .where = of.place(row, column), .expected = std::move(expected), .got = std::move(got)});
}

/// Memory of a data set of sequences.
struct sequence_memory {
  std::vector<float> inputs{};
  std::vector<float> numbers{};        // a target of numbers
  std::vector<std::int32_t> labels{};  // a target of classes
};

/// Returns a number of a row as f32.
inline float number_at(sequence_content const& of, std::string const& column, std::span<double const> values,
                       std::size_t row) {
  double const value = values[row];
  if (!is_finite(value)) refuse_step(of, "a value is missing", row, column, "a number", "none");
  if (!fits_f32(value))
    refuse_step(of, "a value is out of range", row, column, "a number within the range of f32",
                text_of({value}));
  return static_cast<float>(value);
}

/// Collects the targets of a data set of sequences, row by row.
class sequence_target {
 public:
  sequence_target(sequence_content const& of, sequence_examples const& how) : of_(of), how_(how) {
    column_schema const& schema = *of.schema.find(how.target);
    if (!schema.has_numbers() && (schema.type != column_type::category || how.regression))
      throw setting_error({.what = "a column of texts cannot be the target",
                           .where = {"sequence_examples::target, column ", how.target},
                           .expected = how.regression
                                           ? "a number"
                                           : "a category (the step categories makes one), or a number",
                           .got = std::string(name_of(schema.type))});
    if (how.regression) return;
    if (!schema.has_numbers()) {
      for (std::string const& value : schema.values) label_names.push_back(value);
      std::ranges::sort(label_names);
      classes = static_cast<int>(label_names.size());
    } else {
      bool const bounded = schema.type == column_type::integer && schema.highest && *schema.highest >= 0
                           && *schema.highest < (1 << 24);
      classes = how.classes > 0 ? how.classes : bounded ? static_cast<int>(*schema.highest) + 1 : 0;
    }
  }

  /// Adds the target of a row.
  void add(std::size_t row, sequence_memory& to) {
    if (!label_names.empty()) {
      std::int32_t const code = of_.rows.texts(how_.target).codes[row];
      if (code < 0) refuse_step(of_, "a target is missing", row, how_.target, "a text", "none");
      to.labels.push_back(code);
      return;
    }
    std::span<double const> const values = of_.rows.numbers<double>(how_.target);
    if (how_.regression) {
      to.numbers.push_back(number_at(of_, how_.target, values, row));
      return;
    }
    int const largest = classes > 0 ? classes - 1 : (1 << 24);
    double const label = values[row];
    if (!(is_finite(label) && label >= 0 && label <= largest && label == std::floor(label)))
      refuse_step(of_, "a value is not a valid class label", row, how_.target,
                  classes > 0 ? text_of({"a whole number from 0 to ", largest})
                              : "a whole number from 0; a number to predict: .regression = true",
                  is_finite(label) ? text_of({label}) : "none");
    to.labels.push_back(static_cast<std::int32_t>(label));
    largest_ = std::max(largest_, to.labels.back());
  }

  /// Adds a placeholder for a row that no sequence contains.
  void add_unused(sequence_memory& to) const {
    if (how_.regression)
      to.numbers.push_back(0);
    else
      to.labels.push_back(0);
  }

  /// Returns the number of classes, after all rows were added.
  int class_count() const { return how_.regression ? 0 : classes > 0 ? classes : largest_ + 1; }

  std::vector<std::string> label_names{};
  int classes = 0;

 private:
  sequence_content const& of_;
  sequence_examples const& how_;
  std::int32_t largest_ = 0;
};

/// Returns the names of the input columns.
std::vector<std::string> sequence_inputs(sequence_content const& of, sequence_examples const& how) {
  std::vector<std::string> names;
  for (column_schema const& one : of.schema.columns)
    if (how.inputs.empty() && one.has_numbers() && one.name != how.target
        && std::ranges::find(of.not_inputs, one.name) == of.not_inputs.end())
      names.push_back(one.name);
  if (!how.inputs.empty()) names = how.inputs;
  if (names.empty())
    throw setting_error(
        {.what = "there is no input column",
         .where = "sequence_examples::inputs",
         .expected = "a column of numbers besides target, keys and order; or names of columns",
         .got = "none"});
  std::vector<std::string> const all = input_names(names, of.rows.columns(), how.target);
  for (std::string const& name : all) of.rows.numbers<double>(name);  // throws for a column without numbers
  return all;
}

/// Returns a data set of the sequences. Without sequences, the data set is an empty selection from a sequence
/// of zeros.
dataset sequences_of(sequence_content const& of, sequence_examples const& how) {
  if (how.target.empty())
    throw setting_error({.what = "a data set of sequences has no target",
                         .where = "sequence_examples::target",
                         .expected = "the name of a column",
                         .got = "none"});
  std::vector<std::string> const inputs = sequence_inputs(of, how);
  auto const memory = std::make_shared<sequence_memory>();
  of.rows.has_texts(how.target);  // throws if there is no such column
  sequence_target target(of, how);
  if (how.length > 0 && how.length < of.longest)
    throw setting_error({.what = "a sequence is longer than the examples",
                         .where = "sequence_examples::length",
                         .expected = {"at least ", of.longest, ", the longest sequence of all ranks"},
                         .got = {how.length}});
  bool const none = of.ranges.empty();
  auto const rows = none ? std::size_t{1} : static_cast<std::size_t>(of.rows.rows());
  memory->inputs.resize(rows * inputs.size());
  std::vector<char> is_used(rows);  // whether a sequence uses the row; other rows may have missing values
  for (sequence_content::range const& one : of.ranges)
    std::fill_n(is_used.begin() + one.first, one.length, char{1});
  for (std::size_t c = 0; !none && c < inputs.size(); ++c) {
    std::span<double const> const values = of.rows.numbers<double>(inputs[c]);
    for (std::size_t row = 0; row < rows; ++row)
      if (is_used[row] != 0) memory->inputs[row * inputs.size() + c] = number_at(of, inputs[c], values, row);
  }
  for (std::size_t row = 0; how.per_step && !none && row < rows; ++row)
    is_used[row] != 0 ? target.add(row, *memory) : target.add_unused(*memory);
  for (std::size_t i = 0; !how.per_step && i < of.ranges.size(); ++i)
    target.add(static_cast<std::size_t>(of.ranges[i].first + of.ranges[i].length) - 1, *memory);
  if (none) (how.regression ? void(memory->numbers.push_back(0)) : memory->labels.push_back(0));
  std::vector<sequence_content::range> const ranges =
      none ? std::vector<sequence_content::range>{{0, 1, 0}} : of.ranges;
  int const columns = static_cast<int>(inputs.size()), all_rows = static_cast<int>(rows);
  sequence_settings const settings{.length = how.length > 0 ? how.length : of.longest, .owner = memory};
  series_view input{.name = "input", .feature_names = inputs, .pipeline = of.rows.pipeline()};
  for (sequence_content::range const& one : ranges)
    input.values.push_back(
        tensor_view{memory->inputs.data(), shape(all_rows, columns)}.rows(one.first, one.length));
  dataset const made = [&]() -> dataset {
    if (!how.per_step) {
      array_view values{
          .name = how.target, .classes = target.class_count(), .label_names = target.label_names};
      auto const count = static_cast<int>(ranges.size());
      values.values = how.regression ? tensor_view(memory->numbers.data(), shape(count, 1))
                                     : tensor_view(memory->labels.data(), shape(count));
      return sequences(input, values, settings);
    }
    series_view steps{.name = how.target, .classes = target.class_count(), .label_names = target.label_names};
    tensor_view const values = how.regression ? tensor_view(memory->numbers.data(), shape(all_rows, 1))
                                              : tensor_view(memory->labels.data(), shape(all_rows));
    for (sequence_content::range const& one : ranges)
      steps.values.push_back(values.rows(one.first, one.length));
    return sequences(input, steps, settings);
  }();
  return none ? select(made, 0, 0) : made;
}

}  // namespace cohort::detail

namespace cohort {

keyed_sequences::keyed_sequences(fitted_pipeline const& fitted, data_table const& rows,
                                 transform_settings const& how) {
  read(
      fitted, [&](auto const& use) { use(rows); }, nullptr, how);
}
keyed_sequences::keyed_sequences(fitted_pipeline const& fitted, table_pieces const& rows,
                                 transform_settings const& how) {
  read(fitted, rows, nullptr, how);
}
keyed_sequences::keyed_sequences(fitted_pipeline const& fitted, data_table const& part, communicator& world,
                                 transform_settings const& how) {
  read(
      fitted, [&](auto const& use) { use(part); }, &world, how);
}
keyed_sequences::keyed_sequences(fitted_pipeline const& fitted, table_pieces const& part, communicator& world,
                                 transform_settings const& how) {
  read(fitted, part, &world, how);
}

void keyed_sequences::read(fitted_pipeline const& fitted, table_pieces const& rows, communicator* world,
                           transform_settings const& how) {
  if (world) {
    shared_fact const same[]{{"pipeline", to_json(fitted)},
                             {"bad rows", how.bad == bad_record::skip ? "skip" : "stop"}};
    detail::require_same(*world, "keyed_sequences", same);
  }
  if (!fitted.program().grouping())
    throw setting_error({.what = "the pipeline makes no sequences",
                         .where = "keyed_sequences",
                         .expected = "the step group_by_key",
                         .got = "none"});
  detail::sequence_maker maker(fitted, world, how);
  std::vector<std::vector<std::byte>> parts;
  auto const together = [&](auto action) {
    if (world)
      all_or_none(*world, "keyed_sequences", "cannot make sequences", action);
    else
      action();
  };
  together([&] { parts = maker.read(rows); });
  if (world) parts = detail::exchange(*world->duplicate(), std::move(parts));
  together([&] {
    for (std::size_t from = 0; from < parts.size(); ++from) {
      maker.receive(parts[from], static_cast<int>(from));
      parts[from] = {};
    }
    content_ = maker.make();
  });
  for (detail::sequence_content::range const& one : content_->ranges)
    content_->longest = std::max(content_->longest, one.length);
  content_->report = maker.report;
  if (!world) return;
  detail::byte_writer out;
  out.word(static_cast<std::uint64_t>(content_->longest));
  detail::write_report(out, maker.report);
  gathered const all = world->allgatherv(out.release());
  content_->report = {};
  for (int rank = 0; rank < world->size(); ++rank) {
    detail::byte_reader in(all.of(rank), detail::text_of({"report of rank ", rank}));
    content_->longest = std::max(content_->longest, static_cast<int>(in.word()));
    content_->report.add(detail::read_report(in));
  }
}

std::int64_t keyed_sequences::size() const { return std::ssize(content_->ranges); }
std::string const& keyed_sequences::key(std::int64_t i) const& {
  return content_->keys[static_cast<std::size_t>(content_->ranges[static_cast<std::size_t>(i)].key)];
}
int keyed_sequences::length(std::int64_t i) const {
  return content_->ranges[static_cast<std::size_t>(i)].length;
}
int keyed_sequences::first_row(std::int64_t i) const {
  return content_->ranges[static_cast<std::size_t>(i)].first;
}
data_table const& keyed_sequences::rows() const& { return content_->rows; }
transform_report const& keyed_sequences::report() const& { return content_->report; }

dataset keyed_sequences::examples(sequence_examples const& settings) const {
  return detail::sequences_of(*content_, settings);
}

}  // namespace cohort
