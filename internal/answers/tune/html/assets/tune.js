'use strict';
// A click on a setting, in the plot or in the table, shows its fields.
document.body.classList.add('live');

function select(id) {
  const trade = document.getElementById(id).closest('.trade');
  for (const old of trade.querySelectorAll('.selected')) old.classList.remove('selected');
  for (const e of trade.querySelectorAll(`[data-fields="${id}"], g[data-setting="${id}"], tr[id="${id}"]`)) e.classList.add('selected');
}

for (const e of document.querySelectorAll('[data-setting]')) {
  e.addEventListener('click', () => select(e.dataset.setting));
  e.addEventListener('keydown', (key) => {
    if (key.key !== 'Enter' && key.key !== ' ') return;
    key.preventDefault();
    select(e.dataset.setting);
  });
}
for (const chosen of document.querySelectorAll('.settings tr.chosen')) select(chosen.id);
