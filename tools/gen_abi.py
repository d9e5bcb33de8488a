#!/usr/bin/env python3
"""Writes rm/abi/: wire structs, layout rows and number tables, from a directory of reference tables (TSV) that were extracted
from the public driver headers. What is generated is committed; rerun only to admit more structs or constants.

usage: tools/gen_abi.py REFERENCE_DIR [--check]     --check: exit 1 when a committed file would change
"""
import argparse
import os
import re
import sys

TAGS = ["535.183.01", "550.144.03", "560.35.03", "565.77", "570.144", "580.95.05"]
ROOT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "rm", "abi")
REGISTER_BYTES = 16  # what the x86-64 ABI returns in registers
SOURCE = "NVIDIA/open-gpu-kernel-modules"

# Structs wanted by file (every struct of these) and by name.
WHOLE_FILES = ["uvm_ioctl.h", "uvm_linux_ioctl.h", "nv-ioctl.h", "gsp_static_config.h", "message_queue_priv.h", "gsp_init_args.h",
               "msgq_priv.h", "gsp_fw_wpr_meta.h", "rm_riscv_ucode.h", "cl2080_notification.h"]
STRUCTS = """
rpc_message_header_v03_00 rpc_alloc_memory_v13_01 rpc_free_v03_00 rpc_dup_object_v03_00 rpc_unloading_guest_driver_v1F_07
rpc_set_page_directory_v1E_05 rpc_unset_page_directory_v1E_05 rpc_update_bar_pde_v15_00 rpc_gsp_rm_alloc_v03_00
rpc_gsp_rm_control_v03_00 rpc_set_guest_system_info_v03_00 rpc_post_event_v17_00 rpc_rc_triggered_v17_02 rpc_os_error_log_v17_00
rpc_gsp_lockdown_notice_v17_00 rpc_ucode_libos_print_v1E_08 rpc_run_cpu_sequencer_v17_00 rpc_dump_protobuf_component_v18_12
GspSystemInfo GspStaticConfigInfo LibosMemoryRegionInitArgument
GSP_ARGUMENTS_CACHED MESSAGE_QUEUE_INIT_ARGUMENTS GSP_SR_INIT_ARGUMENTS msgqTxHeader msgqRxHeader
NVOS00_PARAMETERS NVOS02_PARAMETERS NVOS05_PARAMETERS NVOS10_EVENT_KERNEL_CALLBACK_EX NVOS21_PARAMETERS NVOS30_PARAMETERS
NVOS32_PARAMETERS NVOS33_PARAMETERS NVOS34_PARAMETERS NVOS38_PARAMETERS NVOS39_PARAMETERS NVOS41_PARAMETERS NVOS46_PARAMETERS
NVOS47_PARAMETERS NVOS49_PARAMETERS NVOS54_PARAMETERS NVOS55_PARAMETERS NVOS56_PARAMETERS NVOS57_PARAMETERS NVOS61_PARAMETERS
NVOS64_PARAMETERS NVOS65_PARAMETERS NVOS63_PARAMETERS NvUnixEvent
NV0000_ALLOC_PARAMETERS NV0005_ALLOC_PARAMETERS NV0080_ALLOC_PARAMETERS NV2080_ALLOC_PARAMETERS NV_CHANNEL_ALLOC_PARAMS
NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS NV_CTXSHARE_ALLOCATION_PARAMETERS NV_GR_ALLOCATION_PARAMETERS NVB0B5_ALLOCATION_PARAMETERS
NV_MEMORY_ALLOCATION_PARAMS NV_MEMORY_DESC_PARAMS NV_VASPACE_ALLOCATION_PARAMETERS NV_HOPPER_USERMODE_A_PARAMS
NV_CONTEXT_DMA_ALLOCATION_PARAMS NV503C_ALLOC_PARAMETERS NV00DE_ALLOC_PARAMETERS NV00DE_SHARED_DATA NV83DE_ALLOC_PARAMETERS
NV_CONFIDENTIAL_COMPUTE_ALLOC_PARAMS NV0060_ALLOC_PARAMETERS NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS
NV2081_ALLOC_PARAMETERS NV_BSP_ALLOCATION_PARAMETERS NV_MSENC_ALLOCATION_PARAMETERS
NV_OS_DESC_MEMORY_ALLOCATION_PARAMS
NV2080_CTRL_GR_INFO NVXXXX_CTRL_XXX_INFO Nvc46fControl_struct
""".split()
# Control parameters wanted besides what the kernel driver itself sends (kernel-rm-control-callers.tsv, physical rows).
CONTROLS = """
0x101 0x13a 0x1f0 0x201 0x202 0x205 0x214 0x215 0x27b 0x288 0xa04 0xd01 0xd04 0x102 0x104 0x127 0x12b 0x216 0x21b 0x301 0x3d02 0x3d05 0x3d06
0x800201 0x800280 0x800288 0x800289 0x80028b 0x800292 0x80028d 0x801301 0x801307 0x801401 0x801402 0x801701 0x80170d 0x801713 0x80170e
0x801806 0x801807 0x801808 0x80180c 0x80180d 0x801813 0x801814 0x801102 0x801104 0x801909 0x801b01 0x80170f
0x20800101 0x20800102 0x20800110 0x20800111 0x20800119 0x2080012b 0x2080012f 0x20800130 0x20800131 0x2080013f 0x20800142 0x2080014a
0x20800157 0x20800170 0x2080017e 0x2080018b 0x20800195 0x208001a3 0x20800301 0x20800302 0x20800303 0x208001b0 0x20800188 0x20800122
0x20801103 0x20801104 0x20801105 0x2080110a 0x2080110b 0x2080110d 0x20801112 0x20801115 0x20801111 0x20801109
0x20801201 0x20801210 0x20801218 0x2080121b 0x20801227 0x2080122a 0x2080122b 0x20801230 0x20801226 0x2080120f 0x20801211 0x20801228
0x20801301 0x20801303 0x20801315 0x20801316 0x20801352 0x20801320 0x20801342
0x20801701 0x20801702 0x20801801 0x20801803 0x20801802 0x20801823 0x2080182a 0x2080182b 0x2080182c 0x2080200a 0x20802002 0x20802009
0x2080220c 0x20802210 0x20802a01 0x20802a03 0x20802a04 0x20802a0a 0x20802a02 0x20803001 0x20803002 0x20803601 0x20803801 0x20800403
0x20800406 0x20800a5c 0x20801b01 0x2080a026 0x2080a097
0x503c0102 0x503c0104 0x503c0105 0x83de0309 0x83de0302 0x83de0301 0x906f0101 0x906f0102 0x90e60102 0xa06c0101 0xa06c0103 0xa06c0105
0xa06c0106 0xa06c0104 0xa06f0103 0xa06f0104 0xa06f0105 0xa06f0106 0xa06f0111 0xa06f0112 0xa06f0110 0xc36f0108 0xc36f0109 0xc36f010a
0xcb330101 0x90f10101 0x90f10102 0x90f10103 0x90f10104 0x90f10105 0x90f10106 0x90f10107 0x00de0001 0xde0001 0x9010102 0x410110 0x410103
0x20800a61 0x20800a9b 0x20800a9d 0x20800ac3 0x20800aff 0x3d0a 0x2080130e 0x20801346 0x90cc0301 0x90cc0302
0xb0cc0101 0xb0cc0103 0xb0cc0109 0xb0cc010a 0xb0cc010d 0xb0cc010e 0xb0cc0115 0xb0cc0119 0xb0cc0301 0xb0cc0302
""".split()
# Controls without a name in the headers. The first two: nvproxy's names, flags of the export table; the third: asked by clients of 535, no
# object exports it; the others: observed at 580.159.04.
UNNAMED_CONTROLS = [
    ("NV2080_CTRL_CMD_GPU_ACQUIRE_COMPUTE_MODE_RESERVATION", 0x20800145, 0, "0x118"),
    ("NV2080_CTRL_CMD_GPU_RELEASE_COMPUTE_MODE_RESERVATION", 0x20800146, 0, "0x118"),
    ("control_0080028b", 0x0080028B, 0, "0x0"),
    ("control_20808159", 0x20808159, 332, "0x0"),
    ("control_20808162", 0x20808162, 1, "0x0"),
    ("control_20809038", 0x20809038, 4, "0x0"),
    ("control_20810108", 0x20810108, 992, "0x0"),
]
LATER_CONTROLS = [  # (name, number, export flags): what 580.95.05 has and 570.144 has not
    ("NV2080_CTRL_CMD_GPU_GET_SKYLINE_INFO", 0x2080019F, "0x8"),
    ("NV2080_CTRL_CMD_THERMAL_SYSTEM_EXECUTE_V2", 0x20800513, "0x8"),
    ("NV2080_CTRL_CMD_GR_GET_SM_ISSUE_RATE_MODIFIER_V2", 0x2080123C, "0x8"),
    ("NV2080_CTRL_CMD_GR_GET_SM_ISSUE_THROTTLE_CTRL", 0x2080123D, "0x8"),
]
EARLIER_CONTROLS = [  # (name, number, export flags, struct): what 535.183.01 and 550.144.03 have and 570.144 has not
    ("NVC36F_CTRL_GET_CLASS_ENGINEID", 0xC36F0101, "0x8", "NV906F_CTRL_GET_CLASS_ENGINEID_PARAMS"),
]
# Numbers that another control has in one version: (number, version, bytes; None: no control there).
# 580 asks for the support of memory encryption by the number of 570's FB_GET_STATUS, and for its state by the next.
RENUMBERED_CONTROLS = [(0x20801357, "580.95.05", 4), (0x20801359, "580.95.05", None)]
# A list at the end of a struct that got longer: (struct, bytes of each field before it, list, bytes of one element, length by version).
GROWN_LISTS = [
    ("NV2080_CTRL_FB_GET_FS_INFO_PARAMS", {"numQueries": 2, "reserved": 6}, "queries", 32, [96, 120, 120, 120, 120, 120]),
]
CONSTANTS = [  # (output, head comment, name patterns)
    ("flags_nvos.h", "Flag words of the RM calls",
         r"^(NVOS02_FLAGS|NVOS03_FLAGS|NVOS04_FLAGS|NVOS32_FUNCTION|NVOS32_TYPE|NVOS32_ALLOC_FLAGS|NVOS32_ATTR|"
         r"NVOS32_ATTR2|NVOS33_FLAGS|NVOS46_FLAGS|NVOS54_FLAGS|NVOS57|NVOS_STATUS|NVOS47_FLAGS)"),
    ("flags_alloc.h", "Flag words of allocation parameters",

          r"^(NV_VASPACE_ALLOCATION_|NV_KERNELCHANNEL_ALLOC|NV_CTXSHARE_ALLOCATION|NVB0B5_ALLOCATION|"
          r"NV_CHANNELGPFIFO|NV_MEMORY_DESC|NV0080_ALLOC|NV_DEVICE_ALLOCATION|NV01_EVENT|NV_CHANNEL_ALLOC|"
          r"NV906F_NOTIFICATION|NVC36F_NOTIFICATION)"),
    ("engine_types.h", "Engine numbers", r"^(NV2080_ENGINE_TYPE_)"),
    ("notifiers.h", "Notifier numbers",
         r"^(NV2080_NOTIFIERS_|NV0000_NOTIFIERS|NVC46F_NOTIFIERS|NV2080_SUBDEVICE_NOTIFICATION|"
         r"NV906F_NOTIFIERS|NVC36F_NOTIFIERS)"),
    ("info_gpu.h", "Index lists of the GPU, architecture and bus queries",
         r"^(NV2080_CTRL_GPU_INFO_|NV2080_CTRL_MC_ARCH_INFO|NV2080_CTRL_BUS_INFO_|NV2080_CTRL_GPU_ECC|"
         r"NV2080_GPU_|NV0000_CTRL_GPU_ID_INFO|NV0000_CTRL_GPU_MAX|NV0000_CTRL_SYSTEM_|NV0080_CTRL_GPU_VIRT|"
         r"NV2080_CTRL_GPU_VIRT|NV2080_CTRL_GPU_COMPUTE_MODE|NV2080_CTRL_BUS_PCI)"),
    ("info_gr_fb.h", "Index lists of the graphics and memory queries; capability bits",
         r"^(NV2080_CTRL_GR_INFO_|NV0080_CTRL_GR_INFO_|NV2080_CTRL_FB_INFO_|NV0080_CTRL_GR_CAPS_|"
         r"NV0080_CTRL_FB_CAPS_|NV0080_CTRL_HOST_CAPS_|NV0080_CTRL_FIFO_CAPS_|NV2080_CTRL_CE_CAPS_CE)"),
    ("internal_flags.h", "Lists inside the internal controls",
         r"^(NV2080_CTRL_INTERNAL_|NV2080_INTR_|NV2080_CTRL_FIFO_|NV2080_CTRL_GPU_EVENT|NV2080_CTRL_EVENT|"
         r"NV90F1_CTRL_|NV_MMU_|GMMU_)(?!CMD)"),
]
BASE = {"NvU8": 1, "NvU16": 2, "NvU32": 4, "NvU64": 8, "NvS8": 1, "NvS16": 2, "NvS32": 4, "NvS64": 8, "NvBool": 1,
        "NvHandle": 4, "NvP64": 8,
        "NvV32": 4, "NvV16": 2, "NvV8": 1, "NV_STATUS": 4, "char": 1, "NvLength": 8, "NvProcessorUuid": 16}


def load(directory, name):
    with open(os.path.join(directory, name), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return rows[1], rows[2:]


class Abi:
    def __init__(self, directory):
        self.dir = directory
        _, rows = load(directory, "structs.tsv")
        self.structs = {}
        for name, kind, size, field, offset, fsize, ftype, dims, bits, file in rows:
            entry = self.structs.setdefault(name, {"kind": kind, "size": int(size), "fields": [], "file": file})
            entry["fields"].append([field.replace("[]", ""), int(offset), int(fsize), ftype, dims, bits])
        self.alias = {a: b for a, b in load(directory, "struct-aliases.tsv")[1]}
        self.out = {}
        self.used = set()  # controls that compute and utility clients send

    def resolve(self, name):
        return name if name in self.structs else self.alias.get(name)

    # --- structs ---------------------------------------------------------------------------------------------------
    def wanted(self):
        names = [n for n in STRUCTS if self.resolve(n)]
        missing = [n for n in STRUCTS if not self.resolve(n)]
        for name, s in self.structs.items():
            if os.path.basename(s["file"]) in WHOLE_FILES:
                names.append(name)
        ids = {int(c, 16) for c in CONTROLS}
        for row in load(self.dir, "kernel-rm-control-callers.tsv")[1]:
            if row[4].startswith("physical") or row[2] == "1":
                ids.add(int(row[1], 16))
        for row in load(self.dir, "nvproxy-usage.tsv")[1]:
            if row[0] == "control" and row[2] and "CapCompute" in row[8]:
                ids.add(int(row[2], 16))
                self.used.add(int(row[2], 16))
        skip = re.compile(
             r"C56F|NVLINK|VGPU|BLACKWELL|DISP|HDCP|_DP_|MIG|KMEMSYS|NVSWITCH|INBAND|CCU|PMGR|SPDM|CONF_COMP|"
             r"GRMGR_PART|FABRIC|GC6|C637|GCX|P2P_MAP|DBG_CONSOLE|USER_SHARED|BIF_|FLCN|THERM")
        for row in load(self.dir, "controls.tsv")[1]:
            number = int(row[1], 16)
            wanted = number in {int(c, 16) for c in CONTROLS} | self.used or not skip.search(row[0])
            carried = row[2] or row[6]
            if number in ids and wanted and carried and self.resolve(carried):
                names.append(carried)
        return sorted(set(names)), missing

    def closure(self, names):
        seen = {}
        order = []

        def visit(name):
            real = self.resolve(name)
            if real is None or real in seen:
                return
            seen[real] = True
            for field in self.structs[real]["fields"]:
                if field[4] != "0":
                    visit(field[3])
            order.append(real)

        for name in names:
            visit(name)
        return order

    def element(self, ftype, fsize, dims):
        count = 1
        for dim in re.findall(r"\d+", dims):
            count *= int(dim)
        size = fsize // count if count else 0
        real = self.resolve(ftype)
        if ftype in BASE:
            return ftype, min(8, BASE[ftype]) if ftype != "NvProcessorUuid" else 1
        if real:
            return (ftype if ftype in self.structs else real), self.align(real)
        if ftype.endswith("*"):
            return "NvP64", 8
        kinds = {1: "NvU8", 2: "NvU16", 4: "NvU32", 8: "NvU64"}
        return (kinds[size], size) if size in kinds else (f"NvU8*{size}", 1)

    def align(self, name):
        best = 1
        for field, offset, fsize, ftype, dims, bits in self.structs[name]["fields"]:
            if ftype in ("struct", "union"):
                continue
            best = max(best, self.element(ftype, fsize, dims or "1")[1] if dims != "0" else 1)
        return best

    def emit_members(self, rows, indent, lines, layout, prefix, union):
        """rows: fields whose names are relative to this scope."""
        index = 0
        last_end = rows[0][1] if rows else 0
        while index < len(rows):
            field, offset, fsize, ftype, dims, bits = rows[index]
            head, _, rest = field.partition(".")
            if bits:  # bit-fields: keep the storage unit once
                unit = offset - offset % fsize if False else offset
                group = [r for r in rows if r[5] and abs(r[1] - unit) < 4]
                names = ", ".join(f"{r[0]} {r[5]}" for r in group)
                lines.append(f"{indent}NvU32 {field}_bits;  // bit offset:bits {names}")
                index += len(group)
                last_end = offset + 4
                continue
            if rest or ftype in ("struct", "union"):
                group = [r for r in rows if r[0] == head or r[0].startswith(head + ".")]
                inner = [[r[0][len(head) + 1:], *r[1:]] for r in group if r[0] != head]
                direct = [r for r in inner if "." not in r[0]]
                is_union = len(direct) > 1 and len({r[1] for r in direct}) < len(direct)
                container = [r for r in group if r[0] == head]
                suffix = "".join(f"[{d}]" for d in re.findall(r"\d+", container[0][4])) if container and container[0][4] else ""
                lines.append(f"{indent}{'union' if is_union else 'struct'} {{")
                self.emit_members(inner, indent + "    ", lines, layout if not suffix else None, prefix + head + ".", is_union)
                lines.append(f"{indent}}} {head}{suffix};")
                if suffix and layout is not None:  # an array of unnamed structs: one row, its inside is bytes
                    layout.append((prefix + head, container[0][1], container[0][2], "struct", container[0][4]))
                index += len(group)
                last_end = rows[index][1] if index < len(rows) else 0
                continue
            if dims and int(re.findall(r"\d+", dims)[0]) == 0:
                lines.append(f"{indent}// {ftype} {field}[] follows at {offset}.")
                index += 1
                continue
            element, align = self.element(ftype, fsize, dims or "1")
            if not union and offset % 8 == 0 and last_end % align == 0 and last_end < offset:
                element_text = "alignas(8) "  # the driver's header aligns it by attribute
            else:
                element_text = ""
            last_end = offset + fsize
            suffix = "".join(f"[{d}]" for d in re.findall(r"\d+", dims)) if dims else ""
            if "*" in element:  # a type whose inside no table gives: bytes
                element, _, count = element.partition("*")
                suffix += f"[{count}]"
            name = field if field not in ("class", "private", "public", "operator", "new", "delete") else field + "_"
            lines.append(f"{indent}{element_text}{element} {name}{suffix};")
            if layout is not None:
                layout.append((prefix + name, offset, fsize, element, dims))
            index += 1

    def name_holes(self, s, lines):
        """Members for the bytes between members: small structs travel in registers, and would lose them (base.h)."""
        at, holes = 0, 0
        places = [i for i, line in enumerate(lines) if not line.strip().startswith("//")]
        inserts = []
        for place, field in zip(places + [len(lines)], s["fields"] + [("", s["size"], 0)]):
            if field[1] > at:
                inserts.append((place, f"    NvU8 hole{holes}[{field[1] - at}];"))
                holes += 1
            at = field[1] + field[2]
        for place, line in reversed(inserts):
            lines.insert(place, line)

    def without_overlap(self, struct):
        """Of an anonymous union's alternatives the first one."""
        if struct["kind"] == "union":
            return struct["fields"]
        kept, end = [], 0
        for field in struct["fields"]:
            if "." in field[0] or field[5]:
                kept.append(field)
            elif field[1] >= end or field[4] == "0":
                kept.append(field)
                end = max(end, field[1] + field[2])
        return kept

    def emit_structs(self):
        names, missing = self.wanted()
        if missing:
            print("no such struct:", " ".join(missing))
        order = self.closure(names)
        files = {}
        for name in order:
            base = os.path.basename(self.structs[name]["file"])[:-2]
            files.setdefault(base, []).append(name)
        layout_rows = []
        for base, members in sorted(files.items()):
            body, includes = [], set()
            for name in members:
                s = self.structs[name]
                lines, layout = [], []
                tail = self.without_overlap(s)
                self.emit_members(tail, "    ", lines, layout, "", s["kind"] == "union")
                real_members = [l for l in lines if not l.strip().startswith("//")]
                end = max([f[1] + f[2] for f in s["fields"]] + [0])
                align = self.align(name)
                if s["kind"] == "struct" and s["size"] <= REGISTER_BYTES and len(real_members) == len(s["fields"]):
                    self.name_holes(s, lines)
                forced = ""
                padded = (end + align - 1) // align * align
                if padded < s["size"]:
                    forced = "alignas(8) " if s["size"] % 8 == 0 else ""
                if not real_members:
                    lines.insert(0, "    // No fixed part.")
                body.append(f"{s['kind']} {forced}{name} {{")
                body.extend(lines)
                body.append("};")
                if real_members:
                    body.append(f"static_assert(sizeof({name}) == {s['size']});")
                    layout_rows.append((base, name, s["size"], layout))
                body.append("")
                for field in s["fields"]:
                    real = self.resolve(field[3])
                    if real and field[4] != "0":
                        other = os.path.basename(self.structs[real]["file"])[:-2]
                        if other != base:
                            includes.add(other)
                for alias, target in self.alias.items():
                    if target == name and alias not in self.structs and alias in self.alias_wanted(names):
                        body.insert(len(body) - 1, f"using {alias} = {name};")
            self.write_split(base, members, body, includes)
        lines = ["// Layout of every wire struct of this folder at 570.144, as the driver's headers give it: the compiler checks each row",
                 "// (layout.cpp), decoders print by it. Generated by tools/gen_abi.py. Source: " + SOURCE + " tag 570.144.",
                 "//    STRUCT(name, bytes)   FIELD(struct, member, offset, bytes, type, array dimensions)"]
        self.laid_out = {name for _, name, _, _ in layout_rows}
        for base, name, size, layout in layout_rows:
            lines.append(f"STRUCT({name}, {size})")
            for field, offset, fsize, element, dims in layout:
                lines.append(f"FIELD({name}, {field}, {offset}, {fsize}, {element}, \"{dims}\")")
        self.out["layout.def"] = "\n".join(lines) + "\n"
        heads = ["// Every wire struct of this folder. Generated by tools/gen_abi.py.", "#pragma once", ""]
        heads += [f'#include "rm/abi/{self.header(b)}"' for b in sorted(files)]
        self.out["all_structs.h"] = "\n".join(heads) + "\n"

    def laid_out_name(self, name):
        real = self.resolve(name) if name else None
        return real if real in self.laid_out else None

    def alias_wanted(self, names):
        return set(names)

    def header(self, base):
        return base.replace("-", "_") + ".h"

    def write_split(self, base, members, body, includes):
        head = [f"// Wire structs of the driver's {base}.h that the simulator uses, names and layout unchanged.",
                f"// Source: {SOURCE} tag 570.144, {self.structs[members[0]]['file']} (tools/gen_abi.py).",
                "#pragma once", ""]
        for other in sorted(includes):
            head.append(f'#include "rm/abi/{self.header(other)}"')
        head.append('#include "rm/abi/base.h"')
        head += ["", "namespace rm::abi {", ""]
        text = head + body + ["}  // namespace rm::abi"]
        if len(text) > 790:
            print(f"{base}: {len(text)} lines")
        self.out[self.header(base)] = "\n".join(text) + "\n"

    # --- number tables ---------------------------------------------------------------------------------------------
    def ranged(self, table, macro, out, comment, prefix=None):
        """Rows with since/until tags: MACRO(name, value, since, until)."""
        head, rows = load(self.dir, table)
        first = next(i for i, h in enumerate(head) if h.startswith("v5"))
        lines = comment
        for row in rows:
            if prefix and not row[0].startswith(prefix):
                continue
            cells = row[first:first + 6] + [""] * 6
            cells = cells[:6]
            present = [i for i, c in enumerate(cells) if c != ""]
            if not present:
                continue
            values = {int(cells[i], 0) for i in present}
            if len(values) == 1:
                lines.append(f"{macro}({row[0]}, {values.pop()}, {present[0]}, {present[-1]})")
            else:
                start = present[0]
                for i, j in zip(present, present[1:] + [None]):
                    if j is None or int(cells[j], 0) != int(cells[i], 0):
                        lines.append(f"{macro}({row[0]}, {int(cells[i], 0)}, {start}, {i})")
                        start = j
        self.out[out] = "\n".join(lines) + "\n"

    def emit_numbers(self):
        tags = \
            "// since, until: index of the first and last tag that has the row, 0 = 535.183.01 1 = 550.144.03 2 = 560.35.03 3 = 565.77\n" \
               "// 4 = 570.144 5 = 580.95.05. Generated by tools/gen_abi.py."
        self.ranged("rpc-functions.tsv", "RPC_FUNCTION", "rpc_functions.def",
                    ["// RPC function numbers.  RPC_FUNCTION(name, number, since, until)",
                     "// Source: " + SOURCE + ", rpc_global_enums.h per tag.", tags])
        self.ranged("rpc-events.tsv", "RPC_EVENT", "rpc_events.def",
                    ["// RPC event numbers; a name whose number moved has one row per range.  RPC_EVENT(name, number, since, until)",
                     "// Source: " + SOURCE + ", rpc_global_enums.h per tag.", tags])
        self.ranged("xid.tsv", "XID", "xid.def",
                    ["// Robust-channel error codes; the Xid number is the code.  XID(name, number, since, until)",
                    "// Source: " + SOURCE + ", nverror.h per tag.", tags])
        lines = ["// Status codes.  NV_STATUS_CODE(name, value)",
                 "// Source: " + SOURCE + " tag 570.144, nvstatuscodes.h. Generated by tools/gen_abi.py."]
        seen = set()
        for row in load(self.dir, "status-codes.tsv")[1]:
            value = row[6] or row[1]
            if not value or row[0] in seen:
                continue
            seen.add(row[0])
            lines.append(f"NV_STATUS_CODE({row[0]}, {value})")
        self.out["status_codes.def"] = "\n".join(lines) + "\n"
        lines = ["// RPC transport results (rpc_result); values below 0xFF000000 equal status codes.  RPC_RESULT(name, value)",
                 "// Source: " + SOURCE + " tag 570.144, rpc_headers.h. Generated by tools/gen_abi.py."]
        for row in load(self.dir, "rpc-results.tsv")[1]:
            if row[5]:
                lines.append(f"RPC_RESULT({row[0]}, {row[5]})")
        self.out["rpc_results.def"] = "\n".join(lines) + "\n"
        lines = ["// Class ids, whether TU104's class list has them, and the size of their allocation parameters at 570.144.",
                 "//    RM_CLASS(name, id, in_tu104_list, alloc_params_bytes)",
                 "// Source: " + SOURCE +
                 " tag 570.144, class headers, g_gpu_class_list.c, resource_list.h. Generated by tools/gen_abi.py."]
        seen = {}
        for row in load(self.dir, "classes.tsv")[1]:
            if "570.144" not in row[8] or row[0] in seen or not re.match(r"^[A-Za-z_]\w*$", row[0]):
                continue
            seen[row[0]] = 1
            size = int(row[7] or 0)
            lines.append(f"RM_CLASS({row[0]}, {row[1]}, {row[2] or 0}, {size})")
        self.classes = seen
        self.out["classes.def"] = "\n".join(lines) + "\n"
        parents = ["// RM resource classes at 570.144: who may be their parent and how an allocation reaches the GSP.",
                   "//    RM_RESOURCE(external class, internal class, multi_instance, parents, params kind, params bytes, reaches GSP)",
                   "// Source: " + SOURCE + " tag 570.144, resource_list.h. Generated by tools/gen_abi.py."]
        for row in load(self.dir, "rm-resource-list.tsv")[1]:
            if row[0] not in seen:
                continue
            reach = "ToPhysical" if "ALLOC_RPC_TO_PHYS_RM" in row[9] else "ToAll" if "RPC_TO_ALL" in row[9] else \
                "ChannelDescendant" if "CHANNEL_DESCENDANT_COMMON" in row[9] else "Local"
            parent = re.sub(r"[ ,|]+", "|", row[4].strip())
            parents.append(f'RM_RESOURCE({row[0]}, {row[2]}, {row[3]}, "{parent}", {row[5].title()}, {row[7] or 0}, {reach})')
        self.out["resources.def"] = "\n".join(parents) + "\n"
        lines = ["// Controls: id, size of the parameters and export flags at 570.144.  RM_CONTROL(name, id, params bytes, flags)",
                 "// flags bit 0x40 is ROUTE_TO_PHYSICAL. Source: " + SOURCE + " tag 570.144, ctrl/ headers and export tables.",
                 "// Generated by tools/gen_abi.py."]
        self.controls = {}
        for row in load(self.dir, "controls.tsv")[1]:
            if not re.match(r"^[A-Za-z_]\w*$", row[0]) or row[0] in self.controls:
                continue
            self.controls[row[0]] = int(row[1], 16)
            size = row[7] if row[3] in ("", "0") and row[7] else row[3] or 0  # the export table knows what the headers hide
            lines.append(f"RM_CONTROL({row[0]}, {row[1]}, {size}, {row[8] or '0x0'})")
        for name, number, size, flags in UNNAMED_CONTROLS:
            self.controls[name] = number
            lines.append(f"RM_CONTROL({name}, 0x{number:08x}, {size}, {flags})")
        for name, number, flags in LATER_CONTROLS:
            self.controls[name] = number
            lines.append(f"RM_CONTROL({name}, 0x{number:08x}, 0, {flags})")
        for name, number, flags, _ in EARLIER_CONTROLS:
            self.controls[name] = number
            lines.append(f"RM_CONTROL({name}, 0x{number:08x}, 0, {flags})")
        lines[3:] = sorted(lines[3:], key=lambda line: int(line.split(", ")[1], 16))
        self.out["controls.def"] = "\n".join(lines) + "\n"
        lines = ["// Which struct of layout.def a control or an allocation carries; one without a row is bytes to us.",
                 "//    CONTROL_PARAMS(control id, struct)   CLASS_PARAMS(class id, struct)",
                 "// Source: " + SOURCE + " tag 570.144, ctrl/ headers, resource_list.h. Generated by tools/gen_abi.py."]
        seen_ids = set()
        for row in load(self.dir, "controls.tsv")[1]:
            name = self.laid_out_name(row[6]) or self.laid_out_name(row[2])
            if name and row[1] not in seen_ids:
                seen_ids.add(row[1])
                if int(row[1], 16) in (number for number, _, _ in RENUMBERED_CONTROLS): continue
                lines.append(f"CONTROL_PARAMS({row[1]}, {name})")
        lines += [f"CONTROL_PARAMS(0x{number:08x}, {struct})" for _, number, _, struct in EARLIER_CONTROLS]
        for row in load(self.dir, "rm-resource-list.tsv")[1]:
            name = self.laid_out_name(row[6])
            if name and row[0] in seen:
                lines.append(f"CLASS_PARAMS({row[1]}, {name})")
        self.out["params.def"] = "\n".join(lines) + "\n"
        lines = ["// Driver ioctls.  NV_ESC(name, number, struct or void, bytes at 570.144)",
                 "// Source: " + SOURCE + " tag 570.144, nv_escape.h, nv-ioctl-numbers.h. Generated by tools/gen_abi.py."]
        for row in load(self.dir, "escapes.tsv")[1]:
            if re.match(r"^NV_\w+$", row[0]) and row[11]:
                size = row[11] if row[11].isdigit() else 0
                kind = row[4] if self.resolve(row[4]) else row[3] if self.resolve(row[3]) else "void"
                lines.append(f"NV_ESC({row[0]}, {row[1]}, {kind}, {size})")
        self.out["escapes.def"] = "\n".join(lines) + "\n"
        lines = ["// UVM ioctls (the raw request number).  UVM_IOCTL(name, number, struct, bytes at 570.144, offset of rmStatus)",
                 "// Source: " + SOURCE + " tag 570.144, uvm_ioctl.h, uvm_linux_ioctl.h. Generated by tools/gen_abi.py."]
        for row in load(self.dir, "uvm-ioctls.tsv")[1]:
            if row[11] and "test" not in row[5]:
                lines.append(f"UVM_IOCTL({row[0]}, {row[2]}, {row[3] if self.resolve(row[3]) else 'void'}, {row[11]}, {row[4] or 0})")
        self.out["uvm_ioctls.def"] = "\n".join(lines) + "\n"

    def emit_versions(self):
        """Deltas along the tree 570.144 <- 565.77 <- 560.35.03 <- 550.144.03 <- 535.183.01 and 570.144 <- 580.95.05."""
        parent = {"565.77": "570.144", "560.35.03": "565.77", "550.144.03": "560.35.03", "535.183.01": "550.144.03", "580.95.05": "570.144"}
        ident = {t: "v" + t.replace(".", "_") for t in TAGS}
        layouts = {t: {} for t in TAGS}
        for row in load(self.dir, "key-structs-by-version.tsv")[1]:
            name, tags, size, field, offset, fsize = row[0], row[1].split(), int(row[2]), row[3], int(row[4]), int(row[5])
            for tag in tags:
                entry = layouts[tag].setdefault(name, {"size": size, "fields": {}})
                entry["fields"][field.replace("[]", "").replace("[0]", "")] = (offset, fsize)
        for name, before, last, element, lengths in GROWN_LISTS:
            for tag, length in zip(TAGS, lengths):
                fields, at = {}, 0
                for field, size in {**before, last: element * length}.items():
                    fields[field] = (at, size)
                    at += size
                layouts[tag][name] = {"size": at, "fields": fields}
        differing = sorted(n for n in layouts["570.144"] if any(layouts[t].get(n) != layouts["570.144"][n] for t in TAGS))
        lines = ["// What differs between driver versions, as deltas along the tree of rm/versions.def.",
                 "//    STRUCT_BYTES(node, struct, bytes)   FIELD_AT(node, struct, field, offset, bytes)   FIELD_GONE(node, struct, field)",
                 "//    CONTROL_BYTES(node, control id, bytes)   ALLOC_BYTES(node, class id, bytes)",
                 "// The rows of the root, v570_144, list the whole struct. Source: " + SOURCE +
                 ", headers per tag. Generated by tools/gen_abi.py."]
        for name in differing:
            base = layouts["570.144"][name]
            lines.append(f"STRUCT_BYTES(v570_144, {name}, {base['size']})")
            for field, (offset, fsize) in base["fields"].items():
                lines.append(f'FIELD_AT(v570_144, {name}, "{field}", {offset}, {fsize})')
        for tag, up in parent.items():
            for name in differing:
                mine, theirs = layouts[tag].get(name, {"size": 0, "fields": {}}), layouts[up].get(name, {"size": 0, "fields": {}})
                if mine["size"] != theirs["size"]:
                    lines.append(f"STRUCT_BYTES({ident[tag]}, {name}, {mine['size']})")
                for field, place in mine["fields"].items():
                    if theirs["fields"].get(field) != place:
                        lines.append(f'FIELD_AT({ident[tag]}, {name}, "{field}", {place[0]}, {place[1]})')
                for field in theirs["fields"]:
                    if field not in mine["fields"]:
                        lines.append(f'FIELD_GONE({ident[tag]}, {name}, "{field}")')
        for table, macro, first in (("controls-by-version.tsv", "CONTROL_BYTES", 2), ("alloc-params-by-version.tsv", "ALLOC_BYTES", 3)):
            # One id may have had several names over time: what a tag has is what any of them has there.
            merged = {}
            for row in load(self.dir, table)[1]:
                cells = merged.setdefault(row[1], {})
                for tag, cell in zip(TAGS, (row + [""] * 9)[first:first + 6]):
                    if cell and not cells.get(tag):
                        cells[tag] = cell
            if macro == "CONTROL_BYTES":
                lines += [f"CONTROL_BYTES({ident['570.144']}, 0x{number:08x}, kAbsent)" for _, number, _ in LATER_CONTROLS]
                lines += [f"CONTROL_BYTES({ident['570.144']}, 0x{number:08x}, kAbsent)" for _, number, _, _ in EARLIER_CONTROLS]
            if macro == "CONTROL_BYTES":
                for number, tag, size in RENUMBERED_CONTROLS:
                    merged[f"0x{number:08x}"][tag] = "" if size is None else str(size)
            for number, cells in merged.items():
                for tag, up in parent.items():
                    mine, theirs = cells.get(tag, ""), cells.get(up, "")
                    if mine != theirs and mine.isdigit():
                        lines.append(f"{macro}({ident[tag]}, {number}, {mine})")
                    elif mine != theirs and not mine:
                        lines.append(f"{macro}({ident[tag]}, {number}, kAbsent)")
        self.out["../version_deltas.def"] = "\n".join(lines) + "\n"

    def emit_engine_idx(self):
        body = []
        for row in load(self.dir, "engines.tsv")[1]:
            if row[0] in ("MC_ENGINE_IDX", "RM_ENGINE_TYPE") and row[6]:
                body.append(f"inline constexpr NvU32 {row[1]} = {row[6]};")
        text = ["// Engine numbers inside the resource manager at 570.144. Generated by tools/gen_abi.py.",
                f"// Source: {SOURCE} tag 570.144, gpu_engine_type.h, engine_idx.h.", "#pragma once", "",
                '#include "rm/abi/base.h"', "", "namespace rm::abi {", ""] + body + ["", "}  // namespace rm::abi"]
        self.out["engine_idx.h"] = "\n".join(text) + "\n"

    def emit_constants(self):
        rows = load(self.dir, "sdk-constants.tsv")[1]
        emitted = set()
        for out, comment, pattern in CONSTANTS:
            body = []
            for name, kind, value, file in [r[:4] for r in rows]:
                taken = name in emitted or name in self.controls or name in self.classes
                if not re.match(pattern, name) or taken or "CMD" in name or name.endswith("MESSAGE_ID"):
                    continue
                if kind == "field" and re.match(r"^\d+:\d+$", value):
                    hi, lo = value.split(":")
                    if int(hi) < 64:
                        body.append(f"using {name} = sim::Field<{hi}, {lo}>;")
                        emitted.add(name)
                elif kind == "value" and re.match(r"^0x[0-9a-fA-F]+$", value):
                    kind_name = "NvU64" if int(value, 16) > 0xFFFFFFFF else "NvU32"
                    body.append(f"inline constexpr {kind_name} {name} = {value};")
                    emitted.add(name)
            text = [f"// {comment}, NVIDIA's names; a bit range is a sim::Field (tools/gen_abi.py).",
                    f"// Source: {SOURCE} tag 570.144, src/common/sdk/nvidia/inc.", "#pragma once", "",
                    '#include "rm/abi/base.h"', '#include "sim/bits.h"', "",
                    "namespace rm::abi {", ""] + body + ["", "}  // namespace rm::abi"]
            print(out, len(text))
            self.out[out] = "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    abi = Abi(options.reference)
    abi.emit_structs()
    abi.emit_numbers()
    abi.emit_versions()
    abi.emit_engine_idx()
    abi.emit_constants()
    stale = 0
    for name, text in sorted(abi.out.items()):
        path = os.path.join(ROOT, name)
        old = open(path, encoding="utf-8").read() if os.path.exists(path) else None
        if old != text:
            stale += 1
            if not options.check:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
    print(f"gen_abi: {len(abi.out)} files, {stale} {'stale' if options.check else 'written'}")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
