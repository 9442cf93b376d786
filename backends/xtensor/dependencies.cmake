# SPDX-License-Identifier: Apache-2.0
cohort_dependency(xtensor
  GET "xtensor (libxtensor-dev on Debian and Ubuntu)"
  FIND xtensor CONFIG)
