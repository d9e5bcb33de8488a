#!/usr/bin/env python3
"""tools/determinism compares builds of the present sources only, and says which it leaves out."""
import importlib.machinery
import importlib.util
import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True


def load():
    loader = importlib.machinery.SourceFileLoader("determinism", os.path.join(ROOT, "tools", "determinism"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("determinism", loader))
    loader.exec_module(module)
    return module


def put(root, path, time):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8"):
        pass
    os.utime(full, (time, time))


def main():
    determinism = load()
    with tempfile.TemporaryDirectory() as root:
        put(root, "sim/kernel.h", 100)
        put(root, "gpu_model/regs/mmu.def", 200)
        put(root, "gpu_model/notes.txt", 900)  # nothing is made of it
        put(root, "build/release/tu104sim", 201)
        put(root, "build/clang/tu104sim", 199)
        put(root, "build/asan/tu104sim", 200)
        assert determinism.newest_source(root) == (200, "gpu_model/regs/mmu.def")
        usable, left_out = determinism.usable_builds(root)
        assert list(usable) == ["g++ release", "clang++ asan"], usable
        assert left_out == ["left out: clang++ release, because build/clang/tu104sim is older than gpu_model/regs/mmu.def"], left_out
        names = [row[0] for row in determinism.variants(root, usable)]
        assert names[:2] == ["g++ release", "clang++ asan"] and "locale tr_TR" in names, names
    print("determinism: stale builds are left out by name")


if __name__ == "__main__":
    main()
