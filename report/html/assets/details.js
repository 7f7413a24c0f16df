// What there is to say about a mark, a bar or a series.

const countOf = (n, word) => n.toLocaleString('en') + ' ' + word + (n === 1 ? '' : 's');

// fewMarks are so many that each is told of.
const fewMarks = 4;

// headline says in one line what a mark is.
function headline(item) {
  return (item.news || item.title) + (item.message && !item.news ? ': ' + item.message : '');
}

function groupTitle(lane, first, end) {
  const few = lane.items.slice(first, Math.min(end, first + fewMarks));
  if (end - first <= fewMarks) return few.map((item) => formatTime(item.t) + ' ' + item.subject + ' ' + headline(item)).join('; ');
  return countOf(end - first, 'mark') + ' from ' + formatTime(lane.items[first].t) + ' to ' + formatTime(lane.items[end - 1].t) + ': ' + tally(lane, first, end);
}

// tally counts what is in a group.
function tally(lane, first, end) {
  const counts = new Map();
  for (let i = first; i < end; i++) {
    const what = lane.items[i].news || lane.items[i].title;
    counts.set(what, (counts.get(what) || 0) + 1);
  }
  const list = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 5).map(([what, n]) => n + ' × ' + what);
  return list.join(', ') + (counts.size > 5 ? ', …' : '');
}

function describeItem(chart, item) {
  const parts = [html('p', {}, html('b', {}, formatTime(item.t)), ' ', item.news || item.title), html('p', {class: 'who'}, item.subject)];
  if (item.message) parts.push(html('p', {class: 'message'}, item.message));
  if (item.took) parts.push(html('p', {class: 'who'}, 'began at ' + formatTime(item.t - item.took) + ', took ' + formatSpan(item.took)));
  return parts;
}

// because says what a record is the effect of.
function because(chart, record) {
  const cause = record && causeOf(chart, record);
  return cause ? [html('p', {class: 'more'}, '← because of ' + headline(cause) + ' at ' + formatTime(cause.t))] : [];
}

function describeGroup(chart, lane, first, end) {
  if (end - first > fewMarks) {
    return [html('p', {}, html('b', {}, formatTime(lane.items[first].t) + ' – ' + formatTime(lane.items[end - 1].t)), ' ', lane.of + ' ' + lane.label),
      html('p', {}, tally(lane, first, end)), html('p', {class: 'more'}, 'click to zoom in')];
  }
  return lane.items.slice(first, end).flatMap((item) => [...describeItem(chart, item), ...because(chart, item)]);
}

const stateNames = {yes: 'true', no: 'false', up: 'running', down: 'down', killing: 'to be stopped: preStop hook, or not its turn yet',
  running: 'running', stopping: 'stopping: between the stop signal and the exit', waiting: 'waiting', terminated: 'terminated', cut: 'not on this page'};

function describeBar(chart, lane, bar) {
  const parts = [html('p', {}, html('b', {}, lane.of + (lane.label !== lane.of && lane.kind !== 'life' ? ' ' + lane.label : '')), ' ', stateNames[bar.state] || bar.state, bar.text && bar.state !== 'cut' ? ' ' + bar.text : ''),
    html('p', {class: 'who'}, formatTime(bar.from) + ' – ' + formatTime(bar.to) + ', ' + formatSpan(bar.to - bar.from))];
  return [...parts, ...because(chart, chart.records.get(bar.step))];
}

function describeSeries(chart, lane, series) {
  const first = chart.records.get(series.first), last = chart.records.get(series.last);
  const to = last ? last.t : chart.cutOf(lane);
  const parts = [html('p', {}, html('b', {}, formatTime(first.t) + ' – ' + formatTime(to)), ' ', lane.of + ' ' + lane.label)];
  parts.push(html('p', {}, last ? series.count.toLocaleString('en') + ' in a row: ' + first.title + ', one each ' + formatSpan((to - first.t) / (series.count - 1)) : 'in a row: ' + first.title));
  if (first.message) parts.push(html('p', {class: 'message'}, first.message));
  return parts;
}

// link jumps to a record.
function link(chart, record) {
  const button = html('button', {type: 'button', class: 'jump', 'data-step': record.step}, formatTime(record.t));
  return [button, ' ' + record.subject + ' ' + headline(record)];
}

// causeOf returns what led to a record. A probe run that nobody asked for, and an exit that is the program's own doing, begin
// something: that the container was started once, or its startup probe succeeded, explains nothing.
function causeOf(chart, record) {
  const cause = chart.records.get(record.cause);
  const begins = ['success', 'failure', 'warning', 'error', 'exit', 'done'].includes(record.glyph) && cause && ['start', 'success'].includes(cause.glyph);
  return begins ? undefined : cause;
}

// chainOf returns the causes of a record, the nearest first.
function chainOf(chart, record) {
  const chain = [];
  for (let r = causeOf(chart, record); r && chain.length < 50; r = causeOf(chart, r)) chain.push(r);
  return chain;
}

// fillDetails shows a record with its causes and effects.
function fillDetails(chart, panel, record) {
  const chain = chainOf(chart, record), effects = (chart.effects.get(record.step) || []).filter((r) => causeOf(chart, r));
  const close = html('button', {type: 'button', class: 'close', 'aria-label': 'Close'}, '×');
  close.addEventListener('click', () => chart.select(0));
  panel.replaceChildren(close, ...describeItem(chart, record));
  if (chain.length) panel.append(html('ol', {class: 'causes', 'aria-label': 'Causes'}, ...chain.map((r) => html('li', {}, ...link(chart, r)))));
  if (effects.length) {
    panel.append(html('ol', {class: 'effects', 'aria-label': 'Effects'}, ...effects.slice(0, 12).map((r) => html('li', {}, ...link(chart, r)))));
    if (effects.length > 12) panel.append(html('p', {class: 'who'}, 'and ' + countOf(effects.length - 12, 'more effect')));
  }
}
