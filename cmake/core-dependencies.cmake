# SPDX-License-Identifier: Apache-2.0
cohort_dependency(Threads::Threads
  GET "a system with threads"
  FIND Threads)
