// The timelines of a document open at once; their pods are folded. In a folded section, they open with it.
document.body.classList.add('live');
for (const chart of document.querySelectorAll('figure.chart')) {
  const section = chart.closest('details, section');
  if (section.matches('details:not([open])')) section.addEventListener('toggle', () => open(section), {once: true});
  else open(section);
}
addEventListener('beforeprint', () => charts.forEach((chart) => chart.print(true)));
addEventListener('afterprint', () => charts.forEach((chart) => chart.print(false)));
