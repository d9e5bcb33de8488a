// libunicorn loses some kilobytes with each engine, and an engine whose translator gave up is abandoned on purpose.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libunicorn\n"; }
