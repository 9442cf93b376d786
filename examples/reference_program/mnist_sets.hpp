// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/error/exceptions.hpp>
#include <cohort/mnist.hpp>
#include <cohort/records/caffe_datum.hpp>
#include <cohort/records/lmdb.hpp>
#include <cohort/records/record_dataset.hpp>
#include <cstdint>
#include <string>
#include "folders.hpp"
#include "program.hpp"

namespace reference_program {

constexpr char const* mnist_help =
    "folder with MNIST's four files, plain or .gz, or with Caffe's databases mnist_train_lmdb and "
    "mnist_test_lmdb; default: $COHORT_DATA, data/ or the cache, otherwise synthetic digits";

/// The digits in a database in Caffe's format: Datums of 1x28x28 bytes.
inline cohort::dataset caffe_digits(std::string const& folder) {
  cohort::record_set const records({cohort::lmdb_file(folder)}, cohort::lmdb());
  cohort::data_description const described{.inputs = {{.name = "input",
                                                       .example = {1, 28, 28},
                                                       .stored = cohort::element_type::u8,
                                                       .type = cohort::element_type::f32,
                                                       .scale = 1 / 255.0}},
                                           .targets = {{.name = "label",
                                                        .stored = cohort::element_type::i32,
                                                        .type = cohort::element_type::i32,
                                                        .classes = 10}}};
  return cohort::decoded_records(
      records, described, [](cohort::record_view& record, cohort::example_view& out) {
        auto const datum = cohort::caffe_datum::parse(record.bytes(0), record.where());
        if (datum.encoded || datum.data.size() != 28 * 28 || datum.extents() != cohort::shape(1, 28, 28)
            || datum.label < 0 || datum.label > 9)
          throw cohort::data_error({.what = "a Datum is not a digit of MNIST",
                                    .where = record.where(),
                                    .expected = "1x28x28 bytes and a label from 0 to 9",
                                    .got = {to_string(datum.extents()), ", label ", datum.label}});
        out.point(0, datum.data.data());
        *out.fill<std::int32_t>(1) = datum.label;
      });
}

inline sets mnist_sets(options const& chosen) {
  for (std::string const& folder : folders_of("mnist", chosen.data))
    if (is_folder(folder + "/mnist_train_lmdb"))
      return {.train = caffe_digits(folder + "/mnist_train_lmdb"),
              .test = caffe_digits(folder + "/mnist_test_lmdb"),
              .where = folder + "/mnist_train_lmdb"};
  auto found = cohort::mnist::real_or_synthetic(chosen.data);
  sets made{.train = std::move(found.train), .test = std::move(found.test), .where = found.where};
  if (found.synthetic) {
    made.kind = "synthetic";
    made.notice = "MNIST was not found: these digits are synthetic; the accuracy is not that of MNIST.";
  }
  return made;
}

}  // namespace reference_program
