#!/usr/bin/env bash
# One zero vector in an index of vectra, which ranks by cosine and looks at every row.
#
# Package   npm vectra 0.15.0
# Guess     A zero vector has no direction: its own score is 0 or "not a number", and it comes last, or first. The search is
#           exact, so the scores of the other 999 rows, and their order, stay as they are.
# In truth  If the zero vector is the first row, the answer is it, and then others of the 1,000 that are nowhere near: 0.46
#           where 0.96 is there. As row 500 or 999 it does no harm: a comparison with "not a number" is always false, and the
#           search keeps its best five by comparisons.
# Matters   to serving: a single row that was never trained, added first, ruins the answers to all queries, with no error.
set -eu
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
npm install --loglevel=error --no-audit --no-fund --ignore-scripts vectra@0.15.0 > /dev/null

cat > run.mjs << 'SCRIPT'
import { LocalIndex } from 'vectra';
let state;
const random = () => (state = (state * 16807) % 2147483647) / 2147483647 - 0.5;
async function best(zero) {
    const index = new LocalIndex(`rows-${zero}`);
    await index.createIndex();
    await index.beginUpdate();
    state = 1;
    for (let i = 0; i < 1000; i++) {
        const vector = [random(), random(), random(), random()];
        await index.insertItem({ id: `row ${i}`, vector: i === zero ? [0, 0, 0, 0] : vector, metadata: {} });
    }
    await index.endUpdate();
    const found = await index.queryItems([1, 0, 0, 0], '', 5);
    console.log('zero vector at', zero, '-', found.map((x) => `${x.item.id}: ${x.score.toFixed(3)}`).join(', '));
    return found.map((x) => x.score);
}
const none = await best(-1), first = await best(0), middle = await best(500);
process.exit(Number.isNaN(first[0]) && first[1] < none[4] && middle[0] === none[0] && middle[4] === none[4] ? 0 : 1);
SCRIPT
node run.mjs
