#!/usr/bin/env bash
# The cosine similarity of short and of long float32 vectors in DuckDB.
#
# Package   npm @duckdb/node-api 1.5.6-r.1
# Guess     A vector with itself is 1, at right angles 0, as long as its entries are ordinary float32 numbers; where that fails,
#           "not a number", NULL or an error.
# In truth  The product of the two squared lengths is a float32, and the result is brought between -1 and 1. With entries of
#           1e-12 two vectors at 45 degrees have similarity 1, at 90 degrees -1; with 1e-23 a vector and itself -1; with 1e10 a
#           vector and itself 0. The zero vector has similarity -1 to all.
# Matters   for rows that have hardly been trained and for sums that were not divided: they are found as perfect matches, or as
#           opposites, and never as "not a number". Casting to DOUBLE[] mends it.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
npm install --loglevel=error --no-audit --no-fund --ignore-scripts @duckdb/node-api@1.5.6-r.1 > /dev/null

cat > run.mjs << 'SCRIPT'
import { DuckDBInstance } from '@duckdb/node-api';
const connection = await (await DuckDBInstance.create()).connect();
async function similarities(x, type) {
    const self = `[${x}, 0]::${type}[2]`, diagonal = `[${x}, ${x}]::${type}[2]`, across = `[0, ${x}]::${type}[2]`;
    const other = (y) => `array_cosine_similarity(${self}, ${y})`;
    const result = await connection.runAndReadAll(`select ${other(self)}, ${other(diagonal)}, ${other(across)}`);
    const [same, half, right] = result.getRowsJson()[0];
    console.log(`${type} entries of ${x}: with itself ${same}, at 45 degrees ${half}, at 90 degrees ${right}`);
    return [same, half, right].map((value) => Math.round(value * 1000) / 1000).join(' ');
}
const seen = [];
for (const x of ['1', '1e-12', '1e-23', '1e10']) seen.push(await similarities(x, 'FLOAT'));
seen.push(await similarities('1e-23', 'DOUBLE'));
const expected = ['1 0.707 0', '1 1 -1', '-1 -1 -1', '0 0 0', '1 0.707 0'];
process.exit(seen.join() === expected.join() ? 0 : 1);
SCRIPT
node run.mjs
