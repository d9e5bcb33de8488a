#!/bin/bash -eu
# OSS-Fuzz and ClusterFuzzLite build every target with their own variables: CC, CXX, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE, OUT. The same script
# builds here (docs/FUZZING.md). TARGETS: the targets to build, with a blank between; default: every one.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ -f fuzz/targets.def ] || cd "$SRC/tu104sim"
: "${OUT:?is where programs go}" "${LIB_FUZZING_ENGINE:=-fsanitize=fuzzer}"
targets=${TARGETS:-$(sed -n 's/^FUZZ_TARGET(\([a-z0-9_]*\),.*/\1/p' fuzz/targets.def)}
work=${WORK:-build}/oss-fuzz
# The system's libraries were built with libstdc++.
export CXXFLAGS="${CXXFLAGS:-} "
CXXFLAGS=${CXXFLAGS//-stdlib=libc++/}
cmake -S . -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=None -DTU104SIM_TESTS=OFF -DTU104SIM_FUZZ=ON -DTU104SIM_FUZZ_FLAGS= \
    -DTU104SIM_FUZZ_ENGINE="$LIB_FUZZING_ENGINE" -DTU104SIM_UNITY=ON -DCMAKE_EXE_LINKER_FLAGS='-Wl,-rpath,$ORIGIN/lib' \
    -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON
for target in $targets; do
    cmake --build "$work" --target "fuzz_$target"
    cp "$work/fuzz/fuzz_$target" "$OUT/"
    (cd "seeds/$target" && zip -q -r "$OUT/fuzz_${target}_seed_corpus.zip" .)
    printf '[libfuzzer]\nmax_len = 65536\nrss_limit_mb = 2048\n' >"$OUT/fuzz_$target.options"
    mkdir -p "$OUT/lib"
    ldd "$OUT/fuzz_$target" | awk '/libfmt|libboost|libzstd|libprotobuf/ {print $3}' | xargs -r -I{} cp -n {} "$OUT/lib/"
done
