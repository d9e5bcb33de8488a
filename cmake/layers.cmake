# tu104sim_layer(NAME DEPENDS ...): the static library of one top-level folder, with the repository root as include path.
function(tu104sim_layer name)
    cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cpp)
    add_library(${name} STATIC ${sources})
    add_library(tu104sim::${name} ALIAS ${name})
    set_target_properties(${name} PROPERTIES OUTPUT_NAME tu104sim_${name})
    target_compile_features(${name} PUBLIC cxx_std_20)
    target_include_directories(${name} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/tu104sim>)
    target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
    tu104sim_compile_options(${name})
endfunction()
