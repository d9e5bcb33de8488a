#!/usr/bin/env python3
"""What the documents and the help texts say can be typed: every tu104sim command in them parses (files may be missing), and every path
and link in them exists.

usage: tests/meta/docs_test.py BUILD_DIR
"""
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = "sim|gpu_model|rm|guest_harness|tests|tools|docs|examples|seeds|bench|fuzz|cmake"
PATH = re.compile(rf"(?:{FOLDERS})/[\w./*-]*\w/?")
COMMAND = re.compile(r"^\s*(?:\S*/)?(?:tu104sim|\$sim) +([a-z].*)$")
# Would begin long work instead of failing at the first missing file.
NOT_RUN = re.compile(r"^(conform --record|record)\b")


def documents():
    return [os.path.join(ROOT, "README.md"), os.path.join(ROOT, "seeds", "README.md"),
            *sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))]


def command_in(text):
    """The arguments of the tu104sim command that `text` begins, without comment, pipe or a second command; None when there is none."""
    found = COMMAND.search(text)
    if not found:
        return None
    words = re.split(r"\s+#|\s+\||\s+&&|\s+>|\s{3,}|;", found.group(1))[0]
    words = re.sub(r"\bN\b", "7", words)
    try:
        return shlex.split(words)
    except ValueError:
        return None


def commands(text):
    """Commands of fenced blocks, line by line, and of inline code, which may name a command without all that it needs."""
    fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
            continue
        for part in (line.split("&&") if fenced else re.findall(r"`([^`]+)`", line)):
            words = command_in(part)
            if words:
                yield " ".join(shlex.quote(w) for w in words), fenced


def check_paths(name, text, problems):
    for code in re.findall(r"`([^`\s]+)`", text):
        # A name in capitals stands for any.
        placeholder = re.search(r"[A-Z]{4,}", os.path.basename(code))
        place = os.path.join(ROOT, code)  # a file, or its name without .h and .cpp
        if PATH.fullmatch(code) and not placeholder and not glob.glob(place) and not glob.glob(place + ".*"):
            problems.append(f"{name}: `{code}` does not exist")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        if not os.path.exists(os.path.join(os.path.dirname(os.path.join(ROOT, name)), target)):
            problems.append(f"{name}: the link to {target} leads nowhere")


def main():
    program = os.path.join(os.path.abspath(sys.argv[1]), "tu104sim")
    problems, seen = [], {}
    for path in documents():
        name = os.path.relpath(path, ROOT)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        check_paths(name, text, problems)
        for command, whole in commands(text):
            if whole or command not in seen:
                seen[command] = (name, whole)
    help_text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^  ([a-z][a-z-]+)  ", help_text.split("Subcommands:")[1], re.M)
    for name in names:
        text = subprocess.run([program, name, "--help"], capture_output=True, text=True, check=True).stdout
        lines = [line.removeprefix("  source <(").removesuffix(")") for line in text.splitlines()]
        examples = [command_in(part) for line in lines for part in line.split("&&")]
        examples = [words for words in examples if words]
        if not any(words[0] == name for words in examples):
            problems.append(f"{name} --help has no example of it")
        for words in examples:
            seen[" ".join(shlex.quote(w) for w in words)] = (f"{name} --help", True)
    with tempfile.TemporaryDirectory() as scratch:
        for command, (where, whole) in seen.items():
            if NOT_RUN.match(command):
                continue
            done = subprocess.run([program, *shlex.split(command)], cwd=scratch, capture_output=True, text=True, errors="replace",
                                  timeout=120, check=False)
            mention = not whole and re.search(r" is required;| missing;", done.stderr.split("\n")[0])
            if ("; see `tu104sim" in done.stderr and not mention) or done.returncode not in (0, 1, 2):
                problems.append(f"{where}: tu104sim {command}: exit {done.returncode}: {done.stderr.strip().splitlines()[:1]}")
    for problem in problems:
        print(problem)
    print(f"docs_test: {len(seen)} commands, {len(names)} subcommands, {len(problems)} problems")
    sys.exit(1 if problems or len(seen) < 20 else 0)


if __name__ == "__main__":
    main()
