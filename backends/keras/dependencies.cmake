# SPDX-License-Identifier: Apache-2.0
# None: the component reads HDF5 files and zip archives itself.
