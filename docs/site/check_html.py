# SPDX-License-Identifier: Apache-2.0
"""Checks the pages of a site:

    check_html.py FOLDER

Reports links to missing files and anchors, and scripts, styles and images of other servers.
"""
import html.parser
import pathlib
import sys
import urllib.parse


class page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids.add(found.get("id"))
        loads = tag in ("script", "img", "iframe", "source") or tag == "link" and found.get("rel") not in ("canonical", "next", "prev")
        for target in (found.get("href"), found.get("src")):
            if target:
                (self.loaded if loads else self.links).append(target)


def problems(folder):
    pages = {path.resolve(): page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    if not pages:
        yield f"{folder}: no pages; run docs/build.sh"
    for path, one in pages.items():
        name = path.relative_to(folder.resolve())
        for target in one.loaded:
            if urllib.parse.urlsplit(target).scheme not in ("", "data") or target.startswith("//"):
                yield f"{name}: loads {target} from another server; ship the file with the site"
        for target in one.links + one.loaded:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or target.startswith("//"):
                continue
            there = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if not there.is_file():
                yield f"{name}: the link {target} leads to no file"
            elif parts.fragment and there in pages and urllib.parse.unquote(parts.fragment) not in pages[there].ids:
                yield f"{name}: the link {target} leads to no anchor"


def main():
    found = list(problems(pathlib.Path(sys.argv[1])))
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
