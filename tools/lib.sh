# Shared by the tools: find the root, set up when something is missing, build a preset.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
export LC_ALL=C.UTF-8

say() { printf '\n== %s\n' "$*"; }

ensure_setup() {
    tools/setup --check 2>/dev/null || tools/setup
}

# build PRESET [TARGET...]: configures when needed and builds. CI builds once and throws away: several files as one.
build() {
    local preset=$1
    shift
    local targets=()
    for target in "$@"; do targets+=(--target "$target"); done
    if [ ! -f "build/$preset/build.ninja" ]; then
        cmake --preset "$preset" ${CI:+-DTU104SIM_UNITY=ON} >"build-$preset.log" 2>&1 || { cat "build-$preset.log"; rm -f "build-$preset.log"; return 1; }
        rm -f "build-$preset.log"
    fi
    local log
    log=$(mktemp)
    if ! cmake --build --preset "$preset" "${targets[@]}" >"$log" 2>&1; then
        tail -60 "$log"
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}
