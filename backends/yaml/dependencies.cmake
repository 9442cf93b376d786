# SPDX-License-Identifier: Apache-2.0
cohort_dependency(YamlCpp::YamlCpp
  GET "yaml-cpp 0.7 or newer (libyaml-cpp-dev on Debian and Ubuntu)"
  FIND YamlCpp MODULE)
