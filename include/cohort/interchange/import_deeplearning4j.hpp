// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/interchange/deeplearning4j_settings.hpp>
#include <cohort/interchange/imported_model.hpp>
#include <cohort/io/inflater.hpp>
#include <cstddef>
#include <span>
#include <string>

namespace cohort {

/// Imports a model of Deeplearning4j, versions 0.9 to 1.0.0-M2, from a zip file of ModelSerializer.
///
///     imported_model const model = import_deeplearning4j("model.zip", gzip::inflate);
///     training run = load_imported<onednn>(model);
///
/// Parameters  `inflate` decompresses the entries: gzip::inflate of the component zlib.
/// Shapes    images are C×H×W, also if the file has channels last. Sequences are T×C.
/// Before    the file may be untrusted.
/// After     a layer that computes the output of a layer or vertex of the file has the same name; the layers
///           of a MultiLayerNetwork without names are "layer0", "layer1", …. `settings` contains the updaters
///           and penalties, `normalisation` the normalizer, and the optimizers' state continues
///           updaterState.bin.
/// Errors    file_error; data_error with layer and reason for a damaged file, or for a layer, option, loss or
///           updater without an exact equivalent: docs/deeplearning4j.md. Nothing is approximated.
/// Source    nn/params, nn/updater and util/ModelSerializer of Deeplearning4j.
imported_model import_deeplearning4j(std::string const& path, io::inflater const& inflate,
                                     deeplearning4j_settings const& settings = {});
/// Imports a file in memory. `origin`: the file's name, for errors.
imported_model import_deeplearning4j(std::span<std::byte const> bytes, std::string const& origin,
                                     io::inflater const& inflate,
                                     deeplearning4j_settings const& settings = {});

}  // namespace cohort
