// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/activation.hpp>
#include <cohort/layer/conv2d.hpp>
#include <cohort/layer/dense.hpp>
#include <cohort/layer/input.hpp>
#include <cohort/layer/join.hpp>
#include <cohort/layer/max_pool.hpp>
#include <cohort/layer/softmax_cross_entropy.hpp>
