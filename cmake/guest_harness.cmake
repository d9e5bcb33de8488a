# The harness: everything in guest_harness/ except main.cpp, plus the generated trace schema.
file(GLOB harness_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/guest_harness/*.cpp ${PROJECT_SOURCE_DIR}/guest_harness/*/*.cpp)
list(FILTER harness_sources EXCLUDE REGEX "guest_harness/main\\.cpp$")
if(TU104SIM_FUZZ)  # nothing of this is in a target's reach, and it is a fifth of all there is to compile
    list(FILTER harness_sources EXCLUDE REGEX
         "guest_harness/((cli|hw|corpus|guest)/|(run|report|timeline|timeline_work|allocation_watch)\\.cpp$)")
endif()
file(GLOB harness_protos CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/guest_harness/trace/*.proto)

add_library(tu104sim_trace_proto STATIC)
target_include_directories(tu104sim_trace_proto SYSTEM PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/proto>)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/proto)
foreach(proto ${harness_protos})
    file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR} ${proto})
    string(REGEX REPLACE "\\.proto$" "" stem ${relative})
    add_custom_command(
        OUTPUT ${PROJECT_BINARY_DIR}/proto/${stem}.pb.cc ${PROJECT_BINARY_DIR}/proto/${stem}.pb.h
        COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR} --cpp_out=${PROJECT_BINARY_DIR}/proto ${relative}
        DEPENDS ${proto} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    target_sources(tu104sim_trace_proto PRIVATE ${PROJECT_BINARY_DIR}/proto/${stem}.pb.cc)
endforeach()
target_link_libraries(tu104sim_trace_proto PUBLIC protobuf::libprotobuf z)
target_compile_options(tu104sim_trace_proto PRIVATE ${tu104sim_flags})

add_library(guest_harness STATIC ${harness_sources})
add_library(tu104sim::guest_harness ALIAS guest_harness)
set_target_properties(guest_harness PROPERTIES OUTPUT_NAME tu104sim_guest_harness)
target_link_libraries(guest_harness PUBLIC rm PRIVATE tu104sim_trace_proto -l:libunicorn.a pthread m PkgConfig::zstd
    nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS} $<BUILD_INTERFACE:CLI11::CLI11>)
# What a trace's header says about the program that made it.
target_compile_definitions(guest_harness PRIVATE TU104SIM_VERSION="${PROJECT_VERSION}"
    TU104SIM_UNICORN_VERSION="${unicorn_VERSION}")
tu104sim_compile_options(guest_harness)
