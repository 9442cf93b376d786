// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/keras.hpp>
#include <cohort/keras/detail/hdf5_file.hpp>
#include <cohort/keras/detail/keras_weights.hpp>
#include <string>
#include <string_view>

namespace cohort::detail {

/// Imports a configuration, with the arrays of `weights` unless it is null.
///
/// `training`     text of the training configuration; null: the training configuration inside `config`, if
///                any
/// `backend`      Keras backend that saved the model; "": the backend that `config` contains, if any
imported_model import_keras(std::string_view config, std::string const& origin, keras_options const& how,
                            keras_version given, std::string const* training,
                            keras_weight_source const* weights, std::string_view backend = {});

/// Imports an HDF5 file written by model.save().
imported_model import_keras(hdf5_file const& file, keras_options const& how);

}  // namespace cohort::detail
