// Chart draws the lanes of one run.
class Chart {
  constructor(figure, data) {
    this.figure = figure;
    this.data = data;
    this.scale = new Scale(data.from, data.to, data.zero);
    if (data.show) this.scale.show(data.show, data.to);
    this.closed = new Set();
    this.selected = 0;
    this.read();
    this.frame();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  // read unpacks the records and assigns them to lanes.
  read() {
    const {texts, lanes} = this.data;
    this.records = new Map();
    this.effects = new Map();
    for (const [step, t, cause, took, glyph, subject, title, message, rule] of this.data.records) {
      const r = {step, t, cause, took, glyph: texts[glyph], subject: texts[subject], title: texts[title], message: texts[message], rule: texts[rule], lane: -1};
      this.records.set(step, r);
      if (cause) this.effects.set(cause, [...(this.effects.get(cause) || []), r]);
    }
    lanes.forEach((lane, n) => {
      lane.bars ||= [];
      const on = new Map(lane.bars.map((bar) => [bar.step, bar.state]));
      lane.items = (lane.steps || []).map((step, i) => {
        const r = this.records.get(step);
        if (r.lane < 0) r.lane = n;
        const turned = r.glyph === 'flip' && stateNames[on.get(step)];
        const fell = i > 0 && (turned === 'false' || turned === 'down');
        return {...r, glyph: fell ? 'fall' : r.glyph, label: lane.labels && lane.labels[i], news: turned ? lane.label + ' is ' + turned : undefined};
      });
      if (lane.kind === 'pod' && !this.data.open) this.closed.add(lane.pod);
    });
    lanes.forEach((lane, n) => lane.bars.forEach((bar) => {
      const r = this.records.get(bar.step);
      if (r && r.lane < 0) r.lane = n;
    }));
  }

  frame() {
    const button = (text, label, act) => {
      const b = html('button', {type: 'button', 'aria-label': label, title: label}, text);
      b.addEventListener('click', () => { act(); this.draw(); });
      return b;
    };
    const s = this.scale;
    this.range = html('output', {'aria-live': 'polite', 'aria-label': 'Visible time'});
    const tools = html('div', {class: 'toolbar', role: 'toolbar', 'aria-label': 'Timeline'},
      button('−', 'Zoom out', () => s.zoom(2)), button('+', 'Zoom in', () => s.zoom(0.5)), button('Fit', 'Show the whole run', () => s.fit()),
      button('◂', 'Earlier', () => s.pan(-0.5)), button('▸', 'Later', () => s.pan(0.5)), this.range);
    if (this.data.lanes.some((lane) => lane.kind === 'pod')) {
      tools.append(button('Fold', 'Fold or unfold all pods', () => this.foldAll()));
    }
    tools.append(html('span', {class: 'hint'}, 'Ctrl + wheel zooms (on the axis, the wheel alone) · drag to move · arrow keys select marks · C goes to the cause'));
    this.plot = html('div', {class: 'plot', tabindex: 0, role: 'group', 'aria-label': 'Timeline. Arrow keys go from mark to mark, Enter shows details, C goes to the cause, plus and minus zoom, 0 shows the whole run, Shift with an arrow key moves.'});
    this.tip = html('div', {class: 'tip', role: 'tooltip', hidden: ''});
    this.details = html('aside', {class: 'details', 'aria-live': 'polite', 'aria-label': 'Details', hidden: ''});
    this.legend = html('div', {class: 'legend', 'aria-hidden': 'true'});
    this.figure.append(tools, this.plot, this.tip, this.legend, this.details);
    this.figure.classList.add('live');
    this.figure.chart = this;
  }

  foldAll() {
    const pods = this.data.lanes.filter((lane) => lane.kind === 'pod').map((lane) => lane.pod);
    if (this.closed.size) this.closed.clear(); else pods.forEach((pod) => this.closed.add(pod));
  }

  // rows returns the visible lanes with their positions. A folded pod shows Ready beside its name.
  layout() {
    let y = 2;
    this.rows = [];
    this.data.lanes.forEach((lane, n) => {
      const folded = this.closed.has(lane.pod), beside = lane.kind === 'ready' || lane.kind === 'exits';
      if (folded ? lane.kind !== 'pod' && !beside : lane.kind === 'exits') return;
      if (folded && beside) {
        this.rows.push({lane, n, y: y - heights.pod + (heights.pod - heights[lane.kind]) / 2, beside: true});
        return;
      }
      if (lane.kind === 'pod' && y > 2 && !folded) y += 6;
      this.rows.push({lane, n, y});
      y += heights[lane.kind];
    });
    this.height = y + 4;
  }

  // draw draws the visible part in the given width. Printing scales it to the page.
  draw(width = this.plot.clientWidth) {
    if (!width || this.printing && width !== this.printing) return;
    const focus = this.plot.contains(document.activeElement) && document.activeElement.dataset;
    this.layout();
    const s = this.scale;
    s.left = this.gutter(width);
    s.width = width - s.left - 14;
    const axis = svg('svg', {class: 'axis', viewBox: `0 0 ${width} 26`, 'aria-hidden': 'true'});
    const body = svg('svg', {class: 'lanes', viewBox: `0 0 ${width} ${this.height}`, role: 'group', 'aria-label': 'Lanes'}, svg('title', {}, ''));
    body.firstChild.remove();
    this.drawGround(axis, body);
    for (const row of this.rows) this.drawRow(body, row, width);
    this.drawFlags(axis, body);
    this.drawSelection(body);
    this.plot.replaceChildren(axis, body);
    this.range.textContent = formatTime(s.from) + ' – ' + formatTime(Math.min(s.to, s.last));
    this.drawLegend();
    if (focus && focus.lane) this.focusNear(+focus.lane, +focus.first);
  }

  // print draws the lanes so that they fit on a landscape page, unless they become too small to read.
  print(on) {
    this.printing = 0;
    if (!on) return this.draw();
    const width = this.plot.clientWidth;
    this.printing = Math.max(Math.min(width, 1100), Math.min(2200, (this.height + 120) / 0.6));
    this.draw(this.printing);
  }

  gutter(width) {
    let most = 60;
    for (const {lane} of this.rows) most = Math.max(most, textWidth(lane.label, 12, lane.depth < 2 ? 600 : 400) + 14 * lane.depth + 30);
    return Math.min(most, width * (width < 700 ? 0.28 : 0.22));
  }

  drawGround(axis, body) {
    const s = this.scale;
    for (const {t, label} of s.ticks()) {
      const x = s.x(t);
      axis.append(svg('text', {class: 'tick', x, y: 16, 'text-anchor': x > s.left + s.width - 24 ? 'end' : 'middle'}, label), svg('path', {class: 'rule', d: `M${x} 21v5`}));
      body.append(svg('path', {class: 'grid', d: `M${x} 0V${this.height}`}));
    }
    for (const {from, to} of this.data.down) {
      if (to < s.from || from > s.to) continue;
      const a = Math.max(s.x(from), s.left), b = Math.min(s.x(to), s.left + s.width);
      body.append(svg('rect', {class: 'downtime', x: a, width: b - a, y: 0, height: this.height}));
    }
    const end = s.x(this.data.to);
    if (end <= s.left + s.width) body.append(svg('path', {class: 'rule', d: `M${end} 0V${this.height}`}));
  }

  drawRow(body, {lane, n, y, beside}, width) {
    const g = svg('g', {'data-row': n}), h = heights[lane.kind];
    if (['pod', 'object', 'node'].includes(lane.kind)) g.append(svg('path', {class: 'rule', d: `M0 ${y}H${width}`}));
    if (!beside) {
      const folds = lane.kind === 'pod' ? (this.closed.has(lane.pod) ? '▸ ' : '▾ ') : '';
      const weight = ['pod', 'object', 'life'].includes(lane.kind) ? 600 : 400, indent = 10 + 14 * lane.depth;
      const text = svg('text', {class: {pod: 'podname', object: 'podname', life: 'container', node: ''}[lane.kind] ?? 'dim', x: indent, y: y + h / 2 + 4}, fitText(folds + lane.label, this.scale.left - indent - 6, 12, weight));
      text.append(svg('title', {}, lane.of === lane.label ? lane.label : lane.of + ' ' + lane.label));
      if (folds) {
        build(text, {tabindex: 0, role: 'button', 'aria-expanded': String(!this.closed.has(lane.pod)), 'aria-label': 'pod ' + lane.label, 'data-fold': lane.pod}, []);
      }
      g.append(text);
      if (!lane.bars.length && lane.kind === 'ready') g.append(svg('text', {class: 'waittext', x: this.scale.left + 4, y: y + h / 2 + 4}, 'no status during the run'));
    }
    for (const item of lane.kind === 'pod' || lane.kind === 'node' ? lane.items : []) {
      if (this.scale.sees(item.t)) g.append(svg('path', {class: 'stepline', d: `M${this.scale.x(item.t)} ${y + h / 2}V${this.endOf(lane)}`}));
    }
    g.append(drawBars(this, lane, y), drawSeries(this, lane, y));
    g.append(drawMarks(this, lane, n, y));
    body.append(g);
  }

  // endOf returns the lower end of the lanes of a pod, or of all lanes.
  endOf(lane) {
    const last = this.rows.filter((r) => lane.pod < 0 || r.lane.pod === lane.pod).pop();
    return last.y + heights[last.lane.kind];
  }

  drawFlags(axis, body) {
    const s = this.scale;
    for (const flag of this.data.flags) {
      if (!s.sees(flag.at)) continue;
      const x = s.x(flag.at);
      body.append(svg('path', {class: 'flagline', d: `M${x} 0V${this.height}`}));
      axis.append(svg('path', {class: 'flag', d: `M${x} 26V2l9 4l-9 4`, 'data-step': flag.step}, svg('title', {}, formatTime(flag.at) + ' failed: ' + flag.text)));
    }
  }

  // rowOf returns the row of a record: its lane, or the name of its folded pod.
  rowOf(record) {
    const lane = this.data.lanes[record.lane];
    return lane && (this.rows.find((r) => r.n === record.lane && !r.beside) || this.rows.find((r) => r.lane.pod === lane.pod));
  }

  drawSelection(body) {
    const record = this.records.get(this.selected);
    if (!record) return;
    const place = (r) => {
      const row = this.rowOf(r);
      return row && {x: this.scale.x(r.t), y: row.y + heights[row.lane.kind] / 2};
    };
    let to = place(record);
    if (!to) return;
    const g = svg('g', {class: 'selection'});
    if (this.scale.sees(record.t)) g.append(svg('path', {class: 'selectedline', d: `M${to.x} 0V${this.height}`}), svg('circle', {class: 'selected', cx: to.x, cy: to.y, r: 8}));
    for (const cause of chainOf(this, record)) {
      const from = place(cause);
      if (!from) break;
      const bend = Math.max(14, Math.min(Math.abs(to.x - from.x), Math.abs(to.y - from.y)) / 2);
      const out = from.x > to.x - 20 ? -bend : bend / 2;
      g.append(svg('path', {class: 'chain', d: `M${from.x} ${from.y}C${from.x + out} ${to.y} ${to.x - bend} ${from.y} ${to.x} ${to.y}`, 'clip-path': 'none'}),
        svg('circle', {class: 'arrow', cx: from.x, cy: from.y, r: 3.5}));
      to = from;
    }
    const clip = this.figure.closest('section, details').id + 'clip';
    g.setAttribute('clip-path', `url(#${clip})`);
    body.append(svg('clipPath', {id: clip}, svg('rect', {x: this.scale.left - 9, y: 0, width: this.scale.width + 18, height: this.height})), g);
  }

  drawLegend() {
    const glyphs = new Set(), states = new Set();
    for (const {lane} of this.rows) {
      lane.items.forEach((item) => glyphs.add(item.glyph));
      lane.bars.forEach((bar) => states.add(bar.state));
    }
    const entry = (sample, text) => html('span', {}, svg('svg', {viewBox: '-9 -7 18 14'}, sample), text);
    const list = marks.filter(([glyph]) => glyphs.has(glyph)).map(([glyph, text]) => entry(svg('g', {class: 'm m-' + glyph}, svg('path', {class: 'shape', d: shapes[glyph]})), text));
    const partial = new Set(['level', 'lost']);
    for (const [state, text] of bars) {
      if (states.has(state)) list.push(entry(drawBar({kind: 'ready'}, {state, part: partial.has(state) ? 1 : 0}, 0, -9, 18, 0), text));
    }
    this.legend.replaceChildren(...list);
  }
}
