// The pipeline of one replica: a row a stage, its actions above and its transfers below, on a canvas of its own, as
// a hundred thousand actions must zoom without delay.
import { h, hideTip, section, showTip, swatch } from './dom.js';
import { seconds, secondsIn } from './format.js';
import { inkOn } from './charts.js';
import { actions, axes, ground, isPrinting, onRedraw } from './theme.js';

const left = 64, right = 10, axisHeight = 24;

function colourOf(kind, chunk, stages) {
  return actions[kind].colours[chunk < 0 ? 0 : Math.floor(chunk / stages) % 2];
}

/** First of the sorted starts whose span may reach `t`: spans of a row hardly overlap, so one before is enough. */
function firstAt(spans, t) {
  let low = 0, high = spans.start_ns.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans.start_ns[middle] + spans.length_ns[middle] <= t) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

function niceStep(span, most) {
  const raw = span / most, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
}

class Timeline {
  constructor(run) {
    this.run = run;
    this.stages = run.timeline.stages;
    this.names = run.timeline.names;
    const ends = this.stages.flatMap((s) => [s.runs, s.transfers]).map((x) => x.start_ns.reduce((most, t, i) => Math.max(most, t + x.length_ns[i]), 0));
    this.end = Math.max(run.report.step_time_s * 1e9, ...ends);
    this.from = 0;
    this.to = this.end;
    this.hasTransfers = this.stages.some((s) => s.transfers.start_ns.length > 0);
    const n = this.stages.length;
    this.row = Math.max(7, Math.min(26, Math.floor(460 / n)));
    this.strip = this.hasTransfers ? Math.max(2, Math.min(6, Math.floor(this.row / 4))) : 0;
    this.gap = n > 32 ? 1 : 4;
    this.pitch = this.row + this.strip + this.gap;
    this.canvas = h('canvas', { id: 'timeline-canvas', tabindex: '0', role: 'img',
      'aria-label': 'Pipeline timeline. Plus and minus zoom, left and right arrows move, 0 shows all.' });
    this.overview = h('canvas', { class: 'overview', role: 'img', 'aria-label': 'The whole step with the shown window' });
    this.window = h('span', { class: 'window', 'aria-live': 'polite' });
    this.drag = null;
    this.listen();
  }

  element() {
    const button = (text, label, act) => h('button', { type: 'button', title: label, 'aria-label': label, onclick: act }, text);
    return h('div', { class: 'timeline' },
      h('div', { class: 'row' },
        h('div', { class: 'buttons' }, button('+', 'zoom in', () => this.zoom(0.5)), button('−', 'zoom out', () => this.zoom(2)),
          button('‹', 'earlier', () => this.move(-0.5)), button('›', 'later', () => this.move(0.5)), button('all', 'show all', () => this.show(0, this.end))),
        this.window, h('span', { class: 'hint' }, 'drag to zoom, Ctrl + wheel to zoom at the pointer, double click for all')),
      this.legend(), this.canvas, this.overview);
  }

  legend() {
    const kinds = new Set(this.stages.flatMap((s) => [...s.runs.kind]));
    const used = new Set(this.stages.flatMap((s) => [...s.transfers.kind]));
    const chunks = this.stages.some((s) => s.runs.chunk.some((c) => c >= this.stages.length));
    return h('div', { class: 'legend' },
      Object.entries(actions).filter(([kind]) => kinds.has(kind)).map(([kind, a]) =>
        h('span', {}, swatch(a.colours[0]), chunks && kind !== 'O' ? swatch(a.colours[1]) : null, kind === 'O' ? a.label : `${kind} ${a.label}`)),
      chunks ? h('span', { class: 'muted' }, 'light: odd chunks of a stage') : null,
      used.size ? h('span', { class: 'muted' }, 'transfers below a row:') : null,
      Object.entries(axes).filter(([axis]) => used.has(axis)).map(([, a]) => h('span', { class: 'thin' }, swatch(a.colour), a.label)));
  }

  height() {
    return axisHeight + this.stages.length * this.pitch + 4;
  }
  x(t) {
    return left + (t - this.from) / (this.to - this.from) * (this.width - left - right);
  }
  time(x) {
    return this.from + (x - left) / (this.width - left - right) * (this.to - this.from);
  }

  show(from, to) {
    const span = Math.min(this.end, Math.max(to - from, 1000));
    this.from = Math.max(0, Math.min(from, this.end - span));
    this.to = this.from + span;
    this.draw();
    if (this.run.onView) this.run.onView(this.from * 1e-9, this.to * 1e-9);
  }
  zoom(factor, around = (this.from + this.to) / 2) {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }
  move(share) {
    const by = share * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }

  prepare(canvas, height) {
    const ratio = isPrinting() ? 2 : devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    const width = isPrinting() ? 980 : canvas.clientWidth;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const c = canvas.getContext('2d');
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.font = '11px system-ui, sans-serif';
    c.textBaseline = 'middle';
    return { c, width };
  }

  draw() {
    const { c, width } = this.prepare(this.canvas, this.height());
    if (width < left + 50) return;
    this.width = width;
    const g = ground();
    c.fillStyle = g.panel;
    c.fillRect(0, 0, width, this.height());
    this.drawAxis(c, g);
    const labelEvery = Math.ceil(12 / this.pitch);
    this.stages.forEach((stage, s) => {
      const y = axisHeight + s * this.pitch;
      c.fillStyle = g.row;
      c.fillRect(left, y, width - left - right, this.row + this.strip);
      c.fillStyle = g.ink;
      c.textAlign = 'right';
      if (s % labelEvery === 0) c.fillText(this.pitch > 12 ? `stage ${s}` : `${s}`, left - 8, y + this.row / 2);
      this.drawSpans(c, stage.runs, y, this.row, (kind, i) => colourOf(kind, stage.runs.chunk[i], this.stages.length), true);
      this.drawSpans(c, stage.transfers, y + this.row, this.strip, (kind) => axes[kind].colour, false);
    });
    if (this.drag) {
      c.fillStyle = 'rgba(127,127,127,0.35)';
      c.fillRect(Math.min(this.drag.x, this.drag.at), axisHeight, Math.abs(this.drag.at - this.drag.x), this.height() - axisHeight);
    }
    this.window.textContent = `${seconds(this.from * 1e-9)} – ${seconds(this.to * 1e-9)} of ${seconds(this.end * 1e-9)}`;
    Object.assign(this.canvas.dataset, { from: this.from, to: this.to, left, width: width - left - right, top: axisHeight, pitch: this.pitch });
    this.drawOverview(g);
  }

  drawAxis(c, g) {
    const step = niceStep(this.to - this.from, Math.max(2, Math.floor((this.width - left) / 110)));
    const unit = secondsIn((this.to - this.from) * 1e-9);
    c.fillStyle = g.muted;
    c.strokeStyle = g.grid;
    for (let i = Math.ceil(this.from / step); i * step <= this.to; ++i) {
      const x = Math.round(this.x(i * step)) + 0.5;
      c.beginPath();
      c.moveTo(x, axisHeight - 6);
      c.lineTo(x, this.height());
      c.stroke();
      c.textAlign = x > this.width - 40 ? 'right' : x < left + 20 ? 'left' : 'center';
      c.fillText(`${unit.text(i * step * 1e-9)} ${unit.unit}`, x, axisHeight / 2 - 2);
    }
  }

  drawSpans(c, spans, y, height, colour, labelled) {
    const edge = this.x(this.to);
    let drawnTo = -1, last = '';
    for (let i = firstAt(spans, this.from); i < spans.start_ns.length && spans.start_ns[i] < this.to; ++i) {
      const x = Math.max(left, this.x(spans.start_ns[i])), end = Math.min(edge, this.x(spans.start_ns[i] + spans.length_ns[i]));
      const kind = spans.kind[i];
      if (end <= left || (end - drawnTo < 0.4 && kind === last)) continue; // on pixels that have this colour already
      const fill = colour(kind, i), wide = end - x;
      c.fillStyle = fill;
      c.fillRect(x, y, Math.max(wide > 3 ? wide - 0.6 : wide, 0.5), height);
      drawnTo = end;
      last = kind;
      if (!labelled || height < 11) continue;
      const text = this.labelOf(spans, i, wide);
      if (!text) continue;
      c.fillStyle = inkOn(fill);
      c.textAlign = 'center';
      c.fillText(text, x + wide / 2, y + height / 2 + 0.5);
    }
  }

  labelOf(spans, i, wide) {
    if (spans.micro[i] < 0) return wide > 70 ? this.names[spans.name[i]] : '';
    const short = `${spans.micro[i]}`;
    if (wide > 92) return `${spans.kind[i]}${short} chunk ${spans.chunk[i]}`;
    if (wide > 8 + 7 * (short.length + 1)) return `${spans.kind[i]}${short}`;
    return wide > 3 + 6.5 * short.length ? short : '';
  }

  drawOverview(g) {
    const row = Math.max(1, Math.min(4, Math.floor(40 / this.stages.length))), height = Math.min(64, row * this.stages.length) + 2;
    const { c, width } = this.prepare(this.overview, height);
    const scale = (width - left - right) / this.end;
    c.fillStyle = g.row;
    c.fillRect(left, 0, width - left - right, height);
    const { from, to } = this;
    this.from = 0;
    this.to = this.end;
    this.stages.forEach((stage, s) => this.drawSpans(c, stage.runs, 1 + s * row, row, (kind, i) => colourOf(kind, stage.runs.chunk[i], this.stages.length), false));
    this.from = from;
    this.to = to;
    c.fillStyle = g.panel;
    c.globalAlpha = 0.65;
    c.fillRect(left, 0, from * scale, height);
    c.fillRect(left + to * scale, 0, (this.end - to) * scale, height);
    c.globalAlpha = 1;
    c.strokeStyle = g.ink;
    c.strokeRect(left + from * scale + 0.5, 0.5, Math.max(2, (to - from) * scale - 1), height - 1);
  }

  /** What is drawn at a point: {stage, spans, i}. */
  hit(x, y) {
    const s = Math.floor((y - axisHeight) / this.pitch), t = this.time(x), below = y - axisHeight - s * this.pitch;
    if (s < 0 || s >= this.stages.length || x < left || x > this.width - right || below > this.row + this.strip) return null;
    const spans = below < this.row ? this.stages[s].runs : this.stages[s].transfers;
    const slack = 2 * (this.to - this.from) / (this.width - left - right) * (below < this.row ? 0 : 1);
    for (let i = firstAt(spans, t - slack); i < spans.start_ns.length && spans.start_ns[i] <= t + slack; ++i)
      if (spans.start_ns[i] + spans.length_ns[i] + slack > t) return { stage: s, spans, i };
    return null;
  }

  hover(event) {
    const found = this.hit(event.offsetX, event.offsetY);
    this.canvas.style.cursor = found ? 'default' : 'crosshair';
    if (!found) return hideTip();
    const { stage, spans, i } = found;
    const lines = [['stage', `${stage}`]];
    if (spans.chunk[i] >= 0) lines.push(['chunk', `${spans.chunk[i]}`]);
    if (spans.micro[i] >= 0) lines.push(['micro-batch', `${spans.micro[i]}`]);
    lines.push(['start', seconds(spans.start_ns[i] * 1e-9, 6)], ['duration', seconds(spans.length_ns[i] * 1e-9, 4)]);
    return showTip(event.clientX, event.clientY, this.names[spans.name[i]], lines);
  }

  listen() {
    const canvas = this.canvas;
    canvas.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
      event.preventDefault();
      if (event.shiftKey) this.move(Math.sign(event.deltaY || event.deltaX) * 0.15);
      else this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(event.offsetX));
    }, { passive: false });
    canvas.addEventListener('pointerdown', (event) => {
      this.drag = { x: event.offsetX, at: event.offsetX };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!this.drag) return this.hover(event);
      this.drag.at = Math.max(left, Math.min(this.width - right, event.offsetX));
      hideTip();
      return this.draw();
    });
    canvas.addEventListener('pointerup', () => {
      const { x, at } = this.drag || { x: 0, at: 0 };
      this.drag = null;
      if (Math.abs(at - x) > 4) this.show(this.time(Math.min(x, at)), this.time(Math.max(x, at)));
    });
    canvas.addEventListener('pointerleave', hideTip);
    canvas.addEventListener('dblclick', () => this.show(0, this.end));
    canvas.addEventListener('keydown', (event) => {
      const act = {
        '+': () => this.zoom(0.5), '=': () => this.zoom(0.5), w: () => this.zoom(0.5), '-': () => this.zoom(2), s: () => this.zoom(2),
        ArrowLeft: () => this.move(-0.2), a: () => this.move(-0.2), ArrowRight: () => this.move(0.2), d: () => this.move(0.2), 0: () => this.show(0, this.end),
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      act();
    });
    const pick = (event) => {
      if (event.buttons !== 1) return;
      const at = (event.offsetX - left) / (this.width - left - right) * this.end, half = (this.to - this.from) / 2;
      this.show(at - half, at + half);
    };
    this.overview.addEventListener('pointerdown', pick);
    this.overview.addEventListener('pointermove', pick);
    new ResizeObserver(() => { if (!isPrinting()) this.draw(); }).observe(canvas);
    onRedraw(() => this.draw());
  }
}

export function timelineSection(run) {
  if (!run.timeline) {
    return section('timeline', 'Pipeline timeline', null,
      h('p', { class: 'absent' }, 'The timeline is not in this result: it was given as JSON. Give the scenario itself to see it.'));
  }
  run.view = { from: 0, to: run.report.step_time_s };
  const timeline = new Timeline(run), without = run.timeline.transfers_left_out;
  return section('timeline', 'Pipeline timeline', 'all stages of the first replica', timeline.element(),
    without ? h('p', { class: 'note' }, `${without} transfers are left out, as they are too many to draw; rehearse run --trace has them.`) : null);
}
