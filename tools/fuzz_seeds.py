#!/usr/bin/env python3
"""Writes the first fuzz seeds under seeds/TARGET from files of the tree: compiled kernels of the tests, recorded traces, register tables
and driver calls made by `tu104sim conform`. The same tree gives the same bytes. seeds/MANIFEST.tsv says where each came from.

usage: tools/fuzz_seeds.py [--program build/release/tu104sim] [--keep TARGET NAME FILE ORIGIN]
Needs the programs zstd and tu104sim."""
import argparse
import hashlib
import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS = ROOT / "seeds"
MANIFEST = SEEDS / "MANIFEST.tsv"
HERE = "tools/fuzz_seeds.py"
KERNELS = "tests/gpu_model/data/sass/corpus_cubins.zst"
WORDS = "tests/gpu_model/data/sass/words.txt.zst"
TEXTURES = "tests/gpu_model/data/sass/texture_golden.zst"


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

    def keep(self, target, name, data, origin):
        """A file that nothing here makes: what a campaign has found."""
        self.rows = [tuple(line.split("\t")) for line in MANIFEST.read_text().splitlines() if not line.startswith("#")]
        self.rows = [row for row in self.rows if row[0] != f"{target}/{name}"]
        self.add(target, name, data, origin)
        self.write_manifest()

    def write_manifest(self):
        """What has been kept stays, as long as its file is there."""
        made = {row[0] for row in self.rows}
        if MANIFEST.exists():
            for line in MANIFEST.read_text().splitlines():
                row = tuple(line.split("\t"))
                if not line.startswith("#") and row[0] not in made and (SEEDS / row[0]).exists():
                    self.rows.append(row)
        lines = ["# fuzz seeds: file, bytes, first 16 digits of its SHA-256, origin. Written by tools/fuzz_seeds.py."]
        lines += ["\t".join(map(str, row)) for row in sorted(self.rows)]
        MANIFEST.write_text("\n".join(lines) + "\n")


def shortened(cubin, code_bytes):
    """The same file with less in it: code cut to `code_bytes`, nothing for debuggers. Sections keep their numbers."""
    header = bytearray(cubin[:64])
    shoff, shentsize, shnum, shstrndx = (struct.unpack_from(f, header, at)[0] for f, at in (("<Q", 40), ("<H", 58), ("<H", 60), ("<H", 62)))
    rows = [list(struct.unpack_from("<IIQQQQIIQQ", cubin, shoff + i * shentsize)) for i in range(shnum)]
    names = cubin[rows[shstrndx][4]:rows[shstrndx][4] + rows[shstrndx][5]]
    symtab_type, out = 2, bytearray(header)
    for row in rows:
        name = names[row[0]:names.index(b"\0", row[0])]
        content = bytearray(cubin[row[4]:row[4] + row[5]])
        if name.startswith(b".text."):
            content = content[:code_bytes - 16] + content[-16:]
        elif b"debug_frame" in name or name.startswith(b".note"):
            content = bytearray()
        elif row[1] == symtab_type:
            for at in range(0, len(content), 24):  # st_size of functions
                size = struct.unpack_from("<Q", content, at + 16)[0]
                if content[at + 4] & 15 == 2:
                    struct.pack_into("<Q", content, at + 16, min(size, code_bytes))
        if row[0] != 0:
            out += bytes(-len(out) % max(row[8], 1))
            row[4], row[5] = len(out), len(content)
            out += content
    out += bytes(-len(out) % 8)
    struct.pack_into("<Q", out, 40, len(out))
    struct.pack_into("<Q", out, 32, 0)  # no program headers
    struct.pack_into("<H", out, 56, 0)
    return bytes(out) + b"".join(struct.pack("<IIQQQQIIQQ", *row) for row in rows)


def code_seeds(seeds):
    kernels = packed_files(KERNELS)
    for name, code_bytes in (("tensor_b1.O3", 64), ("coop.O3", 128), ("texsurf.O3", 96)):
        seeds.add("cubin", f"{name}.short", shortened(kernels[name], code_bytes), f"{KERNELS} {name}, cut")
    containers = []
    for name in sorted(kernels, key=lambda n: (len(kernels[n]), n))[:3]:
        seeds.add("cubin", name, kernels[name], f"{KERNELS} {name}")
        # One container with one cubin, as read_fatbin expects: header, entry, payload.
        payload = kernels[name] + bytes(-len(kernels[name]) % 8)
        entry = struct.pack("<HHIIIIIQQII", 2, 0x101, 64, len(payload), 0, 0, 0, 0, 0, 0, 0)
        entry = entry.ljust(28, b"\0")[:28] + struct.pack("<I", 75) + bytes(32)
        head = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry) + len(payload))
        seeds.add("fatbin", name, head + entry + payload, f"{KERNELS} {name}, in a container")
        containers.append(head + entry + payload)
    seeds.add("fatbin", "two", b"".join(containers[:2]), f"{KERNELS}: two containers, one after the other")
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
        events = text.split(b"\nevent {")
        seeds.add("trace_text", name, b"\nevent {".join(events[:12]) + b"\n", f"{path}, its first events as text")
    # Short ones: a process that only ends, one mapping, a call that is broken off.
    for name, guest, more in (("ends", "crash", ()), ("mapped", "mapped", ()), ("broken_off", "rm_client", ("--time-limit", "1")),
                              ("no_timing", "rm_client", ("--timing", "off"))):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "a.trace"
            # A path below the root: it stands in the trace.
            path = os.path.relpath(pathlib.Path(program).resolve().parent / "guests" / guest, ROOT)
            subprocess.run([program, "run", *more, "--record", out, "--", path], check=False, capture_output=True, cwd=ROOT)
            seeds.add("trace", name, out.read_bytes(), " ".join(("tu104sim run", *more, guest)))
            if name == "mapped":  # whole: with its closing record and the digests in it
                text = subprocess.run([program, "show", "--text", out], check=True, capture_output=True).stdout
                seeds.add("trace_text", name, text, " ".join(("tu104sim run", *more, guest)))
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "a.trace"
        recording = "tests/guest_harness/data/hopper_excerpt.jsonl"
        subprocess.run([program, "import", ROOT / recording, "--gpu", "as-recorded", "-o", out], check=True, capture_output=True)
        seeds.add("trace", "imported", out.read_bytes(), f"tu104sim import {recording}")
        texts = [subprocess.run([program, "show", "--text", path], check=True, capture_output=True, text=True).stdout
                 for path in (out, *(ROOT / f"seeds/replay/{name}.trace" for name in ("rm_client", "rm_client_stopped", "unknown_calls")))]
    origin = f"{recording} and seeds/replay: the shortest event of each kind, as text"
    seeds.add("trace_text", "every_kind", every_kind(texts).encode(), origin)


def every_kind(texts):
    """The first header, then the shortest event of each kind and kind of call."""
    shortest = {}
    for text in texts:
        for event in text.split("\nclosing {")[0].split("\nevent {")[1:]:
            kind = event.split()[0], *re.findall(r'kind: "\w+"|unfinished|extents', event)[:3]
            if kind not in shortest or len(event) < len(shortest[kind]):
                shortest[kind] = event
    # In the order in which they ended, as a trace has them: a reader refuses any other.
    def end(kind):
        return int((re.findall(r"\b(?:end|time): (\d+)", shortest[kind]) or ["0"])[0])

    kinds = sorted(shortest, key=lambda kind: (end(kind), kind))
    return "\nevent {".join([texts[1].split("\nevent {")[0], *(shortest[kind] for kind in kinds)]) + "\n"


def method_words():
    """Pushbuffers: bind copy and compute classes, a linear copy, a fill, host semaphores, every header form."""
    inc, non, imm, one = 1, 3, 4, 5
    yield "copy", [header(inc, 1, 4, 0), 0xC5B5, header(inc, 8, 4, 0x400), 0, 0x1000, 0, 0x2000, 256, 256, 256, 1,
                   header(inc, 1, 4, 0x300), 0x182]
    yield "fill", [header(inc, 1, 4, 0), 0xC5B5, header(inc, 3, 4, 0x700), 1, 2, 0x30004, header(inc, 1, 4, 0x418), 64,
                   header(imm, 0x182, 4, 0x300)]
    yield "host", [header(inc, 5, 0, 0x5C), 0x4000, 0, 1, 0, 0x1, header(imm, 0, 0, 0x20), header(inc, 4, 0, 0x28), 0, 0, 0, 0]
    yield "compute", [header(inc, 1, 1, 0), 0xC5C0, header(one, 3, 1, 0x180), 1, 2, 3, header(non, 2, 1, 0x1B4), 5, 6,
                      header(inc, 4, 1, 0x1B00), 0, 0x1000, 1, 0x10000000]
    yield "forms", [header(2, 0, 0, 0), header(0, 1, 0, 0x100), 7, header(6, 0, 0, 0), header(7, 3, 2, 0x10), 0xFFFFFFFF]


TOUR_METHODS = 8  # a seed: small ones run fast, and an engine joins what it wants joined


def method_tours(seeds):
    """Every row of each class's table once, with no data bit, one and all of them set."""
    classes = {"host/host_methods": 0xC46F, "engine/ce/ce_methods": 0xC5B5, "engine/compute/compute_methods": 0xC5C0,
               "engine/i2m/i2m_methods": 0xA140, "engine/hopper/clc86f_methods": 0xC86F, "engine/hopper/clc8b5_methods": 0xC8B5,
               "engine/hopper/clcbc0_methods": 0xCBC0}
    for table, number in classes.items():
        path = f"gpu_model/{table}.def"
        offsets = [int(at, 16) for at in re.findall(r"^METHOD\(\w+, (0x[0-9a-fA-F]+)", (ROOT / path).read_text(), re.M)]
        subchannel = 4 if number & 0xFF == 0xB5 else 1
        numbered = list(enumerate(sorted(offsets)))
        for first in range(0, len(numbered), TOUR_METHODS):
            words = [header(1, 1, subchannel, 0), number]
            for i, offset in numbered[first:first + TOUR_METHODS]:
                data = (0, 1 << i % 32, 0xFFFFFFFF)[i % 3]
                words += [header(1, 1, 0 if offset < 0x100 else subchannel, offset), data]
            name = f"every_{number:x}" if len(numbered) <= TOUR_METHODS else f"every_{number:x}_{first:03}"
            seeds.add("pushbuffer", name, packed(words), path)


def gsp_seeds(seeds):
    def element(function, payload, count=1):
        rpc = struct.pack("<8I", 0x03000000, 0x43505256, 32 + len(payload), function, 0, 0, 0, 0)
        body = bytes(32) + struct.pack("<4I", 0, 0, count, 0) + rpc + payload
        return body.ljust(4096 * count, b"\0")
    seeds.add("gsp_status", "one_event", bytes([0, 0] + [0] * 6) + element(0x1001, bytes(64)), "tools/fuzz_seeds.py")
    seeds.add("gsp_status", "two_elements", bytes([0, 1] + [0] * 6) + element(0x1007, bytes(5000), 2)[:8192], "tools/fuzz_seeds.py")
    seeds.add("gsp_status", "raw", bytes([1, 0] + [0] * 6) + element(4, bytes(16)), "tools/fuzz_seeds.py")


REGISTERS_WORDS = 6 * 16  # of a seed: sixteen registers, each read, set and read again


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
        for first in range(0, len(records), REGISTERS_WORDS):
            words = records[first:first + REGISTERS_WORDS]
            name = path.stem if first == 0 else f"{path.stem}_{first // 6:03}"
            seeds.add("bar0", name, packed(words), f"{path.relative_to(ROOT)}")
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


    # Share policies of each type and the number after the last, by escape and by control; u32 target, u32[1] rights, u16 type, u8 action.
    whole, kinds, inherited = 0x45, 9, 0x00000D04
    for name, action in (("share_require", 2), ("share_compose", 4)):
        data = b""
        for kind in range(kinds):
            policy = struct.pack("<IIHBB", 0, 7, kind, action, 0)
            share = struct.pack("<II", 0, 0xCAFE0002) + policy + bytes(4)
            control = struct.pack("<4I", 0, 0, inherited, 0) + bytes(16)
            for escape, argument, nested in ((53, share, b""), (42, control, policy)):
                data += struct.pack("<BBHI", whole, 0, len(argument), escape) + argument + struct.pack("<H", len(nested)) + nested
        seeds.add("ioctl", name, data, HERE)

    # A DMA buffer of two pieces of memory, its memory freed, the buffer asked everything that a file can be asked, and closed.
    device, first, piece, control, gpu, made = 0xCAFE0001, 0x200, 0x10000, 0, 1, 7

    def record(kind, file, number=0, argument=b"", nested=b""):
        return struct.pack("<BBHI", kind, file, len(argument), number) + argument + struct.pack("<H", len(nested)) + nested

    def export(fd, places, place, handle):
        return record(whole, gpu, 217, struct.pack("<iIIIIIQB3xI508x4x", fd, 0, places, 1, place, 0, places * piece, 0, handle)
                      + bytes(1024) + struct.pack("<Q", piece) + bytes(1016) + bytes(8))

    data = b""
    for handle in (first, first + 1):
        memory = struct.pack("<14I4Q", *[0] * 14, 0, piece, 0, 0) + bytes(40)
        data += record(whole, control, 43, struct.pack("<4IQII", 0, device, handle, 0x40, 0, len(memory), 0), memory)
    data += export(-1, 2, 0, first) + export(3 + made, 2, 0, first) + export(3 + made, 2, 1, first + 1)
    data += record(whole, control, 41, struct.pack("<4I", 0, device, first, 0)) + record(2, made, 1) + record(4, made, 5)
    data += record(0x85, made, 0x40086200, struct.pack("<Q", 3)) + record(0x85, made, 0x40086201, b"name" + bytes(12)) + record(1, made)
    seeds.add("ioctl", "dma_buf", data, HERE)


def uvm_seeds(seeds):
    """Records of the uvm target; the words are its table's numbers."""
    table = "rm/client/uvm/ioctl_handlers.def"
    rows = re.findall(r"^UVM_HANDLER\((\w+), +(\w+)", (ROOT / table).read_text(), re.M)
    numbers = {name: i for i, (name, _) in enumerate(rows)}
    one, ones, page, chunk, half, all_bytes = 1, 3, 4, 5, 6, 7
    external, external_page, external_middle, external_end, managed, managed_middle = 8, 9, 11, 12, 13, 15
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
              + call("MIGRATE", at_16, (managed, half, 0, 0, 0, 0, ones)) + call("MIGRATE", 0, (managed, half, 0, 0, 0, 0, ones))
              + munmap(words=(managed, page)) + mmap(places=3, words=(managed, page, managed))
              + call("VALIDATE_VA_RANGE", 0, (managed, all_bytes)) + munmap(words=(managed, all_bytes)) + close(), "tools/fuzz_seeds.py")
    seeds.add("uvm", "teardown", call("UNREGISTER_GPU_VASPACE", at_0) + call("REGISTER_GPU_VASPACE", at_0, (0, 0, control_file, space))
              + call("MAP_EXTERNAL_ALLOCATION") + free(0) + call("UNREGISTER_GPU", at_0) + call("REGISTER_GPU", at_0)
              + close(file=1) + call("CREATE_EXTERNAL_RANGE", 0, (managed, page)) + close(), "tools/fuzz_seeds.py")
    seeds.add("uvm", "adjacent", call("FREE", 0, (external, all_bytes)) + call("CREATE_EXTERNAL_RANGE", 0, (external_middle, half))
              + call("CREATE_EXTERNAL_RANGE", 0, (external, half)) + call("CREATE_EXTERNAL_RANGE", 0, (external_end, half))
              + call("FREE", 0, (external, half)) + call("CREATE_EXTERNAL_RANGE", 0, (external_page, page))
              + call("MAP_DYNAMIC_PARALLELISM_REGION", at_16, (external, page))
              + munmap(words=(managed, all_bytes)) + mmap(places=1, words=(managed, page, managed))
              + mmap(places=2, words=(managed_middle, page, managed_middle)) + mmap(places=7, words=(managed, half, managed)),
              "tools/fuzz_seeds.py")
    every = [record(15, i, 2 if node == "Tools" else 0, places, (external, page)) for i, (_, node) in enumerate(rows)
             for places in (at_0, at_16, at_24)]
    for part in range(0, len(every), 48):
        seeds.add("uvm", f"every{part // 48}", b"".join(every[part:part + 48]), table)


DATA_VA = 0x4_0000_0000  # of fuzz/channels.h: 2 MiB that both channels see


def header(opcode, count, subchannel, method):
    """A pushbuffer header; opcodes: 1 INC, 3 NON_INC, 4 IMMD, 5 ONE_INC."""
    return opcode << 29 | count << 16 | subchannel << 13 | method >> 2


def work_words():
    """(name, channel, words): pushbuffers that do something on the channels of fuzz/channels.h. Channel 0 copies, 1 computes."""
    inc, non, imm, one = 1, 3, 4, 5
    high, low = DATA_VA >> 32, DATA_VA & 0xFFFFFFFF

    def release(offset, payload):
        return [header(inc, 5, 0, 0x5C), low + offset, high, payload, 0, 1]
    yield "copy", 0, [header(inc, 1, 4, 0), 0xC5B5, header(inc, 8, 4, 0x400), high, low, high, low + 0x1000, 256, 256, 256, 1,
                      header(inc, 1, 4, 0x300), 0x182, *release(0x8000, 7)]
    yield "remap", 0, [header(inc, 1, 4, 0), 0xC5B5, header(inc, 3, 4, 0x700), 1, 2, 0x30004, header(inc, 2, 4, 0x408), high, low,
                       header(inc, 2, 4, 0x418), 64, 1, header(imm, 0x582, 4, 0x300)]
    yield "block", 0, [header(inc, 1, 4, 0), 0xC5B5, header(inc, 6, 4, 0x70C), 0x1000, 64, 8, 1, 0, 0,
                       header(inc, 8, 4, 0x400), high, low, high, low + 0x4000, 64, 64, 64, 8, header(inc, 1, 4, 0x300), 0x102]
    yield "layers", 0, [header(inc, 1, 4, 0), 0xC5B5, header(inc, 6, 4, 0x70C), 0x1000, 64, 8, 2, 1, 0,
                        header(inc, 6, 4, 0x728), 0x1010, 64, 16, 2, 1, 0,
                        header(inc, 8, 4, 0x400), high, low, high, low + 0x4000, 64, 64, 64, 8, header(inc, 1, 4, 0x300), 0x102,
                        header(inc, 4, 4, 0x408), high, low + 0x8000, 64, 64,
                        header(inc, 4, 4, 0x400), high, low + 0x4000, high, low + 0x9000,
                        header(inc, 1, 4, 0x300), 0x082]
    yield "semaphores", 0, [*release(0x100, 5), header(inc, 5, 0, 0x5C), low + 0x100, high, 5, 0, 0x2,
                            header(inc, 5, 0, 0x5C), low + 0x100, high, 9, 0, 0x03000007, header(imm, 0, 0, 0x20)]
    yield "membar", 0, [header(inc, 4, 0, 0x28), 0, 0, 0, 5 << 27, header(inc, 4, 0, 0x28), 0, 0, 0, 9 << 27, header(imm, 0, 0, 0x80)]
    yield "bind", 1, [header(inc, 1, 1, 0), 0xC5C0, header(inc, 1, 3, 0), 0xC597, header(inc, 1, 2, 0), 0xA140, *release(0x200, 3)]
    yield "inline", 1, [header(inc, 1, 1, 0), 0xC5C0, header(inc, 4, 1, 0x180), 16, 1, high, low + 0x300, header(imm, 0x41, 1, 0x1B0),
                        header(non, 4, 1, 0x1B4), 1, 2, 3, 4, *release(0x400, 1)]
    yield "macro", 1, [header(inc, 1, 1, 0), 0xC5C0, header(inc, 1, 1, 0x11C), 0, header(imm, 0, 1, 0x120), header(inc, 1, 1, 0x114), 0,
                       header(non, 3, 1, 0x118), 0x00000091, 0x00000000, 0x00000000, header(one, 2, 1, 0x3800), 7, 8]
    yield "report", 1, [header(inc, 1, 1, 0), 0xC5C0, header(inc, 4, 1, 0x1B00), high, low + 0x500, 1, 0x10000000,
                        header(one, 3, 1, 0x180), 1, 2, 3, header(imm, 0, 1, 0x110)]


def packed(words):
    return struct.pack(f"<{len(words)}I", *words)


def sound_qmd():
    """256 bytes of a QMD that may run, by the field table."""
    rows = {}
    for match in re.finditer(r"^QMD_FIELD\((\w+), (\d+), (\d+), (\d+), (\w+), (\w+)\)",
                             (ROOT / "gpu_model/engine/compute/qmd.def").read_text(), re.M):
        rows[match[1]] = (int(match[2]), int(match[3]))
    value = 0
    for name, word in (("QMD_MAJOR_VERSION", 2), ("QMD_VERSION", 2), ("CTA_RASTER_WIDTH", 2), ("CTA_RASTER_HEIGHT", 1),
                       ("CTA_RASTER_DEPTH", 1), ("CTA_THREAD_DIMENSION0", 33), ("CTA_THREAD_DIMENSION1", 2),
                       ("CTA_THREAD_DIMENSION2", 1), ("REGISTER_COUNT_V", 16), ("PROGRAM_ADDRESS_LOWER", DATA_VA & 0xFFFFFFFF),
                       ("PROGRAM_ADDRESS_UPPER", DATA_VA >> 32), ("SEMAPHORE_RELEASE_ENABLE0", 1),
                       ("RELEASE0_ADDRESS_LOWER", (DATA_VA & 0xFFFFFFFF) + 0x9000), ("RELEASE0_ADDRESS_UPPER", DATA_VA >> 32),
                       ("RELEASE0_PAYLOAD", 77)):
        high, low = rows[name]
        value |= (word & (1 << high - low + 1) - 1) << low
    return value.to_bytes(256, "little"), list(rows)


def work_seeds(seeds):
    origin = HERE
    work = list(work_words())
    for name, channel, words in work:
        seeds.add("channel", name, packed([channel, *words]), origin)
        entry = [len(words) << 10 << 32 | 0, (1 << 41) << 0 | 4]
        ring = struct.pack("<2Q", entry[0] | 1 << 63, entry[0] >> 1 & ~1 | entry[1])
        seeds.add("gp_entry", name, packed([2 << 16 | 2 << 8 | channel]) + ring + packed(words), origin)
    ring_va = 0x2_0000_0000 + 0x1000
    raw = struct.pack("<4Q", 6 << 10 << 32 | ring_va, 0, 1 << 32, 2 << 10 << 32 | ring_va + 8 | 1)
    seeds.add("gp_entry", "raw", packed([4 << 16 | 4 << 8 | 2]) + raw + packed(work[0][2]), origin)
    qmd, names = sound_qmd()
    seeds.add("qmd", "raw", packed([1]) + qmd, "gpu_model/engine/compute/qmd.def")
    number = {name: i for i, name in enumerate(names)}
    for seed, changes in (("blocks", (("CTA_RASTER_WIDTH", 5), ("CTA_THREAD_DIMENSION0", 64), ("CTA_THREAD_DIMENSION1", 3))),
                          ("releases", (("SEMAPHORE_RELEASE_ENABLE0", 1), ("RELEASE0_ADDRESS_LOWER", 0x9000), ("RELEASE0_ADDRESS_UPPER", 4),
                                        ("SEMAPHORE_RELEASE_ENABLE1", 1), ("RELEASE1_ADDRESS_LOWER", 0x9100), ("RELEASE1_ADDRESS_UPPER", 4),
                                        ("RELEASE1_REDUCTION_ENABLE", 1), ("RELEASE1_PAYLOAD", 3))),
                          ("version23", (("QMD_VERSION", 3), ("BARRIER_COUNT", 16), ("SHARED_MEMORY_SIZE", 0x400),
                                        ("REGISTER_COUNT_V", 255))),
                          ("full", (("CTA_THREAD_DIMENSION0", 1024), ("CTA_THREAD_DIMENSION1", 1), ("REGISTER_COUNT_V", 64))),
                          ("wrong", (("CTA_THREAD_DIMENSION0", 2048), ("IS_QUEUE", 1), ("QMD_MAJOR_VERSION", 1)))):
        records = b"".join(struct.pack("<2I", number[name], value) for name, value in changes if name in number)
        seeds.add("qmd", seed, packed([2]) + records.ljust(64, b"\0"), "gpu_model/engine/compute/qmd.def")
    for mode in range(6):  # the last one does not exist
        seeds.add("qmd", f"render_mode{mode}", packed([mode + 1 << 2 | 0x20]) + bytes(64), HERE)


def page_table_seeds(seeds):
    """Records of the page_table target: u32 where, u32 access, u64 entry."""
    valid, table, sparse, read_only = 1, 2, 8, 0x40

    def record(kind, index, access, entry, flags=0):
        return struct.pack("<2IQ", kind | flags | index << 8, access, entry)
    down = b"".join(record(kind, 0, 0x1000 * kind | 1, table) for kind in (0, 1, 2))
    small = down + record(3, 0, 0x2000, 0) + record(3, 0, 0x2001, table, 8)
    seeds.add("page_table", "small", small + b"".join(record(5, i, i << 12 | 1, valid | i << 8) for i in range(1, 6)), HERE)
    seeds.add("page_table", "big", down + record(3, 1, 0x200001, table) + record(4, 0, 0x200011, valid)
              + record(4, 1, 0x210005, valid | 16 << 8) + record(4, 2, 0x220005, sparse), HERE)
    seeds.add("page_table", "huge", down + record(3, 2, 0x400001, valid) + record(3, 3, 0x5F0001, valid | read_only)
              + record(3, 4, 0x800001, sparse), HERE)
    seeds.add("page_table", "dual", small + record(3, 0, 0x3001, table) + record(4, 0, 0x4001, 0) + record(5, 3, 0x3005, valid | 7 << 8)
              + record(4, 1, 0x10001, valid), HERE)
    seeds.add("page_table", "raw", down + record(2, 0, 1, 0x3FFFFFF00 | table, 0x80) + record(1, 0, 5, table | valid, 0x80), HERE)


def kernel_seeds(seeds):
    kernels = packed_files(KERNELS)
    for name in sorted(kernels):
        if not name.endswith(".O3"):
            continue
        for section, code in text_sections(kernels[name]):
            if 64 <= len(code) <= 1536:
                safe = re.sub(r"[^A-Za-z0-9_.]", "_", f"{name}{section}")[:60]
                seeds.add("sass_kernel", safe, bytes([31, 1, 1, 0]) + code, f"{KERNELS} {name} {section}")
                break


def word_seeds(seeds):
    """Kernels of single instruction words whose results hardware gave: every form of the arithmetic."""
    lines = subprocess.run(["zstd", "-dc", ROOT / WORDS], check=True, capture_output=True, text=True).stdout.splitlines()
    words = [bytes.fromhex(digits)[::-1] for _, digits, result in map(str.split, lines) if result != "illegal"][::6]
    for first in range(0, len(words), 64):
        seeds.add("sass_kernel", f"words_{first:03}", bytes([31, 0, 0, 1]) + b"".join(words[first:first + 64]), WORDS)


def texture_seeds(seeds):
    """Kernels that read and write textures, with one of fuzz/textures.h that suits each, and the older matrix products."""
    kernels = packed_files(TEXTURES)["kernels.cubin"]
    shapes = {"2dlod": 7, "grad": 7, "a1d": 6, "a2d": 4, "1d": 0, "2d": 0, "3d": 3, "cube": 5, "rda2": 4, "rd3": 3}
    for section, code in text_sections(kernels):
        name = re.sub(r"[^A-Za-z0-9_]", "_", section.removeprefix(".text."))
        if len(code) > 1536:
            continue
        shape = next((number for word, number in shapes.items() if name.endswith(word)), 2)
        texels = sum(name.encode()) % 8
        seeds.add("sass_kernel", f"texture_{name}", bytes([31, 4, (texels * 8 + shape) << 1, 1]) + code, f"{TEXTURES} {section}")


def tour_seeds(seeds):
    """Kernels in a straight line: what compiled code does with registers, one word of each form and modifiers, then the logic functions."""
    pipes = {}  # (operation, form) to pipe
    rows = (ROOT / "gpu_model/sm/isa/sm75.def").read_text()
    for row in re.finditer(r"^SASS\(\w+, *\"[^\"]+\", *(0x[0-9a-f]+), *([F0-9|]+), .*, (\w+)\)", rows, re.M):
        for form in row[2].split("|"):
            pipes[int(row[1], 16), int(form[1:])] = row[3]
    registers_only = {"Fma", "Fp64", "Half", "Int", "Tensor", "Udp", "Xu"}
    control, always = 0x000FE200 << 32, 7 << 12
    words = {}
    for name, cubin in sorted(packed_files(KERNELS).items()):
        for _, code in text_sections(cubin):
            for at in range(0, len(code) - 15, 16):
                low, high = struct.unpack_from("<QQ", code, at)
                if pipes.get((low & 0x1FF, low >> 9 & 7)) not in registers_only:
                    continue
                modifiers = 0 if low & 0x1FF == 0x12 else high >> 8 & 0x1FFFFFF  # LOP3's functions follow below
                shape = low & 0xFFF, modifiers
                words.setdefault(shape, (low & ~0xF000 | always, high & (1 << 41) - 1 | control))
    move = [(value << 32 | register << 16 | 0x7802, 0x000FCA00_00000F00)
            for register, value in ((i, (i + 1) * 0x9E3779B1 & 0xFFFFFFFF) for i in range(24))]
    leave = (0x794D, 0x000FEA00_03800000)

    def kernel(body):
        return bytes([31, 0, 1, 1]) + b"".join(struct.pack("<QQ", *word) for word in (*move, *body, leave))
    body, each = [words[shape] for shape in sorted(words)], 160
    for i in range(0, len(body), each):
        seeds.add("sass_kernel", f"tour{i // each}", kernel(body[i:i + each]), f"{KERNELS}, one word of each form and modifiers")
    logic = [(4 << 32 | 3 << 24 | 24 + i % 96 << 16 | 0x7212, 0x000FE200_078E0000 | i << 8 | 5) for i in range(256)]
    for i, part in enumerate((logic[:86], logic[86:171], logic[171:])):
        seeds.add("sass_kernel", f"logic{i}", kernel(part), HERE)


def firmware_seeds(seeds):
    def element(function, payload, slots=0, flags=2):
        rpc = struct.pack("<8I", 0x03000000, 0x43505256, 32 + len(payload), function, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0)
        body = bytes(32) + struct.pack("<4I", 0, 0, 1, 0) + rpc + payload
        return struct.pack("<HBB", len(body), slots, flags) + body
    client, device, subdevice = 0xC1D00001, 0x80, 0x2080
    alloc = struct.pack("<8I", client, device, 0x1000, 0x90F1, 0, 48, 0, 0) + bytes(48)
    control = struct.pack("<6I", client, subdevice, 0x20800A5C, 0, 8, 0) + bytes(8)
    free = struct.pack("<4I", client, 0, subdevice, 0)
    seeds.add("gsp_command", "alloc", element(103, alloc) + element(10, free), HERE)
    seeds.add("gsp_command", "control", element(76, control) + element(76, control, 0, 6) + element(1, bytes(32)), HERE)
    seeds.add("gsp_command", "raw", element(76, control, 0, 3) + element(103, alloc, 1, 3), HERE)
    seeds.add("gsp_command", "unknown", b"".join(element(number, bytes(16), 0, 6) for number in (0, 2, 72, 73, 200, 0x1001, 0xFFFF)),
              HERE)

    def call(kind, number, first, second, params=b""):
        return struct.pack("<4BH", kind, number, first, second, len(params)) + params
    seeds.add("rpc_calls", "allocs", b"".join(call(0, number, 0x10, 5 + number % 4) for number in range(0, 40, 2)), HERE)
    seeds.add("rpc_calls", "controls", b"".join(call(3, number * 7 % 256, 0x20, number % 3) for number in range(40)), HERE)
    seeds.add("rpc_calls", "frees", call(0, 9, 0x10, 5) + call(5, 0, 0x50, 0) + call(6, 0, 0x20, 0x26) + call(5, 0, 0x20, 0)
              + call(5, 0, 0x00, 0) + call(3, 5, 0x20, 0), HERE)
    seeds.add("rpc_calls", "functions", b"".join(call(7, number, 0, 0, bytes(number % 48)) for number in range(1, 120, 3)), HERE)


def plan_seeds(seeds):
    points = re.findall(r"^FAULT_POINT\((\w+), *\"([\w.]+)\"", (ROOT / "gpu_model/fault_points.def").read_text(), re.M)
    names = [name for _, name in points] or ["pci.read_ones", "intr.late"]
    seeds.add("fault_plan", "ratios", "".join(f"{name} ratio=1/{2 + i}\n" for i, name in enumerate(names)).encode(),
              "gpu_model/fault_points.def")
    seeds.add("fault_plan", "visits", f"# visits\n{names[0]} from=2 to=9 ratio=1/1\n".encode(), HERE)
    seeds.add("fault_plan", "argument", b"intr.late argument=50us # late\npci.read_ones ratio=1/1000 from=200 to=400\n", HERE)


def device_seeds(seeds):
    def step(kind, choice, count, value, words=()):
        return struct.pack("<BBHI", kind, choice, count, value) + packed(list(words))
    work = {name: (channel, words) for name, channel, words in work_words()}

    def push(name, later=0):
        channel, words = work[name]
        return step(0, channel | later, len(words), 0, words)
    origin = HERE
    seeds.add("device", "two_channels", push("copy") + push("inline") + step(3, 0, 0, 50_000_000) + push("semaphores")
              + push("report"), origin)
    seeds.add("device", "batch", push("copy", 2) + push("remap", 2) + push("block") + step(3, 0, 0, 10_000_000) + push("membar"), origin)
    seeds.add("device", "registers", push("copy") + step(4, 1, 0, 0x100) + step(5, 0, 0, 0x2100) + step(4, 0xFF, 0xFFFF, 0xB81010)
              + step(6, 5, 0, 0x100) + push("bind") + step(4, 0, 0, 0xB80F40), origin)
    seeds.add("device", "free_under_work", push("copy") + step(7, 1, 0, 0) + push("semaphores") + step(7, 1, 0, 2) + push("inline")
              + step(7, 2, 0, 0) + step(3, 0, 0, 60_000_000), origin)


def order_seeds(seeds):
    def step(kind, channel, a=0, b=0):
        return struct.pack("<BBHI", kind, channel, a, b)
    seeds.add("order", "one_by_one", step(0, 0, 0, 255) + step(6, 0) + step(4, 0, 0x100, 5) + step(6, 0) + step(3, 0, 0x800, 0x55)
              + step(6, 0) + step(1, 0, 0x8010, 0x12345), HERE)
    seeds.add("order", "both", b"".join(step(kind, kind & 1, 0x40 * i, 0x01020304 * i) + step(6, i & 1)
                                        for i, kind in enumerate((0, 1, 2, 3, 4, 0, 1, 2, 3, 4))), HERE)
    seeds.add("order", "batches", step(2, 0, 0x10, 0x777) + step(3, 0, 0x100, 9) + step(0, 1, 0x20, 0x66) + step(4, 1, 0x20, 1) + step(6, 0)
              + step(5, 0, 0, 900_000) + step(0, 0, 0x8100, 0x1FF) + step(6, 1) + step(2, 1, 0x30, 7), HERE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", default=str(ROOT / "build/release/tu104sim"))
    parser.add_argument("--keep", nargs=4, metavar=("TARGET", "NAME", "FILE", "ORIGIN"), help="only: FILE becomes the seed TARGET/NAME")
    options = parser.parse_args()
    program = options.program
    seeds = Seeds()
    if options.keep:
        target, name, file, origin = options.keep
        return seeds.keep(target, name, pathlib.Path(file).read_bytes(), origin)
    code_seeds(seeds)
    trace_seeds(seeds, program)
    for name, words in method_words():
        seeds.add("pushbuffer", name, struct.pack(f"<{len(words)}I", *words), HERE)
    method_tours(seeds)
    gsp_seeds(seeds)
    register_seeds(seeds)
    call_seeds(seeds, program)
    uvm_seeds(seeds)
    work_seeds(seeds)
    page_table_seeds(seeds)
    kernel_seeds(seeds)
    word_seeds(seeds)
    texture_seeds(seeds)
    tour_seeds(seeds)
    firmware_seeds(seeds)
    plan_seeds(seeds)
    device_seeds(seeds)
    order_seeds(seeds)
    seeds.write_manifest()
    print(f"{len(seeds.rows)} seeds, {sum(row[1] for row in seeds.rows)} bytes")


if __name__ == "__main__":
    main()
