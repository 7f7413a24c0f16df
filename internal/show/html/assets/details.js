// Descriptions of marks, bars and series.

const countOf = (n, word) => n.toLocaleString('en') + ' ' + word + (n === 1 ? '' : 's');

// fewMarks is the maximum number of marks to describe one by one.
const fewMarks = 4;

// headline describes a mark on one line.
function headline(item) {
  return (item.news || item.title) + (item.message && !item.news ? ': ' + item.message : '');
}

function groupTitle(lane, first, end) {
  const few = lane.items.slice(first, Math.min(end, first + fewMarks));
  if (end - first <= fewMarks) return few.map((item) => formatTime(item.t) + ' ' + item.subject + ' ' + headline(item)).join('; ');
  return countOf(end - first, 'mark') + ' from ' + formatTime(lane.items[first].t) + ' to ' + formatTime(lane.items[end - 1].t) + ': ' + tally(lane, first, end);
}

// tally counts the marks of a group by title.
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
  if (item.rule) parts.push(html('p', {class: 'rule'}, 'because ' + item.rule));
  if (item.took) parts.push(html('p', {class: 'who'}, 'started at ' + formatTime(item.t - item.took) + ', took ' + formatSpan(item.took)));
  return parts;
}

// causeNote describes the cause of a record.
function causeNote(chart, record) {
  const cause = record && causeOf(chart, record);
  return cause ? [html('p', {class: 'more'}, '← caused by ' + headline(cause) + ' at ' + formatTime(cause.t))] : [];
}

function describeGroup(chart, lane, first, end) {
  if (end - first > fewMarks) {
    return [html('p', {}, html('b', {}, formatTime(lane.items[first].t) + ' – ' + formatTime(lane.items[end - 1].t)), ' ', lane.of + ' ' + lane.label),
      html('p', {}, tally(lane, first, end)), html('p', {class: 'more'}, 'click to zoom in')];
  }
  return lane.items.slice(first, end).flatMap((item) => [...describeItem(chart, item), ...causeNote(chart, item)]);
}

const stateNames = {yes: 'true', no: 'false', up: 'running', down: 'down', killing: 'stop pending: preStop hook, or other containers first',
  running: 'running', stopping: 'stopping: between the stop signal and the exit', waiting: 'waiting', terminated: 'terminated',
  unknown: 'not recorded', window: 'applies:', busy: 'in progress:', level: '', lost: 'lost:'};

function describeBar(chart, lane, bar) {
  const parts = [html('p', {}, html('b', {}, lane.of + (lane.label !== lane.of && lane.kind !== 'life' ? ' ' + lane.label : '')), ' ', stateNames[bar.state] ?? bar.state, bar.text && bar.state !== 'cut' ? ' ' + bar.text : ''),
    html('p', {class: 'who'}, formatTime(bar.from) + ' – ' + formatTime(bar.to) + ', ' + formatSpan(bar.to - bar.from))];
  return [...parts, ...causeNote(chart, chart.records.get(bar.step))];
}

function describeSeries(chart, lane, series) {
  const first = chart.records.get(series.first), last = chart.records.get(series.last);
  const parts = [html('p', {}, html('b', {}, formatTime(first.t) + ' – ' + formatTime(last.t)), ' ', lane.of + ' ' + lane.label)];
  parts.push(html('p', {}, series.count.toLocaleString('en') + ' consecutive: ' + first.title + ', one every ' + formatSpan((last.t - first.t) / (series.count - 1))));
  if (first.message) parts.push(html('p', {class: 'message'}, first.message));
  return parts;
}

// link returns a button that jumps to a record, and its description.
function link(chart, record) {
  const button = html('button', {type: 'button', class: 'jump', 'data-step': record.step}, formatTime(record.t));
  return [button, ' ' + record.subject + ' ' + headline(record)];
}

// causeOf returns the cause of a record to display. Periodic probe runs, and exits of a program on its own, have none: the start of
// their container, or the success of its startup probe, does not explain them.
function causeOf(chart, record) {
  const cause = chart.records.get(record.cause);
  const begins = ['success', 'failure', 'warning', 'error', 'exit', 'done'].includes(record.glyph) && cause && ['start', 'success'].includes(cause.glyph);
  return begins ? undefined : cause;
}

// chainOf returns the chain of causes of a record, nearest first.
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
