// Buttons that copy commands. Without a clipboard, they select the command.
for (const button of document.querySelectorAll('.command button')) {
  const code = button.parentElement.querySelector('code');
  button.hidden = false;
  button.addEventListener('click', async () => {
    getSelection().selectAllChildren(code);
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = 'Copied';
    } catch {
      button.textContent = document.execCommand('copy') ? 'Copied' : 'Selected';
    }
  });
}

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
