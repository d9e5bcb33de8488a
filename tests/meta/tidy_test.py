"""tools/tidy.py must find each planted offence, and nothing in a clean file."""
import os
import subprocess
import sys
import tempfile

TIDY = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tools", "tidy.py")
HEAD = "// What this file is.\n"
CASES = [  # file, content, what the finding must say ("" = no finding)
    ("sim/clean.h", HEAD + "#pragma once\n#include <vector>\n", ""),
    ("sim/a.cpp", HEAD + '#include "gpu_model/gpu.h"\n', "sim/ may not include gpu_model/gpu.h"),
    ("sim/b.cpp", HEAD + '#include "rm/gsp.h"\n', "sim/ may not include"),
    ("sim/c.cpp", HEAD + '#include "guest_harness/machine.h"\n', "sim/ may not include"),
    ("gpu_model/a.cpp", HEAD + '#include "rm/gsp.h"\n', "gpu_model/ may not include"),
    ("gpu_model/b.cpp", HEAD + '#include "guest_harness/machine.h"\n', "gpu_model/ may not include"),
    ("rm/a.cpp", HEAD + '#include "guest_harness/machine.h"\n', "rm/ may not include"),
    ("rm/b.cpp", HEAD + '#include "gpu_model/mem/mmu.h"\n', "public face"),
    ("rm/gsp/c.cpp", HEAD + '#include "gpu_model/chip.h"\n', ""),
    ("rm/client/a.cpp", HEAD + '#include "rm/gsp.h"\n', "only through the pci surface"),
    ("guest_harness/a.cpp", HEAD + '#include "tests/support/x.h"\n', "guest_harness/ may not include"),
    ("guest_harness/b.cpp", HEAD + "#include <unicorn/unicorn.h>\n", "belongs to"),
    ("guest_harness/guest/unicorn_cpu.cpp", HEAD + "#include <unicorn/unicorn.h>\n", ""),
    ("sim/d.cpp", HEAD + "#include <boost/context/fiber.hpp>\n", "belongs to"),
    ("sim/e.cpp", HEAD + "std::unordered_map<int, int> m;\n", "banned"),
    ("sim/f.cpp", HEAD + "auto t = std::chrono::steady_clock::now();\n", "banned"),
    ("gpu_model/c.cpp", HEAD + "std::map<Engine*, int> m;\n", "banned"),
    ("rm/d.cpp", HEAD + "std::random_device d;\n", "banned"),
    ("rm/e.cpp", HEAD + "// std::random_device is not used here\n", ""),
    ("sim/g.h", HEAD + "int x;\n", "#pragma once"),
    ("sim/h.cpp", "int x;\n", "begin with a comment"),
    ("sim/i.cpp", HEAD + "// " + "x" * 200 + "\n", "columns"),
    ("sim/j.cpp", HEAD + "int x;\n" * 900, "lines; split"),
    ("sim/k.cpp", HEAD + "// TO" + "DO later\n", "finish it"),
    ("sim/l.cpp", HEAD + "\tint x;\n", "tab"),
]


def main():
    failed = 0
    for path, content, expected in CASES:
        with tempfile.TemporaryDirectory() as root:
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full))
            with open(full, "w", encoding="utf-8") as file:
                file.write(content)
            done = subprocess.run([sys.executable, TIDY, "--root", root], capture_output=True, text=True)
            found = [line for line in done.stdout.splitlines() if not line.startswith("tidy:")]
            good = (not found and done.returncode == 0) if not expected else \
                (done.returncode == 1 and any(expected in line for line in found))
            if not good:
                failed += 1
                print(f"{path}: expected {expected!r}, found {found}, exit {done.returncode}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
