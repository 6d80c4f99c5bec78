#!/usr/bin/python3
"""Makes a site of the documents: each Markdown file of the tree becomes a page, each manual page, too.

    scripts/site.py OUT [MAN]
    scripts/site.py --check OUT

OUT: the folder to write; MAN: that of the manual pages, with man1 and man3. Every page has the groups of documents, a
search that needs no server (pages.js), and links to the pages before and behind it, in the order of docs/README.md.

What documents link to, pictures and sources, is copied beside them. Then every link of every page is followed: one that
leads nowhere is a fault, and the exit status 1. With --check this is all. It needs Debian's python3-markdown and, for
manual pages, mandoc.
"""
import html
import html.parser
import json
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
STYLE = """body { margin: 0; font: 16px/1.5 sans-serif; color: #222; background: #fff } main { max-width: 66em; padding: 0 1.5em }
p, li, dd, h1, h2, h3, h4, .foot { max-width: 52em } h1.Sh { font-size: 1.25em } pre, code { font: 14px/1.4 monospace; background: #f4f4f4 }
pre { padding: .6em; overflow-x: auto } code { overflow-wrap: anywhere } pre code { overflow-wrap: normal }
table { border-collapse: collapse; display: block; overflow-x: auto } td, th { border: 1px solid #ccc; padding: .2em .5em }
img { max-width: 100% } a { color: #05a } .head, .foot { width: 100%; border: 0; display: table }
.head td, .foot td { border: 0 } .head-vol, .foot-os { text-align: center } .head-rtitle { text-align: right }
nav { padding: 1em 1.5em; font-size: 15px } nav ul { list-style: none; padding: 0; margin: .2em 0 .8em } nav b a { color: inherit }
nav input { width: 100%; max-width: 20em; box-sizing: border-box; padding: .3em; font: inherit } nav .here { font-weight: bold }
.steps { border-top: 1px solid #ccc; margin: 2em 0; padding: .6em 0; max-width: 52em; overflow: hidden } .steps .next { float: right }
.permalink { color: inherit; text-decoration: none } dd { margin-left: 2em } .Bl-tag > dt { font-weight: bold }
@media (min-width: 62em) { body { display: grid; grid-template-columns: 15em minmax(0, 1fr) }
nav { border-right: 1px solid #ccc; position: sticky; top: 0; height: 100vh; overflow-y: auto; box-sizing: border-box } }
@media (max-width: 61.99em) { nav div:not(#found) { display: none } nav { border-bottom: 1px solid #ccc } }
@media print { pre { white-space: pre-wrap } nav { display: none } }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd } pre, code { background: #262626 }
a { color: #7bf } img { background: #fff } }
"""
# All words must be on a page; a title that is the word counts most, then titles, then headings. PAGES is the index: title,
# address, headings, text, weight.
SEARCH = """const box = document.getElementById("search"), found = document.getElementById("found");
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\\s+/).filter(w => w.length > 1);
  const count = (text, w) => text.toLowerCase().split(w).length - 1;
  const hits = !words.length ? [] : PAGES.map(p => [Math.min(...words.map(w => p[4] * (count(p[0], w) * 50 +
    (p[0].replace(/\\.\\d$/, "").toLowerCase() === w) * 500 + count(p[2], w) * 10 + Math.min(count(p[3], w), 9)))), p]).filter(h => h[0] > 0).sort((a, b) => b[0] - a[0]).slice(0, 12);
  found.replaceChildren();
  if (!words.length) return;
  const list = found.appendChild(document.createElement("ul"));
  if (!hits.length) list.appendChild(document.createElement("li")).textContent = "nothing found";
  for (const [, p] of hits) {
    const item = list.appendChild(document.createElement("li")), link = item.appendChild(document.createElement("a"));
    link.href = ROOT + p[1];
    link.textContent = p[0];
    const at = p[3].lastIndexOf(" ", p[3].toLowerCase().indexOf(words[0]) - 30) + 1;
    item.append(" ", p[3].slice(at, at + 90).replace(/ \\S*$/, ""));
  }
});
"""
GROUPS = ("README.md", "docs/README.md", "docs/start", "docs/guides", "docs/reference", "lab", "src", "CONTRIBUTING.md")


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


def title_of(path):
    with open(path, encoding="utf-8") as f:
        heading = re.search(r"(?m)^# +(.*)", f.read())
    return re.sub(r"[`*]", "", heading[1]) if heading else path


def reading_order():
    """The documents in the order in which docs/README.md names them, then all others, folder by folder."""
    with open("docs/README.md", encoding="utf-8") as f:
        links = re.findall(r"\]\(([^)#]+\.md)", f.read())
    order = ["README.md", "docs/README.md"] + [posixpath.normpath(posixpath.join("docs", link)) for link in links]
    files = list(markdown_files())
    order += sorted(files, key=lambda f: (next((i for i, g in enumerate(GROUPS) if f.startswith(g)), 99), f))
    return [path for path in dict.fromkeys(order) if path in files]


class Site:
    def __init__(self, out):
        self.out, self.linked, self.folders = out, set(), set()
        self.order, self.index = reading_order(), []
        self.titles = {path: title_of(path) for path in self.order}

    def navigation(self, path):
        """The groups of documents; in each its pages, in the order of reading."""
        def link(to, name):
            here = ' class="here"' if page_of(to) == path else ""
            return f'<a href="{self.relative(to, path)}"{here}>{html.escape(name)}</a>'
        parts = [f"<b>{link('README.md', 'locus')}</b> · {link('docs/README.md', 'all documents')}"]
        for folder, name in (("docs/start", "Start"), ("docs/guides", "Guides"), ("docs/reference", "Reference")):
            pages = "".join(f"<li>{link(to, self.titles[to])}</li>" for to in self.order if to.startswith(folder))
            parts.append(f"<div>{name}<ul>{pages}</ul></div>")
        more = "".join(f"<li>{link(to, name)}</li>" for to, name in (
            ("man/index.html", "Manual pages"), ("examples/README.md", "Examples"), ("lab/README.md", "Research"),
            ("CONTRIBUTING.md", "Contributing")) if to.startswith("man/") or to in self.order)
        return "".join(parts) + f"<div>More<ul>{more}</ul></div>"

    @staticmethod
    def relative(to, path):
        return posixpath.relpath(page_of(to), posixpath.dirname(path) or ".")

    def steps(self, path, order):
        """Links to the page before and the page behind."""
        if path not in order:
            return ""
        at, links = order.index(path), []
        for i, name in ((at - 1, "prev"), (at + 1, "next")):
            if 0 <= i < len(order):
                title = html.escape(self.titles.get(order[i], posixpath.basename(order[i])))
                arrow = f"← {title}" if name == "prev" else f"{title} →"
                links.append(f'<a class="{name}" rel="{name}" href="{self.relative(order[i], page_of(path))}">{arrow}</a>')
        return f'<div class="steps">{"".join(links)}</div>'

    def write(self, path, title, body, steps=""):
        headings = " ".join(re.sub(r"<[^>]*>", "", h) for h in re.findall(r"<h[1-4][^>]*>(.*?)</h", body, re.S))
        text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body)))
        weight = 3 if path.startswith("docs/") or path == "README.html" else 2 if path.startswith("man/") else 1
        self.index.append([title, path, html.unescape(headings), text, weight])
        root = posixpath.relpath(".", posixpath.dirname(path) or ".")
        page = ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
                '<meta name="viewport" content="width=device-width, initial-scale=1">'
                f"<title>{html.escape(title)}</title><style>\n{STYLE}</style></head>\n"
                '<body><nav><input id="search" type="search" placeholder="search" aria-label="search"><div id="found"></div>'
                f"{self.navigation(path)}</nav>\n<main>\n{body}\n{steps}</main>\n"
                f'<script>const ROOT = "{root}/"</script><script src="{root}/pages.js"></script></body></html>\n')
        self.put(path, page)

    def put(self, path, text):
        place = os.path.join(self.out, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as f:
            f.write(text)

    def write_index(self):
        """What the search looks through: a script, which a browser reads from a disk, too."""
        self.put("pages.js", f"const PAGES = {json.dumps(self.index, ensure_ascii=False)};\n{SEARCH}")

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
        self.write(page_of(path), self.titles[path], body, self.steps(path, self.order))

    def add_manuals(self, man):
        if not shutil.which("mandoc"):
            sys.exit("site.py: there is no mandoc here, which makes pages of manuals: apt install mandoc")
        pages, texts = [], {}
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
                body = re.sub(r"(?s)<pre>.*?</pre>", lambda m: re.sub(r"<br */?>\n?", "", m[0]), made.stdout)
                # Names of other pages are links.
                texts[name] = re.sub(r"<b>(locus[\w-]*)</b>\s*\((\d)\)", r'<a href="\1.\2.html">\1(\2)</a>', body)
        order = [f"man/{name}.html" for name in texts]
        for name, body in texts.items():
            self.write(f"man/{name}.html", name, body, self.steps(f"man/{name}.html", order))
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
    site.write_index()
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
