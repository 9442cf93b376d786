# SPDX-License-Identifier: Apache-2.0
"""Builds and runs a program with the package: with onednn examples/embed, otherwise one that uses the core."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class Consumer(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = ("CMakeDeps",)

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self, build_folder=os.path.join("..", "..", "..", "build", "conan"))

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # otherwise it writes CMakeUserPresets.json beside this file
        options = self.dependencies["cohort"].options
        components = [name for name, value in options.items() if value == "True"]
        toolchain.cache_variables["WANTED"] = ";".join(["core", *components])
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            self.run(os.path.join(self.cpp.build.bindir, "consumer"), env="conanrun")
