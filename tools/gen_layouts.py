#!/usr/bin/env python3
"""Writes rm/layout_deltas.def: where the structs of rm/abi/layout.def differ between driver versions. Needs a clone of NVIDIA's
open-gpu-kernel-modules with its tags, and clang, which prints the layout of every struct of each tag's headers.

usage: tools/gen_layouts.py CLONE
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TAGS = ["570.144", "565.77", "560.35.03", "550.144.03", "535.183.01", "580.95.05"]
PARENT = {"565.77": "570.144", "560.35.03": "565.77", "550.144.03": "560.35.03", "535.183.01": "550.144.03", "580.95.05": "570.144"}
FOLDERS = ["src/common/sdk/nvidia/inc", "src/common/inc", "src/nvidia/inc", "src/nvidia/generated"]
SKIP = re.compile(r"finn|0073|5070|c37|c57|c67|c77|c97|ca7")  # display, and a generator's own header
BASE = {"NvU8": 1, "NvU16": 2, "NvU32": 4, "NvU64": 8, "NvS8": 1, "NvS16": 2, "NvS32": 4, "NvS64": 8, "NvBool": 1, "NvHandle": 4,
        "NvP64": 8, "NvV32": 4, "NvV16": 2, "NvV8": 1, "NV_STATUS": 4, "char": 1, "NvLength": 8, "NvProcessorUuid": 16,
        "NV_DECLARE_ALIGNED": 8}


def dump_layouts(clone, tag, scratch):
    folder = os.path.join(scratch, tag)
    os.makedirs(folder)
    archive = subprocess.run(["git", "-C", clone, "archive", tag, *FOLDERS], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    sdk = os.path.join(folder, FOLDERS[0])
    headers = []
    for top in ("ctrl", "class", "alloc"):
        for path, _, names in os.walk(os.path.join(sdk, top)):
            headers += [os.path.relpath(os.path.join(path, n), sdk) for n in names if n.endswith(".h")]
    source = os.path.join(folder, "all.c")
    with open(source, "w", encoding="utf-8") as file:
        for header in ["nvtypes.h", "nvstatus.h", "nvos.h"] + sorted(h for h in headers if not SKIP.search(h)):
            file.write(f'#include "{header}"\n')
    command = ["clang", "-fsyntax-only", "-w", "-D__unix", "-D__linux__", "-Xclang", "-fdump-record-layouts-complete", source]
    command += [f"-I{os.path.join(folder, f)}" for f in FOLDERS + ["src/nvidia/inc/kernel"]]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def parse(text):
    """name -> (bytes, [(depth, offset, type, member)])"""
    records = {}
    for block in text.split("*** Dumping AST Record Layout\n")[1:]:
        lines = block.splitlines()
        head = re.match(r"\s*0 \| (?:struct|union) (\w+)$", lines[0])
        size = re.search(r"\[sizeof=(\d+)", block)
        if not head or not size:
            continue
        members = []
        for line in lines[1:]:
            found = re.match(r"\s*(\d+) \| ( +)(.*) (\w+)$", line)
            if found:
                members.append((len(found[2]) // 2 - 1, int(found[1]), found[3], found[4]))
        records[head[1]] = (int(size[1]), members)
    return records


def size_of(records, kind):
    dims = re.findall(r"\[(\d+)\]", kind)
    bare = re.sub(r"\[\d+\]", "", kind).strip()
    bare = re.sub(r"^(struct|union) ", "", bare)
    one = BASE.get(bare) or (records[bare][0] if bare in records else 8 if bare.endswith("*") else None)
    for dim in dims:
        one = one * int(dim) if one is not None else None
    return one


def fields(records, name):
    """member path -> (offset, bytes); unnamed groups are dotted, members of named structs are their own struct's business."""
    out = {}
    if name not in records:
        return out
    path, named_depth = [], None
    size, members = records[name]
    for index, (depth, offset, kind, member) in enumerate(members):
        if named_depth is not None and depth > named_depth:
            continue
        named_depth = None
        path = path[:depth] + [member]
        unnamed = "(unnamed" in kind or "(anonymous" in kind
        if unnamed and not kind.endswith("]"):
            continue
        if unnamed:
            named_depth = depth
        if unnamed or size_of(records, kind) is None:  # up to the next member; these types leave no gap
            following = [m[1] for m in members[index + 1:] if m[0] <= depth]
            out[".".join(path)] = (offset, (following[0] if following else size) - offset)
            continue
        if re.sub(r"\[\d+\]|^(struct|union) ", "", kind).strip() in records:
            named_depth = depth
        out[".".join(path)] = (offset, size_of(records, kind))
    return out


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    known, mine = set(), {}
    with open(os.path.join(ROOT, "rm/version_deltas.def"), encoding="utf-8") as file:
        known = set(re.findall(r"^STRUCT_BYTES\(\w+, (\w+),", file.read(), re.M))
    with open(os.path.join(ROOT, "rm/abi/layout.def"), encoding="utf-8") as file:
        for name, member in re.findall(r"^FIELD\((\w+), ([\w.]+),", file.read(), re.M):
            mine.setdefault(name, []).append(member)
    layouts = {}
    with tempfile.TemporaryDirectory() as scratch:
        for tag in TAGS:
            records = parse(dump_layouts(sys.argv[1], tag, scratch))
            layouts[tag] = {n: (records[n][0], fields(records, n)) if n in records else (0, {}) for n in mine}
    lines = ["// Structs of rm/abi/layout.def whose layout differs between driver versions and that rm/version_deltas.def does not list.",
             "// The root, 570.144, is layout.def itself. Rows as there.",
             "// Source: NVIDIA/open-gpu-kernel-modules, headers per tag (tools/gen_layouts.py)."]
    for tag, parent in PARENT.items():
        node = "v" + tag.replace(".", "_")
        for name in sorted(mine):
            if name in known or layouts["570.144"][name][0] == 0:
                continue
            (size, places), (old_size, old_places) = layouts[tag][name], layouts[parent][name]
            if (size, places) == (old_size, old_places):
                continue
            lines.append(f"STRUCT_BYTES({node}, {name}, {size})")
            for member, place in places.items():
                if old_places.get(member) != place:
                    lines.append(f'FIELD_AT({node}, {name}, "{member}", {place[0]}, {place[1]})')
            for member in old_places:
                if member not in places:
                    lines.append(f'FIELD_GONE({node}, {name}, "{member}")')
    with open(os.path.join(ROOT, "rm/layout_deltas.def"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print(f"gen_layouts: {len(lines)} lines")


if __name__ == "__main__":
    main()
