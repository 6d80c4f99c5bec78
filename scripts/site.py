#!/usr/bin/python3
"""Makes a site of the documents: each Markdown file of the tree becomes a page, each manual page, too.

    scripts/site.py OUT [MAN]
    scripts/site.py --check OUT

OUT: the folder to write; MAN: that of the manual pages, with man1 and man3

What documents link to, pictures and sources, is copied beside them. Then every link of every page is followed: one that
leads nowhere is a fault, and the exit status 1. With --check this is all. It needs Debian's python3-markdown and, for
manual pages, mandoc.
"""
import html
import html.parser
import os
import posixpath
import re
import shutil
import subprocess
import sys
import urllib.parse

try:
    import markdown
except ImportError:
    sys.exit("site.py: there is no markdown for Python here: apt install python3-markdown")

# Prose has lines that are read easily, code has room for 120 columns.
STYLE = """body { max-width: 66em; margin: 1em auto; padding: 0 1em; font: 16px/1.5 sans-serif; color: #222 }
p, li, h1, h2, h3, h4, nav { max-width: 52em } nav { border-bottom: 1px solid #ccc; padding-bottom: .3em }
pre, code { font: 14px/1.4 monospace; background: #f4f4f4 } pre { padding: .6em; overflow-x: auto }
table { border-collapse: collapse; display: block; overflow-x: auto } td, th { border: 1px solid #ccc; padding: .2em .5em }
img { max-width: 100% } a { color: #05a } .head, .foot { width: 100%; border: 0; display: table }
@media print { pre { white-space: pre-wrap } }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd } pre, code { background: #262626 }
a { color: #7bf } img { background: #fff } }
"""
NAVIGATION = (("README.md", "locus"), ("docs/README.md", "documents"), ("docs/guides/cluster.md", "running"),
              ("examples/README.md", "examples"), ("man/index.html", "manual pages"))


def slug(text, _separator="-"):
    """The anchor of a heading, as GitHub makes it, and as scripts/documents.py checks it."""
    text = re.sub(r"<[^>]*>", "", html.unescape(text)).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def page_of(path):
    return path[:-3] + ".html" if path.endswith(".md") else path


def markdown_files():
    for folder, folders, names in os.walk("."):
        folders[:] = sorted(f for f in folders if f not in ("build", "bin") and not f.startswith("."))
        for name in sorted(names):
            if name.endswith(".md"):
                yield posixpath.normpath(posixpath.join(folder, name))


class Site:
    def __init__(self, out):
        self.out, self.linked, self.folders = out, set(), set()

    def write(self, path, title, body):
        folder = posixpath.dirname(path)
        links = " · ".join(f'<a href="{posixpath.relpath(page_of(to), folder or ".")}">{name}</a>'
                           for to, name in NAVIGATION if os.path.exists(to) or to.startswith("man/"))
        text = ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
                '<meta name="viewport" content="width=device-width, initial-scale=1">'
                f"<title>{html.escape(title)}</title><style>\n{STYLE}</style></head>\n"
                f"<body><nav>{links}</nav>\n{body}\n</body></html>\n")
        place = os.path.join(self.out, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as f:
            f.write(text)

    def target(self, path, link):
        """Where a link of the document leads on the site; notes what must be copied there."""
        place, mark, anchor = link.partition("#")
        if not place or re.match(r"[a-z]+:", link):
            return link
        to = posixpath.normpath(posixpath.join(posixpath.dirname(path), place))
        if os.path.isdir(to) and os.path.exists(posixpath.join(to, "README.md")):
            to = posixpath.join(to, "README.md")
        elif os.path.isdir(to):
            self.folders.add(to)
            to = posixpath.join(to, "index.html")
        elif os.path.isfile(to) and not to.endswith(".md"):
            self.linked.add(to)
        return posixpath.relpath(page_of(to), posixpath.dirname(path) or ".") + mark + anchor

    def add_document(self, path):
        with open(path, encoding="utf-8") as f:
            source = f.read()
        maker = markdown.Markdown(extensions=["tables", "fenced_code", "toc", "sane_lists"],
                                  extension_configs={"toc": {"slugify": slug}})
        # A list that follows a line of text at once begins there, as on GitHub; but what stands between fences is code.
        parts = re.split(r"(?ms)(^```.*?^```$)", source)
        parts[::2] = [re.sub(r"(?m)^(?! *[-*|]|\d+\.|    |$)(.+)\n(?=(?:[-*]|\d+\.) )", r"\1\n\n", text)
                      for text in parts[::2]]
        source = "".join(parts)
        body = maker.convert(source)
        body = re.sub(r'(href|src)="([^"]*)"',
                      lambda m: f'{m[1]}="{html.escape(self.target(path, html.unescape(m[2])))}"', body)
        heading = re.search(r"(?m)^# +(.*)", source)
        self.write(page_of(path), heading[1] if heading else path, body)

    def add_manuals(self, man):
        if not shutil.which("mandoc"):
            sys.exit("site.py: there is no mandoc here, which makes pages of manuals: apt install mandoc")
        pages = []
        for section in ("man1", "man3"):
            for name in sorted(os.listdir(os.path.join(man, section))):
                place = os.path.join(man, section, name)
                with open(place, encoding="utf-8") as f:
                    first = f.readline()
                link = re.match(r"\.so \w+/(\S+)", first)
                pages.append((name, link[1] if link else name))
                if link:
                    continue
                made = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", place], capture_output=True,
                                      text=True, check=True, timeout=60)
                # Its line breaks beside the ends of lines would be twice as many.
                body = re.sub(r"(?s)<pre>.*?</pre>", lambda m: m[0].replace("<br/>\n", ""), made.stdout)
                self.write(f"man/{name}.html", name, body)
        lines = "\n".join(f'<li><a href="{html.escape(to)}.html">{html.escape(name)}</a></li>' for name, to in pages)
        self.write("man/index.html", "manual pages", f"<h1>Manual pages</h1>\n<ul>\n{lines}\n</ul>")

    def copy_linked(self):
        for path in sorted(self.folders):
            names = "\n".join(f"<li>{html.escape(name)}</li>" for name in sorted(os.listdir(path)))
            self.write(posixpath.join(path, "index.html"), path, f"<h1>{html.escape(path)}</h1>\n<ul>\n{names}\n</ul>")
        for path in sorted(self.linked):
            place = os.path.join(self.out, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copyfile(path, place)


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.to, self.anchors = [], set()

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.to.append(value)
            if name == "id":
                self.anchors.add(value)


def check(out):
    """Every link of every page, with its anchor."""
    pages, faults = {}, []
    for folder, _, names in os.walk(out):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(folder, name)
                pages[os.path.normpath(path)] = links = Links()
                with open(path, encoding="utf-8") as f:
                    links.feed(f.read())
    count = 0
    for path, links in sorted(pages.items()):
        for link in links.to:
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            place, _, anchor = urllib.parse.unquote(link).partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(path), place)) if place else path
            if not os.path.isfile(to):
                faults.append(f"{path}: {link} leads nowhere")
            elif anchor and to in pages and anchor not in pages[to].anchors:
                faults.append(f"{path}: {link}: there is no such heading")
    return len(pages), count, faults


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    if sys.argv[1] == "--check":
        return report(sys.argv[-1])
    out = sys.argv[1]
    shutil.rmtree(out, ignore_errors=True)
    site = Site(out)
    for path in markdown_files():
        site.add_document(path)
    if len(sys.argv) == 3:
        site.add_manuals(sys.argv[2])
    else:
        site.write("man/index.html", "manual pages", "<p>They were not made.</p>")
    site.copy_linked()
    shutil.copyfile(os.path.join(out, "README.html"), os.path.join(out, "index.html"))
    return report(out)


def report(out):
    pages, links, faults = check(out)
    for line in faults:
        print(line)
    print(f"{pages} pages in {out}, {links} links within, {len(faults)} faults")
    return 1 if faults or links == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
