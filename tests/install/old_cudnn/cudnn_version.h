// SPDX-License-Identifier: Apache-2.0
// What a cuDNN that is too old says of itself.
#define CUDNN_MAJOR 8
#define CUDNN_MINOR 9
#define CUDNN_PATCHLEVEL 7
