// A link has the whole state of the page in its fragment: #v=1&d=, and then the deflated JSON of
// {t: tab, a: arguments, f: [[name, text], ..]} in base64url. Browsers send no fragments.
const most = 4 << 20; // bytes of the JSON

const stream = (bytes, transform) => new Blob([bytes]).stream().pipeThrough(transform);

export async function write({tab, args, files}) {
  const json = JSON.stringify({t: tab, a: args, f: files.map(({name, text}) => [name, text])});
  const bytes = new Uint8Array(await new Response(stream(json, new CompressionStream('deflate-raw'))).arrayBuffer());
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return '#v=1&d=' + btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

// read returns the state of a fragment, or nothing for an empty one. It throws an error whose
// message is for the reader.
export async function read(fragment) {
  const fields = new URLSearchParams(fragment.slice(1));
  if (!fields.has('d') && !fields.has('v')) return undefined;
  if (fields.get('v') !== '1') {
    throw new Error('This link comes from another version of the playground, which this page cannot read. ' +
      'Here is an example instead.');
  }
  try {
    return check(JSON.parse(await inflate(fields.get('d') ?? '')));
  } catch (error) {
    const why = error instanceof RangeError ? 'too large' : 'damaged or incomplete';
    throw new Error(`This link is ${why}. Here is an example instead.`);
  }
}

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), c => c.charCodeAt(0));
  const chunks = [];
  let size = 0;
  for await (const chunk of stream(bytes, new DecompressionStream('deflate-raw'))) {
    if ((size += chunk.length) > most) throw new RangeError();
    chunks.push(chunk);
  }
  return new Blob(chunks).text();
}

function check({t, a, f}) {
  const isText = value => typeof value === 'string';
  if (!['check', 'run', 'rollout', 'incident'].includes(t) || !isText(a) || !Array.isArray(f) || f.length < 1 ||
    f.length > 20 || !f.every(file => Array.isArray(file) && file.length === 2 && file.every(isText) && file[0])) {
    throw new Error('not a state');
  }
  return {tab: t, args: a, files: f.map(([name, text]) => ({name, text}))};
}
