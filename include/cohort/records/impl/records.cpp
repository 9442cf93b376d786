// SPDX-License-Identifier: Apache-2.0
#include <cohort/records/detail/implementation.hpp>
#include <cohort/records/impl/array_rows.ipp>
#include <cohort/records/impl/block_content.ipp>
#include <cohort/records/impl/caffe_datum.ipp>
#include <cohort/records/impl/caffe_on_spark.ipp>
#include <cohort/records/impl/forward_reader.ipp>
#include <cohort/records/impl/lmdb.ipp>
#include <cohort/records/impl/npy_rows.ipp>
#include <cohort/records/impl/open_files.ipp>
#include <cohort/records/impl/record_dataset.ipp>
#include <cohort/records/impl/record_index.ipp>
#include <cohort/records/impl/record_set.ipp>
#include <cohort/records/impl/record_writer.ipp>
#include <cohort/records/impl/sequence_file.ipp>
#include <cohort/records/impl/table_rows.ipp>
#include <cohort/records/impl/tfrecord.ipp>
#include <cohort/records/impl/webdataset.ipp>

COHORT_IS_IMPLEMENTATION(cohort_records_src_hpp)
