// Marks and bars of lanes. All functions create elements and text nodes, never markup.

// heights are those of lanes by kind, shapes paths around the origin, and ranks say which of several overlapping marks is visible.
const {heights, shapes, ranks, marks, bars, ticks} = look;

function svg(name, attributes = {}, ...children) {
  return build(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function html(name, attributes = {}, ...children) {
  return build(document.createElement(name), attributes, children);
}

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.filter((c) => c !== null && c !== undefined));
  return element;
}

const worst = (items) => items.reduce((a, b) => ranks[b.glyph] > ranks[a.glyph] ? b : a);

function drawBars(chart, lane, y) {
  const g = svg('g');
  const s = chart.scale, mid = y + heights[lane.kind] / 2;
  let mixed = null;
  const flush = () => {
    if (mixed) g.append(svg('rect', {class: 'b-mixed', x: mixed.x, width: Math.max(mixed.to - mixed.x, 1), y: mid - 4, height: 8}));
    mixed = null;
  };
  lane.bars.forEach((bar, i) => {
    if (bar.to < s.from || bar.from > s.to) return;
    const a = Math.max(s.x(bar.from), s.left), b = Math.min(s.x(bar.to), s.left + s.width);
    // Combine bars that are too narrow to draw.
    if (b - a < 1.5 && lane.kind !== 'life' && lane.kind !== 'level') {
      if (mixed && a - mixed.to < 1.5) mixed.to = Math.max(b, mixed.to);
      else { flush(); mixed = {x: a, to: b}; }
      return;
    }
    flush();
    g.append(drawBar(lane, bar, i, a, Math.max(b - a, 1), mid));
    if (bar.text && lane.kind !== 'rule') label(g, bar, a, b, mid);
  });
  flush();
  return g;
}

function drawBar(lane, bar, i, x, width, mid) {
  const attributes = {class: 'b-' + bar.state, 'data-bar': i};
  if (bar.part) {
    const room = heights[lane.kind] - 4, height = Math.max(bar.part * room, 1), bottom = mid + room / 2;
    return svg('rect', {...attributes, x, width, y: bottom - height, height});
  }
  const tall = {running: 18, killing: 18, stopping: 18}[bar.state];
  if (tall) return svg('rect', {...attributes, x, width, y: mid - tall / 2, height: tall, rx: width > 6 ? 2 : 0});
  if (bar.state === 'waiting' || bar.state === 'terminated') return svg('path', {...attributes, d: `M${x} ${mid}h${width}`, 'stroke-width': 2, 'pointer-events': 'stroke'});
  if (bar.state === 'unknown') return svg('path', {...attributes, d: `M${x} ${mid}h${width}`, 'stroke-width': lane.kind === 'life' ? 18 : 8, 'pointer-events': 'stroke'});
  const height = bar.state === 'no' ? 2 : 6;
  return svg('rect', {...attributes, x, width, y: mid - height / 2, height});
}

// brief are shorter words for the reasons of containers that wait.
const brief = {CrashLoopBackOff: 'back-off', ImagePullBackOff: 'back-off', ContainerCreating: 'creating', PodInitializing: 'waiting'};

function label(g, bar, a, b, mid) {
  const solid = bar.state === 'running' || bar.part > 0;
  const room = b - a - (solid ? 12 : 26);
  const text = solid ? fitText(bar.text, room, 11) : [bar.text, brief[bar.text]].find((t) => t && textWidth(t, 11) <= room);
  if (!text) return;
  if (!solid) {
    g.append(svg('rect', {x: (a + b) / 2 - textWidth(text, 11) / 2 - 4, width: textWidth(text, 11) + 8, y: mid - 7, height: 14, fill: 'var(--paper)', 'pointer-events': 'none'}));
    g.append(svg('text', {class: 'waittext', x: (a + b) / 2, y: mid + 4, 'text-anchor': 'middle'}, text));
    return;
  }
  g.append(svg('text', {class: bar.part ? 'leveltext' : 'bartext', x: a + 6, y: mid + 4}, text));
}

// groups combines marks of a lane that would overlap.
function groups(chart, lane) {
  const s = chart.scale, list = [];
  const near = ['life', 'pod', 'node'].includes(lane.kind) ? 4 : 6;
  for (let i = firstFrom(lane.items, s.from); i < lane.items.length && lane.items[i].t <= s.to; i++) {
    const x = s.x(lane.items[i].t), last = list[list.length - 1];
    if (last && x - last.x < near) {
      last.end = i + 1;
      last.kinds.add(lane.items[i].glyph);
    } else {
      list.push({x, first: i, end: i + 1, kinds: new Set([lane.items[i].glyph])});
    }
  }
  return list;
}

// firstFrom returns the index of the first item at or after t.
function firstFrom(items, t) {
  let a = 0, b = items.length;
  while (a < b) {
    const m = (a + b) >> 1;
    if (items[m].t < t) a = m + 1; else b = m;
  }
  return a;
}

function drawMarks(chart, lane, n, y) {
  const g = svg('g', {role: 'group', 'aria-label': lane.of === lane.label ? lane.label : lane.of + ' ' + lane.label});
  const mid = y + heights[lane.kind] / 2;
  let free = -1;
  for (const group of groups(chart, lane)) {
    let glyph = [...group.kinds].sort((a, b) => ranks[b] - ranks[a])[0];
    if (glyph === 'failure' && group.kinds.has('success')) glyph = 'mixed';
    const m = svg('g', {class: 'm m-' + (glyph === 'mixed' ? 'failure' : glyph), transform: `translate(${group.x.toFixed(1)} ${mid})`, tabindex: -1, role: 'img',
      'data-lane': n, 'data-first': group.first, 'data-end': group.end, 'aria-label': groupTitle(lane, group.first, group.end)});
    const item = lane.items[group.first];
    const took = group.end - group.first === 1 && lane.kind === 'probe' ? item.took / (chart.scale.to - chart.scale.from) * chart.scale.width : 0;
    if (took > 3) m.append(svg('path', {class: 'took', d: `M${-took} 0H0`}));
    m.append(svg('rect', {class: 'hit', x: -4, y: -heights[lane.kind] / 2, width: 8, height: heights[lane.kind]}));
    if (lane.kind !== 'life' || glyph !== 'start') m.append(svg('path', {class: 'shape', d: shapes[glyph]}));
    m.append(svg('circle', {class: 'halo', r: 7}));
    if (item.label && group.x > free && !chart.closed.has(lane.pod)) {
      const text = fitText(item.label, chart.scale.left + chart.scale.width - group.x - 12, 11.5);
      m.append(svg('text', {class: 'steplabel', x: 8, y: 4}, text));
      free = group.x + 14 + textWidth(text, 11.5);
    }
    g.append(m);
  }
  return g;
}

function drawSeries(chart, lane, y) {
  const g = svg('g'), s = chart.scale, mid = y + heights[lane.kind] / 2;
  (lane.series || []).forEach((series, i) => {
    const first = chart.records.get(series.first), to = chart.records.get(series.last).t;
    if (to < s.from || first.t > s.to) return;
    const a = Math.max(s.x(first.t), s.left), b = Math.min(s.x(to), s.left + s.width);
    g.append(svg('path', {class: 'series s-' + first.glyph, d: `M${a} ${mid}H${b}`, 'data-series': i, 'pointer-events': 'stroke'}));
  });
  return g;
}

const pen = document.createElement('canvas').getContext('2d');
const widths = new Map();

function textWidth(text, size = 12, weight = 400) {
  const key = size + '|' + weight + '|' + text;
  if (!widths.has(key)) {
    pen.font = `${weight} ${size}px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif`;
    if (widths.size > 5000) widths.clear();
    widths.set(key, pen.measureText(text).width);
  }
  return widths.get(key);
}

// fitText shortens text in the middle. It returns an empty string if there is no room.
function fitText(text, room, size = 12, weight = 400) {
  if (room < size) return '';
  if (textWidth(text, size, weight) <= room) return text;
  const all = [...text];
  for (let n = Math.min(all.length - 1, Math.floor(room / size * 3)); n > 2; n--) {
    const head = Math.ceil(n / 2), short = all.slice(0, head).join('') + '…' + all.slice(all.length - (n - head)).join('');
    if (textWidth(short, size, weight) <= room) return short;
  }
  return '';
}
