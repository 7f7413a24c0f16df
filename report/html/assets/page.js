// The list of runs, and the visible runs.

const charts = new Map();

function open(section) {
  if (!charts.has(section)) {
    const figure = section.querySelector('figure.chart');
    charts.set(section, new Chart(figure, JSON.parse(figure.querySelector('script.data').textContent)));
    section.addEventListener('click', (e) => {
      const jump = e.target.closest('[data-step]');
      if (jump) charts.get(section).jump(+jump.dataset.step, !jump.closest('figure.chart'));
    });
  }
  charts.get(section).draw();
  return charts.get(section);
}

const sections = [...document.querySelectorAll('section.run')];

// show opens the run in the address, or the first failed run.
function show() {
  const [, id, step] = location.hash.match(/^#(r\d+)(?:s(\d+))?$/) || [];
  const named = sections.find((s) => s.id === id) || sections.find((s) => s.querySelector('h2 .badge:not(.ok)')) || sections[0];
  if (!named) return;
  for (const s of sections) s.hidden = s !== named;
  for (const row of document.querySelectorAll('#runs tbody tr')) {
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
  const nav = document.querySelector('#runs');
  const tools = nav && nav.querySelector('.tools');
  if (!tools) return;
  tools.hidden = false;
  const [text, bad] = tools.querySelectorAll('input');
  const filter = () => {
    const words = text.value.toLowerCase();
    for (const row of nav.querySelectorAll('tbody tr')) {
      row.hidden = bad.checked && row.dataset.outcome === 'ok' || !row.textContent.toLowerCase().includes(words);
    }
  };
  text.addEventListener('input', filter);
  bad.addEventListener('change', filter);
}

document.body.classList.add('live');
document.body.classList.toggle('several', sections.length > 1);
addEventListener('hashchange', show);
addEventListener('beforeprint', () => charts.forEach((chart) => chart.print(true)));
addEventListener('afterprint', () => charts.forEach((chart) => chart.print(false)));
find();
show();
