# SPDX-License-Identifier: Apache-2.0
cohort_dependency(TurboJPEG::TurboJPEG
  GET "libjpeg-turbo's TurboJPEG (libturbojpeg0-dev on Debian and Ubuntu)"
  FIND TurboJPEG MODULE)
cohort_dependency(PNG::PNG
  GET "libpng 1.6 or newer (libpng-dev on Debian and Ubuntu)"
  FIND PNG 1.6)
# Optional: without these libraries, TIFF or WebP files are refused.
cohort_dependency(TIFF::TIFF DEFINES COHORT_IMAGE_TIFF
  GET "libtiff 4.5 or newer (libtiff-dev on Debian and Ubuntu)"
  FIND TIFF 4.5)
cohort_dependency(WebP::webp DEFINES COHORT_IMAGE_WEBP
  GET "libwebp (libwebp-dev on Debian and Ubuntu)"
  FIND WebP MODULE)
