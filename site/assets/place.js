// placeOf returns what a user writes at a column of a line of YAML: the beginning of a key, and the
// path of its object with the kind first, such as Pod, spec and containers. It returns nothing inside of
// a value or of braces.
export function placeOf(lines, at, column) {
  const written = /^( *(?:- +)*)(\w*)$/.exec(lines[at].slice(0, column));
  if (!written || lines[at].slice(column).trim()) return undefined;
  const begin = lines.slice(0, at).findLastIndex(separates) + 1;
  const end = lines.findIndex((line, i) => i > at && separates(line));
  const kind = lines.slice(begin, end < 0 ? lines.length : end)
    .map(line => /^kind: *["']?(\w+)["']? *(?:#.*)?$/.exec(line)?.[1]).find(Boolean);
  if (!kind) return undefined;
  const path = [];
  let below = outside(written[1]);
  for (let i = at - 1; i >= begin && below > 0; i--) {
    const key = /^( *(?:- +)*)["']?([\w./-]+)["']?:(?: |$)/.exec(lines[i]);
    if (!key || key[1].length > below) continue;
    if (key[1].length < below) path.unshift(key[2]);
    below = outside(key[1]);
  }
  return {word: written[2], path: [kind, ...path]};
}

const separates = line => /^---(?: |$)/.test(line);

// outside returns a column right of which the keys of the object around are not: that of the key
// itself, or half a column right of the first dash, since a list can be as far left as its key.
function outside(before) {
  const dash = before.indexOf('-');
  return dash < 0 ? before.length : dash + 0.5;
}
