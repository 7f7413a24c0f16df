// The charts that have been opened, by the element with their figure.

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
