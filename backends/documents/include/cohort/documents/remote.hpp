// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/configuration/run_document.hpp>
#include <cohort/documents/detail/implementation.hpp>

namespace cohort::documents {

/// Copies the remote files that a document reads to this host, as io::fetch does, and returns the document
/// with the paths of the copies. Paths with a scheme, such as s3://bucket/rows.csv, are remote. Without
/// remote.command, the schemes hdfs, s3, gs, http and https have the commands `hdfs dfs`, `aws s3`,
/// `gcloud storage` and `curl`.
///
/// Order     processes of a host may share the folder: one of them copies a file while the others wait.
/// Errors    usage_error for a scheme without a command; those of io::fetch.
run_document with_local_files(run_document run);

}  // namespace cohort::documents
