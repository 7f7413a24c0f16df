// Mouse, wheel and keyboard input, and navigation from effects to causes.
Object.assign(Chart.prototype, {
  listen() {
    const p = this.plot;
    p.addEventListener('wheel', (e) => this.wheel(e), {passive: false});
    p.addEventListener('pointerdown', (e) => this.press(e));
    p.addEventListener('pointermove', (e) => this.move(e));
    p.addEventListener('pointerleave', () => this.hideTip());
    p.addEventListener('click', (e) => this.click(e));
    p.addEventListener('dblclick', (e) => { this.scale.zoom(0.4, this.timeOf(e)); this.draw(); });
    p.addEventListener('keydown', (e) => this.key(e));
    p.addEventListener('focusin', (e) => this.showTip(e.target));
    p.addEventListener('focusout', () => this.hideTip());
  },

  timeOf(e) {
    return this.scale.t(e.clientX - this.plot.getBoundingClientRect().left);
  },

  // wheel zooms with Ctrl or on the axis, moves with Shift or sideways, and otherwise scrolls the page.
  wheel(e) {
    const onAxis = e.target.closest('svg.axis');
    const sideways = e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY);
    if (!e.ctrlKey && !e.metaKey && !onAxis && !sideways) return;
    e.preventDefault();
    const lines = e.deltaMode === 1 ? 20 : 1;
    if (sideways && !e.ctrlKey) this.scale.pan((e.deltaX || e.deltaY) * lines / this.scale.width);
    else this.scale.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY * lines / 240))), this.timeOf(e));
    this.later();
  },

  later() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => { this.waits = false; this.draw(); });
  },

  press(e) {
    if (e.button !== 0) return;
    const began = {x: e.clientX, from: this.scale.from, to: this.scale.to};
    this.dragged = false;
    const move = (e) => {
      const dx = e.clientX - began.x;
      if (!this.dragged && Math.abs(dx) < 4) return;
      this.dragged = true;
      this.plot.classList.add('panning');
      const d = dx / this.scale.width * (began.to - began.from);
      this.scale.from = began.from;
      this.scale.to = began.to;
      this.scale.pan(-d / (began.to - began.from));
      this.later();
    };
    const end = () => {
      this.plot.classList.remove('panning');
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', end);
      removeEventListener('pointercancel', end);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', end);
    addEventListener('pointercancel', end);
  },

  move(e) {
    if (e.buttons) return this.hideTip();
    this.showTip(e.target, e);
  },

  click(e) {
    if (this.dragged) return;
    const fold = e.target.closest('[data-fold]'), m = e.target.closest('.m'), bar = e.target.closest('[data-bar]');
    this.hideTip();
    if (fold) return this.fold(+fold.dataset.fold);
    if (m) return this.open(m);
    if (bar) {
      const b = this.laneOf(bar).bars[+bar.dataset.bar];
      if (this.records.get(b.step)) return this.select(b.step);
    }
    if (!e.target.closest('[data-step]')) this.select(0);
  },

  fold(pod) {
    if (!this.closed.delete(pod)) this.closed.add(pod);
    this.draw();
    this.plot.querySelector(`[data-fold="${pod}"]`).focus({preventScroll: true});
  },

  // open selects the most important of a few marks, or zooms in on many.
  open(m) {
    const lane = this.data.lanes[+m.dataset.lane], first = +m.dataset.first, end = +m.dataset.end;
    const a = lane.items[first].t, b = lane.items[end - 1].t;
    if (end - first <= fewMarks || this.scale.to - this.scale.from < 40 * ms || a === b) return this.select(worst(lane.items.slice(first, end)).step);
    const margin = Math.max((b - a) * 0.3, 5 * ms);
    this.scale.show(a - margin, b + margin);
    this.draw();
  },

  laneOf(element) {
    return this.data.lanes[+element.closest('[data-row]').dataset.row];
  },

  showTip(target, e) {
    const m = target.closest('.m'), bar = target.closest('[data-bar]'), row = target.closest('[data-series]');
    let parts;
    if (m) parts = describeGroup(this, this.data.lanes[+m.dataset.lane], +m.dataset.first, +m.dataset.end);
    else if (row) parts = describeSeries(this, this.laneOf(row), this.laneOf(row).series[+row.dataset.series]);
    else if (bar) parts = describeBar(this, this.laneOf(bar), this.laneOf(bar).bars[+bar.dataset.bar]);
    else return this.hideTip();
    this.tip.replaceChildren(...parts);
    this.tip.hidden = false;
    const box = this.figure.getBoundingClientRect(), at = target.getBoundingClientRect();
    const x = (e ? e.clientX : at.x) - box.x, y = (e ? e.clientY : at.bottom) - box.y;
    const w = this.tip.offsetWidth, h = this.tip.offsetHeight;
    this.tip.style.left = Math.max(4, x + w + 18 > box.width ? x - w - 10 : x + 14) + 'px';
    this.tip.style.top = (box.y + y + h + 20 > innerHeight && y > h ? y - h - 10 : y + 14) + 'px';
  },

  hideTip() { this.tip.hidden = true; },

  // select shows a record with its causes. Step 0 clears the selection.
  select(step) {
    const record = this.records.get(step);
    this.selected = record ? step : 0;
    this.details.hidden = !record;
    if (record) fillDetails(this, this.details, record);
    const section = this.figure.closest('section, details');
    history.replaceState(null, '', record ? '#' + section.id + 's' + step : '#' + section.id);
    this.draw();
  },

  // jump selects a record and makes it visible.
  jump(step, scroll) {
    const record = this.records.get(step);
    if (!record) return this.missing(step);
    const lane = this.data.lanes[record.lane];
    if (lane) this.closed.delete(lane.pod);
    const length = this.scale.to - this.scale.from;
    if (!this.scale.sees(record.t)) this.scale.show(record.t - length / 2, record.t + length / 2);
    this.hideTip();
    this.select(step);
    const row = this.rowOf(record);
    const box = this.plot.getBoundingClientRect(), y = row ? box.y + row.y : box.y;
    if (scroll || y < 40 || y > innerHeight - 160) scrollTo({top: scrollY + Math.min(this.figure.getBoundingClientRect().y - 10, y - 200) + (row && row.y > innerHeight - 360 ? row.y - innerHeight / 2 : 0)});
  },

  missing(step) {
    this.details.hidden = false;
    this.details.replaceChildren(html('p', {}, 'Record ' + step + ' is not on this page; -o jsonl has it.'));
  },

  key(e) {
    const fold = e.target.closest('[data-fold]');
    if (fold && (e.key === 'Enter' || e.key === ' ')) {
      e.preventDefault();
      return this.fold(+fold.dataset.fold);
    }
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const s = this.scale;
    const acts = {'+': () => s.zoom(0.5), '=': () => s.zoom(0.5), '-': () => s.zoom(2), 0: () => s.fit(), f: () => s.fit()};
    const walks = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
    const m = e.target.closest('.m');
    if (acts[e.key]) { acts[e.key](); this.draw(); }
    else if (e.shiftKey && walks[e.key]) { s.pan(0.25 * (walks[e.key][1] || walks[e.key][0])); this.draw(); }
    else if (walks[e.key]) this.walk(m, ...walks[e.key]);
    else if ((e.key === 'Enter' || e.key === ' ') && m) this.open(m);
    else if (e.key === 'c' || e.key === 'C') this.toCause(m);
    else if (e.key === 'Escape') this.select(0);
    else return;
    e.preventDefault();
  },

  // walk moves the focus to the next mark in the lane, or to the nearest mark in the lane above or below.
  walk(m, down, right) {
    const marks = [...this.plot.querySelectorAll('.m')];
    if (!m) return marks.length && marks[0].focus();
    if (right) {
      const lane = marks.filter((x) => x.dataset.lane === m.dataset.lane);
      const next = lane[lane.indexOf(m) + right];
      return next && next.focus();
    }
    const lanes = [...new Set(marks.map((x) => +x.dataset.lane))];
    const lane = lanes[lanes.indexOf(+m.dataset.lane) + down];
    if (lane === undefined) return;
    const x = m.getBoundingClientRect().x;
    const near = marks.filter((x) => +x.dataset.lane === lane).sort((a, b) => Math.abs(a.getBoundingClientRect().x - x) - Math.abs(b.getBoundingClientRect().x - x))[0];
    near.focus();
  },

  toCause(m) {
    const record = m ? worst(this.data.lanes[+m.dataset.lane].items.slice(+m.dataset.first, +m.dataset.end)) : this.records.get(this.selected);
    const cause = record && causeOf(this, record);
    if (!cause) return;
    this.jump(cause.step, false);
    const lane = this.data.lanes[cause.lane];
    if (lane) this.focusNear(cause.lane, lane.items.findIndex((item) => item.step === cause.step));
  },

  // focusNear moves the focus to the mark of an item.
  focusNear(lane, i) {
    for (const m of this.plot.querySelectorAll(`.m[data-lane="${lane}"]`)) {
      if (+m.dataset.first <= i && i < +m.dataset.end) return m.focus({preventScroll: true});
    }
    this.plot.focus({preventScroll: true});
  },
});
