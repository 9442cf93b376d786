// SPDX-License-Identifier: Apache-2.0
// TransformProcess JSON of DataVec, written here after its classes, because DataVec cannot be installed here.
#include <gtest/gtest.h>

#include <cohort/data/data_table.hpp>
#include <cohort/transform/fitted_pipeline.hpp>
#include <cohort/transform/import_transform_process.hpp>
#include <string>
#include <vector>

#include "../checkpoint/refusals.hpp"

namespace import_transform_process_test {

using namespace cohort;

std::string typed(std::string const& package, std::string const& name, std::string const& fields) {
  return R"({"@class": "org.datavec.api.transform.)" + package + name + '"'
         + (fields.empty() ? "" : ", " + fields) + "}";
}
std::string transform(std::string const& name, std::string const& fields) {
  return R"({"transform": )" + typed("transform.", name, fields) + "}";
}

/// A process with the columns amount, count, city and note.
std::string process(std::string const& actions) {
  return R"({"actionList": [)" + actions + R"(], "initialSchema": )"
         + typed("schema.", "Schema",
                 R"("columns": [)"
                     + typed("metadata.", "DoubleMetaData",
                             R"("name": "amount", "minAllowedValue": 0.0, "maxAllowedValue": null)")
                     + ", " + typed("metadata.", "IntegerMetaData", R"("name": "count")") + ", "
                     + typed("metadata.", "CategoricalMetaData",
                             R"("name": "city", "stateNames": ["Bern", "Rome"])")
                     + ", " + typed("metadata.", "StringMetaData", R"("name": "note", "regex": null)") + "]")
         + "}";
}

transform_pipeline imported(std::string const& actions) { return import_transform_process(process(actions)); }

std::string refusal_of_step(std::string const& action) {
  std::string const message = refusal_of<data_error>([&] { imported(action); });
  std::string const begin = "cannot import the TransformProcess: ";
  return message.starts_with(begin)
             ? message.substr(begin.size(), message.find(" (TransformProcess") - begin.size())
             : message;
}

TEST(import_transform_process, reads_the_schema) {
  transform_pipeline const how = imported("");
  EXPECT_EQ(how.schema,
            (table_schema{{{.name = "amount", .lowest = 0},
                           {.name = "count", .type = column_type::integer},
                           {.name = "city", .type = column_type::category, .values = {"Bern", "Rome"}},
                           {.name = "note", .type = column_type::text}}}));
  EXPECT_TRUE(how.steps.empty());
}

TEST(import_transform_process, translates_every_step) {
  std::string const condition =
      typed("condition.", "BooleanCondition",
            R"("type": "OR", "conditions": [)"
                + typed("condition.column.", "DoubleColumnCondition",
                        R"("columnName": "amount", "op": "LessThan", "value": 1.5)")
                + ", "
                + typed("condition.column.", "CategoricalColumnCondition",
                        R"("columnName": "city", "op": "InSet", "set": ["Rome", "Bern"])")
                + "]");
  transform_pipeline const how = imported(
      R"({"filter": )" + typed("filter.", "ConditionFilter", R"("condition": )" + condition) + "}, "
      + transform("doubletransform.DoubleMathOpTransform",
                  R"("columnName": "amount", "mathOp": "ReverseSubtract", "scalar": -2.5)")
      + ", "
      + transform("doubletransform.MinMaxNormalizer",
                  R"("columnName": "amount", "min": 2, "max": 6, "newMin": 0, "newMax": 1)")
      + ", "
      + transform("doubletransform.DoubleColumnsMathOpTransform",
                  R"("newColumnName": "both", "mathOp": "Divide", "columns": ["amount", "count"])")
      + ", "
      + transform("column.DuplicateColumnsTransform",
                  R"("columnsToDuplicate": ["amount"], "newColumnNames": ["copy"])")
      + ", " + transform("categorical.CategoricalToOneHotTransform", R"("columnName": "city")") + ", "
      + transform("column.RenameColumnsTransform", R"("oldNames": ["city[Rome]"], "newNames": ["roman"])")
      + ", " + transform("column.RemoveColumnsTransform", R"("columnsToRemove": ["copy"])") + ", "
      + transform("column.ReorderColumnsTransform", R"("newOrder": ["roman", "count"])") + ", "
      + transform("column.RemoveAllColumnsExceptForTransform",
                  R"("columnsToKeep": ["amount", "note", "roman"])")
      + ", " + R"({"convertToSequence": {"keyColumns": ["note"], "comparator": )"
      + typed("sequence.comparator.", "NumericalColumnComparator",
              R"("columnName": "amount", "ascending": true)")
      + "}}");
  std::vector<transform_step> const expected{
      pipeline::filter{.keep = "not ((`amount` < 1.5) or (`city` == 'Rome' or `city` == 'Bern'))"},
      pipeline::derive{.column = "amount", .formula = "(-2.5) - `amount`"},
      pipeline::derive{.column = "amount", .formula = "(`amount` - 2) * 0.25 + 0"},
      pipeline::derive{.column = "both", .formula = "`amount` / `count`"},
      pipeline::derive{.column = "copy", .formula = "`amount`"},
      pipeline::keep{{"amount", "copy", "count", "city", "note", "both"}},
      pipeline::one_hot{{"city"}},
      pipeline::rename{.from = "city=Rome", .to = "roman"},
      pipeline::drop{{"copy"}},
      pipeline::keep{{"roman", "count", "amount", "city=Bern", "note", "both"}},
      pipeline::keep{{"roman", "amount", "note"}},
      pipeline::group_by_key{.keys = {"note"}, .order = "amount"}};
  ASSERT_EQ(how.steps.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(how.steps[i] == expected[i]) << "step " << i;
  how.check();
}

// Quadratic work would take minutes.
TEST(import_transform_process, follows_many_columns_through_many_steps) {
  constexpr int columns = 20'000;
  std::string schema, names, copies;
  for (int c = 0; c < columns; ++c) {
    std::string const comma = c == 0 ? "" : ", ", name = "\"c" + std::to_string(c) + '"';
    schema += comma + typed("metadata.", "DoubleMetaData", R"("name": )" + name);
    names += comma + name;
    copies += comma + "\"d" + std::to_string(c) + '"';
  }
  auto const whole = [&](std::string const& steps) {
    return R"({"initialSchema": )" + typed("schema.", "Schema", R"("columns": [)" + schema + ']')
           + R"(, "actionList": [)" + steps + "]}";
  };
  std::string steps = transform("column.RenameColumnsTransform",
                                R"("oldNames": [)" + names + R"(], "newNames": [)" + copies + ']')
                      + ", " + transform("column.ReorderColumnsTransform", R"("newOrder": [)" + copies + ']');
  for (int n = 0; n < 20; ++n)
    steps += ", " + transform("column.ReorderColumnsTransform", R"("newOrder": ["d7"])");
  transform_pipeline const how = import_transform_process(whole(steps));
  auto const& last = std::get<pipeline::keep>(how.steps.back());
  EXPECT_EQ(last.columns.size(), static_cast<std::size_t>(columns));
  EXPECT_EQ(last.columns[0], "d7");
  for (int n = 0; n < 200; ++n)
    steps += ", " + transform("column.ReorderColumnsTransform", R"("newOrder": ["d7"])");
  EXPECT_NE(
      refusal_of<data_error>([&] { import_transform_process(whole(steps)); }).find("have too many names"),
      std::string::npos);
}

TEST(import_transform_process, reads_the_format_of_old_versions) {
  transform_pipeline const how = import_transform_process(
      R"({"initialSchema": {"Schema": {"columns": [{"Double": {"name": "x"}}, {"String": {"name": "kind"}}]}},
          "actionList": [{"transform": {"StringToCategoricalTransform": {"columnName": "kind", "stateNames": ["a", "b"]}}},
                         {"transform": {"CategoricalToIntegerTransform": {"columnName": "kind"}}},
                         {"transform": {"StandardizeNormalizer": {"columnName": "x", "mean": 2, "stdev": 4}}}]})");
  EXPECT_EQ(how.schema.columns[1],
            (column_schema{.name = "kind", .type = column_type::category, .values = {"a", "b"}}));
  EXPECT_TRUE(how.steps.at(0) == transform_step(pipeline::index{{"kind"}}));
  EXPECT_TRUE(how.steps.at(1) == transform_step(pipeline::derive{.column = "x", .formula = "(`x` - 2) / 4"}));
}

TEST(import_transform_process, refuses_steps_by_name) {
  EXPECT_EQ(refusal_of_step(R"({"reducer": {"keyColumns": ["city"]}})"), "the step is not imported");
  EXPECT_EQ(refusal_of_step(transform("time.StringToTimeTransform", R"("columnName": "note")")),
            "the transform StringToTimeTransform is not imported");
  EXPECT_EQ(refusal_of_step(transform("integer.IntegerMathOpTransform",
                                      R"("columnName": "count", "mathOp": "Divide", "scalar": 2)")),
            "the operation Divide differs from Cohort's");
  EXPECT_EQ(refusal_of_step(transform("doubletransform.DoubleMathFunctionTransform",
                                      R"("columnName": "amount", "mathFunction": "TANH")")),
            "Cohort's formulas have no such function");
  EXPECT_EQ(refusal_of_step(transform("column.RemoveColumnsTransform", R"("columnsToRemove": ["other"])")),
            "the column does not exist");
  EXPECT_EQ(refusal_of_step(R"({"filter": )" + typed("filter.", "FilterInvalidValues", "") + "}"),
            "the filter is not imported");
}

}  // namespace import_transform_process_test
