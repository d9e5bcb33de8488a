#!/usr/bin/env python3
"""Writes the first fuzz seeds under seeds/TARGET from files of the tree: compiled kernels of the tests, recorded traces, register tables
and driver calls made by `tu104sim conform`. The same tree gives the same bytes. seeds/MANIFEST.tsv says where each came from.

usage: tools/fuzz_seeds.py [--program build/release/tu104sim]
Needs the programs zstd and tu104sim."""
import argparse
import hashlib
import json
import pathlib
import re
import struct
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS = ROOT / "seeds"
KERNELS = "tests/gpu_model/data/sass/corpus_cubins.zst"


def packed_files(path):
    """The files of a pack: each begins with a line "=== NAME SIZE"."""
    data = subprocess.run(["zstd", "-dc", ROOT / path], check=True, capture_output=True).stdout
    files, at = {}, 0
    while at < len(data):
        end = data.index(b"\n", at)
        _, name, size = data[at:end].split()
        files[name.decode()] = data[end + 1:end + 1 + int(size)]
        at = end + 1 + int(size)
    return files


def text_sections(cubin):
    """(name, bytes) of the code sections of an ELF file."""
    header = struct.unpack_from("<QIHHHHHH", cubin, 40)
    shoff, shentsize, shnum, shstrndx = header[0], header[5], header[6], header[7]
    rows = [struct.unpack_from("<IIQQQQ", cubin, shoff + i * shentsize) for i in range(shnum)]
    names = cubin[rows[shstrndx][4]:rows[shstrndx][4] + rows[shstrndx][5]]
    for row in rows:
        name = names[row[0]:names.index(b"\0", row[0])].decode()
        if name.startswith(".text."):
            yield name, cubin[row[4]:row[4] + row[5]]


class Seeds:
    def __init__(self):
        self.rows = []

    def add(self, target, name, data, origin):
        folder = SEEDS / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        self.rows.append((f"{target}/{name}", len(data), hashlib.sha256(data).hexdigest()[:16], origin))

    def write_manifest(self):
        lines = ["# fuzz seeds: file, bytes, first 16 digits of its SHA-256, origin. Written by tools/fuzz_seeds.py."]
        lines += ["\t".join(map(str, row)) for row in sorted(self.rows)]
        (SEEDS / "MANIFEST.tsv").write_text("\n".join(lines) + "\n")


def code_seeds(seeds):
    kernels = packed_files(KERNELS)
    for name in sorted(kernels, key=lambda n: (len(kernels[n]), n))[:3]:
        seeds.add("cubin", name, kernels[name], f"{KERNELS} {name}")
        # One container with one cubin, as read_fatbin expects: header, entry, payload.
        payload = kernels[name] + bytes(-len(kernels[name]) % 8)
        entry = struct.pack("<HHIIIIIQQII", 2, 0x101, 64, len(payload), 0, 0, 0, 0, 0, 0, 0)
        entry = entry.ljust(28, b"\0")[:28] + struct.pack("<I", 75) + bytes(32)
        head = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry) + len(payload))
        seeds.add("fatbin", name, head + entry + payload, f"{KERNELS} {name}, in a container")
    for name in sorted(kernels):
        for section, code in text_sections(kernels[name]):
            middle = len(code) // 32 * 16
            words = code[middle:middle + 128]
            if len(words) == 128 and not name.endswith((".O0", ".O1")):
                safe = re.sub(r"[^A-Za-z0-9_.]", "_", f"{name}{section}")[:60]
                seeds.add("sass_word", safe, words, f"{KERNELS} {name} {section}")
                break


def trace_seeds(seeds, program):
    for name in ("rm_client", "rm_client_rtx2080"):
        path = f"seeds/replay/{name}.trace"
        seeds.add("trace", name, (ROOT / path).read_bytes(), path)
        text = subprocess.run([program, "show", "--text", ROOT / path], check=True, capture_output=True).stdout
        # Enough of it for every kind of event; the closing record no longer fits and goes.
        events = text.split(b"\nevents {")
        seeds.add("trace_text", name, b"\nevents {".join(events[:12]) + b"\n", f"{path}, its first events as text")


def method_words():
    """Pushbuffers: bind copy and compute classes, a linear copy, a fill, host semaphores, every header form."""
    def header(opcode, count, subchannel, method):
        return opcode << 29 | count << 16 | subchannel << 13 | method >> 2
    inc, non, imm, one = 1, 3, 4, 5
    yield "copy", [header(inc, 1, 4, 0), 0xC5B5, header(inc, 8, 4, 0x400), 0, 0x1000, 0, 0x2000, 256, 256, 256, 1,
                   header(inc, 1, 4, 0x300), 0x182]
    yield "fill", [header(inc, 1, 4, 0), 0xC5B5, header(inc, 3, 4, 0x700), 1, 2, 0x30004, header(inc, 1, 4, 0x418), 64,
                   header(imm, 0x182, 4, 0x300)]
    yield "host", [header(inc, 5, 0, 0x5C), 0x4000, 0, 1, 0, 0x1, header(imm, 0, 0, 0x20), header(inc, 4, 0, 0x28), 0, 0, 0, 0]
    yield "compute", [header(inc, 1, 1, 0), 0xC5C0, header(one, 3, 1, 0x180), 1, 2, 3, header(non, 2, 1, 0x1B4), 5, 6,
                      header(inc, 4, 1, 0x1B00), 0, 0x1000, 1, 0x10000000]
    yield "forms", [header(2, 0, 0, 0), header(0, 1, 0, 0x100), 7, header(6, 0, 0, 0), header(7, 3, 2, 0x10), 0xFFFFFFFF]


def gsp_seeds(seeds):
    def element(function, payload, count=1):
        rpc = struct.pack("<8I", 0x03000000, 0x43505256, 32 + len(payload), function, 0, 0, 0, 0)
        body = bytes(32) + struct.pack("<4I", 0, 0, count, 0) + rpc + payload
        return body.ljust(4096 * count, b"\0")
    seeds.add("gsp_status", "one_event", bytes([0, 0] + [0] * 6) + element(0x1001, bytes(64)), "tools/fuzz_seeds.py")
    seeds.add("gsp_status", "two_elements", bytes([0, 1] + [0] * 6) + element(0x1007, bytes(5000), 2)[:8192], "tools/fuzz_seeds.py")
    seeds.add("gsp_status", "raw", bytes([1, 0] + [0] * 6) + element(4, bytes(16)), "tools/fuzz_seeds.py")


def register_seeds(seeds):
    offsets = []
    for path in sorted((ROOT / "gpu_model/regs").glob("*.def")):
        if path.name == "documented.def":
            continue
        records = []
        for match in re.finditer(r"^[A-Z_]+\((NV_\w+),\s*(0x[0-9A-Fa-f]+)", path.read_text(), re.M):
            offset = int(match[2], 16)
            if offset < 1 << 24:
                records += [offset << 8, 0, offset << 8 | 5, 0xFFFFFFFF, offset << 8, 0]
        if records:
            seeds.add("bar0", path.stem, struct.pack(f"<{len(records[:192])}I", *records[:192]), f"{path.relative_to(ROOT)}")
            offsets += records
    words = []
    for offset in (0, 4, 0x10, 0x14, 0x18, 0x1C, 0x3C, 0x60, 0x64, 0x68, 0x6C, 0x78, 0x100):
        words += [offset << 16 | 2 << 4, 0, offset << 16 | 2 << 4 | 2, 0xFFFFFFFF, offset << 16 | 1 << 4, 0]
    seeds.add("pci_config", "walk", struct.pack(f"<{len(words)}I", *words), "tools/fuzz_seeds.py")


def call_seeds(seeds, program):
    """Sequences of `conform`, as they are and as records of the ioctl target."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "calls"
        subprocess.run([program, "conform", "--record", path, "--count", "24", "--driver", "570.144"], check=True, capture_output=True)
        lines = path.read_text().splitlines()
    for number in (1, 7, 19):
        seeds.add("driver_calls", f"seed{number}", (lines[0] + "\n" + lines[number] + "\n").encode(),
                  f"tu104sim conform --record, seed {number}")
    for line in lines[1:]:
        sequence = json.loads(line)
        data = b""
        for step in sequence["steps"]:
            if "req" not in step:
                continue
            argument = bytes.fromhex(step["b"][0][0])
            nested = bytes.fromhex(step["b"][1][0]) if len(step["b"]) > 1 else b""
            nested = nested[:8192]
            data += struct.pack("<BBHI", 5, 0, len(argument), step["req"]) + argument + struct.pack("<H", len(nested)) + nested
        seeds.add("ioctl", f"seed{sequence['seed']}", data[:16384], f"tu104sim conform --record, seed {sequence['seed']}")


def uvm_seeds(seeds):
    """Records of the uvm target; the words are its table's numbers."""
    table = "rm/client/uvm/ioctl_handlers.def"
    rows = re.findall(r"^UVM_HANDLER\((\w+), +(\w+)", (ROOT / table).read_text(), re.M)
    numbers = {name: i for i, (name, _) in enumerate(rows)}
    one, page, chunk, half, all_bytes = 1, 4, 5, 6, 7
    external, external_middle, managed, managed_middle = 8, 11, 13, 15
    control_file, space = 22, 19
    at_0, at_16, at_24 = 1, 4, 8  # places of the UUID

    def record(kind, number=0, file=0, places=0, words=()):
        return bytes([kind, number, file, places, *words]).ljust(16, b"\0")

    def call(name, places=0, words=(), file=0):
        return record(15, numbers["UVM_" + name], file, places, words)
    close, munmap, mmap, free = (lambda *a, k=k, **n: record(k, *a, **n) for k in (0, 2, 3, 4))
    seeds.add("uvm", "external", call("UNMAP_EXTERNAL", at_16, (external, half)) + call("MAP_EXTERNAL_ALLOCATION", 0x80)
              + call("MAP_EXTERNAL_ALLOCATION", 0, (external_middle, half)) + free(1) + free(2)
              + call("UNMAP_EXTERNAL", at_16, (external, chunk)) + call("MAP_EXTERNAL_SPARSE", at_16, (external, half))
              + call("FREE", 0, (external, all_bytes)) + call("CREATE_EXTERNAL_RANGE", 0, (external, all_bytes))
              + call("MAP_EXTERNAL_ALLOCATION") + close(), "tools/fuzz_seeds.py")
    seeds.add("uvm", "managed", call("CREATE_RANGE_GROUP") + call("SET_RANGE_GROUP", 0, (one, managed, half))
              + call("SET_PREFERRED_LOCATION", at_16, (managed, half)) + call("SET_ACCESSED_BY", at_16, (managed_middle, half))
              + call("ENABLE_READ_DUPLICATION", 0, (managed, page)) + call("MIGRATE", at_16, (managed, all_bytes))
              + munmap(words=(managed, page)) + mmap(places=3, words=(managed, page, managed))
              + call("VALIDATE_VA_RANGE", 0, (managed, all_bytes)) + munmap(words=(managed, all_bytes)) + close(), "tools/fuzz_seeds.py")
    seeds.add("uvm", "teardown", call("UNREGISTER_GPU_VASPACE", at_0) + call("REGISTER_GPU_VASPACE", at_0, (0, 0, control_file, space))
              + call("MAP_EXTERNAL_ALLOCATION") + free(0) + call("UNREGISTER_GPU", at_0) + call("REGISTER_GPU", at_0)
              + close(file=1) + call("CREATE_EXTERNAL_RANGE", 0, (managed, page)) + close(), "tools/fuzz_seeds.py")
    every = [record(15, i, 2 if node == "Tools" else 0, places, (external, page)) for i, (_, node) in enumerate(rows)
             for places in (at_0, at_16, at_24)]
    for part in range(0, len(every), 48):
        seeds.add("uvm", f"every{part // 48}", b"".join(every[part:part + 48]), table)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", default=str(ROOT / "build/release/tu104sim"))
    program = parser.parse_args().program
    seeds = Seeds()
    code_seeds(seeds)
    trace_seeds(seeds, program)
    for name, words in method_words():
        seeds.add("pushbuffer", name, struct.pack(f"<{len(words)}I", *words), "tools/fuzz_seeds.py")
    gsp_seeds(seeds)
    register_seeds(seeds)
    call_seeds(seeds, program)
    uvm_seeds(seeds)
    seeds.write_manifest()
    print(f"{len(seeds.rows)} seeds, {sum(row[1] for row in seeds.rows)} bytes")


if __name__ == "__main__":
    main()
