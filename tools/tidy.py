#!/usr/bin/env python3
"""The style test: include direction, banned names with their replacements, line and file length, head comments, leftovers.

usage: tools/tidy.py [--root DIR]     prints one line per finding, exits 1 when there is any
       tools/tidy.py --headers        also compiles every header alone (needs build/release/compile_commands.json)
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

LAYERS = {  # folder: the folders whose headers it may include
    "sim": {"sim"},
    "gpu_model": {"sim", "gpu_model"},
    "rm": {"sim", "gpu_model", "rm"},
    "guest_harness": {"sim", "gpu_model", "rm", "guest_harness"},
    "fuzz": {"sim", "gpu_model", "rm", "guest_harness", "fuzz", "tests"},
    "tests": {"sim", "gpu_model", "rm", "guest_harness", "tests", "fuzz"},
    "bench": {"sim", "gpu_model", "rm", "guest_harness", "tests", "bench"},
    "tools": {"sim", "gpu_model", "rm", "guest_harness", "tools"},
    "examples": {"sim", "gpu_model", "rm", "guest_harness"},
}
# What rm/ may see of the chip: its public face. Units stay private to gpu_model/.
RM_MAY_INCLUDE = re.compile(
    r"gpu_model/(addresses|chip|firmware_port|pci_surface|gpu|fault_points|method_decode|signed_image)\.h$"
    r"|gpu_model/(regs/.*|engine/classes\.(h|def)|engine/.*_methods\.def|mem/(page_table_format|fault_packet)\.h|time/timing_params\.h"
    r"|intr/intr_vectors\.(h|def)|host/(ramfc|ramuserd|runlist_entry)\.h|host/host_methods\.def)$")
RM_CLIENT_MAY_NOT = re.compile(r"gpu_model/gpu\.h|rm/gsp")
LIBRARIES = {  # third-party include: the only places that may use it
    r"boost/": r"^sim/fiber\.cpp$",
    r"unicorn/": r"^guest_harness/guest/unicorn_cpu\.cpp$",
    r"CLI/": r"^guest_harness/cli/program\.cpp$",
    r"google/protobuf|\.pb\.h": r"^(guest_harness/trace/.*|tests/.*|fuzz/.*)$",
    r"zstd\.h": r"^(guest_harness/(trace|conform|corpus)/.*|tests/.*|fuzz/.*)$",
    r"nlohmann/": r"^(guest_harness/.*|tests/.*|tools/.*|bench/.*)$",
    r"systemc": r"^bench/.*$",
}
MACHINE = ("sim/", "gpu_model/", "rm/")
BANS = [  # pattern, where, replacement
    (r"std::chrono::(system|steady|high_resolution)_clock", MACHINE, "sim::Kernel::now()"),
    (r"\b(gettimeofday|clock_gettime|time\(nullptr\)|time\(NULL\))", MACHINE, "sim::Kernel::now()"),
    (r"\brandom_device\b|\bmt19937|\brand\(\)", MACHINE, "sim::RandomStream"),
    (r"\bunordered_(map|set|multimap|multiset)\b", MACHINE, "std::map, or a sorted vector"),
    (r"\bstd::hash\b", MACHINE, "sim::digest_bytes"),
    (r"\bstd::(thread|jthread|async|mutex)\b", MACHINE, "sim::Fibers"),
    (r"std::(map|set)<[^<>,]*\*\s*[,>]", MACHINE, "a key that is not an address"),
    (r"%p\b|fmt::ptr", MACHINE, "an index or a name"),
    (r"\bgetenv\b", MACHINE, "an option passed from main()"),
    (r"\bstd::locale\b|\bsetlocale\b", MACHINE, "fmt"),
    (r"#include <format>|std::format\b|std::views\b", ("",), "fmt, or a loop"),
]
LEFTOVERS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
SOURCE = (".h", ".cpp", ".c", ".def", ".py", ".cu")
TABLE = (".def", ".tsv", ".txt", ".json", ".jsonl")
MAX_COLUMNS = 140   # source text; rows of tables may run on
MAX_LINES = 800


def files(root):
    for folder in (*LAYERS, "cmake"):
        for base, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = sorted(f for f in folders if f not in ("data", "__pycache__", "build"))
            for name in sorted(names):
                yield os.path.relpath(os.path.join(base, name), root)


def check_include(path, target, findings, where):
    top = path.split("/")[0]
    allowed = LAYERS.get(top)
    target_top = target.split("/")[0]
    if allowed is not None and target_top in LAYERS:
        if target_top not in allowed:
            findings.append(f"{where}: {top}/ may not include {target}")
        elif top == "rm" and target_top == "gpu_model" and not RM_MAY_INCLUDE.match(target):
            findings.append(f"{where}: rm/ sees only the chip's public face, not {target}")
        elif path.startswith("rm/client") and RM_CLIENT_MAY_NOT.search(target):
            findings.append(f"{where}: rm/client sees the chip only through the pci surface, not {target}")
    for pattern, places in LIBRARIES.items():
        if re.search(pattern, target) and not re.match(places, path):
            findings.append(f"{where}: {target} belongs to {places.strip('^$')}")


def check_file(root, path, findings):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        lines = file.read().split("\n")
    table = path.endswith(TABLE)
    if len(lines) > MAX_LINES and not table:
        findings.append(f"{path}: {len(lines)} lines; split by idea (limit {MAX_LINES})")
    if path.endswith(".h") and not any(line.startswith("#pragma once") for line in lines[:30]):
        findings.append(f"{path}: a header needs #pragma once")
    if path.endswith((".h", ".cpp", ".c", ".def")) and not lines[0].startswith(("//", "/*")):
        findings.append(f"{path}:1: begin with a comment that says what the file is")
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        include = re.match(r'\s*#\s*include\s*["<]([^">]+)[">]', line)
        if include:
            check_include(path, include.group(1), findings, where)
        if not table and len(line) > MAX_COLUMNS:
            findings.append(f"{where}: {len(line)} columns (limit {MAX_COLUMNS})")
        if "\t" in line and not table:
            findings.append(f"{where}: tab")
        if line != line.rstrip() and not table:
            findings.append(f"{where}: trailing space")
        if LEFTOVERS.search(line) and not path.startswith(("tools/tidy.py", "tests/meta/")):
            findings.append(f"{where}: finish it, or report it as unmodelled by name")
        code = re.sub(r"//.*", "", line)
        for pattern, places, replacement in BANS:
            if path.startswith(places) and not path.startswith(("tools/", "tests/meta/")) and re.search(pattern, code):
                findings.append(f"{where}: banned {re.search(pattern, code).group(0)!r}; use {replacement}")


def check_headers(root, findings):
    """Every header compiles alone."""
    flags = ["g++", "-std=c++20", "-fsyntax-only", "-I", root, "-I", os.path.join(root, "build/release/proto"), "-x", "c++"]
    headers = [p for p in files(root) if p.endswith(".h") and p.startswith((*MACHINE, "guest_harness/"))
               and not p.startswith("guest_harness/guests/")]

    def one(path):
        done = subprocess.run([*flags, path], cwd=root, capture_output=True, text=True)
        return path, done

    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for path, done in pool.map(one, headers):
            if done.returncode:
                findings.append(f"{path}: does not compile alone: {done.stderr.splitlines()[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--headers", action="store_true")
    options = parser.parse_args()
    findings = []
    count = 0
    for path in files(options.root):
        if path.endswith(SOURCE):
            count += 1
            check_file(options.root, path, findings)
    if options.headers:
        check_headers(options.root, findings)
    for finding in findings:
        print(finding)
    print(f"tidy: {count} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
