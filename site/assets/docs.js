// The search of the docs: all sections are in an index that the build makes, and nothing is sent.
const input = document.querySelector('.search input');
const list = document.getElementById('found');
const docs = document.body.dataset.docs;
let sections;

const load = () => sections ??= fetch(docs + 'search.json').then(response => response.json()).then(all =>
  all.map(section => ({...section, low: section.x.toLowerCase(), top: `${section.h} ${section.t}`.toLowerCase()})));

const starts = word => new RegExp('(^|[^a-z0-9])' + word.replace(/[^\w]/g, '\\$&'), 'g');
const count = (text, pattern) => [...text.matchAll(pattern)].length;

// find returns the sections that have all words, each at the start of a word. A heading counts most.
function find(all, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean).map(starts);
  if (words.length === 0) return [];
  const found = [];
  for (const section of all) {
    const scores = words.map(word => 20 * count(section.top, word) + Math.min(count(section.low, word), 10));
    if (scores.every(score => score > 0)) found.push({section, score: scores.reduce((a, b) => a + b), first: words[0]});
  }
  return found.sort((a, b) => b.score - a.score).slice(0, 12);
}

function entry({section, first}) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  const text = document.createElement('span');
  link.href = docs + section.p + (section.i ? '#' + section.i : '');
  link.textContent = section.h === section.t ? section.t : `${section.t}: ${section.h}`;
  first.lastIndex = 0;
  const at = Math.max(0, section.low.search(first) - 40);
  text.textContent = (at > 0 ? '…' : '') + section.x.slice(at, at + 140) + '…';
  item.append(link, text);
  return item;
}

input.onfocus = load;
input.oninput = async () => {
  const query = input.value;
  const found = find(await load(), query);
  if (query !== input.value) return;
  const none = document.createElement('li');
  none.textContent = 'Nothing has all these words.';
  list.replaceChildren(...(found.length ? found.map(entry) : [none]));
  list.hidden = !query.trim();
};
document.querySelector('.search').onkeydown = event => {
  const links = [input, ...list.querySelectorAll('a')];
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (event.key === 'Escape') { list.hidden = true; input.focus(); }
  if (event.key === 'Enter' && event.target === input) links[1]?.click();
  if (!step) return;
  event.preventDefault();
  links[Math.max(0, links.indexOf(document.activeElement) + step) % links.length]?.focus();
};
document.addEventListener('click', ({target}) => { if (!target.closest('.search')) list.hidden = true; });
if (matchMedia('(max-width: 900px)').matches) document.querySelector('aside details').open = false;
if ('serviceWorker' in navigator) navigator.serviceWorker.register(new URL('../' + docs + 'sw.js', location.href));
