// The sliders change an argument of the command, or a number of a probe in the manifest.
const seconds = text => {
  let sum = 0;
  for (const [, n, unit] of text.split('..').at(-1).matchAll(/([\d.]+)(h|ms|m|s)/g)) {
    sum += n * {h: 3600, m: 60, s: 1, ms: 0.001}[unit];
  }
  return sum;
};

const flag = (name, title, max, unit = '', read = Number) => ({
  name, title, max, unit,
  find: args => { const found = args.match(new RegExp(`--${name}(?:=|\\s+)(\\S+)`)); return found && read(found[1]); },
  set: (args, value) => {
    const rest = args.replace(new RegExp(`\\s*--${name}(=|\\s+)\\S+`), '');
    return value > 0 ? `${rest} --${name} ${value}${unit}` : rest;
  },
});

const start = flag('start', 'Start of the program', 120, 's', seconds);
const stall = {
  name: 'stall', title: 'Stall at 2m', max: 120, unit: 's',
  find: args => { const found = args.match(/--app 'stall (\S+) at 2m'/); return found && seconds(found[1]); },
  set: (args, value) => {
    const rest = args.replace(/\s*--app 'stall \S+ at 2m'/, '');
    return value > 0 ? `${rest} --app 'stall ${value}s at 2m'` : rest;
  },
};
const flags = {
  check: [start], run: [start, stall],
  rollout: [start, flag('replicas', 'Replicas', 20), flag('rps', 'Requests a second', 1000)],
};

const fields = {
  periodSeconds: ['periodSeconds', 1, 60, 's'], failureThreshold: ['failureThreshold', 1, 60, ''],
  timeoutSeconds: ['timeoutSeconds', 1, 30, 's'],
};

let numbers = 0;

// slider returns a labelled slider. Its method update takes over the value of another one.
function slider(name, title, min, max, unit, value, change) {
  const label = document.createElement('label');
  const text = document.createElement('span');
  const input = document.createElement('input');
  const output = document.createElement('output');
  label.dataset.name = name;
  text.textContent = title;
  Object.assign(input, {type: 'range', min, max: Math.max(max, value), id: `slider-${++numbers}`});
  input.value = value;
  output.htmlFor = input.id;
  const say = () => {
    output.value = Number(input.value) === 0 ? 'not set' : input.value + unit;
    input.setAttribute('aria-valuetext', output.value);
  };
  say();
  let act = change;
  input.oninput = () => { say(); act(Number(input.value)); };
  label.append(text, input, output);
  label.change = change;
  label.update = other => {
    act = other.change;
    const next = other.querySelector('input');
    input.max = next.max;
    input.value = next.value;
    say();
  };
  return label;
}

// flagSliders returns the sliders of a command. change takes the new arguments.
export function flagSliders(tab, args, change) {
  return (flags[tab] ?? []).map(f => slider(f.name, f.title, 0, f.max, f.unit, Math.round(f.find(args) ?? 0),
    value => change(f.set(args, value))));
}

let chosen = ''; // the probe whose numbers have sliders

// settingSliders returns a choice of the probes of a manifest, and the sliders of one of them.
export function settingSliders(settings, change) {
  const probeOf = s => `${s.line} ${s.container} ${s.probe}`;
  const probes = [...new Map(settings.map(s => [probeOf(s), s])).entries()];
  if (probes.length === 0) return [];
  if (!probes.some(([id]) => id === chosen)) chosen = probes[0][0];
  const label = document.createElement('label');
  const choice = document.createElement('select');
  label.dataset.name = `probe ${probes.map(([id]) => id)} ${chosen}`;
  label.append('Probe', choice);
  choice.append(...probes.map(([id, s]) => new Option(`${s.container}: ${s.probe}`, id, id === chosen, id === chosen)));
  choice.onchange = () => { chosen = choice.value; change({}); };
  label.update = () => {};
  const own = settings.filter(s => probeOf(s) === chosen);
  return [label, ...own.map(s => {
    const [title, min, max, unit] = fields[s.field];
    return slider(`${chosen} ${s.field}`, title, min, max, unit, s.value, value => change({...s, value}));
  })];
}
