# Writes a manual page of section 1 from what a program prints for --help:
# program --help | awk -v name=locus-run -v version=V -v also="locus(1)" -f scripts/manual-command.awk
#
# So a page has every option that its program has, in its words.

function quoted(line) {
    gsub(/\\/, "\\e", line); gsub(/-/, "\\-", line)
    if (line ~ /^[.']/) line = "\\&" line
    return line
}

# For apropos: the first sentence up to its first comma that is not in brackets, in small letters.
function summary(s,    i, c, depth) {
    for (i = 1; i <= length(s); i++) {
        c = substr(s, i, 1)
        depth += (c == "(") - (c == ")")
        if (substr(s, i) ~ /^[.:;]( |$)/ || (c == "," && !depth)) break
    }
    s = substr(s, 1, i - 1)
    return s ~ /^[A-Z][a-z ]/ ? tolower(substr(s, 1, 1)) substr(s, 2) : s
}

# usage: lines, then a text, then options and all the rest.
{ line[NR] = $0 }
END {
    at = 1
    while (at <= NR && line[at] != "") at++
    for (i = at + 1; i <= NR && line[i] != "" && line[i] !~ /^ /; i++) about = about (about == "" ? "" : " ") line[i]
    brief = about == "" ? "a command of locus" : about
    brief = summary(brief)
    printf ".TH %s 1 \"\" \"locus %s\" \"locus\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n", toupper(name), version, name, quoted(brief)
    for (k = 1; k < at; k++) { sub(/^(usage:|      ) */, "", line[k]); print quoted(line[k]) }
    print ".fi"
    print ".SH DESCRIPTION"
    for (k = at + 1; k < i; k++) print quoted(line[k])
    if (i == at + 1) print "What it takes:"
    print ".SH OPTIONS\n.nf"
    while (i <= NR && line[i] == "") i++
    for (k = i; k <= NR; k++) print line[k] == "" ? ".sp" : quoted(line[k])
    print ".fi\n.SH SEE ALSO"
    n = split(also, word, " ")
    for (k = 1; k <= n; k++) {
        page = word[k]; section = page; sub(/\(.*/, "", page); sub(/.*\(/, "(", section)
        printf ".BR %s %s%s\n", page, section, k < n ? "," : ""
    }
}
