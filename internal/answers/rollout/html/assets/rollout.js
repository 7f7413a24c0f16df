// Each picture opens at once; its pods are folded.
document.body.classList.add('live');
for (const chart of document.querySelectorAll('figure.chart')) open(chart.closest('section'));
addEventListener('beforeprint', () => charts.forEach((chart) => chart.print(true)));
addEventListener('afterprint', () => charts.forEach((chart) => chart.print(false)));
