// SPDX-License-Identifier: Apache-2.0
#include <cohort/caffe/detail/implementation.hpp>
#include <cohort/caffe/impl/caffe_fillers.ipp>
#include <cohort/caffe/impl/caffe_importer.ipp>
#include <cohort/caffe/impl/caffe_layers.ipp>
#include <cohort/caffe/impl/caffe_losses.ipp>
#include <cohort/caffe/impl/caffe_model.ipp>
#include <cohort/caffe/impl/caffe_network.ipp>
#include <cohort/caffe/impl/caffe_parameters.ipp>
#include <cohort/caffe/impl/caffe_recurrent.ipp>
#include <cohort/caffe/impl/caffe_shapes.ipp>
#include <cohort/caffe/impl/caffe_solver.ipp>
#include <cohort/caffe/impl/caffe_transform.ipp>
#include <cohort/caffe/impl/caffe_weights.ipp>
#include <cohort/caffe/impl/import_caffe.ipp>
#include <cohort/caffe/impl/prototxt.ipp>

COHORT_IS_IMPLEMENTATION(cohort_caffe_src_hpp)
