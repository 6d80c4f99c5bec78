#!/usr/bin/env bash
# Numbers above the range of float16, written by Apache Arrow's JavaScript library.
#
# Package   npm apache-arrow 21.2.0
# Guess     What is above 65504 becomes infinity, as IEEE 754, NumPy and torch have it; or an error.
# In truth  65520 becomes infinity, but 65536 becomes 2, 70000 becomes 2.13 and -1e6 becomes -3.8: small, plausible numbers. And
#           toArray() of such a column gives the 16 bits as whole numbers (0.1 is 11878), where get() and iteration give numbers.
# Matters   to whoever stores embeddings or logits as float16 in Arrow files from Node or a browser: nothing that looks for
#           infinities finds them, and a typed array handed on to a model holds bits for numbers.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
npm install --loglevel=error --no-audit --no-fund --ignore-scripts apache-arrow@21.2.0 > /dev/null

cat > run.mjs << 'SCRIPT'
import { vectorFromArray, Float16 } from 'apache-arrow';
const numbers = [65504, 65520, 65536, 70000, -1e6, 0.1];
const column = vectorFromArray(numbers, new Float16());
numbers.forEach((number, i) => console.log(number, 'is', column.get(i), 'and in toArray()', column.toArray()[i]));
const as_said = column.get(1) === Infinity && column.get(2) === 2 && Math.abs(column.get(3) - 2.135) < 0.001 &&
    Math.abs(column.get(4) + 3.814) < 0.001 && column.toArray()[5] === 11878;
process.exit(as_said ? 0 : 1);
SCRIPT
node run.mjs
