// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/detail/build_check.hpp>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cohort::detail {

/// A version of Keras; 0.0: unknown.
struct keras_version {
  int major = 0;
  int minor = 0;
};

/// An array of a weight file, in Keras' order of axes.
struct keras_array {
  std::vector<int> dims{};
  std::vector<float> values{};
};

/// Maps an array of the file to a parameter of the network.
///
/// `object_path`  path of the Keras layer: "layers/dense_1"
/// `part`         object inside the layer that has the array: "cell"; empty: the layer itself
/// `index`        index of the array in this object
/// `group`        layer of the outermost model, for files without object paths
/// `order`        positions in the nested lists of layers, then a running number
/// `is_trained`   whether Keras trains the array; files without paths store trained arrays first
/// `dims`         extents in Keras
/// `node`         node of the network with the parameter
/// `parameter`    name of the parameter; empty: Cohort does not need the array
/// `offset`       first element of the parameter to which the values, changed by `convert`, are written
struct keras_weight {
  std::string layer{};
  std::string object_path{};
  std::string part{};
  int index = 0;
  std::string group{};
  std::vector<int> order{};
  bool is_trained = true;
  std::vector<int> dims{};
  int node = -1;
  std::string parameter{};
  std::size_t offset = 0;
  std::function<std::vector<float>(std::vector<float> const&)> convert{};
};

/// A model's arrays: in an HDF5 file with one of Keras' layouts, or in memory in tests.
class keras_weight_source {
 public:
  virtual ~keras_weight_source() = default;
  /// Returns whether arrays are identified by object paths, not by their order.
  virtual bool has_paths() const = 0;
  /// Returns the number of arrays of an object; nullopt if the file has no such object.
  virtual std::optional<std::size_t> count_of(std::string const& object_path) const = 0;
  /// Reads an array of an object.
  virtual keras_array read(std::string const& object_path, std::size_t index,
                           std::vector<int> const& dims) const = 0;
  /// Returns the number of arrays of a layer of the outermost model.
  virtual std::size_t count_in_group(std::string const& layer) const = 0;
  virtual keras_array read_in_group(std::string const& layer, std::size_t number,
                                    std::vector<int> const& dims) const = 0;
  virtual std::string const& name() const = 0;
};

}  // namespace cohort::detail
