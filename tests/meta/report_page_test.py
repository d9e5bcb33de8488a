#!/usr/bin/env python3
"""The report page in a browser: what `tu104sim report` writes is what a headless Chromium shows, with no script and no other file.

usage: report_page_test.py TU104SIM TRACE
Exit code 77: there is no Chromium on this machine."""
import html.parser
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HEADINGS = ["Run", "Timeline", "RPCs", "Engine use", "Time by name", "Unmodelled", "What the driver and the firmware said"]


class Page(html.parser.HTMLParser):
    """Elements by name, the text of headings, and the rows of each table under its heading."""

    def __init__(self, text):
        super().__init__()
        self.count, self.headings, self.rows = {}, [], {}
        self.inside, self.row, self.widths = [], None, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        self.inside.append(tag)
        if tag == "tr":
            self.row = []
        elif tag in ("td", "th"):
            self.row.append("")
        elif tag == "h2":
            self.headings.append("")
        elif tag == "rect":
            self.widths.append(float(dict(attrs)["width"]))

    def handle_endtag(self, tag):
        if tag == "tr":
            self.rows.setdefault(self.headings[-1], []).append(self.row)
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if "h2" in self.inside:
            self.headings[-1] += data
        elif self.inside and self.inside[-1] in ("td", "th"):
            self.row[-1] += data


def dump(browser, path, home):
    """The document after the browser has built it."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={home}/profile",
               "--dump-dom", "file://" + path]
    environment = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def main():
    program, trace = sys.argv[1:3]
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("no Chromium on this machine: skipped")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as home:
        path = os.path.join(home, "report.html")
        subprocess.run([program, "report", trace, "-o", path], check=True, stdout=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as file:
            written = file.read()
        assert not re.search(r"<script|<link|<img|<iframe|https?:|@import|url\(", written), "the page needs another file"
        shown, source = Page(dump(browser, path, home)), Page(written)
    assert shown.headings == HEADINGS, shown.headings
    # The browser repaired nothing: elements and tables are those that were written.
    for tag in ("svg", "rect", "text", "title", "table", "tr", "td"):
        assert shown.count.get(tag, 0) == source.count.get(tag, 0) > 0, (tag, shown.count.get(tag), source.count.get(tag))
    assert shown.rows == source.rows
    assert shown.count["svg"] == 1 and "script" not in shown.count
    assert all(width > 0 for width in shown.widths) and len(shown.widths) > 100
    rpcs = {name: text for name, text in shown.rows["RPCs"][1:]}
    took = rpcs["NV_VGPU_MSG_FUNCTION_GSP_RM_ALLOC"]
    assert re.fullmatch(r"\d+ in [\d.]+ [mun]?s, mean [\d.]+ [mun]?s, longest [\d.]+ [mun]?s", took), took
    assert not any(re.search(r"mean 0 ", text) for text in rpcs.values()), rpcs
    engines = [name for name, _ in shown.rows["Engine use"][1:]]
    assert any(name.startswith("copy engine") for name in engines), engines
    print(f"report page: {len(shown.widths)} slices, {len(rpcs)} functions, {len(engines)} engines as written")


if __name__ == "__main__":
    main()
