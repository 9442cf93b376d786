# SPDX-License-Identifier: Apache-2.0
cohort_dependency(ZLIB::ZLIB
  GET "zlib (zlib1g-dev on Debian and Ubuntu)"
  FIND ZLIB)
