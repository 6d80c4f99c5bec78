#!/usr/bin/env bash
# Classes whose numbers are large, as ids are, in libsvm and liblinear.
#
# Packages  libsvm-tools, libsvm3 3.24+ds-6, liblinear-tools, liblinear4 2.3.0+dfsg-5 (Debian 12, amd64)
# Guess     Labels are read as doubles, and written back as they were; svm-checkdata takes the file. Whole numbers up to 2^53
#           are as good as 1 and 2.
# In truth  In training a label is made a 32-bit int: 3000000000, 4000000000 and 5000000000 are one class, -2147483648, which is
#           what predictions say, and 1.5 and 1.9 are both 1. Status 0, no warning; of the six classes here only 7 is ever right.
# Matters   where the class is an id (the next item, a user, a hash): all large ones are learned as one.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
apt-get download -qq -o APT::Sandbox::User=root libsvm-tools=3.24+ds-6 libsvm3=3.24+ds-6 liblinear-tools=2.3.0+dfsg-5 \
    liblinear4=2.3.0+dfsg-5
dpkg-query -W libblas3 python3 2> /dev/null || apt-get install -qq -y --no-install-recommends libblas3 python3 > /dev/null
for package in *.deb; do dpkg -x "$package" tree; done
LD_LIBRARY_PATH=$(echo "$place"/tree/usr/lib/*-linux-gnu)
export LD_LIBRARY_PATH

column=0
for label in 3000000000 4000000000 5000000000 1.5 1.9 7; do
    column=$((column + 1))
    for value in 0.9 1 1.1; do echo "$label $column:$value"; done
done > rows
tree/usr/bin/svm-checkdata rows
for tool in svm liblinear; do
    tree/usr/bin/$tool-train -q rows model > log
    tree/usr/bin/$tool-predict rows model predicted | tail -n 1
    echo "$tool: labels in the file $(cut -d ' ' -f 1 rows | sort -u | wc -l); in the model: $(grep '^label' model)"
    [ "$(grep '^label' model)" = 'label -2147483648 1 7' ]
done
