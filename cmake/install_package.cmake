# cmake --install: headers, static libraries, the program, and a package for find_package(tu104sim).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS tu104sim RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS sim gpu_model rm guest_harness tu104sim_trace_proto tu104sim_xxhash EXPORT tu104sim_targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(layer sim gpu_model rm guest_harness)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${layer} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tu104sim
            FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
endforeach()
# A recording to begin with; examples/consumer replays it.
install(FILES ${PROJECT_SOURCE_DIR}/seeds/replay/rm_client.trace DESTINATION ${CMAKE_INSTALL_DATADIR}/tu104sim)
install(EXPORT tu104sim_targets NAMESPACE tu104sim:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tu104sim)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tu104simConfig.cmake.in
    ${PROJECT_BINARY_DIR}/tu104simConfig.cmake INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tu104sim
    PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tu104simConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tu104simConfig.cmake ${PROJECT_BINARY_DIR}/tu104simConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tu104sim)
