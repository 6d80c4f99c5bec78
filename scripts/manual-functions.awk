# Writes the manual pages of section 3 from locus.h: awk -v folder=F -v version=V -f scripts/manual-functions.awk include/locus.h
#
# A page is what stands between two empty lines of the header, if it declares something: its first comment is the
# description, all behind it the synopsis. Every name that it declares leads there.

function flush_page(    i, page, description, code, in_first, ends, line) {
    if (!names) { count = 0; return }
    name_after_a_function()
    page = folder "/" name[1] ".3"
    description = ""; code = ""; in_first = (text[1] ~ /^\/\*/)
    for (i = 1; i <= count; i++) {
        line = text[i]
        if (in_first) {
            ends = (line ~ /\*\/$/)
            sub(/^ *\/\*+ ?/, "", line); sub(/ ?\*\/ *$/, "", line); sub(/^ \* ?/, "", line)
            description = description line "\n"
            if (ends) in_first = 0
        } else if (line !~ /^#(ifdef|endif|if|else|ifndef)/)
            code = code line "\n"
    }
    write_page(page, description, code)
    for (i = 2; i <= names; i++) {
        print ".so man3/" name[1] ".3" > (folder "/" name[i] ".3")
        close(folder "/" name[i] ".3")
    }
    close(page)
    count = names = 0
}

# The page is called as its first name in small letters: a constant before it is found there, too.
function name_after_a_function(    i, first) {
    for (i = 1; i <= names && name[i] !~ /^locus/; i++) continue
    if (i == 1 || i > names) return
    first = name[i]
    for (; i > 1; i--) name[i] = name[i - 1]
    name[1] = first
}

# Of an enumeration's lines: each word in capitals that is no value of another one.
function add_constants(line) {
    gsub(/=[^,}]*/, "", line)
    while (match(line, /LOCUS_[A-Z0-9_]+/)) {
        add(substr(line, RSTART, RLENGTH))
        line = substr(line, RSTART + RLENGTH)
    }
}

function quoted(line) {
    gsub(/\\/, "\\e", line); gsub(/-/, "\\-", line)
    if (line ~ /^[.']/) line = "\\&" line
    return line
}

# The first sentence in one line, for apropos.
function summary(description,    s, at) {
    s = description; gsub(/\n/, " ", s); gsub(/  +/, " ", s); sub(/^ /, "", s)
    at = match(s, /[.:;]( |$)/)
    if (at) s = substr(s, 1, at - 1)
    if (length(s) > 120) { s = substr(s, 1, 120); sub(/ [^ ]*$/, " ...", s) }
    sub(/ +$/, "", s)
    return s == "" ? "of locus.h" : s
}

function write_page(page, description, code,    i, n, lines, verbatim, list, in_list) {
    list = name[1]
    for (i = 2; i <= names; i++) list = list ", " name[i]
    printf ".TH %s 3 \"\" \"locus %s\" \"locus\"\n.SH NAME\n%s \\- %s\n", toupper(name[1]), version, list, \
        quoted(summary(description)) > page
    print ".SH SYNOPSIS\n.nf\n#include <locus.h>\n" > page
    n = split(code, lines, "\n")
    for (i = 1; i < n; i++) { sub(/^LOCUS_API /, "", lines[i]); print quoted(lines[i]) > page }
    print ".fi" > page
    if (description == "") { print ".SH SEE ALSO\n.BR locus (1)" > page; return }
    print ".SH DESCRIPTION" > page
    n = split(description, lines, "\n")
    in_list = 0
    for (i = 1; i < n; i++) {
        if (lines[i] == "") { if (in_list) print ".fi" > page; in_list = 0; if (i > 1 && i < n - 1) print ".PP" > page; continue }
        verbatim = (lines[i] ~ /^  /)
        if (verbatim && !in_list) print ".nf" > page
        if (!verbatim && in_list) print ".fi" > page
        in_list = verbatim
        print quoted(lines[i]) > page
    }
    if (in_list) print ".fi" > page
    print ".SH SEE ALSO\n.BR locus (1)" > page
}

function add(n,    i) {
    for (i = 1; i <= names; i++) if (name[i] == n) return
    if (n != "" && !(n in known)) { name[++names] = n; known[n] = 1 }
}

/^ *$/ && !comment { flush_page(); next }
{ text[++count] = $0 }
# Comments declare nothing.
comment { if ($0 ~ /\*\//) comment = 0; next }
/^ *\/\*/ { if ($0 !~ /\*\//) comment = 1; next }
/\/\*/ && !/\*\// { comment = 1 }
{
    line = $0; sub(/\/\*.*/, "", line)
    if (line ~ /^LOCUS_API|^typedef/ && match(line, /locus_[a-z0-9_]+\(/)) add(substr(line, RSTART, RLENGTH - 1))
    else if (line ~ /^ +\*?locus_[a-z0-9_]+\(/ && match(line, /locus_[a-z0-9_]+/)) add(substr(line, RSTART, RLENGTH))
    else if (line ~ /^typedef .*;/ && match(line, /locus[a-z0-9_]*;/)) add(substr(line, RSTART, RLENGTH - 1))
    else if (line ~ /^(struct|enum) locus_[a-z_]+ \{/ && match(line, /locus_[a-z_]+/)) add(substr(line, RSTART, RLENGTH))
    else if (line ~ /^#define LOCUS_[A-Z_]+ / && line !~ /LOCUS_API/ && match(line, /LOCUS_[A-Z_]+/)) add(substr(line, RSTART, RLENGTH))
    else if (line ~ /^#define locus_[a-z_]+/ && match(line, /locus_[a-z_]+/)) add(substr(line, RSTART, RLENGTH))
    if (line ~ /^enum .*\{/) in_enum = 1
    if (in_enum) { sub(/^.*\{/, "", line); add_constants(line) }
    if (line ~ /\}/) in_enum = 0
}
END { flush_page() }
