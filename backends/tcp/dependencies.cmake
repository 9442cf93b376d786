# SPDX-License-Identifier: Apache-2.0
cohort_dependency(OpenSSL::SSL
  GET "OpenSSL 3 or newer (libssl-dev on Debian and Ubuntu)"
  FIND OpenSSL 3)
