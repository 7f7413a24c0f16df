// Each picture opens at once; its pods are folded.
document.body.classList.add('live');
for (const s of document.querySelectorAll('section.deployment')) if (s.querySelector('figure.chart')) open(s);
addEventListener('beforeprint', () => charts.forEach((chart) => chart.print(true)));
addEventListener('afterprint', () => charts.forEach((chart) => chart.print(false)));
