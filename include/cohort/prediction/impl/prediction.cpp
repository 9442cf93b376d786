// SPDX-License-Identifier: Apache-2.0
#include <cohort/prediction/impl/batched_call.ipp>
#include <cohort/prediction/impl/decoder_passes.ipp>
#include <cohort/prediction/impl/dynamic_batcher.ipp>
#include <cohort/prediction/impl/features.ipp>
#include <cohort/prediction/impl/pending_predictions.ipp>
#include <cohort/prediction/impl/stateful_predictions.ipp>
#include <cohort/prediction/impl/token_decoder.ipp>
