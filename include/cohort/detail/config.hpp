// SPDX-License-Identifier: Apache-2.0
#pragma once
// Macros that declare the functions of implementation files (impl/*.ipp). In header-only mode, every header
// includes its implementation file, and the functions are inline. A component's compiled target defines
// COHORT_<COMPONENT>_COMPILED for itself and its users. Headers then contain declarations only, and the
// target's library contains the definitions.

#ifdef COHORT_CORE_COMPILED
#define COHORT_CORE_INLINE
#else
#define COHORT_CORE_INLINE inline
#endif

#ifdef COHORT_CUDNN_COMPILED
#define COHORT_CUDNN_INLINE
#else
#define COHORT_CUDNN_INLINE inline
#endif

#ifdef COHORT_IMAGE_COMPILED
#define COHORT_IMAGE_INLINE
#else
#define COHORT_IMAGE_INLINE inline
#endif

#ifdef COHORT_KERAS_COMPILED
#define COHORT_KERAS_INLINE
#else
#define COHORT_KERAS_INLINE inline
#endif

#ifdef COHORT_MPI_COMPILED
#define COHORT_MPI_INLINE
#else
#define COHORT_MPI_INLINE inline
#endif

#ifdef COHORT_NCCL_COMPILED
#define COHORT_NCCL_INLINE
#else
#define COHORT_NCCL_INLINE inline
#endif

#ifdef COHORT_ONEDNN_COMPILED
#define COHORT_ONEDNN_INLINE
#else
#define COHORT_ONEDNN_INLINE inline
#endif

#ifdef COHORT_TCP_COMPILED
#define COHORT_TCP_INLINE
#else
#define COHORT_TCP_INLINE inline
#endif

#ifdef COHORT_YAML_COMPILED
#define COHORT_YAML_INLINE
#else
#define COHORT_YAML_INLINE inline
#endif

#ifdef COHORT_ZLIB_COMPILED
#define COHORT_ZLIB_INLINE
#else
#define COHORT_ZLIB_INLINE inline
#endif
