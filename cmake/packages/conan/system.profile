# The packages of Debian instead of ConanCenter's:
#   conan create . -pr:a default -pr:a cmake/packages/conan/system.profile
[platform_requires]
libjpeg-turbo/2.1.5
libpng/1.6.39
openssl/3.0.0
xtensor/0.24.3
yaml-cpp/0.7.0
zlib/1.2.13

[conf]
tools.cmake.cmaketoolchain:generator=Ninja
