// The page of the playground. All answers come from the Go program in the worker, which the build
// makes from the command probesim itself.
import {createEditor} from './editor.js';
import {read, write} from './link.js';
import {settingSliders, flagSliders} from './sliders.js';
import {Program} from './program.js';

const $ = id => document.getElementById(id);
const examples = await (await fetch('examples.json')).json();
const titles = {check: 'Check', run: 'Run', rollout: 'Rollout', incident: 'Diagnose'};
const enough = 0.4; // seconds that a slider rests before a rollout is refined

let state = {tab: 'check', files: [], args: '', note: ''};
let current = 0; // the file in the editor
let view = 'page';
let version = 0; // of the state: a slider that moves does not go back to an earlier one
let setting = 0; // number of sliders whose values are not in the file yet

const editor = createEditor($('editor'), text => {
  if (text === state.files[current].text) return;
  state.files[current].text = text;
  changed();
});
const program = new Program({progress, answer, failed});

// words splits arguments as a shell does, with quotes but without anything else.
function words(text) {
  const found = [];
  for (const [, word] of text.matchAll(/((?:'[^']*'|"[^"]*"|[^\s'"])+)/g)) {
    found.push(word.replace(/'([^']*)'|"([^"]*)"/g, (_, a, b) => a ?? b));
  }
  return found;
}

function open(next) {
  state = {note: '', ...next, files: next.files.map(file => ({...file}))};
  current = 0;
  $('note').textContent = state.note;
  $('note').hidden = !state.note;
  showTab();
  showFile();
  changed();
}

function showTab() {
  for (const tab of $('tabs').children) {
    const on = tab.dataset.tab === state.tab;
    tab.setAttribute('aria-selected', on);
    tab.tabIndex = on ? 0 : -1;
  }
  $('answer').setAttribute('aria-labelledby', 'tab-' + state.tab);
  $('name').textContent = state.tab;
  $('args').value = state.args;
  document.title = `probesim: ${titles[state.tab]}`;
  showSliders([]); // those of the manifest come with the answer
}

function showFile() {
  const list = state.files.map(({name}, i) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name.split('/').at(-1);
    button.title = name;
    button.setAttribute('aria-pressed', i === current);
    button.onclick = () => { current = i; showFile(); };
    return button;
  });
  $('files').replaceChildren(...list);
  editor.open(state.files[current]);
}

let linking;

// changed runs the command again, and writes the link when nothing has changed for a while: browsers
// take few addresses a second.
function changed() {
  version++;
  if ($('args').value !== state.args) $('args').value = state.args;
  clearTimeout(linking);
  linking = setTimeout(writeLink, 300);
  run();
}

async function writeLink() {
  const fragment = await write(state);
  try {
    if (fragment !== location.hash) history.replaceState(null, '', fragment);
  } catch {} // a browser takes no address of some megabytes: the page keeps the last shorter one
}

let refining, refiner; // a second worker, so that the first one answers the next slider at once

function unrefine() {
  clearTimeout(refining);
  refiner?.end();
  refiner = undefined;
}

function run() {
  unrefine();
  const args = [state.tab, ...words(state.args)];
  const job = {
    args: view === 'text' ? args : [...args, '-o', 'html'], files: state.files,
    settings: state.files[current], view, version,
  };
  // a rollout shows the figure of one run at once
  if (state.tab === 'rollout' && !args.some(word => /^--(runs|seed)\b/.test(word))) {
    program.run({...job, args: [...job.args, '--runs', '1'], first: job});
  } else {
    program.run(job);
  }
  $('stop').disabled = false;
}

function refine(job) {
  refiner = program.another();
  refiner.run(job);
}

function progress(part, text) {
  $('progress').hidden = part === 1;
  $('progress').value = part;
  if (text) $('status').textContent = text;
}

function failed(text) {
  $('status').textContent = text;
  $('stop').disabled = true;
}

// answer shows what the program has printed.
function answer(job, {code, stdout, stderr, took, settings}) {
  const failed = code >= 2 || !stdout;
  $('stop').disabled = !job.first && program.idle;
  const time = took < 1000 ? `${Math.max(1, Math.round(took))} ms` : `${(took / 1000).toFixed(1)} s`;
  $('status').textContent = `exit code ${code}, ${time}` +
    (job.first ? '. A first figure of 1 run; more runs follow when you rest.' : '');
  const isText = failed || job.view === 'text';
  if (isText) showText(failed ? stdout + stderr : stdout, job.files);
  else showPage(stdout);
  only(isText ? 'text' : 'page');
  showProblems(stderr, job.files);
  if (job.version === version && setting === 0) showSliders(settings ?? []);
  if (job.version === version && job.first) refining = setTimeout(refine, enough * 1000, job.first);
}

function only(kind) {
  for (const name of ['text', 'page']) $(name).hidden = name !== kind;
}

// showFirst shows the answer to the first example while the program loads: the build has it.
async function showFirst() {
  const before = version;
  const page = await (await fetch('first.html')).text();
  if (program.started || version !== before) return;
  showPage(page);
  only('page');
}

// places finds the places of files in a text: name:line or name:line:column.
function places(text, files) {
  const names = files.map(({name}) => name.replace(/[^\w]/g, '\\$&')).join('|');
  return [...text.matchAll(new RegExp(`(?<![\\w/.])(${names}):(\\d+)(?::(\\d+))?`, 'g'))];
}

function placeButton([text, name, line, column]) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'place';
  button.textContent = text;
  button.onclick = () => {
    const there = state.files.findIndex(file => file.name === name);
    if (there !== current) {
      current = there;
      showFile();
    }
    editor.go(Number(line), Number(column ?? 1));
  };
  return button;
}

function showText(text, files) {
  const parts = [];
  let at = 0;
  for (const place of places(text, files)) {
    parts.push(text.slice(at, place.index), placeButton(place));
    at = place.index + place[0].length;
  }
  $('text').replaceChildren(...parts, text.slice(at));
}

// showProblems lists the errors of a command, which have places, and marks them in the editor.
function showProblems(text, files) {
  const found = [], marks = [];
  for (const line of text.split('\n')) {
    const [place] = places(line, files);
    if (!place || !/^(probesim: )?$/.test(line.slice(0, place.index))) continue;
    const item = document.createElement('li');
    const message = line.slice(place.index + place[0].length + 1).trim();
    item.append(placeButton(place), ' ' + message);
    found.push(item);
    if (place[1] === files[current]?.name) marks.push({line: Number(place[2]), column: Number(place[3] ?? 1), message});
  }
  $('problems').replaceChildren(...found);
  $('problems').hidden = found.length === 0;
  editor.mark(marks);
}

let latest; // the page to show
let loading = false;

// showPage shows a page of the program in a frame, which has the policy of this page: no scripts but
// those of reports run. The last page stays until the next one has loaded.
function showPage(html) {
  latest = html;
  if (loading) return;
  loading = true;
  const frame = document.createElement('iframe'), last = $('page').firstElementChild;
  frame.title = 'Answer';
  frame.src = URL.createObjectURL(new Blob([html], {type: 'text/html'}));
  frame.onload = () => {
    const top = last?.contentWindow.scrollY ?? 0;
    last?.remove();
    frame.contentWindow.scrollTo(0, top);
    URL.revokeObjectURL(frame.src);
    loading = false;
    if (latest !== html) showPage(latest);
  };
  $('page').append(frame);
}

function showSliders(settings) {
  const change = {
    args: text => { state.args = text; changed(); },
    setting: async value => {
      const {name} = state.files[current];
      setting++;
      const text = await program.set(name, state.files[current].text, value);
      setting--;
      if (state.files[current].name !== name || text === undefined) return;
      state.files[current].text = text;
      editor.show(text);
      changed();
    },
  };
  // a scenario says itself what its programs do
  const tab = state.files.some(({text}) => /^apiVersion: *probesim\.dev\//m.test(text)) ? '' : state.tab;
  const list = [...flagSliders(tab, state.args, change.args), ...settingSliders(settings, change.setting)];
  $('sliders').hidden = list.length === 0;
  const names = list.map(part => part.dataset.name).join();
  if (names === $('sliders').dataset.names) { // a slider that moves stays
    list.forEach((part, i) => $('sliders').children[i].update(part));
    return;
  }
  $('sliders').dataset.names = names;
  $('sliders').replaceChildren(...list);
}

async function copy(button, text) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'The browser does not allow it';
  }
  setTimeout(() => { button.textContent = label; }, 1500);
}

$('tabs').onclick = ({target}) => {
  const tab = target.dataset.tab;
  if (!tab || tab === state.tab) return;
  const own = examples.find(example => example.tab === tab);
  // files that a command does not read make way for an example
  if ((tab === 'incident') !== (state.tab === 'incident')) return open(own);
  state.tab = tab;
  state.args = state.files.map(({name}) => name).join(' ') + (state.args.match(/\s--start(=|\s+)\S+/)?.[0] ?? '');
  state.note = '';
  $('note').hidden = true;
  showTab();
  changed();
};
$('tabs').onkeydown = event => {
  const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
  if (!step) return;
  const tabs = [...$('tabs').children];
  const next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
  next.focus();
  next.click();
};
function look(name) {
  view = name;
  for (const button of $('views').children) button.setAttribute('aria-pressed', button.dataset.view === view);
}

$('views').onclick = ({target}) => {
  if (!target.dataset.view) return;
  look(target.dataset.view);
  run();
};
$('args').oninput = () => { state.args = $('args').value; changed(); };
$('add').onclick = () => {
  const taken = state.files.some(file => file.name === 'scenario.yaml');
  const name = taken ? `file${state.files.length + 1}.yaml` : 'scenario.yaml';
  state.files.push({name, text: ''});
  current = state.files.length - 1;
  showFile();
  editor.focus();
};
$('stop').onclick = () => {
  unrefine();
  program.stop();
  $('stop').disabled = true;
  $('status').textContent = 'Stopped.';
};
$('copy').onclick = () => copy($('copy'), `probesim ${state.tab} ${state.args}`);
$('link').onclick = async () => copy($('link'), new URL(await write(state), location.href).href);
const options = examples.map(({title, tab}, i) => new Option(`${titles[tab]}: ${title}`, i));
$('examples').append(new Option('Choose one', ''), ...options);
$('examples').onchange = () => open(examples[$('examples').value]);
window.onhashchange = ({newURL}) => fromLink(new URL(newURL).hash); // writeLink may have replaced the address

async function fromLink(fragment) {
  try {
    const linked = await read(fragment);
    open(linked ?? examples[0]);
    if (!linked) showFirst();
    $('examples').value = linked ? '' : '0';
  } catch (error) {
    open(examples[0]);
    $('note').textContent = error.message;
    $('note').hidden = false;
  }
}

await fromLink(location.hash);
await program.ready;
// the page has its answer: now the browser can keep all files for a visit without a network
if ('serviceWorker' in navigator) {
  navigator.serviceWorker.register('sw.js');
  (await navigator.serviceWorker.ready).active.postMessage('keep the program');
}
