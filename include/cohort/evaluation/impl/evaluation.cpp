// SPDX-License-Identifier: Apache-2.0
#include <cohort/evaluation/impl/binary_counts.ipp>
#include <cohort/evaluation/impl/calibration.ipp>
#include <cohort/evaluation/impl/classification.ipp>
#include <cohort/evaluation/impl/column_labels.ipp>
#include <cohort/evaluation/impl/compensated_sum.ipp>
#include <cohort/evaluation/impl/confusion_matrix.ipp>
#include <cohort/evaluation/impl/merge_ranks.ipp>
#include <cohort/evaluation/impl/optional_mean.ipp>
#include <cohort/evaluation/impl/paired_moments.ipp>
#include <cohort/evaluation/impl/regression.ipp>
#include <cohort/evaluation/impl/report_bytes.ipp>
#include <cohort/evaluation/impl/roc.ipp>
#include <cohort/evaluation/impl/roc_curve.ipp>
#include <cohort/evaluation/impl/scored_columns.ipp>
