# Everything comes from Debian 12's own packages (tools/setup installs them).
find_package(fmt REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS context)
# Unicorn and protobuf are linked statically: their 70,000 relocations would take most of a replay's time.
# The mutator of fuzzing builds is a shared library, which Debian's static protobuf cannot be part of.
if(NOT TU104SIM_FUZZ)
    set(Protobuf_USE_STATIC_LIBS ON)
endif()
find_package(Protobuf REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(unicorn REQUIRED unicorn)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)

# xxHash is used as a header (XXH_INLINE_ALL), so there is nothing to link.
add_library(tu104sim_xxhash INTERFACE)
