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

const tickSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 2e4, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 12e5, 18e5, 36e5, 72e5,
  108e5, 144e5, 216e5, 432e5, 864e5, 1728e5, 4320e5].map((x) => x * ms);

// Scale maps times to horizontal positions.
class Scale {
  constructor(from, to) {
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
    const step = tickSteps.find((s) => s >= least) || Math.ceil(least / (864e5 * ms)) * 864e5 * ms;
    const list = [];
    for (let t = Math.ceil(this.from / step) * step; t <= Math.min(this.to, this.last); t += step) {
      list.push({t, label: this.last < 10 * minute ? trim(t / second) + 's' : t === 0 ? '0s' : t < 2 * minute && step >= second ? trim(t / second) + 's' : formatTick(t, step)});
    }
    return list;
  }
}

function formatTick(t, step) {
  if (step < second) return formatTime(t);
  const h = Math.floor(t / hour), m = Math.floor(t % hour / minute), s = Math.round(t % minute / second);
  return (h ? h + 'h' : '') + (m || !h ? m + 'm' : '') + (s ? s + 's' : '');
}
