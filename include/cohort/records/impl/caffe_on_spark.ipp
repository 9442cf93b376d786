// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>
#include <cohort/records/caffe_on_spark.hpp>
#include <cstdint>
#include <utility>
#include <vector>

namespace cohort::detail {

/// Reads one Java object whose fields are texts, integers, booleans, or boxes of these.
class java_object_reader {
 public:
  /// Value of a field; for a boxed number or boolean, the value in the box.
  struct value {
    enum kind { null, text, number, other } type = null;
    std::string characters{};
    std::int64_t integer = 0;
  };
  struct object {
    std::string type;
    std::vector<std::pair<std::string, value>> fields;
  };

  java_object_reader(std::span<std::byte const> bytes, std::string_view where)
      : bytes_(bytes), where_(where) {}

  object run() {
    if (number(2) != 0xaced || number(2) != 5) refuse("a Java object: AC ED 00 05", "other bytes");
    if (byte() != of_object) refuse("an object", "another element");
    object found = read_object(0);
    if (at_ != bytes_.size()) refuse("the end", "more bytes");
    return found;
  }

  [[noreturn]] void refuse(clause expected, clause got) const {
    throw data_error({.what = "cannot read a CaffeOnSpark key",
                      .where = {where_, ", byte ", at_},
                      .expected = std::move(expected),
                      .got = std::move(got)});
  }

 private:
  static constexpr int of_null = 0x70, of_reference = 0x71, of_class = 0x72, of_object = 0x73, of_text = 0x74,
                       end_of_annotation = 0x78;
  static constexpr int most_levels = 16, most_fields = 16;
  static constexpr std::size_t most_handles = 64;

  struct class_description {
    std::string name;
    std::vector<std::pair<char, std::string>> fields;  // type and name
    int base = -1;                                     // number of the base class
  };
  /// An object or a class, to which a later reference may refer.
  struct handle {
    int class_number = -1;  // −1: `one` is the value
    value one{};
  };

  std::uint64_t number(int bytes) {
    if (bytes_.size() - at_ < static_cast<std::size_t>(bytes)) refuse({bytes, " more bytes"}, "the end");
    std::uint64_t found = 0;
    for (int k = 0; k < bytes; ++k) found = found << 8 | std::to_integer<std::uint8_t>(bytes_[at_++]);
    return found;
  }
  int byte() { return static_cast<int>(number(1)); }

  std::string characters() {
    auto const length = static_cast<std::size_t>(number(2));
    if (bytes_.size() - at_ < length) refuse({length, " bytes of a text"}, "the end");
    std::string const found(reinterpret_cast<char const*>(bytes_.data()) + at_, length);
    at_ += length;
    return found;
  }

  std::size_t add_handle(handle one) {
    if (handles_.size() == most_handles) refuse({"at most ", most_handles, " objects"}, "more");
    handles_.push_back(std::move(one));
    return handles_.size() - 1;
  }
  handle const& referenced() {
    std::uint64_t const wanted = number(4) - 0x7e0000;
    if (wanted >= handles_.size()) refuse("a reference to an earlier object", {"handle ", wanted});
    return handles_[wanted];
  }

  /// Reads a class and returns its number; −1 if there is none.
  int read_class(int level) {
    if (level > most_levels) refuse({"at most ", most_levels, " levels of classes"}, "more");
    int const element = byte();
    if (element == of_null) return -1;
    if (element == of_reference) {
      int const found = referenced().class_number;
      if (found < 0) refuse("a class", "another object");
      return found;
    }
    if (element != of_class) refuse("a class", "another element");
    class_description made{.name = characters(), .fields = {}};
    number(8);  // serialVersionUID
    auto const self = static_cast<int>(classes_.size());
    classes_.emplace_back();
    add_handle({.class_number = self});
    if (int const flags = byte(); flags != 2) refuse("a class with default serialisation", {"flags ", flags});
    std::uint64_t const fields = number(2);
    if (fields > most_fields) refuse({"at most ", most_fields, " fields"}, {fields});
    for (std::uint64_t k = 0; k < fields; ++k) {
      auto const type = static_cast<char>(byte());
      std::string name = characters();
      if ((type == 'L' || type == '[') && read_value(level + 1).type != value::text)
        refuse("the name of a class", "another object");
      made.fields.emplace_back(type, std::move(name));
    }
    if (byte() != end_of_annotation) refuse("a class without annotations", "an annotation");
    made.base = read_class(level + 1);
    classes_[static_cast<std::size_t>(self)] = std::move(made);
    return self;
  }

  value read_value(int level) {
    if (level > most_levels) refuse({"at most ", most_levels, " levels of objects"}, "more");
    int const element = byte();
    if (element == of_null) return {};
    if (element == of_reference) {
      handle const& found = referenced();
      if (found.class_number >= 0) refuse("a value", "a class");
      return found.one;
    }
    if (element == of_text) {
      value made{.type = value::text, .characters = characters()};
      add_handle({.one = made});
      return made;
    }
    if (element != of_object) refuse("a text, a number or a boolean", "another element");
    std::size_t const self = handles_.size();
    object const found = read_object(level + 1);
    value made{.type = value::other};
    bool const is_box = found.type == "java.lang.Integer" || found.type == "java.lang.Boolean";
    if (is_box && found.fields.size() == 1) made = found.fields.front().second;
    // The handles of the object's classes precede the object's handle.
    for (std::size_t k = self; k < handles_.size(); ++k)
      if (handles_[k].class_number < 0 && handles_[k].one.type == value::other) {
        handles_[k].one = made;
        break;
      }
    return made;
  }

  /// Reads the rest of an object, after its first byte.
  object read_object(int level) {
    int const type = read_class(level + 1);
    if (type < 0) refuse("the class of an object", "none");
    add_handle({.one = {.type = value::other}});
    object made{.type = classes_[static_cast<std::size_t>(type)].name, .fields = {}};
    read_fields(type, 0, level, made);
    return made;
  }

  /// Reads the fields of a class, after the fields of its base classes.
  void read_fields(int type, int steps, int level, object& made) {
    if (type < 0) return;
    if (steps > most_levels) refuse({"at most ", most_levels, " levels of classes"}, "more");
    read_fields(classes_[static_cast<std::size_t>(type)].base, steps + 1, level, made);
    std::size_t const count = classes_[static_cast<std::size_t>(type)].fields.size();
    for (std::size_t k = 0; k < count; ++k) {
      // A copy: reading a value may add classes.
      auto const [kind, name] = classes_[static_cast<std::size_t>(type)].fields[k];
      made.fields.emplace_back(name, read_field(kind, level));
    }
  }

  value read_field(char kind, int level) {
    switch (kind) {
      case 'L':
        return read_value(level + 1);
      case 'I':
        return {.type = value::number, .integer = static_cast<std::int32_t>(number(4))};
      case 'Z':
        return {.type = value::number, .integer = byte() != 0};
      default:
        refuse("a field of type int, boolean or object", {"the type ", std::string(1, kind)});
    }
  }

  std::span<std::byte const> bytes_;
  std::string_view where_;
  std::size_t at_ = 0;
  std::vector<class_description> classes_;
  std::vector<handle> handles_;
};

}  // namespace cohort::detail

namespace cohort {

caffe_on_spark_key caffe_on_spark_key::parse(std::span<std::byte const> key, std::string_view where) {
  using value = detail::java_object_reader::value;
  detail::java_object_reader reader(key, where);
  auto const object = reader.run();
  bool const has_extents = object.type == "scala.Tuple6", is_pair = object.type == "scala.Tuple2",
             is_old_pair = object.type == "com.yahoo.ml.dl.caffe.Pair";
  if (!has_extents && !is_pair && !is_old_pair)
    reader.refuse("scala.Tuple2, scala.Tuple6 or com.yahoo.ml.dl.caffe.Pair", object.type);
  auto const field = [&](char const* name, value::kind type) -> value const& {
    for (auto const& [known, found] : object.fields)
      if (known == name && found.type == type) return found;
    reader.refuse({"a field ", name, type == value::text ? " with a text" : " with a number"}, "none");
  };
  caffe_on_spark_key made{.id = field(is_old_pair ? "first" : "_1", value::text).characters,
                          .label = field(is_old_pair ? "second" : "_2", value::text).characters};
  if (!has_extents) return made;
  auto const extent = [&](char const* name) {
    std::int64_t const found = field(name, value::number).integer;
    if (found < 0) reader.refuse({"0 or more in the field ", name}, {found});
    return static_cast<int>(found);
  };
  made.channels = extent("_3");
  made.height = extent("_4");
  made.width = extent("_5");
  made.encoded = field("_6", value::number).integer != 0;
  return made;
}

}  // namespace cohort
