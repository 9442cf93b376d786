// SPDX-License-Identifier: Apache-2.0
#pragma once
// All that a training program needs but a backend: <cohort/onednn.hpp>, or <cohort/backend/reference.hpp>, the oracle.
// Readers of other components are headers of their own too: <cohort/mnist.hpp>, <cohort/xtensor.hpp>. So is what writes
// and reads models, whose formats cost a second to compile: <cohort/trainer/model_io.hpp> for training::save and load,
// <cohort/trainer/load.hpp> for load_trained, <cohort/trainer/checkpoint_listener.hpp> and stop_on_signal.hpp for runs that
// shall go on where they stopped; <cohort/strategy/threshold_sharing.hpp> and top_k_sharing.hpp, whose messages cost 85 MB to
// compile; <cohort/trainer/dynamic_batcher.hpp> for many callers of one network; <cohort/trainer/tune.hpp> for layers as they are
// fastest on this machine; <cohort/trainer/chrome_trace.hpp> and timeline.hpp, for pictures of what ran.
#include <cohort/backend/priority.hpp>
#include <cohort/communicator/launch.hpp>
#include <cohort/data/arrays.hpp>
#include <cohort/data/csv.hpp>
#include <cohort/data/idx.hpp>
#include <cohort/data/loader.hpp>
#include <cohort/evaluation/classification.hpp>
#include <cohort/graph/network.hpp>
#include <cohort/plan/make_plan.hpp>
#include <cohort/plan/parameter_update.hpp>
#include <cohort/plan/table.hpp>
#include <cohort/strategy/allreduce.hpp>
#include <cohort/strategy/parameter_averaging.hpp>
#include <cohort/trainer/performance_listener.hpp>
#include <cohort/trainer/progress_listener.hpp>
#include <cohort/trainer/score_listener.hpp>
#include <cohort/trainer/trainer.hpp>
#include <cohort/version.hpp>
