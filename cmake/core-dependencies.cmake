# SPDX-License-Identifier: Apache-2.0
cohort_dependency(Threads::Threads
  GET "a system with threads"
  FIND Threads)
cohort_dependency(Random123::Random123
  GET "Random123's headers (librandom123-dev on Debian and Ubuntu, or their install prefix in CMAKE_PREFIX_PATH)"
  FIND Random123)
