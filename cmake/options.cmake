# Language, warnings and sanitizers: the strictest set that both compilers accept, as errors.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# Floating-point results must not depend on the host: no contraction, no fast math, no -march=native.
# Nobody replaces our functions at load time, so -fPIC need not keep the compiler from inlining them.
set(tu104sim_flags -ffp-contract=off -fno-math-errno -fno-semantic-interposition -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
set(tu104sim_warnings -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Wdouble-promotion
    -Wformat=2 -Wcast-align -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wextra-semi -Wundef -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports overflows, overlaps and uninitialised reads inside std::string and std::variant that do not exist.
    list(APPEND tu104sim_warnings -Wduplicated-cond -Wlogical-op -Wuseless-cast -Wno-stringop-overflow -Wno-stringop-overread
         -Wno-restrict -Wno-array-bounds -Wno-maybe-uninitialized)
    if(TU104SIM_SANITIZE)
        list(APPEND tu104sim_warnings -Wno-null-dereference)
    endif()
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    list(APPEND tu104sim_warnings -Wno-pass-failed)  # a loop that stays scalar under a sanitizer is no fault
endif()
set(tu104sim_link_flags "")
if(TU104SIM_SANITIZE)
    list(APPEND tu104sim_flags -fsanitize=${TU104SIM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
    list(APPEND tu104sim_link_flags -fsanitize=${TU104SIM_SANITIZE})
endif()
# AFL++'s compiler instruments by itself: there the flag is empty.
set(TU104SIM_FUZZ_FLAGS -fsanitize=fuzzer-no-link CACHE STRING "What instruments code for the fuzzing engine")
if(TU104SIM_FUZZ)
    list(APPEND tu104sim_flags ${TU104SIM_FUZZ_FLAGS})
    list(APPEND tu104sim_link_flags ${TU104SIM_FUZZ_FLAGS})
endif()
# One precompiled header of standard headers and fmt for all layers: halves the time of a clean build.
option(TU104SIM_PCH "Precompile standard headers" OFF)
# Several files compiled as one: less than half the time again, for builds that CI makes whole. The release build compiles each
# file alone, so a missing #include is still found.
option(TU104SIM_UNITY "Compile several source files as one" OFF)
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/own_unit.txt tu104sim_own_unit REGEX "^[^#]")
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
    set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

function(tu104sim_compile_options target)
    target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:CXX>:${tu104sim_flags} ${tu104sim_warnings}>)
    target_link_options(${target} PRIVATE ${tu104sim_link_flags})
    if(TU104SIM_UNITY AND NOT target MATCHES "^test_")  # tests have units of their own (tests/units.txt)
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
        foreach(file ${tu104sim_own_unit})
            set_source_files_properties(${PROJECT_SOURCE_DIR}/${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
        endforeach()
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # each file is only ever in one unit
        endif()
    endif()
    if(TU104SIM_PCH)
        if(target STREQUAL "sim")
            target_precompile_headers(sim PRIVATE <fmt/format.h> <algorithm> <array> <deque> <functional> <map> <memory>
                <optional> <set> <span> <string> <string_view> <vector>)
        else()
            target_precompile_headers(${target} REUSE_FROM sim)
            get_target_property(type ${target} TYPE)
            if(type STREQUAL "EXECUTABLE")
                # The shared header was compiled with -fPIC; -fPIE would refuse it.
                set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
                target_compile_options(${target} PRIVATE -fPIC)
            endif()
        endif()
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
        endif()
    endif()
endfunction()
