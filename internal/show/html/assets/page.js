// The list of runs, and the visible runs.

const sections = [...document.querySelectorAll('section[id^=r]')], list = document.querySelector('nav > .scroll table');
const rows = () => list ? [...list.tBodies[0].rows] : [];

// show opens the run in the address, or the first failed run.
function show() {
  const [, id, step] = location.hash.match(/^#(r\d+)(?:s(\d+))?$/) || [];
  const named = sections.find((s) => s.id === id) || sections.find((s) => s.querySelector('h2 .badge:not(.good)')) || sections[0];
  if (!named) return;
  for (const s of sections) s.hidden = s !== named;
  for (const row of rows()) {
    const a = row.querySelector('a');
    row.classList.toggle('current', a && a.hash === '#' + named.id);
    if (a) a.hash === '#' + named.id ? a.setAttribute('aria-current', 'true') : a.removeAttribute('aria-current');
  }
  const chart = open(named);
  if (step) chart.jump(+step, false);
  if (id && sections.length > 1) named.scrollIntoView();
}

// find filters the list of runs.
function find() {
  if (!list) return;
  const text = html('input', {type: 'search', placeholder: 'Find a run', 'aria-label': 'Find a run'}), bad = html('input', {type: 'checkbox'});
  list.parentElement.before(html('p', {class: 'tools'}, html('label', {}, text), html('label', {}, bad, ' failed only')));
  const filter = () => {
    const words = text.value.toLowerCase();
    for (const row of rows()) {
      row.hidden = bad.checked && row.cells[0].textContent === 'ok' || !row.textContent.toLowerCase().includes(words);
    }
  };
  text.addEventListener('input', filter);
  bad.addEventListener('change', filter);
}

// number returns the value of a cell such as 3, 25.053s, 1h02m03.400s, never or never Ready. Other texts are not numbers.
function number(text) {
  if (/^never( Ready)?$/.test(text)) return Infinity;
  if (!/^[\d.hms]+$/.test(text)) return NaN;
  return text.match(/[\d.]+[hms]?/g).reduce((sum, part) => sum + parseFloat(part) * ({h: 3600, m: 60}[part.slice(-1)] || 1), 0);
}

// sortable makes the list of runs sortable by its columns: numbers from the greatest, texts from the first.
function sortable() {
  const heads = list ? [...list.querySelectorAll('thead th')] : [];
  heads.forEach((head, column) => {
    const button = html('button', {type: 'button', class: 'sort'}, ...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const all = rows(), text = (row) => row.cells[column].textContent.trim();
      const numbers = all.some((row) => !isNaN(number(text(row))));
      const again = head.getAttribute('aria-sort');
      const descending = again ? again === 'ascending' : numbers && column !== 4;
      for (const h of heads) h.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      const compare = (a, b) => {
        if (!numbers) return text(a) < text(b) ? -1 : text(a) > text(b) ? 1 : 0;
        const x = number(text(a)), y = number(text(b));
        return isNaN(x) || isNaN(y) ? isNaN(x) - isNaN(y) : x === y ? 0 : (x < y ? -1 : 1);
      };
      all.sort((a, b) => descending ? compare(b, a) : compare(a, b));
      list.tBodies[0].append(...all);
    });
  });
}

document.body.classList.add('live');
document.body.classList.toggle('several', sections.length > 1);
addEventListener('hashchange', show);
addEventListener('beforeprint', () => charts.forEach((chart) => chart.print(true)));
addEventListener('afterprint', () => charts.forEach((chart) => chart.print(false)));
find();
sortable();
show();
