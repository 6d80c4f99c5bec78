#!/usr/bin/env python3
"""Draws README's figure from README's table "What it brings": lab/gain.py > docs/start/gain.svg

A bar is the speed of eight nodes as a multiple of one node's: seconds of one node, divided by seconds of eight."""
import re

HEAD, BAR, GROUP, LEFT, UNIT = 94, 20, 70, 240, 120  # pixels; UNIT: of one node's speed
WAYS = (("rows stay at home", "#b0b0b0"), ("locus", "#2a6fb0"))

rows = []
with open("README.md", encoding="utf-8") as f:
    section = f.read().split("## What it brings")[1].split("\n## ")[0]
measured = re.search(r"Measured at (.*? \d{4})\.", section, re.S)[1].replace("\n", " ")
for line in section.split("\n"):
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    if line.startswith("|") and re.search(r"\d", cells[-1]):
        rows.append(cells)
height = HEAD + GROUP * len(rows) + 50
out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {height}" font-family="sans-serif" font-size="14">',
       f'<rect width="760" height="{height}" fill="#fff"/>',
       '<text x="16" y="24" font-size="16">Eight nodes: how many times as fast as one node</text>',
       f'<text x="16" y="44" font-size="12" fill="#666">{measured}</text>']
for k, (way, colour) in enumerate(WAYS):
    out.append(f'<rect x="{LEFT + k * 170}" y="56" width="14" height="14" fill="{colour}"/>'
               f'<text x="{LEFT + k * 170 + 20}" y="68">{way}</text>')
for tick in range(4):
    x = LEFT + tick * UNIT
    out.append(f'<line x1="{x}" y1="{HEAD - 16}" x2="{x}" y2="{height - 40}" stroke="{"#444" if tick < 2 else "#ddd"}"/>'
               f'<text x="{x}" y="{height - 22}" text-anchor="middle">{tick}</text>')
for i, (what, one, *eight) in enumerate(rows):
    y = HEAD + i * GROUP
    title, name = re.match(r"(.*?) \((\w+)\)", what).groups()
    out.append(f'<text x="{LEFT - 10}" y="{y + 17}" text-anchor="end">{title}</text>'
               f'<text x="{LEFT - 10}" y="{y + 36}" text-anchor="end" fill="#666">{name}</text>')
    for k, ((_, colour), seconds) in enumerate(zip(WAYS, eight)):
        speed = float(one) / float(seconds)
        width = speed * UNIT
        out.append(f'<rect x="{LEFT}" y="{y + k * (BAR + 4)}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>'
                   f'<text x="{LEFT + width + 8:.1f}" y="{y + k * (BAR + 4) + 15}" '
                   f'stroke="#fff" stroke-width="4" paint-order="stroke">{speed:.1f}</text>')
print("\n".join(out + ["</svg>"]))
