// SPDX-License-Identifier: Apache-2.0
#pragma once
// The implementation of the library without its components. A program that is built without CMake includes
// this file in one of its sources. To compile the sources in parallel instead, compile the files that
// `pkg-config --variable=sources` prints (docs/install.md).
#include <cohort/backend/impl/backend.cpp>
#include <cohort/backend/impl/reference_kernels.cpp>
#include <cohort/checkpoint/impl/checkpoint.cpp>
#include <cohort/codec/impl/codec.cpp>
#include <cohort/communicator/impl/communicator.cpp>
#include <cohort/data/impl/data.cpp>
#include <cohort/detail/impl/detail.cpp>
#include <cohort/error/impl/error.cpp>
#include <cohort/evaluation/impl/evaluation.cpp>
#include <cohort/execution/impl/execution.cpp>
#include <cohort/graph/impl/graph.cpp>
#include <cohort/io/impl/io.cpp>
#include <cohort/layer/impl/host_kernels.cpp>
#include <cohort/layer/impl/layer.cpp>
#include <cohort/optimizer/impl/optimizer.cpp>
#include <cohort/plan/impl/plan.cpp>
#include <cohort/prediction/impl/prediction.cpp>
#include <cohort/strategy/impl/strategy.cpp>
#include <cohort/tensor/impl/tensor.cpp>
#include <cohort/training/impl/reference_plans.cpp>
#include <cohort/training/impl/training.cpp>
