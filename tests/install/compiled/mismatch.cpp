// SPDX-License-Identifier: Apache-2.0
#include <cohort/error/exceptions.hpp>

int main() {}
