// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cohort/data/detail/data_fields.hpp>
#include <cohort/io/json.hpp>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

namespace cohort {

std::string normalisation::to_json() const { return detail::line_of(*this); }

normalisation normalisation::from_json(std::string_view text, std::string const& where) {
  io::json_document const parsed = io::parse_json(text, where);
  return detail::read_complete<normalisation>(parsed.root());
}

std::string to_json(table_encoder const& encoder) {
  io::json_writer out;
  detail::encoder_codec::write(out, encoder);
  return out.text();
}

table_encoder table_encoder_from_json(io::json_value value) {
  std::optional<table_encoder> encoder;
  detail::encoder_codec::read(value, encoder);
  return *std::move(encoder);
}

}  // namespace cohort

namespace cohort::detail {

void vocabulary_codec::read(io::json_value from, std::vector<std::string>& value) {
  texts_codec.read(from, value);
  auto const twice = std::ranges::adjacent_find(value, std::ranges::greater_equal());
  if (twice != value.end())
    from.at(static_cast<std::size_t>(twice - value.begin()) + 1).refuse("texts in ascending order");
}

template <class Visitor>
void encoder_codec::fields(Visitor& v, table_encoder& s) {
  v.field("columns", s.columns_, mandatory<list_codec<object_codec<encoded_column>>>{});
  v.field("target", s.target_, sparse<text_codec>{});
  v.field("classes", s.classes_, sparse<integer_codec<int>>{{0, 1 << 24}});
  v.field("label_names", s.label_names_, sparse<vocabulary_codec>{});
}

void encoder_codec::read(io::json_value from, std::optional<table_encoder>& value) {
  table_encoder encoder;
  fields_reader reader(from);
  fields(reader, encoder);
  reader.finish();
  io::json_value const columns = from.at("columns");
  if (encoder.columns_.empty()) columns.refuse("at least 1 column");
  for (std::size_t c = 0; c < encoder.columns_.size(); ++c) {
    encoded_column const& column = encoder.columns_[c];
    for (std::size_t other = 0; other < c; ++other)
      if (encoder.columns_[other].name == column.name)
        columns.at(c).at("name").refuse("a name that no other column has");
    bool const is_valid = column.is_text ? !column.fill && (column.other || !column.vocabulary.empty())
                                         : !column.indexed && !column.other && column.vocabulary.empty();
    if (!is_valid) columns.at(c).refuse("numbers, or texts with a vocabulary");
  }
  bool const has_target = !encoder.target_.empty(), has_names = !encoder.label_names_.empty();
  if (!has_target && (encoder.classes_ > 0 || has_names))
    from.refuse("the name of a target with these classes");
  if (has_names && std::ssize(encoder.label_names_) != encoder.classes_)
    from.at("label_names").refuse(text_of({"names of ", encoder.classes_, " classes"}));
  value = std::move(encoder);
}

void encoder_codec::write(io::json_writer& out, std::optional<table_encoder> const& value) {
  table_encoder encoder = *value;
  fields_writer writer{out};
  out.begin_object();
  fields(writer, encoder);
  out.end_object();
}

}  // namespace cohort::detail
