// A number opens its formula, and the timeline of its run if there is one.
for (const shown of document.querySelectorAll('details.shown')) {
  shown.addEventListener('toggle', () => { if (shown.open && shown.querySelector('figure.chart')) open(shown); });
}

function showRun() {
  const shown = location.hash && document.getElementById(location.hash.slice(1));
  if (!shown || !shown.matches('details.shown')) return;
  shown.closest('details.formulas').open = true;
  shown.open = true;
  shown.scrollIntoView();
}
addEventListener('hashchange', showRun);
addEventListener('beforeprint', () => charts.forEach((chart) => chart.print(true)));
addEventListener('afterprint', () => charts.forEach((chart) => chart.print(false)));
showRun();
