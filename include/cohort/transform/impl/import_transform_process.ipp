// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cohort/error/exceptions.hpp>
#include <cohort/io/json.hpp>
#include <cohort/transform/import_transform_process.hpp>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace cohort {

namespace detail {

/// Translates the steps of a TransformProcess one after another, and follows the names of the columns.
class transform_process {
 public:
  transform_pipeline translate(io::json_value root) {
    read_schema(root.at("initialSchema"));
    io::json_value const actions = root.at("actionList");
    if (actions.size() > most_steps) actions.refuse("at most 1000 steps");
    for (io::json_value const action : actions.items()) {
      where_ = action.location();
      translate_action(action);
    }
    return std::move(result_);
  }

 private:
  static constexpr std::size_t most_steps = 1000, most_columns = 100'000, deepest_condition = 16,
                               most_kept = 4'000'000;

  /// An object of DataVec: its class without the package, and its fields.
  struct object {
    std::string class_name;
    io::json_value fields;
  };

  [[noreturn]] void refuse(std::string problem, std::string expected, std::string got) const {
    throw data_error({.what = {"cannot import the TransformProcess: ", problem},
                      .where = where_,
                      .expected = std::move(expected),
                      .got = std::move(got)});
  }

  /// Reads {"@class": "package.Name", …}, or {"Name": {…}} of versions up to 1.0.0-alpha.
  static object read(io::json_value from) {
    if (auto const given = from.find("@class")) {
      std::string_view name = given->string();
      if (std::size_t const dot = name.find_last_of(".$"); dot != name.npos) name.remove_prefix(dot + 1);
      return {std::string(name), from};
    }
    if (from.size() != 1) from.refuse("an object with @class, or with the class as its only field");
    io::json_value const inner = *from.items().begin();
    return {std::string(inner.key()), inner};
  }

  static std::vector<std::string> texts(io::json_value list) {
    if (list.size() > most_columns) list.refuse("at most 100000 texts");
    std::vector<std::string> values;
    for (io::json_value const value : list.items()) values.emplace_back(value.string());
    return values;
  }

  // ---- columns ----

  void read_schema(io::json_value from) {
    object const schema = read(from);
    where_ = from.location();
    if (schema.class_name != "Schema")
      refuse("the initial schema is not imported", "Schema: sequences begin with ConvertToSequence",
             schema.class_name);
    io::json_value const columns = schema.fields.at("columns");
    if (columns.size() > most_columns) columns.refuse("at most 100000 columns");
    for (io::json_value const entry : columns.items()) {
      where_ = entry.location();
      object const meta = read(entry);
      column_schema column{.name = std::string(meta.fields.at("name").string())};
      std::string kind = meta.class_name;
      if (std::string_view const end = "MetaData"; kind.ends_with(end)) kind.resize(kind.size() - end.size());
      if (kind == "Integer" || kind == "Long")
        column.type = column_type::integer;
      else if (kind == "Categorical")
        column.type = column_type::category;
      else if (kind == "String")
        column.type = column_type::text;
      else if (kind != "Double" && kind != "Float")
        refuse("columns of this type are not imported", "Integer, Long, Double, Float, Categorical or String",
               kind);
      if (column.type == column_type::category) column.values = texts(meta.fields.at("stateNames"));
      if (column.has_numbers()) {
        column.lowest = bound(meta, "minAllowedValue");
        column.highest = bound(meta, "maxAllowedValue");
      }
      for (char const* const field : {"regex", "minLength", "maxLength"})
        if (auto const found = meta.fields.find(field); found && !found->is_null())
          refuse("Cohort's schemas do not restrict texts", "no " + std::string(field), "a value");
      add(column.name);
      result_.schema.columns.push_back(std::move(column));
    }
  }

  static std::optional<double> bound(object const& meta, char const* field) {
    auto const found = meta.fields.find(field);
    if (!found || found->is_null()) return std::nullopt;
    return found->number();
  }

  /// Returns Cohort's name of a column.
  std::string column(std::string const& given) const {
    auto const renamed = one_hot_names_.find(given);
    std::string const& name = renamed == one_hot_names_.end() ? given : renamed->second;
    if (!known_.contains(name)) refuse("the column does not exist", "a column", given);
    return name;
  }
  std::string column(object const& of, char const* field = "columnName") const {
    return column(std::string(of.fields.at(field).string()));
  }
  std::vector<std::string> columns(object const& of, char const* field) const {
    std::vector<std::string> values = texts(of.fields.at(field));
    for (std::string& value : values) value = column(value);
    return values;
  }
  /// Returns the column of the schema; null for a column that a step has made.
  column_schema* find_in_schema(std::string const& name) {
    auto const found = std::ranges::find(result_.schema.columns, name, &column_schema::name);
    return found == result_.schema.columns.end() || changed_.contains(name) ? nullptr : &*found;
  }

  // ---- formulas ----

  /// A column's name in formulas.
  std::string quoted(std::string const& name) const {
    if (name.find('`') != name.npos) refuse("a formula cannot have the name", "a name without `", name);
    return '`' + name + '`';
  }
  static std::string number(double value) {
    char digits[32];
    auto const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    return value < 0 ? '(' + std::string(digits, end) + ')' : std::string(digits, end);
  }
  std::string text(std::string_view value) const {
    if (value.find('\'') != value.npos)
      refuse("a formula cannot have the text", "a text without '", std::string(value));
    return '\'' + std::string(value) + '\'';
  }
  std::string constant(io::json_value value) const {
    return value.kind() == io::json_kind::number ? number(value.number()) : text(value.string());
  }

  std::string formula_of(std::string const& operation, std::string const& x, std::string const& y,
                         bool is_integer) const {
    if (operation == "Add") return x + " + " + y;
    if (operation == "Subtract") return x + " - " + y;
    if (operation == "Multiply") return x + " * " + y;
    if (operation == "ReverseSubtract") return y + " - " + x;
    if (operation == "ScalarMin") return "min(" + x + ", " + y + ")";
    if (operation == "ScalarMax") return "max(" + x + ", " + y + ")";
    if (operation == "Divide" && !is_integer) return x + " / " + y;
    if (operation == "ReverseDivide" && !is_integer) return y + " / " + x;
    refuse("the operation " + operation + " differs from Cohort's",
           "Add, Subtract, Multiply, ReverseSubtract, ScalarMin or ScalarMax; Divide and ReverseDivide of "
           "doubles",
           operation);
  }

  std::string condition(io::json_value from, std::size_t depth = 0) const {
    if (depth > deepest_condition) refuse("a condition is nested too deeply", "16 levels", "more");
    object const of = read(from);
    if (of.class_name == "BooleanCondition") {
      std::string const kind(of.fields.at("type").string());
      io::json_value const parts = of.fields.at("conditions");
      if (kind == "NOT" && parts.size() == 1)
        return "not (" + condition(parts.at(std::size_t{0}), depth + 1) + ")";
      if ((kind != "AND" && kind != "OR") || parts.size() == 0 || parts.size() > 64)
        refuse("the condition is not imported", "AND, OR or NOT", kind);
      std::string joined;
      for (io::json_value const part : parts.items())
        joined += (joined.empty() ? "(" : kind == "AND" ? ") and (" : ") or (") + condition(part, depth + 1);
      return joined + ')';
    }
    static constexpr std::string_view known[]{"CategoricalColumnCondition", "DoubleColumnCondition",
                                              "FloatColumnCondition",       "IntegerColumnCondition",
                                              "LongColumnCondition",        "StringColumnCondition"};
    if (std::ranges::find(known, of.class_name) == std::end(known))
      refuse("the condition is not imported", "BooleanCondition, or a condition of one column",
             of.class_name);
    static constexpr std::pair<std::string_view, std::string_view> operators[]{
        {"LessThan", " < "},        {"LessOrEqual", " <= "}, {"GreaterThan", " > "},
        {"GreaterOrEqual", " >= "}, {"Equal", " == "},       {"NotEqual", " != "}};
    std::string const name = quoted(column(of)), operation(of.fields.at("op").string());
    for (auto const& [theirs, ours] : operators)
      if (theirs == operation) return name + std::string(ours) + constant(of.fields.at("value"));
    if (operation != "InSet" && operation != "NotInSet")
      refuse("the operation of a condition is not imported", "a comparison, InSet or NotInSet", operation);
    io::json_value const set = of.fields.at("set");
    if (set.size() == 0 || set.size() > 64)
      refuse("the set of a condition has another size", "1 to 64 values", std::to_string(set.size()));
    bool const is_in = operation == "InSet";
    std::string joined;
    for (io::json_value const value : set.items())
      joined += (joined.empty() ? ""
                 : is_in        ? " or "
                                : " and ")
                + name + (is_in ? " == " : " != ") + constant(value);
    return joined;
  }

  // ---- steps ----

  void translate_action(io::json_value action) {
    for (io::json_value const part : action.items()) {
      if (part.is_null()) continue;
      if (part.key() == "transform") return translate_transform(read(part));
      if (part.key() == "filter") return translate_filter(read(part));
      if (part.key() == "convertToSequence") return group(part);
      refuse("the step is not imported", "transform, filter or convertToSequence", std::string(part.key()));
    }
    refuse("the step is empty", "a transform", "none");
  }

  void translate_filter(object const& of) {
    if (of.class_name != "ConditionFilter")
      refuse("the filter is not imported", "ConditionFilter", of.class_name);
    // DataVec removes the rows for which the condition is true.
    result_.steps.push_back(pipeline::filter{.keep = "not (" + condition(of.fields.at("condition")) + ')'});
  }

  void group(io::json_value of) {
    pipeline::group_by_key step;
    for (char const* const field : {"keyColumns", "keyColumn"})
      if (auto const keys = of.find(field); keys && !keys->is_null())
        step.keys = columns({"ConvertToSequence", of}, field);
    if (step.keys.empty()) refuse("ConvertToSequence has no keys", "keyColumns", "none");
    if (auto const comparator = of.find("comparator"); comparator && !comparator->is_null()) {
      object const order = read(*comparator);
      bool const is_numerical = order.class_name == "NumericalColumnComparator";
      if (!is_numerical || !order.fields.at("ascending").boolean())
        refuse("the order of ConvertToSequence is not imported", "NumericalColumnComparator, ascending",
               order.class_name);
      step.order = column(order);
    }
    result_.steps.push_back(std::move(step));
  }

  static std::set<std::string> as_set(std::vector<std::string> const& names) {
    return {names.begin(), names.end()};
  }

  void derive(std::string const& name, std::string formula) {
    if (!known_.contains(name)) add(name);
    changed_.insert(name);
    result_.steps.push_back(pipeline::derive{.column = name, .formula = std::move(formula)});
  }

  void add(std::string const& name) {
    names_.push_back(name);
    known_.insert(name);
  }

  void keep(std::vector<std::string> names) {
    kept_ += names.size();
    if (kept_ > most_kept)
      refuse("the steps that keep columns have too many names",
             "at most " + std::to_string(most_kept) + " in all steps", std::to_string(kept_));
    names_ = names;
    known_ = as_set(names);
    result_.steps.push_back(pipeline::keep{.columns = std::move(names)});
  }

  void translate_transform(object const& of) {
    std::string const& kind = of.class_name;
    auto const value = [&](char const* field) { return of.fields.at(field).number(); };
    bool const is_integer = kind.starts_with("Integer") || kind.starts_with("Long");
    if (kind == "RemoveColumnsTransform") {
      std::vector<std::string> const removed = columns(of, "columnsToRemove");
      std::erase_if(names_, [gone = as_set(removed)](auto const& name) { return gone.contains(name); });
      for (std::string const& name : removed) known_.erase(name);
      result_.steps.push_back(pipeline::drop{.columns = removed});
    } else if (kind == "RemoveAllColumnsExceptForTransform") {
      std::vector<std::string> const kept = columns(of, "columnsToKeep");
      std::vector<std::string> names = names_;
      std::erase_if(names, [stays = as_set(kept)](auto const& name) { return !stays.contains(name); });
      keep(std::move(names));
    } else if (kind == "ReorderColumnsTransform") {
      std::vector<std::string> names = columns(of, "newOrder");
      std::set<std::string> const first = as_set(names);
      for (std::string const& name : names_)
        if (!first.contains(name)) names.push_back(name);
      keep(std::move(names));
    } else if (kind == "RenameColumnsTransform") {
      std::vector<std::string> const from = columns(of, "oldNames"), to = texts(of.fields.at("newNames"));
      if (from.size() != to.size())
        refuse("a renaming is damaged", "as many old as new names", "other numbers");
      std::map<std::string, std::string> new_names;
      for (std::size_t i = 0; i < from.size(); ++i) {
        if (!known_.insert(to[i]).second) refuse("a new name is in use", "another name", to[i]);
        if (!new_names.try_emplace(from[i], to[i]).second)
          refuse("a column is renamed twice in one step", "one new name", from[i]);
        known_.erase(from[i]);
        changed_.insert(to[i]);
        result_.steps.push_back(pipeline::rename{.from = from[i], .to = to[i]});
      }
      for (std::string& name : names_)
        if (auto const found = new_names.find(name); found != new_names.end()) name = found->second;
    } else if (kind == "DuplicateColumnsTransform") {
      std::vector<std::string> const from = columns(of, "columnsToDuplicate"),
                                     to = texts(of.fields.at("newColumnNames"));
      if (from.size() != to.size())
        refuse("a duplication is damaged", "as many columns as names", "other numbers");
      std::multimap<std::string, std::string> copies;
      std::vector<std::string> const before = names_;
      for (std::size_t i = 0; i < from.size(); ++i) {
        if (known_.contains(to[i])) refuse("a new name is in use", "another name", to[i]);
        copies.emplace(from[i], to[i]);
        derive(to[i], quoted(from[i]));
      }
      std::vector<std::string> names;
      for (std::string const& name : before) {
        names.push_back(name);
        auto [first, last] = copies.equal_range(name);
        while (last != first) names.push_back((--last)->second);
      }
      keep(std::move(names));
    } else if (kind == "StringToCategoricalTransform") {
      column_schema* const target = find_in_schema(column(of));
      if (!target || target->type != column_type::text)
        refuse("StringToCategoricalTransform is imported only for an unchanged column of texts",
               "a column of the schema", column(of));
      target->type = column_type::category;
      target->values = texts(of.fields.at("stateNames"));
    } else if (kind == "CategoricalToIntegerTransform") {
      changed_.insert(column(of));
      result_.steps.push_back(pipeline::index{.columns = {column(of)}});
    } else if (kind == "CategoricalToOneHotTransform") {
      one_hot(column(of));
    } else if (kind.ends_with("ColumnsMathOpTransform")) {
      std::vector<std::string> const from = columns(of, "columns");
      std::string const operation(of.fields.at("mathOp").string());
      if (from.size() < 2 || (from.size() > 2 && operation != "Add" && operation != "Multiply"))
        refuse("an operation has another number of columns", "2; more for Add and Multiply",
               std::to_string(from.size()));
      std::string formula = quoted(from[0]);
      for (std::size_t i = 1; i < from.size(); ++i)
        formula = formula_of(operation, formula, quoted(from[i]), is_integer);
      derive(std::string(of.fields.at("newColumnName").string()), formula);
    } else if (kind.ends_with("MathOpTransform") && !kind.starts_with("Time")) {
      std::string const name = column(of);
      derive(name, formula_of(std::string(of.fields.at("mathOp").string()), quoted(name),
                              number(value("scalar")), is_integer));
    } else if (kind == "DoubleMathFunctionTransform" || kind == "FloatMathFunctionTransform") {
      static constexpr std::pair<std::string_view, std::string_view> functions[]{
          {"ABS", "abs"},     {"CEIL", "ceil"}, {"EXP", "exp"},
          {"FLOOR", "floor"}, {"LOG", "log"},   {"SQRT", "sqrt"}};
      std::string const function(of.fields.at("mathFunction").string());
      auto const found =
          std::ranges::find(functions, function, &std::pair<std::string_view, std::string_view>::first);
      if (found == std::end(functions))
        refuse("Cohort's formulas have no such function", "ABS, CEIL, EXP, FLOOR, LOG or SQRT", function);
      derive(column(of), std::string(found->second) + '(' + quoted(column(of)) + ')');
    } else if (kind == "MinMaxNormalizer") {
      double const lowest = value("min"), highest = value("max"), low = value("newMin"),
                   high = value("newMax");
      if (!(highest > lowest))
        refuse("the range of MinMaxNormalizer is empty", "min below max", number(highest));
      derive(column(of), '(' + quoted(column(of)) + " - " + number(lowest) + ") * "
                             + number((high - low) / (highest - lowest)) + " + " + number(low));
    } else if (kind == "StandardizeNormalizer") {
      derive(column(of),
             '(' + quoted(column(of)) + " - " + number(value("mean")) + ") / " + number(value("stdev")));
    } else if (kind == "SubtractMeanNormalizer") {
      derive(column(of), quoted(column(of)) + " - " + number(value("mean")));
    } else {
      refuse("the transform " + kind + " is not imported", "a transform of docs/deeplearning4j.md", kind);
    }
  }

  void one_hot(std::string const& name) {
    column_schema const* const target = find_in_schema(name);
    if (!target || target->type != column_type::category)
      refuse("CategoricalToOneHotTransform is imported only for an unchanged category",
             "a column of the schema", name);
    auto const position = std::ranges::find(names_, name);
    std::vector<std::string> indicators;
    for (std::string const& state : target->values) {
      indicators.push_back(name + '=' + state);
      one_hot_names_[name + '[' + state + ']'] = indicators.back();
      changed_.insert(indicators.back());
    }
    names_.insert(names_.erase(position), indicators.begin(), indicators.end());
    known_.erase(name);
    known_.insert(indicators.begin(), indicators.end());
    result_.steps.push_back(pipeline::one_hot{.columns = {name}});
  }

  transform_pipeline result_{};
  std::string where_{};
  std::vector<std::string> names_{};                                 // the columns after the steps so far
  std::set<std::string> known_{};                                    // the same names
  std::size_t kept_ = 0;                                             // names in all steps `keep`
  std::set<std::string, std::less<>> changed_{};                     // columns that differ from the schema
  std::map<std::string, std::string, std::less<>> one_hot_names_{};  // DataVec's names, and Cohort's
};

}  // namespace detail

transform_pipeline import_transform_process(std::string_view json, std::string_view name) {
  auto const document = io::parse_json(json, name);
  return detail::transform_process().translate(document.root());
}

}  // namespace cohort
