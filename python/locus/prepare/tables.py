# SPDX-License-Identifier: Apache-2.0
"""Rows of fields: CSV and its relatives. All cells are text; what a column is, is decided for the whole of it.

Python's csv reads them, not pandas, which fills short rows, takes long ones for an index and rounds ids. Separator and
heading are found in the first rows, and said; what could be read in two ways is refused."""
import argparse
import collections
import csv
import itertools
import re
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from .files import Refused, Source, counted, listed, number

SEPARATORS = {"\t": "tabs", "::": '"::"', ",": "commas", ";": "semicolons", "|": '"|"', " ": "blanks"}
MISSING = {"", "?", "na", "nan", "null", "none", "n/a", "#n/a", "<na>", "\\n", "-"}
LOOKED_AT = 1000
has_tab = re.compile(r"[\t\r\n]").search
# What columns of the strict forms are called elsewhere.
USUAL: Dict[str, List[str]] = {what: names.split(",") for what, names in {
    "row": "row,user,userid,user_id,user-id,uid,u,username,reviewerid,customer,customerid,customer_id",
    "column": "column,col,item,itemid,item_id,iid,i,movie,movieid,movie_id,product,productid,product_id,book,isbn,asin,song,title",
    "value": "value,rating,ratings,score,stars,overall,plays,book-rating",
    "head": "head,subject,h,s,source,from", "relation": "relation,predicate,r,p,rel,edge,label",
    "tail": "tail,object,t,o,target,to", "source": "source,src,from,node1,head,sourceid,source_id,fromnodeid,id1,u",
    "target": "target,dst,to,node2,tail,targetid,target_id,tonodeid,id2,v", "node": "node,nodeid,node_id,id,name,vertex",
    "class": "class,label,labels,y,target", "purpose": "purpose,split,set", "word1": "word1,word 1", "word2": "word2,word 2",
    "rating": "simlex999,rating,score,similarity,relatedness,human (mean),mean",
    "label": "label,click,clicked,target,class,y,is_click"}.items()}


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


class Table:
    """A file of rows. `wanted`: of USUAL, the columns of its strict form; `least` fields a row. `asks`: ? stands where a name is missing."""

    def __init__(self, source: Source, told: argparse.Namespace, wanted: Sequence[str], least: int = 2, option: str = "--columns",
                 asks: bool = False) -> None:
        self.source, self.told, self.wanted, self.option, self.asks = source, told, wanted, option, asks
        self.names: Optional[List[str]] = None
        self.width = self.skipped = self.hidden = self.unnamed = 0
        self._fault: Optional[Refused] = None  # wrong quotation marks
        self._named: Sequence[int] = ()
        self._numeric: List[int] = []  # columns of numbers, behind the first row
        self._marks = tuple("#%" if told.comments is None else "" if told.comments == "none" else told.comments)
        self._find_separator(least)
        sample = self._sample()
        self._numeric = [i for i in range(self.width) if all(self.number(row[i]) or is_missing(row[i]) for row in sample[1:])
                         and any(self.number(row[i]) for row in sample[1:])]
        self._floats = {i for i in self._numeric if all(re.fullmatch(r"(\d+\.0)?", row[i].strip(" ")) for row in sample[1:])}
        self._find_heading(sample[0], sample[1:])

    def refuse(self, text: str) -> Refused:
        return Refused(f"{self.source.name}:{self.source.at}: {text}")

    def _sample(self) -> List[List[str]]:
        return list(itertools.islice(self._all(), LOOKED_AT))

    def _data(self) -> Iterator[str]:
        """Lines that are neither blank nor comments; within quotation marks all. One that may be a comment or a row is refused."""
        inside, self.skipped = False, 0
        for line in self.source.lines():
            if self.source.at == 1 and re.fullmatch("sep=.", line):  # Excel's
                self.skipped += 1
                continue
            if not inside and (line[:1] in " \t" or line[0] in self._marks) and (
                    not (start := line.lstrip(" \t")) or start.startswith(self._marks)):
                if start and self.told.comments is None and self._may_be_row(start):
                    raise self.refuse(f"\"{line[:40]}\" may be a row or a comment: --comments none if it is a row, "
                                      f"--comments '{start[0]}' if not")
                self.skipped += 1
                continue
            if self.quotes and '"' in line:
                inside ^= line.count('"') % 2 == 1
            yield line.replace("\t", " ").strip(" ") if self.separator == " " else line

    def _may_be_row(self, line: str) -> bool:
        """With as many fields, and no blank behind the mark, or numbers where rows have them."""
        cells: List[str] = next(self._cut(iter([line])), []) if self.width else []
        return len(cells) == self.width > 0 and (not re.match(r"[#%]+( |$)", line) or (
            bool(self._numeric) and all(self.number(cells[i]) for i in self._numeric)))

    def _cut(self, lines: Iterator[str]) -> Iterator[List[str]]:
        return (line.split("::") for line in lines) if self.separator == "::" else csv.reader(
            (line + "\n" for line in lines), delimiter=self.separator, quoting=csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE, strict=True,
            skipinitialspace=True)

    def _all(self) -> Iterator[List[str]]:
        try:
            for i, row in enumerate(self._cut(self._data())):
                if self.width and len(row) != self.width:
                    hint = ": row names? R's row.names = FALSE leaves them out; a comma within a field needs quotation marks"
                    raise self.refuse(f"has {counted(len(row), 'field')}, and the {'rows before it have' if i > 1 else 'first row has'} {self.width}"
                                      + hint * (i == 1 and len(row) > self.width))
                yield row
        except csv.Error as fault:
            raise self.refuse(f"its quotation marks are wrong ({fault}): --quotes none takes them for text") from None

    def rows(self) -> Iterator[List[str]]:
        """Without the heading."""
        return itertools.islice(self._all(), int(self.names is not None), None)

    # ---- the separator ----

    def _use(self, separator: str) -> None:
        self.separator, self.quotes = separator, self.told.quotes != "none" and separator != "::"

    def _width_by(self, separator: str) -> int:
        """How many fields all of the first rows have; 0: not as many each."""
        self._use(separator)
        try:
            widths = {len(row) for row in self._sample()}
        except Refused as refusal:
            self._fault = refusal
            return 0
        return widths.pop() if len(widths) == 1 else 0

    def _find_separator(self, least: int) -> None:
        told = {"tab": "\t", "\\t": "\t", "blank": " "}.get(self.told.separator, self.told.separator)
        if told and told != "::" and len(told) != 1:
            raise Refused(f"--separator {told}: must be one character, ::, tab or blank")
        self._use("\t")
        first = next(self._data(), None)
        if first is None:
            raise Refused(f"{self.source.name} has no rows, or all begin with the mark of a comment (--comments none)")
        if first.lstrip("[ ").startswith('{"') and not told:
            raise Refused(f"{self.source.name} is JSON: pandas reads it (read_json, lines=True for a line a row), and to_csv writes a table")
        choices = [told] if told else [each for each in SEPARATORS if each in first.strip(" ") or (each == " " and "\t" in first)]
        found = [each for each in choices if self._width_by(each) >= least]
        if len(found) > 1:  # tabs are before all others, blanks behind
            found = found[:1] if found[0] == "\t" else [each for each in found if each != " "]
        if self._fault and (found or [" "]) == [" "]:
            raise self._fault
        if len(found) > 1:
            raise Refused(f"{self.source.name}: {' or '.join(SEPARATORS[each] for each in found)} may separate its fields: "
                          "--separator says which")
        self._use((found or choices or ["\t"])[0])
        self.width = len(next(self._all()))
        if self.width >= least:
            self._sample()  # says in which line
        if not (found or self.width == least == 1):
            raise Refused(f"{self.source.name}: expected rows of {least} fields or more, all as many, with tabs, ::, commas, "
                          "semicolons, | or blanks between (--separator)")

    # ---- the heading ----

    def _find_heading(self, first: List[str], rest: List[List[str]]) -> None:
        first = [cell.strip() for cell in first]
        if self.told.heading == "no" or (self.told.heading is None and not self._is_heading(first, rest)):
            return
        self.names = first
        twice = {name for name in first if name and first.count(name) > 1}
        if twice:
            raise Refused(f"{self.source.name}: two columns are called \"{min(twice)}\": give one another name")
        self.hidden = int(first[0] in ("", "Unnamed: 0"))

    def _is_heading(self, first: List[str], rest: List[List[str]]) -> bool:
        asked = {*",".join(filter(None, [self.told.columns, *self.told.asked])).split(",")} - {""}
        counting = [str(i) for i in range(len(first))]
        found = [name for name in asked if name in first and not name.isdigit()]
        if len(found) > (len(asked) // 2 if self.told.like else 0) or first == ["", *counting[:-1]]:
            return True
        sure = [i for i in self._numeric if not is_missing(first[i])]
        words = [i for i in sure if not self.number(first[i])]
        usual = {name for of in self.wanted for name in USUAL[of] if len(name) > 1} & {cell.lower() for cell in first}
        doubtful = 0 < len(words) < len(sure) or any(first[i][:1].isdigit() for i in words) or (
            len(first) > 2 and first == counting and self.separator == ",")
        if not sure and not usual and len(rest) >= 8:  # words, of which none comes again, while others do
            counts = collections.Counter(itertools.chain(first, *rest))
            doubtful = all(counts[cell] == 1 for cell in first) and not any(all(counts[c] == 1 for c in row) for row in rest)
        if doubtful:
            raise Refused(f"{self.source.name}: its first row ({', '.join(first)[:60]}) may be a heading: --heading yes or no")
        return bool(words) or (not sure and len(usual) >= min(2, len(self.wanted)))

    # ---- columns ----

    def place(self, told: str, option: str) -> int:
        """Of a column that the command line names, or numbers from 1."""
        if told in (self.names or []):
            return (self.names or []).index(told)
        if told.isdigit() and 1 <= int(told) <= self.width:
            return int(told) - 1
        raise Refused(f"{self.source.name} has no column \"{told}\" ({option}); it has {self._has()}"
                      + "; an empty column of that name will do" * (option == "--like"))

    def _has(self) -> str:
        hint = "; of a matrix pandas' stack() makes rows" if self.width > 15 else ""
        return listed(self.names) + hint if self.names else f"{self.width}, and no heading{hint}"

    def usual(self, what: str) -> int:
        """The place of a column that is called so; -1: none is."""
        low = [name.lower() for name in self.names or []]
        return next((low.index(name) for name in USUAL[what] if name in low), -1)

    def title(self, at: int) -> str:
        return "asked" if at < 0 else f"\"{self.names[at]}\"" if self.names else f"column {at + 1}"

    def choose(self, optional: int = 0) -> List[int]:
        """The places of the wanted columns; the last `optional` may be missing."""
        least, count, wanted = len(self.wanted) - optional, self.width - self.hidden, len(self.wanted)
        if self.told.columns:
            at = [-1 if self.asks and each == "?" else self.place(each, "--columns") for each in self.told.columns.split(",")]
            if not least <= len(at) <= wanted or len(set(at)) < len(at):
                raise Refused(f"--columns must name {wanted} columns: {', '.join(self.wanted)}")
            return at
        named, in_order = [self.usual(what) for what in self.wanted], list(range(self.hidden, self.width))[:wanted]
        if count == least:
            named = named[:least]
        if (min(named) >= 0 or (self.asks and count == 2 and named[1] >= 0)) and len(set(named)) == len(named):
            return named
        agrees = all(at in (-1, place) for at, place in zip(named, in_order))
        doubt = "" if self.names else self._doubt(count > least)
        if not doubt and ((count in (least, wanted) and agrees) or (count > wanted and not self.names)):
            return in_order
        raise Refused(f"{self.source.name}: {doubt}which columns are {', '.join(self.wanted)}? {self.option} says it, by names or by "
                      f"numbers from 1{', ? is what is asked' if self.asks else ''}; there are {self._has()}")

    def _doubt(self, has_more: bool) -> str:
        """Why columns without a heading may not be in the form's order."""
        columns = [list(column) for column in zip(*itertools.islice(self.rows(), LOOKED_AT))]
        first, second, third = (columns + [[]] * 3)[:3]
        is_counted = len(first) > 2 and first in ([str(i + base) for i in range(len(first))] for base in (0, 1))
        is_index = self.wanted[0] != "node" and len(first) >= 20 and all(map(str.isdigit, first)) and (
            len({*first}) == len(first) > len({*second}))  # pandas' index, of a sample
        if self.separator == " " and self.width == 3 and (re.search(r"\.(mtx|mm)$", self.source.name) or (
                (first[0] + second[0] + third[0]).isdigit() and int(third[0]) == len(first) - 1)):
            return "it seems to be MatrixMarket without its first line, %%MatrixMarket matrix coordinate real general: "
        if has_more and (is_counted or is_index):
            numbers = [str(i + 1) for i in range(min(self.width, len(self.wanted) + 1))]
            return (f"column 1 has each number once: if it counts rows, {self.option} {','.join(numbers[1:])} leaves it out, if not, "
                    f"{','.join(numbers[:len(self.wanted)])} takes it: ")
        words = {word for word in second if not word.isdigit()}
        if self.wanted[0] == "head" and 2 * len(words & {*first, *third}) > len(words):
            return "column 2 has names of columns 1 or 3: "
        return "columns 1 and 3 have the same names: " if (
            self.wanted[0] == "source" and not {*first} & {*second} and {*first} & {*third}) else ""

    def named(self, at: Sequence[int]) -> Iterator[Tuple[List[str], List[str]]]:
        """Rows, and their names in these places. Those where one is empty are left out, and counted."""
        self.unnamed, self._named = 0, at
        for row in self.rows():
            names = ["" if i < 0 else row[i].strip(" ").removesuffix(".0" if i in self._floats else "") for i in at]
            names = [name or "?" for name in names] if self.asks else names
            if has_tab("".join(names)):
                raise self.refuse("has a tab or a line end in a name: a blank must stand there")
            if all(names):
                yield row, names
            else:
                self.unnamed += 1

    def number(self, cell: str) -> Optional[str]:
        if self.told.decimal == ",":
            cell = cell.replace(".", "-").replace(",", ".")  # a point makes it none
        return number(cell)

    def value(self, row: List[str], at: int) -> Optional[str]:
        """None: it is missing."""
        text = self.number(row[at])
        if text is None and not is_missing(row[at]):
            hint = "" if "," not in row[at] else " (--decimal , if commas are before fractions)" if self.told.decimal == "." else (
                ": there must be no points between thousands")
            raise self.refuse(f"{self.title(at)} has \"{row[at][:40]}\", which is no number{hint}")
        return text

    def about(self, at: Sequence[int]) -> str:
        left = listed([self.title(i) for i in range(self.hidden, self.width) if i not in at])
        return (f"{SEPARATORS.get(self.separator, self.separator)} between, {'a' if self.names else 'no'} heading; "
                + ", ".join(f"{what} is {self.title(i)}" for what, i in zip(self.wanted, at))
                + ("; row names in front left out" if self.hidden else "")
                + ("; names without .0 at the end" if self._floats & {*self._named} else "")
                + (f"; {counted(self.unnamed, 'row')} with an empty name left out" if self.unnamed else "") + (f"; left out: {left}" if left else "")
                + (f"; {counted(self.skipped, 'blank line or comment')} left out" if self.skipped else "")
                + ("" if self.quotes else "; quotation marks are text"))
