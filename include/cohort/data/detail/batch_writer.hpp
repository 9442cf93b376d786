// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/data/batch.hpp>
#include <cohort/data/description.hpp>
#include <cohort/data/example_view.hpp>
#include <cohort/data/transform.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cohort::detail {

/// Creates the tensors of a batch as described, with memory for `capacity` examples.
void resize_batch(batch& b, data_description const& description, int capacity);

/// Returns the weight of an example.
///
/// Errors    data_error naming the example if the weight is negative or not finite.
float checked_weight(float weight, std::int64_t example);

/// Writes one part of an example to a batch. The conversion is selected once and used for every example.
struct part_writer {
  row_transform transform = nullptr;
  std::size_t elements = 0;
  std::size_t bytes = 0;         // size of an example in the batch
  std::size_t stored_bytes = 0;  // size of an example in the data set
  double scale = 1;
  double offset = 0;
  std::vector<channel_scaling> channels;  // includes scale and offset
  std::size_t stored_channel_bytes = 0;
  std::size_t channel_bytes = 0;

  explicit part_writer(tensor_description const& part);
  void operator()(std::byte const* source, std::byte* destination) const;
};

struct dataset_interface;

/// Writes examples to the rows of a batch.
class batch_writer {
 public:
  explicit batch_writer(data_description const& description);

  /// Returns the batch's tensor for part `part`.
  static named_tensor& tensor(batch& b, std::size_t part);

  /// Resizes weights and keys for `count` examples.
  void begin(batch& b, std::size_t count) const;

  /// Checks class labels and weight of example `index`.  Errors: data_error naming the example.
  void check(example_view const& example, std::int64_t index) const;

  void write(example_view const& example, batch& b, std::size_t row) const;

  /// Writes the examples `indices` to rows 0, 1, …. Examples that are not in memory are read into
  /// `scratch`.
  void gather(dataset_interface const& data, std::span<std::int64_t const> indices, example_view& scratch,
              batch& b) const;

 private:
  struct class_check {
    std::size_t part;
    tensor_description label;
  };

  std::vector<part_writer> writers_;
  std::vector<class_check> class_labels_;
  bool weighted_;
  bool keyed_;
};

}  // namespace cohort::detail
