// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/gru.hpp>
#include <cohort/layer/lstm.hpp>
#include <cohort/layer/simple_rnn.hpp>
