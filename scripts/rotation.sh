# shellcheck shell=bash
# Sourced: what continuous integration runs of a set that is too large for every commit. Which part follows from the commit
# alone, so that a run is repeated by checking it out; ROTATION=N is another commit's part, and ROTATION=all everything.
#
#     in_rotation NAME PARTS [PART]    is this name's part of PARTS the commit's (or the PART-th behind it)?
#     changed_files                    what the commits of the day before this one changed

rotation() {
    [ "${ROTATION:-}" ] || ROTATION=$(git rev-list --count HEAD 2> /dev/null || echo all)
    echo "$ROTATION"
}

in_rotation() {
    local sum commit
    commit=$(rotation)
    [ "$commit" = all ] && return
    read -r sum _ < <(cksum <<< "$1")
    [ $(((sum + commit) % $2)) -eq "${3:-0}" ]
}

changed_files() {
    local when
    when=$(git log -1 --format=%ct 2> /dev/null) || return 0
    git log --since="@$((when - 86400))" --format= --name-only | sort -u
}
