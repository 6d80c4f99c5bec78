#!/usr/bin/env python3
"""Writes paragraphs of Markdown that have lines of more than 120 columns anew, with lines of at most that. Tables, code,
headings and what is short enough stay as they are.

    scripts/wrap-documents.py FILE...
"""
import re
import sys
import textwrap

COLUMNS = 120


def wrap(item):
    """The lines of a paragraph, or of one item of a list."""
    if all(len(line) <= COLUMNS for line in item):
        return item
    first = re.match(r" *(?:[-*] +|\d+\. +)?", item[0]).group()
    text = " ".join(line.strip() for line in item)[len(first.lstrip()):].strip()
    lines = textwrap.wrap(text, COLUMNS, initial_indent=first, subsequent_indent=" " * len(first),
                          break_long_words=False, break_on_hyphens=False)
    # A line that would begin like an item, a heading or a quotation stays with the word before it.
    for i in range(1, len(lines)):
        if re.match(r" *([-*+>#]|\d+[.)])( |$)", lines[i]):
            return item
    return lines


def rewrite(lines):
    out, item, fenced = [], [], False

    def end():
        out.extend(wrap(item) if item else [])
        item.clear()

    for line in lines:
        is_code = fenced or line.startswith("```")
        if line.startswith("```"):
            fenced = not fenced
        is_fixed = is_code or not line.strip() or line[0] in "|#<" or (line.startswith("    ") and not item)
        if is_fixed or re.match(r" *([-*] |\d+\. )", line):
            end()
        if is_fixed:
            out.append(line)
        else:
            item.append(line)
    end()
    return out


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as f:
        before = f.read()
    after = "\n".join(rewrite(before.split("\n")))
    if after != before:
        with open(path, "w", encoding="utf-8") as f:
            f.write(after)
