// A number opens its formula.
function showFormula() {
  const shown = location.hash && document.getElementById(location.hash.slice(1));
  if (!shown || !shown.matches('details.shown')) return;
  shown.closest('details.formulas').open = true;
  shown.open = true;
  shown.scrollIntoView();
}
addEventListener('hashchange', showFormula);
showFormula();
