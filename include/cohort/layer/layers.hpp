// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cohort/layer/activation.hpp>
#include <cohort/layer/binary_cross_entropy.hpp>
#include <cohort/layer/conv2d.hpp>
#include <cohort/layer/dense.hpp>
#include <cohort/layer/hinge.hpp>
#include <cohort/layer/huber.hpp>
#include <cohort/layer/input.hpp>
#include <cohort/layer/join.hpp>
#include <cohort/layer/kullback_leibler.hpp>
#include <cohort/layer/max_pool.hpp>
#include <cohort/layer/mean_absolute_error.hpp>
#include <cohort/layer/mean_squared_error.hpp>
#include <cohort/layer/softmax_cross_entropy.hpp>
