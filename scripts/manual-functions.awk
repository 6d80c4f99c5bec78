# Writes the manual pages of section 3 from headers, with examples from examples/calls.c:
#     awk -v folder=F -v version=V -f scripts/manual-functions.awk examples/calls.c include/locus.h...
#
# A page is what stands between two empty lines of the header, if it declares something. Its first comment is the
# description; a comment before or behind a later function is that function's, one before a later constant the
# constant's. What a comment says of -E... are the errors; the example is each function of calls.c that calls one of the
# page's. Every declared name leads to the page.
#
# A header's first comment, and a list of its pages, are the page that is called as the header is: locus(3).

# ---- examples: blocks between empty lines
FNR == NR {
    if ($0 == "") blocks++
    else block[blocks] = block[blocks] $0 "\n"
    next
}

function quoted(line) {
    gsub(/\\/, "\\e", line); gsub(/-/, "\\-", line)
    while (match(line, /`[^`]+`/))
        line = substr(line, 1, RSTART - 1) "\\fI" substr(line, RSTART + 1, RLENGTH - 2) "\\fR" substr(line, RSTART + RLENGTH)
    if (line ~ /^[.']/) line = "\\&" line
    return line
}

function bare(line) { # what a line of a comment says
    sub(/^ *\/\*+ ?/, "", line); sub(/ ?\*\/ *$/, "", line); sub(/^ *\* ?/, "", line)
    return line
}

function trimmed(line) { gsub(/^ +|[. ]+$/, "", line); return line }

# An item of ERRORS: the values, and what they mean.
function error_item(values, text) { return ".TP\n.B " quoted(values) "\n" quoted(trimmed(text)) "\n" }

function add(n,    i) {
    for (i = 1; i <= names; i++) if (name[i] == n) return
    if (n != "" && !(n in known)) { name[++names] = n; known[n] = 1 }
}

# Of an enumeration's lines: each word in capitals that is no value of another one.
function add_constants(line) {
    gsub(/=[^,}]*/, "", line)
    while (match(line, /LOCUS_[A-Z0-9_]+/)) {
        add(substr(line, RSTART, RLENGTH))
        line = substr(line, RSTART + RLENGTH)
    }
}

# What a line outside comments declares; "" or the function's name.
function declare(line,    found) {
    sub(/\/\*.*/, "", line)
    if (line ~ /^LOCUS_API|^typedef/ && match(line, /locus_[a-z0-9_]+\(/)) found = substr(line, RSTART, RLENGTH - 1)
    else if (line ~ /^ +\*?locus_[a-z0-9_]+\(/ && match(line, /locus_[a-z0-9_]+/)) found = substr(line, RSTART, RLENGTH)
    else if (line ~ /^typedef .*;/ && match(line, /locus[a-z0-9_]*;/)) add(substr(line, RSTART, RLENGTH - 1))
    else if (line ~ /^(struct|enum) locus_[a-z_]+ \{/ && match(line, /locus_[a-z_]+/)) add(substr(line, RSTART, RLENGTH))
    else if (line ~ /^#define LOCUS_[A-Z_]+ / && line !~ /LOCUS_API/ && match(line, /LOCUS_[A-Z_]+/)) add(substr(line, RSTART, RLENGTH))
    else if (line ~ /^#define locus_[a-z_]+/ && match(line, /locus_[a-z_]+/)) add(substr(line, RSTART, RLENGTH))
    add(found)
    if (line ~ /^enum .*\{/) in_enum = 1
    if (in_enum) { sub(/^.*\{/, "", line); add_constants(line) }
    if (line ~ /\}/) in_enum = 0
    return found
}

# Sorts the lines of a page into description, code, and what is said of single functions.
function read_page(    i, line, comment, depth, function_, said, first) {
    first = 1
    for (i = 1; i <= count; i++) {
        line = text[i]
        if (!depth && !comment && !first && line ~ /^\/\*.*\*\/$/ && text[i + 1] ~ /^(#define|typedef [^(]*;)/) {
            code = code line "\n" # of one line: it is as good before what it is about
            continue
        }
        if (!depth && (comment || line ~ /^\/\*/)) {
            said = said bare(line) "\n"
            comment = line !~ /\*\//
            if (!comment && first) { description = said; said = ""; first = 0 }
            continue
        }
        if (line ~ /^#(ifdef|endif|if|else|ifndef)/) continue
        first = 0
        function_ = declare(line)
        if (line ~ /\{/) depth = 1
        if (!depth && line !~ /^(#define|typedef)/ && match(line, / *\/\*.*\*\/ *$/)) {
            said = said bare(substr(line, RSTART)) "\n"
            line = substr(line, 1, RSTART - 1)
        }
        if (function_ != "" && line ~ /^LOCUS_API/) {
            functions[++function_count] = function_
            returns[function_] = line
        }
        if (said != "" && names) {
            if (!function_count) description = description said
            else if (match(line, /^#define LOCUS_[A-Z_]+/)) of_constant[substr(line, 9, RLENGTH - 8)] = said
            else about[function_count] = about[function_count] said
        }
        said = ""
        if (depth && line ~ /^\}/) depth = 0
        sub(/^LOCUS_API /, "", line)
        code = code line "\n"
    }
}

# The page is called as its first name in small letters: a constant before it is found there, too.
function name_after_a_function(    i, first) {
    for (i = 1; i <= names && name[i] !~ /^locus/; i++) continue
    if (i == 1 || i > names) return
    first = name[i]
    for (; i > 1; i--) name[i] = name[i - 1]
    name[1] = first
}

# The first sentence in one line, for apropos: in small letters, as those of others are.
function summary(s,    at) {
    gsub(/\n/, " ", s); gsub(/  +/, " ", s); sub(/^ /, "", s)
    at = match(s, /[.:;]( |$)/)
    if (at) s = substr(s, 1, at - 1)
    if (s ~ /^[A-Z][a-z ]/) s = tolower(substr(s, 1, 1)) substr(s, 2)
    return s
}

# Prints a comment; its lines "  -EINVAL  text" are kept for ERRORS, and so are its sentences that have a -E. Lines
# "  1  text" are a list, and what four spaces set off is printed as it stands.
function say(s,    i, n, lines, flow, parts, values, at, in_list, in_code) {
    n = split(s, lines, "\n")
    for (i = 1; i < n; i++) {
        if (lines[i] ~ /^  +-E[A-Z]/) {
            sub(/^ +/, "", lines[i])
            match(lines[i], /^-E[A-Z]+(, -E[A-Z]+)*/)
            errors = errors error_item(substr(lines[i], 1, RLENGTH), substr(lines[i], RLENGTH + 1))
            in_error = 1
        } else if (in_error && lines[i] ~ /^   /) {
            sub(/^ +/, "", lines[i]); errors = errors quoted(lines[i]) "\n"
        } else {
            in_error = 0
            if (in_code && lines[i] !~ /^    /) { print ".fi" > page; in_code = 0 }
            if (lines[i] ~ /^  [0-9]+ /) {
                sub(/^ +/, "", lines[i])
                at = index(lines[i], " ")
                print ".TP\n.B " substr(lines[i], 1, at - 1) "\n" quoted(trimmed(substr(lines[i], at))) > page
                in_list = 1
                continue
            }
            if (in_list && lines[i] ~ /^  /) { print quoted(trimmed(lines[i])) > page; continue }
            if (in_list && lines[i] != "") print ".PP" > page
            in_list = 0
            if (lines[i] == "") { if (i > 1 && i < n - 1) print ".PP" > page }
            else if (lines[i] ~ /^    /) { print (in_code ? "" : ".nf\n") quoted(lines[i]) > page; in_code = 1 }
            else { flow = flow " " lines[i]; print quoted(lines[i]) > page }
        }
    }
    n = split(flow, parts, /[.] /)
    for (i = 1; i <= n; i++) {
        values = ""
        for (s = parts[i]; match(s, /-E[A-Z]+/); s = substr(s, RSTART + RLENGTH))
            values = values (values ? ", " : "") substr(s, RSTART, RLENGTH)
        if (values) errors = errors error_item(values, parts[i])
    }
    in_error = 0
}

# How a function's value is told.
function kind_of(f,    line) {
    line = returns[f]
    if (line ~ /^LOCUS_API void [^*]/) return "nothing"
    if (line ~ /^LOCUS_API bool /) return "true or false"
    if (line !~ /^LOCUS_API int / || line ~ /\(const locus(_worker)? \*\)/) return "the value that is described above"
    return (description ~ /(^|\n)  [0-9]+ / ? "a value that is described above" : "0") ", or a negative value of errno"
}

function write_returns(    i, kind, list, order, n, fails) {
    print ".SH RETURN VALUE" > page
    for (i = 1; i <= function_count; i++) {
        kind = kind_of(functions[i])
        if (!(kind in list)) order[++n] = kind
        list[kind] = list[kind] (kind in list && list[kind] ? ", " : "") functions[i] "()"
    }
    for (i = 1; i <= n; i++) {
        print (i > 1 ? ".br\n" : "") quoted(list[order[i]] (list[order[i]] ~ /,/ ? " return " : " returns ") order[i] ".") > page
        fails += order[i] ~ /errno$/
    }
    return fails
}

# Of each name that no block before has shown, the first block that has it.
function write_examples(    i, k, m, n, lines, covered) {
    for (i = 1; i <= names; i++) {
        if (name[i] !~ /^locus/ || name[i] in covered) continue
        for (k = 1; k <= blocks; k++) if (has(block[k], name[i])) break # the first says what the file is
        if (k > blocks) continue
        print (n ? "" : ".SH EXAMPLE\n.nf") > page
        for (m = 1; m <= names; m++) if (has(block[k], name[m])) covered[name[m]] = 1
        n = split(block[k], lines, "\n")
        for (m = 1; m < n; m++) print quoted(lines[m]) > page
    }
    if (n) print ".fi" > page
}
function has(text, n) { return index(text, n "(") || index(text, "struct " n " ") }

function write_page(    i, n, lines, list, calls) {
    list = name[1]
    for (i = 2; i <= names; i++) list = list ", " name[i]
    write_head(list, name[1] == stem ? about_header : summary(description))
    n = split(code, lines, "\n")
    for (i = 1; i < n; i++) print quoted(lines[i]) > page
    print ".fi\n.SH DESCRIPTION" > page
    errors = ""
    say(description)
    if (name[1] == stem) { say_rules(); return }
    for (i = 1; i <= function_count; i++)
        if (about[i] != "") { print ".PP\n.BR " functions[i] " ():" > page; say(about[i]) }
    for (i = 1; i <= names; i++)
        if (name[i] in of_constant) { print ".PP\n.BR " name[i] ":" > page; say(of_constant[name[i]]) }
    if (function_count && write_returns()) {
        print ".SH ERRORS\n.BR locus_error (3)\nhas a sentence that says what, where, and the remedy." > page
        if (errors == "")
            errors = error_item("-EINVAL", "a wrong argument: nothing was changed") \
                error_item("-ECONNRESET", "a node was lost: the sentence names it")
        printf "%s", errors > page
    }
    write_examples()
    print ".SH SEE ALSO\n.BR locus (1),\n.BR locus (3)" (stem == "locus" ? "" : ",\n.BR " stem " (3)") > page
    for (i = 1; i <= function_count; i++) calls = calls (calls == "" ? "" : ", ") functions[i]
    pages = pages ".TP\n.B " (calls == "" ? list : calls) "\n" quoted(summary(description)) "\n"
}
function write_head(names, about) {
    printf ".TH %s 3 \"\" \"locus %s\" \"locus\"\n.SH NAME\n%s \\- %s\n", toupper(page_name), version, names, quoted(about) > page
    print ".SH SYNOPSIS\n.nf\n#include <" header ">\n" > page
}

# ---- a header's own page

# Of a header's first comment: "locus.h - what it is." is its summary, the rest are its rules, some of them with a word
# before them.
function read_rules(    i, line) {
    about_header = rules = ""
    for (i = 2; i <= count && text[i] !~ /\*\/ *$/; i++) { # behind the licence
        line = bare(text[i])
        if (index(line, header " - ") == 1) about_header = substr(line, length(header) + 4)
        else if (about_header != "" && about_header !~ /[.]$/) about_header = about_header " " line
        else if (about_header != "") rules = rules line "\n"
        if (match(about_header, /[.] /)) {
            rules = substr(about_header, RSTART + 2) "\n"
            about_header = substr(about_header, 1, RSTART)
        }
    }
    sub(/[.]$/, "", about_header)
}

function say_rules(    i, n, lines) {
    n = split(rules, lines, "\n")
    for (i = 1; i <= n; i++) {
        if (match(lines[i], /^[A-Z][a-z]+  +/)) {
            print ".TP\n.B " substr(lines[i], 1, index(lines[i], " ") - 1) "\n" quoted(substr(lines[i], RLENGTH + 1)) > page
            continue
        }
        sub(/^ +/, "", lines[i])
        print lines[i] == "" ? ".PP" : quoted(lines[i]) > page
    }
}

function end_header() {
    if (!stem) return
    page_name = stem
    page = folder "/" stem ".3"
    if (!has_own_page) { write_head(stem, about_header); print ".fi\n.SH DESCRIPTION" > page; say_rules(); close(page) }
    printf ".SH PAGES\n%s.SH SEE ALSO\n.BR locus (1)%s\n", pages, (stem == "locus" ? "" : ",\n.BR locus (3)") >> page
    close(page)
    pages = has_own_page = ""
}

function flush_page(    i) {
    description = code = ""
    names = function_count = 0
    split("", about); split("", returns); split("", of_constant)
    read_page()
    if (!names && text[1] ~ /SPDX/) read_rules()
    count = 0
    if (!names) return
    name_after_a_function()
    page_name = name[1]
    page = folder "/" page_name ".3"
    if (page_name == stem) has_own_page = 1
    write_page()
    for (i = 2; i <= names; i++) {
        print ".so man3/" name[1] ".3" > (folder "/" name[i] ".3")
        close(folder "/" name[i] ".3")
    }
    close(page)
}

FNR == 1 {
    flush_page()
    end_header()
    header = FILENAME; sub(/.*\//, "", header)
    stem = header; sub(/[.]h$/, "", stem)
}
/^ *$/ && !in_comment { flush_page(); next }
{ text[++count] = $0 }
/\/\*/ { in_comment = 1 }
/\*\// { in_comment = 0 }
END { flush_page(); end_header() }
