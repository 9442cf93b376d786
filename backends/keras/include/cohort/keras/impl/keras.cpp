// SPDX-License-Identifier: Apache-2.0
#include <cohort/keras/detail/implementation.hpp>
#include <cohort/keras/impl/hdf5_file.ipp>
#include <cohort/keras/impl/hdf5_rows.ipp>
#include <cohort/keras/impl/keras.ipp>
#include <cohort/keras/impl/keras_attention.ipp>
#include <cohort/keras/impl/keras_fields.ipp>
#include <cohort/keras/impl/keras_layers.ipp>
#include <cohort/keras/impl/keras_models.ipp>
#include <cohort/keras/impl/keras_recurrent.ipp>
#include <cohort/keras/impl/keras_shapes.ipp>
#include <cohort/keras/impl/keras_training.ipp>
#include <cohort/keras/impl/stored_zip.ipp>

COHORT_IS_IMPLEMENTATION(cohort_keras_src_hpp)
