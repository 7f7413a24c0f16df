// Times, their labels, and the visible part of a run.

const ms = 1e6, second = 1e9, minute = 60 * second, hour = 60 * minute;

// formatTime formats a time with milliseconds, like trace.FormatTime.
function formatTime(t) {
  const sign = t < 0 ? '-' : '';
  const all = Math.round(Math.abs(t) / ms);
  const s = (all % 60000 / 1000).toFixed(3), m = Math.floor(all / 60000) % 60, h = Math.floor(all / 3600000);
  if (all < 600000) return sign + (all / 1000).toFixed(3) + 's';
  const two = (n) => String(n).padStart(2, '0');
  return sign + (h ? h + 'h' + two(m) : m) + 'm' + s.padStart(6, '0') + 's';
}

function formatSpan(d) {
  if (d < ms) return (d / 1e3).toFixed(0) + 'µs';
  if (d < second) return trim(d / ms) + 'ms';
  if (d < 2 * minute) return trim(d / second) + 's';
  const h = Math.floor(d / hour), m = Math.floor(d % hour / minute), s = Math.round(d % minute / second);
  return (h ? h + 'h' : '') + (m ? m + 'm' : '') + (s ? s + 's' : '');
}

const trim = (x) => String(+x.toFixed(3));

// Scale maps times to horizontal positions.
class Scale {
  constructor(from, to, zero) {
    this.zero = zero;
    this.first = from;
    this.last = to;
    this.left = 0;
    this.width = 1;
    this.fit();
  }

  fit() {
    const margin = (this.last - this.first) * 0.005;
    this.show(this.first, this.last + margin);
  }

  // show makes a part of the run visible, at least ten milliseconds long.
  show(from, to) {
    const room = (this.last - this.first) * 1.005;
    const length = Math.min(Math.max(to - from, 10 * ms), room);
    this.from = Math.min(Math.max((from + to - length) / 2, this.first), this.first + room - length);
    this.to = this.from + length;
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    const length = this.to - this.from;
    const next = Math.min(Math.max(length * factor, 10 * ms), (this.last - this.first) * 1.005);
    const from = at - (at - this.from) * next / length;
    this.show(from, from + next);
  }

  pan(part) {
    const d = (this.to - this.from) * part;
    const length = this.to - this.from;
    const from = Math.min(Math.max(this.from + d, this.first), this.first + (this.last - this.first) * 1.005 - length);
    this.show(from, from + length);
  }

  x(t) { return this.left + (t - this.from) / (this.to - this.from) * this.width; }
  t(x) { return this.from + (x - this.left) / this.width * (this.to - this.from); }
  sees(t) { return t >= this.from && t <= this.to; }

  ticks() {
    const least = (this.to - this.from) / this.width * 84;
    const step = ticks.map((x) => x * ms).find((s) => s >= least) || Math.ceil(least / (864e5 * ms)) * 864e5 * ms;
    const list = [];
    const zero = this.zero || 0;
    for (let t = Math.ceil((this.from + zero) / step) * step - zero; t <= Math.min(this.to, this.last); t += step) {
      list.push({t, label: this.zero !== undefined ? formatClock(t + zero) : this.last < 10 * minute ? trim(t / second) + 's' : t === 0 ? '0s' : t < 2 * minute && step >= second ? trim(t / second) + 's' : formatTick(t, step)});
    }
    return list;
  }
}

// formatClock formats a time of day.
function formatClock(t) {
  const two = (n) => String(n).padStart(2, '0'), all = Math.round(t / ms) % 864e5;
  return two(Math.floor(all / 36e5)) + ':' + two(Math.floor(all / 6e4) % 60) + ':' + two(Math.floor(all / 1000) % 60) + (all % 1000 ? String(all % 1000 / 1000).slice(1) : '');
}

function formatTick(t, step) {
  if (step < second) return formatTime(t);
  const h = Math.floor(t / hour), m = Math.floor(t % hour / minute), s = Math.round(t % minute / second);
  return (h ? h + 'h' : '') + (m || !h ? m + 'm' : '') + (s ? s + 's' : '');
}
