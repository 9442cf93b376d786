# SPDX-License-Identifier: Apache-2.0
cohort_dependency(TurboJPEG::TurboJPEG
  GET "libjpeg-turbo's TurboJPEG (libturbojpeg0-dev on Debian and Ubuntu)"
  FIND TurboJPEG MODULE)
cohort_dependency(PNG::PNG
  GET "libpng 1.6 or newer (libpng-dev on Debian and Ubuntu)"
  FIND PNG 1.6)
