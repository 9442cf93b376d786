// SPDX-License-Identifier: Apache-2.0
// A view into a temporary object dangles, so members that return views or references are deleted for
// temporaries. tests/compile_fail contains programs with the compilers' messages.
#include <gtest/gtest.h>
#include <cohort/checkpoint/checkpoint_reader.hpp>
#include <cohort/checkpoint/model_content.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/checkpoint/safetensors.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/data/batch.hpp>
#include <cohort/data/data_table.hpp>
#include <cohort/data/idx.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/data/time_series.hpp>
#include <cohort/evaluation/classification.hpp>
#include <cohort/evaluation/regression.hpp>
#include <cohort/evaluation/roc.hpp>
#include <cohort/interchange/imported_model.hpp>
#include <cohort/interchange/name_map.hpp>
#include <cohort/io/npy.hpp>
#include <cohort/prediction/features.hpp>
#include <cohort/records/record_set.hpp>
#include <cohort/records/table_rows.hpp>
#include <cohort/text/tokenizer.hpp>
#include <cohort/text/word_vectors.hpp>
#include <cohort/text/word_vocabulary.hpp>
#include <cohort/training/fit_history.hpp>
#include <cohort/training/predictions.hpp>
#include <cohort/training/training.hpp>
#include <cohort/transform/fitted_pipeline.hpp>
#include <cohort/transform/keyed_sequences.hpp>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace views_of_temporaries_test {

using namespace cohort;

/// Whether `call` accepts a variable of type T, and no temporary.
template <class T, class Call>
constexpr bool needs_a_variable(Call) {
  return std::invocable<Call, T const&> && !std::invocable<Call, T> && !std::invocable<Call, T const>;
}

/// Defines a test: a member can be called for a variable of a type, and not for a temporary.
#define NEEDS_A_VARIABLE(type, call)                                                                    \
  static_assert(needs_a_variable<type>([](auto&& of) -> decltype(std::forward<decltype(of)>(of).call) { \
                  return std::forward<decltype(of)>(of).call;                                           \
                }),                                                                                     \
                #type "::" #call)

NEEDS_A_VARIABLE(data_table, columns());
NEEDS_A_VARIABLE(data_table, name());
NEEDS_A_VARIABLE(data_table, numbers(""));
NEEDS_A_VARIABLE(data_table, texts(""));
NEEDS_A_VARIABLE(time_series, values());
NEEDS_A_VARIABLE(time_series, columns());
NEEDS_A_VARIABLE(idx_array, view());
NEEDS_A_VARIABLE(batch, input());
NEEDS_A_VARIABLE(batch, target());
NEEDS_A_VARIABLE(batch, mask());
NEEDS_A_VARIABLE(arrays, rows());
NEEDS_A_VARIABLE(table_encoder, columns());
NEEDS_A_VARIABLE(table_encoder, column(""));
NEEDS_A_VARIABLE(table_encoder, target());
NEEDS_A_VARIABLE(table_encoder, label_names());
NEEDS_A_VARIABLE(fitted_pipeline, description());
NEEDS_A_VARIABLE(fitted_pipeline, schema());
NEEDS_A_VARIABLE(fitted_pipeline, learned(0));
NEEDS_A_VARIABLE(fitted_pipeline, report());
NEEDS_A_VARIABLE(table_schema, find(""));
NEEDS_A_VARIABLE(keyed_sequences, key(0));
NEEDS_A_VARIABLE(keyed_sequences, rows());
NEEDS_A_VARIABLE(keyed_sequences, report());
NEEDS_A_VARIABLE(record_set, fields());
NEEDS_A_VARIABLE(record_set, paths());
NEEDS_A_VARIABLE(record_set, key(0));
NEEDS_A_VARIABLE(table_rows, columns());
NEEDS_A_VARIABLE(tokenizer, text_of(0));
NEEDS_A_VARIABLE(word_vocabulary, words());
NEEDS_A_VARIABLE(word_vocabulary, counts());
NEEDS_A_VARIABLE(word_vectors, words());
NEEDS_A_VARIABLE(word_vectors, vector_of(""));
NEEDS_A_VARIABLE(predictions, operator[](0));
NEEDS_A_VARIABLE(fit_history, names());
NEEDS_A_VARIABLE(fit_history, operator[](""));
NEEDS_A_VARIABLE(feature_set, of(""));
NEEDS_A_VARIABLE(roc_report, of(0));
NEEDS_A_VARIABLE(classification_report, confusion());
NEEDS_A_VARIABLE(training, network());
NEEDS_A_VARIABLE(training, settings());
NEEDS_A_VARIABLE(training, backend());
NEEDS_A_VARIABLE(training, parameters());
NEEDS_A_VARIABLE(training, normalisation());
NEEDS_A_VARIABLE(training, encoder());
NEEDS_A_VARIABLE(model_file, file());
NEEDS_A_VARIABLE(model_file, optimizer());
NEEDS_A_VARIABLE(model_file, plateau());
NEEDS_A_VARIABLE(model_content, tensors());
NEEDS_A_VARIABLE(model_content, metadata());
NEEDS_A_VARIABLE(safetensors, name());
NEEDS_A_VARIABLE(safetensors, metadata());
NEEDS_A_VARIABLE(safetensors, tensors());
NEEDS_A_VARIABLE(safetensors, find(""));
NEEDS_A_VARIABLE(safetensors, at(""));
NEEDS_A_VARIABLE(checkpoint_reader, path());
NEEDS_A_VARIABLE(checkpoint_reader, manifest());
NEEDS_A_VARIABLE(imported_model, origin());
NEEDS_A_VARIABLE(npy_array, view());
NEEDS_A_VARIABLE(name_map, name());
NEEDS_A_VARIABLE(name_map, rules());

/// A description that outlives the temporary is a copy.
template <class T>
constexpr bool describes_by_a_copy = std::same_as<decltype(std::declval<T>().describe()), data_description>&&
    std::same_as<decltype(std::declval<T const&>().describe()), data_description const&>;

TEST(views_of_temporaries, are_avoided_by_copying_descriptions) {
  EXPECT_TRUE(describes_by_a_copy<dataset>);
  EXPECT_TRUE(describes_by_a_copy<arrays>);
  EXPECT_TRUE(describes_by_a_copy<feature_set>);
  EXPECT_TRUE((std::same_as<decltype(std::declval<imported_model>().network()), graph>));
  float const number = 7;
  data_description const& copied =
      dataset(arrays({array_view{.name = "x", .values = {&number, {1, 1}}}})).describe();
  EXPECT_EQ(copied.inputs[0].name, "x");
}

}  // namespace views_of_temporaries_test
