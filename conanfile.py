# SPDX-License-Identifier: Apache-2.0
"""Conan 2 recipe: the headers of the core and of the components that are set to True. docs/install.md has the commands."""
import pathlib
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout

# Packages of ConanCenter. The other components use libraries of the system: ConanCenter has no oneDNN 3.2, and
# mpi, cudnn and nccl must be those of the cluster.
PACKAGES = {
    "image": ["libjpeg-turbo/[>=2.1 <4]", "libpng/[>=1.6 <2]"],
    "tcp": ["openssl/[>=3 <4]"],
    "xtensor": ["xtensor/[>=0.24 <1]"],
    "yaml": ["yaml-cpp/[>=0.7 <1]"],
    "zlib": ["zlib/[>=1.2.11 <2]"],
}
COMPONENTS = sorted([*PACKAGES, "cudnn", "documents", "keras", "mpi", "nccl", "onednn"])


class Cohort(ConanFile):
    name = "cohort"
    license = "Apache-2.0"
    description = "Distributed training of neural networks: a C++20 library"
    topics = ("machine-learning", "neural-networks", "distributed", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {component: [True, False] for component in COMPONENTS}
    default_options = {component: component == "keras" for component in COMPONENTS}
    exports_sources = "CMakeLists.txt", "LICENSE", "include/*", "backends/*", "cmake/*"
    test_package_folder = "cmake/packages/conan"

    def set_version(self):
        text = (pathlib.Path(self.recipe_folder) / "include/cohort/version.hpp").read_text(encoding="utf-8")
        self.version = re.search(r"version = \D*(\d+\.\d+\.\d+)", text).group(1)

    def export(self):
        from conan.tools.files import copy  # set_version of the exported recipe reads the header, too
        copy(self, "include/cohort/version.hpp", self.recipe_folder, self.export_folder)

    def configure(self):
        if self.options.image or self.options.documents:
            self.options.zlib = True

    def requirements(self):
        for component, packages in PACKAGES.items():
            if self.options.get_safe(component):
                for package in packages:
                    self.requires(package, transitive_headers=True, transitive_libs=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for component in COMPONENTS:
            toolchain.cache_variables[f"COHORT_{component.upper()}"] = "ON" if self.options.get_safe(component) else "OFF"
        for part in ("BUILD_TESTS", "BUILD_EXAMPLES", "BUILD_TOOLS", "BUILD_BENCHMARKS", "C", "PYTHON_MODULE"):
            toolchain.cache_variables[f"COHORT_{part}"] = "OFF"
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()

    def package_id(self):
        del self.info.settings.compiler
        del self.info.settings.build_type
        del self.info.settings.arch

    def package_info(self):
        # find_package(cohort) reads the installed package, which has a target of each component.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["share/cmake/cohort"]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
