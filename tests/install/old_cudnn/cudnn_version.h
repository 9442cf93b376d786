// SPDX-License-Identifier: Apache-2.0
// Version of a cuDNN that is too old.
#define CUDNN_MAJOR 8
#define CUDNN_MINOR 9
#define CUDNN_PATCHLEVEL 7
