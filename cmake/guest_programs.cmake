# Guest programs: static x86-64 ELF files without libc. Always built by gcc with fixed flags, whatever builds the simulator, so that
# every preset runs the same guest bytes.
find_program(GUEST_CC NAMES gcc x86_64-linux-gnu-gcc REQUIRED)
set(guest_flags -std=c17 -O2 -static -nostdlib -ffreestanding -fno-stack-protector -fno-pic -no-pie -mno-red-zone -mno-avx
    -fno-asynchronous-unwind-tables -fcf-protection=none -Wall -Wextra -Werror -Wl,--build-id=none -Wl,-z,noexecstack)
file(GLOB guest_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/guest_harness/guests/*.c)
file(GLOB guest_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/guest_harness/guests/*.h)
set(guest_outputs "")
foreach(source ${guest_sources})
    get_filename_component(stem ${source} NAME_WE)
    set(output ${PROJECT_BINARY_DIR}/guests/${stem})
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/guests
        COMMAND ${GUEST_CC} ${guest_flags} -I. guest_harness/guests/${stem}.c -o ${output}
        DEPENDS ${source} ${guest_headers} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    list(APPEND guest_outputs ${output})
endforeach()
add_custom_target(guests ALL DEPENDS ${guest_outputs})
