// fieldsAt returns the fields of the object at a path of placeOf, from the JSON schema of manifests
// and scenarios, each with its description.
export function fieldsAt(schema, [kind, ...keys]) {
  const rule = schema.allOf.find(rule => parts(schema, rule.if).some(part => part.properties?.kind?.const === kind));
  let fields = fieldsOf(schema, rule?.then);
  for (const key of keys) fields = fieldsOf(schema, fields.get(key));
  return [...fields].map(([label, node]) => {
    return {label, info: parts(schema, node).find(part => part.description)?.description};
  });
}

// fieldsOf returns the fields of an object, or of the items of a list.
function fieldsOf(schema, node) {
  return new Map(parts(schema, node).flatMap(part => Object.entries(part.properties ?? {})));
}

// parts returns a node with its parts, its alternatives and its items.
function parts(schema, node, seen = new Set()) {
  if (!node || typeof node !== 'object' || seen.has(node)) return [];
  seen.add(node);
  const to = schema.definitions[node.$ref?.replace('#/definitions/', '')];
  const next = [to, node.items, ...['allOf', 'anyOf', 'oneOf'].flatMap(name => node[name] ?? [])];
  return [node, ...next.flatMap(part => parts(schema, part, seen))];
}
