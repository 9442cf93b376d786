// SPDX-License-Identifier: Apache-2.0
#include <cohort/checkpoint/impl/array_pieces.ipp>
#include <cohort/checkpoint/impl/checkpoint_directory.ipp>
#include <cohort/checkpoint/impl/checkpoint_reader.ipp>
#include <cohort/checkpoint/impl/manifest.ipp>
#include <cohort/checkpoint/impl/matching_layers.ipp>
#include <cohort/checkpoint/impl/model_content.ipp>
#include <cohort/checkpoint/impl/model_file.ipp>
#include <cohort/checkpoint/impl/optimizer_json.ipp>
#include <cohort/checkpoint/impl/process_identity.ipp>
#include <cohort/checkpoint/impl/safetensors.ipp>
#include <cohort/checkpoint/impl/safetensors_writer.ipp>
