// What AddressSanitizer does unless ASAN_OPTIONS says otherwise. Freed memory stays forbidden until this much more is freed:
// no input frees as much, so all of its own stays forbidden to its end; with the usual 256 MiB each allocation takes a page
// fault, which halves the speed of most targets. Stacks of allocations are kept this deep; a finding is replayed with more,
// ASAN_OPTIONS=malloc_context_size=30.
extern "C" const char* __asan_default_options();  // NOLINT: the runtime's own name
extern "C" const char* __asan_default_options() {
    return "quarantine_size_mb=8:malloc_context_size=8";
}
