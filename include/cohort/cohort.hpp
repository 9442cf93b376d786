// SPDX-License-Identifier: Apache-2.0
#pragma once
// Includes everything that a program needs to define, train, evaluate, save and load networks, except a
// backend and components. Add <cohort/onednn.hpp> or <cohort/cudnn.hpp>, and as needed <cohort/mpi.hpp>,
// <cohort/mnist.hpp> and <cohort/image.hpp>.
//
// Optional features have separate headers. Those in monitoring, text, transform and interchange belong to
// components:
//   <cohort/training/training_loop.hpp>, <cohort/training/find_learning_rate.hpp>
//                                      a user-written training loop; a learning rate range test
//   <cohort/plan/parameter_store.hpp>, <cohort/plan/gradient_check.hpp>
//                                      plans and parameters below the trainer
//   <cohort/strategy/threshold_sharing.hpp>, <cohort/strategy/top_k_sharing.hpp>,
//   <cohort/strategy/sharing_by.hpp>   gradient sharing, also with a user-defined compressor
//   <cohort/strategy/scaling_estimate.hpp>, <cohort/monitoring/forecast.hpp>
//                                      forecasts for other numbers of ranks
//   <cohort/backend/reference.hpp>     the slow backend that tests compare with
//   <cohort/layer/recurrent.hpp>       simple_rnn, lstm, gru
//   <cohort/graph/with_state.hpp>, <cohort/prediction/stateful_predictions.hpp>,
//   <cohort/data/continued_crops.hpp>  states of recurrent layers: between layers, in prediction, in training
//   <cohort/layer/attention.hpp>, <cohort/layer/positions.hpp>, <cohort/layer/rms_norm.hpp>
//                                      layers of transformers
//   <cohort/data/sequences.hpp>        series of different lengths, with masks
//   <cohort/transform/fitted_pipeline.hpp>, <cohort/transform/keyed_sequences.hpp>
//                                      rows with a schema, prepared by steps; sequences of keyed rows
//   <cohort/text/tokenizer.hpp>, <cohort/text/token_crops.hpp>, <cohort/text/generate_tokens.hpp>
//                                      tokens of texts, and texts that a network generates
//   <cohort/data/digits.hpp>, <cohort/data/weighted_by_class.hpp>   synthetic digits, class weights
//   <cohort/interchange/write_predictions.hpp>, <cohort/data/with_keys.hpp>
//                                      writes predictions to files, on all ranks; keys of examples
//   <cohort/data/mix.hpp>              several data sets in proportion to weights
//   <cohort/training/own_backend.hpp>   a user-defined tensor backend
//   <cohort/training/tune.hpp>          selection of kernels by timing
//   <cohort/prediction/dynamic_batcher.hpp>   batching of predictions
//   <cohort/monitoring/chrome_trace.hpp>, <cohort/monitoring/timeline.hpp>
//                                      traces of kernels and of steps
//   <cohort/monitoring/tensorboard_listener.hpp>, <cohort/monitoring/html_report_listener.hpp>
//                                      event files for TensorBoard; a report of a run as a web page
#include <cohort/backend/priority.hpp>
#include <cohort/checkpoint/matching_layers.hpp>
#include <cohort/checkpoint/model_file.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/data/cache.hpp>
#include <cohort/data/concat.hpp>
#include <cohort/data/fit_normalisation.hpp>
#include <cohort/data/idx.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/data/mapped.hpp>
#include <cohort/data/read_table.hpp>
#include <cohort/data/select.hpp>
#include <cohort/data/split.hpp>
#include <cohort/data/table_encoder.hpp>
#include <cohort/data/windows.hpp>
#include <cohort/evaluation/calibration.hpp>
#include <cohort/evaluation/classification.hpp>
#include <cohort/evaluation/regression.hpp>
#include <cohort/evaluation/roc.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/plan/plan_text.hpp>
#include <cohort/prediction/features.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/merge_statistics.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/training/checkpoint_listener.hpp>
#include <cohort/training/checkpoints.hpp>
#include <cohort/training/early_stopping_listener.hpp>
#include <cohort/training/evaluation_listener.hpp>
#include <cohort/training/load.hpp>
#include <cohort/training/metric.hpp>
#include <cohort/training/performance_listener.hpp>
#include <cohort/training/progress_listener.hpp>
#include <cohort/training/score_listener.hpp>
#include <cohort/training/stop_on_signal.hpp>
#include <cohort/training/trainer.hpp>
#include <cohort/version.hpp>
