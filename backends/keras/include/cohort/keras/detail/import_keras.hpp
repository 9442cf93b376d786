// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/keras.hpp>
#include <cohort/keras/detail/hdf5_file.hpp>
#include <cohort/keras/detail/keras_weights.hpp>
#include <string>
#include <string_view>

namespace cohort::detail {

/// Imports a configuration, with the arrays of `weights` if there are any.
///
/// `training`     the text of a training configuration; null: the one inside `config`, if any
/// `backend`      the backend that saved the model; empty: the one inside `config`, if any
imported_model import_keras(std::string_view config, std::string const& origin, keras_options const& how,
                            keras_version given, std::string const* training,
                            keras_weight_source const* weights, std::string_view backend = {});

/// Imports a file of model.save() in the format HDF5.
imported_model import_keras(hdf5_file const& file, keras_options const& how);

}  // namespace cohort::detail
